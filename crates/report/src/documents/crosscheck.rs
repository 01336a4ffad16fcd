//! The document of a crosscheck: how far the report of each load generator deviates from the truth.

mod charts;

use hoptax_result::{CrosscheckResult, Scenario, ToolRun, ToolRuns, Verdict};
use hoptax_stats::median;

use crate::document::{Block, Document, IN_DETAILS, Judgement, Next, Section};
use crate::environment;
use crate::findings::checks;
use crate::numbers::{counted, grouped};
use crate::table::{Cell, Column, Row, Table};

/// The name of this program among the tools.
const OWN: &str = "hoptax";
/// If hoptax's own p99 is at least this multiple of the truth, something other than the tools adds to the times of all of them.
const ADDED: f64 = 1.5;
/// Maximum time at the server, us, that is small compared with the time of the whole request.
const WAY_US: f64 = 100.0;

/// A number of a run.
type Get = fn(&ToolRun) -> Option<f64>;

/// A quantile: as reported by tools, as seen by the server, and its known value.
struct Quantile {
    name: &'static str,
    reported: Get,
    seen: Get,
    known: Get,
}

const QUANTILES: [Quantile; 2] = [
    Quantile {
        name: "p99",
        reported: |run| run.reported.p99_us,
        seen: |run| run.seen.p99_us,
        known: |run| run.known.and_then(|known| known.p99_us),
    },
    Quantile {
        name: "p50",
        reported: |run| run.reported.p50_us,
        seen: |run| run.seen.p50_us,
        known: |run| run.known.and_then(|known| known.p50_us),
    },
];

/// Smallest error that is printed, which is that of the last digit.
const LEAST_ERROR: f64 = 0.001;

/// The document of a crosscheck.
pub fn crosscheck(result: &CrosscheckResult) -> Document {
    let mut document = Document::of(result, "trust crosscheck", "", answer(result));
    document.table = Some(ratios(result));
    document.plots.extend(charts::charts(result));
    document.notes = added(result).into_iter().chain(failures(result)).collect();
    if result.compares_nothing() && !result.left_out.is_empty() {
        document
            .notes
            .push(format!("each load generator that did not run, with the reason, is {IN_DETAILS}"));
    }
    document.next =
        Some(Next::new("hoptax trust calibrate", format!("measures the error of {OWN} here at each rate")));
    // Results of earlier versions are sound without a comparison.
    let verdict = if result.compares_nothing() { Verdict::Caution } else { result.verdict };
    document.verdict = Some(Judgement { verdict, usable: usable(result) });
    for scenario in &result.scenarios {
        let title = format!("{}: {}", scenario.name, scenario.summary);
        document.sections.push(Section::new(title, vec![Block::Table(latencies(scenario))]));
        document.sections.push(Section::of_table(traffic(scenario)));
    }
    let left_out = result.left_out.iter().map(|one| format!("{}: {}", one.tool, one.reason)).collect();
    document.sections.extend(Section::of_lines("Tools that did not run", left_out));
    document.sections.extend(Section::of_lines("Method", method(result)));
    document.sections.extend(environment::section(&result.environment, &result.program));
    document
}

/// Returns a sentence about the use of the ratios.
fn usable(result: &CrosscheckResult) -> String {
    let tools = || result.scenarios.iter().flat_map(|scenario| &scenario.tools);
    let failed = tools()
        .any(|tool| !tool.failed.is_empty())
        .then_some("a tool with failed runs is compared by its other runs, or not at all");
    let withheld = tools()
        .any(|tool| !tool.withheld_by.is_empty())
        .then_some("numbers that hoptax withheld are compared with nothing");
    let alone = result.compares_nothing().then_some("nothing was compared");
    let parts: Vec<&str> = alone.into_iter().chain(failed).chain(withheld).collect();
    if parts.is_empty() { "every run of every tool ended".to_owned() } else { parts.join("; ") }
}

