//! Searches on simulated subjects whose answer is known: the result must be close to it, also when trials are spoilt.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use hoptax_search::{Goal, Limits, Measured, Outcome, Search, State, Step};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp};

/// A search of a goal from 100/s to 100,000/s on a subject that answers with the share lost and the load carried. A share of
/// the trials is spoilt: they lose half. Returns the search and the time that the trials took.
fn search(
    goal: Goal,
    permitted: f64,
    spoilt: f64,
    rng: &mut SmallRng,
    mut subject: impl FnMut(f64, Duration, &mut SmallRng) -> (f64, f64),
) -> Search {
    let mut search = Search::new(&[goal], Limits::new(100.0, 100_000.0)).unwrap();
    while let Step::Trial(planned) = search.next() {
        let (mut loss, mut carried) = subject(planned.load, planned.duration, rng);
        if rng.random_bool(spoilt) {
            (loss, carried) = (0.5_f64.max(loss), carried / 2.0);
        }
        let outcomes = Some(vec![Outcome::of_loss(loss, permitted)]);
        search.record(&planned, Measured { took: planned.duration, carried, outcomes });
    }
    search
}

/// The lower bounds of searches with seeds 0 to 19, as shares of the truth, ascending.
fn relative(truth: f64, mut search: impl FnMut(&mut SmallRng) -> Search) -> Vec<f64> {
    let mut relative: Vec<f64> = (0..20)
        .map(|seed| {
            let search = search(&mut SmallRng::seed_from_u64(seed));
            let result = search.results()[0];
            assert_eq!(result.state, State::Regular, "{result:?} after {:?}", search.spent());
            result.lower.unwrap() / truth
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

#[test]
fn the_capacity_of_a_token_bucket_is_found_within_the_width() {
    let found = relative(7_777.0, |rng| search(Goal::QUICK, 0.001, 0.0, rng, bucket(7_777.0, 2.0)));
    assert!(found.iter().all(|share| (0.98..=1.0015).contains(share)), "{found:?}");
}

#[test]
fn the_capacity_of_a_token_bucket_is_found_while_three_trials_in_ten_are_spoilt() {
    let found = relative(7_777.0, |rng| search(Goal::CAREFUL, 0.0, 0.3, rng, bucket(7_777.0, 2.0)));
    let close = found.iter().filter(|share| (0.97..=1.0).contains(*share)).count();
    assert!(close >= 19, "{found:?}");
}

#[test]
fn without_an_exceed_ratio_spoilt_trials_lower_the_result() {
    let strict = Goal { exceed_ratio: 0.0, ..Goal::CAREFUL };
    let mut below = 0;
    for seed in 0..20 {
        let mut rng = SmallRng::seed_from_u64(seed);
        let result = search(strict, 0.0, 0.3, &mut rng, bucket(7_777.0, 2.0)).results()[0];
        below += u32::from(result.lower.is_none_or(|lower| lower < 0.97 * 7_777.0));
    }
    assert!(below >= 19, "{below}");
}

#[test]
fn the_rate_that_holds_a_p99_is_found_for_a_queue_while_three_trials_in_ten_are_spoilt() {
    // The response time of M/M/1 is exponential with the rate mu - lambda: its p99 is ln(100) / (mu - lambda).
    let (service_rate, truth) = (50_000.0, 25_000.0);
    let limit_s = 100.0_f64.ln() / (service_rate - truth);
    let found = relative(truth, |rng| search(Goal::CAREFUL, 0.01, 0.3, rng, queue(service_rate, limit_s)));
    let close = found.iter().filter(|share| (0.97..=1.0).contains(*share)).count();
    assert!(close >= 19, "{found:?}");
}
