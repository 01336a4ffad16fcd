use hoptax_result::{Histogram, LoadHistograms, Verdict, sample};
use proptest::prelude::*;

use super::*;
use crate::smp::restore::{UNKNOWN, restore};
use crate::smp::{Restored, read, text};

fn round_trip(documents: &[Document]) -> Result<Restored, String> {
    let read = read(&text(documents)).map_err(|problems| problems.join("\n"))?;
    assert!(read.unused.is_empty(), "{:?}", read.unused);
    restore(&read.documents)
}

fn number() -> impl Strategy<Value = Option<f64>> {
    prop::option::of(prop_oneof![
        0.0..1e9_f64,
        any::<f64>().prop_filter("finite", |number| number.is_finite())
    ])
}

prop_compose! {
    fn latency()(
        count in any::<u64>(), min_us in number(), mean_us in number(), standard_deviation_us in number(),
        p50_us in number(), p90_us in number(), p99_us in number(), p99_9_us in number(), max_us in number(),
    ) -> result::Latency {
        result::Latency {
            count, min_us, mean_us, standard_deviation_us, p50_us, p90_us, p99_us, p99_9_us, max_us,
            ..result::Latency::default()
        }
    }
}

prop_compose! {
    /// Results whose texts and numbers are arbitrary.
    fn load()(
        (response, service) in (latency(), latency()),
        (target, achieved, from) in (number(), number(), number()),
        (recorded_s, duration_s) in (0.0..1e6_f64, 0.001..1e6_f64),
        (url, protocol, started_at, kernel) in (".{0,20}", "[a-z0-9-]{0,12}", ".{0,20}", ".{0,10}"),
        (connections, answered, cpus) in (any::<u32>(), any::<u64>(), any::<u32>()),
        statuses in prop::collection::btree_map(any::<u16>(), any::<u64>(), 0..4),
        failures in prop::collection::btree_map(".{0,8}", any::<u64>(), 0..4),
        (proxy, tool) in (prop::option::of(".{0,12}"), prop::option::of("[a-z0-9]{1,8}")),
        histogram in prop::option::of("[A-Za-z0-9+/=]{0,40}"),
        verdict in prop_oneof![Just(Verdict::Sound), Just(Verdict::Caution), Just(Verdict::Void)],
    ) -> LoadResult {
        let mut load = sample::load();
        (load.latency.response, load.latency.service) = (response, service);
        (load.rate.target, load.rate.achieved, load.recorded_from_unix_s) = (target, achieved, from);
        (load.recorded_s, load.plan.duration_s) = (recorded_s, duration_s);
        (load.plan.url, load.plan.protocol, load.plan.connections) = (url, protocol, connections);
        (load.environment.started_at, load.environment.kernel) = (started_at, kernel);
        (load.environment.proxy_version, load.environment.cpus) = (proxy, cpus);
        (load.book.answered, load.statuses, load.failures, load.verdict) = (answered, statuses, failures, verdict);
        load.imported = tool.map(|tool| result::Imported { tool, ..result::Imported::default() });
        load.histograms = histogram.map(|text| LoadHistograms {
            response: Some(Histogram(text)),
            ..LoadHistograms::default()
        });
        load
    }
}

proptest! {
    // Each number differs between cases, so any change shows, and a fuzz target has the reader; its kept inputs are tried with each change.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_load_loses_nothing_on_its_way_through_smp(load in load()) {
        prop_assert_eq!(round_trip(&[of_load(&load)]), Ok(Restored::Load(Box::new(load))));
    }

    #[test]
    fn a_changed_number_contradicts_the_labels(load in load(), factor in 1.001..10.0_f64) {
        let mut document = of_load(&load);
        let result = document.result.as_mut().unwrap();
        let before = result.clone();
        result.actual_qps = Some(result.actual_qps.unwrap_or(1.0) * factor);
        prop_assume!(*result != before);
        let error = round_trip(&[document]).unwrap_err();
        prop_assert!(error.contains("document 1 was changed after the export"), "{}", error);
    }

    #[test]
    fn no_text_panics(text in ".{0,200}", words in prop::collection::vec(
        "(test:|result:|clients:|[a-z_]{1,12}:|-|  | |\n|\\{|\\}|\\[|\\]|\"|[0-9]{1,9}|30m|,)", 0..60,
    )) {
        for text in [text, words.concat()] {
            let _ = read(&text).map(|read| restore(&read.documents));
        }
    }
}

#[test]
fn a_load_fills_the_fields_of_smp() {
    let mut load = sample::load();
    (load.windows, load.environment.cpu_model, load.environment.cpus) =
        (Vec::new(), "Test CPU".to_owned(), 2);
    load.environment.memory_bytes = 4_000_000_000;
    let mut document = of_load(&load);
    let labels = &mut document.result.as_mut().unwrap().labels;
    assert_eq!(labels.get("hoptax/verdict").map(String::as_str), Some("\"sound\""));
    assert!(labels.len() > 30, "{}", labels.len());
    labels.clear();
    insta::assert_snapshot!(text(&[document]));
}

