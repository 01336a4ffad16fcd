//! A number over all runs of the store: where its level changed, with a plot.

use hoptax_result::{HistoryChange, HistoryPoint, HistoryResult, HistorySeries, counted, grouped};
use hoptax_stats::median;

use super::{Paint, Style};
use crate::numbers::decimals;

/// Bars of the plot, from the lowest value to the highest.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Between two levels in the plot.
const CHANGE: char = '|';

/// The series with changes, a plot of each and one line for each change, and then the others.
pub fn history(result: &HistoryResult, style: Style) -> String {
    let mut text = format!("{}\n", style.paint(Paint::Bold, &result.number));
    let (changed, same): (Vec<_>, Vec<_>) =
        result.series.iter().partition(|series| !series.changes.is_empty());
    for series in &changed {
        text += &format!("\n{}\n  {}\n  {}\n", name(series), span(series), plot(series, style.width.into()));
        for change in &series.changes {
            text += &format!("  {}\n", line(series, change));
        }
    }
    if !same.is_empty() {
        text += "\nno change:\n";
        for series in &same {
            text += &format!("  {}: {}\n", name(series), span(series));
        }
    }
    let lines = [
        format!(
            "a change is found where there is none in {} % of series",
            grouped(100.0 * result.significance, 0)
        ),
        "levels are medians of their runs; a change needs at least three runs at the new level".to_owned(),
        format!(
            "plots: a bar is a run, or the median of a few, and `{CHANGE}` a change; bars of single spikes end at the edge"
        ),
    ];
    text.push('\n');
    for line in lines {
        text += &format!("{}\n", style.wrap(&line, 2));
    }
    text
}

fn name(series: &HistorySeries) -> String {
    let mut name = series.name.clone();
    if let Some(arm) = &series.arm {
        name += &format!(", {arm}");
    }
    if let Some(proxy) = &series.proxy {
        name += &format!(", proxy {proxy}");
    }
    if let Some(other) = &series.compared_with {
        name += &format!(" against {other}");
    }
    if let Some(load) = &series.load {
        name += &format!(", load {load}");
    }
    format!("{name}, on {}", series.machine)
}

fn span(series: &HistorySeries) -> String {
    let count = series.points.len();
    let runs = counted(count as u64, "run");
    match (series.points.first(), series.points.last()) {
        (Some(first), Some(last)) if count > 1 => {
            format!("{runs}, {} to {}, now {}", date(first), date(last), number(series, last.estimate))
        }
        (Some(first), _) => format!("{runs}, {}, {}", date(first), number(series, first.estimate)),
        _ => runs,
    }
}

/// The runs as bars, of equally many runs each, in at most `width` columns with a margin.
fn plot(series: &HistorySeries, width: usize) -> String {
    let values: Vec<f64> = series.points.iter().map(|point| point.estimate).collect();
    let columns = width.saturating_sub(4 + 2 * series.changes.len()).max(1);
    let runs_of_bar = values.len().div_ceil(columns).max(1);
    let mut starts: Vec<usize> = series.changes.iter().map(|change| change.point).collect();
    starts.push(values.len());
    let mut start = 0;
    let mut levels: Vec<Vec<f64>> = Vec::new();
    for end in starts {
        let level = values.get(start..end).unwrap_or_default();
        levels.push(level.chunks(runs_of_bar).filter_map(median).collect());
        start = end;
    }
    // Medians of neighbours, so that a spike does not flatten all else.
    let bars = levels.concat();
    let neighbours = if bars.len() < 3 { 1 } else { 3 };
    let edges: Vec<f64> = bars.windows(neighbours).filter_map(median).collect();
    let lowest = edges.iter().copied().fold(f64::INFINITY, f64::min);
    let height = edges.iter().copied().fold(f64::NEG_INFINITY, f64::max) - lowest;
    let bar = |value: &f64| {
        let share = if height > 0.0 { (value - lowest) / height } else { 0.5 };
        let last = BARS.len() - 1;
        BARS.get((share * last as f64).round().clamp(0.0, last as f64) as usize).copied().unwrap_or(' ')
    };
    let levels: Vec<String> = levels.iter().map(|level| level.iter().map(bar).collect()).collect();
    levels.join(&CHANGE.to_string())
}

