//! Properties of a search that hold for every subject, also for one that answers at random.

use std::time::Duration;

use hoptax_result::FindState;
use hoptax_stats::search::{Criterion, Ending, Limits, Measured, Planned, Sample, Search, Share, Step};
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

fn criteria() -> impl Strategy<Value = Vec<Criterion>> {
    let share = prop_oneof![Just(0.1), Just(0.01), Just(0.001)];
    let one = (share, 1_u64..100, 0..3).prop_map(|(permitted, millis, kind)| match kind {
        0 => Criterion::Late { permitted, limit: Duration::from_millis(millis) },
        1 => Criterion::Lost { permitted },
        _ => Criterion::Value,
    });
    prop::collection::vec(one, 1..4)
}

fn limits() -> impl Strategy<Value = Limits> {
    (1.0_f64..1_000.0, 1.1_f64..1e4, 0.0_f64..1.0, 0.01_f64..0.2).prop_map(|(min, factor, start, width)| {
        Limits {
            start: min * factor.powf(start),
            width,
            budget: Duration::from_hours(10_000),
            ..Limits::new(min, min * factor)
        }
    })
}

/// Behaviour of a subject: the load above which it fails each criterion, and the share of trials with a random result instead.
#[derive(Clone, Copy, Debug)]
struct Subject {
    capacity: f64,
    noise: f64,
    /// The load above which the generator is the limit.
    reach: f64,
}

impl Subject {
    fn measure(self, planned: &Planned, criteria: &[Criterion], random: &mut SmallRng) -> Measured {
        let requests = planned.load * planned.duration.as_secs_f64();
        let sample = |criterion: &Criterion| {
            let is_random = random.random_bool(self.noise);
            let part = match planned.load <= self.capacity {
                _ if is_random => random.random(),
                true => 0.0,
                false => 0.5,
            };
            if *criterion == Criterion::Value {
                return Sample::Value((!is_random).then_some(part - 0.25));
            }
            let window = Share { lost: part * requests / 100.0, planned: requests / 100.0 };
            let all = Share { lost: part * requests, planned: requests };
            Sample::Share { all, windows: vec![window; 100] }
        };
        let samples = (planned.load <= self.reach).then(|| criteria.iter().map(sample).collect());
        // A trial may take less than its duration, if it ends early, and more.
        let took = (planned.warmup + planned.duration).mul_f64(random.random_range(0.5..1.2));
        Measured { took, samples }
    }
}

/// A search until it ends, or has had this many trials.
fn run(criteria: &[Criterion], limits: Limits, subject: Subject, most: usize) -> (Search, Vec<Planned>) {
    let mut random = SmallRng::seed_from_u64(1);
    let goals = [(0..criteria.len()).collect(), vec![0]];
    let mut search = Search::new(criteria, &goals, limits).unwrap();
    let mut trials = Vec::new();
    while let Step::Trial(planned) = search.next() {
        assert_eq!(search.next(), Step::Trial(planned), "it is the same until a trial is recorded");
        search.record(&planned, subject.measure(&planned, criteria, &mut random));
        trials.push(planned);
        if trials.len() == most {
            break;
        }
    }
    (search, trials)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_search_on_a_sharp_subject_ends_with_its_capacity_between_close_ends(
        criteria in criteria(), limits in limits(), capacity in 0.0_f64..1.0,
    ) {
        let capacity = limits.min * (limits.max / limits.min).powf(capacity);
        let (search, trials) = run(&criteria, limits, Subject { capacity, noise: 0.0, reach: f64::MAX }, 1_000);
        prop_assert_eq!(search.next(), Step::Done(Ending::Complete), "{} trials", trials.len());
        for result in search.results() {
            prop_assert!(result.lower.is_none_or(|lower| lower <= capacity), "{result:?}");
            prop_assert!(result.upper.is_none_or(|upper| upper > capacity), "{result:?}");
            match (result.state, result.lower, result.upper, result.estimate) {
                (FindState::Found, Some(lower), Some(upper), Some(estimate)) => {
                    prop_assert!((upper - lower) / upper <= limits.width + 1e-6);
                    prop_assert!((lower..=upper).contains(&estimate));
                    prop_assert!(!result.limited_by.is_empty());
                }
                (FindState::MaximumHeld, Some(lower), None, None) => {
                    prop_assert!(lower.total_cmp(&limits.max).is_eq());
                }
                (FindState::MinimumFailed, None, Some(upper), None) => {
                    prop_assert!(upper.total_cmp(&limits.min).is_eq());
                }
                _ => prop_assert!(false, "{result:?}"),
            }
        }
    }

    #[test]
    fn every_trial_is_within_the_range_and_counts_after_the_queue_has_settled(
        criteria in criteria(), limits in limits(), capacity in 0.0_f64..7.0, noise in 0.0_f64..1.0,
    ) {
        let subject = Subject { capacity: 10_f64.powf(capacity), noise, reach: f64::MAX };
        let (_, trials) = run(&criteria, limits, subject, 100);
        for planned in &trials {
            prop_assert!((limits.min..=limits.max).contains(&planned.load), "{planned:?}");
            prop_assert!(planned.duration >= Duration::from_secs(1), "{planned:?}");
            for criterion in &criteria {
                if let Criterion::Late { limit, .. } = criterion {
                    prop_assert!(planned.warmup >= *limit && planned.duration >= 3 * planned.warmup, "{planned:?}");
                }
            }
        }
    }

    #[test]
    fn no_search_exceeds_its_budget(
        criteria in criteria(), limits in limits(), capacity in 0.0_f64..7.0, noise in 0.0_f64..1.0, seconds in 10_u64..500,
    ) {
        let limits = Limits { budget: Duration::from_secs(seconds), warmup: Duration::from_millis(300), ..limits };
        let subject = Subject { capacity: 10_f64.powf(capacity), noise, reach: f64::MAX };
        let (search, trials) = run(&criteria, limits, subject, 200);
        // Only the last trial may take longer than planned.
        let last = trials.last().map_or(Duration::ZERO, |last| (last.warmup + last.duration).mul_f64(0.2));
        prop_assert!(search.spent() <= limits.budget + last);
        prop_assert!(search.expected_duration() <= limits.budget);
        if search.next() == Step::Done(Ending::OutOfTime) {
            // The highest load may be decided by the end of the time alone.
            let states = [FindState::Unfinished, FindState::Bounded, FindState::MaximumHeld];
            prop_assert!(search.results().iter().any(|result| states.contains(&result.state)));
        }
    }

    #[test]
    fn the_generators_limit_is_never_taken_for_the_subjects(
        criteria in criteria(), limits in limits(), reach in 0.0_f64..1.0,
    ) {
        let reach = limits.min * (limits.max / limits.min).powf(reach);
        let subject = Subject { capacity: f64::MAX, noise: 0.0, reach };
        let (search, _) = run(&criteria, limits, subject, 1_000);
        for result in search.results() {
            let expected = if limits.max <= reach { FindState::MaximumHeld } else { FindState::GeneratorLimited };
            prop_assert_eq!(result.state, expected, "{:?}", result);
            prop_assert!(result.lower.is_none_or(|lower| lower <= reach), "{result:?}");
        }
    }
}

