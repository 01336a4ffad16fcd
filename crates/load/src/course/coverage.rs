//! Simulates how often the intervals of a closed loop with a limited number of requests cover the truth, if its record is divided by the
//! length that its warm-up predicts. Four connections share one server with exponential service times; all times are virtual.

use std::collections::VecDeque;

use hdrhistogram::Histogram;
use hoptax_result::TimeBounds;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution as _, Exp1};

use super::{Course, Responded};
use crate::batches::{BATCHES, Batches};
use crate::distribution::{Distribution, histogram};
use crate::division::{Division, LastLookup};
use crate::expected_length::{ExpectedLength, of_closed_loop};
use crate::times::Times;

/// Simulated loads of each scenario.
const LOADS: usize = 40;
const REQUESTS: usize = 2_000;
/// Requests before those, of the warm-up.
const SKIPPED: usize = 50;
const CONNECTIONS: usize = 4;
const SERVICE_US: f64 = 1_000.0;
const SECOND_NS: u64 = 1_000_000_000;
const HOUR_NS: u64 = 3_600 * SECOND_NS;
const QUANTILES: [&str; 4] = ["p50", "p90", "p99", "p99.9"];
/// The quantiles of a response time, which is the sum of four service times (Erlang distribution).
const TRUE_US: [f64; 4] = [3_672.06, 6_680.78, 10_045.1, 13_062.2];
/// The rate of the record relative to that of the warm-up.
const FACTORS: [f64; 4] = [0.75, 1.0, 1.3, 2.0];

/// The requests of a load from the start of its record on. The service times after the first `steady` requests are longer by `factor`.
fn responses(random: &mut Xoshiro256PlusPlus, steady: usize, factor: f64) -> Vec<Responded> {
    let mut free_ns = VecDeque::from([0_u64; CONNECTIONS]);
    let mut now_ns = 0;
    let next = |number: usize| {
        let intended_ns = free_ns.pop_front().unwrap();
        let service: f64 = Exp1.sample(random);
        let slower = if number < SKIPPED + steady { 1.0 } else { factor };
        now_ns += (service * slower * SERVICE_US * 1e3) as u64;
        free_ns.push_back(now_ns);
        Responded { intended_ns, response_ns: now_ns - intended_ns }
    };
    let mut all: Vec<Responded> = (0..SKIPPED + REQUESTS).map(next).collect();
    let recorded = all.split_off(SKIPPED);
    let from_ns = recorded[0].intended_ns;
    let since = |one: Responded| Responded { intended_ns: one.intended_ns - from_ns, ..one };
    recorded.into_iter().map(since).collect()
}

/// Bounds of the quantiles of all requests, and of the half that has a name. `rate` is the rate of the record relative to that of the
/// warm-up.
fn bounds(responses: &[Responded], rate: f64) -> [[Option<TimeBounds>; 4]; 2] {
    let in_warm_up = (1e6 / SERVICE_US / rate) as u64;
    let length =
        ExpectedLength::default().ns(of_closed_loop(REQUESTS as u64, in_warm_up, SECOND_NS), HOUR_NS);
    let expected_ns = length.unwrap();
    let mut course = Course::new(0, HOUR_NS, 1, 1);
    course.expect_end(expected_ns);
    let division = Division::new(0, HOUR_NS, BATCHES).ending(expected_ns);
    let (mut row, mut last) = (Batches::new(), LastLookup::default());
    let (mut of_load, mut of_row) = (Distribution::default(), Distribution::default());
    for (number, &Responded { intended_ns, response_ns }) in responses.iter().enumerate() {
        course.plan(intended_ns);
        course.record_response(intended_ns, response_ns, 0);
        of_load.record(response_ns);
        if number.is_multiple_of(2) {
            row.record(last.number(intended_ns, division), response_ns);
            of_row.record(response_ns);
        }
    }
    // It ends with its last request, whenever that is.
    course.truncate(responses.last().unwrap().intended_ns);
    [of_times(&of_load, course.batches()), of_times(&of_row, row.histograms(course.complete_batches()))]
}

fn of_times(times: &Distribution, batches: Vec<Histogram<u32>>) -> [Option<TimeBounds>; 4] {
    let all = Times {
        response: times.histogram(),
        without_generator: None,
        service: histogram(),
        pending_response: None,
        pending_service: None,
        batches,
        failed: 0,
    };
    let bounds = all.bounds_of_response(&times.summary(), None);
    [bounds.p50_us, bounds.p90_us, bounds.p99_us, bounds.p99_9_us]
}

fn holds(bounds: TimeBounds, true_us: f64) -> bool {
    bounds.low_us.is_none_or(|low_us| low_us <= true_us)
        && bounds.high_us.is_none_or(|high_us| true_us <= high_us)
}

/// Percent.
fn share(held: usize, given: usize) -> f64 {
    100.0 * held as f64 / given as f64
}

#[test]
fn intervals_hold_the_truth_when_the_warm_up_misjudges_the_rate() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(71);
    // For the load and for a name, by quantile: the number of intervals that hold the truth, and of all intervals.
    let mut all = [[(0_usize, 0_usize); 4]; 2];
    for factor in FACTORS {
        let mut of_factor = [[(0_usize, 0_usize); 4]; 2];
        for _ in 0..LOADS {
            let found = bounds(&responses(&mut random, REQUESTS, 1.0), factor);
            for (place, bounds) in found.iter().flatten().enumerate() {
                if let Some(bounds) = bounds {
                    let (held, given) = &mut of_factor[place / 4][place % 4];
                    (*held, *given) = (*held + usize::from(holds(*bounds, TRUE_US[place % 4])), *given + 1);
                }
            }
        }
        for (place, (held, given)) in of_factor.iter().flatten().copied().enumerate() {
            let (is_row, name) = (place >= 4, QUANTILES[place % 4]);
            let text = format!("row: {is_row}, rate {factor}, {name}: {held} of {given}");
            // Half of the twentieths are over at the earliest after 0.7 of the expected time.
            let least = if is_row && factor > 1.4 { 0 } else { LOADS };
            assert_eq!(given, least, "{text}");
            assert!(given == 0 || share(held, given) >= 80.0, "{text}");
            let (all_held, all_given) = &mut all[place / 4][place % 4];
            (*all_held, *all_given) = (*all_held + held, *all_given + given);
        }
    }
    for (held, given) in all.into_iter().flatten() {
        assert!(share(held, given) >= 90.0, "{all:?}");
    }
}

#[test]
fn a_record_that_outlives_its_windows_has_no_interval() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(72);
    // The record is half as fast as the warm-up, and later half as fast again: no window shows the change.
    for (steady, factor) in [(REQUESTS, 1.0), (REQUESTS * 4 / 5, 2.0)] {
        let found = bounds(&responses(&mut random, steady, factor), 0.5);
        assert_eq!(found, [[None; 4]; 2]);
    }
    // The same change within the windows widens the intervals: they reach from the first state into the second.
    let [of_load, _] = bounds(&responses(&mut random, REQUESTS / 2, 2.0), 1.2);
    let p50 = of_load[0].unwrap();
    assert!(p50.low_us.unwrap() < TRUE_US[0] * 1.4 && p50.high_us.unwrap() > TRUE_US[0] * 1.5, "{p50:?}");
}
