//! Charts of a document as data: the values, their units and their texts. The page decides where and how to draw them.

mod costs;
mod differences;
mod flame;
mod flow;
mod folds;
mod intervals;
mod overlay;
mod services;
mod tone;

use hoptax_result::Interval;
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use self::costs::{ArmSlices, CostArm, CostView, Costs, Slice, Slices};
pub(crate) use self::differences::{DifferenceRow, Differences, Outcome};
pub(crate) use self::flame::{Flame, FlameAdded, FlameArm, FlameFrame, FlameTime};
pub(crate) use self::flow::{Flow, FlowPart, FlowRole};
pub(crate) use self::folds::{Fold, Folds};
pub(crate) use self::intervals::{IntervalRow, Intervals};
pub(crate) use self::overlay::{OverlaidRun, Overlay, OverlayDifference, OverlayRow, OverlayView};
pub(crate) use self::services::{GraphCall, GraphService, ServiceGraph};
pub(crate) use self::tone::Tone;
use crate::quantity::Quantity;

/// A chart.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Chart {
    /// The costs of all arms of a study, in every measure and under every load.
    Costs(Costs),
    /// Values over a size, a time or a load, several charts for each name.
    Groups(Vec<Group>),
    /// Bars of pieces that add up.
    Bars(Bars),
    /// CPU time by frame, beside that of a reference.
    Flame(Flame),
    /// Distributions on common scales.
    Distributions(Distributions),
    /// Values over a size, a time or a load.
    Series(Series),
    /// A distribution over time.
    Heat(Heat),
    /// The costs of parts on top of a rest, up to the whole.
    Waterfall(Box<Waterfall>),
    /// Requests that divide step by step.
    Flow(Flow),
    /// Differences from a reference, with what was decided about each.
    Differences(Differences),
    /// Numbers with their intervals, a row for each.
    Intervals(Intervals),
    /// The costs of several runs beside each other.
    Overlay(Overlay),
    /// Numbers and charts behind names, of which a reader opens those that matter.
    Folds(Folds),
}

/// Charts with one name.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Group {
    /// The name.
    pub(crate) name: String,
    /// Its charts.
    pub(crate) charts: Vec<Series>,
}

/// Values over a size, a time or a load.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Series {
    /// Its title.
    pub(crate) title: String,
    /// The horizontal axis.
    pub(crate) x: Axis,
    /// The vertical axis.
    pub(crate) y: Axis,
    /// The lines.
    pub(crate) lines: Vec<Line>,
    /// Places on the horizontal axis where something happened.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) marks: Vec<Mark>,
    /// Values of the vertical axis that others are held against, such as the limit of an objective.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) levels: Vec<Level>,
    /// Ranges of the horizontal axis, such as the interval of an answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) bands: Vec<Band>,
}

/// An axis.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Axis {
    /// The label: the quantity with its unit.
    pub(crate) label: String,
    /// The unit.
    pub(crate) unit: &'static str,
    /// Its scale.
    pub(crate) scale: Scale,
    /// The largest value that it must show, so that charts beside each other have the same axis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) highest: Option<f64>,
    /// The value that a linear axis begins at, if that is not zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lowest: Option<f64>,
}

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scale {
    /// Equal differences have equal lengths, from zero.
    Linear,
    /// Equal factors have equal lengths.
    Logarithmic,
    /// Shares: 90 %, 99 % and 99.9 % have equal distances.
    Nines,
}

/// A line.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Line {
    /// Its name.
    pub(crate) name: String,
    /// Its role in its chart, by which it is coloured.
    pub(crate) tone: Tone,
    /// Relation of its points.
    pub(crate) form: LineForm,
    /// Its points, ascending.
    pub(crate) points: Vec<Point>,
}

/// Relation of the points of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LineForm {
    /// Values in a sequence.
    Joined,
    /// Values of their own, several of which may have one place: no line joins them.
    Scattered,
    /// Places of a curve that is computed: no value of its own is at them.
    Computed,
}