#[test]
fn a_search_at_the_lowest_load_ends_after_few_trials() {
    let limits =
        Limits { start: 1.0, width: 0.01, budget: Duration::from_hours(10_000), ..Limits::new(1.0, 1.1) };
    let subject = Subject { capacity: f64::MAX, noise: 0.0, reach: 1.0 };
    let (search, trials) = run(&[Criterion::Lost { permitted: 0.001 }], limits, subject, 1_000);
    assert_eq!(search.next(), Step::Done(Ending::Complete));
    assert!(trials.len() < 100, "{} trials", trials.len());
}

#[test]
fn a_search_that_runs_out_of_time_states_no_upper_end_that_only_the_generator_set() {
    let limits = Limits { budget: Duration::from_secs(8), ..Limits::new(10.0, 10_000.0) };
    let subject = Subject { capacity: f64::MAX, noise: 0.0, reach: 100.0 };
    let (search, _) = run(&[Criterion::Lost { permitted: 0.001 }], limits, subject, 100);
    let result = &search.results()[0];
    assert_eq!((result.state, result.upper), (FindState::Unfinished, None));
}

/// A search with one criterion; `lost` are the late or lost requests of a trial with so many requests.
fn with_lost(criterion: Criterion, limits: Limits, mut lost: impl FnMut(f64) -> f64) -> Search {
    let mut search = Search::new(&[criterion], &[vec![0]], limits).unwrap();
    while let Step::Trial(planned) = search.next() {
        let requests = planned.load * planned.duration.as_secs_f64();
        let all = Share { lost: lost(requests), planned: requests };
        let samples = Some(vec![Sample::Share { all, windows: Vec::new() }]);
        search.record(&planned, Measured { took: planned.warmup + planned.duration, samples });
    }
    search
}

/// A search up to 500 requests per second, of which one in a thousand may be lost.
fn few_lost(budget: Duration, lost: impl FnMut(f64) -> f64) -> Search {
    with_lost(Criterion::Lost { permitted: 0.001 }, Limits { budget, ..Limits::new(10.0, 500.0) }, lost)
}

#[test]
fn a_highest_load_at_which_all_trials_hold_is_decided_once_the_time_is_over() {
    let eight = Duration::from_secs(8);
    // None of 4,000 is lost with a probability of 1.8 % if four are lost in the mean: too much for a decision after each trial.
    let held = few_lost(eight, |_| 0.0);
    let result = &held.results()[0];
    assert_eq!(held.next(), Step::Done(Ending::OutOfTime));
    assert_eq!((result.state, result.lower, result.upper), (FindState::MaximumHeld, Some(500.0), None));
    // At most one is lost with a probability of 9 %.
    let undecided = few_lost(eight, |_| 1.0 / 8.0);
    let result = &undecided.results()[0];
    assert_eq!((result.state, result.lower), (FindState::Unfinished, None));
}

