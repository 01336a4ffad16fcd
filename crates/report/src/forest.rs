//! The layout of a forest plot: a row per arm with its estimate and interval, grouped by family of functions, on one
//! axis.
//!
//! If a few arms cost many times as much as most, the axis is linear around zero and logarithmic beyond (the inverse
//! hyperbolic sine, after Burbidge, Magee and Robb 1988), so that small costs remain distinguishable from zero.

use hoptax_result::Interval;
use serde::Serialize;

use crate::numbers::grouped;

/// Widths and heights in the picture's coordinates.
const LABEL: f64 = 210.0;
/// Approximate width of a label's character, for labels longer than the usual width.
const CHARACTER: f64 = 8.4;
const PLOT: f64 = 640.0;
const VALUE: f64 = 120.0;
const ROW: f64 = 21.0;
/// Space between two families.
const GAP: f64 = 9.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 46.0;
/// Space for the label of a tick.
const TICK: f64 = 34.0;
/// An arm this many times beyond the next one is cut off by the end of the axis.
const OUTLIER: f64 = 8.0;
/// If the largest estimate is this many times the median one, a linear axis would push most arms onto zero.
const CROWDED: f64 = 8.0;
/// Size of the linear range, in median half-widths.
const NOISE: f64 = 4.0;
/// How far the axis extends beyond the estimates for the ends of intervals, as a share of its length.
const BEYOND: f64 = 0.12;

/// A forest plot, ready to draw.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Forest {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) axis_y: f64,
    pub(crate) zero_x: f64,
    /// The A/A arm's interval, drawn as a band: start and width.
    pub(crate) band: Option<(f64, f64)>,
    /// The upper end of the linear range; none if the whole axis is linear.
    pub(crate) linear_to: Option<String>,
    pub(crate) ticks: Vec<Tick>,
    /// Lines between families.
    pub(crate) separators: Vec<f64>,
    pub(crate) rows: Vec<ForestRow>,
}

/// A tick of the axis.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Tick {
    pub(crate) x: f64,
    pub(crate) label: String,
}

/// One arm.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ForestRow {
    pub(crate) label: String,
    pub(crate) value: String,
    pub(crate) y: f64,
    /// Position of its estimate; none beyond an end of the axis.
    pub(crate) x: Option<f64>,
    pub(crate) low_x: f64,
    pub(crate) high_x: f64,
    pub(crate) is_near_zero: bool,
    /// Whether its interval exceeds the plot on the left, where an arrow is drawn.
    pub(crate) leaves_left: bool,
    /// Whether its interval exceeds the plot on the right.
    pub(crate) leaves_right: bool,
}

/// The input for one arm.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Item {
    /// The family that it is drawn with.
    pub(crate) family: String,
    pub(crate) label: String,
    pub(crate) value: String,
    pub(crate) interval: Interval,
}

/// The mapping from values to the axis.
#[derive(Clone, Copy, Debug)]
struct Axis {
    /// The upper end of the linear range; none if the whole axis is linear.
    linear_to: Option<f64>,
    from: f64,
    to: f64,
    left: f64,
}

/// How the axis is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    /// For points: outliers are cut off, and the axis may be logarithmic beyond a linear range.
    Fitted,
    /// For bars, whose lengths are compared: linear, with all estimates.
    Linear,
}

