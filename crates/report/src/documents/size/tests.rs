use hoptax_result::{
    KubernetesResources, ProxyLatency, ProxyMoney, SizeBody, SizeBottleneck, SizeLatency, SizeSide,
    SizedCall, SizedConnections, SizedService,
};

use super::*;
use crate::fixture::{STYLE, about};
use crate::render::terminal;

fn proxy(service: &str, rate: f64, cpu_us: f64, workers: u32) -> SizedProxy {
    let cores = rate * cpu_us / 1e6;
    SizedProxy {
        service: service.to_owned(),
        workers,
        requests_per_second: rate,
        cpu_us_per_request: about(cpu_us, 0.03),
        cores: about(cores, 0.03),
        busy_share: about(cores / f64::from(workers), 0.03),
        max_rate: about(12_000.0 / cores * f64::from(workers), 0.03),
        memory_bytes: (workers > 1).then(|| about(61.0 * MIB, 0.01)),
        new_connections: (workers > 1).then(|| SizedConnections {
            per_second: 600.0,
            cpu_us_each: about(213.0, 0.08),
            cores: about(600.0 * 213e-6, 0.08),
        }),
        is_extrapolated: false,
        kubernetes: KubernetesResources {
            cpu_request: format!("{:.0}m", 1_030.0 * cores),
            cpu_limit: workers.to_string(),
            memory_request: (workers > 1).then(|| "62Mi".to_owned()),
        },
    }
}

fn latency_of(service: &str, mean_us: f64, is_extrapolated: bool) -> ProxyLatency {
    ProxyLatency {
        service: service.to_owned(),
        busy_share: 0.63,
        added: AddedTime {
            mean_us: Some(about(mean_us, 0.02)),
            p99_us: (!is_extrapolated).then(|| about(2.6 * mean_us, 0.05)),
        },
        critical_path_us: about(0.5 * mean_us, 0.02),
        wide: Vec::new(),
        is_extrapolated,
    }
}

pub(super) fn sized() -> SizeResult {
    let function = |name: &str, cores: f64| SizedFunction {
        service: "gateway".to_owned(),
        function: name.to_owned(),
        side: SizeSide::Inbound,
        requests_per_second: 12_000.0,
        cpu_us_per_request: about(cores / 0.012, 0.1),
        cores: about(cores, 0.1),
        saved_cores: about(0.8 * cores, 0.2),
        saved_memory_bytes: (name == "jwt").then(|| about(1.5e6, 0.1)),
        saved_mean_us: Some(about(400.0 * cores, 0.1)),
        saved_mean_is_extrapolated: false,
    };
    let body = SizeBody {
        graph: "shop".to_owned(),
        rate: 12_000.0,
        confidence: 0.95,
        sources: vec![SizeSource {
            study: "in-use".to_owned(),
            started_at: "2026-11-22T23:17:11Z".to_owned(),
            verdict: Verdict::Caution,
            cpu_model: "Test CPU".to_owned(),
            proxy_version: Some("1.40.0".to_owned()),
            busy_shares: vec![0.19, 0.45, 0.98],
            has_rounds: true,
        }],
        proxies: vec![proxy("gateway", 12_000.0, 105.4, 2), proxy("cart", 6.5, 160.0, 1)],
        functions: vec![function("jwt", 0.494), function("rbac{rules=50}", 0.0768)],
        cores: about(1.266, 0.03),
        memory_bytes: Some(about(145e6, 0.01)),
        curve: vec![
            SizePoint { rate: 1_897.5, cores: about(0.31, 0.04) },
            SizePoint { rate: 9_487.5, cores: about(1.14, 0.03) },
            SizePoint { rate: 18_975.0, cores: about(1.95, 0.03) },
        ],
        bottleneck: SizeBottleneck {
            service: "gateway".to_owned(),
            rate: about(18_975.0, 0.03),
            or: vec!["cart".to_owned()],
        },
        latency: Some(SizeLatency {
            added: AddedTime { mean_us: Some(about(412.5, 0.02)), p99_us: Some(about(1_000.0, 0.8)) },
            wide: vec!["p99_us".to_owned()],
            is_extrapolated: true,
            proxies: vec![latency_of("gateway", 250.0, false), latency_of("cart", 325.0, true)],
        }),
        no_latency: None,
        money: Some(SizeMoney {
            price_per_core_hour: Some(0.03),
            price_per_gib_hour: Some(0.004),
            hours_per_month: 730.0,
            proxies: vec![ProxyMoney {
                service: "gateway".to_owned(),
                cpu_per_month: Some(about(27.7, 0.03)),
                memory_per_month: None,
                per_month: None,
            }],
            per_month: Some(about(28.1, 0.03)),
        }),
        extrapolations: vec!["`cart` is busy for 1 % of the time, less than the 19 % measured".to_owned()],
        services: vec![
            SizedService {
                service: "gateway".to_owned(),
                has_proxy: true,
                calls: vec![SizedCall { service: "cart".to_owned(), per_request: 2.0 }],
            },
            SizedService { service: "cart".to_owned(), has_proxy: true, calls: Vec::new() },
        ],
    };
    SizeResult::new((), body).judged(Verdict::Caution, Vec::new())
}

#[test]
fn a_graph_with_its_functions_and_limits() {
    insta::assert_snapshot!(terminal::details(&size(&sized()), STYLE));
}

