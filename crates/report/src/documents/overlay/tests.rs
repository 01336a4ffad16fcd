use hoptax_result::{
    Bound, BoundOf, Cost, CostMeasure, HistoryBody, HistoryResult, Interval, LoadBounds, ResponseCost,
    TimeBounds, sample,
};
use serde_json::json;

use super::*;
use crate::chart::{Chart, Outcome, Overlay, Series};
use crate::document::Block;
use crate::fixture::STYLE;
use crate::quantity::Quantity;
use crate::render::{json as as_json, terminal};

fn read(run: i64, result: &impl Serialize) -> Overlaid {
    Overlaid::read(run, &serde_json::to_string(result).unwrap()).unwrap()
}

/// A load whose response times are those of the sample times a factor.
fn load(factor: f64) -> LoadResult {
    let mut load = sample::load();
    let times = &mut load.latency.response;
    for time in [&mut times.p50_us, &mut times.p90_us, &mut times.p99_us, &mut times.p99_9_us] {
        *time = time.map(|us| us * factor);
    }
    let intervals = &mut load.response_intervals;
    for range in
        [&mut intervals.p50_us, &mut intervals.p90_us, &mut intervals.p99_us, &mut intervals.p99_9_us]
    {
        let range = range.as_mut().unwrap();
        (range.low, range.high) = (range.low * factor, range.high * factor);
    }
    load.environment.cpu_model = "A processor".to_owned();
    load
}

/// A study with a cost of `lua`, us, and p50 times.
fn study(cost_us: f64, half_width_us: f64) -> StudyResult {
    let mut study = sample::study("ours", "2026-11-01T00:00:00Z", cost_us);
    for arm in &mut study.arms {
        arm.response_us.p50 = Some(Interval::around(100.0, 0.5));
    }
    study.arms[1].cost = Cost {
        cpu_us_per_request: Some(Interval::around(cost_us, half_width_us)),
        response_us: ResponseCost { p50: Some(Interval::around(1.0, 0.1)), ..ResponseCost::default() },
        ..Cost::default()
    };
    study
}

fn charts(document: &Document) -> Vec<&Chart> {
    let blocks = document.plots.iter().flat_map(|section| &section.blocks);
    blocks
        .filter_map(|block| if let Block::Chart(chart) = block { Some(chart.as_ref()) } else { None })
        .collect()
}

fn overlay_of(document: &Document) -> &Overlay {
    let found = charts(document).into_iter().find_map(|chart| match chart {
        Chart::Overlay(overlay) => Some(overlay),
        _ => None,
    });
    found.unwrap()
}

#[test]
fn loads_have_a_row_each_and_their_percentiles_are_decided_about() {
    let runs = [read(9, &load(1.0)), read(12, &load(1.1)), read(13, &load(1.001))];
    let document = overlay(&runs);
    assert_eq!(document.subject, "runs compare 9 12 13");
    assert_eq!(
        document.answer[0],
        "Run 12 against run 9: p50 +10.0 ±1.6 %, different; p99 +10.0 ±1.6 %, different"
    );
    assert_eq!(
        document.answer[1],
        "Run 13 against run 9: p50 +0.1 ±1.4 %, equivalent; p99 +0.1 ±1.4 %, equivalent"
    );
    assert!(document.answer[2].ends_with("do not differ, as far as the results state them"), "{document:?}");
    let table = document.table.as_ref().unwrap();
    assert_eq!(
        table.rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(),
        ["run 9", "run 12", "run 13"]
    );
    assert_eq!(table.rows[1].cells[1].text(), "110.0 ±1.1");
    let Some(Chart::Differences(differences)) = charts(&document).pop() else { panic!("{document:?}") };
    let outcomes: Vec<Outcome> = differences.rows.iter().map(|row| row.outcome).collect();
    assert_eq!(outcomes, [[Outcome::Different; 4], [Outcome::Equivalent; 4]].concat());
    assert_eq!(differences.margin, Some(2.0));
    for text in [terminal::screen(&document, STYLE), terminal::details(&document, STYLE)] {
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(text.contains("next: hoptax runs show 13 --details"), "{text}");
    }
}

