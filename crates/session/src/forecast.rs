//! Forecasts the precision of a study before it begins.

use std::path::Path;

use hoptax_host::machine::judgement::{others, steal};
use hoptax_plan::plan::Plan;
use hoptax_plan::suit;
use hoptax_result::{MachineProbe, counted};

use crate::manifest::Manifest;
use crate::words::percent;
use crate::{length, sittings};

/// Forecasts the widths of the intervals after `rounds` rounds, from the previous run of the study in `directory`'s parent folder, or else
/// from studies on similar machines; None if there is neither.
pub(crate) fn text(
    directory: &Path,
    manifest: &Manifest,
    plan: &Plan,
    rounds: Option<u32>,
) -> Option<String> {
    if let Some(last) = directory.parent().and_then(|parent| sittings::latest(parent, manifest)) {
        let forecast = length::forecast_text(&last, rounds)?;
        return Some(format!("by the previous run of this study in the same folder: {forecast}"));
    }
    if plan.timeline.is_some() {
        return None;
    }
    on_machines_like_this(&manifest.machine, manifest.never_halted, rounds?)
}

/// The same forecast from other studies on similar machines; None for a few rounds, and if others or the host use the processors: those
/// studies had quiet machines.
pub(crate) fn on_machines_like_this(
    machine: &MachineProbe,
    never_halted: bool,
    rounds: u32,
) -> Option<String> {
    let is_disturbed = others(machine).is_some() || steal(machine).is_some();
    if is_disturbed || rounds < length::FEWEST_FOR_FORECAST {
        return None;
    }
    let share = suit::half_width_share(machine, never_halted, rounds)?;
    Some(format!(
        "on machines like this, nearly all costs are within about ±{} of the baseline after {}",
        percent(share),
        counted(rounds.into(), "round")
    ))
}

#[cfg(test)]
mod tests {
    use hoptax_result::UsedByOthers;

    use super::*;

    #[test]
    fn other_studies_forecast_nothing_for_a_few_rounds_or_on_a_busy_machine() {
        let quiet = MachineProbe { processors: 2, ..MachineProbe::default() };
        let forecast = |machine: &MachineProbe, rounds| on_machines_like_this(machine, false, rounds);
        assert!(forecast(&quiet, 4).unwrap().ends_with("of the baseline after 4 rounds"));
        assert_eq!(forecast(&quiet, 3), None);
        let used_by_others = vec![UsedByOthers { processor: 1, share: 0.92 }];
        assert_eq!(forecast(&MachineProbe { used_by_others, ..quiet.clone() }, 10), None);
        assert_eq!(forecast(&MachineProbe { steal_share: 0.2, ..quiet }, 10), None);
    }
}
