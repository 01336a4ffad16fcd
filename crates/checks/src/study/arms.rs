//! Checks of individual arms.

use hoptax_result::{ArmLoad, ArmResult, Finding, Measure, Measured, Severity, StudyResult, count, percent};

use crate::check::{Check, severity_above};
use crate::thresholds;

/// Each arm's accounts of requests must balance.
pub(super) const BOOK: Check<StudyResult> = Check {
    id: "book",
    protects_from: "requests missing from the record, usually the slow ones",
    source: "own; several generators drop the requests in flight at the end",
    judge: |result, _| {
        let unbalanced = result.arms.iter().filter(|arm| !arm.book.balances());
        unbalanced
            .map(|arm| {
                let book = &arm.book;
                let accounted = book.answered + book.failed + book.timed_out + book.unfinished;
                let lost = book.planned.abs_diff(book.sent + book.unsent) + book.sent.abs_diff(accounted);
                // A counting error of the generator voids the whole study.
                Finding::new(
                    "book",
                    Severity::Fail,
                    Measured::count(lost as f64, 0.0, "requests"),
                    format!("{} requests of `{}` are unaccounted for", count(lost), arm.id),
                    "this is a bug in hoptax: report it with the result file",
                )
            })
            .collect()
    },
    withhold: None,
};

/// The planned load must have been offered.
pub(super) const OFFERED: Check<StudyResult> = Check {
    id: "offered",
    protects_from: "comparing arms under different loads",
    source: "Lancet (ATC 2019), check of the rate; RFC 9411, sustained rate",
    judge: |result, limits| {
        let min = limits.value(&thresholds::OFFERED_SHARE);
        let min_for_cpu = limits.value(&thresholds::OFFERED_CPU_SHARE);
        each_load(result, |load| {
            let share = load.book.sent as f64 / load.book.planned.max(1) as f64;
            if load.book.planned == 0 || share >= min {
                return None;
            }
            let message = format!(
                "no connection was free for {} planned requests; {} were sent",
                count(load.book.unsent),
                percent(share, 1)
            );
            let advice = "the arm does not sustain this load on these connections: lower the rate or raise the number of connections";
            let one = Finding::new("offered", Severity::Fail, Measured::percent(share, min), message, advice);
            // Unsent requests would have been slow, so a few of them already bias response times. CPU time per request depends on
            // the rate only weakly, so it stays valid down to this share. The bytes of a request and the memory of a process do
            // not depend on it.
            let measures =
                if share >= min_for_cpu { Measure::TIMED.to_vec() } else { Measure::of_the_rate() };
            Some(Finding { measures, ..one })
        })
    },
    withhold: None,
};

/// Too many unanswered requests.
pub(super) const ERRORS: Check<StudyResult> = Check {
    id: "errors",
    protects_from: "a function that looks cheap because it rejects requests",
    source: "RFC 9411: failed transactions below 0.001 %",
    judge: |result, limits| {
        let max_share = result.plan.max_error_share;
        each_load(result, |load| {
            let share = load.book.error_share();
            let warn = limits.value(&thresholds::ERROR_SHARE).min(max_share);
            let (severity, threshold) = severity_above(share, warn, max_share)?;
            let others = vec![format!(
                "{} timed out or unfinished",
                count(load.book.timed_out + load.book.unfinished)
            )];
            let kinds = load.reasons.listed(&load.failures, others, count);
            let message = format!("{} of the requests failed ({kinds})", percent(share, 3));
            let advice = "check the proxy's log; a function that rejects requests must receive requests that it accepts";
            Some(Finding::new("errors", severity, Measured::percent(share, threshold), message, advice))
        })
    },
    withhold: None,
};

/// Many requests that a proxy handed back unprocessed.
pub(super) const SENT_AGAIN: Check<StudyResult> = Check {
    id: "sent-again",
    protects_from: "response times of two tries, and the work of two connections, taken for those of one",
    source: "RFC 9113, sections 6.8 and 8.7: such requests were not processed, so a client may send them again",
    judge: |result, limits| {
        let max = limits.value(&thresholds::SENT_AGAIN);
        each_load(result, |load| {
            let share = load.book.sent_again as f64 / load.book.sent.max(1) as f64;
            if share <= max {
                return None;
            }
            let message = format!(
                "{} of the requests were sent again: they were handed back unprocessed",
                percent(share, 1)
            );
            let advice = "raise the number of requests that the server accepts on a connection, or set a lower one for the load";
            Some(Finding::new("sent-again", Severity::Warn, Measured::percent(share, max), message, advice))
        })
    },
    withhold: None,
};

