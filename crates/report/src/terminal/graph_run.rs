//! What the proxies of a graph that was run used and added, and how far a prediction is from it.

use hoptax_result::{CheckedTime, GraphRunCheck, GraphRunResponse, GraphRunResult, Interval, Verdict};

use super::rows::Rows;
use super::{Paint, Style, findings};
use crate::findings::groups;
use crate::numbers::{counted, grouped, level, signed};

/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;

/// The proxies, what all of them add, and the prediction beside both.
pub fn graph_run(result: &GraphRunResult, style: Style) -> String {
    let title = format!("{} at {} requests/s, measured", result.graph, grouped(result.rate, 0));
    let mut text = format!("\n{}\n\n{}", style.paint(Paint::Bold, &title), proxies(result));
    text += &format!("\n{}", responses(result));
    if let Some(check) = &result.check {
        text += "\n";
        text.extend(errors(check).iter().map(|line| style.wrap(line, 2) + "\n"));
        if !check.extrapolations.is_empty() {
            text += &format!(
                "\n{}\n",
                style.paint(Paint::Yellow, "the prediction goes beyond what was measured:")
            );
            text.extend(check.extrapolations.iter().map(|line| style.wrap(&format!("- {line}"), 2) + "\n"));
        }
    }
    if !result.findings.is_empty() {
        text += &format!("\n{}", findings(&groups(&result.findings), style));
    }
    if result.verdict == Verdict::Void {
        let warning = "the run is void: its numbers are withheld";
        text += &format!("\n{}\n", style.paint(Paint::Red, warning));
    }
    text + &format!("\n{}\n", style.wrap(&method(result), 2))
}

/// A number, or that it is withheld.
fn given(interval: Option<&Interval>) -> String {
    interval.map_or_else(|| "-".to_owned(), level)
}

fn proxies(result: &GraphRunResult) -> String {
    let mut header = vec!["proxy of", "requests/s", "CPU us", "busy", "memory MiB"];
    if result.check.is_some() {
        header.extend(["predicted CPU us", "error"]);
    }
    let mut rows = Rows::new(&header);
    for (number, proxy) in result.proxies.iter().enumerate() {
        let busy = proxy.busy_share.map(|share| format!("{:.0} %", 100.0 * share.estimate));
        let memory = proxy.memory_bytes.map(|bytes| bytes.times(1.0 / MIB));
        let mut cells = vec![
            grouped(proxy.requests_per_second, usize::from(proxy.requests_per_second < 10.0)),
            given(proxy.cpu_us_per_request.as_ref()),
            busy.unwrap_or_else(|| "-".to_owned()),
            given(memory.as_ref()),
        ];
        if let Some(check) = &result.check {
            let of_it = check.proxies.get(number);
            let mark = if of_it.is_some_and(|of_it| of_it.is_extrapolated) { " ~" } else { "" };
            cells.extend(compared(of_it.and_then(|of_it| of_it.cpu.as_ref()), mark));
        }
        rows.add(&proxy.service, cells);
    }
    if result.proxies.len() > 1 {
        let mut cells = vec![String::new(), given(result.all_cpu_us.as_ref()), String::new(), String::new()];
        if let Some(check) = &result.check {
            let is_extrapolated = check.proxies.iter().any(|proxy| proxy.is_extrapolated);
            cells.extend(compared(check.all.as_ref(), if is_extrapolated { " ~" } else { "" }));
        }
        rows.add("all, for each request to the entry", cells);
    }
    rows.text()
}

/// A prediction and its error, with marks.
fn compared(time: Option<&CheckedTime>, mark: &str) -> [String; 2] {
    let Some(time) = time else { return ["-".to_owned(), "-".to_owned()] };
    let of_error = if time.is_interaction { " *" } else { "" };
    [level(&time.predicted_us), format!("{} %{of_error}{mark}", signed(100.0 * time.error_share, 1))]
}

fn responses(result: &GraphRunResult) -> String {
    let mut rows = Rows::new(&["response time at the entry, us", "mean", "p99"]);
    let cells = |times: &GraphRunResponse| vec![given(times.mean_us.as_ref()), given(times.p99_us.as_ref())];
    rows.add("with proxies", cells(&result.proxied));
    rows.add("without", cells(&result.direct));
    let added = result.added.as_ref();
    let tail = added.and_then(|added| added.p99_us.as_ref());
    rows.add(
        "added by all proxies",
        vec![given(added.and_then(|added| added.mean_us.as_ref())), given(tail)],
    );
    if let Some(check) = &result.check {
        let mark = if check.are_times_extrapolated { " ~" } else { "" };
        let [mean, tail] = [&check.mean, &check.p99].map(|time| compared(time.as_ref(), mark));
        rows.add("  predicted", vec![mean[0].clone(), tail[0].clone()]);
        rows.add("  error", vec![mean[1].clone(), tail[1].clone()]);
    }
    rows.text()
}

