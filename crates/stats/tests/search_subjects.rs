//! Searches on simulated subjects whose answer is known.

use std::time::Duration;

use hoptax_result::FindState;
use hoptax_stats::search::{Criterion, GoalResult, Limits, Measured, Planned, Sample, Search, Share, Step};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};

/// The width of the preset `quick`.
const WIDTH: f64 = 0.04;
/// Windows of a trial, as those of a load.
const WINDOWS: usize = 100;
/// Searches of which the intervals contain the truth often enough. If 95 % do, fewer than 90 of 100 contain it with a probability of 1 %.
const SEARCHES: u64 = 100;
/// Steps of the numerical solution of a queue in 2 ms.
const STEPS_OF_SERVICE: f64 = 250.0;

/// Time of a request.
#[derive(Clone, Copy, Debug)]
enum Service {
    /// 2 ms each: M/D/1.
    Equal,
    /// 2 ms in the mean, exponential: M/M/1.
    Exponential,
    /// Exponential with 1.5 ms, and one in twenty from a Pareto distribution with the shape 3.5 from 5 ms on.
    HeavyTail,
}

const PARETO: (f64, f64, f64) = (0.05, 0.005, 3.5);

impl Service {
    fn draw(self, random: &mut SmallRng) -> f64 {
        let exponential = |mean: f64, random: &mut SmallRng| -> f64 {
            let drawn: f64 = Exp1.sample(random);
            mean * drawn
        };
        let (part, least, shape) = PARETO;
        match self {
            Self::Equal => 0.002,
            Self::Exponential => exponential(0.002, random),
            Self::HeavyTail if random.random_bool(part) => {
                least * (1.0 - random.random::<f64>()).powf(-1.0 / shape)
            }
            Self::HeavyTail => exponential(0.0015, random),
        }
    }

    /// The probability that a request takes longer.
    fn longer(self, than: f64) -> f64 {
        let (part, least, shape) = PARETO;
        match self {
            Self::Equal => f64::from(u8::from(than < 0.002)),
            Self::Exponential => (-than / 0.002).exp(),
            Self::HeavyTail => {
                (1.0 - part) * (-than / 0.0015).exp() + part * (least / than.max(least)).powf(shape)
            }
        }
    }

    fn mean(self) -> f64 {
        self.beyond(0.0)
    }

    /// The integral of `longer` from a time on.
    fn beyond(self, than: f64) -> f64 {
        let (part, least, shape) = PARETO;
        match self {
            Self::Equal => (0.002 - than).max(0.0),
            Self::Exponential => 0.002 * (-than / 0.002).exp(),
            Self::HeavyTail => {
                let from = than.max(least);
                let of_pareto = (least - than).max(0.0) + (least / from).powf(shape) * from / (shape - 1.0);
                (1.0 - part) * 0.0015 * (-than / 0.0015).exp() + part * of_pareto
            }
        }
    }

    /// The share of response times above a limit at a load, of a queue with one server and Poisson arrivals.
    ///
    /// The wait exceeds t with the probability V(t) that solves V(t) = load * beyond(t) + load * (integral of V(t - x) longer(x) over x up
    /// to t), the renewal equation of Pollaczek and Khinchine; the trapezoidal rule solves it. The density of the work in the queue at t
    /// is the rate at which arrivals cross t, so P(response > t) = V(t) - V'(t) / load (P. Brill, *Level Crossing Methods in Stochastic
    /// Models*, 2008).
    fn late(self, load: f64, limit: f64) -> f64 {
        // A jump of the service times is at a step.
        let step = 0.002 / STEPS_OF_SERVICE;
        let steps = (limit / step).round() as usize;
        let longer = |at: f64| f64::midpoint(self.longer(at - step * 1e-3), self.longer(at + step * 1e-3));
        let survival: Vec<f64> = (0..=steps + 1).map(|k| longer(step * k as f64)).collect();
        let mut waits = vec![load * self.beyond(0.0)];
        for k in 1..=steps + 1 {
            let inner: f64 =
                survival[1..k].iter().zip(waits[1..k].iter().rev()).map(|(one, other)| one * other).sum();
            let inner = inner + 0.5 * waits[0] * survival[k];
            let known = load * (self.beyond(step * k as f64) + step * inner);
            waits.push(known / (1.0 - 0.5 * load * step));
        }
        let slope = (waits[steps + 1] - waits[steps - 1]) / (2.0 * step);
        waits[steps] - slope / load
    }

    /// The highest load that holds a percentile.
    fn truth(self, permitted: f64, limit: f64) -> f64 {
        let (mut low, mut high) = (1.0, 1.0 / self.mean());
        for _ in 0..16 {
            let middle = f64::midpoint(low, high);
            if self.late(middle, limit) > permitted { high = middle } else { low = middle }
        }
        low
    }

