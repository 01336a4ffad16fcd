//! The machine must have been available and unchanged for all arms.

use hoptax_result::{
    ArmResult, Finding, Loop, Measure, Measured, Severity, Slices, StudyResult, count, percent, signed,
};

use crate::check::{Check, severity_above};
use crate::thresholds;

/// Stolen time.
pub(super) const STEAL: Check<StudyResult> = Check {
    id: "steal",
    protects_from: "a virtual machine that the hypervisor stopped while the clock ran",
    source: "proc(5), /proc/stat, eighth field",
    judge: |result, limits| {
        let share = result.host.steal_share;
        let Some((severity, threshold)) =
            severity_above(share, limits.value(&thresholds::STEAL), limits.value(&thresholds::STEAL_FAIL))
        else {
            return Vec::new();
        };
        let message = format!("steal was {} of CPU time", percent(share, 2));
        let advice = "for rates and response times, run again on a quieter host; CPU costs are valid, since disturbed slices are set aside and the others are paired";
        let one = Finding::new("steal", severity, Measured::percent(share, threshold), message, advice);
        vec![Finding { measures: Measure::TIMED.to_vec(), ..one }]
    },
    withhold: None,
};

/// Time that the proxies waited for their own processor.
pub(super) const PROXY_RUN_DELAY: Check<StudyResult> = Check {
    id: "proxy-run-delay",
    protects_from: "other work on the proxy's processor",
    source: "kernel documentation, scheduler/sched-stats: time waiting on a run queue",
    judge: |result, limits| {
        let share = result.host.proxy_run_delay_share;
        let waited =
            format!("the proxies waited for their processor for {} of their slices", percent(share, 1));
        let advice = "for rates and response times, stop other work on the machine; CPU costs are valid, and include the cost \
                      of switching to other tasks and back";
        let of_slices = |slices: &Slices, scope: Scope| {
            let delayed = share_of(slices.delayed, slices.used + slices.delayed);
            let (severity, threshold) = severity_above(
                delayed,
                limits.value(&thresholds::DELAYED),
                limits.value(&thresholds::DELAYED_FAIL),
            )?;
            let message = match scope {
                Scope::AllArms => {
                    format!("{waited}; {} of the slices count only for CPU time", percent(delayed, 0))
                }
                Scope::OneArm => format!("{} of its slices count only for CPU time", percent(delayed, 0)),
            };
            let measured = Measured::percent(delayed, threshold);
            let one = Finding::new("proxy-run-delay", severity, measured, message, advice);
            Some(Finding { measures: Measure::TIMED.to_vec(), ..one })
        };
        let found = all_and_each(result, of_slices);
        let limit = limits.value(&thresholds::PROXY_RUN_DELAY);
        if share <= limit || found.iter().any(|one| one.arm.is_none()) {
            return found;
        }
        let measured = Measured::percent(share, limit);
        let one = Finding::new("proxy-run-delay", Severity::Warn, measured, waited, advice);
        found.into_iter().chain([one]).collect()
    },
    withhold: None,
};

/// Too many slices were disturbed.
pub(super) const SET_ASIDE: Check<StudyResult> = Check {
    id: "set-aside",
    protects_from: "a result based on a selection of slices from a busy machine",
    source: "own",
    judge: |result, limits| {
        let (warn, fail) = (limits.value(&thresholds::SET_ASIDE), limits.value(&thresholds::SET_ASIDE_FAIL));
        let missing = all_and_each(result, |slices, scope| {
            // A slice of which only the CPU time counts is not missing.
            let lost = slices.lost;
            let planned = slices.used + slices.delayed + lost;
            let lost_share = share_of(lost, planned);
            let (severity, threshold) = severity_above(lost_share, warn, fail)?;
            let slices = match scope {
                Scope::AllArms => "the planned slices",
                Scope::OneArm => "its planned slices",
            };
            let message = format!(
                "{} of {slices} ({} of {}) are missing because the host disturbed them",
                percent(lost_share, 0),
                count(lost),
                count(planned)
            );
            let advice = "run again when the host is quieter";
            let measured = Measured::percent(lost_share, threshold);
            Some(Finding::new("set-aside", severity, measured, message, advice))
        });
        let Slices { used, set_aside, lost, .. } = of_all(result);
        let measured = used + set_aside;
        let share = share_of(set_aside, measured);
        if share <= warn || missing.iter().any(|finding| finding.arm.is_none()) {
            return missing;
        }
        // Repeated slices are not missing, but they show that the machine was busy.
        let message = format!(
            "{} of the slices ({} of {}) were set aside as disturbed by the host; {} were not replaced",
            percent(share, 0),
            count(set_aside),
            count(measured),
            count(lost)
        );
        let measured = Measured::percent(share, warn);
        let advice = "costs are valid; on a quieter machine, intervals are narrower";
        let repeated = Finding::new("set-aside", Severity::Warn, measured, message, advice);
        missing.into_iter().chain([repeated]).collect()
    },
    withhold: None,
};

