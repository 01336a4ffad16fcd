//! Pictures of a function by load: how its CPU time, as a share and per request, and its response time change with the load.

use hoptax_result::{ArmKind, ArmLoad, ArmResult, Interval, LoadSpec, StudyResult};
use serde::Serialize;

use crate::by_load::{self, percent};
use crate::numbers::{grouped, level};
use crate::rows::{self, rows};

/// Widths and heights in the picture's coordinates.
const WIDTH: f64 = 240.0;
const HEIGHT: f64 = 110.0;
const LEFT: f64 = 40.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 18.0;
/// Space above the highest point of a level, as a share of it.
const HEADROOM: f64 = 0.1;

/// The charts of one function.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Multiple {
    pub(crate) name: String,
    pub(crate) charts: Vec<Chart>,
}

/// The horizontal axis of the charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Axis {
    /// How busy the proxy was, for loads that are a share of each arm's capacity. The planned share is another: a
    /// request costs more CPU time the less a proxy has to do.
    Busy,
    /// Requests per second.
    Rate,
}

impl Axis {
    /// The axis of a study: the rate, unless at least two loads are a share of each arm's capacity.
    fn new(result: &StudyResult) -> Self {
        let shares = result.plan.loads.iter().filter(|load| load.utilisation.is_some());
        if shares.count() > 1 { Self::Busy } else { Self::Rate }
    }

    /// The position of an arm under a load on the axis, if it has one.
    fn place(self, load: &LoadSpec, under: &ArmLoad) -> Option<f64> {
        match self {
            Self::Busy => under.busy_share().filter(|_| load.utilisation.is_some()),
            Self::Rate => load.rate,
        }
    }

    fn label(self, place: f64) -> String {
        match self {
            Self::Busy => percent(place),
            Self::Rate => grouped(place, 0),
        }
    }

    /// The unit of its numbers.
    fn unit(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Rate => "requests/s",
        }
    }
}

/// One chart: a measure against the load.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Chart {
    pub(crate) title: &'static str,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
    pub(crate) top: f64,
    /// Position of zero on the vertical axis.
    pub(crate) zero_y: f64,
    /// The maximum of the vertical axis.
    pub(crate) highest: String,
    /// The loads at both ends.
    pub(crate) first: String,
    pub(crate) last: String,
    /// Their unit.
    pub(crate) unit: &'static str,
    /// Position of the first load.
    pub(crate) first_x: f64,
    /// The lines of the function and of the arm that it is compared with, as points of a polyline.
    pub(crate) line: String,
    pub(crate) baseline: String,
    pub(crate) points: Vec<Point>,
}

/// An estimate with its interval, in the picture's coordinates.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) low_y: f64,
    pub(crate) high_y: f64,
    /// The numbers as text.
    pub(crate) text: String,
}

/// A charted measure.
struct Plotted {
    title: &'static str,
    /// The unit of its points.
    unit: &'static str,
    /// Its value for an arm under a load.
    value: by_load::Of,
    /// Whether it is an arm's own, which the arm compared with has, too, or a difference between the two.
    is_level: bool,
}

const CPU_SHARE: Plotted =
    Plotted { title: "CPU cost, %", unit: "%", value: by_load::CPU_SHARE, is_level: false };
const CPU: Plotted = Plotted {
    title: "CPU per request, us",
    unit: "us",
    value: |load| load.cpu_us_per_request,
    is_level: true,
};
/// Response time at the highest quantile that the loads have.
const RESPONSES: [Plotted; 3] = [
    Plotted { title: "p99, us", unit: "us", value: |load| load.response_us.p99, is_level: true },
    Plotted { title: "p90, us", unit: "us", value: |load| load.response_us.p90, is_level: true },
    Plotted { title: "p50, us", unit: "us", value: |load| load.response_us.p50, is_level: true },
];

/// The charts of each function that was measured under at least two open loops, in the order of the main table.
pub(crate) fn multiples(result: &StudyResult) -> Vec<Multiple> {
    let of_row = |row: &rows::Row<'_>| {
        let baseline = rows::compared_with(result, row.arm);
        let chart = |plotted: &Plotted| chart(result, row.arm, baseline, plotted);
        let response = RESPONSES.iter().find_map(chart);
        let charts: Vec<Chart> = [chart(&CPU_SHARE), chart(&CPU), response].into_iter().flatten().collect();
        (row.arm.kind == ArmKind::Function && !charts.is_empty())
            .then(|| Multiple { name: row.name.clone(), charts })
    };
    rows(result).iter().filter_map(of_row).collect()
}

/// Positions of open loops on the axis with the values of an arm, ascending.
fn series(result: &StudyResult, arm: &ArmResult, axis: Axis, value: by_load::Of) -> Vec<(f64, Interval)> {
    let at = |load: &LoadSpec| {
        let under = arm.under(&load.name)?;
        Some((axis.place(load, under)?, value(under)?))
    };
    let mut series: Vec<(f64, Interval)> = result.plan.loads.iter().filter_map(at).collect();
    series.sort_by(|a, b| a.0.total_cmp(&b.0));
    series
}

