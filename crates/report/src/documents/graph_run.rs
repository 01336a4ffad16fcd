//! The document of a graph that was run: the CPU time and added response time of its proxies, and the error of a prediction.

mod charts;

use hoptax_result::{
    CheckedTime, Finding, GraphRunCheck, GraphRunProxy, GraphRunResponse, GraphRunResult, Interval, Severity,
    Verdict,
};
use hoptax_text::command_line::{path_word, path_words};

use crate::document::{Document, FindingText, Judgement, Next, Section};
use crate::environment;
use crate::numbers::{counted, grouped, percent};
use crate::quantity::{Basis, Form, Quantity};
use crate::rows::MIB;
use crate::table::{Cell, Column, Row, Table};
use crate::usable;
use crate::words::capitalised;

/// Below this number of rounds, the next step is to measure more.
const FEW_ROUNDS: usize = 6;

/// The document of a graph run whose file and prediction sources are unknown.
pub fn graph_run(result: &GraphRunResult) -> Document {
    graph_run_of(result, &result.graph, &[])
}

/// The document of a run of the graph `file`, a name or a path, compared with a prediction `from` these results. The most expensive proxy
/// comes first.
pub fn graph_run_of(result: &GraphRunResult, file: &str, from: &[String]) -> Document {
    let mut document = Document::new(
        format!("lab graph {}", result.graph),
        format!("{} at {} requests/s, measured", result.graph, grouped(result.rate, 0)),
        answer(result),
    );
    let usable = usable::of_whole("CPU times and added times", result.verdict, &result.findings);
    document.verdict = Some(Judgement { verdict: result.verdict, usable });
    document.table = Some(proxies(result));
    document.next = Some(next(result, file, from));
    document.plots = charts::charts(result);
    document.findings = FindingText::all(&result.findings);
    document.sections.push(Section::of_table(responses(result)));
    if let Some(check) = &result.check {
        document.notes.extend(legend(check));
        document.sections.extend(Section::of_lines("Prediction", errors(check)));
        document.sections.extend(Section::of_lines("Beyond measurements", check.extrapolations.clone()));
    }
    document.sections.extend(Section::of_lines("Method", method(result)));
    document.sections.extend(environment::section(&result.environment, &result.program));
    document
}

/// The same run if it is void, with more rounds if they are few, or otherwise at twice the rate.
fn next(result: &GraphRunResult, file: &str, from: &[String]) -> Next {
    let from = if from.is_empty() { String::new() } else { format!(" --from {}", path_words(from)) };
    let file = path_word(file.as_ref());
    let at = |rate: f64, more: &str| format!("hoptax lab graph run {file} --rate {rate}{more}{from}");
    let rounds = result.rounds.len();
    match result.verdict {
        Verdict::Void => {
            let first = failed(result).map_or_else(String::new, |finding| format!(": {}", finding.advice));
            Next::new(at(result.rate, ""), format!("measures again, after the remedy{first}"))
        }
        _ if rounds < FEW_ROUNDS || result.verdict == Verdict::Caution => {
            let more = format!(" --rounds {}", FEW_ROUNDS.max(2 * rounds));
            Next::new(at(result.rate, &more), "has more rounds, which narrow the intervals")
        }
        _ => Next::new(at(2.0 * result.rate, ""), "runs it at twice the rate"),
    }
}

/// The first finding that makes the run void.
fn failed(result: &GraphRunResult) -> Option<&Finding> {
    result.findings.iter().find(|finding| finding.severity == Severity::Fail)
}

/// Returns the CPU time and the added response time of all proxies, and the error of the prediction.
fn answer(result: &GraphRunResult) -> Vec<String> {
    let mut answer = Vec::new();
    let rate = format!("{} requests/s", grouped(result.rate, 0));
    let us = |interval: &Interval| Quantity::level(interval, "us").with_unit();
    let cpu = result
        .all_cpu_us
        .as_ref()
        .map(|cpu| format!("take {} of CPU time for each request to the entry", us(cpu)));
    let mean = result.added.as_ref().and_then(|added| added.mean_us);
    let added = mean.as_ref().map(|mean| format!("add {} to the mean response time", us(mean)));
    let parts: Vec<String> = [cpu, added].into_iter().flatten().collect();
    if !parts.is_empty() {
        answer.push(format!("At {rate}, the proxies of {} {}", result.graph, parts.join(" and ")));
    }
    if result.verdict == Verdict::Void {
        let why = failed(result).map_or_else(String::new, |finding| {
            format!(": {}. {}", finding.message, capitalised(&finding.advice))
        });
        answer.push(format!("The run of {} at {rate} is void{why}", result.graph));
    }
    answer.extend(result.check.as_ref().map(cpu_error));
    answer
}