    /// A trial that begins with an empty queue.
    fn trial(self, load: f64, [warmup_s, duration_s]: [f64; 2], limit: f64, random: &mut SmallRng) -> Sample {
        let mut windows = vec![Share::default(); WINDOWS];
        let (mut at_s, mut response_s) = (-warmup_s, 0.0_f64);
        loop {
            let drawn: f64 = Exp1.sample(random);
            let gap_s = drawn / load;
            at_s += gap_s;
            if at_s >= duration_s {
                break;
            }
            response_s = (response_s - gap_s).max(0.0) + self.draw(random);
            if at_s >= 0.0 {
                let window = &mut windows[(at_s / duration_s * WINDOWS as f64) as usize];
                window.planned += 1.0;
                window.lost += f64::from(u8::from(response_s > limit));
            }
        }
        let sum = |of: fn(&Share) -> f64| windows.iter().map(of).sum();
        Sample::Share { all: Share { lost: sum(|one| one.lost), planned: sum(|one| one.planned) }, windows }
    }
}

/// Warm-up and length of a trial.
fn lengths_s(planned: &Planned) -> [f64; 2] {
    [planned.warmup.as_secs_f64(), planned.duration.as_secs_f64()]
}

/// Outcome of a search on a queue.
#[derive(Debug)]
struct Found {
    result: GoalResult,
    trials: usize,
    spent: Duration,
    longest: Duration,
}

/// A search as `hoptax find` does it, with a budget that is long enough.
fn search_queue(service: Service, permitted: f64, limit: f64, seed: u64) -> Found {
    search_within(
        Duration::from_hours(if permitted < 0.005 { 40 } else { 8 }),
        service,
        (permitted, limit),
        seed,
    )
}

/// A search as `hoptax find` does it, with this time limit.
fn search_within(budget: Duration, service: Service, (permitted, limit): (f64, f64), seed: u64) -> Found {
    let mut random = SmallRng::seed_from_u64(seed);
    let capacity = 1.0 / service.mean();
    let limits = Limits {
        start: 0.8 * capacity,
        budget,
        width: WIDTH,
        ..Limits::new(capacity / 1_000.0, 2.0 * capacity)
    };
    let criterion = Criterion::Late { permitted, limit: Duration::from_secs_f64(limit) };
    let mut search = Search::new(&[criterion], &[vec![0]], limits).unwrap();
    let (mut trials, mut longest) = (0, Duration::ZERO);
    while let Step::Trial(planned) = search.next() {
        let samples = Some(vec![service.trial(planned.load, lengths_s(&planned), limit, &mut random)]);
        search.record(&planned, Measured { took: planned.warmup + planned.duration, samples });
        (trials, longest) = (trials + 1, longest.max(planned.duration));
    }
    let result = search.results().remove(0);
    Found { result, trials, spent: search.spent(), longest }
}

/// Searches on a queue for a p90, a p99 and a p99.9 with three seeds each: the rate that is found is within 3 % of the truth.
fn assert_answers(service: Service, limits_s: [f64; 3]) {
    for (permitted, limit) in [0.1, 0.01, 0.001].into_iter().zip(limits_s) {
        let truth = service.truth(permitted, limit);
        for seed in 1..=3 {
            let found = search_queue(service, permitted, limit, seed);
            let result = &found.result;
            let error = result.estimate.unwrap() / truth - 1.0;
            let Found { trials, longest, spent, .. } = &found;
            eprintln!(
                "{service:?} {permitted}: {:+.1} %, {trials} trials of up to {:.0} s, {:.0} s",
                error * 100.0,
                longest.as_secs_f64(),
                spent.as_secs_f64()
            );
            assert_eq!(result.state, FindState::Found, "{found:?}");
            assert!(error.abs() <= 0.03, "{service:?} {permitted} {seed}: {error}, truth {truth}, {found:?}");
        }
    }
}

#[test]
fn the_rate_of_a_queue_with_equal_service_times_is_found() {
    assert_answers(Service::Equal, [0.02; 3]);
}

#[test]
fn the_rate_of_a_queue_with_exponential_service_times_is_found() {
    assert_answers(Service::Exponential, [0.02; 3]);
}

#[test]
fn the_rate_of_a_queue_whose_service_times_have_a_heavy_tail_is_found() {
    assert_answers(Service::HeavyTail, [0.02, 0.04, 0.08]);
}

