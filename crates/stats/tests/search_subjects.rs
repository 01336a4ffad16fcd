//! Searches on simulated subjects whose answer is known: the result must be close to it, also when trials are spoilt.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use hoptax_stats::search::{Goal, Limits, Measured, Outcome, Search, State, Step};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp};

/// Trials that lose half of the load whatever it is.
#[derive(Clone, Copy)]
struct Spoilt {
    share: f64,
    /// Whether the generator knows that it was disturbed, so that they do not count.
    is_noticed: bool,
}

const NONE: Spoilt = Spoilt { share: 0.0, is_noticed: false };
const THREE_IN_TEN: Spoilt = Spoilt { share: 0.3, is_noticed: false };

/// A search of a goal from 100/s to 100,000/s on a subject that answers with the share lost and the load carried.
fn search(
    goal: Goal,
    permitted: f64,
    spoilt: Spoilt,
    rng: &mut SmallRng,
    mut subject: impl FnMut(f64, Duration, &mut SmallRng) -> (f64, f64),
) -> Search {
    let limits = Limits { budget: Duration::from_hours(100), ..Limits::new(100.0, 100_000.0) };
    let mut search = Search::new(&[goal], limits).unwrap();
    while let Step::Trial(planned) = search.next() {
        let (mut loss, mut carried) = subject(planned.load, planned.duration, rng);
        let is_spoilt = rng.random_bool(spoilt.share);
        if is_spoilt {
            (loss, carried) = (0.5_f64.max(loss), carried / 2.0);
        }
        let counts = !(is_spoilt && spoilt.is_noticed);
        let outcomes = counts.then(|| vec![Outcome::of_loss(loss, permitted)]);
        search.record(&planned, Measured { took: planned.duration, carried, outcomes });
    }
    search
}

/// The lower bounds of searches with seeds 0 to 19, as shares of the truth, ascending; 0 for a search without a regular result.
fn relative(truth: f64, mut search: impl FnMut(&mut SmallRng) -> Search) -> Vec<f64> {
    let mut relative: Vec<f64> = (0..20)
        .map(|seed| {
            let search = search(&mut SmallRng::seed_from_u64(seed));
            let result = search.results()[0];
            if result.state == State::Regular { result.lower.unwrap() / truth } else { 0.0 }
        })
        .collect();
    relative.sort_by(f64::total_cmp);
    relative
}

/// A token bucket that carries `capacity` and admits a burst of `tokens` in addition.
fn bucket(capacity: f64, tokens: f64) -> impl FnMut(f64, Duration, &mut SmallRng) -> (f64, f64) {
    move |load, duration, _| {
        let seconds = duration.as_secs_f64();
        let offered = (load * seconds).floor();
        let passed = offered.min((capacity * seconds + tokens).floor());
        (1.0 - passed / offered, passed / seconds)
    }
}

/// A queue with one server, exponential gaps and service times: what is later than `limit` is lost.
fn queue(service_rate: f64, limit_s: f64) -> impl FnMut(f64, Duration, &mut SmallRng) -> (f64, f64) {
    move |load, duration, rng| {
        let (gaps, services) = (Exp::new(load).unwrap(), Exp::new(service_rate).unwrap());
        let requests = (load * duration.as_secs_f64()) as u32;
        let (mut late, mut response_s, mut total_s) = (0_u32, 0.0_f64, 0.0);
        for _ in 0..requests {
            let gap = gaps.sample(rng);
            total_s += gap;
            response_s = (response_s - gap).max(0.0) + services.sample(rng);
            late += u32::from(response_s > limit_s);
        }
        (f64::from(late) / f64::from(requests), f64::from(requests) / (total_s + response_s))
    }
}

/// The highest load of which the bucket loses nothing in a trial: it admits its burst too, and requests are whole.
fn truth(capacity: f64, tokens: f64, goal: &Goal) -> f64 {
    capacity + (tokens + 1.0) / goal.final_trial.as_secs_f64()
}

fn is_close(share: f64) -> bool {
    (0.97..=1.0).contains(&share)
}

#[test]
fn the_capacity_of_a_token_bucket_is_found_within_the_width() {
    let goal = Goal::QUICK;
    let found =
        relative(truth(7_777.0, 2.0, &goal), |rng| search(goal, 0.0, NONE, rng, bucket(7_777.0, 2.0)));
    assert!(found.iter().all(|share| (0.98..=1.0).contains(share)), "{found:?}");
}

#[test]
fn the_capacity_of_a_token_bucket_is_found_while_three_trials_in_ten_are_spoilt() {
    let goal = Goal::CAREFUL;
    let truth = truth(7_777.0, 2.0, &goal);
    let found = relative(truth, |rng| search(goal, 0.0, THREE_IN_TEN, rng, bucket(7_777.0, 2.0)));
    assert!(found.iter().filter(|share| is_close(**share)).count() >= 19, "{found:?}");
}

#[test]
fn the_capacity_of_a_token_bucket_is_found_quickly_while_one_trial_in_five_is_spoilt() {
    let goal = Goal::QUICK;
    let spoilt = Spoilt { share: 0.2, is_noticed: false };
    let found =
        relative(truth(7_777.0, 2.0, &goal), |rng| search(goal, 0.0, spoilt, rng, bucket(7_777.0, 2.0)));
    assert!(found.iter().filter(|share| is_close(**share)).count() >= 19, "{found:?}");
}

#[test]
fn spoilt_trials_that_the_generator_notices_neither_lower_the_result_nor_put_loads_out_of_reach() {
    let goal = Goal::QUICK;
    let noticed = Spoilt { is_noticed: true, ..THREE_IN_TEN };
    let found =
        relative(truth(7_777.0, 2.0, &goal), |rng| search(goal, 0.0, noticed, rng, bucket(7_777.0, 2.0)));
    assert!(found.iter().filter(|share| is_close(**share)).count() >= 19, "{found:?}");
}

#[test]
fn without_an_exceed_ratio_spoilt_trials_lower_the_result() {
    let strict = Goal { exceed_ratio: 0.0, ..Goal::CAREFUL };
    let truth = truth(7_777.0, 2.0, &strict);
    let found = relative(truth, |rng| search(strict, 0.0, THREE_IN_TEN, rng, bucket(7_777.0, 2.0)));
    assert!(found.iter().filter(|share| **share < 0.97).count() >= 19, "{found:?}");
}

/// Searches for the rate at which M/M/1 holds a p99. Its response time is exponential with the rate mu - lambda, so its p99 is
/// ln(100) / (mu - lambda).
fn queues_p99(spoilt: Spoilt) -> Vec<f64> {
    let (service_rate, truth) = (50_000.0, 25_000.0);
    let limit_s = 100.0_f64.ln() / (service_rate - truth);
    relative(truth, |rng| search(Goal::CAREFUL, 0.01, spoilt, rng, queue(service_rate, limit_s)))
}

#[test]
fn the_rate_that_holds_a_p99_is_found_for_a_queue_while_three_trials_in_ten_are_spoilt() {
    let found = queues_p99(THREE_IN_TEN);
    assert!(found.iter().filter(|share| is_close(**share)).count() >= 19, "{found:?}");
}

#[test]
fn without_spoilt_trials_the_rate_for_a_queue_is_near_the_truth_below_it_or_above() {
    let found = queues_p99(NONE);
    assert!(found.iter().filter(|share| (0.98..=1.01).contains(*share)).count() >= 19, "{found:?}");
    assert!(found.iter().any(|share| *share > 1.0) && found.iter().any(|share| *share < 1.0), "{found:?}");
}