/// The arms whose slices a finding is about.
#[derive(Clone, Copy, Debug)]
enum Scope {
    AllArms,
    OneArm,
}

/// The finding about the slices of all arms, and those about arms for which it is more severe: one of twenty arms may have lost
/// most of its slices when few are missing in all.
fn all_and_each(result: &StudyResult, judge: impl Fn(&Slices, Scope) -> Option<Finding>) -> Vec<Finding> {
    let about_all = judge(&of_all(result), Scope::AllArms);
    let severity = about_all.as_ref().map(|finding| finding.severity);
    let each = result.arms.iter().filter_map(|arm| {
        let one = judge(&arm.slices, Scope::OneArm).filter(|one| Some(one.severity) > severity)?;
        Some(Finding { arm: Some(arm.id.clone()), ..one })
    });
    about_all.into_iter().chain(each).collect()
}

/// The slices of all arms together.
fn of_all(result: &StudyResult) -> Slices {
    let sum = |of: fn(&Slices) -> u64| result.arms.iter().map(|arm| of(&arm.slices)).sum::<u64>();
    Slices {
        used: sum(|slices| slices.used),
        delayed: sum(|slices| slices.delayed),
        lost: sum(|slices| slices.lost),
        set_aside: sum(|slices| slices.set_aside),
        ..Slices::default()
    }
}

fn share_of(part: u64, all: u64) -> f64 {
    if part == 0 { 0.0 } else { part as f64 / all as f64 }
}

/// An arm with too few counting slices to have a cost.
pub(super) const TOO_FEW_SLICES: Check<StudyResult> = Check {
    id: "too-few-slices",
    protects_from: "a missing number without an explanation",
    source: "own",
    judge: |result, _| {
        let is_closed = result.plan.loads.iter().any(|load| load.loop_ == Loop::Closed);
        if !is_closed || result.plan.rounds_completed < 2 {
            return Vec::new();
        }
        let without = |arm: &&ArmResult| {
            !arm.hops.is_empty() && arm.slices.set_aside > 0 && arm.cpu_us_per_request.is_none()
        };
        let found = result.arms.iter().filter(without).map(|arm| {
            let (aside, all) = (arm.slices.set_aside, arm.slices.set_aside + arm.slices.used);
            let share = aside as f64 / all as f64;
            let message = format!(
                "{} of its slices were set aside; too few are left to compute CPU time per request",
                percent(share, 0)
            );
            let measured = Measured::percent(share, 0.0);
            let advice = "add rounds; if other arms kept their slices, this arm's own work keeps its proxy off its processor";
            let one = Finding::new("too-few-slices", Severity::Warn, measured, message, advice);
            Finding { arm: Some(arm.id.clone()), measures: vec![Measure::Cpu], ..one }
        });
        found.collect()
    },
    withhold: None,
};

/// Proxy and generator share processors.
pub(super) const SHARED_PROCESSOR: Check<StudyResult> = Check {
    id: "shared-processor",
    protects_from: "a generator that runs on the proxy's processor",
    source: "own",
    judge: |result, _| {
        let shared = result
            .environment
            .proxy_cpus
            .iter()
            .filter(|cpu| result.environment.generator_cpus.contains(cpu))
            .count();
        if shared == 0 {
            return Vec::new();
        }
        let message = format!("proxy and generator share processors ({shared}): only CPU costs are valid");
        let advice = "use a machine with at least two processors";
        let measured = Measured::count(shared as f64, 0.0, "processors");
        let one = Finding::new("shared-processor", Severity::Fail, measured, message, advice);
        vec![Finding { measures: Measure::TIMED.to_vec(), ..one }]
    },
    withhold: None,
};

