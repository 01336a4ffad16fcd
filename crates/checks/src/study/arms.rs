//! Checks of each arm by itself.

use hoptax_result::{ArmKind, ArmResult, Finding, Loop, Severity, StudyResult};

use crate::thresholds;
use crate::{Check, Measured, finding, severity_above};

/// Each arm's book must balance.
pub(super) const BOOK: Check<StudyResult> = Check {
    id: "book",
    protects_from: "requests that vanish from the record, usually the slow ones",
    source: "our own; several generators drop what is in flight at the end",
    judge: |result, _| {
        let unbalanced = result.arms.iter().filter(|arm| !arm.book.balances());
        unbalanced
            .map(|arm| {
                let book = &arm.book;
                let accounted = book.answered + book.failed + book.timed_out + book.unfinished;
                let lost = book.planned.abs_diff(book.sent + book.unsent) + book.sent.abs_diff(accounted);
                // A generator that cannot count voids everything that it counted.
                finding(
                    "book",
                    Severity::Fail,
                    Measured::count(lost as f64, 0.0, "requests"),
                    format!("the book of `{}` does not add up: {lost} requests are unaccounted for", arm.id),
                    "this is a fault of hoptax: please report it with the result file",
                )
            })
            .collect()
    },
    withhold: None,
};

/// What was planned must have been offered.
pub(super) const OFFERED: Check<StudyResult> = Check {
    id: "offered",
    protects_from: "comparing arms that were not offered the same load",
    source: "Lancet (ATC 2019), check of the rate; RFC 9411, sustained rate",
    judge: |result, limits| {
        let short = |arm: &&ArmResult| {
            (arm.book.sent as f64) < arm.book.planned as f64 * limits.of(&thresholds::OFFERED_SHARE)
        };
        let found = result.arms.iter().filter(short).map(|arm| {
            let share = arm.book.sent as f64 / arm.book.planned as f64;
            let message = format!(
                "only {:.1} % of the planned requests were sent: no connection was free for {} of them",
                share * 100.0,
                arm.book.unsent
            );
            let measured = Measured::percent(share, limits.of(&thresholds::OFFERED_SHARE));
            let advice = "the arm cannot take the fixed rate on these connections: lower the rate or raise the connections";
            of_arm(result, arm, finding("offered", Severity::Fail, measured, message, advice))
        });
        found.collect()
    },
    withhold: None,
};

/// Too many requests without an answer.
pub(super) const ERRORS: Check<StudyResult> = Check {
    id: "errors",
    protects_from: "a function that looks cheap because it refuses",
    source: "RFC 9411: failed transactions below 0.001 %",
    judge: |result, limits| {
        let limit = result.plan.max_error_share;
        let found = result.arms.iter().filter_map(|arm| {
            let share = arm.book.error_share();
            let (severity, threshold) = severity_above(share, limits.of(&thresholds::ERROR_SHARE).min(limit), limit)?;
            let kinds: Vec<String> = arm.failures.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            let others = arm.book.timed_out + arm.book.unfinished;
            let message = format!(
                "{:.3} % of the requests were not answered ({}{} timed out or unfinished)",
                share * 100.0,
                kinds.iter().map(|kind| format!("{kind}, ")).collect::<String>(),
                others
            );
            let advice = "look at the proxy's log; a function that refuses requests must be given ones that it lets pass";
            Some(of_arm(result, arm, finding("errors", severity, Measured::percent(share, threshold), message, advice)))
        });
        found.collect()
    },
    withhold: None,
};

/// A function whose cost is known beforehand must show it.
pub(super) const KNOWN_ANSWER: Check<StudyResult> = Check {
    id: "known-answer",
    protects_from: "a rig that measures something else than it says",
    source: "ground truth: a delay of d ms must cost d ms",
    judge: |result, _| {
        let found = result.arms.iter().filter_map(|arm| {
            let known = arm.known_answer?;
            let seen = arm.cost.response_us.p50?.estimate;
            let (low, high) = (known.response_p50_low_us, known.response_p50_high_us);
            if (low..=high).contains(&seen) {
                return None;
            }
            let message = format!(
                "`{}` must cost {low:.0} to {high:.0} us at the median of response time and shows {seen:.0} us",
                arm.id
            );
            let measured = Measured::us(seen, if seen < low { low } else { high });
            let advice = "do not believe the other latencies of this study either; run it again on a quiet machine";
            Some(finding("known-answer", Severity::Fail, measured, message, advice))
        });
        found.collect()
    },
    withhold: None,
};