/// Envoy's statistics must show that a function ran in its arm, and that it did not run after it was removed.
pub(super) const UNPROVEN: Check<StudyResult> = Check {
    id: "unproven",
    protects_from: "a function that costs nothing because it did nothing",
    source: "own: a statistic of the proxy for each function of the catalogue",
    judge: |result, _| {
        let unproven = result.arms.iter().filter(|arm| !arm.unproven.is_empty());
        let found = unproven.map(|arm| {
            let message =
                format!("no proof that the function ran as configured: {}", arm.unproven.join(", "));
            let measured = Measured::count(arm.unproven.len() as f64, 0.0, "statistics");
            let advice = "check the arm's configuration and log in the run folder";
            for_arm(arm, Finding::new("unproven", Severity::Fail, measured, message, advice))
        });
        found.collect()
    },
    withhold: None,
};

/// A rate limit must admit its configured rate.
pub(super) const ADMITTED: Check<StudyResult> = Check {
    id: "admitted",
    protects_from: "comparing rate limits that admit different numbers of requests",
    source: "ground truth: a bucket of n tokens admits n requests at once and n per second",
    judge: |result, limits| {
        let max_error = limits.value(&thresholds::ADMITTED_ERROR);
        let judge_arm = |arm: &ArmResult| -> Vec<Finding> {
            let judge_load = |load: &hoptax_result::ArmLoad| {
                let ratio = load.admitted_ratio?.estimate;
                let error = (ratio - 1.0).abs();
                let severity = (error > max_error).then_some(Severity::Warn)?;
                let message = format!(
                    "the limit admitted {} % of the requests that it should admit under `{}`",
                    (ratio * 100.0).round(),
                    load.load
                );
                let measured = Measured::percent(error, max_error);
                let advice = "compare its other numbers only with limits that admit the same share";
                let one = for_arm(arm, Finding::new("admitted", severity, measured, message, advice));
                Some(Finding { load: Some(load.load.clone()), measures: vec![Measure::Admitted], ..one })
            };
            arm.loads.iter().filter_map(judge_load).collect()
        };
        result.arms.iter().flat_map(judge_arm).collect()
    },
    withhold: None,
};

/// A closed loop that does not keep the proxy busy does not measure its maximum
/// rate.
pub(super) const NOT_SATURATED: Check<StudyResult> = Check {
    id: "not-saturated",
    protects_from: "a limit of connections or of a delay reported as the proxy's",
    source: "own; a closed loop of N connections cannot exceed N / response time",
    judge: |result, limits| {
        let found = result.arms.iter().filter_map(|arm| {
            let share = arm.proxy_use?.processors_busy_share();
            if share >= limits.value(&thresholds::SATURATED_SHARE) || arm.max_rate.is_none() {
                return None;
            }
            let message =
                format!("its processors were busy {} of the time under the closed loop", percent(share, 0));
            let measured = Measured::percent(share, limits.value(&thresholds::SATURATED_SHARE));
            let advice = "raise the number of connections: they, or other work on these processors, limited the rate instead of the proxy";
            Some(Finding {
                arm: Some(arm.id.clone()),
                measures: vec![Measure::MaxRate],
                withholds: true,
                ..Finding::new("not-saturated", Severity::Info, measured, message, advice)
            })
        });
        found.collect()
    },
    withhold: None,
};