/// A point of a line.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Point {
    /// Its place on the horizontal axis.
    pub(crate) x: f64,
    /// Its value; none where the line has a gap, and where only the ends of an interval are known.
    pub(crate) y: Option<f64>,
    /// The lower end of its interval; none of a bound that has no lower one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) low: Option<f64>,
    /// The upper end of its interval; none of a bound that has no upper one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) high: Option<f64>,
    /// Its value in words, if the digits of the numbers would say more than its interval supports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
}

/// A place on the horizontal axis where something happened.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Mark {
    /// The place.
    pub(crate) x: f64,
    /// The event, in words.
    pub(crate) text: String,
}

/// A value that others are held against.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Level {
    /// The value.
    pub(crate) y: f64,
    /// Its meaning: `p99<5ms`.
    pub(crate) text: String,
}

/// A range of the horizontal axis.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Band {
    /// Its start; none for that of the axis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<f64>,
    /// Its end; none for that of the axis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<f64>,
    /// The estimate within it, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<f64>,
    /// Its meaning, with its numbers.
    pub(crate) text: String,
    /// Its role in its chart, by which it is coloured.
    pub(crate) tone: Tone,
}

/// Bars of pieces that add up, on one scale.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Bars {
    /// A description for screen readers.
    pub(crate) title: String,
    /// The label of the axis, with the unit.
    pub(crate) axis: String,
    /// The unit.
    pub(crate) unit: &'static str,
    /// The names of the pieces, in the order of the legend.
    pub(crate) pieces: Vec<String>,
    /// The bars.
    pub(crate) rows: Vec<BarRow>,
}

/// A bar.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct BarRow {
    /// Its name.
    pub(crate) label: String,
    /// The length of the whole, as text with the unit.
    pub(crate) value: String,
    /// The pieces that it has, in their order.
    pub(crate) pieces: Vec<BarPiece>,
}

/// A piece of a bar.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct BarPiece {
    /// Its place in the list of names, from 0.
    pub(crate) piece: usize,
    /// Its length.
    pub(crate) length: f64,
    /// The length as text.
    pub(crate) text: String,
}

/// Distributions on common scales, as counts and cumulative.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Distributions {
    /// A description for screen readers.
    pub(crate) title: String,
    /// The label of the axis, with the unit.
    pub(crate) axis: String,
    /// The start of the axis.
    pub(crate) from: f64,
    /// Its end.
    pub(crate) to: f64,
    /// The distributions.
    pub(crate) items: Vec<Distribution>,
}

/// A distribution.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Distribution {
    /// Its name.
    pub(crate) name: String,
    /// Its quantiles or its count, in words.
    pub(crate) words: String,
    /// Its role in its chart, by which it is coloured.
    pub(crate) tone: Tone,
    /// Its bins, ascending and without gaps.
    pub(crate) bins: Vec<Bin>,
}

/// A bin, open at its start and closed at its end.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct Bin {
    /// Its start.
    pub(crate) from: f64,
    /// Its end.
    pub(crate) to: f64,
    /// The number of values in it.
    pub(crate) count: u64,
}

/// A distribution over time: a column for each part of the time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Heat {
    /// A description for screen readers.
    pub(crate) title: String,
    /// The label of the horizontal axis, with the unit.
    pub(crate) x: String,
    /// The label of the vertical axis, with the unit.
    pub(crate) y: String,
    /// The columns, ascending.
    pub(crate) columns: Vec<Column>,
}

/// The distribution in a part of the time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Column {
    /// The start of the part.
    pub(crate) from: f64,
    /// Its end.
    pub(crate) to: f64,
    /// The bins with values.
    pub(crate) bins: Vec<Bin>,
}

