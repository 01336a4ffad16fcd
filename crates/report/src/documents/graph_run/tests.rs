use hoptax_result::{
    AddedTime, Environment, ErrorSummary, GraphRound, GraphRunBody, GraphRunResponse, GraphRunTargets,
    GraphSlice, Measured,
};

use super::*;
use crate::fixture::{STYLE, about, checked_time};
use crate::render::terminal;

pub(super) fn run() -> GraphRunResult {
    let proxy = |service: &str, cpu_us: f64| GraphRunProxy {
        service: service.to_owned(),
        workers: 1,
        per_request: 1.0,
        requests_per_second: 398.7,
        cpu_us_per_request: Some(about(cpu_us, 0.02)),
        busy_share: Some(about(cpu_us * 4e-4, 0.02)),
        is_wide: false,
        memory_bytes: Some(about(61.0 * MIB, 0.01)),
    };
    let environment = Environment { proxy_cpus: vec![1], ..Environment::default() };
    let body = GraphRunBody {
        graph: "chain".to_owned(),
        rate: 400.0,
        connections: 32,
        slice_s: 2.0,
        warmup_s: 0.5,
        seed: 1,
        confidence: 0.95,
        proxies: vec![proxy("front", 190.0), proxy("back", 170.0)],
        all_cpu_us: Some(about(360.0, 0.02)),
        proxied: GraphRunResponse { mean_us: Some(about(1_800.0, 0.01)), p99_us: None },
        direct: GraphRunResponse { mean_us: Some(about(900.0, 0.01)), p99_us: Some(about(1_500.0, 0.04)) },
        added: Some(AddedTime { mean_us: Some(about(900.0, 0.02)), p99_us: None }),
        wide: Vec::new(),
        check: Some(GraphRunCheck {
            sources: Vec::new(),
            proxies: vec![
                CheckedProxy {
                    service: "front".to_owned(),
                    cpu: Some(checked_time(190.0, 165.0)),
                    is_extrapolated: false,
                },
                CheckedProxy {
                    service: "back".to_owned(),
                    cpu: Some(checked_time(170.0, 165.0)),
                    is_extrapolated: true,
                },
            ],
            all: Some(checked_time(360.0, 330.0)),
            cpu_errors: Some(ErrorSummary { count: 1, mean_share: 0.131, worst_share: 0.131 }),
            mean: Some(checked_time(900.0, 880.0)),
            p99: None,
            are_times_extrapolated: true,
            no_latency: None,
            targets: GraphRunTargets {
                cpu_mean_share: 0.05,
                cpu_worst_share: 0.1,
                added_mean_share: 0.15,
                added_p99_share: 0.3,
            },
            extrapolations: vec![
                "`back` is busy for 7 % of the time, less than the 19 % measured".to_owned(),
            ],
        }),
        rounds: vec![GraphRound { slices: vec![GraphSlice::default(); 8], ..GraphRound::default() }; 3],
    };
    GraphRunResult::new(environment, body).judged(
        Verdict::Caution,
        vec![Finding::new(
            "rounds",
            Severity::Warn,
            Measured::count(3.0, 5.0, "rounds"),
            "3 rounds are too few".to_owned(),
            "raise --rounds",
        )],
    )
}

#[test]
fn a_run_beside_its_prediction() {
    insta::assert_snapshot!(terminal::details(&graph_run(&run()), STYLE));
}

#[test]
fn a_prediction_with_a_wide_interval_and_its_error_are_stated_by_their_ends() {
    let mut run = run();
    let check = run.body.check.as_mut().unwrap();
    check.are_times_extrapolated = false;
    check.mean = Some(CheckedTime {
        predicted_us: Interval::around(880.0, 540.0),
        difference_us: Interval::around(20.0, 540.0),
        is_interaction: false,
        ..checked_time(900.0, 880.0)
    });
    let text = terminal::details(&graph_run(&run), STYLE);
    assert!(text.contains("340 to 1,420") && text.contains("-63 to +61"), "{text}");
    let line = "error of the time added to the mean: -63 to +61 % (only bounded, so not judged)";
    assert!(text.contains(line), "{text}");
}

