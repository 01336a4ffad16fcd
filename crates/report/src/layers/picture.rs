//! The layout of the picture of CPU time by layer: a bar for each arm, of one piece for each layer, all on one scale.

use hoptax_result::{ArmResult, StudyResult};
use serde::Serialize;

use crate::numbers::grouped;

/// Widths and heights in the picture's coordinates.
const LABEL: f64 = 210.0;
const PLOT: f64 = 640.0;
const VALUE: f64 = 120.0;
const ROW: f64 = 26.0;
/// Entries of the legend side by side, and the height of one.
const LEGEND_COLUMNS: usize = 4;
const LEGEND_ROW: f64 = 20.0;
/// Space between the bars and the legend.
const GAP: f64 = 14.0;
/// Prefixes of the names of layers that share a hue, with it. Others have hues of their own.
const HUES: [(&str, u32); 2] = [("kernel", 212), ("proxy", 26)];
const OTHER_HUES: [u32; 4] = [290, 160, 50, 340];
/// Shades of one hue, percent of lightness, in an order in which neighbours differ.
const SHADES: [u32; 10] = [36, 60, 46, 76, 30, 68, 52, 82, 41, 64];

/// Stacked bars, ready to draw.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StackedBars {
    width: f64,
    height: f64,
    label_x: f64,
    rows: Vec<BarRow>,
    legend: Vec<Entry>,
}

/// The bar of an arm.
#[derive(Clone, Debug, Serialize)]
struct BarRow {
    label: String,
    value: String,
    y: f64,
    pieces: Vec<Piece>,
}

/// A layer of an arm.
#[derive(Clone, Debug, Serialize)]
struct Piece {
    x: f64,
    width: f64,
    fill: String,
    title: String,
}

/// A layer in the legend.
#[derive(Clone, Debug, Serialize)]
struct Entry {
    name: String,
    x: f64,
    y: f64,
    fill: String,
}

/// None if no arm has layers.
pub(crate) fn stacked_bars(result: &StudyResult) -> Option<StackedBars> {
    let arms: Vec<&ArmResult> = result.arms.iter().filter(|arm| whole_us(arm) > 0.0).collect();
    let longest_us = arms.iter().map(|arm| whole_us(arm)).reduce(f64::max)?;
    let mut names: Vec<&str> = Vec::new();
    for layer in arms.iter().flat_map(|arm| &arm.layers) {
        if !names.contains(&layer.layer.as_str()) {
            names.push(&layer.layer);
        }
    }
    let fills = fills(&names);
    let fill = |name: &str| {
        let place = names.iter().position(|other| *other == name);
        place.and_then(|place| fills.get(place)).cloned().unwrap_or_default()
    };
    let row = |(number, arm): (usize, &&ArmResult)| {
        let mut x = LABEL;
        let mut pieces = Vec::new();
        for layer in &arm.layers {
            let us = layer.cpu_us_per_request.estimate.max(0.0);
            let width = us / longest_us * PLOT;
            pieces.push(Piece {
                x,
                width,
                fill: fill(&layer.layer),
                title: format!("{}: {} us", layer.layer, grouped(us, 2)),
            });
            x += width;
        }
        BarRow {
            label: arm.id.clone(),
            value: format!("{} us", grouped(whole_us(arm), 1)),
            y: number as f64 * ROW,
            pieces,
        }
    };
    let rows: Vec<BarRow> = arms.iter().enumerate().map(row).collect();
    let below = rows.len() as f64 * ROW + GAP;
    let width = LABEL + PLOT + VALUE;
    let entry = |(number, name): (usize, &&str)| Entry {
        name: (*name).to_owned(),
        x: (number % LEGEND_COLUMNS) as f64 * width / LEGEND_COLUMNS as f64,
        y: below + (number / LEGEND_COLUMNS) as f64 * LEGEND_ROW,
        fill: fill(name),
    };
    let height = below + names.len().div_ceil(LEGEND_COLUMNS) as f64 * LEGEND_ROW;
    let legend = names.iter().enumerate().map(entry).collect();
    Some(StackedBars { width, height, label_x: LABEL - 12.0, rows, legend })
}

/// CPU time of all layers of an arm, us.
fn whole_us(arm: &ArmResult) -> f64 {
    arm.layers.iter().map(|layer| layer.cpu_us_per_request.estimate).sum()
}

/// A colour for each layer.
fn fills(names: &[&str]) -> Vec<String> {
    let mut used = [0_usize; HUES.len()];
    let mut others = 0_usize;
    let fill = |name: &&str| {
        let shared = HUES.iter().position(|(prefix, _)| name.starts_with(prefix));
        let same_hue = shared.and_then(|place| Some((HUES.get(place)?.1, used.get_mut(place)?)));
        let (hue, shade) = if let Some((hue, used)) = same_hue {
            *used += 1;
            (hue, *used - 1)
        } else {
            others += 1;
            let hue = OTHER_HUES.get((others - 1) % OTHER_HUES.len()).copied().unwrap_or_default();
            (hue, 1 + (others - 1) / OTHER_HUES.len())
        };
        let lightness = SHADES.get(shade % SHADES.len()).copied().unwrap_or(50);
        format!("hsl({hue} 62% {lightness}%)")
    };
    names.iter().map(fill).collect()
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Interval, LayerUse};

    use super::*;
    use crate::fixture;

    #[test]
    fn pieces_of_a_bar_add_up_to_its_arm_on_one_scale() {
        let mut result = fixture::study();
        assert!(stacked_bars(&result).is_none());
        let layer = |name: &str, us: f64| LayerUse {
            layer: name.to_owned(),
            cpu_us_per_request: Interval { estimate: us, low: us, high: us },
            added_us_per_request: None,
        };
        let [first, second, ..] = result.arms.as_mut_slice() else { panic!("two arms") };
        first.layers = vec![layer("kernel: network send", 15.0), layer("libc", 5.0)];
        second.layers = vec![layer("kernel: network send", 20.0), layer("proxy: codec", 20.0)];
        let bars = stacked_bars(&result).unwrap();
        let length = |row: &BarRow| row.pieces.iter().map(|piece| piece.width).sum::<f64>();
        let [short, long] = bars.rows.as_slice() else { panic!("{bars:?}") };
        assert!((length(long) - PLOT).abs() < 1e-9 && (length(short) - PLOT / 2.0).abs() < 1e-9, "{bars:?}");
        assert!((short.pieces[1].x - LABEL - 0.75 * PLOT / 2.0).abs() < 1e-9, "{short:?}");
        assert_eq!((short.value.as_str(), short.pieces[1].title.as_str()), ("20.0 us", "libc: 5.00 us"));
        assert_eq!(short.pieces[0].fill, long.pieces[0].fill, "a layer has one colour");
        let names: Vec<&str> = bars.legend.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["kernel: network send", "libc", "proxy: codec"]);
    }

    #[test]
    fn layers_have_different_colours() {
        let names: Vec<String> = (0..SHADES.len())
            .flat_map(|number| [format!("kernel: {number}"), format!("proxy: {number}")])
            .chain((0..8).map(|number| format!("other {number}")))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut colours = fills(&names);
        colours.sort();
        colours.dedup();
        assert_eq!(colours.len(), names.len());
    }
}
