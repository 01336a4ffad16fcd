//! A study must have enough rounds, since its intervals are taken over
//! restarts.

use hoptax_result::{Finding, Measured, Severity, StudyResult};

use crate::check::Check;
use crate::thresholds;

/// Too few restarts to estimate the variance between them.
pub(super) const TOO_FEW_ROUNDS: Check<StudyResult> = Check {
    id: "too-few-rounds",
    protects_from: "an interval from a single start of processes, each of which keeps its own level of CPU time",
    source: "hysteresis: Treadmill (ISCA 2016); Kalibera and Jones (ISMM 2013)",
    judge: |result, limits| {
        let rounds = f64::from(result.plan.rounds_completed);
        if rounds >= limits.value(&thresholds::ROUNDS) {
            return Vec::new();
        }
        let (severity, threshold) = if rounds < limits.value(&thresholds::ROUNDS_FAIL) {
            (Severity::Fail, limits.value(&thresholds::ROUNDS_FAIL))
        } else {
            (Severity::Warn, limits.value(&thresholds::ROUNDS))
        };
        let are = if result.plan.rounds_completed == 1 { "round is" } else { "rounds are" };
        let message = format!("{rounds} complete {are} too few to estimate the variation between restarts");
        let advice = "run at least five rounds; ten or more give narrow intervals (`--rounds`)";
        let measured = Measured::count(rounds, threshold, "rounds");
        vec![Finding::new("too-few-rounds", severity, measured, message, advice)]
    },
    withhold: None,
};

/// The study ended before its last round.
pub(super) const ENDED_EARLY: Check<StudyResult> = Check {
    id: "ended-early",
    protects_from: "part of a study read as the whole",
    source: "own",
    judge: |result, _| {
        let Some(reason) = &result.plan.ended_early else { return Vec::new() };
        let (done, planned) = (result.plan.rounds_completed, result.plan.rounds_planned);
        let message = format!("the study ended after {}: {reason}", result.plan.progress());
        let measured = Measured::count(f64::from(done), f64::from(planned), "rounds");
        vec![Finding::new(
            "ended-early",
            Severity::Warn,
            measured,
            message,
            "run it again for narrower intervals",
        )]
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{Severity, Verdict};

    use crate::study::tests::fired;

    #[test]
    fn few_rounds_warn_and_a_single_one_voids() {
        let rounds = |rounds: u32| fired("too-few-rounds", |result| result.plan.rounds_completed = rounds);
        assert_eq!(rounds(5).0, None);
        assert_eq!(rounds(4).0, Some(Severity::Warn));
        let (severity, result) = rounds(1);
        assert_eq!((severity, result.verdict), (Some(Severity::Fail), Verdict::Void));
    }

    #[test]
    fn an_interrupted_study_fires() {
        let (severity, result) =
            fired("ended-early", |result| result.plan.ended_early = Some("interrupted".to_owned()));
        assert_eq!(severity, Some(Severity::Warn));
        assert!(result.findings[0].message.contains("interrupted"));
        let (_, result) = fired("ended-early", |result| {
            (result.plan.budget_s, result.plan.rounds_planned) = (Some(20.0), 1_000);
            result.plan.ended_early = Some("interrupted".to_owned());
        });
        let message = &result.findings.iter().find(|one| one.id == "ended-early").unwrap().message;
        assert!(message.ends_with(" rounds: interrupted") && !message.contains(" of "), "{message}");
    }
}
