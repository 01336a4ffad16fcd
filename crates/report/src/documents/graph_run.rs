//! The document of a graph that was run: the CPU time and added response time of its proxies, and the error of a prediction.

mod charts;

use hoptax_result::{
    CheckedProxy, CheckedTime, Finding, GraphRunCheck, GraphRunNumber, GraphRunProxy, GraphRunResult,
    Interval, Severity, Verdict,
};
use hoptax_text::command_line::{path_options, path_word};

use crate::document::{Document, FindingText, Judgement, Next, Section};
use crate::environment;
use crate::next::after_remedy;
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
    let mut document = Document::of(
        result,
        format!("lab graph {}", result.graph),
        format!("{} at {} requests/s, measured", result.graph, grouped(result.rate, 0)),
        answer(result),
    );
    document.verdict = Some(Judgement { verdict: result.verdict, usable: usable(result) });
    document.table = Some(proxies(result));
    document.next = Some(next(result, file, from));
    document.plots = charts::charts(result);
    document.findings = FindingText::all(&result.findings);
    document.sections.push(Section::of_table(responses(result)));
    if let Some(check) = &result.check {
        document.notes.extend(legend(check));
        document.sections.extend(Section::of_lines("Prediction", errors(result, check)));
        document.sections.extend(Section::of_lines("Beyond measurements", check.extrapolations.clone()));
    }
    document.sections.extend(Section::of_lines("Method", method(result)));
    document.sections.extend(environment::section(&result.environment, &result.program));
    document
}

/// The use that the verdict permits, and how many numbers are only bounded.
fn usable(result: &GraphRunResult) -> String {
    let usable = usable::of_whole("CPU times and added times", result.verdict, &result.findings);
    match result.wide.len() + result.proxies.iter().filter(|proxy| proxy.is_wide).count() {
        0 => usable,
        wide => format!("{usable}; only bounded: {}", counted(wide as u64, "number")),
    }
}