#[test]
fn a_percentile_that_is_bounded_in_a_load_has_the_bounds_of_its_difference() {
    let with_p50 = |low_us, high_us, factor| {
        let mut load = load(factor);
        load.latency.response.p50_us = None;
        load.bounds.response.p50_us = Some(TimeBounds { low_us: Some(low_us), high_us: Some(high_us) });
        load
    };
    let document = overlay(&[read(1, &load(1.0)), read(2, &with_p50(104.0, 118.0, 1.1))]);
    assert_eq!(
        document.answer[0],
        "Run 2 against run 1: p50 +3.0 to +19.0 us, undecided; p99 +10.0 ±1.6 %, different"
    );
    let Some(Chart::Differences(differences)) = charts(&document).pop() else { panic!("{document:?}") };
    assert_eq!(differences.rows.len(), 4);
    let p50 = &differences.rows[0];
    // From 3 of 101 to 19 of 99.
    assert_eq!((p50.share.text().as_str(), p50.outcome), ("+2.9 to +19.2", Outcome::Undecided));
    assert_eq!((p50.share.estimate, p50.text.as_str()), (None, "+3.0 to +19.0 us"));
    let row = |text: String| text.lines().find(|line| line.starts_with("run 2: p50")).map(str::to_owned);
    let row = row(terminal::details(&document, STYLE)).unwrap();
    assert!(row.contains("+2.9 to +19.2"), "the table has the share that the chart draws: {row}");
    let both = overlay(&[read(1, &with_p50(90.0, 110.0, 1.0)), read(2, &with_p50(104.0, 118.0, 1.1))]);
    assert!(both.answer[0].starts_with("Run 2 against run 1: p50 -6 to +28 us, undecided; "), "{both:?}");
    let details = terminal::details(&both, STYLE);
    assert!(
        details.lines().any(|line| line.starts_with("run 2: p50") && line.contains("-6 to +28")),
        "{details}"
    );
}

#[test]
fn percentile_curves_of_loads_are_lines_of_one_chart_in_colours_of_their_own() {
    // The recorded load has histograms; the sample has none.
    let recorded = include_str!("../../../recorded/load.json");
    let runs =
        [Overlaid::read(1, recorded).unwrap(), Overlaid::read(2, recorded).unwrap(), read(3, &load(1.0))];
    let document = overlay(&runs);
    let Some(Chart::Series(Series { lines, .. })) = charts(&document).first().copied() else {
        panic!("{document:?}")
    };
    let names: Vec<(&str, Tone)> = lines.iter().map(|line| (line.name.as_str(), line.tone)).collect();
    assert_eq!(names, [("run 1", Tone::Other), ("run 2", Tone::Own)]);
    assert!(lines.iter().all(|line| line.points.iter().any(|point| point.low.is_some())), "{lines:?}");
    let notes: Vec<&Block> =
        document.plots[0].blocks.iter().filter(|block| matches!(block, Block::Note(_))).collect();
    assert_eq!(notes.len(), 2, "a run without a curve is said: {notes:?}");
}

#[test]
fn a_void_load_has_no_time_to_compare_and_the_verdict_is_the_worst() {
    let mut void = load(1.0);
    void.verdict = Verdict::Void;
    void.rate.achieved = None;
    void.latency.response.p50_us = None;
    void.latency.response.p99_us = None;
    void.bounds = LoadBounds::default();
    let document = overlay(&[read(1, &void), read(2, &load(1.0))]);
    assert_eq!(
        document.answer[0],
        "No difference of p50 or p99 of response time is known between run 2 and run 1"
    );
    let judgement = document.verdict.as_ref().unwrap();
    assert_eq!(judgement.verdict, Verdict::Void);
    assert_eq!(judgement.usable, "run 1 is void, and its numbers are withheld; run 2 is sound");
    assert_eq!(document.next.as_ref().unwrap().command, "hoptax runs show 1 --details");
}

#[test]
fn costs_of_studies_are_beside_each_other_with_their_decisions() {
    let mut other = study(7.0, 0.5);
    other.arms[0].cpu_us_per_request = Some(Interval::around(50.2, 0.2));
    let document = overlay(&[read(1, &study(5.0, 0.3)), read(2, &other), read(3, &study(5.1, 0.3))]);
    let chart = overlay_of(&document);
    let measures: Vec<&str> = chart.views.iter().map(|view| view.heading.as_str()).collect();
    assert_eq!(measures, ["CPU time per request", "p50 of response time"]);
    let view = &chart.views[0];
    assert_eq!(view.margin, Some(1.0), "2 % of the 50 us of plain proxying");
    let [lua] = view.rows.as_slice() else { panic!("{view:?}") };
    let costs: Vec<String> =
        lua.costs.iter().map(|cost| cost.as_ref().map_or_else(String::new, Quantity::text)).collect();
    assert_eq!(costs, ["+5.00 ±0.30", "+7.00 ±0.50", "+5.10 ±0.30"]);
    let differences: Vec<Option<(String, Outcome)>> =
        lua.differences.iter().map(|one| one.as_ref().map(|one| (one.value.text(), one.outcome))).collect();
    assert_eq!(
        differences,
        [
            None,
            Some(("+2.00 ±0.58".to_owned(), Outcome::Different)),
            Some(("+0.10 ±0.42".to_owned(), Outcome::Equivalent))
        ]
    );
    assert_eq!(lua.differences[1].as_ref().unwrap().text, "+4.0 ±1.2 % of baseline");
    let first = &document.answer[0];
    assert!(
        first.starts_with(
            "Run 2 against run 1: of 1 cost in CPU time per request, 1 different, 0 equivalent, 0 undecided (the largest difference is \
             that of `lua`: +2.00 ±0.58 us)"
        ),
        "{first}"
    );
    assert!(first.ends_with("; CPU time of `baseline` +0.4 ±1.1 %, equivalent"), "{first}");
    assert!(document.changes.is_empty(), "of three runs, {:?}", document.changes);
    let screen = terminal::screen(&document, STYLE);
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
    assert!(screen.contains("run 2: decision") && screen.contains("different"), "{screen}");
}

