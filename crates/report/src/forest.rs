//! The geometry of a forest plot: a row per arm, a point with its interval, one axis for all.

use hoptax_result::Interval;
use serde::Serialize;

use crate::numbers::grouped;

/// Widths and heights, pixels of the picture's own coordinates.
const LABEL: f64 = 210.0;
/// Width of a character of a label, about: labels may be longer than the usual room for them.
const CHARACTER: f64 = 7.4;
const PLOT: f64 = 560.0;
const VALUE: f64 = 130.0;
const ROW: f64 = 24.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 46.0;
/// Where an arm lies this many times beyond the next, the axis ends before it.
const OUTLIER: f64 = 8.0;

/// A forest plot, ready to be drawn.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Forest {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) axis_y: f64,
    pub(crate) zero_x: f64,
    /// The A/A arm's interval, drawn as a band.
    pub(crate) band: Option<(f64, f64)>,
    pub(crate) ticks: Vec<Tick>,
    pub(crate) rows: Vec<ForestRow>,
}

/// A mark of the axis.
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
    pub(crate) x: f64,
    pub(crate) low_x: f64,
    pub(crate) high_x: f64,
    pub(crate) is_near_zero: bool,
    /// Whether it lies beyond the end of the axis: an arrow is drawn instead of a point.
    pub(crate) is_beyond: bool,
}

/// What is plotted of one arm.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) label: String,
    pub(crate) value: String,
    pub(crate) interval: Interval,
}

/// Lays out a plot; None without anything to plot.
pub(crate) fn forest(items: &[Item], band: Option<Interval>) -> Option<Forest> {
    let low = items.iter().map(|item| item.interval.low).fold(0.0, f64::min);
    let high = axis_end(items)?;
    let step = tick_step(high - low);
    let (first, last) = ((low / step).floor(), (high / step).ceil());
    let (from, to) = (first * step, last * step);
    let longest = items.iter().map(|item| item.label.chars().count()).max().unwrap_or(0);
    let left = round(LABEL.max(longest as f64 * CHARACTER + 10.0));
    let x = |value: f64| left + (value.clamp(from, to) - from) / (to - from) * PLOT;
    let decimals = if step < 0.1 { 2 } else { usize::from(step < 1.0) };
    let ticks = (first as i64..=last as i64)
        .map(|number| Tick {
            x: round(x(number as f64 * step)),
            label: grouped(number as f64 * step, decimals),
        })
        .collect();
    let rows = items
        .iter()
        .enumerate()
        .map(|(index, item)| ForestRow {
            label: item.label.clone(),
            value: item.value.clone(),
            y: round(TOP + ROW * (index as f64 + 0.5)),
            x: round(x(item.interval.estimate)),
            low_x: round(x(item.interval.low)),
            high_x: round(x(item.interval.high)),
            is_near_zero: item.interval.contains(0.0),
            is_beyond: item.interval.estimate > to,
        })
        .collect();
    let axis_y = TOP + ROW * items.len() as f64 + 6.0;
    Some(Forest {
        width: left + PLOT + VALUE,
        height: axis_y - 6.0 + BOTTOM,
        left,
        right: left + PLOT,
        axis_y,
        zero_x: round(x(0.0)),
        band: band.map(|band| (round(x(band.low)), round(x(band.high) - x(band.low)))),
        ticks,
        rows,
    })
}

/// Where the axis ends: at the largest value, unless that would leave all others in a corner.
fn axis_end(items: &[Item]) -> Option<f64> {
    let mut highs: Vec<f64> =
        items.iter().map(|item| item.interval.high).filter(|high| *high > 0.0).collect();
    highs.sort_by(f64::total_cmp);
    while let [.., second, largest] = highs.as_slice()
        && *largest > OUTLIER * second
    {
        highs.pop();
    }
    if items.is_empty() { None } else { Some(highs.last().copied().unwrap_or(1.0)) }
}

/// 1, 2 or 5 times a power of ten, so that there are four to ten ticks.
fn tick_step(range: f64) -> f64 {
    let rough = (range / 6.0).max(1e-6);
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough).unwrap_or(10.0);
    factor * power
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn item(estimate: f64, half_width: f64) -> Item {
        let interval = Interval { estimate, low: estimate - half_width, high: estimate + half_width };
        Item { label: "arm".to_owned(), value: String::new(), interval }
    }

    #[test]
    fn an_outlier_is_an_arrow_and_leaves_the_axis_to_the_others() {
        let plot = forest(&[item(5010.0, 2.0), item(30.0, 2.0), item(10.0, 2.0)], None).unwrap();
        let beyond: Vec<bool> = plot.rows.iter().map(|row| row.is_beyond).collect();
        assert_eq!(beyond, [true, false, false]);
        assert!(plot.rows[1].x > plot.left + PLOT / 2.0, "{plot:?}");
    }

    #[test]
    fn there_is_no_plot_of_nothing() {
        assert!(forest(&[], None).is_none());
        assert!(forest(&[item(0.0, 0.0)], None).is_some());
    }

    proptest! {
        #[test]
        fn everything_lies_on_the_plot(values in prop::collection::vec((-50.0_f64..500.0, 0.0_f64..20.0), 1..20)) {
            let items: Vec<Item> = values.iter().map(|&(estimate, half)| item(estimate, half)).collect();
            let plot = forest(&items, Some(items[0].interval)).unwrap();
            prop_assert!(plot.ticks.len() >= 2 && plot.ticks.len() <= 14, "{}", plot.ticks.len());
            for row in &plot.rows {
                prop_assert!(row.low_x <= row.x && row.x <= row.high_x);
                prop_assert!(row.low_x >= plot.left - 0.1 && row.high_x <= plot.right + 0.1);
            }
        }
    }
}
