//! The charts of the index `MeshMark` and of value for cost: each arm under each load.

use hoptax_result::MeshMarkArm;

use super::value;
use crate::chart::{Chart, IntervalRow, Intervals, Scale};
use crate::document::Section;
use crate::numbers::percent;
use crate::quantity::{Form, Quantity};

/// Both charts; those without a number are left out.
pub(super) fn charts(arms: &[&MeshMarkArm]) -> Option<Section> {
    let name = |arm: &MeshMarkArm| format!("{} under {}", arm.arm, arm.load);
    let values = arms.iter().filter_map(|arm| Some(IntervalRow::measured(name(arm), value(arm)?))).collect();
    let axis = "requests for each second of CPU time that the arm adds";
    let values = Intervals::new("value for cost", axis, values);
    let mark = |arm: &&MeshMarkArm| {
        let of_arm = Quantity::point(arm.mean?, "", Form::Level);
        let left = |share: Option<f64>| Some(percent(share?, 1));
        let row = IntervalRow::measured(name(arm), of_arm);
        let left = left(arm.cpu_mue).zip(left(arm.memory_mue));
        Some(match left {
            Some((cpu, memory)) => {
                row.with_note(format!("{cpu} of the CPU and {memory} of the memory are left"))
            }
            None => row,
        })
    };
    let marks = arms.iter().filter_map(mark).collect();
    let marks = Intervals::new("MeshMark", "MeshMark: 100 if all CPU and memory are left", marks);
    let note = "Value for cost: points with intervals; dashed with an arrow: at least this much, since the added CPU time may be zero. \
                MeshMark has no interval.";
    let values = values.map(|values| Intervals { scale: Scale::Logarithmic, ..values });
    let charts = values.into_iter().chain(marks).map(Chart::Intervals);
    Section::of_charts("Value for cost, and MeshMark", note, charts)
}
