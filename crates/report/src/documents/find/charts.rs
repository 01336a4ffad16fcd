//! The charts of a search: response times by rate with the knee, all trials with their objectives and the answer, and the use of the server.

use hoptax_result::{FindResult, FindTrial, FoundGoal, Interval, Sweep, SweepPoint, TriedObjective};

use super::{highest, in_words, knee, value};
use crate::chart::{Axis, Band, Chart, Level, Line, LineForm, Point, Scale, Series, Tone, drawn};
use crate::document::Section;
use crate::numbers::{counted, percent, rate};
use crate::quantity::Quantity;
use crate::rows::MIB;

/// Ratio of the largest to the smallest value above which a logarithmic axis is used. On a linear axis, only the largest would be visible.
const FAR: f64 = 20.0;
/// Maximum number of charts of objectives.
const MOST: usize = 4;
/// Space on the axis before the first of several close rates, as a share of their span.
const ROOM: f64 = 0.1;
/// Space on the axis on each side of a single rate, as a share of it.
const ROOM_OF_ONE: f64 = 0.1;

/// The sections of the charts; those without numbers are left out.
pub(super) fn charts(result: &FindResult) -> Vec<Section> {
    let mut sections = Vec::new();
    if let Some(found) = &result.sweep {
        let note = "Means over the blocks of the sweep, with intervals. Shaded: the knee, and the rate that was found.";
        let series = by_rate(found, result).map(Chart::Series);
        sections.push(Section::of_charts("Response times by rate", note, series));
    }
    let trials: Vec<&FindTrial> = result.trials.iter().collect();
    let objectives = result.trials.first().map_or(0, |trial| trial.objectives.len());
    let of = |place: usize| {
        let objective = &result.trials.first()?.objectives.get(place)?.objective;
        of_trials(&trials, place, result.goals.iter().find(|goal| goal.objectives.contains(objective)))
    };
    let all = (0..objectives.min(MOST)).filter_map(of).map(Chart::Series);
    sections.push(Section::of_charts("Trials by rate", &about(&trials), all));
    // After what the answer was decided from.
    if let Some(found) = &result.sweep {
        let note = "Each point is a rate of the sweep. A busier server may need less or more CPU time for a response.";
        let series = of_use(found).map(Chart::Series);
        sections.push(Section::of_charts("CPU time by use of the processors", note, series));
    }
    sections.into_iter().flatten().collect()
}

/// Returns an explanation of a chart of trials, with the number of trials that are missing from it.
pub(in crate::documents) fn about(trials: &[&FindTrial]) -> String {
    let is_missing = |trial: &&&FindTrial| trial.objectives.iter().any(|one| one.value.is_none());
    let missing = trials.iter().filter(is_missing).count();
    let missing = match missing {
        0 => String::new(),
        _ => format!(" {} had too few responses for a value.", counted(missing as u64, "trial")),
    };
    format!(
        "Each point is a trial. The search decides from all of them together: near the answer, trials at one rate hold and fail by \
         chance.{missing}"
    )
}

/// Mean, median and p99 of response time by rate of a sweep; none without a number.
fn by_rate(found: &Sweep, result: &FindResult) -> Option<Series> {
    let line = |name: &str, tone: Tone, of: fn(&SweepPoint) -> Option<Interval>| {
        let point = |point: &SweepPoint| match of(point) {
            Some(us) => Point::with_interval(point.rate, &us, Quantity::level(&us, "us").with_unit()),
            None => Point::at(point.rate, None),
        };
        let points: Vec<Point> = found.points.iter().map(point).collect();
        let has_any = points.iter().any(|point| point.y.is_some());
        has_any.then(|| Line::joined(name, tone, points))
    };
    let all = [
        line("p50", Tone::Other, |point| point.p50_us),
        line("mean", Tone::Third, |point| point.mean_us),
        line("p99", Tone::Own, |point| point.p99_us),
    ];
    let lines: Vec<Line> = all.into_iter().flatten().collect();
    if lines.is_empty() {
        return None;
    }
    let first = result.trials.first();
    let is_drawn = |one: &&TriedObjective| lines.iter().any(|line| line.name == name(one));
    let levels =
        first.iter().flat_map(|trial| &trial.objectives).filter(is_drawn).filter_map(level).collect();
    let bands = knee_band(found).into_iter().chain(result.goals.first().and_then(answer)).collect();
    let x = Axis::linear("rate, requests/s", "requests/s");
    let y = Axis::linear("response time, us", "us").on(Scale::Logarithmic);
    Some(Series { levels, bands, ..Series::new("response times by rate", x, y, lines) })
}

