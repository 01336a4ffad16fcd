//! Servers that already ran: the variance that their intervals do not cover, and their missing CPU times.

use hoptax_result::{ArmResult, Finding, Measured, PlannedSubject, Severity, StudyResult};

use crate::check::Check;

/// A server that is never restarted.
pub(super) const NOT_RESTARTED: Check<StudyResult> = Check {
    id: "not-restarted",
    protects_from: "the interval of a single start read as one over restarts",
    source: "hysteresis: Treadmill (ISCA 2016); the level of CPU time of a process stays the same until it exits",
    judge: |result, _| {
        let found = external(result).map(|(arm, _)| {
            let message = format!(
                "the server of `{}` already ran and was not restarted: its intervals do not cover the variation between starts",
                arm.id
            );
            let advice = "restart the server, measure again, and compare the two results";
            let measured = Measured::count(0.0, f64::from(result.plan.rounds_completed), "restarts");
            let one = Finding::new("not-restarted", Severity::Info, measured, message, advice);
            Finding { arm: Some(arm.id.clone()), ..one }
        });
        found.collect()
    },
    withhold: None,
};

/// A server whose processes are not named.
pub(super) const NO_ACCOUNT: Check<StudyResult> = Check {
    id: "no-account",
    protects_from: "an unknown CPU cost read as zero",
    source: "CPU time and memory of a server that already runs are those of the processes that `account` names",
    judge: |result, _| {
        let unknown = external(result).filter(|(_, subject)| subject.account.is_none());
        let found = unknown.map(|(arm, _)| {
            let message = "the study does not name the processes of the server: its CPU time and memory are not known, and neither are \
                           costs in them between it and another arm";
            let advice = "name its processes, as `account: {pid: NUMBER}`, `{process: NAME}`, `{cgroup: PATH}` or `{unit: NAME}`";
            let measured = Measured::count(arm.responses as f64, 0.0, "requests without CPU time");
            let one = Finding::new("no-account", Severity::Info, measured, message.to_owned(), advice);
            Finding { arm: Some(arm.id.clone()), ..one }
        });
        found.collect()
    },
    withhold: None,
};

/// The arms that are servers which already ran.
fn external(result: &StudyResult) -> impl Iterator<Item = (&ArmResult, &PlannedSubject)> {
    let planned = result.arms.iter().filter_map(|arm| Some((arm, arm.subject.as_ref()?)));
    planned.filter(|(_, subject)| subject.application == "external")
}

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

    #[test]
    fn a_server_whose_processes_are_not_named_says_that_it_has_no_costs_in_cpu_time() {
        let with = |application: &str, account: Option<&str>| {
            let subject = PlannedSubject {
                application: application.to_owned(),
                account: account.map(str::to_owned),
                ..PlannedSubject::default()
            };
            fired("no-account", |result| result.arms[2].subject = Some(subject))
        };
        let (severity, result) = with("external", None);
        assert_eq!(severity, Some(Severity::Info));
        let found = result.findings.iter().find(|one| one.id == "no-account").unwrap();
        assert_eq!(found.arm.as_deref(), Some(result.arms[2].id.as_str()));
        assert!(found.message.contains("CPU time and memory are not known"), "{}", found.message);
        assert!(found.advice.contains("`account: {pid: NUMBER}`"), "{}", found.advice);
        assert!(!found.withholds);
        assert_eq!(with("external", Some("pid 7")).0, None);
        assert_eq!(with("origin", None).0, None);
    }
}
