//! The generator of a study must have spare CPU time and send on time.

use hoptax_result::{
    ArmResult, Finding, GeneratorUse, Interval, Measure, Measured, Severity, StudyResult, grouped, percent,
};

use crate::check::{Check, severity_above};
use crate::thresholds::{self, Limits};

/// Send lag caused by the generator itself in an open loop.
pub(super) const SEND_LAG: Check<StudyResult> = Check {
    id: "send-lag",
    protects_from: "send lag of the generator reported as latency of the subject",
    source: "Treadmill (ISCA 2016); wrk2, which documents a lag of one millisecond",
    judge: |result, limits| {
        findings_by_load(result, |used| {
            let baseline = result.arm(&result.plan.baseline);
            let under = baseline.and_then(|arm| arm.under(&used.load));
            let Some(response) = under.map(|load| &load.response_us) else { return Vec::new() };
            // A lower quantile is a lower limit of one that is not known, such as p99 with too few responses. Judged against
            // nothing, every lag above the floor would fail.
            let p90 = response.p90.or(response.p50);
            let lags_us = [used.own_lag_p50_us, used.own_lag_p90_us, used.own_lag_p99_us];
            let responses = [response.p50, p90, response.p99.or(p90)];
            let mut found: Vec<Finding> = Vec::new();
            for (at, (lag_us, response)) in lags_us.into_iter().zip(responses).enumerate() {
                let Some(finding) = lag_us.and_then(|lag_us| lag(at, lag_us, response, limits)) else {
                    continue;
                };
                add_to(&mut found, finding);
            }
            let quiet = response.quiet_p99.or(p90);
            let of_quiet = used.quiet_own_lag_p99_us.and_then(|lag_us| lag(QUIET, lag_us, quiet, limits));
            if let Some(finding) = of_quiet {
                add_to(&mut found, finding);
            }
            found
        })
    },
    withhold: None,
};

/// The place of quiet p99 among [`Measure::RESPONSES`].
const QUIET: usize = 3;

/// Adds a finding, unless one that is as severe is about its measures already: a finding about a quantile covers those above it.
fn add_to(found: &mut Vec<Finding>, finding: Finding) {
    let covers = |other: &Finding| finding.measures.iter().all(|measure| other.measures.contains(measure));
    if !found.iter().any(|other| covers(other) && other.severity >= finding.severity) {
        found.push(finding);
    }
}

/// Judges the generator's own lag at one of [`Measure::RESPONSES`] against response times at the same quantile. Half of the
/// baseline's response time fails: the number would describe the generator, and so would every quantile above it.
fn lag(at: usize, lag_us: f64, response: Option<Interval>, limits: &Limits) -> Option<Finding> {
    let floor_us = limits.value(&thresholds::OWN_LAG_US);
    let of_response =
        |share: f64| response.map_or(floor_us, |response| (response.estimate * share).max(floor_us));
    let warn = of_response(limits.value(&thresholds::OWN_LAG_SHARE));
    let fail = of_response(limits.value(&thresholds::OWN_LAG_FAIL_SHARE));
    let (severity, threshold) = severity_above(lag_us, warn, fail)?;
    let quantile = Measure::RESPONSES[at].as_str();
    let message = format!("send lag {quantile} was {lag_us} us", lag_us = grouped(lag_us, 0));
    let advice = "for response times, lower the rate, stop other work on the generator's processor, or keep processors from halting \
                  (`--never-halt always`); CPU costs are valid";
    let finding = Finding::new("send-lag", severity, Measured::us(lag_us, threshold), message, advice);
    // The lag at p99 of all slices is not that of quiet ones, which is judged by itself.
    let above = Measure::RESPONSES[at..].iter().copied();
    let is_of_all_alone = Measure::RESPONSES[at] == Measure::ResponseP99;
    let measures =
        above.filter(|measure| !is_of_all_alone || *measure != Measure::ResponseQuietP99).collect();
    Some(Finding { measures, ..finding })
}

