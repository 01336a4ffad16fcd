use hoptax_result::{
    ArmResult, Bound, BoundOf, CostMeasure, Finding, Interval, KnownAnswer, LimitPeriods, Measured, Sample,
    Severity, StudyResult, StudyRound, Verdict, sample,
};

use crate::judge_sittings;
use crate::study::tests::{fired, only_closed, sound};

const P50: CostMeasure = CostMeasure::ResponseP50Us;
const P99: CostMeasure = CostMeasure::ResponseP99Us;

/// Adds bounds from the evidence for the numbers of all arms: levels of response time from 20 to 500 us, costs from -40 to 60 us,
/// the other numbers a little wider than their intervals.
fn add_evidence(result: &mut StudyResult) {
    for arm in &mut result.arms {
        let wider = |of, measure, stated: Option<hoptax_result::Interval>| {
            let stated = stated?;
            Bound::new(of, measure, Some(stated.low - 1.0), Some(stated.high + 1.0))
        };
        let times = [P50, CostMeasure::ResponseP90Us, P99].into_iter().flat_map(|measure| {
            let cost = arm
                .compared_with
                .as_ref()
                .and_then(|_| Bound::new(BoundOf::Cost, measure, Some(-40.0), Some(60.0)));
            [Bound::new(BoundOf::Level, measure, Some(20.0), Some(500.0)), cost]
        });
        let cost = |measure: CostMeasure, arm: &ArmResult| {
            wider(BoundOf::Cost, measure, measure.interval(&arm.cost))
        };
        let all = [
            wider(BoundOf::Level, CostMeasure::MaxRate, arm.max_rate),
            cost(CostMeasure::CpuUs, arm),
            cost(CostMeasure::MaxRate, arm),
        ];
        let bounds: Vec<Bound> = times.chain(all).flatten().collect();
        arm.bounds.0.clone_from(&bounds);
        for load in &mut arm.loads {
            load.bounds.0.clone_from(&bounds);
        }
    }
}

/// Judges an invalidated result with such evidence.
fn judged(invalidate: impl FnOnce(&mut StudyResult)) -> StudyResult {
    let (_, result) = fired("", |result| {
        add_evidence(result);
        invalidate(result);
    });
    result
}

/// The ends of the bound of an arm's cost.
fn cost(result: &StudyResult, arm: usize, measure: CostMeasure) -> Option<(Option<f64>, Option<f64>)> {
    assert!(measure.interval(&result.arms[arm].cost).is_none(), "a number that is stated");
    result.arms[arm].bounds.cost(measure).map(|bound| (bound.low, bound.high))
}

fn level(result: &StudyResult, arm: usize, measure: CostMeasure) -> Option<(Option<f64>, Option<f64>)> {
    result.arms[arm].bounds.level(measure).map(|bound| (bound.low, bound.high))
}

#[test]
fn a_number_that_is_stated_has_no_bound() {
    let result = judged(|_| {});
    assert!(result.arms.iter().all(|arm| {
        arm.bounds.is_empty()
            && arm.loads.iter().all(|load| {
                load.bounds.0.iter().all(|one| {
                    // A load of the fixture has no levels and costs of its own in these.
                    [CostMeasure::MaxRate, CostMeasure::CpuUs].contains(&one.measure)
                })
            })
    }));
}

#[test]
fn an_interval_that_is_too_wide_is_the_bound_of_a_level_or_a_tail_and_that_of_another_cost_is_stated() {
    let result = judged(|result| {
        let arm = &mut result.arms[2];
        let wide = Some(Interval::around(30.0, 101.0));
        (arm.cost.response_us.p99, arm.loads[1].cost.response_us.p99) = (wide, wide);
        arm.cost.cpu_us_per_request = Some(Interval::around(30.0, 25.0));
    });
    assert_eq!(cost(&result, 2, P99), Some((Some(-71.0), Some(131.0))));
    assert_eq!(result.arms[2].bounds.cost(P99).unwrap().by, ["vague-cost"]);
    assert_eq!(result.arms[2].cost.cpu_us_per_request, Some(Interval::around(30.0, 25.0)));
    assert!(result.arms[2].bounds.cost(CostMeasure::CpuUs).is_none());
    assert_eq!(result.verdict, Verdict::Caution, "its only cost is wide");
    let result = judged(|result| result.arms[2].max_rate = Some(Interval::around(20_000.0, 11_000.0)));
    assert_eq!(level(&result, 2, CostMeasure::MaxRate), Some((Some(9_000.0), Some(31_000.0))));
}

