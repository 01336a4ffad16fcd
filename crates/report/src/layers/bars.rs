//! CPU time by layer as bars: one bar per arm, with a segment for each layer.

use hoptax_result::{ArmResult, LayerUse, StudyResult};

use crate::chart::{BarPiece, BarRow, Bars, drawn};
use crate::numbers::grouped;

/// None if no arm has layers.
pub(crate) fn bars(result: &StudyResult) -> Option<Bars> {
    let arms = || result.arms.iter().filter(|arm| whole_us(arm) > 0.0);
    let mut names: Vec<String> = Vec::new();
    for layer in arms().flat_map(|arm| &arm.layers) {
        if !names.contains(&layer.layer) {
            names.push(layer.layer.clone());
        }
    }
    let piece = |layer: &LayerUse| {
        let us = layer.cpu_us_per_request.estimate.max(0.0);
        let piece = names.iter().position(|name| *name == layer.layer)?;
        Some(BarPiece { piece, length: drawn(us), text: crate::numbers::level(&layer.cpu_us_per_request) })
    };
    let rows: Vec<BarRow> = arms()
        .map(|arm| BarRow {
            label: arm.id.clone(),
            value: format!("{} us", grouped(whole_us(arm), 1)),
            pieces: arm.layers.iter().filter_map(piece).collect(),
        })
        .collect();
    (!rows.is_empty()).then(|| Bars {
        title: "CPU time of each arm by layer".to_owned(),
        axis: "CPU time per request, us".to_owned(),
        unit: "us",
        pieces: names.clone(),
        rows,
    })
}

/// Total CPU time of all layers of an arm, us.
fn whole_us(arm: &ArmResult) -> f64 {
    arm.layers.iter().map(|layer| layer.cpu_us_per_request.estimate).sum()
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Interval, LayerUse};

    use super::*;
    use crate::fixture;

    #[test]
    fn pieces_of_a_bar_add_up_to_its_arm_and_a_layer_has_one_place() {
        let mut result = fixture::study();
        assert!(bars(&result).is_none());
        let layer = |name: &str, us: f64| LayerUse {
            layer: name.to_owned(),
            cpu_us_per_request: Interval::new(us, us, us),
            added_us_per_request: None,
        };
        let [first, second, ..] = result.arms.as_mut_slice() else { panic!("two arms") };
        first.layers = vec![layer("kernel: network send", 15.0), layer("libc", 5.0)];
        second.layers = vec![layer("libc", 20.0), layer("proxy: codec", 20.0)];
        let bars = bars(&result).unwrap();
        assert_eq!(bars.pieces, ["kernel: network send", "libc", "proxy: codec"]);
        let lengths: Vec<f64> =
            bars.rows.iter().map(|row| row.pieces.iter().map(|piece| piece.length).sum()).collect();
        assert_eq!(lengths, [20.0, 40.0]);
        let [short, long] = bars.rows.as_slice() else { panic!("{bars:?}") };
        assert_eq!((short.value.as_str(), short.pieces[1].piece, long.pieces[0].piece), ("20.0 us", 1, 1));
    }
}