/// A generator without spare CPU time limits the rate itself.
pub(super) const SATURATED: Check<StudyResult> = Check {
    id: "generator-saturated",
    protects_from: "the client's limit reported as the proxy's",
    source: "RFC 9411 (headroom of the test equipment); Lancet (ATC 2019)",
    judge: |result, limits| {
        findings_by_load(result, |used| {
            let (severity, threshold) = severity_above(
                used.core_share,
                limits.value(&thresholds::GENERATOR_BUSY),
                limits.value(&thresholds::GENERATOR_BUSY_FAIL),
            )?;
            let message = format!("the generator used {} of its core", percent(used.core_share, 0));
            let advice = "use a machine with more cores for rates and response times, which the generator limits; CPU costs are valid";
            let measured = Measured::percent(used.core_share, threshold);
            let finding = Finding::new("generator-saturated", severity, measured, message, advice);
            Some(Finding { measures: Measure::TIMED.to_vec(), ..finding })
        })
    },
    withhold: None,
};

/// Generator and origin together must not slow down the proxy.
pub(super) const RUN_DELAY: Check<StudyResult> = Check {
    id: "run-delay",
    protects_from: "generator and origin competing for their processors",
    source: "kernel documentation, scheduler/sched-stats: time waiting on a run queue",
    judge: |result, limits| {
        findings_by_load(result, |used| {
            let (severity, threshold) = severity_above(
                used.processors_share,
                limits.value(&thresholds::PROCESSORS_BUSY),
                f64::INFINITY,
            )?;
            let message = format!(
                "generator and origin kept their processors busy for {} of the time: they may limit rates and lengthen response \
                 times",
                percent(used.processors_share, 0)
            );
            let advice = "read maximum rates as lower bounds, since these processors may limit them, or use a machine with more cores; CPU \
                          costs are valid";
            let measured = Measured::percent(used.processors_share, threshold);
            let finding = Finding::new("run-delay", severity, measured, message, advice);
            Some(Finding { measures: Measure::TIMED.to_vec(), ..finding })
        })
    },
    withhold: None,
};

/// Callers that saturate their processors limit the rate themselves.
pub(super) const CALLERS: Check<StudyResult> = Check {
    id: "callers-limit",
    protects_from: "the limit of callers in another language reported as that of the path",
    source: "RFC 9411 (headroom of the test equipment)",
    judge: |result, limits| {
        let limit = limits.value(&thresholds::CALLERS_BUSY);
        let is_other =
            |name: &str| result.plan.loads.iter().any(|load| load.name == name && !load.is_sent_by_hoptax());
        findings_by_load(result, |used| {
            let share = used.processors_share;
            if !is_other(&used.load) || share <= limit {
                return None;
            }
            let message =
                format!("the processors of the callers were busy {} of the time", percent(share, 0));
            let advice = "the callers limited the rate: rates and their ratios describe the callers; to measure the path, use fewer callers or more \
                          processors";
            let finding = Finding::new(
                "callers-limit",
                Severity::Warn,
                Measured::percent(share, limit),
                message,
                advice,
            );
            Some(Finding { measures: vec![Measure::Rate, Measure::MaxRate], ..finding })
        })
    },
    withhold: None,
};

/// The findings about the generator under each load. If it was too slow for some arms only, there is a finding about each of these. If it
/// was too slow for all arms, there is a finding about the load, and one about each arm for which it is more severe.
fn findings_by_load<F: IntoIterator<Item = Finding>>(
    result: &StudyResult,
    judge: impl Fn(&GeneratorUse) -> F,
) -> Vec<Finding> {
    let mut found = Vec::new();
    for used in &result.generator {
        let about = |arm: Option<&str>, finding: Finding| Finding {
            arm: arm.map(str::to_owned),
            load: Some(used.load.clone()),
            ..finding
        };
        let of_load: Vec<Finding> = judge(used).into_iter().map(|finding| about(None, finding)).collect();
        let of_arm = |arm: &ArmResult| -> Option<Vec<Finding>> {
            let under = arm.under(&used.load)?;
            Some(judge(under.generator.as_ref()?).into_iter().map(|one| about(Some(&arm.id), one)).collect())
        };
        let arms: Vec<Vec<Finding>> = result.arms.iter().filter_map(of_arm).collect();
        // Results of earlier versions only have the use for all arms.
        let concerns_all =
            |one: &Finding| arms.iter().all(|of_arm| of_arm.iter().any(|other| is_as_severe(other, one)));
        let of_load: Vec<Finding> = of_load.into_iter().filter(concerns_all).collect();
        let is_covered = |one: &Finding| of_load.iter().any(|other| is_as_severe(other, one));
        found.extend(arms.iter().flatten().filter(|one| !is_covered(one)).cloned());
        found.extend(of_load);
    }
    found
}