/// CPU time per response by the server's processor use; none with fewer than two rates that have both.
fn of_use(found: &Sweep) -> Option<Series> {
    let point = |point: &SweepPoint| {
        let (share, us) = (point.cpu_share?, point.cpu_us?);
        let us_text = Quantity::level(&us, "us").with_unit();
        let text = format!("{us_text} at {} requests/s", rate(point.rate));
        Some(Point::with_interval(100.0 * share.estimate, &us, text))
    };
    let mut points: Vec<Point> = found.points.iter().filter_map(point).collect();
    points.sort_by(|one, other| one.x.total_cmp(&other.x));
    let x = Axis::linear("used of the processors, %", "%");
    let y = Axis::linear("CPU time for each response, us", "us");
    let is_line = points.len() > 1;
    let lines = vec![Line::joined("CPU time", Tone::Own, points)];
    is_line.then(|| Series::new("CPU time for each response, us", x, y, lines))
}

/// The range of rates that contains the knee.
fn knee_band(found: &Sweep) -> Option<Band> {
    let of = found.knee?;
    let text = knee(found);
    let last = found.points.last().map(|point| point.rate);
    Some(Band {
        from: Some(drawn(of.low_rate)),
        to: last.is_none_or(|last| of.high_rate < last).then(|| drawn(of.high_rate)),
        at: Some(drawn(of.rate)),
        text: text.split(';').next().unwrap_or_default().to_owned(),
        tone: Tone::Third,
    })
}

/// The interval of the rate found for a goal, or its known end.
fn answer(goal: &FoundGoal) -> Option<Band> {
    let found = highest(goal)?;
    let text =
        format!("highest rate that holds {}: {}", goal.objectives.join(" and "), in_words(Some(&found)));
    let [from, to, at] = [found.low, found.high, found.estimate].map(|rate| rate.map(drawn));
    Some(Band { from, to, at, text, tone: Tone::Own })
}

/// The limit of an objective; none in results of earlier versions.
fn level(one: &TriedObjective) -> Option<Level> {
    Some(Level { y: drawn(one.limit? * factor(&one.unit)), text: one.objective.clone() })
}

/// The number that an objective limits: `p99` for `p99<5ms`.
fn name(of: &TriedObjective) -> &str {
    of.objective.split(['<', '>']).next().unwrap_or_default().trim()
}

/// The unit that values are drawn in.
fn unit(of: &str) -> &'static str {
    match of {
        "us" => "us",
        "%" => "%",
        "bytes" => "MiB",
        _ => "requests",
    }
}

/// The factor that converts a value to that unit.
fn factor(of: &str) -> f64 {
    if of == "bytes" { 1.0 / MIB } else { 1.0 }
}

/// Trials by rate with the value that an objective limits; none without a value.
pub(in crate::documents) fn of_trials(
    trials: &[&FindTrial],
    place: usize,
    goal: Option<&FoundGoal>,
) -> Option<Series> {
    let first = trials.first()?.objectives.get(place)?;
    let mut sorted = trials.to_vec();
    sorted.sort_by(|one, other| one.rate.total_cmp(&other.rate));
    let points = |is_it: fn(&FindTrial, &TriedObjective) -> bool| -> Vec<Point> {
        let point = |trial: &&FindTrial| {
            let one = trial.objectives.get(place).filter(|one| is_it(trial, one))?;
            let of = one.value? * factor(&one.unit);
            let text =
                format!("{}, {} late or lost", value(one.value, &one.unit), percent(one.loss_ratio, 2));
            Some(Point { text: Some(text), ..Point::at(trial.rate, Some(of)) })
        };
        sorted.iter().filter_map(point).collect()
    };
    let all = [
        ("holds", Tone::Own, points(|trial, one| trial.generator_limits.is_empty() && one.holds)),
        ("fails", Tone::Failed, points(|trial, one| trial.generator_limits.is_empty() && !one.holds)),
        ("does not count", Tone::Other, points(|trial, _| !trial.generator_limits.is_empty())),
    ];
    let all = all.into_iter().filter(|(_, _, points)| !points.is_empty());
    let lines: Vec<Line> = all
        .map(|(name, tone, points)| Line::joined(name, tone, points).in_form(LineForm::Scattered))
        .collect();
    let of_points = |of: fn(&Point) -> Option<f64>| lines.iter().flat_map(|line| &line.points).filter_map(of);
    let rates = (
        of_points(|point| Some(point.x)).reduce(f64::min)?,
        of_points(|point| Some(point.x)).reduce(f64::max)?,
    );
    let values = (of_points(|point| point.y).reduce(f64::min)?, of_points(|point| point.y).reduce(f64::max)?);
    // With an axis that begins at zero, rates that are close together would all be in one corner.
    let (lowest, highest) = if rates.0 < rates.1 {
        let lowest = (2.0 * rates.0 > rates.1).then(|| drawn(rates.0 - ROOM * (rates.1 - rates.0)));
        (lowest, None)
    } else {
        let end = |share: f64| Some(drawn(rates.0 * share));
        (end(1.0 - ROOM_OF_ONE), end(1.0 + ROOM_OF_ONE))
    };
    let scale = if values.0 > 0.0 && values.1 > FAR * values.0 { Scale::Logarithmic } else { Scale::Linear };
    let name = name(first);
    let unit = unit(&first.unit);
    let x = Axis { highest, lowest, ..Axis::linear("rate, requests/s", "requests/s") };
    let y = Axis::linear(format!("{name}, {unit}"), unit).on(scale);
    let levels = level(first).into_iter().collect();
    let bands = goal.and_then(answer).into_iter().collect();
    Some(Series { levels, bands, ..Series::new(format!("{name} of each trial"), x, y, lines) })
}