#[test]
fn a_cost_that_is_bounded_in_a_study_is_undecided_with_the_bounds_of_its_difference() {
    let mut other = study(7.0, 0.5);
    other.arms[1].cost.cpu_us_per_request = None;
    let bound = Bound::new(BoundOf::Cost, CostMeasure::CpuUs, Some(6.0), Some(9.0)).unwrap();
    other.arms[1].bounds.0 = vec![bound];
    let document = overlay(&[read(1, &study(5.0, 1.0)), read(2, &other)]);
    let difference = overlay_of(&document).views[0].rows[0].differences[1].as_ref().unwrap();
    // From 6 less 6 to 9 less 4.
    assert_eq!((difference.value.text().as_str(), difference.outcome), ("+0.0 to +5.0", Outcome::Undecided));
    assert!(difference.text.ends_with(" % of baseline"), "{}", difference.text);
    assert!(document.answer[0].contains("of 1 cost in CPU time per request, "), "{:?}", document.answer);
    assert_eq!(document.table.as_ref().unwrap().texts_of("lua")[2..], ["+0.0 to +5.0", "undecided"]);
    // A cost that is withheld in one run has no difference.
    other.arms[1].bounds.0.clear();
    let document = overlay(&[read(1, &study(5.0, 1.0)), read(2, &other)]);
    let differences = overlay_of(&document).views.iter().flat_map(|view| &view.rows[0].differences);
    assert!(differences.flatten().all(|one| one.value.unit != "us" || one.value.estimate.is_some()));
}

#[test]
fn the_largest_difference_that_is_named_is_decided() {
    let document = overlay(&[read(1, &study(5.0, 0.3)), read(2, &study(7.0, 4.0))]);
    let first = &document.answer[0];
    assert!(first.contains("0 different, 0 equivalent, 1 undecided; "), "{first}");
    // The undecided difference of another arm is larger than that of `lua`.
    let with_jwt = |lua_us: f64, jwt_us: f64| {
        let mut one = study(lua_us, 0.3);
        let mut jwt = one.arms[1].clone();
        jwt.id = "jwt".to_owned();
        jwt.cost.cpu_us_per_request = Some(Interval::around(jwt_us, 9.0));
        one.arms.push(jwt);
        one
    };
    let document = overlay(&[read(1, &with_jwt(5.0, 5.0)), read(2, &with_jwt(7.0, 10.0))]);
    let first = &document.answer[0];
    assert!(first.contains("1 different, 0 equivalent, 1 undecided"), "{first}");
    assert!(first.contains("(the largest difference is that of `lua`: "), "{first}");
}

#[test]
fn differing_numbers_without_widths_are_not_decided() {
    let text = |other_us: f64| {
        let exact = |us: f64| {
            let mut one = study(5.0, 0.3);
            one.arms[1].cost.response_us.p50 = Some(Interval::around(us, 0.0));
            one
        };
        as_json::text(&overlay(&[read(1, &exact(1.0)), read(2, &exact(other_us))])).unwrap()
    };
    assert!(text(2.0).contains("not decided: the numbers differ"), "{}", text(2.0));
    assert_eq!(text(2.0).matches("not decided").count(), 2, "in the table, and explained");
    assert!(!text(1.0).contains("not decided"));
}

#[test]
fn an_arm_that_one_study_lacks_or_compares_otherwise_has_no_difference_and_is_named() {
    let (one, mut other) = (study(5.0, 0.3), study(5.0, 0.3));
    let mut jwt = other.arms[1].clone();
    jwt.id = "jwt".to_owned();
    other.arms.push(jwt);
    let mut document = overlay(&[read(1, &one), read(2, &other)]);
    assert!(
        document.notes.iter().any(|note| note.contains("1 arm not in every run") && note.ends_with(": jwt"))
    );
    assert_eq!(overlay_of(&document).views[0].rows.len(), 1);
    // Compared with another arm, nothing is left to compare.
    other.arms[1].compared_with = Some("jwt".to_owned());
    document = overlay(&[read(1, &one), read(2, &other)]);
    assert!(charts(&document).is_empty() && document.changes.is_empty(), "{document:?}");
    assert!(document.answer[0].starts_with("Run 1: "), "{document:?}");
}

