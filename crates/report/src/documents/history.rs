//! The document of a number over all runs of the store: when its level changed.

mod charts;

use hoptax_result::{
    CostMeasure, HistoryChange, HistoryPoint, HistoryResult, HistorySeries, Interval, counted, grouped,
};
use hoptax_stats::median;

use crate::document::{Document, Next, Section};
use crate::numbers::decimals;
use crate::quantity::{Form, Quantity};
use crate::table::{Cell, Column, Row, Table};

/// The document of a history: first the series whose level changed, the largest change first.
pub fn history(result: &HistoryResult) -> Document {
    let mut series: Vec<&HistorySeries> = result.series.iter().collect();
    series.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let mut document = Document::new(
        format!("runs history {}", result.number),
        in_words(&result.number),
        answer(result, &series),
    );
    document.table = Some(table(&result.number, &series));
    document.plots.extend(charts::charts(result, &series));
    let newest = series.iter().filter_map(|series| series.changes.last()).map(|change| change.run).max();
    document.next = Some(match newest {
        Some(run) => {
            Next::new(format!("hoptax runs show {run}"), "prints the newest run that begins a level")
        }
        None => Next::new("hoptax runs list", "lists the runs behind the numbers"),
    });
    for one in series.iter().filter(|series| !series.changes.is_empty()) {
        let mut lines = vec![span(one)];
        lines.extend(one.changes.iter().map(|change| line(one, change)));
        document.sections.extend(Section::of_lines(&format!("{}, on {}", name(one), one.machine), lines));
    }
    document.sections.extend(Section::of_lines("Method", method(result)));
    document
}

/// The size of the last change of a series as a share of the previous level; negative if there is none.
fn size(series: &HistorySeries) -> f64 {
    series.changes.last().map_or(-1.0, |change| {
        let share = ((change.after - change.before) / change.before).abs();
        if share.is_nan() { 0.0 } else { share }
    })
}

/// Approximate number of runs from which the first change can be detected: [`hoptax_stats::change_points`].
const FIRST_CHANGE: usize = 10;

fn answer(result: &HistoryResult, series: &[&HistorySeries]) -> Vec<String> {
    let number = &result.number;
    let changed = series.iter().filter(|series| !series.changes.is_empty()).count();
    let all = format!("{} series", series.len());
    let Some((first, change)) =
        series.first().and_then(|first| first.changes.last().map(|change| (first, change)))
    else {
        let longest = series.iter().max_by_key(|series| series.points.len());
        let runs = longest.map(|longest| {
            let runs = counted(longest.points.len() as u64, "run");
            let level = [level(longest, &longest.points), unit(number).to_owned()].join(" ");
            format!("Longest series: {runs} of {}, median {}", name(longest), level.trim_end())
        });
        let are_few = longest.is_some_and(|longest| longest.points.len() < FIRST_CHANGE);
        // Without enough runs, nothing was looked for: that none was found says nothing.
        let found = if are_few { "Too few runs to tell a" } else { "No" };
        let none = format!("{found} lasting change of {} in {all}", in_words(number));
        let few =
            format!("In a series of fewer than about {FIRST_CHANGE} runs, no change can be told from chance");
        return std::iter::once(none).chain(runs).chain(are_few.then_some(few)).collect();
    };
    let rest = format!("{changed} of {all} of {number} changed lastingly");
    let rest = if changed > 1 { format!("{rest}; this is the largest change") } else { rest };
    vec![format!("{}: {number} {}", name(first), line(first, change)), rest]
}