/// The baseline must not change over the study.
pub(super) const DRIFT: Check<StudyResult> = Check {
    id: "drift",
    protects_from: "absolute numbers of a machine that changed during the study",
    source: "own: first against last third of the rounds",
    judge: |result, limits| {
        let Some(change) =
            result.host.drift_share.filter(|change| change.abs() > limits.value(&thresholds::DRIFT_SHARE))
        else {
            return Vec::new();
        };
        let message = format!(
            "the baseline's CPU time per request drifted by {} % over the study",
            signed(change * 100.0, 1)
        );
        let advice = "costs are valid, since they are paired within blocks; do not compare absolute numbers with other studies";
        vec![Finding::new(
            "drift",
            Severity::Warn,
            Measured::percent(change, limits.value(&thresholds::DRIFT_SHARE)),
            message,
            advice,
        )]
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{Severity, StudyResult, Verdict};

    use crate::study::tests::{fired, withheld};

    #[test]
    fn steal_fires() {
        let steal = |share: f64| fired("steal", |result| result.host.steal_share = share).0;
        assert_eq!(steal(0.004), None);
        assert_eq!(steal(0.02), Some(Severity::Warn));
        assert_eq!(steal(0.06), Some(Severity::Fail));
        withholds_only_times(|result| result.host.steal_share = 0.06);
    }

    /// Rates and response times are withheld, and nothing else.
    fn withholds_only_times(invalidate: impl Fn(&mut StudyResult)) {
        let withheld = withheld(invalidate);
        assert!(withheld.contains(&"+lua fixed-rate ResponseP50".to_owned()), "{withheld:?}");
        assert!(withheld.contains(&"+lua saturation MaxRate".to_owned()), "{withheld:?}");
        assert!(withheld.iter().all(|place| !place.ends_with("Cpu")), "{withheld:?}");
    }

    #[test]
    fn a_crowded_proxy_fires() {
        let (severity, _) = fired("proxy-run-delay", |result| result.host.proxy_run_delay_share = 0.03);
        assert_eq!(severity, Some(Severity::Warn));
        let delayed = |delayed: u64| {
            move |result: &mut StudyResult| {
                result.arms.iter_mut().for_each(|arm| arm.slices.delayed = delayed);
            }
        };
        assert_eq!(fired("proxy-run-delay", delayed(20)).0, None);
        assert_eq!(fired("proxy-run-delay", delayed(60)).0, Some(Severity::Warn));
        assert_eq!(fired("proxy-run-delay", delayed(100)).0, Some(Severity::Fail));
        withholds_only_times(delayed(100));
    }

    #[test]
    fn many_disturbed_slices_fire() {
        let lost = |lost: u64| {
            fired("set-aside", |result| {
                result.arms.iter_mut().for_each(|arm| arm.slices.lost = lost);
            })
            .0
        };
        assert_eq!(lost(20), None);
        assert_eq!(lost(60), Some(Severity::Warn));
        assert_eq!(lost(100), Some(Severity::Fail));
        let measured_again = |set_aside: u64| {
            fired("set-aside", |result| {
                result.arms.iter_mut().for_each(|arm| arm.slices.set_aside = set_aside);
            })
            .0
        };
        assert_eq!(measured_again(20), None);
        let only_cpu_time_counts = |result: &mut StudyResult| {
            for arm in &mut result.arms {
                (arm.slices.used, arm.slices.delayed, arm.slices.lost) = (0, 80, 20);
                arm.slices.set_aside = 100;
            }
        };
        assert_eq!(fired("set-aside", only_cpu_time_counts).0, Some(Severity::Warn));
        let withheld = withheld(only_cpu_time_counts);
        assert!(withheld.iter().all(|place| !place.ends_with("Cpu")), "{withheld:?}");
        assert_eq!(measured_again(60), Some(Severity::Warn));
    }

    #[test]
    fn an_arm_that_lost_most_of_its_slices_is_named() {
        let lost = |lost: u64, delayed: u64| {
            move |result: &mut StudyResult| {
                // Many others lost none.
                result.arms[0].slices.used = 2_000;
                (result.arms[2].slices.lost, result.arms[2].slices.delayed) = (lost, delayed);
            }
        };
        assert_eq!(fired("set-aside", lost(20, 0)).0, None);
        let (severity, result) = fired("set-aside", lost(150, 0));
        assert_eq!((severity, result.findings[0].arm.as_deref()), (Some(Severity::Fail), Some("lua")));
        let places = withheld(lost(150, 0));
        assert!(!places.is_empty() && places.iter().all(|place| place.contains("lua")), "{places:?}");
        let (severity, result) = fired("proxy-run-delay", lost(0, 150));
        assert_eq!((severity, result.findings[0].arm.as_deref()), (Some(Severity::Fail), Some("lua")));
        let places = withheld(lost(0, 150));
        let is_meant = |place: &String| place.contains("lua") && !place.ends_with("Cpu");
        assert!(!places.is_empty() && places.iter().all(is_meant), "{places:?}");
    }

    #[test]
    fn an_arm_without_a_cost_is_reported() {
        let (severity, result) = fired("too-few-slices", |result| {
            let arm = &mut result.arms[2];
            (arm.cpu_us_per_request, arm.slices.set_aside) = (None, 55);
        });
        assert_eq!(severity, Some(Severity::Warn));
        assert!(result.findings.iter().any(|finding| finding.arm.as_deref() == Some("lua")));
    }

    #[test]
    fn on_a_shared_processor_only_cpu_costs_are_left() {
        let shared = |result: &mut StudyResult| result.environment.proxy_cpus = vec![0, 1];
        let (severity, result) = fired("shared-processor", shared);
        assert_eq!((severity, result.verdict), (Some(Severity::Fail), Verdict::Caution));
        withholds_only_times(shared);
    }

    #[test]
    fn a_drifting_baseline_fires() {
        for change in [-0.06, 0.06] {
            assert_eq!(
                fired("drift", |result| result.host.drift_share = Some(change)).0,
                Some(Severity::Warn)
            );
        }
    }
}
