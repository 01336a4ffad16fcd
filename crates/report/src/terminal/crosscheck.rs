//! The tables of a crosscheck.

use hoptax_result::{CrosscheckResult, ToolRun, ToolRuns};
use hoptax_stats::median;

use super::rows::Rows;
use super::{Paint, Style};
use crate::numbers::{counted, grouped};

/// The result of a crosscheck: medians over the runs of each tool.
pub fn crosscheck(result: &CrosscheckResult, style: Style) -> String {
    let rate = result
        .rate
        .map_or("as fast as possible".to_owned(), |rate| format!("{} requests/s", grouped(rate, 0)));
    let mut text = format!(
        "\n{}\n{rate}, {}, {} of {} s each, alternating; medians over the runs\n",
        style.paint(Paint::Bold, "Load generators under the same load"),
        counted(result.connections.into(), "connection"),
        counted(result.rounds.into(), "run"),
        result.seconds
    );
    for scenario in &result.scenarios {
        let title = format!("{}: {}", scenario.name, scenario.summary);
        text += &format!("\n{}\n\n", style.paint(Paint::Bold, &title));
        text += &latencies(&scenario.tools);
        text += &format!("\n{}", traffic(&scenario.tools));
        let withholds = |tool: &&ToolRuns| {
            tool.tool == "hoptax" && tool.runs.iter().any(|run| run.reported.p50_us.is_none())
        };
        if scenario.tools.iter().any(|tool| withholds(&tool)) {
            text +=
                "hoptax withheld numbers because of its checks; `hoptax load` lists them with the reasons\n";
        }
        for tool in &scenario.tools {
            for reason in &tool.failed {
                text += &format!("{} failed: {reason}\n", tool.tool);
            }
        }
    }
    for left_out in &result.left_out {
        text += &format!("\nnot run: {}: {}", left_out.tool, left_out.reason);
    }
    text += "\n";
    text
}

/// Time at the server, us, below which it is small compared with the time of the whole request.
const WAY_US: f64 = 100.0;

/// A number of a run.
type Get = fn(&ToolRun) -> Option<f64>;

/// Median and 99th percentile, each as reported, as seen by the server, and as known.
const QUANTILES: [[Get; 3]; 2] = [
    [|run| run.reported.p50_us, |run| run.seen.p50_us, |run| run.known.and_then(|known| known.p50_us)],
    [|run| run.reported.p99_us, |run| run.seen.p99_us, |run| run.known.and_then(|known| known.p99_us)],
];

fn latencies(tools: &[ToolRuns]) -> String {
    let is_known = tools.iter().flat_map(|tool| &tool.runs).any(|run| run.known.is_some());
    let ratio = if is_known { "reported/known" } else { "reported/seen" };
    let mut rows =
        Rows::new(&["us", "p50 reported", "seen", "known", ratio, "p99 reported", "seen", "known", ratio]);
    for tool in tools.iter().filter(|tool| !tool.runs.is_empty()) {
        let mut cells = Vec::new();
        for quantile in QUANTILES {
            let [reported, seen, known] = quantile.map(|get| middle(&tool.runs, get));
            cells.extend([reported, seen, known].map(us));
            // Without a known value, the server's is the best reference, unless it is shorter than the network path.
            let truth = known.or(seen.filter(|seen| *seen >= WAY_US));
            let ratio = reported.zip(truth).filter(|(_, truth)| *truth > 0.0);
            cells.push(ratio.map_or("-".to_owned(), |(reported, truth)| format!("{:.2}", reported / truth)));
        }
        rows.add(&named(tool), cells);
    }
    rows.text()
}

/// The traffic that the server received from the tools.
fn traffic(tools: &[ToolRuns]) -> String {
    let mut rows = Rows::new(&[
        "traffic",
        "rate reported",
        "seen",
        "gap p50 us",
        "gap p99 us",
        "in bursts",
        "variation",
        "connections",
        "CPU us",
    ]);
    for tool in tools.iter().filter(|tool| !tool.runs.is_empty()) {
        let of = |get: Get| middle(&tool.runs, get);
        let whole = |value: Option<f64>| value.map_or("-".to_owned(), |value| grouped(value, 0));
        rows.add(
            &named(tool),
            vec![
                whole(of(|run| run.reported.rate)),
                whole(of(|run| run.seen.rate)),
                us(of(|run| Some(run.gaps.p50_us))),
                us(of(|run| Some(run.gaps.p99_us))),
                of(|run| Some(run.gaps.burst_share))
                    .map_or("-".to_owned(), |share| format!("{:.1} %", share * 100.0)),
                of(|run| Some(run.gaps.variation))
                    .map_or("-".to_owned(), |variation| format!("{variation:.2}")),
                whole(of(|run| Some(run.connections as f64))),
                of(|run| Some(run.cpu_us_per_request)).map_or("-".to_owned(), |cpu| grouped(cpu, 1)),
            ],
        );
    }
    rows.text()
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

fn us(us: Option<f64>) -> String {
    us.map_or("-".to_owned(), |us| grouped(us, usize::from(us < 1000.0)))
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Environment, Gaps, LeftOut, Scenario, ToolNumbers};

    use super::*;

    #[test]
    fn the_tables_of_a_crosscheck() {
        let numbers = |rate: f64, p50_us: f64, p99_us: Option<f64>| ToolNumbers {
            rate: Some(rate),
            p50_us: Some(p50_us),
            p90_us: None,
            p99_us,
        };
        let run = |reported: ToolNumbers| ToolRun {
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
        };
        let tool = |name: &str, runs: Vec<ToolRun>| ToolRuns {
            tool: name.to_owned(),
            version: Some("1.2.3".to_owned()),
            failed: if runs.is_empty() { vec!["it printed nothing".to_owned()] } else { Vec::new() },
            runs,
        };
        let result = CrosscheckResult {
            format: String::new(),
            never_halted: false,
            rate: Some(1_000.0),
            connections: 32,
            seconds: 5,
            rounds: 1,
            scenarios: vec![Scenario {
                name: "freeze".to_owned(),
                summary: "one server that stalls".to_owned(),
                tools: vec![
                    tool("hoptax", vec![run(numbers(1_000.0, 430.0, Some(480_400.0)))]),
                    tool("hey", vec![run(numbers(950.0, 400.0, Some(2_000.0)))]),
                    tool("h2load", vec![run(ToolNumbers { rate: Some(960.0), ..ToolNumbers::default() })]),
                    tool("k6", Vec::new()),
                ],
            }],
            left_out: vec![LeftOut { tool: "wrk".to_owned(), reason: "it has no rate".to_owned() }],
            environment: Environment::default(),
        };
        insta::assert_snapshot!(crosscheck(&result, Style { width: 100, colour: false }));
    }
}