fn table(number: &str, series: &[&HistorySeries]) -> Table {
    let row = |series: &&HistorySeries| {
        let last = series.points.last();
        let change = series.changes.last();
        let before = change.map(|change| change.before);
        let in_words = |value: Option<f64>| Cell::from(value.map(|value| digits(series, value)));
        // The current level: that after the last change, or else the last run.
        let now = match (change, last) {
            (Some(change), _) => in_words(Some(change.after)),
            (None, Some(HistoryPoint { estimate, low: Some(low), high: Some(high), .. })) => {
                Cell::level(Some(&Interval::new(*estimate, *low, *high)), unit(number))
            }
            (None, last) => in_words(last.map(|last| last.estimate)),
        };
        Row::new(
            name(series),
            vec![
                in_words(before),
                now,
                change.and_then(percent).into(),
                change.map(|change| since(series, change)).into(),
                Cell::words(series.points.len().to_string()),
                change.and_then(|change| release(series, change.point)).into(),
                change.map(|change| grouped(change.chance, 3)).into(),
                Cell::words(&series.machine),
            ],
        )
    };
    let unit = unit(number);
    let heading = |name: &str| if unit.is_empty() { name.to_owned() } else { format!("{name} {unit}") };
    let columns = [
        Column::new(heading("before"), 2),
        Column::new(heading("now"), 0),
        Column::new("change %", 1),
        Column::text("since", 3),
        Column::new("runs", 4),
        Column::text("proxy", 5),
        Column::new("chance", 6),
        Column::text("machine", 7),
    ];
    let has_change = series.iter().any(|one| !one.changes.is_empty());
    let levels = if has_change { "level before the last change, and now" } else { "last run of each series" };
    let title = format!("{}: {levels}", in_words(number));
    Table::new(title, "series", columns, series.iter().map(row)).without_empty_columns()
}

/// A number as text, without its unit: `p50 of response time` for `response_p50_us`.
fn in_words(number: &str) -> String {
    let (what, name) = number.strip_prefix("cost_").map_or(("", number), |name| ("cost in ", name));
    let field = |measure: CostMeasure| match measure {
        CostMeasure::CpuUs => "cpu_us_per_request",
        CostMeasure::CpuShare => "cpu_share",
        CostMeasure::ResponseP50Us => "response_p50_us",
        CostMeasure::ResponseP90Us => "response_p90_us",
        CostMeasure::ResponseP99Us => "response_p99_us",
        CostMeasure::ResponseQuietP99Us => "response_quiet_p99_us",
        CostMeasure::MaxRate => "max_rate",
        CostMeasure::OfRounds(measure) => measure.definition().field,
    };
    let measure = CostMeasure::all().into_iter().find(|measure| field(*measure) == name);
    let words = measure.map_or_else(
        || name.strip_suffix("_us").unwrap_or(name).replace('_', " "),
        |measure| measure.name().to_owned(),
    );
    format!("{what}{words}")
}

/// The unit in the name of a number; empty for shares and ratios.
fn unit(number: &str) -> &'static str {
    let (name, _) = number.split_once("_from_").unwrap_or((number, ""));
    let has = |word: &str| name.split('_').any(|part| part == word);
    if has("us") {
        "us"
    } else if has("bytes") {
        "B"
    } else if name.ends_with("_per_million") {
        "per million"
    } else if name.ends_with("_per_second") {
        "/s"
    } else if name.ends_with("rate") {
        "requests/s"
    } else if name.ends_with("_s") {
        "s"
    } else {
        ""
    }
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
    match (&series.load, &series.arm) {
        (Some(load), Some(_)) => name += &format!(", load {load}"),
        // A load without a study is named by its shape.
        (Some(load), None) => name += &format!(", {load}"),
        (None, _) => {}
    }
    if let Some(share) = series.quiet_wait_share {
        name += &format!(", quiet to waits of {} %", (share * 1e4).round() / 100.0);
    }
    name
}

fn span(series: &HistorySeries) -> String {
    let runs = counted(series.points.len() as u64, "run");
    match (series.points.first(), series.points.last()) {
        (Some(first), Some(last)) => {
            format!("{runs}, {} to {}, now {}", date(first), date(last), digits(series, last.estimate))
        }
        _ => runs,
    }
}

/// The change in percent of the previous level; none if that is zero.
fn percent(change: &HistoryChange) -> Option<Quantity> {
    let percent = 100.0 * (change.after - change.before) / change.before.abs();
    percent.is_finite().then(|| Quantity::point(percent, "%", Form::Difference))
}