fn line(series: &HistorySeries, change: &HistoryChange) -> String {
    let HistoryChange { run, point, before, after, chance } = change;
    let at = series.points.get(*point);
    let began = at.map_or_else(String::new, |at| format!("{} ", date(at)));
    let versions = at.zip(point.checked_sub(1).and_then(|earlier| series.points.get(earlier)));
    let proxy = match versions.map(|(at, earlier)| (&earlier.proxy_version, &at.proxy_version)) {
        Some((Some(then), Some(now))) if then != now => format!(", proxy {then} -> {now}"),
        _ => String::new(),
    };
    let percent = 100.0 * (after - before) / before.abs();
    let relative = if percent.is_finite() {
        let sign = if percent < 0.0 { "" } else { "+" };
        format!(" ({sign}{} %)", grouped(percent, usize::from(percent.abs() < 10.0)))
    } else {
        String::new()
    };
    format!(
        "{began}run {run}: {} -> {}{relative}, chance {chance:.3}{proxy}",
        number(series, *before),
        number(series, *after)
    )
}

/// A number with the digits that the intervals of the series support.
fn number(series: &HistorySeries, value: f64) -> String {
    let widths = series.points.iter().filter_map(|point| Some((point.high? - point.low?) / 2.0));
    let narrowest = widths.fold(f64::INFINITY, f64::min);
    let unknown = value.abs() / 100.0;
    let half_width = if narrowest.is_finite() { narrowest } else { unknown };
    // Shares are below one.
    let digits = if half_width < 0.1 && value.abs() < 1.0 { 4 } else { decimals(half_width) };
    grouped(value, digits)
}

fn date(point: &HistoryPoint) -> &str {
    point.started_at.split('T').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_first_with_their_size_and_the_release_that_changed() {
        let point = |run: i64, estimate: f64| HistoryPoint {
            run,
            started_at: format!("2026-11-{run:02}T08:00:00Z"),
            proxy_version: Some(if run < 12 { "1.39.3" } else { "1.40.0" }.to_owned()),
            estimate,
            low: Some(estimate - 1.2),
            high: Some(estimate + 1.2),
        };
        let quiet = HistorySeries {
            name: "quick".to_owned(),
            machine: "AMD EPYC, 2 processors, 7.8 GiB".to_owned(),
            arm: Some("lua".to_owned()),
            compared_with: Some("baseline".to_owned()),
            load: None,
            proxy: None,
            points: vec![point(1, 7.75)],
            changes: Vec::new(),
        };
        let change = HistoryChange { run: 12, point: 1, before: 39.3, after: 44.1, chance: 0.003 };
        let changed = HistorySeries {
            arm: Some("jwt".to_owned()),
            load: Some("fixed-rate".to_owned()),
            proxy: Some("gateway".to_owned()),
            points: vec![point(11, 39.3), point(12, 44.1)],
            changes: vec![change],
            ..quiet.clone()
        };
        let result = HistoryResult {
            format: HistoryResult::FORMAT.to_owned(),
            number: "cost_cpu_us_per_request".to_owned(),
            significance: 0.01,
            series: vec![quiet, changed],
        };
        insta::assert_snapshot!(history(&result, Style { width: 100, colour: false }));
    }

    fn of_levels(levels: &[&[f64]]) -> HistorySeries {
        let mut series = HistorySeries {
            name: String::new(),
            machine: String::new(),
            arm: None,
            compared_with: None,
            load: None,
            proxy: None,
            points: Vec::new(),
            changes: Vec::new(),
        };
        for level in levels {
            if !series.points.is_empty() {
                let point = series.points.len();
                let change = HistoryChange { run: 0, point, before: 0.0, after: 0.0, chance: 0.001 };
                series.changes.push(change);
            }
            series.points.extend(level.iter().map(|estimate| HistoryPoint {
                run: 0,
                started_at: String::new(),
                proxy_version: None,
                estimate: *estimate,
                low: None,
                high: None,
            }));
        }
        series
    }

    #[test]
    fn a_plot_shows_levels_and_cuts_spikes() {
        let spiked = of_levels(&[&[5.0, 5.1, 5.0, 900.0, 5.0], &[6.0, 6.1, 6.0]]);
        assert_eq!(plot(&spiked, 80), "▁▂▁█▁|███");
        assert_eq!(plot(&of_levels(&[&[2.0; 3]]), 80), "▅▅▅");
        assert_eq!(plot(&of_levels(&[&[1.0], &[2.0]]), 80), "▁|█");
    }

    #[test]
    fn a_plot_of_any_length_fits_the_width() {
        let levels = [vec![1.0; 501], vec![2.0; 499]];
        let long = of_levels(&[&levels[0], &levels[1]]);
        for width in [60, 80, 200] {
            let columns = plot(&long, width).chars().count();
            assert!((width / 2..=width - 2).contains(&columns), "{columns} of {width}");
        }
    }
}