/// The errors beside the targets, in sentences.
fn errors(check: &GraphRunCheck) -> Vec<String> {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let target = |error: f64, target: f64| {
        let is_met = if error <= target { "met" } else { "missed" };
        format!("target {}: {is_met}", percent(target))
    };
    let targets = check.targets;
    let mut lines = Vec::new();
    lines.push(match check.cpu_errors {
        None => "error of CPU times: no proxy can be compared".to_owned(),
        Some(errors) => format!(
            "error of CPU times: {} on average of {} ({}), {} at worst ({})",
            percent(errors.mean_share),
            errors.count,
            target(errors.mean_share, targets.cpu_mean_share),
            percent(errors.worst_share),
            target(errors.worst_share, targets.cpu_worst_share)
        ),
    });
    for (what, time, most) in
        [("mean", &check.mean, targets.added_mean_share), ("p99", &check.p99, targets.added_p99_share)]
    {
        lines.extend(time.as_ref().map(|time| {
            let error = time.error_share.abs();
            let of_target = if check.are_times_extrapolated {
                "~ extrapolated, so no target applies".to_owned()
            } else {
                target(error, most)
            };
            format!("error of what is added to the {what}: {} ({of_target})", percent(error))
        }));
    }
    lines.extend(
        check.no_latency.as_ref().map(|reason| format!("added to response times: not predicted: {reason}")),
    );
    lines.extend(check.withheld.iter().map(|one| {
        let (time, share) = (one.time.as_str(), 100.0 * one.half_width_share);
        format!("the predicted {time} is withheld: its interval is ±{} % of it", grouped(share, 0))
    }));
    let named = check.proxies.iter().map(|proxy| (format!("CPU time of `{}`", proxy.service), &proxy.cpu));
    let times = [("mean that is added", &check.mean), ("p99 that is added", &check.p99)];
    let named = named.chain(times.map(|(name, time)| (name.to_owned(), time)));
    let is_found = |(_, time): &(String, &Option<CheckedTime>)| time.is_some_and(|time| time.is_interaction);
    let found: Vec<String> = named.filter(is_found).map(|(name, _)| name).collect();
    if !found.is_empty() {
        lines.push(format!("* more than chance: {}", found.join(", ")));
    }
    if check.proxies.iter().any(|proxy| proxy.is_extrapolated) || check.are_times_extrapolated {
        lines.push(
            "~ beyond what the prediction was learned from (see below); such CPU times are not in these errors"
                .to_owned(),
        );
    }
    lines
}

/// How the numbers came about.
fn method(result: &GraphRunResult) -> String {
    let slices = result.rounds.first().map_or(0, |round| round.slices.len());
    let processors = result.environment.proxy_cpus.len();
    let mut text = format!(
        "{}, each with all processes started again, of {slices} slices of {} s in random order: half of them with all proxies, half \
         without any. Open loop with independent arrivals on {}. The proxies share {}. Intervals are \
         those of {:.0} %, over rounds.",
        counted(result.rounds.len() as u64, "round"),
        result.slice_s,
        counted(result.connections.into(), "connection"),
        counted(processors as u64, "processor"),
        100.0 * result.confidence
    );
    if result.check.is_some() {
        text += " The error is predicted minus measured, of the measured.";
    }
    text
}

#[cfg(test)]
mod tests {
    use hoptax_result::{
        AddedTime, CheckedProxy, Environment, ErrorSummary, Finding, GraphRound, GraphRunProxy,
        GraphRunTargets, GraphSlice, Measured, PredictedTime, Severity, WithheldTime,
    };

    use super::*;
    use crate::fixture::{about, checked_time};

    const WIDE: Style = Style { width: 110, colour: false };

    fn run() -> GraphRunResult {
        let proxy = |service: &str, cpu_us: f64| GraphRunProxy {
            service: service.to_owned(),
            workers: 1,
            per_request: 1.0,
            requests_per_second: 398.7,
            cpu_us_per_request: Some(about(cpu_us, 0.02)),
            busy_share: Some(about(cpu_us * 4e-4, 0.02)),
            memory_bytes: Some(about(61.0 * MIB, 0.01)),
        };
        GraphRunResult {
            format: GraphRunResult::FORMAT.to_owned(),
            graph: "chain".to_owned(),
            rate: 400.0,
            connections: 32,
            slice_s: 2.0,
            warmup_s: 0.5,
            seed: 1,
            confidence: 0.95,
            verdict: Verdict::Caution,
            findings: vec![Finding::new(
                "rounds",
                Severity::Warn,
                Measured::count(3.0, 5.0, "rounds"),
                "3 rounds are too few".to_owned(),
                "raise --rounds",
            )],
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
                withheld: vec![WithheldTime {
                    service: None,
                    time: PredictedTime::P99Us,
                    half_width_share: 1.24,
                }],
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
            environment: Environment { proxy_cpus: vec![1], ..Environment::default() },
        }
    }

    #[test]
    fn a_run_beside_its_prediction() {
        insta::assert_snapshot!(graph_run(&run(), WIDE));
    }

    #[test]
    fn a_run_without_a_prediction_has_no_errors() {
        let text = graph_run(&GraphRunResult { check: None, ..run() }, WIDE);
        assert!(!text.contains("predicted") && !text.contains("target"), "{text}");
    }

    #[test]
    fn a_void_run_has_no_numbers_and_says_why() {
        let mut void =
            GraphRunResult { check: None, verdict: Verdict::Void, added: None, all_cpu_us: None, ..run() };
        for proxy in &mut void.proxies {
            (proxy.cpu_us_per_request, proxy.busy_share, proxy.memory_bytes) = (None, None, None);
        }
        void.findings[0].severity = Severity::Fail;
        let text = graph_run(&void, WIDE);
        assert!(text.contains("the run is void") && text.contains("fail rounds: 3 rounds"), "{text}");
        assert!(!text.contains("190") && text.contains("front  "), "{text}");
    }
}