/// The error of predicted CPU times beside its targets.
fn cpu_error(check: &GraphRunCheck) -> String {
    let targets = check.targets;
    match check.cpu_errors {
        None => "The prediction of CPU times cannot be compared with any proxy".to_owned(),
        Some(errors) => format!(
            "Predicted CPU times are off by {} on average ({}) and {} at worst ({}; proxies compared: {})",
            percent(errors.mean_share, 1),
            target(errors.mean_share, targets.cpu_mean_share),
            percent(errors.worst_share, 1),
            target(errors.worst_share, targets.cpu_worst_share),
            errors.count
        ),
    }
}

fn target(error: f64, target: f64) -> String {
    let is_met = if error <= target { "met" } else { "exceeded" };
    format!("allowed {}: {is_met}", percent(target, 1))
}

/// The explanations of the marks on errors.
fn legend(check: &GraphRunCheck) -> Option<String> {
    let mut times = check.proxies.iter().map(|proxy| &proxy.cpu).chain([&check.all]).flatten();
    let is_found = times.any(|time| time.is_interaction);
    // A mark is beside an error, and a withheld time has none.
    let is_extrapolated = check.proxies.iter().any(|proxy| proxy.is_extrapolated && proxy.cpu.is_some());
    let marks = [
        (is_found, "* more than chance explains"),
        (is_extrapolated, "~ outside of the measured range, so not in the average error"),
    ];
    let marks: Vec<&str> = marks.into_iter().filter_map(|(is, mark)| is.then_some(mark)).collect();
    (!marks.is_empty()).then(|| marks.join("; "))
}

/// A measured time, or the word that it is withheld.
fn given(interval: Option<&Interval>) -> Cell {
    Cell::Quantity(match interval {
        Some(interval) => Quantity::level(interval, "us"),
        None => Quantity::unknown("withheld", "us"),
    })
}

/// A prediction and its error, with marks.
fn compared(time: Option<&CheckedTime>, is_extrapolated: bool) -> [Cell; 2] {
    let Some(time) = time else { return [Cell::Empty, Cell::Empty] };
    let of_chance = if time.is_interaction { " *" } else { "" };
    let of_range = if is_extrapolated { " ~" } else { "" };
    [
        Cell::Quantity(Quantity::predicted_level(&time.predicted_us, "us")),
        Cell::Text(format!("{}{of_chance}{of_range}", error(time).text())),
    ]
}

/// The error of a prediction, as a share of the measured value. If only bounds are predicted, the ends of the difference bound it.
fn error(time: &CheckedTime) -> Quantity {
    if Quantity::predicted_level(&time.predicted_us, "us").basis != Basis::Bounded {
        return Quantity::point(100.0 * time.error_share, "%", Form::Difference);
    }
    let share = |us: f64| Some(-100.0 * us / time.measured_us.estimate);
    Quantity::bounded(share(time.difference_us.high), share(time.difference_us.low), "%", Form::Difference)
}

/// The proxies in descending order of CPU time, each with its place in the file.
fn dearest_first(result: &GraphRunResult) -> Vec<(usize, &GraphRunProxy)> {
    let mut all: Vec<_> = result.proxies.iter().enumerate().collect();
    let cost = |interval: &Option<Interval>| interval.map_or(f64::NEG_INFINITY, |cpu| cpu.estimate);
    all.sort_by(|(_, one), (_, other)| {
        cost(&other.cpu_us_per_request).total_cmp(&cost(&one.cpu_us_per_request))
    });
    all
}

fn proxies(result: &GraphRunResult) -> Table {
    let checks = |number: usize| result.check.as_ref().and_then(|check| check.proxies.get(number));
    let all = dearest_first(result);
    let mut rows = Vec::new();
    if result.proxies.len() > 1 {
        let is_extrapolated = result
            .check
            .as_ref()
            .is_some_and(|check| check.proxies.iter().any(|proxy| proxy.is_extrapolated));
        let time = result.check.as_ref().and_then(|check| check.all.as_ref());
        let mut cells = vec![given(result.all_cpu_us.as_ref())];
        cells.extend(compared(time, is_extrapolated));
        cells.extend([Cell::Empty, Cell::Empty, Cell::Empty]);
        rows.push(Row::new("all proxies", cells));
    }
    rows.extend(all.iter().map(|(number, proxy)| {
        let check = checks(*number);
        let memory = proxy.memory_bytes.map(|bytes| bytes.times(1.0 / MIB));
        let busy = proxy.busy_share.map(|share| grouped(100.0 * share.estimate, 0));
        // It is 0 if no slice counts, so that nothing was measured.
        let rate = Some(proxy.requests_per_second).filter(|rate| *rate > 0.0);
        let mut cells = vec![given(proxy.cpu_us_per_request.as_ref())];
        cells.extend(compared(
            check.and_then(|check| check.cpu.as_ref()),
            check.is_some_and(|check| check.is_extrapolated),
        ));
        cells.extend([
            Cell::from(busy),
            Cell::level(memory.as_ref(), "MiB"),
            Cell::from(rate.map(|rate| grouped(rate, usize::from(rate < 10.0)))),
        ]);
        Row::new(&proxy.service, cells)
    }));
    let columns = [
        Column::new("CPU us", 0),
        Column::new("predicted CPU us", 1),
        Column::new("error %", 1),
        Column::new("busy %", 2),
        Column::new("memory MiB", 3),
        Column::new("requests/s", 4),
    ];
    Table::new("use of each proxy; for all proxies, per request to the entry", "proxy of", columns, rows)
        .without_empty_columns()
}

