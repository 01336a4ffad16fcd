//! Properties of a search that hold for every subject, also for one that answers at random.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use hoptax_stats::search::{
    Ending, Goal, GoalResult, Limits, Measured, Outcome, Planned, Search, State, Step,
};
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

fn goals() -> impl Strategy<Value = Vec<Goal>> {
    let goal = (1_u64..5, 1_u64..12, 0.0_f64..0.8, 0.005_f64..0.2, 1_u64..4).prop_map(
        |(trial, trials, exceed_ratio, width, shorter)| Goal {
            final_trial: Duration::from_secs(trial),
            first_trial: Duration::from_secs(trial) / shorter as u32,
            duration_sum: Duration::from_secs(trial * trials),
            exceed_ratio,
            width,
        },
    );
    prop::collection::vec(goal, 1..4)
}

fn limits() -> impl Strategy<Value = Limits> {
    (1.0_f64..1_000.0, 1.1_f64..1e4, 0.0_f64..1.0).prop_map(|(min, factor, start)| Limits {
        start: min * factor.powf(start),
        budget: Duration::from_hours(10_000),
        ..Limits::new(min, min * factor)
    })
}

/// How a subject answers, at random: the load above which it fails, and how often it does the opposite.
#[derive(Clone, Copy, Debug)]
struct Subject {
    capacity: f64,
    noise: f64,
    /// The load above which the generator is the limit.
    reach: f64,
}

fn subject() -> impl Strategy<Value = Subject> {
    (0.0_f64..7.0, 0.0_f64..1.0, 0.0_f64..8.0).prop_map(|(capacity, noise, reach)| Subject {
        capacity: 10_f64.powf(capacity),
        noise,
        reach: 10_f64.powf(reach),
    })
}

impl Subject {
    fn measure(self, planned: &Planned, goals: usize, rng: &mut SmallRng) -> Measured {
        let carried = planned.load.min(self.capacity) * rng.random_range(0.5..1.0);
        let outcome = |rng: &mut SmallRng| {
            let holds = (planned.load <= self.capacity) != rng.random_bool(self.noise);
            Outcome { holds, loss_ratio: if holds { 0.0 } else { rng.random_range(0.1..1.0) } }
        };
        let usable = planned.load <= self.reach;
        let outcomes = usable.then(|| (0..goals).map(|_| outcome(rng)).collect());
        // A trial may take less than its duration, if it ends early, and more.
        let took = planned.duration.mul_f64(rng.random_range(0.5..1.2));
        Measured { took, carried, outcomes }
    }
}

