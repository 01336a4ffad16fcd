//! Servers that already ran: what their intervals do not cover.

use hoptax_result::{ArmResult, Finding, Measured, Severity, StudyResult};

use crate::Check;

/// A server that is never restarted.
pub(super) const NOT_RESTARTED: Check<StudyResult> = Check {
    id: "not-restarted",
    protects_from: "an interval over one start read as one over many",
    source: "hysteresis: Treadmill (ISCA 2016); the level of CPU time of a process stays the same until it exits",
    judge: |result, _| {
        let is_external =
            |arm: &&ArmResult| arm.subject.as_ref().is_some_and(|subject| subject.application == "external");
        let found = result.arms.iter().filter(is_external).map(|arm| {
            let message = format!(
                "the server of `{}` already ran and was not restarted: its intervals do not cover the variation between starts",
                arm.id
            );
            let advice = "restart the server, measure again, and compare the two results";
            let measured = Measured::count(0.0, f64::from(result.plan.rounds_completed), "restarts");
            let one = Finding::new("not-restarted", Severity::Info, measured, message, advice);
            hoptax_result::Finding { arm: Some(arm.id.clone()), ..one }
        });
        found.collect()
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{PlannedSubject, Severity};

    use crate::study::tests::fired;

    #[test]
    fn a_server_that_already_ran_is_named() {
        let application = |application: &str| {
            let application = application.to_owned();
            fired("not-restarted", |result| {
                let subject = PlannedSubject { application, ..PlannedSubject::default() };
                result.arms[2].subject = Some(subject);
            })
        };
        let (severity, result) = application("external");
        assert_eq!(severity, Some(Severity::Info));
        let found = result.findings.iter().find(|one| one.id == "not-restarted").unwrap();
        assert_eq!(found.arm.as_deref(), Some(result.arms[2].id.as_str()));
        assert!(!found.withholds && result.arms[2].cost.cpu_us_per_request.is_some());
        assert_eq!(application("origin").0, None);
    }
}
