//! Coverage of the bounds of a quantile that a study does not state, because responses are too few or the generator was late.
//!
//! The studies are those of [`crate::tail_coverage`].

use hoptax_result::CountedTime;
use hoptax_stats::{Ends, lateness, quantile_cost_ends, quantile_ends};

use crate::tail_coverage::{Machine, Scenario, Tail, long, quantile_of_all, recorded, true_costs};

const QUANTILES: [f64; 2] = [0.9, 0.99];

/// Counts of ends that held the truth, and of missing ones.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    studies: u32,
    below: u32,
    above: u32,
    /// Studies with both ends.
    both: u32,
    /// The sum of their widths, nanoseconds.
    width_ns: f64,
}

impl Record {
    fn add(&mut self, ends: Ends, truth: f64) {
        self.studies += 1;
        self.below += u32::from(ends.high.is_some_and(|high| high < truth));
        self.above += u32::from(ends.low.is_some_and(|low| low > truth));
        if let (Some(low), Some(high)) = (ends.low, ends.high) {
            self.both += 1;
            self.width_ns += high - low;
        }
    }

    /// Returns the coverage in percent of all studies: a missing end holds everything.
    fn coverage(self) -> f64 {
        100.0 - 100.0 * f64::from(self.below + self.above) / f64::from(self.studies)
    }

    fn print(self, words: &str) {
        eprintln!(
            "{words}: {:.1} % covered ({} below, {} above), {} of {} with both ends, {:.0} us wide",
            self.coverage(),
            self.below,
            self.above,
            self.both,
            self.studies,
            self.width_ns / f64::from(self.both.max(1)) / 1e3
        );
    }
}

/// The records of ends by quantile, which `ends` computes study by study.
fn recorded_ends(
    words: &str,
    truths: [f64; 2],
    studies: u32,
    mut ends: impl FnMut() -> [Ends; 2],
) -> [Record; 2] {
    let mut records = [Record::default(); 2];
    for _ in 0..studies {
        for ((record, found), truth) in records.iter_mut().zip(ends()).zip(truths) {
            record.add(found, truth);
        }
    }
    for (p, record) in QUANTILES.into_iter().zip(records) {
        record.print(&format!("{words} at {p}"));
    }
    records
}

/// Ends of costs in such studies.
fn costs(scenario: Scenario, studies: u32) -> [Record; 2] {
    let mut machine = Machine::new(15);
    recorded_ends(&format!("{scenario:?} cost"), true_costs(scenario, QUANTILES), studies, || {
        let study = machine.study(scenario);
        QUANTILES.map(|p| quantile_cost_ends(&study.rounds(), p, 0.95))
    })
}

/// Ends of levels in such studies.
fn levels(scenario: Scenario, studies: u32) -> [Record; 2] {
    let long = long(Scenario { factor: 1.0, ..scenario });
    let truths = QUANTILES.map(|p| quantile_of_all(&long.arm, p));
    let mut machine = Machine::new(16);
    recorded_ends(&format!("{scenario:?} level"), truths, studies, || {
        let study = machine.study(Scenario { copies: 0, ..scenario });
        let rounds: Vec<&[CountedTime]> = study.arm.iter().map(Vec::as_slice).collect();
        QUANTILES.map(|p| quantile_ends(&rounds, p, 0.95))
    })
}

/// From studies of 11,520 responses to those of 3,200, which state no p99.
const SIZES: [(usize, usize, usize); 3] = [(16, 720, 4), (10, 720, 1), (8, 400, 1)];

fn scenarios(tail: Tail, factor: f64) -> Vec<Scenario> {
    let scenario = |(rounds, responses, copies)| Scenario { rounds, responses, copies, tail, factor };
    SIZES.into_iter().map(scenario).collect()
}

#[test]
fn ends_of_costs_hold_the_truth_with_few_responses() {
    for (tail, factor) in [
        (Tail::Responses, 1.0),
        (Tail::Responses, 1.6),
        (Tail::Stalls(0.5), 1.0),
        (Tail::Stalls(0.5), 2.0),
        (Tail::Stalls(2.0), 2.0),
    ] {
        for scenario in scenarios(tail, factor) {
            for record in costs(scenario, 100) {
                assert!(record.coverage() >= 95.0, "{scenario:?}: {record:?}");
            }
        }
    }
}