#[test]
fn too_few_responses_leave_what_the_evidence_bounds_p99_by() {
    let result = judged(|result| result.arms[2].loads[1].responses = 9_999);
    assert_eq!(cost(&result, 2, P99), Some((Some(-40.0), Some(60.0))));
    assert_eq!(level(&result, 2, P99), Some((Some(20.0), Some(500.0))));
    assert_eq!(result.arms[2].loads[1].bounds.cost(P99).unwrap().by, ["too-few-samples"]);
    assert!(result.arms[1].bounds.is_empty(), "it has enough");
}

#[test]
fn a_quantile_that_was_never_stated_keeps_its_bound() {
    let result = judged(|result| result.arms[2].cost.response_us.p99 = None);
    assert_eq!(cost(&result, 2, P99), Some((Some(-40.0), Some(60.0))));
    assert!(result.arms[2].bounds.cost(P99).unwrap().by.is_empty());
}

#[test]
fn the_bound_that_checks_of_all_sittings_left_of_a_number_stays() {
    let of_sittings = |by: &[&str]| {
        let mut result = sound();
        result.sittings = vec![sample::sitting(10); 3];
        let measured = Measured::count(1.0, 0.0, "");
        let steal = Finding::new("steal", Severity::Fail, measured, String::new(), "");
        result.findings = vec![Finding { withholds: true, sitting: Some(1), ..steal }];
        let lua = &mut result.arms[2];
        lua.cost.cpu_us_per_request = None;
        let by = by.iter().map(|id| (*id).to_owned()).collect();
        let bound = Bound::new(BoundOf::Cost, CostMeasure::CpuUs, Some(-1.0), Some(9.0)).unwrap();
        lua.bounds.0 = vec![Bound { by, ..bound }];
        judge_sittings(&mut result);
        (cost(&result, 2, CostMeasure::CpuUs), result.verdict)
    };
    assert_eq!(of_sittings(&["steal"]), (Some((Some(-1.0), Some(9.0))), Verdict::Caution));
    assert_eq!(of_sittings(&[]), (None, Verdict::Void), "no check withheld it");
}

#[test]
fn what_measures_other_work_leaves_nothing() {
    for result in [
        judged(|result| result.arms[2].unproven = vec!["nothing moved".to_owned()]),
        judged(|result| result.arms[2].book.sent += 1),
        judged(|result| result.plan.rounds_completed = 1),
    ] {
        assert!(result.arms[2].bounds.is_empty(), "{:?}", result.arms[2].bounds);
    }
}

fn idle(arms: &'static [usize]) -> impl Fn(&mut StudyResult) {
    move |result| {
        for arm in arms {
            result.arms[*arm].proxy_use.as_mut().unwrap().core_share = 0.3;
        }
    }
}

#[test]
fn a_proxy_that_idles_takes_at_least_the_measured_rate() {
    // The cost in rate is 500 ± 50 requests per second less.
    let result = judged(idle(&[2]));
    assert_eq!(level(&result, 2, CostMeasure::MaxRate), Some((Some(19_700.0), None)));
    let under = &result.arms[2].loads[0];
    assert!(under.rate.is_some() && under.bounds.level(CostMeasure::MaxRate).is_none(), "its rate is stated");
    assert_eq!(cost(&result, 2, CostMeasure::MaxRate), Some((Some(-550.0), None)));
    assert_eq!(cost(&judged(idle(&[0])), 2, CostMeasure::MaxRate), Some((None, Some(-450.0))));
    assert_eq!(cost(&judged(idle(&[0, 1, 2])), 2, CostMeasure::MaxRate), None);
}

#[test]
fn nothing_is_known_of_the_cpu_time_of_a_proxy_that_idles_beside_one_that_does_not() {
    for arm in [&[2], &[0]] {
        let result = judged(|result| {
            only_closed(result);
            idle(arm)(result);
        });
        assert_eq!(cost(&result, 2, CostMeasure::CpuUs), None);
    }
}

#[test]
fn a_late_generator_leaves_what_the_evidence_bounds_times_by() {
    let result = judged(|result| {
        let used = &mut result.generator[1];
        (used.own_lag_p50_us, used.own_lag_p99_us) = (Some(70.0), Some(150.0));
    });
    assert_eq!(cost(&result, 2, P50), Some((Some(-40.0), Some(60.0))));
    assert_eq!(result.arms[2].bounds.cost(P99).unwrap().by, ["send-lag"]);
}