/// The day and the run at which a level began.
fn since(series: &HistorySeries, change: &HistoryChange) -> String {
    let began = series.points.get(change.point).map_or_else(String::new, |at| format!("{}, ", date(at)));
    format!("{began}run {}", change.run)
}

/// The proxy versions of the run before this one and of this one; none if they are the same.
fn release(series: &HistorySeries, point: usize) -> Option<String> {
    let at = series.points.get(point)?;
    let earlier = series.points.get(point.checked_sub(1)?)?;
    match (&earlier.proxy_version, &at.proxy_version) {
        (Some(then), Some(now)) if then != now => Some(format!("{then} -> {now}")),
        _ => None,
    }
}

/// A change with its levels: `rose by 12.2 % on 2026-11-12 with run 12, from 39.3 (39.1 to 39.5) to 44.1 (43.9 to 44.3)`.
fn line(series: &HistorySeries, change: &HistoryChange) -> String {
    let HistoryChange { before, after, chance, point, .. } = change;
    let verb = if after < before { "fell" } else { "rose" };
    let size = percent(change).map_or_else(String::new, |percent| {
        format!(" by {}", percent.with_unit().trim_start_matches(['+', '-']))
    });
    let proxy = release(series, *point).map_or_else(String::new, |release| format!(", proxy {release}"));
    let ends = || series.changes.iter().map(|change| change.point);
    let from = ends().filter(|end| end < point).max().unwrap_or(0);
    let to = ends().filter(|end| end > point).min().unwrap_or(series.points.len());
    let of = |from: usize, to: usize| series.points.get(from..to).unwrap_or_default();
    format!(
        "{verb}{size} on {}{proxy}, from {} to {} (chance {chance})",
        since(series, change),
        level(series, of(from, *point)),
        level(series, of(*point, to)),
        chance = grouped(*chance, 3)
    )
}

/// The median of runs, followed by the lowest and the highest if there are several: `39.3 (39.1 to 39.5)`.
fn level(series: &HistorySeries, points: &[HistoryPoint]) -> String {
    let values: Vec<f64> = points.iter().map(|point| point.estimate).collect();
    let Some(middle) = median(&values) else { return "-".to_owned() };
    let end = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick).unwrap_or(middle);
    let [middle, low, high] = [middle, end(f64::min), end(f64::max)].map(|value| digits(series, value));
    if points.len() > 1 { format!("{middle} ({low} to {high})") } else { middle }
}

/// A number with as many digits as the intervals of the series support.
fn digits(series: &HistorySeries, value: f64) -> String {
    let widths = series.points.iter().filter_map(|point| Some((point.high? - point.low?) / 2.0));
    let narrowest = widths.fold(f64::INFINITY, f64::min);
    let unknown = value.abs() / 100.0;
    let half_width = if narrowest.is_finite() { narrowest } else { unknown };
    // Shares are below one and need more digits.
    let digits = if half_width < 0.1 && value.abs() < 1.0 { 4 } else { decimals(half_width) };
    grouped(value, digits)
}

fn date(point: &HistoryPoint) -> &str {
    point.started_at.split('T').next().unwrap_or_default()
}