/// Returns the errors of hoptax, and p99 of the other tools, after a sentence that nothing was compared if that is so.
fn answer(result: &CrosscheckResult) -> Vec<String> {
    let [p99, p50] = QUANTILES;
    let of = |quantile: &Quantile, is_own: bool| {
        let tools = result.scenarios.iter().flat_map(|scenario| &scenario.tools);
        let ratios =
            tools.filter(|tool| (tool.tool == OWN) == is_own).filter_map(|tool| quantile.ratio(&tool.runs));
        ratios.fold(None, |ends: Option<(f64, f64)>, ratio| {
            let (low, high) = ends.unwrap_or((ratio, ratio));
            Some((low.min(ratio), high.max(ratio)))
        })
    };
    let range = |(low, high): (f64, f64)| {
        let (low, high) = (multiple(low), multiple(high));
        if low == high { format!("{low} times") } else { format!("{low} to {high} times") }
    };
    let error = |quantile: &Quantile| {
        let (low, high) = of(quantile, true)?;
        let error = (low - 1.0).abs().max((high - 1.0).abs());
        Some(grouped(100.0 * error.max(LEAST_ERROR), 1))
    };
    let count = counted(result.scenarios.len() as u64, "scenario");
    let own = error(&p99).map_or_else(
        || {
            let why = match withheld_by(&result.scenarios) {
                Some(checks) => format!("withheld by {checks}"),
                None => "its checks withheld it, or it did not run".to_owned(),
            };
            format!("In {count}, {OWN} reports no p99: {why}")
        },
        |percent| {
            let middle =
                error(&p50).map_or_else(String::new, |most| format!(", and its p50 by at most {most} %"));
            format!(
                "In {count}, the p99 that {OWN} reports differs from the truth by at most {percent} %{middle}"
            )
        },
    );
    let others =
        of(&p99, false).map(|ends| format!("Other load generators report {} the true p99", range(ends)));
    let alone = result.compares_nothing();
    let alone = alone.then(|| "Nothing was compared, because only one load generator ran".to_owned());
    alone.into_iter().chain(std::iter::once(own)).chain(others).collect()
}

/// Returns the checks that withheld hoptax's numbers; none if they are unknown.
fn withheld_by(scenarios: &[Scenario]) -> Option<String> {
    let own = scenarios.iter().flat_map(|scenario| &scenario.tools).filter(|tool| tool.tool == OWN);
    let named = own.flat_map(|tool| &tool.withheld_by).map(|check| format!("`{check}`"));
    let named: Vec<String> = named.collect();
    checks(named.iter().map(String::as_str))
}

/// Returns a note that hoptax's times include more than the server, because they are from the intended start to the response.
fn added(result: &CrosscheckResult) -> Option<String> {
    let [p99, _] = QUANTILES;
    let own = |scenario: &Scenario| p99.ratio(&scenario.tools.iter().find(|tool| tool.tool == OWN)?.runs);
    let most = result.scenarios.iter().filter_map(own).max_by(f64::total_cmp)?;
    (most > ADDED).then(|| {
        format!(
            "p99 of {OWN} is up to {} times that of the server: the way to it, or other work on this machine, adds to the times of every \
             tool; stop other work, or use a slower server, before you compare tools",
            multiple(most)
        )
    })
}

/// A multiple of the truth.
fn multiple(ratio: f64) -> String {
    grouped(ratio, if ratio < 0.1 { 3 } else { 2 })
}

