use hoptax_result::{Book, BytesOverTime, InFlightOverTime, Latency, LoadRate, Loop, Percentile, sample};
use proptest::prelude::*;

use super::*;
use crate::counts;
use crate::distribution::Distribution;

const BATCHES: usize = 20;

pub(super) fn distribution(times_us: &[u64]) -> Distribution {
    let mut all = Distribution::default();
    for us in times_us {
        all.record(us * 1_000);
    }
    all
}

pub(super) fn batches(times_us: &[u64]) -> Vec<hdrhistogram::Histogram<u32>> {
    (0..BATCHES)
        .map(|batch| {
            let mut times = counts::histogram(2);
            for us in times_us.iter().skip(batch).step_by(BATCHES) {
                times.record(us * 1_000).unwrap();
            }
            times
        })
        .collect()
}

/// A run that was answered after these times, at 1,000 requests per second for 10 s. Every twentieth time is in one batch.
pub(super) fn run(file: &str, times_us: &[u64]) -> Run {
    let all = distribution(times_us);
    let answered = all.count();
    let mut result = sample::load();
    result.book = Book { planned: answered, sent: answered, answered, ..Book::default() };
    result.statuses = [(200, answered)].into();
    result.rate = LoadRate { target: Some(1_000.0), offered: 999.0, achieved: Some(998.0) };
    (result.latency.response, result.latency.service) = (all.summary(), all.summary());
    result.outcomes = [("answered".to_owned(), all.summary())].into();
    result.histograms = Some(LoadHistograms {
        response: encode(&all.histogram()),
        service: encode(&all.histogram()),
        batches: batches(times_us).iter().map(encode).collect(),
        ..LoadHistograms::default()
    });
    Run { file: file.to_owned(), result }
}

fn finding(id: &str, severity: Severity) -> Finding {
    serde_json::from_value(
        serde_json::json!({"id": id, "severity": severity, "message": format!("text of {id}"),
        "value": 1.0, "threshold": 0.5, "unit": "%", "advice": ""}),
    )
    .unwrap()
}

fn two() -> Vec<Run> {
    let (one, other): (Vec<u64>, Vec<u64>) = ((1..=900).collect(), (50_001..=50_100).collect());
    vec![run("a.json", &one), run("b.json", &other)]
}

pub(super) fn merged(runs: &[Run]) -> LoadResult {
    merge(runs, Vec::new()).unwrap()
}

/// Returns the reasons why two runs cannot be merged after a change to the second.
fn refused(change: impl FnOnce(&mut LoadResult)) -> String {
    let mut runs = two();
    change(&mut runs[1].result);
    merge(&runs, Vec::new()).unwrap_err().join("\n")
}

proptest! {
    // Each case encodes and decodes some 80 histograms.
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn the_merged_result_is_that_of_the_whole_sequence(
        times in prop::collection::vec((1..50_000_000_u64, 0..3_usize), 60..400),
    ) {
        let of = |run: usize| -> Vec<u64> {
            times.iter().filter(|(_, of)| *of == run).map(|(us, _)| *us).collect()
        };
        let mut runs: Vec<Run> = (0..3).map(|number| run(&number.to_string(), &of(number))).collect();
        // Two runs may have the same times.
        (1..).zip(&mut runs).for_each(|(seed, run)| run.result.plan.seed = seed);
        let whole = distribution(&times.iter().map(|(us, _)| *us).collect::<Vec<u64>>());
        let merged = merge(&runs, Vec::new()).unwrap();
        let expected = whole.summary();
        let response = merged.latency.response;
        let is_near = |one: Option<f64>, other: Option<f64>| (one.unwrap() / other.unwrap() - 1.0).abs() < 1e-9;
        prop_assert!(is_near(response.mean_us, expected.mean_us));
        prop_assert!(is_near(response.standard_deviation_us, expected.standard_deviation_us));
        let (mean_us, standard_deviation_us) = (response.mean_us, response.standard_deviation_us);
        prop_assert_eq!(response, Latency { mean_us, standard_deviation_us, ..expected });
        prop_assert_eq!(merged.latency.service.p99_us, expected.p99_us);
        prop_assert_eq!(merged.outcomes["answered"].p90_us, expected.p90_us);
        prop_assert_eq!(merged.book.answered, times.len() as u64);
        prop_assert!(merged.book.balances());
        let read: hdrhistogram::Histogram<u64> = decode_response(&merged);
        prop_assert_eq!(&read, &whole.histogram());
    }
}