#[test]
fn times_that_are_withheld_are_left_out() {
    let mut load = sample::load();
    load.latency.response.p99_us = None;
    let document = of_load(&load);
    let latencies = document.result.as_ref().unwrap().latencies_ms.unwrap();
    assert_eq!((latencies.p99, latencies.p90), (None, Some(0.15)));
    assert!(!text(&[document]).contains("p99\":"));
    load.latency.response = result::Latency::default();
    assert_eq!(of_load(&load).result.unwrap().latencies_ms, None);
}

#[test]
fn a_slow_open_loop_does_not_become_one_without_a_limit() {
    let mut load = sample::load();
    let rps = |load: &LoadResult| of_load(load).test.unwrap().clients[0].rps;
    load.rate.target = Some(0.2);
    assert_eq!(rps(&load), 1);
    load.rate.target = None;
    assert_eq!(rps(&load), 0);
}

#[test]
fn a_result_of_another_tool_is_what_its_fields_state() {
    let file = "
test: {smp_version: v0.0.1, clients: [{load_generator: fortio, protocol: PROTOCOL_HTTP, connections: 2, rps: '10',
  endpointUrls: ['http://app/productpage']}], duration: 30m}
mesh_config: {proxy_build: '1.24', mesh_control_plane: {count: 1}}
environment: {kubernetes_version: v1.30, nodes: [{type: large, cores: 24, mem_mb: '65536'}]}
result: {start_time: '2026-01-02T03:04:05Z', end_time: '2026-01-02T03:34:05Z', actual_qps: 9.9,
  latencies_ms: {min: 0.4, average: 1.9, p50: 1.7, p90: 2.9, p99: 0, max: 40}}";
    let read = read(file).unwrap();
    assert_eq!(read.unused, ["mesh_config.mesh_control_plane", "environment.kubernetes_version"]);
    let Restored::Load(load) = restore(&read.documents).unwrap() else { panic!() };
    assert_eq!((load.plan.url.as_str(), load.plan.connections), ("http://app/productpage", 2));
    assert_eq!((load.rate.target, load.rate.achieved, load.recorded_s), (Some(10.0), Some(9.9), 1_800.0));
    let service = load.latency.service;
    assert_eq!((service.p50_us, service.p99_us, service.max_us), (Some(1_700.0), None, Some(40_000.0)));
    let machine = &load.environment;
    assert_eq!(
        (machine.cpus, machine.memory_bytes, machine.cpu_model.as_str()),
        (24, 65_536_000_000, "large")
    );
    let imported = load.imported.as_ref().unwrap();
    assert_eq!(
        (imported.tool.as_str(), &imported.unknown[..UNKNOWN.len()]),
        ("SMP (fortio)", &UNKNOWN.map(str::to_owned)[..])
    );
    let without_value = "workers, answered requests, failed requests, standard deviation, p99, p99.9, \
                         method, protocol and kind of loop, which are unknown";
    assert_eq!(imported.unknown[UNKNOWN.len()..], [without_value]);
}

#[test]
fn files_without_a_result_are_refused_with_the_reason() {
    let error = |text: &str| match read(text) {
        Ok(read) => restore(&read.documents).unwrap_err(),
        Err(problems) => problems.join("\n"),
    };
    assert!(error("test: {clients: []}").contains("`hoptax convert smp run`"));
    assert!(error("{\"clients\": []}").contains("`hoptax convert smp run`"));
    assert!(error("start_time: x\nclient: {}").contains("is not a message of SMP"));
    assert!(error("[]").contains("it has no document"));
    assert!(error("a: [").starts_with("it is not YAML, line"));
    assert!(error("{").starts_with("it is not JSON"));
    assert!(error("[{\"actual_qps\": 1}, {\"actual_qps\": 2}]").contains("2 results"));
    let mut document = of_load(&sample::load());
    document.result.as_mut().unwrap().labels.insert("hoptax/book".to_owned(), "x".to_owned());
    assert!(error(&text(&[document.clone()])).contains("`hoptax/book` is no longer JSON"));
    let labels = &mut document.result.as_mut().unwrap().labels;
    labels.remove("hoptax/book");
    assert!(error(&text(&[document.clone()])).contains("missing field `book`"));
    document
        .result
        .as_mut()
        .unwrap()
        .labels
        .insert("hoptax/format".to_owned(), "\"hoptax.load/9\"".to_owned());
    assert!(error(&text(&[document])).contains("`hoptax.load/9`"));
}