#[cfg(test)]
mod tests {
    use hoptax_result::{FindState, SweepKnee};

    use super::super::tests::{goal, result, trial};
    use super::*;

    #[test]
    fn trials_that_hold_fail_and_do_not_count_are_told_apart_beside_the_limit() {
        let mut all = [trial(980.0, Some(2_100.0), true), trial(990.0, Some(6_000.0), false)];
        all[0].objectives[0].limit = Some(5_000.0);
        let mut spoilt = trial(985.0, Some(4_000.0), true);
        spoilt.generator_limits = vec!["send-lag: x".to_owned()];
        let unknown = trial(1_000.0, None, false);
        let trials = [&all[0], &all[1], &spoilt, &unknown];
        let series = of_trials(&trials, 0, Some(&goal(FindState::MaximumHeld, Some(980.0), None))).unwrap();
        let names: Vec<(&str, usize)> =
            series.lines.iter().map(|line| (line.name.as_str(), line.points.len())).collect();
        assert_eq!(names, [("holds", 1), ("fails", 1), ("does not count", 1)]);
        assert_eq!((series.levels[0].y, series.y.label.as_str()), (5_000.0, "p99, us"));
        // Nothing limits the rate from above.
        assert_eq!((series.bands[0].from, series.bands[0].to), (Some(980.0), None));
        assert!(series.x.lowest.is_some_and(|lowest| lowest > 900.0 && lowest < 980.0));
        assert!(about(&trials).ends_with("1 trial had too few responses for a value."));
    }

    #[test]
    fn a_value_that_is_not_known_has_no_chart_and_no_limit_is_made_up() {
        let unknown = trial(1_000.0, None, false);
        assert!(of_trials(&[&unknown], 0, None).is_none() && of_trials(&[], 0, None).is_none());
        let known = trial(1_000.0, Some(3.0), true);
        let series = of_trials(&[&known], 0, None).unwrap();
        assert!(series.levels.is_empty() && series.bands.is_empty());
        // A single rate is in the middle of its axis.
        assert_eq!((series.x.lowest, series.x.highest), (Some(drawn(900.0)), Some(drawn(1_100.0))));
    }

    #[test]
    fn a_sweep_is_drawn_with_its_knee_and_without_one_that_is_not_known() {
        let point = |at: f64, cpu_share: Option<f64>| SweepPoint {
            rate: at,
            trials: 6,
            mean_us: Some(Interval::around(at, 10.0)),
            p99_us: (at > 100.0).then(|| Interval::around(2.0 * at, 20.0)),
            cpu_share: cpu_share.map(|share| Interval::around(share, 0.01)),
            cpu_us: Some(Interval::around(80.0, 2.0)),
            ..SweepPoint::default()
        };
        let mut result = result(FindState::Found, Some(980.5), Some(1_200.0));
        let mut sweep = Sweep {
            blocks: 6,
            trial_s: 1.0,
            confidence: 0.95,
            points: vec![point(100.0, Some(0.2)), point(200.0, Some(0.5)), point(300.0, None)],
            knee: Some(SweepKnee { rate: 200.0, low_rate: 100.0, high_rate: 300.0 }),
        };
        result.goals.clear();
        let series = by_rate(&sweep, &result).unwrap();
        let names: Vec<(&str, Option<f64>)> =
            series.lines.iter().map(|line| (line.name.as_str(), line.points[0].y)).collect();
        assert_eq!(names, [("mean", Some(100.0)), ("p99", None)]);
        // The knee may be at any higher rate, too.
        assert_eq!((series.bands[0].from, series.bands[0].to), (Some(100.0), None));
        assert!(series.bands[0].text.starts_with("knee: at least 100 requests/s"), "{:?}", series.bands);
        assert_eq!(of_use(&sweep).unwrap().lines[0].points.len(), 2);
        sweep.knee = None;
        sweep.points.truncate(1);
        assert!(by_rate(&sweep, &result).unwrap().bands.is_empty() && of_use(&sweep).is_none());
    }

    #[test]
    fn memory_is_drawn_in_mebibytes_with_its_limit() {
        let mut one = trial(1_000.0, Some(48.0 * MIB), true);
        let objective = &mut one.objectives[0];
        (objective.objective, objective.unit) = ("memory<50MiB".to_owned(), "bytes".to_owned());
        objective.limit = Some(50.0 * MIB);
        let series = of_trials(&[&one], 0, None).unwrap();
        assert_eq!((series.y.label.as_str(), series.levels[0].y), ("memory, MiB", 50.0));
        assert_eq!(series.lines[0].points[0].y, Some(48.0));
    }
}
