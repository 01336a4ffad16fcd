//! Counters of the processor, which a study with profiles may lack.

use hoptax_result::{Finding, Measured, Severity, StudyResult};

use crate::check::Check;

/// A study with profiles whose processor does not count top-down.
pub(super) const TOP_DOWN_ABSENT: Check<StudyResult> = Check {
    id: "top-down-absent",
    protects_from: "missing counters read as counters of zero",
    source: "A. Yasin, A Top-Down Method for Performance Analysis and Counters Architecture (ISPASS 2014)",
    judge: |result, _| {
        let profiles = || {
            result.rounds.iter().flat_map(|round| round.arms.values()).filter_map(|arm| arm.profile.as_ref())
        };
        let Some(reason) = profiles().find_map(|profile| profile.top_down_absent.as_ref()) else {
            return Vec::new();
        };
        let absent = profiles().filter(|profile| profile.top_down_absent.is_some()).count();
        let message = format!("no top-down counters: {reason}");
        let advice = "use a machine without a hypervisor, or one whose hypervisor exposes the performance counters of the processor";
        let measured = Measured::count(absent as f64, 0.0, "profiles without counters");
        vec![Finding::new("top-down-absent", Severity::Info, measured, message, advice)]
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{RoundProfile, Severity, StudyRound};

    use crate::study::tests::fired;

    #[test]
    fn a_processor_that_does_not_count_is_named() {
        let profiled = |reason: Option<&str>| {
            fired("top-down-absent", |result| {
                result.rounds = vec![StudyRound::default(); 2];
                for round in &mut result.rounds {
                    let arm = round.arms.entry("lua".to_owned()).or_default();
                    let top_down_absent = reason.map(str::to_owned);
                    arm.profile = Some(RoundProfile { top_down_absent, ..RoundProfile::default() });
                }
            })
        };
        let (severity, result) = profiled(Some("perf has no metric group"));
        assert_eq!(severity, Some(Severity::Info));
        let found = result.findings.iter().find(|one| one.id == "top-down-absent").unwrap();
        assert!(!found.withholds && found.message.contains("perf has no metric group"), "{found:?}");
        assert_eq!(profiled(None).0, None);
    }
}
