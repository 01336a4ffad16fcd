//! Forecasts the precision of a study before it begins.

use std::path::Path;

use hoptax_plan::plan::Plan;
use hoptax_plan::suit;
use hoptax_result::{MachineProbe, counted};

use crate::manifest::Manifest;
use crate::words::percent;
use crate::{length, sittings};

/// Forecasts the widths of the intervals after `rounds` rounds, from the last sitting of the study in `directory`'s parent folder, or else
/// from studies on similar machines; None if there is neither.
pub(crate) fn text(
    directory: &Path,
    manifest: &Manifest,
    plan: &Plan,
    rounds: Option<u32>,
) -> Option<String> {
    if let Some(last) = directory.parent().and_then(|parent| sittings::latest(parent, manifest)) {
        return Some(format!("according to the last sitting: {}", length::forecast_text(&last, rounds)?));
    }
    if plan.timeline.is_some() {
        return None;
    }
    on_machines_like_this(&manifest.machine, manifest.never_halted, rounds?)
}

/// The same forecast from other studies on similar machines.
pub(crate) fn on_machines_like_this(
    machine: &MachineProbe,
    never_halted: bool,
    rounds: u32,
) -> Option<String> {
    let share = suit::half_width_share(machine, never_halted, rounds)?;
    Some(format!(
        "on machines like this, nearly all costs are within about ±{} of the baseline after {}",
        percent(share),
        counted(rounds.into(), "round")
    ))
}
