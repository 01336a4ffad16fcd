//! What the next measurement needs, so that a finding does not limit it again. The lists of checks have tables of it beside them.

use std::cmp::Reverse;

use hoptax_result::{Finding, Severity};

/// What helps against a finding. Of several findings, that which comes first is met first, since the later ones do not help without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remedy {
    /// A machine without other work or limits, which would disturb a longer load and a calibration, too.
    QuietMachine,
    /// What the finding advises; no command does it.
    Advice,
    /// A calibration, which finds the rate up to which the generator sends on time.
    Calibration,
    /// More connections.
    MoreConnections,
    /// More requests, time or rounds, or nothing that these do not help as well.
    Longer,
}

/// Remedies with the ids of their checks. That of any other check is its advice.
pub type Remedies = [(Remedy, &'static [&'static str])];

/// The findings that limit the use of a result, the one that limits most first, each with its remedy.
pub fn limiting<'a>(findings: &'a [Finding], remedies: &Remedies) -> Vec<(Remedy, &'a Finding)> {
    let remedy = |finding: &Finding| {
        let found = remedies.iter().find(|(_, ids)| ids.contains(&finding.id.as_str()));
        found.map_or(Remedy::Advice, |(remedy, _)| *remedy)
    };
    let weighs = findings.iter().filter(|finding| finding.severity > Severity::Info);
    let mut all: Vec<(Remedy, &Finding)> = weighs.map(|finding| (remedy(finding), finding)).collect();
    let is_disturbed = all.iter().any(|(remedy, _)| *remedy == Remedy::QuietMachine);
    all.sort_by_key(|(remedy, finding)| {
        // A disturbed machine may be the cause of such a finding, however severe that is, and would spoil what helps against it.
        let needs_quiet = matches!(remedy, Remedy::Calibration | Remedy::Longer);
        (is_disturbed && needs_quiet, Reverse(finding.severity), *remedy)
    });
    all
}

#[cfg(test)]
mod tests {
    use hoptax_result::Measured;

    use super::*;
    use crate::{about, load, study};

    fn finding(id: &str, severity: Severity) -> Finding {
        Finding::new(id, severity, Measured::us(1.0, 0.0), String::new(), "")
    }

    #[test]
    fn the_finding_that_limits_most_is_first() {
        use Severity::{Fail, Info, Warn};
        let first = |findings: &[(&str, Severity)]| {
            let findings: Vec<Finding> =
                findings.iter().map(|(id, severity)| finding(id, *severity)).collect();
            limiting(&findings, load::REMEDIES).first().map(|(remedy, finding)| (*remedy, finding.id.clone()))
        };
        let is = |remedy, id: &str| Some((remedy, id.to_owned()));
        assert_eq!(first(&[("steal", Info)]), None, "it limits nothing");
        assert_eq!(first(&[("too-few-samples", Warn)]), is(Remedy::Longer, "too-few-samples"));
        // A disturbed machine comes before what it may have caused, whatever its severity, and not before another failure.
        let disturbed = [("send-lag", Fail), ("too-few-samples", Warn), ("run-delay", Warn)];
        assert_eq!(first(&disturbed), is(Remedy::QuietMachine, "run-delay"));
        assert_eq!(first(&[("steal", Warn), ("errors", Fail)]), is(Remedy::Advice, "errors"));
        assert_eq!(first(&[("steal", Warn), ("offered", Fail)]), is(Remedy::MoreConnections, "offered"));
        assert_eq!(first(&[("steal", Fail), ("errors", Fail)]), is(Remedy::QuietMachine, "steal"));
        assert_eq!(first(&[("steal", Warn), ("errors", Warn)]), is(Remedy::QuietMachine, "steal"));
        // Then the worst, and of equals the one without which the others do not help.
        assert_eq!(first(&[("offered", Fail), ("errors", Warn)]), is(Remedy::MoreConnections, "offered"));
        assert_eq!(first(&[("offered", Warn), ("errors", Warn)]), is(Remedy::Advice, "errors"));
        let late = [("connections-busy", Warn), ("send-lag", Warn), ("vague-quantile", Warn)];
        assert_eq!(first(&late), is(Remedy::Calibration, "send-lag"));
    }

    #[test]
    fn each_check_has_one_remedy_of_its_kind_of_result() {
        for (remedies, kinds) in [
            (load::REMEDIES, &["load"][..]),
            (study::REMEDIES, &["study", "timeline", "set of sittings"][..]),
        ] {
            let mut ids: Vec<&str> = remedies.iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
            let number = ids.len();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), number, "{remedies:?}");
            for id in ids {
                let about = about::find(id).unwrap();
                assert!(about.judges.iter().any(|kind| kinds.contains(kind)), "{id} judges no {kinds:?}");
            }
        }
    }
}