impl Axis {
    /// The axis of `items`; none if empty.
    fn new(items: &[Item], left: f64, scale: Scale) -> Option<Self> {
        let mut estimates: Vec<f64> = items.iter().map(|item| item.interval.estimate.abs()).collect();
        estimates.sort_by(f64::total_cmp);
        let middle = estimates.get(estimates.len() / 2).copied()?;
        while let [.., second, largest] = estimates.as_slice()
            && scale == Scale::Fitted
            && *largest > OUTLIER * second
            && *second > 0.0
        {
            estimates.pop();
        }
        let largest = estimates.last().copied().unwrap_or_default();
        let zone = linear_zone(items);
        let is_crowded =
            scale == Scale::Fitted && largest > CROWDED * middle && largest > CROWDED * zone && zone > 0.0;
        let linear_to = is_crowded.then_some(zone);
        let axis = Self { linear_to, from: 0.0, to: 0.0, left };
        let on_axis = || items.iter().map(|item| item.interval).filter(|one| one.estimate.abs() <= largest);
        let bent = |value: f64| axis.bend(value);
        let low = on_axis().map(|one| bent(one.estimate)).fold(0.0, f64::min);
        let high = on_axis().map(|one| bent(one.estimate)).fold(0.0, f64::max);
        // An axis is needed even if all values are zero.
        let length = if high - low > 0.0 { high - low } else { bent(1.0) };
        let lowest = on_axis().map(|one| bent(one.low)).fold(low, f64::min);
        let highest = on_axis().map(|one| bent(one.high)).fold(high, f64::max);
        let (from, to) = (lowest.max(low - BEYOND * length), highest.min(high + BEYOND * length));
        let to = if to > from { to } else { from + length };
        Some(Self { from, to, ..axis })
    }

    fn bend(self, value: f64) -> f64 {
        self.linear_to.map_or(value, |zone| (value / zone).asinh())
    }

    fn is_left(self, value: f64) -> bool {
        self.bend(value) < self.from
    }

    fn is_right(self, value: f64) -> bool {
        self.bend(value) > self.to
    }

    fn x(self, value: f64) -> f64 {
        let bent = self.bend(value).clamp(self.from, self.to);
        round(self.left + (bent - self.from) / (self.to - self.from) * PLOT)
    }

    /// Ticks at round numbers, zero among them, spaced so that labels do not overlap.
    fn ticks(self) -> Vec<Tick> {
        let mut values = match self.linear_to {
            None => {
                let step = tick_step(self.to - self.from);
                let numbers = (self.from / step).ceil() as i64..=(self.to / step).floor() as i64;
                numbers.map(|number| number as f64 * step).collect()
            }
            Some(zone) => round_numbers(zone),
        };
        values.retain(|value| !self.is_left(*value) && !self.is_right(*value));
        // In order of priority: zero, powers of ten, then the rest.
        values.sort_by(|a, b| weight(*a).total_cmp(&weight(*b)).then(a.total_cmp(b)));
        let mut kept: Vec<f64> = Vec::new();
        for value in values {
            if kept.iter().all(|other| (self.x(*other) - self.x(value)).abs() >= TICK) {
                kept.push(value);
            }
        }
        kept.sort_by(f64::total_cmp);
        let label = |value: f64| grouped(value, decimals_of(value));
        kept.into_iter().map(|value| Tick { x: self.x(value), label: label(value) }).collect()
    }
}

/// Lays out a plot; none if there are no items. Families are in order of their most expensive arm; within a family,
/// arms are in descending order of cost.
pub(crate) fn forest(items: &[Item], band: Option<Interval>) -> Option<Forest> {
    lay_out(items, band, Scale::Fitted)
}

/// As [`forest`], with an axis for bars.
pub(crate) fn bars(items: &[Item], band: Option<Interval>) -> Option<Forest> {
    lay_out(items, band, Scale::Linear)
}