/// Returns true if a finding is about the same measures as another, and at least as severe.
fn is_as_severe(one: &Finding, other: &Finding) -> bool {
    one.measures == other.measures && one.severity >= other.severity
}

#[cfg(test)]
mod tests {
    use hoptax_result::{GeneratorUse, Severity, StudyResult};

    use crate::study::tests::{fired, withheld};

    #[test]
    fn a_late_generator_loses_the_quantiles_that_it_is_late_at() {
        let late = |p50_us: f64, p99_us: f64| {
            move |result: &mut hoptax_result::StudyResult| {
                let used = &mut result.generator[1];
                (used.own_lag_p50_us, used.own_lag_p99_us) = (Some(p50_us), Some(p99_us));
            }
        };
        assert_eq!(fired("send-lag", late(5.0, 40.0)).0, None);
        // The baseline's p99 is 200 us.
        assert_eq!(fired("send-lag", late(5.0, 80.0)).0, Some(Severity::Warn));
        assert!(withheld(late(5.0, 80.0)).is_empty());
        let (severity, result) = fired("send-lag", late(5.0, 150.0));
        assert_eq!(severity, Some(Severity::Fail));
        assert_eq!(result.findings[0].load.as_deref(), Some("fixed-rate"));
        let only = |withheld: &[String], quantiles: &[&str]| {
            let is_expected = |place: &String| {
                place.contains("fixed-rate") && quantiles.iter().any(|quantile| place.ends_with(quantile))
            };
            !withheld.is_empty() && withheld.iter().all(is_expected)
        };
        let tails = withheld(late(5.0, 150.0));
        assert!(only(&tails, &["ResponseP99"]), "{tails:?}");
        let all = withheld(late(70.0, 150.0));
        assert!(only(&all, &["ResponseP50", "ResponseP90", "ResponseP99", "ResponseQuietP99"]), "{all:?}");
        assert!(all.contains(&"+lua fixed-rate ResponseP50".to_owned()), "{all:?}");
    }

    #[test]
    fn a_lag_in_quiet_slices_withholds_their_p99_alone() {
        // The baseline's own lag is 180 us.
        let late = |lag_us: f64| {
            move |result: &mut StudyResult| result.generator[1].quiet_own_lag_p99_us = Some(lag_us)
        };
        assert_eq!([49.0, 80.0].map(|us| fired("send-lag", late(us)).0), [None, Some(Severity::Warn)]);
        let lost = withheld(late(100.0));
        assert!(!lost.is_empty() && lost.iter().all(|place| place.ends_with("ResponseQuietP99")), "{lost:?}");
    }

    #[test]
    fn a_lag_at_p90_withholds_p90_and_p99_also_where_p99_has_too_few_responses() {
        let late = |p90_us: f64, p99_us: Option<f64>| {
            move |result: &mut hoptax_result::StudyResult| {
                let used = &mut result.generator[1];
                (used.own_lag_p90_us, used.own_lag_p99_us) = (Some(p90_us), p99_us);
                result.arms[0].loads[1].response_us.p99 = None;
            }
        };
        // The baseline's p90 is 150 us.
        assert_eq!(fired("send-lag", late(45.0, None)).0, None);
        assert_eq!(fired("send-lag", late(70.0, None)).0, Some(Severity::Warn));
        let (severity, result) = fired("send-lag", late(80.0, Some(90.0)));
        assert_eq!((severity, result.findings.len()), (Some(Severity::Fail), 1), "{:#?}", result.findings);
        let lost = withheld(late(80.0, None));
        let above = ["ResponseP90", "ResponseP99", "ResponseQuietP99"];
        let is_above = |place: &String| above.iter().any(|measure| place.ends_with(measure));
        assert!(!lost.is_empty() && lost.iter().all(is_above), "{lost:?}");
        assert!(lost.contains(&"+lua fixed-rate ResponseP90".to_owned()), "{lost:?}");
    }

    #[test]
    fn a_lag_far_below_the_baseline_does_not_fail_where_its_p99_is_not_known() {
        let late = |lag_us: f64, p90: bool| {
            fired("send-lag", move |result| {
                result.generator[1].own_lag_p99_us = Some(lag_us);
                let response = &mut result.arms[0].loads[1].response_us;
                response.p99 = None;
                response.p90 = response.p90.filter(|_| p90);
            })
            .0
        };
        // The baseline's p90 is 150 us, its p50 100 us.
        assert_eq!([late(70.0, true), late(80.0, true)], [Some(Severity::Warn), Some(Severity::Fail)]);
        assert_eq!([late(51.0, false), late(49.0, false)], [Some(Severity::Fail), None]);
    }