#[test]
fn a_measured_time_with_a_wide_interval_and_the_error_beside_it_are_stated_by_their_ends() {
    let mut run = run();
    let wide = Interval::around(190.0, 150.0);
    run.proxies[0].cpu_us_per_request = Some(wide);
    run.proxies[0].is_wide = true;
    run.added = Some(AddedTime { mean_us: Some(Interval::around(900.0, 700.0)), p99_us: None });
    run.wide = vec![GraphRunNumber::AddedMean];
    let check = run.body.check.as_mut().unwrap();
    check.cpu_errors = None;
    let front = checked_time(190.0, 165.0);
    check.proxies[0].cpu = Some(CheckedTime { measured_us: wide, is_wide: true, ..front });
    check.mean = check.mean.map(|mean| CheckedTime { is_wide: true, ..mean });
    let document = graph_run(&run);
    let answer = document.answer.join("\n");
    assert!(answer.contains("add 200 to 1,600 us to the mean response time"), "{answer}");
    assert!(answer.ends_with("cannot be compared with any proxy; only bounded: 1"), "{answer}");
    let row = document.table.as_ref().unwrap().rows.iter().find(|row| row.name == "front").unwrap();
    // 160.05 / 340 and 169.95 / 40.
    let texts: Vec<String> = row.cells.iter().map(Cell::text).collect();
    assert_eq!(texts[..3], ["40 to 340", "165.0 ±5.0", "-53 to +325 wide *"]);
    assert!(document.notes.iter().any(|note| note.contains("wide: of a measured time")), "{document:?}");
    assert!(document.verdict.unwrap().usable.ends_with("; only bounded: 2 numbers"));
}

#[test]
fn the_legend_has_only_marks_that_the_table_has() {
    let mut check = run().body.check.unwrap();
    assert!(legend(&check).unwrap().contains("~ outside of the measured range"));
    check.proxies.iter_mut().for_each(|proxy| proxy.cpu = None);
    check.all = None;
    assert_eq!(legend(&check), None);
}

#[test]
fn a_run_without_a_prediction_has_no_errors() {
    let mut run = run();
    run.check = None;
    let text = terminal::details(&graph_run(&run), STYLE);
    assert!(!text.contains("predicted") && !text.contains("allowed"), "{text}");
}

#[test]
fn times_that_are_not_predicted_have_no_rows_and_a_reason() {
    let mut run = run();
    let names = |run: &GraphRunResult| -> Vec<String> {
        responses(run).rows.into_iter().map(|row| row.name.trim().to_owned()).collect()
    };
    assert_eq!(names(&run)[3..], ["predicted", "error %"]);
    let check = run.body.check.as_mut().unwrap();
    (check.mean, check.p99) = (None, None);
    check.no_latency = Some("`front` is busy".to_owned());
    assert_eq!(names(&run), ["with proxies", "without", "added by all proxies"]);
    let text = terminal::details(&graph_run(&run), STYLE);
    assert!(text.contains("time added to responses: not predicted: `front` is busy"), "{text}");
    // Two proxies are on one processor.
    let says = |run: &GraphRunResult| {
        errors(run, run.check.as_ref().unwrap()).concat().contains("processors that the proxies share")
    };
    let apart = Environment { proxy_cpus: vec![1, 2], ..Environment::default() };
    assert!(says(&run) && !says(&GraphRunResult { environment: apart, ..run.clone() }));
    assert_eq!(text.matches("Predicted CPU times are off by").count(), 1, "{text}");
}

#[test]
fn a_void_run_has_no_numbers_and_says_why() {
    let mut void = GraphRunResult { verdict: Verdict::Void, ..run() };
    (void.check, void.added, void.all_cpu_us) = (None, None, None);
    for proxy in &mut void.proxies {
        (proxy.cpu_us_per_request, proxy.busy_share, proxy.memory_bytes) = (None, None, None);
    }
    void.findings[0].severity = Severity::Fail;
    let next = graph_run(&void).next.unwrap();
    assert_eq!(next.purpose, "measures again, after the remedy: raise --rounds");
    let text = terminal::screen(&graph_run(&void), STYLE);
    assert!(text.contains("is void: 3 rounds are too few. Raise --rounds"), "{text}");
    assert!(!text.contains("190") && text.contains("front  "), "{text}");
    assert!(text.contains("399"), "the proxies counted their requests: {text}");
    for proxy in &mut void.proxies {
        proxy.requests_per_second = 0.0;
    }
    let text = terminal::screen(&graph_run(&void), STYLE);
    assert!(!text.contains("399") && !text.contains(" 0.0"), "{text}");
}

#[test]
fn the_next_step_is_more_rounds_or_a_higher_rate() {
    let mut run = run();
    let next =
        |run: &GraphRunResult| graph_run_of(run, "chain", &["runs/parts".to_owned()]).next.unwrap().command;
    let command = "hoptax lab graph run chain --rate";
    assert_eq!(next(&run), format!("{command} 400 --rounds 6 --from runs/parts"));
    run.verdict = Verdict::Void;
    assert_eq!(next(&run), format!("{command} 400 --from runs/parts"));
    run.verdict = Verdict::Sound;
    let again = run.rounds.clone();
    run.rounds.extend(again);
    assert_eq!(next(&run), format!("{command} 800 --from runs/parts"));
    assert_eq!(graph_run_of(&run, "chain", &[]).next.unwrap().command, format!("{command} 800"));
}