#[test]
fn what_differs_besides_the_numbers_is_in_the_answer_and_in_a_table_of_its_own() {
    let (mut one, mut other) = (study(5.0, 0.3), study(5.0, 0.3));
    one.environment.proxy_version = Some("1.39.3".to_owned());
    other.environment.kernel = "6.8".to_owned();
    one.environment.kernel = "6.1".to_owned();
    other.plan.never_halted = true;
    other.environment.load_average = 1.5;
    let document = overlay(&[read(1, &one), read(2, &other)]);
    assert_eq!(
        document.answer[1],
        "The runs differ in proxy (1.39.3, 1.40.0), Linux (6.1, 6.8) and never_halted (no, yes)"
    );
    let [change, others] = document.changes.as_slice() else { panic!("{:?}", document.changes) };
    assert_eq!(document.answer, [format!("Run 2 against run 1: {change}"), others.clone()]);
    let Some(Block::Table(table)) = document.sections[0].blocks.first() else { panic!("{document:?}") };
    let rows: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| std::iter::once(row.name.clone()).chain(row.cells.iter().map(Cell::text)).collect())
        .collect();
    assert_eq!(
        rows,
        [
            ["began", "2026-11-01T00:00:00Z", "2026-11-01T00:00:00Z"],
            ["load average at the start", "0.00", "1.50"],
            ["proxy", "1.39.3", "1.40.0"],
            ["Linux", "6.1", "6.8"],
            ["never_halted", "no", "yes"],
        ]
    );
    let details = terminal::details(&document, STYLE);
    assert!(details.contains("Environment differences\n"), "{details}");
}

#[test]
fn options_of_loads_are_environment_differences() {
    let mut other = load(1.0);
    other.plan.connections = 64;
    other.rate.target = Some(500.0);
    let document = overlay(&[read(1, &load(1.0)), read(2, &other)]);
    assert_eq!(document.answer[1], "The runs differ in rate (20,000/s, 500/s) and connections (16, 64)");
}

#[test]
fn lengths_are_no_difference_of_loads_whose_number_of_requests_decides_them() {
    let answer = |request_limit: Option<u64>| {
        let runs = [(1, 2.5), (2, 3.5)].map(|(run, duration_s)| {
            let mut result = load(1.0);
            (result.plan.duration_s, result.plan.request_limit) = (duration_s, request_limit);
            read(run, &result)
        });
        overlay(&runs).answer.join("\n")
    };
    assert!(answer(None).contains("duration_s (2.5, 3.5)"), "{}", answer(None));
    assert!(!answer(Some(60)).contains("duration_s"), "{}", answer(Some(60)));
}

#[test]
fn results_of_several_kinds_have_their_answers_side_by_side() {
    let body = HistoryBody { number: "max_rate".to_owned(), significance: 0.01, series: Vec::new() };
    let history = HistoryResult::new((), body);
    let document = overlay(&[read(1, &load(1.0)), read(2, &history)]);
    assert!(document.answer[0].starts_with("Run 1: 200,000 of 200,000 planned requests"), "{document:?}");
    assert!(document.answer[1].starts_with("Run 2: "), "{document:?}");
    let table = document.table.as_ref().unwrap();
    assert_eq!(table.rows.iter().map(|row| row.cells[0].text()).collect::<Vec<_>>(), ["load", "history"]);
    assert!(charts(&document).is_empty());
    // Documents are written with every number finite.
    let text = as_json::text(&document).unwrap();
    assert!(text.contains("runs compare 1 2"), "{text}");
}

#[test]
fn what_is_no_result_of_this_version_is_refused_with_the_reason() {
    let mut result = json!(sample::load());
    result["format"] = json!("hoptax.load/999");
    let why = Overlaid::read(1, &result.to_string()).unwrap_err();
    assert!(why.contains("hoptax.load/999"), "{why}");
    result["format"] = json!(LoadResult::FORMAT);
    result["plan"] = json!(1);
    assert!(Overlaid::read(1, &result.to_string()).is_err());
}

#[test]
fn there_is_a_colour_for_each_of_the_most_results() {
    let runs: Vec<Overlaid> = (1..=MOST_OVERLAID as i64).map(|run| read(run, &study(5.0, 0.3))).collect();
    let document = overlay(&runs);
    let tones: Vec<Tone> = overlay_of(&document).runs.iter().map(|run| run.tone).collect();
    assert_eq!(tones.len(), MOST_OVERLAID);
    assert!(tones.iter().enumerate().all(|(place, tone)| !tones[..place].contains(tone)), "{tones:?}");
    assert!(!tones.contains(&Tone::Failed), "no run is drawn as a failure");
}