/// The ends of the vertical axis. That of a level begins at zero and ends above the estimates. A cost may be on either side of
/// zero, and what its interval excludes is what counts, so its axis holds the intervals.
fn ends(plotted: &Plotted, values: impl Iterator<Item = Interval>) -> (f64, f64) {
    values.fold((0.0, 0.0), |(lowest, highest): (f64, f64), value| {
        let of_level = (lowest, highest.max(value.estimate * (1.0 + HEADROOM)));
        if plotted.is_level { of_level } else { (lowest.min(value.low), highest.max(value.high)) }
    })
}

/// The chart; none with fewer than two loads.
fn chart(
    result: &StudyResult,
    arm: &ArmResult,
    baseline: Option<&ArmResult>,
    plotted: &Plotted,
) -> Option<Chart> {
    let value = plotted.value;
    let baseline = baseline.filter(|_| plotted.is_level);
    let axis = Axis::new(result);
    let own = series(result, arm, axis, value);
    let other = baseline.map(|baseline| series(result, baseline, axis, value)).unwrap_or_default();
    let ((first, _), (last, _)) = (own.first().copied()?, own.last().copied()?);
    let (lowest, highest) = ends(plotted, own.iter().chain(&other).map(|(_, value)| *value));
    // An axis needs at least two loads and some height.
    if first >= last || highest <= lowest {
        return None;
    }
    // The other arm may have been busier.
    let end = other.last().map_or(last, |(place, _)| last.max(*place));
    let x = |place: f64| round(LEFT + place.clamp(0.0, end) / end * (WIDTH - LEFT - RIGHT));
    let y = |value: f64| {
        let share = (value.clamp(lowest, highest) - lowest) / (highest - lowest);
        round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM))
    };
    let polyline = |series: &[(f64, Interval)]| {
        let points = series.iter().map(|(place, value)| format!("{},{}", x(*place), y(value.estimate)));
        points.collect::<Vec<_>>().join(" ")
    };
    let point = |(place, value): &(f64, Interval)| Point {
        x: x(*place),
        y: y(value.estimate),
        low_y: y(value.low),
        high_y: y(value.high),
        text: format!("{} {} at {} {}", level(value), plotted.unit, axis.label(*place), axis.unit()),
    };
    Some(Chart {
        title: plotted.title,
        width: WIDTH,
        height: HEIGHT,
        left: LEFT,
        right: WIDTH - RIGHT,
        bottom: HEIGHT - BOTTOM,
        top: TOP,
        zero_y: y(0.0),
        highest: grouped(highest, usize::from(highest < 10.0)),
        first: axis.label(first),
        last: axis.label(end),
        unit: axis.unit(),
        first_x: x(first),
        line: polyline(&own),
        baseline: polyline(&other),
        points: own.iter().map(point).collect(),
    })
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_function_is_drawn_against_its_baseline() {
        let result = fixture::loaded();
        let all = multiples(&result);
        let lua = all.iter().find(|one| one.name == "lua").unwrap();
        let titles: Vec<&str> = lua.charts.iter().map(|chart| chart.title).collect();
        assert_eq!(titles, ["CPU cost, %", "CPU per request, us", "p99, us"]);
        assert!(lua.charts[0].baseline.is_empty(), "a cost has no baseline");
        // The interval of a cost that may be below zero is drawn on both sides of it.
        let nothing = all.iter().find(|one| one.name == "stats/per-route").unwrap();
        let cost = &nothing.charts[0];
        let is_across = |point: &Point| point.high_y < cost.zero_y && cost.zero_y < point.low_y;
        assert!(cost.points.iter().all(is_across), "{cost:?}");
        let cpu = &lua.charts[1];
        assert!(cpu.points.len() == 2 && cpu.baseline.split(' ').count() == 2);
        assert!(cpu.points[0].x < cpu.points[1].x && cpu.points[0].y < cpu.points[1].y, "{cpu:?}");
        for point in lua.charts.iter().flat_map(|chart| &chart.points) {
            assert!(point.high_y >= TOP && point.low_y <= HEIGHT - BOTTOM && point.high_y <= point.low_y);
        }
    }

    #[test]
    fn shares_of_capacity_are_shown_with_how_busy_the_proxies_were() {
        let mut result = fixture::shares();
        assert_eq!(
            by_load::cpu(&result)[0].header[2..],
            ["fixed-rate (25 %, busy 39 %)", "half (50 %, busy 62 %)"]
        );
        let cpu = |result: &StudyResult| multiples(result)[0].charts[1].clone();
        let chart = cpu(&result);
        assert_eq!((chart.first.as_str(), chart.last.as_str(), chart.unit), ("39 %", "62 %", "busy"));
        assert!(chart.points[0].text.ends_with(" at 39 % busy"), "{chart:?}");
        // The axis reaches as far as the busier of the two arms.
        for arm in result.arms.iter_mut().filter(|arm| arm.kind == ArmKind::Baseline) {
            arm.loads[2].proxy_core_share = Some(0.8);
        }
        let chart = cpu(&result);
        assert!(chart.last == "80 %" && chart.points[1].x < WIDTH - RIGHT, "{chart:?}");
    }

    #[test]
    fn without_tails_the_median_is_drawn() {
        let mut result = fixture::loaded();
        for load in result.arms.iter_mut().flat_map(|arm| &mut arm.loads) {
            (load.response_us.p99, load.response_us.p90) = (None, None);
        }
        assert_eq!(multiples(&result)[0].charts[2].title, "p50, us");
    }

    #[test]
    fn a_single_rate_has_no_chart() {
        assert!(multiples(&fixture::study()).is_empty());
    }
}