#[test]
fn a_generator_that_is_busy_all_the_time_only_lengthens_times() {
    let busy = |load: usize| judged(move |result| result.generator[load].core_share = 0.99);
    let result = busy(1);
    assert_eq!(level(&result, 2, P50), Some((Some(0.0), Some(500.0))));
    assert_eq!(cost(&result, 2, P50), Some((Some(-500.0), Some(500.0))));
    let result = busy(0);
    assert_eq!(level(&result, 2, CostMeasure::MaxRate), Some((Some(19_700.0), None)));
    assert_eq!(cost(&result, 2, CostMeasure::MaxRate), None, "both proxies were limited by it");
}

#[test]
fn stolen_time_leaves_bounds_of_all_slices_and_the_longest_tails() {
    let result = judged(|result| result.host.steal_share = 0.06);
    assert_eq!(cost(&result, 2, P50), Some((Some(-40.0), Some(60.0))));
    assert_eq!(cost(&result, 2, P99), Some((Some(-500.0), Some(500.0))));
    assert_eq!(cost(&result, 2, CostMeasure::MaxRate), Some((Some(-551.0), Some(-449.0))));
}

#[test]
fn unsent_requests_leave_that_the_quantile_is_at_least_what_was_measured() {
    let unsent = |arm: usize| {
        judged(move |result| {
            let book = &mut result.arms[arm].loads[1].book;
            (book.sent, book.answered, book.unsent) = (43_000, 43_000, 2_000);
        })
    };
    assert_eq!(cost(&unsent(2), 2, P50), Some((Some(-40.0), None)));
    assert_eq!(cost(&unsent(0), 2, P50), Some((None, Some(60.0))));
}

#[test]
fn identical_arms_that_differ_widen_every_interval() {
    let result = judged(|result| result.arms[1].cost.cpu_us_per_request = Some(Interval::around(2.0, 0.5)));
    // Student's quantile with one degree of freedom is 12.706.
    let (low, high) = cost(&result, 2, CostMeasure::CpuUs).unwrap();
    assert!((low.unwrap() - (4.5 - 25.412)).abs() < 0.01 && (high.unwrap() - (5.5 + 25.412)).abs() < 0.01);
    assert_eq!(result.verdict, Verdict::Caution);
}

#[test]
fn a_missed_known_time_leaves_bounds_only_if_they_explain_it() {
    let known = |low: f64, high: f64| {
        judged(move |result| {
            result.arms[2].known_answer = Some(KnownAnswer {
                response_p50_low_us: Some(low),
                response_p50_high_us: Some(high),
                cpu_us: None,
            });
        })
    };
    // The arm costs 5 us, from -40 to 60 us.
    assert_eq!(cost(&known(20.0, 25.0), 1, P50), Some((Some(-40.0), Some(60.0))));
    assert_eq!(cost(&known(61.0, 65.0), 1, P50), None);
}

#[test]
fn nothing_is_known_of_times_of_arms_that_a_load_of_a_share_kept_unequally_busy() {
    let busy = |share: f64| {
        judged(move |result| {
            let load = &mut result.plan.loads[1];
            (load.rate, load.utilisation) = (None, Some(0.5));
            for arm in &mut result.arms {
                arm.loads[1].proxy_processors_busy_share = Some(0.5);
            }
            result.arms[2].loads[1].proxy_processors_busy_share = Some(share);
        })
    };
    let withheld = |result: &StudyResult| {
        let under = &result.arms[2].loads[1];
        (under.cost.response_us.p50, under.bounds.cost(P50).cloned())
    };
    assert_eq!([0.7, 0.3].map(|share| withheld(&busy(share))), [(None, None), (None, None)]);
}

#[test]
fn a_limit_that_throttled_a_proxy_leaves_upper_bounds_of_the_times_of_its_arm() {
    let result = judged(|result| {
        let periods = LimitPeriods { periods: 200, throttled: 50, throttled_s: 3.0 };
        let sample = Sample { arm: "lua".to_owned(), limits: vec![vec![Some(periods)]], ..Sample::default() };
        result.rounds = vec![StudyRound { samples: vec![sample], ..StudyRound::default() }];
    });
    for measure in [P50, P99] {
        assert_eq!(level(&result, 2, measure), Some((Some(0.0), Some(500.0))));
        // The arm that it is compared with takes 500 us at most.
        assert_eq!(cost(&result, 2, measure), Some((Some(-500.0), Some(500.0))));
        assert_eq!(result.arms[2].bounds.cost(measure).unwrap().by, ["throttled"]);
    }
    assert_eq!(result.verdict, Verdict::Caution);
    assert!(result.arms[2].cost.cpu_us_per_request.is_some() && result.arms[1].bounds.is_empty());
}