fn decode_response(result: &LoadResult) -> hdrhistogram::Histogram<u64> {
    let encoded: &Histogram = result.histograms.as_ref().unwrap().response.as_ref().unwrap();
    crate::encoded::decode(encoded).unwrap()
}

#[test]
fn rates_counts_and_connections_are_added() {
    let mut runs = two();
    for (run, (sent_again, limit)) in runs.iter_mut().zip([(3, Some(4)), (40, None)]) {
        (run.result.book.sent_again, run.result.stream_limit) = (sent_again, limit);
        run.result.sustained_rate = Some(990.0);
    }
    let result = merged(&runs);
    assert_eq!(
        (result.book.sent_again, result.stream_limit, result.sustained_rate),
        (43, Some(4), Some(1_980.0))
    );
    assert_eq!(result.rate, LoadRate { target: Some(2_000.0), offered: 1_998.0, achieved: Some(1_996.0) });
    assert_eq!((result.book.answered, result.statuses[&200], result.plan.connections), (1_000, 1_000, 32));
    assert_eq!((result.plan.workers, result.generator.workers.len()), (2, 2));
    assert!((result.generator.cpu_seconds - 4.0).abs() < 1e-9, "{}", result.generator.cpu_seconds);
}

#[test]
fn intervals_are_those_of_the_batches_of_all_runs() {
    let (one, other): (Vec<u64>, Vec<u64>) = ((1..=2_000).collect(), (1_001..=3_000).collect());
    let result = merged(&[run("a.json", &one), run("b.json", &other)]);
    let mut all = batches(&one);
    all.iter_mut().zip(batches(&other)).for_each(|(all, more)| *all += more);
    let response = distribution(&[one, other].concat()).histogram();
    let service = response.clone();
    let whole = Times {
        response,
        service,
        without_generator: None,
        pending_response: None,
        pending_service: None,
        batches: all,
        failed: 0,
    };
    assert!(result.response_intervals.p90_us.is_some());
    assert_eq!(result.response_intervals, whole.intervals());
    assert!(result.drift.is_some() && result.body.merged.unwrap().has_intervals);
}

#[test]
fn an_interval_is_at_least_as_wide_as_the_bin_of_its_ends() {
    // A server that always takes 50.4 ms: every batch has the same median, which is known to one bin.
    let times_us = [50_400; 2_000];
    let response = distribution(&times_us).histogram();
    let service = response.clone();
    let times = Times {
        response,
        service,
        without_generator: None,
        pending_response: None,
        pending_service: None,
        batches: batches(&times_us),
        failed: 0,
    };
    let interval = times.intervals().p50_us.unwrap();
    let bounds = times.percentiles(vec![50.0])[0].response_bounds.unwrap();
    for (low, high) in [(interval.low, interval.high), (bounds.low_us.unwrap(), bounds.high_us.unwrap())] {
        assert!(low <= 50_400.0 && 50_400.0 <= high && high - low > 1.0, "{low} to {high}");
    }
}

#[test]
fn records_that_are_apart_have_a_common_window_and_no_intervals() {
    let mut runs = two();
    runs[1].result.recorded_from_unix_s = runs[0].result.recorded_from_unix_s.map(|from_s| from_s + 4.0);
    let (from_s, result) = (runs[1].result.recorded_from_unix_s, merged(&runs));
    assert_eq!(result.recorded_from_unix_s, from_s);
    assert!((result.recorded_s - 6.0).abs() < 1e-6, "{}", result.recorded_s);
    assert_eq!(result.response_intervals.p50_us, None);
    let merged = result.body.merged.unwrap();
    assert!((merged.outside_share - 0.4).abs() < 1e-6 && !merged.has_intervals, "{merged:?}");
    let error = refused(|result| {
        result.recorded_from_unix_s = result.recorded_from_unix_s.map(|from_s| from_s + 11.0);
    });
    assert!(error.contains("`a.json` ended 1.0 s before `b.json` began to record"), "{error}");
}