fn method(result: &HistoryResult) -> Vec<String> {
    vec![
        format!(
            "a change is found where there is none in {} % of series",
            grouped(100.0 * result.significance, 0)
        ),
        "levels are medians of their runs, with the lowest and the highest run in parentheses; a change needs at least three runs at the \
         new level"
            .to_owned(),
        "chance: how often runs in random order would show a change as large".to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use hoptax_result::HistoryBody;

    use super::*;
    use crate::fixture::{self, STYLE};
    use crate::render::terminal;

    fn point(run: i64, estimate: f64) -> HistoryPoint {
        HistoryPoint {
            run,
            started_at: format!("2026-11-{run:02}T08:00:00Z"),
            proxy_version: Some(if run < 12 { "1.39.3" } else { "1.40.0" }.to_owned()),
            estimate,
            low: Some(estimate - 1.2),
            high: Some(estimate + 1.2),
        }
    }

    fn result() -> HistoryResult {
        let quiet = HistorySeries {
            name: "quick".to_owned(),
            machine: "AMD EPYC, 2 processors, 7.8 GiB".to_owned(),
            arm: Some("lua".to_owned()),
            compared_with: Some("baseline".to_owned()),
            points: (1..4).map(|run| point(run, 7.75)).collect(),
            ..HistorySeries::default()
        };
        let change = HistoryChange { run: 12, point: 3, before: 39.3, after: 44.1, chance: 0.003 };
        let changed = HistorySeries {
            arm: Some("jwt".to_owned()),
            load: Some("fixed-rate".to_owned()),
            proxy: Some("gateway".to_owned()),
            points: (9..12).map(|run| point(run, 39.3)).chain((12..15).map(|run| point(run, 44.1))).collect(),
            changes: vec![change],
            ..quiet.clone()
        };
        let body = HistoryBody {
            number: "cost_cpu_us_per_request".to_owned(),
            significance: 0.01,
            series: vec![quiet, changed],
        };
        HistoryResult::new((), body)
    }

    #[test]
    fn changes_come_first_with_their_size_and_the_release_that_changed() {
        insta::assert_snapshot!(terminal::details(&history(&result()), STYLE));
    }

    #[test]
    fn a_title_has_the_words_of_a_number_and_not_its_field() {
        for (number, expected) in [
            ("response_p50_us", "p50 of response time"),
            ("cost_cpu_us_per_request", "cost in CPU time per request"),
            ("late_per_million_from_2_s", "late per million from 2 s"),
        ] {
            assert_eq!(in_words(number), expected);
        }
    }

    #[test]
    fn every_number_but_shares_and_ratios_has_the_unit_of_its_name() {
        for (number, expected) in [
            ("cost_cpu_us_per_request", "us"),
            ("response_quiet_p99_us", "us"),
            ("memory_per_connection_bytes", "B"),
            ("received_bytes_per_request", "B"),
            ("cost_max_rate", "requests/s"),
            ("rate", "requests/s"),
            ("full_handshakes_per_second", "/s"),
            ("late_per_million_from_2_s", "per million"),
            ("hurt_s", "s"),
            ("imbalance_from_0.5_s", ""),
        ] {
            assert_eq!(unit(number), expected, "{number}");
        }
        for result in [fixture::study(), fixture::timeline()] {
            for number in result.named_numbers() {
                let name = number.name.as_str();
                let is_without = name.ends_with("_share") || name.starts_with("imbalance");
                assert_eq!(unit(name).is_empty(), is_without, "{name}");
            }
        }
    }

    #[test]
    fn a_history_without_changes_says_so() {
        let mut result = result();
        result.series.truncate(1);
        insta::assert_snapshot!(terminal::screen(&history(&result), STYLE));
        let mut bare = result.clone();
        bare.series[0].points.iter_mut().for_each(|run| run.low = None);
        let now = |result: &HistoryResult| history(result).table.unwrap().texts(0).remove(0);
        assert_eq!([now(&result), now(&bare)], ["7.8 ±1.2", "7.75"]);
        result.series[0].points = (1..=10).map(|run| point(run, 7.75)).collect();
        let answer = history(&result).answer;
        assert_eq!(answer[0], "No lasting change of cost in CPU time per request in 1 series");
        assert_eq!(answer.len(), 2, "ten runs are enough: {answer:?}");
    }

    #[test]
    fn series_with_different_limits_of_quiet_slices_have_different_names() {
        let of = |quiet_wait_share| {
            let one = result().series.remove(0);
            name(&HistorySeries { arm: None, compared_with: None, quiet_wait_share, ..one })
        };
        assert_eq!(of(None), "quick");
        let load = Some("closed loop, 16 connections, http1, GET".to_owned());
        let on_server = HistorySeries { arm: None, compared_with: None, load, ..result().series.remove(0) };
        assert_eq!(name(&on_server), "quick, closed loop, 16 connections, http1, GET");
        assert_eq!(
            [of(Some(0.01)), of(Some(0.025))],
            ["quick, quiet to waits of 1 %", "quick, quiet to waits of 2.5 %"]
        );
    }
}