    #[test]
    fn a_busy_generator_withholds_rates_and_response_times_and_keeps_cpu_time() {
        let busy = |share: f64| {
            move |result: &mut hoptax_result::StudyResult| result.generator[0].core_share = share
        };
        assert_eq!(fired("generator-saturated", busy(0.5)).0, None);
        assert_eq!(fired("generator-saturated", busy(0.8)).0, Some(Severity::Warn));
        assert_eq!(fired("generator-saturated", busy(0.99)).0, Some(Severity::Fail));
        let withheld = withheld(busy(0.99));
        assert!(withheld.contains(&"+lua saturation MaxRate".to_owned()), "{withheld:?}");
        assert!(
            withheld.iter().all(|place| place.contains("saturation") && !place.ends_with("Cpu")),
            "{withheld:?}"
        );
    }

    #[test]
    fn callers_that_fill_their_processors_are_named() {
        let busy = |caller: &'static str, share: f64| {
            fired("callers-limit", move |result| {
                result.plan.loads[0].caller = caller.to_owned();
                result.generator[0].processors_share = share;
            })
            .0
        };
        assert_eq!(busy("php", 0.5), None);
        assert_eq!(busy("php", 0.93), Some(Severity::Warn));
        assert_eq!(busy("hoptax", 0.93), None);
    }

    type Set = fn(&mut GeneratorUse);

    /// Sets the use of the generator for some arms under the open loop; the others have that of all.
    fn with_arms(result: &mut StudyResult, set: &[(usize, Set)]) {
        let usual = result.generator[1].clone();
        for (number, arm) in result.arms.iter_mut().enumerate() {
            let mut used = usual.clone();
            set.iter().filter(|(arm, _)| *arm == number).for_each(|(_, set)| set(&mut used));
            arm.loads[1].generator = Some(used);
        }
    }

    fn late(used: &mut GeneratorUse) {
        used.own_lag_p99_us = Some(150.0);
    }

    fn saturated(used: &mut GeneratorUse) {
        used.core_share = 0.99;
    }

    #[test]
    fn a_generator_that_is_late_for_one_arm_spoils_that_arm_alone() {
        // Over all arms together, it is on time.
        let one = |result: &mut StudyResult| with_arms(result, &[(2, late)]);
        let (severity, result) = fired("send-lag", one);
        assert_eq!((severity, result.findings[0].arm.as_deref()), (Some(Severity::Fail), Some("lua")));
        let places = withheld(one);
        let is_meant = |place: &String| place.contains("lua fixed-rate ResponseP99");
        assert!(!places.is_empty() && places.iter().all(is_meant), "{places:?}");
        // Over all arms together it is late, but only because of one of them.
        let others = |result: &mut StudyResult| {
            with_arms(result, &[(1, late)]);
            late(&mut result.generator[1]);
        };
        let places = withheld(others);
        let is_meant = |place: &String| place.contains("same fixed-rate ResponseP99");
        assert!(!places.is_empty() && places.iter().all(is_meant), "{places:?}");
    }

    #[test]
    fn a_generator_that_is_not_good_enough_for_all_arms_is_named_once() {
        let all = |result: &mut StudyResult| {
            saturated(&mut result.generator[1]);
            with_arms(result, &[]);
        };
        let (severity, result) = fired("generator-saturated", all);
        assert_eq!((severity, result.findings.len()), (Some(Severity::Fail), 1), "{:?}", result.findings);
        assert_eq!(result.findings[0].arm, None);
        // A warning for all, and a failure for one.
        let (_, result) = fired("generator-saturated", |result| {
            result.generator[1].core_share = 0.8;
            with_arms(result, &[(2, saturated)]);
        });
        let named: Vec<(Severity, Option<&str>)> =
            result.findings.iter().map(|one| (one.severity, one.arm.as_deref())).collect();
        assert!(named.contains(&(Severity::Warn, None)) && named.contains(&(Severity::Fail, Some("lua"))));
        assert_eq!(named.len(), 2, "{named:?}");
    }

    #[test]
    fn crowded_cores_fire() {
        let crowded =
            |share: f64| fired("run-delay", |result| result.generator[0].processors_share = share).0;
        assert_eq!(crowded(0.9), None);
        assert_eq!(crowded(0.97), Some(Severity::Warn));
    }
}