/// A complete search, and its trials.
fn run(goals: &[Goal], limits: Limits, subject: Subject, seed: u64) -> (Search, Vec<(Planned, Measured)>) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut search = Search::new(goals, limits).unwrap();
    let mut trials = Vec::new();
    while let Step::Trial(planned) = search.next() {
        assert_eq!(search.next(), Step::Trial(planned), "it is the same until a trial is recorded");
        let measured = subject.measure(&planned, goals.len(), &mut rng);
        search.record(&planned, measured.clone());
        trials.push((planned, measured));
    }
    (search, trials)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_search_ends_within_its_range_with_bounds_that_most_of_the_time_supports(
        goals in goals(), limits in limits(), subject in subject(), seed: u64,
    ) {
        let (search, trials) = run(&goals, limits, subject, seed);
        prop_assert_eq!(search.next(), Step::Done(Ending::Complete));
        for (planned, _) in &trials {
            prop_assert!((limits.min..=limits.max).contains(&planned.load), "{planned:?}");
            prop_assert!(goals.iter().any(|goal| planned.duration <= goal.final_trial), "{planned:?}");
        }
        for (number, (goal, result)) in goals.iter().zip(search.results()).enumerate() {
            prop_assert_ne!(result.state, State::Unfinished);
            let time = |load: f64, holds: bool| -> Duration {
                let counts = |(planned, measured): &&(Planned, Measured)| {
                    planned.load.to_bits() == load.to_bits() && planned.duration >= goal.final_trial
                        && measured.outcomes.as_ref().is_some_and(|outcomes| outcomes[number].holds == holds)
                };
                trials.iter().filter(counts).map(|(planned, _)| planned.duration).sum()
            };
            if let Some(lower) = result.lower {
                let (held, failed) = (time(lower, true).as_secs_f64(), time(lower, false).as_secs_f64());
                prop_assert!(failed * (1.0 - goal.exceed_ratio) <= held * goal.exceed_ratio + 1e-9, "{held} {failed}");
                prop_assert!(held + 1e-9 >= goal.duration_sum.as_secs_f64() * (1.0 - goal.exceed_ratio));
                prop_assert!(result.upper.is_none_or(|upper| lower < upper));
                prop_assert!(result.conditional_throughput.unwrap() <= lower);
            }
            if let (State::Regular, Some(lower), Some(upper)) = (result.state, result.lower, result.upper) {
                prop_assert!((upper - lower) / upper <= goal.width + 1e-6);
            }
        }
    }

    #[test]
    fn the_result_and_the_next_trial_do_not_depend_on_the_order_of_the_trials(
        goals in goals(), limits in limits(), subject in subject(), seed: u64, part in 0.0_f64..1.0,
    ) {
        let (_, mut trials) = run(&goals, limits, subject, seed);
        trials.truncate((trials.len() as f64 * part) as usize);
        let replay = |trials: &[(Planned, Measured)]| -> (Step, Vec<GoalResult>) {
            let mut search = Search::new(&goals, limits).unwrap();
            for (planned, measured) in trials {
                search.record(planned, measured.clone());
            }
            (search.next(), search.results())
        };
        let as_run = replay(&trials);
        trials.shuffle(&mut SmallRng::seed_from_u64(seed));
        prop_assert_eq!(replay(&trials), as_run);
    }

    #[test]
    fn no_search_exceeds_its_budget(
        goals in goals(), limits in limits(), subject in subject(), seed: u64, seconds in 10_u64..500,
    ) {
        let limits = Limits { budget: Duration::from_secs(seconds), overhead: Duration::from_millis(300), ..limits };
        let (search, _) = run(&goals, limits, subject, seed);
        // Only the last trial may take longer than planned.
        prop_assert!(search.spent() <= limits.budget + Duration::from_secs(1));
        prop_assert!(search.expected_duration() <= limits.budget);
        if search.next() == Step::Done(Ending::OutOfTime) {
            prop_assert!(search.results().iter().any(|result| result.state == State::Unfinished));
        }
    }

    #[test]
    fn a_search_without_noise_brackets_the_capacity(
        goals in goals(), limits in limits(), capacity in 0.0_f64..1.0,
    ) {
        let capacity = limits.min * (limits.max / limits.min).powf(capacity);
        let (search, _) = run(&goals, limits, Subject { capacity, noise: 0.0, reach: f64::MAX }, 1);
        for result in search.results() {
            prop_assert!(result.lower.is_none_or(|lower| lower <= capacity), "{result:?}");
            prop_assert!(result.upper.is_none_or(|upper| upper > capacity), "{result:?}");
        }
    }

    #[test]
    fn the_generators_limit_is_never_taken_for_the_subjects(
        goals in goals(), limits in limits(), reach in 0.0_f64..1.0,
    ) {
        let reach = limits.min * (limits.max / limits.min).powf(reach);
        let subject = Subject { capacity: f64::MAX, noise: 0.0, reach };
        let (search, _) = run(&goals, limits, subject, 1);
        for result in search.results() {
            let expected = if limits.max <= reach { State::MaximumHeld } else { State::GeneratorLimited };
            prop_assert_eq!(result.state, expected);
            prop_assert!(result.lower.is_none_or(|lower| lower <= reach), "{result:?}");
        }
    }
}

#[test]
fn a_search_that_runs_out_of_time_states_no_upper_bound_that_only_the_generator_set() {
    let limits = Limits { budget: Duration::from_secs(8), ..Limits::new(10.0, 10_000.0) };
    let (search, _) =
        run(&[Goal::QUICK], limits, Subject { capacity: f64::MAX, noise: 0.0, reach: 100.0 }, 1);
    let result = search.results()[0];
    assert_eq!((result.state, result.upper), (State::Unfinished, None));
}

#[test]
fn a_search_that_cannot_begin_is_refused_with_the_reason() {
    let error = |goals: &[Goal], limits: Limits| Search::new(goals, limits).unwrap_err().to_string();
    let limits = Limits::new(1.0, 10.0);
    assert_eq!(error(&[], limits), "a search needs a goal");
    assert!(error(&[Goal::QUICK], Limits { min: 10.0, ..limits }).contains("below the highest"));
    let wide = Goal { width: 1.0, ..Goal::QUICK };
    assert!(error(&[Goal::QUICK, wide], limits).starts_with("goal 2: the width"));
    let short = Limits { budget: Duration::from_secs(30), ..limits };
    assert!(error(&[Goal::RFC2544], short).contains("shorter than one trial"));
}
