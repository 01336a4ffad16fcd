//! Charts of a function by load: its CPU time, as a share and per request, and its response time.

use hoptax_result::{ArmKind, ArmLoad, ArmResult, CostMeasure, Interval, LoadSpec, StudyResult};

use crate::by_load;
use crate::chart::{Axis as ChartAxis, Group, Line, Point, Series, Tone};
use crate::numbers::grouped;
use crate::quantity::Quantity;
use crate::rows::{self, rows};

/// The horizontal axis of the charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Axis {
    /// Busy share of the proxy, for loads that are a share of each arm's capacity. It differs from the planned share, because a request
    /// costs more CPU time when the proxy is less busy.
    Busy,
    /// Requests per second.
    Rate,
}

impl Axis {
    /// The axis of a study: the busy share if at least two loads are shares of each arm's capacity, otherwise the rate.
    fn new(result: &StudyResult) -> Self {
        let shares = result.plan.loads.iter().filter(|load| load.utilisation.is_some());
        if shares.count() > 1 { Self::Busy } else { Self::Rate }
    }

    /// The position of an arm under a load on the axis, if it has one.
    fn place(self, load: &LoadSpec, under: &ArmLoad) -> Option<f64> {
        match self {
            Self::Busy => {
                under.busy_share().filter(|_| load.utilisation.is_some()).map(|share| share * 100.0)
            }
            Self::Rate => load.rate,
        }
    }

    /// A position as text.
    fn words(self, place: f64) -> String {
        match self {
            Self::Busy => format!("{} % busy", grouped(place, 0)),
            Self::Rate => format!("{} requests/s", grouped(place, 0)),
        }
    }

    /// The axis of a chart.
    fn drawn(self) -> ChartAxis {
        match self {
            Self::Busy => ChartAxis::linear("how busy the proxy was, %", "%"),
            Self::Rate => ChartAxis::linear("load, requests/s", "requests/s"),
        }
    }
}

/// A charted measure.
struct Plotted {
    title: &'static str,
    /// The unit of its points.
    unit: &'static str,
    /// Its value for an arm under a load.
    value: by_load::Of,
    /// True for a value of the arm itself, which the reference arm has as well; false for a difference between the two.
    is_level: bool,
}

/// A value of an arm on the axis.
struct Placed {
    place: f64,
    value: Interval,
    /// True for a difference whose sign is not supported.
    has_uncertain_sign: bool,
}

const CPU_SHARE: Plotted =
    Plotted { title: "CPU cost, %", unit: "%", value: by_load::CPU_SHARE, is_level: false };
const CPU: Plotted = Plotted {
    title: "CPU per request, us",
    unit: "us",
    value: |load| load.cpu_us_per_request,
    is_level: true,
};
/// Response time at the highest quantile that the loads provide.
const RESPONSES: [Plotted; 4] = [
    Plotted { title: "quiet p99, us", unit: "us", value: |load| load.response_us.quiet_p99, is_level: true },
    Plotted { title: "p99, us", unit: "us", value: |load| load.response_us.p99, is_level: true },
    Plotted { title: "p90, us", unit: "us", value: |load| load.response_us.p90, is_level: true },
    Plotted { title: "p50, us", unit: "us", value: |load| load.response_us.p50, is_level: true },
];

/// The charts of each function that was measured under at least two open loops, in the order of the main table.
pub(crate) fn by_load_charts(result: &StudyResult) -> Vec<Group> {
    let of_row = |row: &rows::Row<'_>| {
        let baseline = result.reference_of(row.arm);
        let chart = |plotted: &Plotted| chart(result, row.arm, baseline, plotted);
        let response = RESPONSES.iter().find_map(chart);
        let charts: Vec<Series> = [chart(&CPU_SHARE), chart(&CPU), response].into_iter().flatten().collect();
        (row.arm.kind == ArmKind::Function && !charts.is_empty())
            .then(|| Group { name: row.name.clone(), charts })
    };
    rows(result).iter().filter_map(of_row).collect()
}

/// Positions of open loops on the axis with the values of an arm, ascending.
fn series(result: &StudyResult, arm: &ArmResult, axis: Axis, plotted: &Plotted) -> Vec<Placed> {
    let at = |load: &LoadSpec| {
        let under = arm.under(&load.name)?;
        let is_uncertain = under.cost.uncertain_signs.contains(&CostMeasure::CpuShare);
        Some(Placed {
            place: axis.place(load, under)?,
            value: (plotted.value)(under)?,
            has_uncertain_sign: !plotted.is_level && is_uncertain,
        })
    };
    let mut series: Vec<Placed> = result.plan.loads.iter().filter_map(at).collect();
    series.sort_by(|a, b| a.place.total_cmp(&b.place));
    series
}