#[test]
fn too_few_requests_decide_nothing_and_the_budget_that_is_stated_then_does() {
    let short = few_lost(Duration::from_secs(5), |_| 0.0);
    assert_eq!(short.results()[0].state, FindState::Unfinished);
    let enough = few_lost(short.deciding_budget().unwrap(), |_| 0.0);
    assert_eq!(enough.next(), Step::Done(Ending::Complete));
    assert_eq!((enough.results()[0].state, enough.deciding_budget()), (FindState::MaximumHeld, None));
}

#[test]
fn the_last_decision_errs_half_as_often_as_a_result() {
    // Seven of these trials decide with a probability of error of 3.0 %, more than half of 5 %, and eight with one of 1.8 %.
    let state = |seconds| few_lost(Duration::from_secs(seconds), |_| 0.0).results()[0].state;
    assert_eq!([7, 8].map(state), [FindState::Unfinished, FindState::MaximumHeld]);
}

#[test]
fn the_budget_that_is_stated_has_the_warm_up_of_the_trials_at_that_load() {
    let criterion = Criterion::Late { permitted: 0.01, limit: Duration::from_millis(20) };
    let search = |budget| {
        let limits = Limits { budget, warmup: Duration::from_secs(2), ..Limits::new(10.0, 500.0) };
        with_lost(criterion, limits, |_| 0.0)
    };
    let short = search(Duration::from_secs(20));
    assert_eq!(short.results()[0].state, FindState::Unfinished);
    let stated = short.deciding_budget().unwrap();
    let enough = search(stated);
    assert_eq!(enough.results()[0].state, FindState::MaximumHeld);
    // A warm-up as long as a trial, not twice as long as the shortest one.
    assert!(stated < 2 * enough.spent(), "{stated:?} {:?}", enough.spent());
}

#[test]
fn a_highest_load_that_loses_as_much_as_is_permitted_is_rarely_said_to_hold() {
    const SEARCHES: u64 = 300;
    for seconds in [7, 10, 20] {
        let held = (0..SEARCHES).filter(|seed| {
            let mut random = SmallRng::seed_from_u64(*seed);
            let mut is_lost = || random.random_bool(0.001);
            let lost = |requests: f64| (0..requests as u32).filter(|_| is_lost()).count() as f64;
            few_lost(Duration::from_secs(seconds), lost).results()[0].state == FindState::MaximumHeld
        });
        // If 5 % do, more than 30 do with a probability below 0.1 %.
        let held = held.count();
        assert!(held <= 30, "{held} of {SEARCHES} after {seconds} s");
    }
}

#[test]
fn a_goal_fails_where_its_first_criterion_does() {
    let criteria =
        [Criterion::Lost { permitted: 0.001 }, Criterion::Value, Criterion::Lost { permitted: 0.01 }];
    let goals = [vec![0, 1, 2], vec![0], vec![1]];
    let mut search = Search::new(&criteria, &goals, Limits::new(10.0, 10_000.0)).unwrap();
    while let Step::Trial(planned) = search.next() {
        let requests = planned.load * planned.duration.as_secs_f64();
        let all = Share { lost: requests * (1.0 - 1_234.0 / planned.load).max(0.0), planned: requests };
        let share = Sample::Share { all, windows: Vec::new() };
        let samples = Some(vec![share.clone(), Sample::Value(Some(planned.load - 777.0)), share]);
        search.record(&planned, Measured { took: planned.duration, samples });
    }
    let results = search.results();
    for (result, (truth, limited_by)) in results.iter().zip([(777.0, [1]), (1_234.0, [0]), (777.0, [1])]) {
        assert!(result.lower.unwrap() <= truth * 1.002 && result.upper.unwrap() >= truth, "{result:?}");
        assert_eq!((result.state, &result.limited_by[..]), (FindState::Found, &limited_by[..]), "{result:?}");
    }
}

#[test]
fn a_search_that_cannot_begin_is_refused_with_the_reason() {
    let error = |criteria: &[Criterion], limits: Limits| {
        Search::new(criteria, &[(0..criteria.len()).collect()], limits).unwrap_err().to_string()
    };
    let (limits, lost) = (Limits::new(1.0, 10.0), Criterion::Lost { permitted: 0.001 });
    assert_eq!(error(&[], limits), "a search needs a goal");
    assert!(error(&[lost], Limits { min: 10.0, ..limits }).contains("below the highest"));
    assert!(error(&[lost], Limits { width: 1.0, ..limits }).contains("width"));
    assert!(error(&[lost, Criterion::Lost { permitted: 0.0 }], limits).starts_with("criterion 2: "));
    let short = Limits { budget: Duration::from_millis(900), ..limits };
    assert!(error(&[lost], short).contains("shorter than one trial"));
}