/// A function must have been at work, or be gone where it was taken away.
pub(super) const UNPROVEN: Check<StudyResult> = Check {
    id: "unproven",
    protects_from: "a function that costs nothing because it did nothing",
    source: "our own: a statistic of the proxy for each function of the catalogue",
    judge: |result, _| {
        let unproven = result.arms.iter().filter(|arm| !arm.unproven.is_empty());
        let found = unproven.map(|arm| {
            let message = format!("the function was not what it should be: {}", arm.unproven.join(", "));
            let measured = Measured::count(arm.unproven.len() as f64, 0.0, "statistics");
            let advice = "look at the arm's configuration and log in the folder of the run";
            of_arm(result, arm, finding("unproven", Severity::Fail, measured, message, advice))
        });
        found.collect()
    },
    withhold: None,
};

/// A limit must let pass what it says.
pub(super) const ADMITTED: Check<StudyResult> = Check {
    id: "admitted",
    protects_from: "comparing limits that limit differently",
    source: "ground truth: a bucket of n tokens lets n at once and n in a second pass",
    judge: |result, limits| {
        let limit = limits.of(&thresholds::ADMITTED_ERROR);
        let of_arm_and_load = |arm: &ArmResult| -> Vec<Finding> {
            let wrong = |load: &hoptax_result::ArmLoad| {
                let ratio = load.admitted_ratio?.estimate;
                let error = (ratio - 1.0).abs();
                let severity = (error > limit).then_some(Severity::Warn)?;
                let message = format!(
                    "under `{}` {} % of what the limit should let pass did",
                    load.load,
                    (ratio * 100.0).round()
                );
                let measured = Measured::percent(error, limit);
                let advice = "compare its other numbers only with those of limits that do the same";
                Some(of_arm(result, arm, finding("admitted", severity, measured, message, advice)))
            };
            arm.loads.iter().filter_map(wrong).collect()
        };
        result.arms.iter().flat_map(of_arm_and_load).collect()
    },
    withhold: None,
};

/// Too few answers for the 99th percentile.
pub(super) const TOO_FEW: Check<StudyResult> = Check {
    id: "too-few-samples",
    protects_from: "a tail quantile that a handful of requests decided",
    source: "our own: n (1 - p) of at least 100",
    judge: |result, limits| {
        if result.plan.loads.iter().all(|load| load.loop_ == Loop::Closed) {
            return Vec::new();
        }
        let needed = (limits.of(&thresholds::SAMPLES_ABOVE) / 0.01).round();
        let found = result.arms.iter().filter(|arm| (arm.responses as f64) < needed).map(|arm| {
            let message =
                format!("{} answers at the fixed rate do not support p99: it is withheld", arm.responses);
            let measured = Measured::count(arm.responses as f64, needed, "requests");
            let advice = "more rounds, more blocks or a higher rate";
            Finding {
                arm: Some(arm.id.clone()),
                ..finding("too-few-samples", Severity::Warn, measured, message, advice)
            }
        });
        found.collect()
    },
    withhold: Some(|result, finding, _| {
        for arm in result.arms.iter_mut().filter(|arm| finding.arm.as_ref() == Some(&arm.id)) {
            arm.response_us.p99 = None;
            arm.cost.response_us.p99 = None;
        }
    }),
};

/// A closed loop that does not keep the proxy busy does not find its maximum rate.
pub(super) const NOT_SATURATED: Check<StudyResult> = Check {
    id: "not-saturated",
    protects_from: "a rate that connections or a delay set being taken for the proxy's limit",
    source: "our own; a closed loop of N connections cannot exceed N / response time",
    judge: |result, limits| {
        let found = result.arms.iter().filter_map(|arm| {
            let share = arm.proxy_use?.core_share;
            if share >= limits.of(&thresholds::SATURATED_SHARE) || arm.max_rate.is_none() {
                return None;
            }
            let message = format!(
                "the proxy was busy only {:.0} % of the time under the closed loop: its connections, not the proxy, \
                 set the rate, which is withheld",
                share * 100.0
            );
            let measured = Measured::percent(share, limits.of(&thresholds::SATURATED_SHARE));
            let advice = "more connections would load it further; its CPU cost includes that an idle proxy batches less";
            Some(Finding {
                arm: Some(arm.id.clone()),
                ..finding("not-saturated", Severity::Info, measured, message, advice)
            })
        });
        found.collect()
    },
    withhold: Some(|result, finding, _| {
        for arm in result.arms.iter_mut().filter(|arm| finding.arm.as_ref() == Some(&arm.id)) {
            arm.max_rate = None;
            arm.cost.max_rate = None;
        }
    }),
};

