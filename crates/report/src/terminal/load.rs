//! The summary of a load.

use comfy_table::{CellAlignment, Table, presets};
use hoptax_result::{Latency, LoadResult};

use super::{Paint, Style, findings};
use crate::numbers::grouped;
use crate::words;

/// What a load trial found.
pub fn load(result: &LoadResult, style: Style) -> String {
    let plan = &result.plan;
    let how = match (result.rate.target, &plan.arrivals) {
        (Some(rate), Some(arrivals)) => format!("open loop, {} requests/s, {arrivals}", grouped(rate, 0)),
        _ => "closed loop".to_owned(),
    };
    let seconds = |seconds: f64| grouped(seconds, usize::from(seconds.fract() > 0.0));
    let mut text = format!(
        "\n{}\n{how}, {} connections, {} worker(s), {} s after {} s of warm-up\n\n",
        style.paint(Paint::Bold, &format!("{} {}", plan.method, plan.url)),
        grouped(plan.connections.into(), 0),
        plan.workers,
        seconds(plan.duration_s),
        seconds(plan.warmup_s)
    );
    let rate =
        |rate: Option<f64>| rate.map_or("withheld".to_owned(), |rate| format!("{}/s", grouped(rate, 0)));
    text += &format!(
        "rate       answered {}, sent {}{}\n",
        rate(result.rate.achieved),
        rate(Some(result.rate.offered)),
        result.rate.target.map_or_else(String::new, |target| format!(", planned {}", rate(Some(target))))
    );
    let book = &result.book;
    let count = |count: u64| grouped(count as f64, 0);
    text += &format!(
        "requests   {} planned = {} sent + {} unsent\n",
        count(book.planned),
        count(book.sent),
        count(book.unsent)
    );
    text += &format!(
        "           {} sent = {} answered + {} failed + {} timed out + {} unfinished\n",
        count(book.sent),
        count(book.answered),
        count(book.failed),
        count(book.timed_out),
        count(book.unfinished)
    );
    let listed = |entries: Vec<String>| entries.join(", ");
    if !result.unsent.is_empty() {
        let unsent = result.unsent.iter().map(|(reason, number)| format!("{} {reason}", count(*number)));
        text += &format!("unsent     {}\n", listed(unsent.collect()));
    }
    if book.blocked > 0 {
        text += &format!(
            "waiting    {} waited for a connection, at most {} at once, {:.3} s all together\n",
            count(book.blocked),
            count(result.waiting.most),
            result.waiting.total_s
        );
    }
    if !result.statuses.is_empty() {
        let statuses =
            result.statuses.iter().map(|(status, number)| format!("{} of {status}", count(*number)));
        text += &format!("statuses   {}\n", listed(statuses.collect()));
    }
    if !result.failures.is_empty() {
        let failures = result.failures.iter().map(|(kind, number)| format!("{} {kind}", count(*number)));
        text += &format!("failures   {}\n", listed(failures.collect()));
    }
    text += &format!("\n{}\n", latencies(result));
    let generator = &result.generator;
    text += &format!(
        "generator  {:.2} s of CPU, {} us of run delay in {:.2} s\n",
        generator.cpu_seconds,
        grouped(generator.run_delay_us, 0),
        generator.wall_seconds
    );
    if !result.findings.is_empty() {
        text += &format!("\n{}", findings(&result.findings, style));
    }
    let verdict = style.paint(Style::of_verdict(result.verdict), words::verdict(result.verdict));
    text += &format!("\nverdict: {verdict}\n");
    text
}

fn latencies(result: &LoadResult) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["us", "min", "mean", "p50", "p90", "p99", "p99.9", "max"]);
    for (name, latency) in [
        ("response time", &result.latency.response),
        ("service time", &result.latency.service),
        ("send lag", &result.latency.send_lag),
    ] {
        table.add_row(std::iter::once(name.to_owned()).chain(quantiles(latency)));
    }
    for index in 0..8 {
        if let Some(column) = table.column_mut(index) {
            column.set_padding((0, 2));
            if index > 0 {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn quantiles(latency: &Latency) -> impl Iterator<Item = String> {
    let all = [
        latency.min_us,
        latency.mean_us,
        latency.p50_us,
        latency.p90_us,
        latency.p99_us,
        latency.p99_9_us,
        latency.max_us,
    ];
    // Without requests there is nothing to tell; with them, what is not told is withheld.
    let none = if latency.count == 0 { "-" } else { "withheld" };
    all.into_iter().map(move |us| us.map_or(none.to_owned(), |us| grouped(us, usize::from(us < 1000.0))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_summary_of_a_load() {
        insta::assert_snapshot!(load(&fixture::load(), Style { width: 100, colour: false }));
    }
}