fn lay_out(items: &[Item], band: Option<Interval>, scale: Scale) -> Option<Forest> {
    let longest = items.iter().map(|item| item.label.chars().count()).max().unwrap_or(0);
    let left = round(LABEL.max(longest as f64 * CHARACTER + 10.0));
    let axis = Axis::new(items, left, scale)?;
    let (mut rows, mut separators, mut y) = (Vec::new(), Vec::new(), TOP);
    for family in families(items) {
        if !rows.is_empty() {
            separators.push(round(y + GAP / 2.0));
            y += GAP;
        }
        for item in family {
            let Interval { estimate, low, high } = item.interval;
            rows.push(ForestRow {
                label: item.label.clone(),
                value: item.value.clone(),
                y: round(y + ROW / 2.0),
                x: (!axis.is_left(estimate) && !axis.is_right(estimate)).then(|| axis.x(estimate)),
                low_x: axis.x(low),
                high_x: axis.x(high),
                is_near_zero: item.interval.contains(0.0),
                leaves_left: axis.is_left(low),
                leaves_right: axis.is_right(high),
            });
            y += ROW;
        }
    }
    let axis_y = round(y + 6.0);
    Some(Forest {
        width: left + PLOT + VALUE,
        height: axis_y - 6.0 + BOTTOM,
        left,
        right: left + PLOT,
        axis_y,
        zero_x: axis.x(0.0),
        band: band.map(|band| (axis.x(band.low), round(axis.x(band.high) - axis.x(band.low)))),
        linear_to: axis.linear_to.map(|zone| grouped(zone, decimals_of(zone))),
        ticks: axis.ticks(),
        separators,
        rows,
    })
}

/// The items by family.
fn families(items: &[Item]) -> Vec<Vec<&Item>> {
    let mut families: Vec<Vec<&Item>> = Vec::new();
    let mut sorted: Vec<&Item> = items.iter().collect();
    sorted.sort_by(|a, b| b.interval.estimate.total_cmp(&a.interval.estimate));
    for item in sorted {
        match families.iter_mut().find(|family| family.iter().any(|other| other.family == item.family)) {
            Some(family) => family.push(item),
            None => families.push(vec![item]),
        }
    }
    families
}

/// The size of the linear range: a few times the median half-width, as a round number. Values below it are noise and
/// need no more space.
fn linear_zone(items: &[Item]) -> f64 {
    let mut halves: Vec<f64> = items.iter().map(|item| item.interval.half_width()).collect();
    halves.sort_by(f64::total_cmp);
    let half = halves.get(halves.len() / 2).copied().unwrap_or_default();
    if half > 0.0 { round_up(NOISE * half) } else { 0.0 }
}

/// 1, 2 or 5 times a power of ten, chosen to give four to ten ticks.
fn tick_step(range: f64) -> f64 {
    round_up((range / 6.0).max(1e-6))
}

/// Rounds a positive `value` up to 1, 2 or 5 times a power of ten.
fn round_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= value).unwrap_or(10.0);
    factor * power
}

/// Zero, and 1, 2 and 5 times the powers of ten beyond the linear range, in both directions.
fn round_numbers(zone: f64) -> Vec<f64> {
    let first = zone.log10().floor() as i32;
    let sizes =
        (first..first + 9).flat_map(|power| [1.0, 2.0, 5.0].map(|factor| factor * 10_f64.powi(power)));
    let sizes: Vec<f64> = sizes.filter(|size| *size >= zone * 0.99).collect();
    sizes.iter().map(|size| -size).chain([0.0]).chain(sizes.iter().copied()).collect()
}

/// The priority of a tick: zero, powers of ten, the rest.
fn weight(value: f64) -> f64 {
    let log = value.abs().log10();
    if value.abs() < 1e-12 {
        0.0
    } else if (log - log.round()).abs() < 1e-9 {
        1.0
    } else {
        2.0
    }
}