/// A row for each tool, with each quantile in each scenario as a multiple of the truth.
fn ratios(result: &CrosscheckResult) -> Table {
    let mut names: Vec<&str> = Vec::new();
    for tool in result.scenarios.iter().flat_map(|scenario| &scenario.tools) {
        if !names.contains(&tool.tool.as_str()) {
            names.push(&tool.tool);
        }
    }
    let mut columns = Vec::new();
    for (place, quantile) in QUANTILES.iter().enumerate() {
        let priority = u8::try_from(place).unwrap_or(u8::MAX);
        let headings =
            result.scenarios.iter().map(|scenario| format!("{} in {}", quantile.name, scenario.name));
        columns.extend(headings.map(|heading| Column::new(heading, priority)));
    }
    columns.push(Column::new("CPU us", 2));
    let row = |name: &&str| {
        let of_each =
            || result.scenarios.iter().map(|scenario| scenario.tools.iter().find(|tool| tool.tool == **name));
        let ratio = |quantile: &Quantile, tool: Option<&ToolRuns>| {
            let ratio = tool.and_then(|tool| quantile.ratio(&tool.runs));
            Cell::from(ratio.map(multiple))
        };
        let mut cells: Vec<Cell> =
            QUANTILES.iter().flat_map(|quantile| of_each().map(move |tool| ratio(quantile, tool))).collect();
        let cpu: Vec<f64> =
            of_each().flatten().flat_map(|tool| &tool.runs).map(|run| run.cpu_us_per_request).collect();
        cells.push(Cell::point(median(&cpu), "us"));
        Row::new(*name, cells)
    };
    let title = "reported response time as a multiple of the truth, and CPU time of the tool per request";
    Table::new(title, "tool", columns, names.iter().map(row)).without_empty_columns()
}

/// Returns the failures, a line for each tool and scenario.
fn failures(result: &CrosscheckResult) -> Vec<String> {
    let mut lines = Vec::new();
    for scenario in &result.scenarios {
        for tool in &scenario.tools {
            lines.extend(
                tool.failed
                    .iter()
                    .map(|reason| format!("{} failed in {}: {reason}", tool.tool, scenario.name)),
            );
        }
        let is_withheld = |run: &ToolRun| run.reported.p50_us.is_none() || run.reported.p99_us.is_none();
        if scenario.tools.iter().any(|tool| tool.tool == OWN && tool.runs.iter().any(is_withheld)) {
            let of_scenario = withheld_by(std::slice::from_ref(scenario));
            lines.push(format!(
                "{OWN} withheld numbers in {} because of {}; `hoptax load` lists them with the reasons",
                scenario.name,
                of_scenario.as_deref().unwrap_or("its checks")
            ));
        }
    }
    lines
}

impl Quantile {
    /// The reported quantile of runs as a multiple of the known quantile. If that is unknown, the server's quantile is the best reference,
    /// unless it is shorter than the network path.
    fn ratio(&self, runs: &[ToolRun]) -> Option<f64> {
        let [reported, seen, known] = [self.reported, self.seen, self.known].map(|get| middle(runs, get));
        let truth = known.or(seen.filter(|seen| *seen >= WAY_US)).filter(|truth| *truth > 0.0)?;
        Some(reported? / truth)
    }
}

fn latencies(scenario: &Scenario) -> Table {
    let columns = QUANTILES.iter().enumerate().flat_map(|(place, quantile)| {
        let priority = u8::try_from(place).unwrap_or(u8::MAX);
        ["reported", "seen", "known"].map(|what| Column::new(format!("{} {what}", quantile.name), priority))
    });
    let row = |tool: &ToolRuns| {
        let us = |get: Get| Cell::point(middle(&tool.runs, get), "us");
        let cells =
            QUANTILES.iter().flat_map(|quantile| [quantile.reported, quantile.seen, quantile.known].map(us));
        Row::new(named(tool), cells.collect())
    };
    let title = format!("response times in {}, us", scenario.name);
    Table::new(title, "us", columns, measured(scenario).map(row)).without_empty_columns()
}

/// The unit of counts.
const COUNT: &str = "connections";

/// The traffic that the server received from the tools: heading, unit and number of each column.
const TRAFFIC: [(&str, &str, Get); 8] = [
    ("rate reported", "requests/s", |run| run.reported.rate),
    ("seen", "requests/s", |run| run.seen.rate),
    ("gap p50 us", "us", |run| Some(run.gaps.p50_us)),
    ("gap p99 us", "us", |run| Some(run.gaps.p99_us)),
    ("in bursts %", "%", |run| Some(run.gaps.burst_share * 100.0)),
    ("variation", "", |run| Some(run.gaps.variation)),
    ("connections", COUNT, |run| Some(run.connections as f64)),
    ("CPU us", "us", |run| Some(run.cpu_us_per_request)),
];