fn responses(result: &GraphRunResult) -> Table {
    let cells = |times: &GraphRunResponse| vec![given(times.mean_us.as_ref()), given(times.p99_us.as_ref())];
    let added = result.added.as_ref();
    let of_all = vec![
        given(added.and_then(|added| added.mean_us.as_ref())),
        given(added.and_then(|added| added.p99_us.as_ref())),
    ];
    let mut rows = vec![
        Row::new("with proxies", cells(&result.proxied)),
        Row::new("without", cells(&result.direct)),
        Row::new("added by all proxies", of_all),
    ];
    if let Some(check) = &result.check {
        let [mean, p99] =
            [&check.mean, &check.p99].map(|time| compared(time.as_ref(), check.are_times_extrapolated));
        let ([mean, mean_error], [p99, p99_error]) = (mean, p99);
        rows.push(Row::new("  predicted", vec![mean, p99]));
        rows.push(Row::new("  error %", vec![mean_error, p99_error]));
    }
    let title = "response time at the entry, us";
    Table::new(title, "requests", [Column::new("mean", 0), Column::new("p99", 0)], rows)
}

/// The errors beside their targets, in sentences.
fn errors(check: &GraphRunCheck) -> Vec<String> {
    let mut lines = vec![cpu_error(check)];
    let targets = check.targets;
    for (name, time, most) in
        [("mean", &check.mean, targets.added_mean_share), ("p99", &check.p99, targets.added_p99_share)]
    {
        lines.extend(time.as_ref().map(|time| {
            let (error, share) = (error(time), time.error_share.abs());
            let (error, of_target) = match error.basis {
                Basis::Bounded => (error.with_unit(), "only bounded, so not judged".to_owned()),
                _ if check.are_times_extrapolated => {
                    (percent(share, 1), "~ extrapolated, so not judged".to_owned())
                }
                _ => (percent(share, 1), target(share, most)),
            };
            format!("error of the time added to the {name}: {error} ({of_target})")
        }));
    }
    lines.extend(
        check.no_latency.as_ref().map(|reason| format!("time added to responses: not predicted: {reason}")),
    );
    let named = check.proxies.iter().map(|proxy| (format!("CPU time of `{}`", proxy.service), &proxy.cpu));
    let times = [("time added to the mean", &check.mean), ("time added to p99", &check.p99)];
    let named = named.chain(times.map(|(name, time)| (name.to_owned(), time)));
    let is_found = |(_, time): &(String, &Option<CheckedTime>)| time.is_some_and(|time| time.is_interaction);
    let found: Vec<String> = named.filter(is_found).map(|(name, _)| name).collect();
    if !found.is_empty() {
        lines.push(format!("* error of more than chance: {}", found.join(", ")));
    }
    if check.proxies.iter().any(|proxy| proxy.is_extrapolated) || check.are_times_extrapolated {
        lines.push(
            "~ outside of the range that the prediction is based on; such CPU times are not in these errors"
                .to_owned(),
        );
    }
    lines
}

/// Returns the method of the numbers.
fn method(result: &GraphRunResult) -> Vec<String> {
    let slices = result.rounds.first().map_or(0, |round| round.slices.len());
    let processors = result.environment.proxy_cpus.len();
    let mut lines = vec![
        format!(
            "{}, each with all processes started again, of {slices} slices of {} s in random order: half of them with all proxies, \
             half without any",
            counted(result.rounds.len() as u64, "round"),
            result.slice_s
        ),
        format!(
            "open loop with independent arrivals on {}; the proxies share {}; intervals are those of {}, over rounds",
            counted(result.connections.into(), "connection"),
            counted(processors as u64, "processor"),
            percent(result.confidence, 0)
        ),
    ];
    if result.check.is_some() {
        lines.push("error: predicted minus measured, of the measured".to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use hoptax_result::{
        AddedTime, CheckedProxy, Environment, ErrorSummary, GraphRound, GraphRunBody, GraphRunTargets,
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
            direct: GraphRunResponse {
                mean_us: Some(about(900.0, 0.01)),
                p99_us: Some(about(1_500.0, 0.04)),
            },
            added: Some(AddedTime { mean_us: Some(about(900.0, 0.02)), p99_us: None }),
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
        assert!(text.contains("340 to 1,420") && text.contains("-63 to +58"), "{text}");
        let line = "error of the time added to the mean: -63 to +58 % (only bounded, so not judged)";
        assert!(text.contains(line), "{text}");
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
        let next = |run: &GraphRunResult| {
            graph_run_of(run, "chain", &["runs/parts".to_owned()]).next.unwrap().command
        };
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
}