#[test]
fn a_proxy_with_too_few_workers_is_the_answer() {
    let mut sized = sized();
    assert!(sized.proxies.iter().all(|proxy| too_few_workers(proxy).is_none()));
    sized.proxies[0].workers = 1;
    sized.proxies[0].busy_share = about(1.13, 0.1);
    let text = terminal::screen(&size(&sized), STYLE);
    let first = text.trim_start().lines().next().unwrap();
    assert_eq!(first, "At 12,000 requests/s, `gateway` needs 2 workers instead of 1 (busy 113 ±11 %).");
    assert!(text.contains("With these, the proxies") && text.contains("As configured, the first"), "{text}");
}

#[test]
fn an_added_time_with_a_wide_interval_is_stated_by_its_ends() {
    let mut sized = sized();
    sized.latency.as_mut().unwrap().added.mean_us = Some(about(400.0, 0.75));
    let document = size(&sized);
    assert!(document.answer[0].ends_with(" and add 100 to 700 us to the mean response time"), "{document:?}");
    let texts = crate::headline::tests::texts(&document);
    assert!(texts[1].starts_with("added to the mean response time: 100 to 700 us"), "{texts:?}");
}

#[test]
fn without_response_times_the_reason_is_said() {
    let mut sized = sized();
    (sized.latency, sized.no_latency) = (None, Some("`in-use` has no rounds".to_owned()));
    let text = terminal::screen(&size(&sized), STYLE);
    assert!(text.contains("response times are not predicted: `in-use` has no rounds"), "{text}");
}

#[test]
fn a_void_source_is_said() {
    let mut sized = sized();
    (sized.verdict, sized.sources[0].verdict) = (Verdict::Void, Verdict::Void);
    let void = format!("void: nothing can be used of `{}`", sized.sources[0].study);
    assert!(terminal::screen(&size(&sized), STYLE).contains(&void));
}

#[test]
fn the_verdict_of_a_source_is_a_finding() {
    let mut sized = sized();
    let mut source = hoptax_result::sample::study("in-use", "2026-11-22T23:17:11Z", 5.0);
    source.verdict = Verdict::Caution;
    sized.findings = source.as_source("`in-use`").into_iter().collect();
    let text = terminal::screen(&size(&sized), STYLE);
    let finding = "source-verdict: `in-use`, on which this rests, has the verdict caution: 0 findings";
    assert!(text.contains(finding), "{text}");
}

#[test]
fn a_hundred_proxies_fit_on_a_screen() {
    let mut sized = sized();
    let limit = sized.extrapolations[0].clone();
    sized.extrapolations = vec![limit; 100];
    sized.proxies.extend((0..100).map(|number| proxy(&format!("service-{number}"), 10.0, 100.0, 1)));
    let text = terminal::screen(&size(&sized), STYLE);
    assert!(text.lines().count() <= 40, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.contains("98 more"), "{text}");
}

#[test]
fn a_limit_of_several_proxies_is_one_note_that_names_them() {
    let mut sized = sized();
    let line = |name: &str| format!("`{name}`: the costs are added up");
    sized.extrapolations = vec![line("a"), "the proxies wait".to_owned(), line("b")];
    let said = |sized: &SizeResult| size(sized).notes;
    let notes = said(&sized);
    assert_eq!(notes[0], "beyond measurements: `a` and `b`: the costs are added up");
    assert_eq!(notes[1], "beyond measurements: the proxies wait");
    let has_section = |sized: &SizeResult| {
        size(sized).sections.iter().any(|section| section.title == "Beyond measurements")
    };
    assert!(!has_section(&sized), "the notes say all of them");
    sized.extrapolations = ["a", "b", "c", "d", "e", "f"].map(line).to_vec();
    assert!(has_section(&sized), "the notes shorten them");
    assert_eq!(said(&sized)[0], "beyond measurements: `a`, `b`, `c`, `d` and 2 more: the costs are added up");
}

#[test]
fn the_next_step_of_a_stored_prediction_stays_below_the_first_bottleneck() {
    let mut sized = sized();
    let command = |sized: &SizeResult| size(sized).next.unwrap().command;
    assert_eq!(command(&sized), "hoptax lab graph run shop --rate 12000");
    sized.bottleneck.rate = Interval::around(9_000.5, 100.0);
    assert_eq!(command(&sized), "hoptax lab graph run shop --rate 8900");
}

#[test]
fn the_next_step_runs_the_graph_if_it_can_run_and_has_enough_workers() {
    let mut sized = sized();
    let next = |sized: &SizeResult, graph: &str, entry: Option<&str>, is_runnable: bool| {
        let from = ["runs/a".to_owned(), "runs/b".to_owned()];
        size_of(sized, graph, entry, &from, is_runnable).next.unwrap().command
    };
    let rest = "'my shop.yaml' --rate 12000 --from runs/a --from runs/b";
    assert_eq!(next(&sized, "my shop.yaml", None, true), format!("hoptax lab graph run {rest}"));
    let lead = next(&sized, "-shop.yaml", None, true);
    assert!(lead.starts_with("hoptax lab graph run ./-shop.yaml --rate "), "{lead}");
    let twice = "hoptax predict size manifests --entry shop --rate 24000 --from runs/a --from runs/b";
    assert_eq!(next(&sized, "manifests", Some("shop"), false), twice);
    sized.proxies[0].busy_share = about(2.3, 0.02);
    assert_eq!(next(&sized, "my shop.yaml", None, true), format!("hoptax predict size {rest}"));
}