/// A partly idle proxy handles fewer events per wake-up, so a request takes more CPU time in it than in a busy one. The difference
/// between the two is not the cost of the function in which they differ.
pub(super) const UNEQUALLY_BUSY: Check<StudyResult> = Check {
    id: "unequally-busy",
    protects_from: "the CPU time of idling reported as that of a function",
    source: "own; plain proxying took 63 us of CPU time per request when saturated and 82 us at 90 % of its capacity",
    judge: |result, limits| {
        let limit = limits.value(&thresholds::UNEQUALLY_BUSY);
        let limit_of_costs = limits.value(&thresholds::UNEQUALLY_BUSY_FAIL);
        let load = result.plan.rate_load().map(|load| load.name.clone());
        let busy_share = |id: &str| Some(result.arm(id)?.proxy_use?.processors_busy_share());
        let found = result.arms.iter().filter_map(|arm| {
            let other = arm.compared_with.as_deref()?;
            let (own_share, other_share) = (busy_share(&arm.id)?, busy_share(other)?);
            let difference = (own_share - other_share).abs();
            if difference <= limit {
                return None;
            }
            // A small difference is stated: its part of the cost is unknown, but small against the cost of most such arms.
            let withholds = difference > limit_of_costs;
            let measured = Measured::percent(difference, if withholds { limit_of_costs } else { limit });
            let message = format!(
                "its processors were busy {} of the time under the closed loop, those of `{other}` {}",
                percent(own_share, 0),
                percent(other_share, 0)
            );
            let advice = "raise the number of connections, or compare CPU time under a load that is a share of each arm's capacity \
                          (`utilisation: 60%`): an idle proxy takes more CPU time per request";
            Some(Finding {
                load: load.clone(),
                measures: vec![Measure::Cpu],
                withholds,
                costs_alone: true,
                ..for_arm(arm, Finding::new("unequally-busy", Severity::Info, measured, message, advice))
            })
        });
        found.collect()
    },
    withhold: None,
};

/// Each closed loop that measures a capacity of an arm must keep its proxy busy, so that a share of the capacity is a share of the proxy's
/// highest rate. An arm has a capacity for each use of connections, and the result has the least busy share of their loops.
pub(super) const CAPACITY: Check<StudyResult> = Check {
    id: "capacity-not-saturated",
    protects_from: "a share of the rate that connections allow, taken for a share of the proxy's capacity",
    source: "own; a closed loop of N connections cannot exceed N / response time",
    judge: |result, limits| {
        let limit = limits.value(&thresholds::SATURATED_SHARE);
        let has_shares = result.plan.loads.iter().any(|load| load.utilisation.is_some());
        let found = result.arms.iter().filter(|_| has_shares).filter_map(|arm| {
            let capacity = arm.capacity?;
            let share = capacity.closed_busy_share.filter(|share| *share < limit)?;
            let message = format!(
                "a closed loop that measured its capacity kept its processors busy {} of the time: its connections, or the generator, \
                 limited the loop",
                percent(share, 0)
            );
            let advice = "its capacity was computed from the CPU time of a request in an open loop, and is at most the rate of that closed \
                          loop: compare arms by how busy the load kept their proxies, or raise the number of connections of the load";
            let measured = Measured::percent(share, limit);
            Some(for_arm(arm, Finding::new("capacity-not-saturated", Severity::Info, measured, message, advice)))
        });
        found.collect()
    },
    withhold: None,
};

/// The findings about each arm under each load.
pub(super) fn each_load(result: &StudyResult, judge: impl Fn(&ArmLoad) -> Option<Finding>) -> Vec<Finding> {
    let mut found = Vec::new();
    for arm in &result.arms {
        for load in &arm.loads {
            let (arm, name) = (Some(arm.id.clone()), Some(load.load.clone()));
            found.extend(judge(load).map(|one| Finding { arm, load: name, ..one }));
        }
    }
    found
}