#[test]
fn bytes_are_added_part_by_part_if_all_runs_have_them_and_began_together() {
    let bytes = |received: &[u64], sent: &[u64]| BytesOverTime::new(0.1, received.to_vec(), sent.to_vec());
    let mut runs = two();
    assert_eq!(merged(&runs).bytes_over_time, None);
    runs[0].result.bytes_over_time = bytes(&[1, 2, 3], &[]);
    assert_eq!(merged(&runs).bytes_over_time, None, "one run has none");
    runs[1].result.bytes_over_time = bytes(&[10, 20], &[0, 5]);
    assert_eq!(merged(&runs).bytes_over_time, bytes(&[11, 22], &[0, 5]), "up to the end of the shorter one");
    let later = |from_s: f64| {
        let mut runs = runs.clone();
        runs[1].result.recorded_from_unix_s = runs[0].result.recorded_from_unix_s.map(|at_s| at_s + from_s);
        merged(&runs).body.bytes_over_time
    };
    assert!(later(0.05).is_some() && later(0.15).is_none());
    runs[1].result.bytes_over_time.as_mut().unwrap().part_s = 0.2;
    assert_eq!(merged(&runs).bytes_over_time, None, "their parts are not as long");
}

#[test]
fn means_of_requests_in_flight_are_added_part_by_part_where_all_runs_have_them() {
    let means = |means: &[Option<f64>]| InFlightOverTime::new(0.1, means.to_vec());
    let mut runs = two();
    assert_eq!(merged(&runs).in_flight_over_time, None);
    runs[0].result.in_flight_over_time = means(&[Some(1.5), Some(2.0), Some(4.0), Some(1.0)]);
    assert_eq!(merged(&runs).in_flight_over_time, None, "one run has none");
    runs[1].result.in_flight_over_time = means(&[Some(0.5), None, Some(3.0)]);
    assert_eq!(merged(&runs).in_flight_over_time, means(&[Some(2.0), None, Some(7.0)]));
    let mut later = runs.clone();
    later[1].result.recorded_from_unix_s = later[0].result.recorded_from_unix_s.map(|from_s| from_s + 0.15);
    assert_eq!(merged(&later).in_flight_over_time, None, "they began in different parts");
    runs[1].result.in_flight_over_time.as_mut().unwrap().part_s = 0.2;
    assert_eq!(merged(&runs).in_flight_over_time, None, "their parts are not as long");
}

#[test]
fn reasons_of_failures_and_deviations_are_added_up() {
    let mut runs = two();
    for (run, count) in runs.iter_mut().zip([1, 2]) {
        run.result.reasons.add("reset", "a", count);
        run.result.deviations.insert("b".to_owned(), count);
    }
    let result = merged(&runs);
    assert_eq!(
        (result.reasons.by_frequency("reset"), result.deviations.clone()),
        (vec![("a", 3)], [("b".to_owned(), 3)].into())
    );
}

#[test]
fn censored_times_of_one_run_bound_the_quantiles_of_all() {
    let mut runs = two();
    let pending = distribution(&[60_000; 100]).histogram();
    let one = &mut runs[1].result;
    let histograms = one.histograms.as_mut().unwrap();
    histograms.pending_response = encode(&pending);
    one.latency.response = distribution(&(50_001..=50_100).collect::<Vec<_>>()).summary_with(Some(&pending));
    (one.book.sent, one.book.planned, one.book.timed_out) = (200, 200, 100);
    let response = merged(&runs).latency.response;
    assert_eq!((response.count, response.mean_us, response.p99_us), (1_100, None, None));
    let at_least_us = response.at_least.p99_us.unwrap();
    // The lowest time of the bin of 60 ms, which is a thousandth wide.
    assert!(response.p50_us.is_some() && (59_940.0..=60_000.0).contains(&at_least_us), "{response:?}");
}

