//! The measured cost of a function with a known cost must equal it.

use hoptax_result::{
    ArmResult, CostMeasure, Finding, Measure, Measured, Severity, StudyResult, grouped, percent,
};

use super::samples::ANOTHER_SITTING;
use crate::check::Check;
use crate::thresholds;

/// A delay must cost its configured time.
pub(super) const RESPONSE_TIME: Check<StudyResult> = Check {
    id: "known-answer",
    protects_from: "a setup that measures the wrong response time",
    source: "ground truth: a delay of d ms must cost d ms",
    judge: |result, _| {
        let found = result.arms.iter().filter_map(|arm| {
            let known = arm.known_answer?;
            let seen = arm.cost.response_us.p50?.estimate;
            let low = known.response_p50_low_us?;
            let high = known.response_p50_high_us.unwrap_or(f64::INFINITY);
            if (low..=high).contains(&seen) {
                return None;
            }
            let expected = match known.response_p50_high_us {
                Some(high) => format!("{low} to {high} us", low = grouped(low, 0), high = grouped(high, 0)),
                None => format!("{low} us or more", low = grouped(low, 0)),
            };
            let message = format!(
                "response time p50 of `{}` changed by {seen} us, expected {expected}",
                arm.id,
                seen = grouped(seen, 0)
            );
            let measured = Measured::us(seen, if seen < low { low } else { high });
            let advice = "all response times of this study are in doubt: run it again on a quiet machine";
            let finding = Finding::new("known-answer", Severity::Fail, measured, message, advice);
            let load = result.plan.response_load_of(&arm.id).map(|load| load.name.clone());
            Some(Finding { load, measures: Measure::RESPONSES.to_vec(), ..finding })
        });
        found.collect()
    },
    withhold: None,
};

/// A filter that burns CPU time must cost its configured time.
pub(super) const CPU_TIME: Check<StudyResult> = Check {
    id: "known-cpu",
    protects_from: "CPU time that is measured wrong by a factor",
    source: "ground truth: a filter that burns n us by its thread's own clock must cost n us",
    judge: |result, limits| {
        let (warn, fail) =
            (limits.value(&thresholds::KNOWN_CPU_SHARE), limits.value(&thresholds::KNOWN_CPU_FAIL_SHARE));
        let known_us = |arm: &ArmResult| arm.known_answer?.cpu_us;
        let found = result.arms.iter().filter_map(|arm| {
            let expected_us = known_us(arm).filter(|expected_us| *expected_us > 0.0)?;
            let seen = arm.cost.cpu_us_per_request?;
            // The filter's cost without burning is not known in advance. It depends on the load a little.
            let is_empty = |other: &&ArmResult| {
                other.function == arm.function && known_us(other).is_some_and(|expected_us| expected_us <= 0.0)
            };
            let mut empty = result.arms.iter().filter(is_empty);
            let empty = empty.find_map(|other| result.cost_beside(arm, other, CostMeasure::CpuUs))?;
            let seen_us = seen.estimate - empty.estimate;
            let half_us = seen.half_width().hypot(empty.half_width());
            let beyond = ((seen_us - expected_us).abs() - half_us) / expected_us;
            let Some((severity, threshold)) = crate::check::severity_above(beyond, warn, fail) else {
                return untested(result, arm, half_us, expected_us, fail);
            };
            let message = format!(
                "CPU time of `{}` changed by {seen_us} ±{half_us} us, expected {expected_us} us",
                arm.id,
                seen_us = grouped(seen_us, 2),
                half_us = grouped(half_us, 2),
                expected_us = grouped(expected_us, 0)
            );
            let measured = Measured::percent((seen_us - expected_us).abs() / expected_us, threshold);
            let advice = "CPU costs include other work here: look for other tasks on the proxy's processor, and compare `core_share` \
                          of the arms, since a slower proxy wakes sleeping peers more often";
            let finding = Finding::new("known-cpu", severity, measured, message, advice);
            Some(Finding { measures: vec![Measure::Cpu], ..finding })
        });
        found.collect()
    },
    withhold: None,
};