/// The same finding, about this arm. A failure also withholds the costs of arms that are compared with it.
fn for_arm(arm: &ArmResult, finding: Finding) -> Finding {
    Finding { arm: Some(arm.id.clone()), ..finding }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Capacity, Measure, Place, RoundMeasure, Severity, StudyResult, Verdict};

    use crate::study::tests::{fired, only_closed, withheld};

    #[test]
    fn a_lost_request_voids_the_study() {
        let (severity, result) = fired("book", |result| result.arms[2].book.sent += 1);
        assert_eq!((severity, result.verdict), (Some(Severity::Fail), Verdict::Void));
    }

    #[test]
    fn an_arm_that_hands_many_requests_back_warns() {
        let sent_again = |share: u64| {
            fired("sent-again", |result| {
                let book = &mut result.arms[2].loads[0].book;
                book.sent_again = book.sent * share / 1_000;
            })
            .0
        };
        assert_eq!((sent_again(10), sent_again(11)), (None, Some(Severity::Warn)));
    }

    /// Leaves so many of the 45,000 requests of an arm under the open loop unsent.
    fn overloaded(arm: usize, unsent: u64) -> impl Fn(&mut StudyResult) {
        move |result| {
            let book = &mut result.arms[arm].loads[1].book;
            (book.sent, book.answered, book.unsent) = (45_000 - unsent, 45_000 - unsent, unsent);
        }
    }

    #[test]
    fn an_arm_that_does_not_sustain_a_load_loses_its_numbers_under_it_but_those_that_no_rate_changes() {
        // Costs in use are those under this load, and it is the only function of the study.
        let (severity, result) = fired("offered", overloaded(2, 5_000));
        assert_eq!((severity, result.verdict), (Some(Severity::Fail), Verdict::Void));
        assert_eq!(result.findings[0].arm.as_deref(), Some("lua"));
        let withheld = withheld(overloaded(2, 5_000));
        let is_meant = |place: &String| place.contains("lua fixed-rate");
        assert!(!withheld.is_empty() && withheld.iter().all(is_meant), "{withheld:?}");
        assert!(withheld.iter().any(|place| place.ends_with("Cpu")), "{withheld:?}");
        let finding = &result.findings[0];
        let memory = Measure::OfRounds(RoundMeasure::MEMORY);
        for (measure, is_concerned) in [(Measure::Cpu, true), (Measure::LinkBytes, false), (memory, false)] {
            let place = Place { arm: "lua", compared_with: None, load: Some("fixed-rate"), measure };
            assert_eq!(finding.concerns(&place), is_concerned, "{measure:?}");
        }
    }

    #[test]
    fn an_arm_that_nearly_sustains_a_load_keeps_its_cpu_time_under_it() {
        assert_eq!(fired("offered", overloaded(2, 1_000)).0, Some(Severity::Fail));
        let withheld = withheld(overloaded(2, 1_000));
        assert!(withheld.iter().any(|place| place.contains("lua fixed-rate ResponseP50")), "{withheld:?}");
        assert!(!withheld.iter().any(|place| place.ends_with("Cpu")), "{withheld:?}");
    }

    #[test]
    fn a_baseline_that_does_not_sustain_a_load_withholds_the_costs_under_it() {
        let (_, result) = fired("offered", overloaded(0, 5_000));
        assert_eq!(result.verdict, Verdict::Void);
        let withheld = withheld(overloaded(0, 5_000));
        assert!(withheld.contains(&"+lua fixed-rate ResponseP50".to_owned()), "{withheld:?}");
        assert!(!withheld.iter().any(|place| place.contains("saturation")), "{withheld:?}");
    }

    #[test]
    fn an_arm_with_errors_fires() {
        let errors = |count: u64| {
            fired("errors", |result| {
                let book = &mut result.arms[2].loads[0].book;
                book.answered -= count;
                book.failed += count;
            })
            .0
        };
        assert_eq!(errors(0), None);
        assert_eq!(errors(5), Some(Severity::Warn));
        assert_eq!(errors(500), Some(Severity::Fail));
    }

    #[test]
    fn a_limit_that_admits_another_rate_than_configured_fires() {
        let admitted = |ratio: f64| {
            fired("admitted", |result| {
                let ratio = Some(hoptax_result::Interval::new(ratio, ratio, ratio));
                result.arms[2].loads[0].admitted_ratio = ratio;
            })
            .0
        };
        assert_eq!(admitted(1.02), None);
        assert_eq!(admitted(1.2), Some(Severity::Warn));
        assert_eq!(admitted(0.9), Some(Severity::Warn));
    }

    fn busy(arm: usize, core_share: f64) -> impl Fn(&mut StudyResult) {
        move |result| {
            if let Some(used) = &mut result.arms[arm].proxy_use {
                used.core_share = core_share;
            }
        }
    }

    fn idle(arm: usize) -> impl Fn(&mut StudyResult) {
        busy(arm, 0.3)
    }

    fn all_idle(result: &mut StudyResult) {
        (0..result.arms.len()).for_each(|arm| idle(arm)(result));
    }

    #[test]
    fn a_proxy_that_idles_has_no_maximum_rate() {
        let (severity, result) = fired("not-saturated", all_idle);
        assert_eq!((severity, result.verdict), (Some(Severity::Info), Verdict::Sound));
        let rates = withheld(idle(2));
        let rates = rates.iter().filter(|place| place.ends_with("MaxRate"));
        assert_eq!(rates.collect::<Vec<_>>(), ["+lua saturation MaxRate", "lua saturation MaxRate"]);
    }

    #[test]
    fn a_proxy_of_two_processors_that_uses_one_idles() {
        let half = |result: &mut StudyResult| {
            let used = result.arms[2].proxy_use.as_mut().unwrap();
            (used.core_share, used.processors_busy_share) = (0.97, Some(0.485));
        };
        assert_eq!(fired("not-saturated", half).0, Some(Severity::Info));
        // Two proxies on two processors, which both are saturated, and one on one.
        let full = |result: &mut StudyResult| {
            let used = result.arms[2].proxy_use.as_mut().unwrap();
            (used.core_share, used.processors_busy_share) = (1.94, Some(0.97));
        };
        assert_eq!([fired("not-saturated", full).0, fired("unequally-busy", full).0], [None; 2]);
    }

    #[test]
    fn the_cpu_time_of_an_idle_and_a_busy_proxy_is_not_compared() {
        let places = |sabotage: &dyn Fn(&mut StudyResult)| {
            let all = withheld(|result| {
                only_closed(result);
                sabotage(result);
            });
            all.into_iter().filter(|place| place.ends_with(" Cpu")).collect::<Vec<_>>()
        };
        // It was the only cost of the study.
        let (severity, result) = fired("unequally-busy", |result| {
            only_closed(result);
            idle(2)(result);
        });
        assert_eq!((severity, result.verdict), (Some(Severity::Info), Verdict::Void));
        // Costs in use are of a load that keeps both proxies equally busy.
        let (severity, result) = fired("unequally-busy", idle(2));
        assert_eq!((severity, result.verdict), (Some(Severity::Info), Verdict::Sound));
        assert!(!withheld(idle(2)).contains(&"+lua fixed-rate Cpu".to_owned()));
        assert_eq!(places(&idle(2)), ["+lua saturation Cpu"]);
        assert_eq!(fired("unequally-busy", all_idle).0, None);
        assert!(places(&all_idle).is_empty());
        assert_eq!(fired("unequally-busy", busy(2, 0.96)).0, None);
        let (severity, result) = fired("unequally-busy", busy(2, 0.93));
        assert_eq!((severity, result.verdict), (Some(Severity::Info), Verdict::Sound));
        assert!(places(&busy(2, 0.93)).is_empty());
        assert_eq!(places(&busy(2, 0.91)), ["+lua saturation Cpu"]);
        // All but the idle baseline are saturated.
        assert!(places(&idle(0)).contains(&"+lua saturation Cpu".to_owned()));
        assert!(!places(&idle(0)).contains(&"lua saturation Cpu".to_owned()));
    }

    #[test]
    fn an_arm_whose_connections_limited_its_capacity_is_named_and_keeps_its_numbers() {
        let limited = |utilisation: Option<f64>, busy: f64| {
            move |result: &mut StudyResult| {
                let load = &mut result.plan.loads[1];
                (load.rate, load.utilisation) = (load.rate.xor(utilisation), utilisation);
                let of =
                    |closed_busy_share| Capacity { rate: 5_000.0, closed_rate: 6_400.0, closed_busy_share };
                result.arms[1].capacity = Some(of(Some(0.98)));
                result.arms[2].capacity = Some(of(Some(busy)));
            }
        };
        let id = "capacity-not-saturated";
        let (severity, result) = fired(id, limited(Some(0.3), 0.5));
        assert_eq!((severity, result.verdict), (Some(Severity::Info), Verdict::Sound));
        let named: Vec<Option<&str>> = result.findings.iter().map(|finding| finding.arm.as_deref()).collect();
        assert_eq!(named, [Some("lua")]);
        assert!(withheld(limited(Some(0.3), 0.5)).is_empty());
        assert_eq!(fired(id, limited(Some(0.3), 0.95)).0, None);
        // No load is a share of it.
        assert_eq!(fired(id, limited(None, 0.5)).0, None);
    }

    #[test]
    fn a_baseline_that_idles_withholds_rates_compared_with_it() {
        let withheld = withheld(idle(0));
        assert!(withheld.contains(&"+lua saturation MaxRate".to_owned()), "{withheld:?}");
        assert!(!withheld.contains(&"lua saturation MaxRate".to_owned()), "{withheld:?}");
    }
}