/// The costs of parts on top of a rest, up to the whole, in CPU time per request or in cores.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Waterfall {
    /// A description for screen readers.
    pub(crate) title: String,
    /// The label of the axis, with the unit.
    pub(crate) axis: String,
    /// The unit of all costs: `us` of CPU time per request, or `cores` at a rate.
    pub(crate) unit: &'static str,
    /// The cost of the configuration without the parts; none if it is not known.
    pub(crate) rest: Option<Quantity>,
    /// The parts with a cost, the most expensive first.
    pub(crate) parts: Vec<WaterfallPart>,
    /// The whole less the rest and all parts: above zero where parts share work, below where they make each other more expensive. None if
    /// not known.
    pub(crate) together: Option<Quantity>,
    /// The whole; none if it is not known.
    pub(crate) whole: Option<Quantity>,
    /// Other numbers of the whole, which change with the parts too.
    pub(crate) also: Vec<WaterfallTotal>,
    /// Requests per second that the numbers hold for.
    pub(crate) rate: Option<f64>,
    /// Price of a core for an hour, in a currency of the user's choice; none if none was given.
    pub(crate) price_per_core_hour: Option<f64>,
    /// Hours of a month.
    pub(crate) hours_per_month: f64,
    /// The services whose proxies perform the parts; none for a configuration.
    pub(crate) graph: Option<ServiceGraph>,
}

/// A part of a waterfall.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct WaterfallPart {
    /// Its name.
    pub(crate) name: String,
    /// Its kind.
    pub(crate) kind: String,
    /// Its cost.
    pub(crate) cost: Quantity,
    /// Its addition to each of the other numbers of the whole; none where that is not known.
    pub(crate) also: Vec<Option<Quantity>>,
}

/// Another number of the whole of a waterfall.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct WaterfallTotal {
    /// Its name, with the unit.
    pub(crate) name: String,
    /// The number with all parts.
    pub(crate) whole: Quantity,
    /// Price of a unit of it for an hour, in the currency of that of a core; none if it has none.
    pub(crate) price_per_hour: Option<f64>,
}

impl Chart {
    /// Several charts for each name; none if there are no names.
    pub(crate) fn groups(groups: Vec<Group>) -> Option<Self> {
        (!groups.is_empty()).then_some(Self::Groups(groups))
    }
}

impl Axis {
    /// A linear axis.
    pub(crate) fn linear(label: impl Into<String>, unit: &'static str) -> Self {
        Self { label: label.into(), unit, scale: Scale::Linear, highest: None, lowest: None }
    }

    /// The axis with another scale.
    #[must_use]
    pub(crate) fn on(self, scale: Scale) -> Self {
        Self { scale, ..self }
    }
}

impl Series {
    /// Lines on two axes, without any further elements.
    pub(crate) fn new(title: impl Into<String>, x: Axis, y: Axis, lines: Vec<Line>) -> Self {
        let (marks, levels, bands) = (Vec::new(), Vec::new(), Vec::new());
        Self { title: title.into(), x, y, lines, marks, levels, bands }
    }
}

impl Line {
    /// A line through values in sequence.
    pub(crate) fn joined(name: impl Into<String>, tone: Tone, points: Vec<Point>) -> Self {
        Self { name: name.into(), tone, form: LineForm::Joined, points }
    }

    /// The line in another form.
    #[must_use]
    pub(crate) fn in_form(self, form: LineForm) -> Self {
        Self { form, ..self }
    }
}

impl Point {
    /// A point without an interval.
    pub(crate) fn at(x: f64, y: Option<f64>) -> Self {
        Self { x: drawn(x), y: y.map(drawn), low: None, high: None, text: None }
    }

    /// A point with an interval, which `text` describes.
    pub(crate) fn with_interval(x: f64, value: &Interval, text: String) -> Self {
        let (low, high) = (Some(drawn(value.low)), Some(drawn(value.high)));
        Self { low, high, text: Some(text), ..Self::at(x, Some(value.estimate)) }
    }

    /// A value with at least one known bound and no estimate.
    pub(crate) fn bounded(x: f64, low: Option<f64>, high: Option<f64>, text: String) -> Self {
        Self { low: low.map(drawn), high: high.map(drawn), text: Some(text), ..Self::at(x, None) }
    }
}

/// Digits of numbers that are only drawn, which exceed the resolution of a screen.
const DIGITS: usize = 5;

/// A number rounded to the digits that a drawing can show, because a page may hold a hundred thousand of them.
pub(crate) fn drawn(value: f64) -> f64 {
    format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_number_is_short_and_near() {
        let shown = [1_234.567_8, -0.000_123_456_7, 0.0].map(|value| drawn(value).to_string());
        assert_eq!(shown, ["1234.6", "-0.00012346", "0"]);
    }
}