#[test]
fn requested_percentiles_of_any_run_are_computed_from_all_times() {
    let mut runs = two();
    runs[1].result.percentiles = vec![Percentile { percentile: 95.0, ..Percentile::default() }];
    let percentiles = merged(&runs).body.percentiles;
    assert_eq!(percentiles.len(), 1);
    // Half of the times above 50 ms.
    assert!((percentiles[0].response_us.unwrap() / 50_050.0 - 1.0).abs() < 0.001, "{percentiles:?}");
}

#[test]
fn a_void_run_is_left_out_with_its_reason_and_its_rate() {
    let mut runs = two();
    let void = &mut runs[1].result;
    (void.verdict, void.histograms) = (Verdict::Void, None);
    void.findings = vec![finding("drift", Severity::Warn), finding("book", Severity::Fail)];
    let missing =
        RunLeftOut { file: "c.json".to_owned(), reason: "no such file".to_owned(), planned_rate: None };
    let result = merge(&runs, vec![missing.clone()]).unwrap();
    assert_eq!(result.book.answered, 900);
    let left_out = result.body.merged.unwrap().left_out;
    assert_eq!(left_out[0], missing);
    assert_eq!((left_out[1].file.as_str(), left_out[1].planned_rate), ("b.json", Some(1_000.0)));
    assert_eq!(left_out[1].reason, "its result is void, book: text of book");
    let nothing = merge(&[], vec![missing]).unwrap_err();
    assert_eq!(nothing, ["`c.json`: no such file", "no run is left to merge"]);
}

#[test]
fn a_run_without_times_is_left_out_with_its_warnings() {
    let mut runs = two();
    let withheld = &mut runs[1].result;
    (withheld.verdict, withheld.histograms) = (Verdict::Caution, None);
    withheld.findings = ["run-delay", "drift"].map(|id| finding(id, Severity::Warn)).into();
    let reason = merged(&runs).body.merged.unwrap().left_out.remove(0).reason;
    assert_eq!(reason, "its response times are withheld; its warnings are run-delay, drift");
}

#[test]
fn findings_name_their_run_and_machines_that_differ_are_listed() {
    let mut runs = two();
    runs[1].result.findings = vec![finding("steal", Severity::Warn)];
    runs[1].result.environment.kernel = "6.12.0".to_owned();
    runs[1].result.environment.load_average = 3.0;
    let result = merged(&runs);
    assert_eq!(result.findings[0].message, "`b.json`: text of steal");
    let merged = result.body.merged.unwrap();
    assert_eq!(merged.differences, ["kernel: \"\" (a.json), \"6.12.0\" (b.json)"]);
    assert_eq!(merged.runs[1].environment.kernel, "6.12.0");
}

#[test]
fn results_that_are_not_of_one_load_are_refused_with_every_reason() {
    let error = refused(|result| {
        result.plan.url = "http://127.0.0.1:2/".to_owned();
        (result.plan.loop_, result.plan.arrivals) = (Loop::Closed, None);
    });
    for expected in ["`url` is \"http://127.0.0.1:2/\", not \"http://127.0.0.1:1/\"", "`loop`", "`arrivals`"]
    {
        assert!(error.contains(expected), "{expected}: {error}");
    }
    assert!(refused(|result| result.plan.stages = Some("0:9@1s".to_owned())).contains("has stages"));
    assert!(refused(|result| result.recorded_from_unix_s = None).contains("earlier version"));
    assert!(refused(|result| result.merged = Some(Merged::default())).contains("was merged itself"));
    assert!(refused(|result| result.book.answered += 1).contains("a file was changed"));
    let imported = |result: &mut LoadResult| {
        let tool = "fortio".to_owned();
        result.imported = Some(hoptax_result::Imported { tool, ..hoptax_result::Imported::default() });
    };
    assert!(refused(imported).contains("imported from fortio"));
    let damaged = |result: &mut LoadResult| {
        result.histograms.as_mut().unwrap().service = Some(Histogram("AAAA".to_owned()));
    };
    assert!(refused(damaged).contains("`b.json` has a damaged histogram"));
    let twice = merge(&[two().remove(0), two().remove(0)], Vec::new()).unwrap_err();
    assert!(twice[0].contains("is the same run as `a.json`"), "{twice:?}");
}