/// Number of decimals that a round number needs.
fn decimals_of(value: f64) -> usize {
    [0, 1, 2]
        .into_iter()
        .find(|&decimals| {
            let scale = 10_f64.powi(decimals);
            ((value * scale).round() - value * scale).abs() < 1e-6
        })
        .unwrap_or(3) as usize
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn item(estimate: f64, half_width: f64) -> Item {
        let interval = Interval::around(estimate, half_width);
        let (family, label) = (format!("{estimate}"), "arm".to_owned());
        Item { family, label, value: String::new(), interval }
    }

    fn named(family: &str, estimate: f64) -> Item {
        Item { family: family.to_owned(), label: format!("{family} {estimate}"), ..item(estimate, 0.5) }
    }

    #[test]
    fn an_outlier_is_an_arrow_and_leaves_the_axis_to_the_others() {
        let plot = forest(&[item(5010.0, 2.0), item(30.0, 2.0), item(10.0, 2.0)], None).unwrap();
        let rows: Vec<(bool, bool)> =
            plot.rows.iter().map(|row| (row.x.is_none(), row.leaves_right)).collect();
        assert_eq!(rows, [(true, true), (false, false), (false, false)]);
        assert!(plot.rows[1].x.unwrap() > plot.left + PLOT / 2.0, "{plot:?}");
    }

    #[test]
    fn no_bar_is_cut_off_and_their_axis_is_linear() {
        let plot = bars(&[item(5010.0, 2.0), item(30.0, 2.0), item(10.0, 2.0)], None).unwrap();
        let ends: Vec<f64> = plot.rows.iter().map(|row| row.x.unwrap() - plot.zero_x).collect();
        assert!((ends[1] / ends[0] - 30.0 / 5010.0).abs() < 1e-3 && plot.linear_to.is_none(), "{plot:?}");
    }

    #[test]
    fn one_expensive_arm_does_not_push_the_others_onto_zero() {
        let mut items: Vec<Item> = (1..=20).map(|number| item(f64::from(number) * 0.5, 0.4)).collect();
        items.push(item(60.0, 4.0));
        let plot = forest(&items, None).unwrap();
        assert_eq!(plot.linear_to.as_deref(), Some("2"));
        let x_of = |value: f64| plot.rows.iter().rev().nth((value * 2.0) as usize - 1).unwrap().x.unwrap();
        assert!(x_of(2.0) - plot.zero_x > PLOT / 5.0, "{plot:?}");
        // For similar values the axis is linear.
        assert!(forest(&items[..20], None).unwrap().linear_to.is_none());
    }

    #[test]
    fn an_interval_that_leaves_the_plot_is_marked_at_that_end() {
        let plot = forest(&[item(10.0, 1.0), item(9.0, 1.0), item(5.0, 400.0)], None).unwrap();
        let wide = plot.rows.last().unwrap();
        assert!(wide.leaves_left && wide.leaves_right && wide.x.is_some(), "{wide:?}");
        assert!(!plot.rows[0].leaves_left && !plot.rows[0].leaves_right);
    }

    #[test]
    fn families_are_grouped_and_sorted_by_their_most_expensive_arm() {
        let items = [named("a", 1.0), named("b", 5.0), named("a", 9.0), named("b", 2.0), named("c", 3.0)];
        let plot = forest(&items, None).unwrap();
        let labels: Vec<&str> = plot.rows.iter().map(|row| row.label.as_str()).collect();
        assert_eq!(labels, ["a 9", "a 1", "b 5", "b 2", "c 3"]);
        assert_eq!(plot.separators.len(), 2);
    }

    #[test]
    fn a_study_without_costs_has_no_plot() {
        assert!(forest(&[], None).is_none());
        assert!(forest(&[item(0.0, 0.0)], None).is_some());
    }

    proptest! {
        #[test]
        fn everything_lies_on_the_plot(values in prop::collection::vec((-50.0_f64..500.0, 0.0_f64..20.0), 1..20)) {
            let items: Vec<Item> = values.iter().map(|&(estimate, half)| item(estimate, half)).collect();
            let plot = forest(&items, Some(items[0].interval)).unwrap();
            prop_assert!(plot.ticks.len() >= 2 && plot.ticks.len() <= 20, "{:?}", plot.ticks);
            for pair in plot.ticks.windows(2) {
                prop_assert!(pair[1].x - pair[0].x >= TICK, "{:?}", plot.ticks);
            }
            for row in &plot.rows {
                prop_assert!(row.low_x <= row.high_x);
                prop_assert!(row.x.is_none_or(|x| row.low_x <= x && x <= row.high_x));
                prop_assert!(row.low_x >= plot.left - 0.1 && row.high_x <= plot.right + 0.1);
            }
        }
    }
}