/// The same run if it is void, with more rounds if they are few, or otherwise at twice the rate.
fn next(result: &GraphRunResult, file: &str, from: &[String]) -> Next {
    let (file, from) = (path_word(file.as_ref()), path_options("--from", from));
    let at = |rate: f64, more: &str| format!("hoptax lab graph run {file} --rate {rate}{more}{from}");
    let rounds = result.rounds.len();
    match result.verdict {
        Verdict::Void => Next::new(at(result.rate, ""), after_remedy(failed(result))),
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
    let us = |number| measured(result, number).map(|quantity| quantity.with_unit());
    let cpu =
        us(GraphRunNumber::AllCpu).map(|cpu| format!("take {cpu} of CPU time for each request to the entry"));
    let added = us(GraphRunNumber::AddedMean).map(|mean| format!("add {mean} to the mean response time"));
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
    let is_left_out =
        |proxy: &&CheckedProxy| !proxy.is_extrapolated && proxy.cpu.is_some_and(|cpu| cpu.is_wide);
    let left_out = match check.proxies.iter().filter(is_left_out).count() {
        0 => String::new(),
        wide => format!("; only bounded: {wide}"),
    };
    match check.cpu_errors {
        None => format!("The prediction of CPU times cannot be compared with any proxy{left_out}"),
        Some(errors) => format!(
            "Predicted CPU times are off by {} on average ({}) and {} at worst ({}; proxies compared: \
             {}{left_out})",
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
    let times = || check.proxies.iter().map(|proxy| &proxy.cpu).chain([&check.all]).flatten();
    let is_found = times().any(|time| time.is_interaction);
    // A mark is beside an error, and a withheld time has none.
    let is_extrapolated = check.proxies.iter().any(|proxy| proxy.is_extrapolated && proxy.cpu.is_some());
    let marks = [
        (is_found, "* more than chance explains"),
        (is_extrapolated, "~ outside of the measured range, so not in the average error"),
        (times().any(|time| time.is_wide), "wide: of a measured time with a wide interval, so in no average"),
    ];
    let marks: Vec<&str> = marks.into_iter().filter_map(|(is, mark)| is.then_some(mark)).collect();
    (!marks.is_empty()).then(|| marks.join("; "))
}

/// A number of the whole graph; none if it is withheld.
fn measured(result: &GraphRunResult, number: GraphRunNumber) -> Option<Quantity> {
    Some(Quantity::measured_level(&result.number(number)?, result.is_wide(number), "us"))
}

/// The CPU time of a proxy; none if it is withheld.
fn cpu_time(proxy: &GraphRunProxy) -> Option<Quantity> {
    Some(Quantity::measured_level(&proxy.cpu_us_per_request?, proxy.is_wide, "us"))
}

/// A measured number, or the word that it is withheld.
fn given(number: Option<Quantity>) -> Cell {
    Cell::Quantity(number.unwrap_or_else(|| Quantity::unknown("withheld", "us")))
}

/// A prediction and its error, with marks.
fn compared(time: Option<&CheckedTime>, is_extrapolated: bool) -> [Cell; 2] {
    let Some(time) = time else { return [Cell::Empty, Cell::Empty] };
    let of_chance = if time.is_interaction { " *" } else { "" };
    let of_range = if is_extrapolated { " ~" } else { "" };
    let of_width = if time.is_wide { " wide" } else { "" };
    [
        Cell::Quantity(Quantity::predicted_level(&time.predicted_us, "us")),
        Cell::Text(format!("{}{of_width}{of_chance}{of_range}", error(time).text())),
    ]
}

/// The error of a prediction, as a share of the measured value: by its ends if the measured or the predicted interval is wide.
fn error(time: &CheckedTime) -> Quantity {
    let CheckedTime { measured_us, predicted_us, error_share, is_wide, .. } = time;
    if *is_wide || Quantity::predicted_level(predicted_us, "us").basis == Basis::Bounded {
        Quantity::error_by_ends(measured_us, predicted_us)
    } else {
        Quantity::point(100.0 * error_share, "%", Form::Difference)
    }
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
        let mut cells = vec![given(measured(result, GraphRunNumber::AllCpu))];
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
        let mut cells = vec![given(cpu_time(proxy))];
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
    use GraphRunNumber::{AddedMean, AddedP99, DirectMean, DirectP99, ProxiedMean, ProxiedP99};
    let row = |name: &str, numbers: [GraphRunNumber; 2]| {
        Row::new(name, numbers.map(|number| given(measured(result, number))).into())
    };
    let mut rows = vec![
        row("with proxies", [ProxiedMean, ProxiedP99]),
        row("without", [DirectMean, DirectP99]),
        row("added by all proxies", [AddedMean, AddedP99]),
    ];
    // Where no added time is predicted, the section on the prediction says why.
    if let Some(check) = result.check.as_ref().filter(|check| check.mean.is_some() || check.p99.is_some()) {
        let [mean, p99] =
            [&check.mean, &check.p99].map(|time| compared(time.as_ref(), check.are_times_extrapolated));
        let ([mean, mean_error], [p99, p99_error]) = (mean, p99);
        rows.push(Row::new("  predicted", vec![mean, p99]));
        rows.push(Row::new("  error %", vec![mean_error, p99_error]));
    }
    let title = "response time at the entry, us";
    Table::new(title, "requests", [Column::new("mean", 0), Column::new("p99", 0)], rows)
}

/// True if the proxies have fewer processors than workers, so that the load of a processor is that of several proxies.
fn is_shared(result: &GraphRunResult) -> bool {
    let processors = result.environment.proxy_cpus.len() as u64;
    let workers: u64 = result.proxies.iter().map(|proxy| u64::from(proxy.workers)).sum();
    processors > 0 && processors < workers
}

/// The errors of added times beside their targets, in sentences, and what the marks are on. The answer has the error of CPU times.
fn errors(result: &GraphRunResult, check: &GraphRunCheck) -> Vec<String> {
    let mut lines = Vec::new();
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
    if check.no_latency.is_some() && is_shared(result) {
        lines.push(
            "requests wait for all work of the processors that the proxies share: a busy share above is that of these processors, and the \
             table has the part of each proxy"
                .to_owned(),
        );
    }
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
mod tests;