/// States that a known answer was not tested: nothing contradicts it, but the interval is so wide that nothing would. It withholds
/// no number.
fn untested(
    result: &StudyResult,
    arm: &ArmResult,
    half_us: f64,
    expected_us: f64,
    limit: f64,
) -> Option<Finding> {
    let share = half_us / expected_us;
    if share <= limit {
        return None;
    }
    let message = format!(
        "the known CPU time was not tested: the interval of the measured difference is ±{half_us} us, ±{} of the expected \
         {expected_us} us",
        percent(share, 0),
        half_us = grouped(half_us, 2),
        expected_us = grouped(expected_us, 0)
    );
    let advice = if result.sittings.len() > 1 {
        ANOTHER_SITTING
    } else {
        "add rounds (`--rounds`): four times as many halve the interval"
    };
    let measured = Measured::percent(share, limit);
    Some(Finding {
        arm: Some(arm.id.clone()),
        measures: vec![Measure::Cpu],
        ..Finding::new("known-cpu", Severity::Info, measured, message, advice)
    })
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Interval, KnownAnswer, LoadSpec, Severity, StudyResult, Verdict};

    use crate::study::tests::{fired, withheld};

    fn missed(low: f64, high: f64) -> impl Fn(&mut StudyResult) {
        move |result| {
            result.arms[2].known_answer = Some(KnownAnswer {
                response_p50_low_us: Some(low),
                response_p50_high_us: Some(high),
                cpu_us: None,
            });
        }
    }

    #[test]
    fn a_composition_takes_at_least_the_known_time() {
        let known = |low: f64| {
            fired("known-answer", move |result| {
                let answer = KnownAnswer { response_p50_low_us: Some(low), ..KnownAnswer::default() };
                result.arms[2].known_answer = Some(answer);
            })
        };
        // The arm costs 5 us.
        assert_eq!(known(4.9).0, None);
        let (severity, result) = known(4900.0);
        assert_eq!(severity, Some(Severity::Fail));
        assert!(result.findings[0].message.ends_with("expected 4,900 us or more"), "{:?}", result.findings);
    }

    #[test]
    fn a_missed_known_answer_withholds_response_times_and_keeps_cpu_time() {
        let known = |low: f64, high: f64| fired("known-answer", missed(low, high)).0;
        assert_eq!(known(4.9, 5.7), None);
        assert_eq!(known(4900.0, 5700.0), Some(Severity::Fail));
        assert_eq!(known(1.0, 2.0), Some(Severity::Fail));
        let withheld = withheld(missed(1.0, 2.0));
        assert!(withheld.contains(&"+same fixed-rate ResponseP50".to_owned()), "{withheld:?}");
        assert!(withheld.iter().all(|place| place.contains("Response")), "{withheld:?}");
    }

    /// Two arms of a filter, configured to burn nothing and 10 us, with their measured costs.
    fn burning(empty_us: f64, ten_us: f64) -> impl Fn(&mut StudyResult) {
        burning_within(empty_us, ten_us, 0.1)
    }

    /// The same with the half-width of their intervals.
    fn burning_within(empty_us: f64, ten_us: f64, half_width_us: f64) -> impl Fn(&mut StudyResult) {
        move |result| {
            for (cpu_us, cost_us) in [(0.0, empty_us), (10.0, ten_us)] {
                let mut arm = result.arms[2].clone();
                arm.id = format!("burn{{us={cpu_us}}}");
                arm.function = Some("control/burn".to_owned());
                arm.known_answer = Some(KnownAnswer { cpu_us: Some(cpu_us), ..KnownAnswer::default() });
                arm.cost.cpu_us_per_request = Some(Interval::around(cost_us, half_width_us));
                result.arms.push(arm);
            }
        }
    }

    #[test]
    fn a_filter_with_another_cost_than_it_burns_fires() {
        let burns = |empty_us: f64, ten_us: f64| fired("known-cpu", burning(empty_us, ten_us));
        assert_eq!(burns(0.5, 10.6).0, None);
        assert_eq!(burns(0.5, 10.9).0, Some(Severity::Warn));
        let (severity, result) = burns(0.5, 13.0);
        assert_eq!((severity, result.verdict), (Some(Severity::Fail), Verdict::Void));
        assert_eq!(burns(0.5, 8.0).0, Some(Severity::Fail));
        assert!(withheld(burning(0.5, 13.0)).iter().all(|place| place.ends_with(" Cpu")));
    }

    #[test]
    fn a_known_cpu_time_is_measured_against_nothing_under_the_same_load() {
        let of_slow = |empty_us_of_slow: f64| {
            fired("known-cpu", |result| {
                // Under its own load, the filter takes 2 us more before it burns anything.
                burning(0.5, 12.5)(result);
                let others: Vec<String> = result.arms.iter().map(|arm| arm.id.clone()).collect();
                let (slow, others) = others.split_last().unwrap();
                let fixed = result.plan.loads[1].clone();
                result.plan.loads[1].arms = others.to_vec();
                let arms = vec!["baseline".to_owned(), "burn{us=0}".to_owned(), slow.clone()];
                result.plan.loads.push(LoadSpec { name: "slow".to_owned(), arms, ..fixed });
                let empty = result.arms.iter_mut().find(|arm| arm.id == "burn{us=0}").unwrap();
                let mut under = empty.loads[1].clone();
                under.load = "slow".to_owned();
                under.cost.cpu_us_per_request = Some(Interval::around(empty_us_of_slow, 0.1));
                empty.loads.push(under);
            })
            .0
        };
        assert_eq!((of_slow(2.5), of_slow(0.5)), (None, Some(Severity::Fail)));
    }

    #[test]
    fn a_known_cpu_time_within_a_wide_interval_is_reported_as_not_tested() {
        // The difference of two costs of ±0.3 us is ±0.42 us, and of ±0.4 us is ±0.57 us. The threshold is 0.5 us.
        assert_eq!(fired("known-cpu", burning_within(0.5, 10.6, 0.3)).0, None);
        let (severity, result) = fired("known-cpu", burning_within(0.5, 10.6, 0.4));
        assert_eq!((severity, result.verdict), (Some(Severity::Info), Verdict::Sound));
        assert!(result.findings.iter().all(|one| !one.withholds && one.message.contains("was not tested")));
        assert!(withheld(burning_within(0.5, 10.6, 0.4)).is_empty());
        // Any value passed before.
        assert_eq!(fired("known-cpu", burning_within(0.5, 25.0, 16.0)).0, Some(Severity::Info));
        // A measurement that contradicts the answer fails in spite of its interval.
        assert_eq!(fired("known-cpu", burning_within(0.5, 13.0, 0.6)).0, Some(Severity::Fail));
    }
}
