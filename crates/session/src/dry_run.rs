//! A study that is planned and not measured: what it would measure, and whether this machine can begin it. Nothing is written.

use hoptax_judge::length::Length;
use hoptax_plan::plan::Plan;

use crate::awake::NeverHalt;
use crate::estimate::Estimate;
use crate::failure::Failure;
use crate::machine::{adapt, is_wanted};
use crate::measure::{Options, Place, checked_plan, read};
use crate::placement::placement;
use crate::probe::probe;
use crate::update::Say;
use crate::{forecast, requirements, run_folder};

/// A study that is not measured.
#[derive(Debug)]
pub struct DryRun {
    /// Its plan with its expected duration and memory, as text.
    pub text: String,
    /// What this machine lacks for it, which its user reads after the plan.
    pub can_begin: Result<(), Failure>,
}

/// Plans the study of a place, and checks a run folder that the user names for it.
///
/// # Errors
/// When the study, a threshold or an Envoy is not valid, when the study cannot be kept in its run folder, and when the machine cannot be
/// probed.
pub fn dry_run(place: &Place<'_>, options: &Options<'_>, say: Say<'_>) -> Result<DryRun, Failure> {
    let (study, stored) = read(place, options.smoke)?;
    let plan = checked_plan(&study, options, stored.as_ref(), say)?;
    if let Place::New { folder: Some(folder), held, .. } = place {
        run_folder::check_new(folder, *held)?;
    }
    let can_begin = requirements::check_machine(&plan, &study.folder, options.accepts_memory, say);
    Ok(DryRun { text: outline(plan, options.never_halt, say)?, can_begin })
}

/// A plan with its expected duration and memory, as text. Probes the machine only if the study file leaves choices to it.
fn outline(mut plan: Plan, never_halt: NeverHalt, say: Say<'_>) -> Result<String, Failure> {
    let mut precision = None;
    if plan.rounds_are_open {
        let machine = probe(&placement()?, false)?;
        let never_halted = is_wanted(&machine, never_halt);
        adapt(&mut plan, &machine, never_halted, say);
        precision = forecast::on_machines_like_this(&machine, never_halted, plan.rounds);
    }
    let length = Length { rounds: plan.rounds, budget_s: None, until: None };
    let needs = Estimate::from_plan(&plan).words(&length, 0);
    let precision = precision.map_or_else(String::new, |text| format!("{text}\n"));
    Ok(format!("{}{needs}\n{precision}", plan.outline()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::failure::Kind;
    use crate::run_folder::Held;
    use crate::study::Study;

    #[test]
    fn a_dry_run_has_the_plan_and_refuses_a_folder_that_holds_another_result_unless_that_may_be_replaced() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("result.json"), "{}").unwrap();
        // Its file states its number of rounds, so the machine is not probed.
        let study = Box::new(Study::named("anchors").unwrap());
        let options = Options::default();
        let planned = |folder: Option<&Path>, held: Held| {
            let place = Place::New { study: study.clone(), folder, held };
            dry_run(&place, &options, &|_| ())
        };
        let text = planned(None, Held::RefusedWithoutForce).unwrap().text;
        assert!(text.starts_with("study `anchors`: 8 rounds"), "{text}");
        let at = Some(folder.path());
        assert!(planned(at, Held::Replaced).is_ok());
        let refused = planned(at, Held::RefusedWithoutForce).unwrap_err();
        assert!(refused.kind == Kind::BadInput && refused.to_string().contains("--force"), "{refused}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is written");
    }
}