/// The chart; none with fewer than two loads.
fn chart(
    result: &StudyResult,
    arm: &ArmResult,
    baseline: Option<&ArmResult>,
    plotted: &Plotted,
) -> Option<Series> {
    let axis = Axis::new(result);
    let own = series(result, arm, axis, plotted);
    if own.first()?.place >= own.last()?.place {
        return None;
    }
    let line = |name: &str, tone: Tone, of: &[Placed]| {
        let points = of.iter().map(|placed| point(axis, plotted, placed));
        Line::joined(name, tone, points.collect())
    };
    let other = baseline
        .filter(|_| plotted.is_level)
        .map(|baseline| line(&baseline.id, Tone::Other, &series(result, baseline, axis, plotted)));
    let y = ChartAxis::linear(plotted.title, plotted.unit);
    let lines = other.into_iter().chain([line(&arm.id, Tone::Own, &own)]).collect();
    Some(Series::new(plotted.title, axis.drawn(), y, lines))
}

fn point(axis: Axis, plotted: &Plotted, Placed { place, value, has_uncertain_sign }: &Placed) -> Point {
    let make: fn(&Interval, &'static str) -> Quantity =
        if plotted.is_level { Quantity::level } else { Quantity::difference };
    let number = make(value, plotted.unit).with_sign(*has_uncertain_sign);
    Point::with_interval(*place, value, format!("{} at {}", number.with_unit(), axis.words(*place)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_function_is_drawn_against_its_baseline() {
        let result = fixture::loaded();
        let all = by_load_charts(&result);
        let lua = all.iter().find(|one| one.name == "lua").unwrap();
        let titles: Vec<&str> = lua.charts.iter().map(|chart| chart.title.as_str()).collect();
        assert_eq!(titles, ["CPU cost, %", "CPU per request, us", "p99, us"]);
        assert_eq!(lua.charts[0].lines.len(), 1, "a cost has no baseline");
        let [baseline, own] = lua.charts[1].lines.as_slice() else { panic!("{lua:?}") };
        assert_eq!((baseline.tone, own.tone), (Tone::Other, Tone::Own));
        assert!(own.points.len() == 2 && baseline.points.len() == 2 && own.points[0].x < own.points[1].x);
        assert_eq!(own.points[0].text.as_deref(), Some("76.43 ±0.78 us at 4,000 requests/s"));
    }

    #[test]
    fn a_cost_whose_sign_is_not_supported_is_marked() {
        let mut result = fixture::loaded();
        let lua = result.arms.iter_mut().find(|arm| arm.id == "lua").unwrap();
        let half = lua.loads.iter_mut().find(|load| load.load == "half").unwrap();
        half.cost.uncertain_signs = vec![CostMeasure::CpuShare];
        let all = by_load_charts(&result);
        let charts = &all.iter().find(|one| one.name == "lua").unwrap().charts;
        let texts = |chart: usize| {
            let points = charts[chart].lines.last().unwrap().points.iter();
            points.map(|point| point.text.clone().unwrap()).collect::<Vec<String>>()
        };
        assert_eq!(texts(0), ["+10.76 ±0.91 % at 4,000 requests/s", "+10.76 ±0.91 ? % at 10,000 requests/s"]);
        assert!(texts(1).iter().all(|text| !text.contains('?')), "a level has no such mark: {:?}", texts(1));
    }

    #[test]
    fn shares_of_capacity_are_shown_with_how_busy_the_proxies_were() {
        let result = fixture::shares();
        let shares = by_load::cpu(&result).remove(0);
        let headings: Vec<&str> = shares.columns[1..].iter().map(|column| column.heading.as_str()).collect();
        assert_eq!(headings, ["fixed-rate (25 %, busy 39 %)", "half (50 %, busy 62 %)"]);
        let chart = by_load_charts(&result)[0].charts[1].clone();
        let [.., own] = chart.lines.as_slice() else { panic!("{chart:?}") };
        assert_eq!((own.points[0].x, own.points[1].x, chart.x.unit), (39.0, 62.0, "%"));
        assert!(own.points[0].text.as_ref().unwrap().ends_with(" at 39 % busy"), "{chart:?}");
    }

    #[test]
    fn without_tails_the_median_is_drawn() {
        let mut result = fixture::loaded();
        for load in result.arms.iter_mut().flat_map(|arm| &mut arm.loads) {
            (load.response_us.p99, load.response_us.p90) = (None, None);
        }
        assert_eq!(by_load_charts(&result)[0].charts[2].title, "p50, us");
    }

    #[test]
    fn a_single_rate_has_no_chart() {
        assert!(by_load_charts(&fixture::study()).is_empty());
    }
}