fn traffic(scenario: &Scenario) -> Table {
    let row = |tool: &ToolRuns| {
        let cell = |(_, unit, get): (&str, &'static str, Get)| match middle(&tool.runs, get) {
            Some(count) if unit == COUNT => Cell::words(grouped(count, 0)),
            value => Cell::point(value, unit),
        };
        Row::new(named(tool), TRAFFIC.map(cell).into())
    };
    let columns = TRAFFIC.iter().zip(0..).map(|((heading, _, _), place)| Column::new(*heading, place));
    let title = format!("traffic that the server received in {}", scenario.name);
    Table::new(title, "traffic", columns, measured(scenario).map(row)).without_empty_columns()
}

/// The tools that ran.
fn measured(scenario: &Scenario) -> impl Iterator<Item = &ToolRuns> {
    scenario.tools.iter().filter(|tool| !tool.runs.is_empty())
}

fn named(tool: &ToolRuns) -> String {
    match &tool.version {
        Some(version) => format!("{} {version}", tool.tool),
        None => tool.tool.clone(),
    }
}

fn middle(runs: &[ToolRun], get: Get) -> Option<f64> {
    median(&runs.iter().filter_map(get).collect::<Vec<f64>>())
}

fn method(result: &CrosscheckResult) -> Vec<String> {
    let rate = result
        .rate
        .map_or("as fast as possible".to_owned(), |rate| format!("{} requests/s", grouped(rate, 0)));
    vec![
        format!(
            "{rate}, {}, {} of {} s each, alternating; numbers are medians over the runs",
            counted(result.connections.into(), "connection"),
            counted(result.rounds.into(), "run"),
            result.seconds
        ),
        format!(
            "known: computed from the schedule of the server; seen: from the arrival of a request at the server to its response. The \
             truth is the known time; without one, the seen time if it is at least {} us",
            grouped(WAY_US, 0)
        ),
        "gap: from one arrival at the server to the next; in bursts: gaps below a tenth of the mean; variation: of gaps, 0 for even arrivals \
         and 1 for Poisson arrivals"
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Body, CrosscheckBody, Environment, Gaps, LeftOut, ToolNumbers};

    use super::*;
    use crate::fixture::STYLE;
    use crate::render::terminal;

    pub(super) fn numbers(rate: f64, p50_us: f64, p99_us: Option<f64>) -> ToolNumbers {
        ToolNumbers { rate: Some(rate), p50_us: Some(p50_us), p90_us: None, p99_us }
    }

    pub(super) fn run(reported: ToolNumbers) -> ToolRun {
        ToolRun {
            reported,
            seen: numbers(999.0, 400.0, Some(900.0)),
            known: Some(numbers(1_000.0, 400.0, Some(480_000.0))),
            gaps: Gaps {
                mean_us: 1_000.0,
                p50_us: 1_000.0,
                p99_us: 1_040.0,
                burst_share: 0.01,
                error_p99_us: Some(40.0),
                variation: 0.1,
            },
            connections: 32,
            cpu_us_per_request: 21.25,
        }
    }

    pub(super) fn result() -> CrosscheckResult {
        let tool = |name: &str, runs: Vec<ToolRun>| ToolRuns {
            tool: name.to_owned(),
            version: Some("1.2.3".to_owned()),
            failed: if runs.is_empty() { vec!["it printed nothing".to_owned()] } else { Vec::new() },
            runs,
            withheld_by: Vec::new(),
        };
        let scenario = Scenario {
            name: "freeze".to_owned(),
            summary: "one server that stalls".to_owned(),
            tools: vec![
                tool("hoptax", vec![run(numbers(1_000.0, 430.0, Some(480_400.0)))]),
                tool("hey", vec![run(numbers(950.0, 400.0, Some(2_000.0)))]),
                tool("h2load", vec![run(ToolNumbers { rate: Some(960.0), ..ToolNumbers::default() })]),
                tool("k6", Vec::new()),
            ],
        };
        let mut delay =
            Scenario { name: "delay".to_owned(), summary: "known delays".to_owned(), ..scenario.clone() };
        delay.tools.truncate(2);
        let body = CrosscheckBody {
            never_halted: false,
            rate: Some(1_000.0),
            connections: 32,
            seconds: 5,
            rounds: 1,
            scenarios: vec![delay, scenario],
            left_out: vec![LeftOut { tool: "wrk".to_owned(), reason: "it has no rate".to_owned() }],
        };
        CrosscheckResult::new(Environment::default(), body)
    }

    #[test]
    fn each_tool_is_compared_with_the_truth() {
        insta::assert_snapshot!(terminal::details(&crosscheck(&result()), STYLE));
    }

    #[test]
    fn times_that_the_machine_adds_and_missing_tools_are_said() {
        let text = |change: fn(&mut CrosscheckResult)| {
            let mut result = result();
            change(&mut result);
            terminal::screen(&crosscheck(&result), STYLE)
        };
        let plain = text(|_| ());
        assert!(!plain.contains("adds to the times") && !plain.contains("Nothing was compared"), "{plain}");
        let slow = text(|result| result.scenarios[0].tools[0].runs[0].reported.p99_us = Some(4_800_000.0));
        assert!(slow.contains("up to 10.00 times that of the server"), "{slow}");
        let alone = text(|result| {
            result.scenarios.iter_mut().for_each(|scenario| scenario.tools.truncate(1));
        });
        assert!(alone.trim_start().starts_with("Nothing was compared, because only one load"), "{alone}");
        assert!(alone.contains("\ncaution: nothing was compared"), "{alone}");
        assert!(alone.contains("each load generator that did not run"), "{alone}");
        let chosen = text(|result| {
            result.scenarios.iter_mut().for_each(|scenario| scenario.tools.truncate(1));
            result.left_out.clear();
        });
        assert!(!chosen.contains("each load generator that did not run"), "no reason is there: {chosen}");
    }

    #[test]
    fn a_crosscheck_that_withheld_its_p99_names_the_check_and_is_no_longer_sound() {
        let mut result = result();
        for tool in result.scenarios.iter_mut().flat_map(|scenario| &mut scenario.tools) {
            tool.failed.clear();
            if tool.tool == OWN {
                tool.runs[0].reported.p99_us = None;
                tool.withheld_by = vec!["send-lag".to_owned()];
            }
        }
        result.verdict = result.body.verdict();
        let text = terminal::screen(&crosscheck(&result), STYLE);
        assert!(text.contains("hoptax reports no p99: withheld by `send-lag`"), "{text}");
        assert!(text.contains("caution: numbers that hoptax withheld are compared with nothing"), "{text}");
    }

    #[test]
    fn a_crosscheck_whose_runs_all_succeeded_is_sound() {
        let mut result = result();
        assert_eq!(result.body.verdict(), Verdict::Caution);
        result.scenarios[1].tools.retain(|tool| tool.failed.is_empty());
        assert_eq!(result.body.verdict(), Verdict::Sound);
        result.scenarios.iter_mut().for_each(|scenario| scenario.tools.truncate(1));
        assert_eq!(result.body.verdict(), Verdict::Caution, "nothing is compared");
    }

    #[test]
    fn a_report_that_its_own_checks_withheld_is_said() {
        let mut result = result();
        result.scenarios.truncate(1);
        result.scenarios[0].tools.truncate(1);
        result.scenarios[0].tools[0].runs[0].reported = ToolNumbers::default();
        let text = terminal::screen(&crosscheck(&result), STYLE);
        assert!(text.contains("hoptax reports no p99"), "{text}");
        assert!(text.contains("withheld numbers in delay"), "{text}");
    }
}