#[test]
fn ends_of_levels_hold_the_truth_with_few_responses() {
    for tail in [Tail::Responses, Tail::Stalls(0.5), Tail::Stalls(2.0)] {
        for scenario in scenarios(tail, 1.0) {
            for record in levels(scenario, 100) {
                let is_of_stalls = matches!(tail, Tail::Stalls(_));
                let least = if is_of_stalls { 85.0 } else { 95.0 };
                assert!(record.coverage() >= least, "{scenario:?}: {record:?}");
            }
        }
    }
}

/// Assignment of the lags of a generator to its responses.
#[derive(Clone, Copy, Debug)]
enum Falls {
    Anyhow,
    /// The longest lags on the responses that would have been the slowest.
    OnTheSlowest,
    /// The longest lags on those that would have been the fastest.
    OnTheFastest,
    /// The longest lags on those below the quantile, the slowest first, so that they lie above it.
    BelowTheQuantile,
}

/// The share of studies, in percent, in which a quantile less the lateness by [`lateness`] is no higher than without lags. A share of
/// the requests is late by `lag_us`, twice.
fn late_studies(falls: Falls, p: f64, (share, lag_us): (f64, f64)) -> f64 {
    let (studies, rounds, responses) = (60, 10, 720);
    let mut machine = Machine::new(17);
    let mut held = 0;
    for _ in 0..studies {
        let (mut with, mut without, mut all_lags) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let mut times: Vec<f64> = (0..responses).map(|_| 1e5 + 1e5 * machine.exponential()).collect();
            times.sort_by(f64::total_cmp);
            let mut lags: Vec<f64> = (0..responses)
                .map(|index| {
                    let is_late = f64::from(index) < share * f64::from(responses);
                    if is_late { 1e3 * lag_us * (1.0 + machine.exponential()) } else { 1e3 }
                })
                .collect();
            lags.sort_by(f64::total_cmp);
            let below = (p * f64::from(responses)) as usize;
            match falls {
                // The times are drawn alike, so any order of theirs will do.
                Falls::Anyhow => lags.sort_by_key(|lag| lag.to_bits().wrapping_mul(0x9E37_79B9_7F4A_7C15)),
                Falls::OnTheSlowest => {}
                Falls::OnTheFastest => lags.reverse(),
                Falls::BelowTheQuantile => lags.rotate_left(responses as usize - below),
            }
            with.push(recorded(
                &times.iter().zip(&lags).map(|(time, lag)| time + 2.0 * lag).collect::<Vec<_>>(),
            ));
            without.push(recorded(&times));
            all_lags.push(recorded(&lags));
        }
        let of = |all: &[Vec<CountedTime>]| quantile_of_all(all, p);
        let with_rounds: Vec<&[CountedTime]> = with.iter().map(Vec::as_slice).collect();
        let lags: Vec<&[CountedTime]> = all_lags.iter().map(Vec::as_slice).collect();
        let late = lateness(&with_rounds, &lags, p, 0.95).expect("there are responses");
        // The resolution of a histogram is a thousandth.
        held += u32::from(of(&with) - late <= 1.002 * of(&without));
    }
    100.0 * f64::from(held) / f64::from(studies)
}

#[test]
fn a_quantile_without_lateness_is_no_lower_than_taken_however_lags_fall() {
    for falls in [Falls::Anyhow, Falls::OnTheSlowest, Falls::OnTheFastest, Falls::BelowTheQuantile] {
        for p in QUANTILES {
            for late in [(1.0, 50.0), (0.2, 100.0), (0.05, 500.0), (0.01, 2_000.0)] {
                let held = late_studies(falls, p, late);
                eprintln!("{falls:?} at {p}, late {late:?}: {held:.0} %");
                assert!(held >= 97.5, "{falls:?} {p} {late:?}: {held}");
            }
        }
    }
}