/// A finding about an arm. Without a sound baseline there is no study: its failures concern the whole.
fn of_arm(result: &StudyResult, arm: &ArmResult, finding: Finding) -> Finding {
    if arm.kind == ArmKind::Baseline && arm.id == result.plan.baseline {
        return Finding { message: format!("`{}`: {}", arm.id, finding.message), ..finding };
    }
    Finding { arm: Some(arm.id.clone()), ..finding }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{KnownAnswer, Severity};

    use crate::study::tests::fired;

    #[test]
    fn a_lost_request_voids_the_study() {
        assert_eq!(fired("book", |result| result.arms[2].book.sent += 1).0, Some(Severity::Fail));
    }

    #[test]
    fn an_arm_that_was_offered_less_fires() {
        let (severity, result) = fired("offered", |result| {
            let book = &mut result.arms[2].book;
            (book.sent, book.answered, book.unsent) = (80_000, 80_000, 10_000);
        });
        assert_eq!(severity, Some(Severity::Fail));
        assert_eq!(result.findings[0].arm.as_deref(), Some("lua"));
    }

    #[test]
    fn an_arm_with_errors_fires() {
        let errors = |count: u64| {
            fired("errors", |result| {
                result.arms[2].book.answered -= count;
                result.arms[2].book.failed += count;
            })
            .0
        };
        assert_eq!(errors(0), None);
        assert_eq!(errors(10), Some(Severity::Warn));
        assert_eq!(errors(1_000), Some(Severity::Fail));
    }

    #[test]
    fn a_function_that_did_nothing_is_void() {
        let (severity, result) = fired("unproven", |result| {
            result.arms[2].unproven = vec!["`http.ingress.lua.executions` did not move".to_owned()];
        });
        assert_eq!(severity, Some(Severity::Fail));
        assert!(result.arms[2].cpu_us_per_request.is_none() && result.arms[1].cpu_us_per_request.is_some());
    }

    #[test]
    fn a_limit_that_lets_pass_more_than_it_says_fires() {
        let admitted = |ratio: f64| {
            fired("admitted", |result| {
                let ratio = Some(hoptax_result::Interval { estimate: ratio, low: ratio, high: ratio });
                result.arms[2].loads =
                    vec![hoptax_result::ArmLoad { admitted_ratio: ratio, ..Default::default() }];
            })
            .0
        };
        assert_eq!(admitted(1.02), None);
        assert_eq!(admitted(1.2), Some(Severity::Warn));
        assert_eq!(admitted(0.9), Some(Severity::Warn));
    }

    #[test]
    fn a_missed_known_answer_fires() {
        let known = |low: f64, high: f64| {
            fired("known-answer", |result| {
                result.arms[2].known_answer =
                    Some(KnownAnswer { response_p50_low_us: low, response_p50_high_us: high });
            })
            .0
        };
        assert_eq!(known(4.9, 5.7), None);
        assert_eq!(known(4900.0, 5700.0), Some(Severity::Fail));
        assert_eq!(known(1.0, 2.0), Some(Severity::Fail));
    }

    #[test]
    fn too_few_answers_take_p99_and_leave_p50() {
        let (severity, result) = fired("too-few-samples", |result| result.arms[2].responses = 9_999);
        assert_eq!(severity, Some(Severity::Warn));
        let response = &result.arms[2].cost.response_us;
        assert!(response.p99.is_none() && response.p50.is_some());
    }

    #[test]
    fn a_proxy_that_idles_has_no_maximum_rate() {
        let (severity, result) = fired("not-saturated", |result| {
            if let Some(used) = &mut result.arms[2].proxy_use {
                used.core_share = 0.3;
            }
        });
        assert_eq!(severity, Some(Severity::Info));
        assert!(result.arms[2].max_rate.is_none() && result.arms[2].cost.cpu_us_per_request.is_some());
        assert!(result.arms[1].max_rate.is_some());
    }
}