#[test]
fn the_truths_are_those_of_known_queues() {
    // The response time of M/M/1 is exponential with the rate mu - lambda.
    for (load, limit) in [(250.0, 0.02), (400.0, 0.05)] {
        let share = Service::Exponential.late(load, limit);
        assert!((share / (-(500.0_f64 - load) * limit).exp() - 1.0).abs() < 1e-3, "{share}");
    }
    // Quantiles of M/D/1 by a stable form of Erlang's distribution (G. Franx, 2001): 11.356 times the service time at 80 %.
    let share = Service::Equal.late(400.0, 0.022_712);
    assert!((share / 0.01 - 1.0).abs() < 2e-3, "{share}");
    let share = Service::Equal.late(350.0, 0.021_784);
    assert!((share / 0.001 - 1.0).abs() < 5e-3, "{share}");
    let mut random = SmallRng::seed_from_u64(1);
    let drawn: Vec<f64> = (0..1_000_000).map(|_| Service::HeavyTail.draw(&mut random)).collect();
    let share = |than: f64| drawn.iter().filter(|one| **one > than).count() as f64 / 1e6;
    for than in [0.001, 0.004, 0.01, 0.04] {
        let expected = Service::HeavyTail.longer(than);
        assert!((share(than) - expected).abs() < 4.0 * (expected / 1e6).sqrt(), "{than}");
    }
}

#[test]
fn intervals_contain_the_truth_as_often_as_they_state_and_no_rate_is_far_from_it() {
    for (service, permitted, limit) in [
        (Service::Equal, 0.1, 0.02),
        (Service::Equal, 0.01, 0.02),
        (Service::Exponential, 0.1, 0.02),
        (Service::Exponential, 0.01, 0.02),
        (Service::HeavyTail, 0.1, 0.02),
    ] {
        let truth = service.truth(permitted, limit);
        let found: Vec<Found> =
            (0..SEARCHES).map(|seed| search_queue(service, permitted, limit, 1_000 + seed)).collect();
        let is_in = |found: &&Found| {
            let (low, high) = (found.result.lower.unwrap(), found.result.upper.unwrap());
            (low..=high).contains(&truth)
        };
        let errors = found.iter().map(|found| found.result.estimate.unwrap() / truth - 1.0);
        let furthest = errors.map(f64::abs).fold(0.0, f64::max);
        let covered = found.iter().filter(is_in).count();
        let mean_s = found.iter().map(|found| found.spent.as_secs_f64()).sum::<f64>() / SEARCHES as f64;
        let text = format!("{service:?} {permitted}: {covered}, {furthest:.3}, {mean_s:.0} s");
        eprintln!("{text}");
        assert!(covered >= 90 && furthest < 0.04, "{text}");
    }
}

#[test]
fn trials_that_begin_with_an_empty_queue_would_state_too_high_a_rate() {
    let (permitted, limit) = (0.1, 0.1);
    let truth = Service::Equal.truth(permitted, limit);
    let criterion = Criterion::Late { permitted, limit: Duration::from_secs_f64(limit) };
    let late = |lengths_s: [f64; 2]| {
        let mut random = SmallRng::seed_from_u64(1);
        let samples: Vec<Share> = (0..300)
            .map(|_| match Service::Equal.trial(truth, lengths_s, limit, &mut random) {
                Sample::Share { all, .. } => all,
                Sample::Value(_) => panic!("it is a share"),
            })
            .collect();
        let sum = |of: fn(&Share) -> f64| samples.iter().map(of).sum::<f64>();
        sum(|one| one.lost) / sum(|one| one.planned)
    };
    let limits = Limits { start: truth, width: WIDTH, ..Limits::new(1.0, 500.0) };
    let Step::Trial(planned) = Search::new(&[criterion], &[vec![0]], limits).unwrap().next() else {
        panic!("a trial is first")
    };
    let (short, settled) = (late([0.0, 1.0]), late(lengths_s(&planned)));
    assert!(short < 0.5 * permitted && (settled / permitted - 1.0).abs() < 0.1, "{short} {settled}");
}

#[test]
fn a_search_that_runs_out_of_time_states_a_wider_interval() {
    let truth = Service::Equal.truth(0.01, 0.02);
    let found: Vec<Found> = (0..SEARCHES)
        .map(|seed| search_within(Duration::from_mins(5), Service::Equal, (0.01, 0.02), 2_000 + seed))
        .collect();
    let known = found.iter().filter_map(|found| found.result.lower.zip(found.result.upper));
    let known: Vec<(f64, f64)> = known.collect();
    let covered = known.iter().filter(|(low, high)| (*low..=*high).contains(&truth)).count();
    let mut widths: Vec<f64> = known.iter().map(|(low, high)| (high - low) / high).collect();
    widths.sort_by(f64::total_cmp);
    let errors = found.iter().filter_map(|found| Some((found.result.estimate? / truth - 1.0).abs()));
    let near = errors.filter(|error| *error <= 0.03).count();
    eprintln!(
        "{} known, {covered} contain the truth, {near} within 3 %, width {:.3}",
        known.len(),
        widths[known.len() / 2]
    );
    assert!(known.len() >= 85 && covered * 100 >= known.len() * 90, "{known:?}");
}
