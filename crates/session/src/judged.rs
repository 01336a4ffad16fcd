//! From the rounds of a study to its judged result. All statistics of a study start here.

use hoptax_checks::judge_study;
use hoptax_checks::thresholds::{self, Limits};
use hoptax_judge::summary::{self, Conditions};
use hoptax_plan::plan::Plan;
use hoptax_result::{Environment, StudyResult};
use hoptax_run::runner::Ending;

use crate::manifest::Manifest;
use crate::trials::Ran;

/// Summarises and judges the measured rounds.
pub(crate) fn judged_result(
    plan: &Plan,
    manifest: &Manifest,
    environment: Environment,
    Ran { outcome, course }: &Ran,
    limits: &Limits,
) -> StudyResult {
    let ended_early = match &outcome.ending {
        Ending::Complete => None,
        Ending::Interrupted => Some("interrupted".to_owned()),
        Ending::Failed(error) => Some(error.to_string()),
    };
    let conditions = Conditions {
        // The start of the first round, also for a resumed study.
        environment: Environment {
            started_at: manifest.started_at.clone(),
            proxy_sha256: Some(manifest.envoy_hash.clone()),
            ..environment
        },
        programs: manifest.programs.clone(),
        machine: Some(manifest.machine.clone()),
        speeds: manifest.speeds.clone(),
        never_halted: manifest.never_halted,
        wall_s: outcome.wall_s,
        budget_s: course.budget_s(),
        sequential: course.sequential(),
        ended_early,
        quiet_wait_share: Some(limits.value(&thresholds::QUIET_WAIT)),
    };
    let rounds = match &outcome.ending {
        // A study that completes has all its planned rounds.
        Ending::Complete => outcome.rounds.len() as u32,
        Ending::Interrupted | Ending::Failed(_) => course.expected_rounds().unwrap_or(plan.rounds),
    };
    let mut result = summary::summarise(&Plan { rounds, ..plan.clone() }, &outcome.rounds, conditions);
    // A session that measured no new round does not count as a resumption.
    let plan = &mut result.plan;
    plan.resumed_after_rounds.clone_from(&manifest.resumed_after_rounds);
    plan.resumed_after_rounds.retain(|after| *after < plan.rounds_completed);
    plan.resumed_after_rounds.dedup();
    judge_study(&mut result, limits);
    result
}
