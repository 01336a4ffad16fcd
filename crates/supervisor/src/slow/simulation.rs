//! Rate of false reports of a slow upstream that is as it always was: simulated hours of windows, for times of several distributions.
//!
//! A window of fifty requests has the 45th of them as its percentile, whose probability is beta-distributed: one number is drawn for each
//! window. Each upstream is simulated for ten hours from its first window on, so the beginning, with few usual windows, is in all rates.

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand_distr::{Beta, Distribution, StandardNormal};
use statrs::distribution::{ContinuousCDF, LogNormal};

use super::*;

/// Hours of an upstream, and their windows.
const HOURS: u32 = 10;
const WINDOWS: u32 = HOURS * 720;

/// Times of an upstream.
struct World {
    name: &'static str,
    /// The quantile function of its times.
    quantile: Box<dyn Fn(f64) -> f64>,
    /// The standard deviation of the logarithm of a factor of all times of a window, and the time in which it changes, in windows.
    swings: Option<(f64, f64)>,
}

fn log_normal(median_us: f64, deviation: f64) -> Box<dyn Fn(f64) -> f64> {
    let distribution = LogNormal::new(median_us.ln(), deviation).unwrap();
    Box::new(move |probability| distribution.inverse_cdf(probability))
}

/// Times of which a share is fifty times longer.
fn two_modes(share: f64) -> Box<dyn Fn(f64) -> f64> {
    let (fast, slow) = (log_normal(1000.0, 0.3), log_normal(50_000.0, 0.3));
    let border = 1.0 - share;
    Box::new(move |probability| {
        if probability < border { fast(probability / border) } else { slow((probability - border) / share) }
    })
}

/// Worlds in which windows differ by chance alone.
fn by_chance() -> [World; 6] {
    let world = |name, quantile| World { name, quantile, swings: None };
    [
        world("log-normal, deviation 1", log_normal(1000.0, 1.0)),
        world("log-normal, deviation 2", log_normal(1000.0, 2.0)),
        world("log-normal, deviation 3", log_normal(1000.0, 3.0)),
        world("5 % are fifty times slower", two_modes(0.05)),
        world("8 % are fifty times slower", two_modes(0.08)),
        world("10 % are fifty times slower", two_modes(0.1)),
    ]
}

/// Worlds whose times swing.
fn with_swings() -> [World; 2] {
    let world = |name, deviation, windows| World {
        name,
        quantile: log_normal(1000.0, 1.0),
        swings: Some((deviation, windows)),
    };
    [
        world("log-normal, deviation 1, with swings of 0.2 in a minute", 0.2, 12.0),
        world("log-normal, deviation 1, with swings of 0.4 in a minute", 0.4, 12.0),
    ]
}

impl World {
    /// Returns the number of reports that so many upstreams are slow.
    fn named(&self, upstreams: u32) -> u32 {
        let mut random = StdRng::seed_from_u64(1);
        let rank = (COMPARED * FEWEST as f64).ceil();
        let of_rank = Beta::new(rank, FEWEST as f64 + 1.0 - rank).unwrap();
        let (deviation, windows) = self.swings.unwrap_or((0.0, 1.0));
        let kept = (-1.0 / windows).exp();
        let mut count = 0;
        for _ in 0..upstreams {
            let mut upstream = Upstream::new(Moment::ZERO);
            let mut swing = 0.0;
            for number in 1..=WINDOWS {
                let change: f64 = StandardNormal.sample(&mut random);
                swing = kept * swing + (1.0 - kept * kept).sqrt() * deviation * change;
                let level_us = (self.quantile)(of_rank.sample(&mut random)) * f64::exp(swing);
                let window = Moment::from_secs(5);
                let was_slow = upstream.slow.is_some();
                upstream.judge(Window { from: window * (number - 1), level_us }, window * number);
                count += u32::from(upstream.slow.is_some() && !was_slow);
            }
        }
        count
    }
}

#[test]
fn what_differs_by_chance_alone_is_called_slow_once_in_forty_hours_at_most_and_swings_are() {
    let upstreams = 4;
    for world in by_chance() {
        assert!(world.named(upstreams) * 40 <= upstreams * HOURS, "{}", world.name);
    }
    let [_, large] = with_swings();
    assert!(large.named(upstreams) > upstreams, "the simulation names what swings");
}

mod long {
    use super::*;

    #[test]
    #[ignore = "takes minutes: run by `make test-long`"]
    fn rates_of_false_names_are_those_of_the_guide() {
        let upstreams = 100;
        for world in by_chance().into_iter().chain(with_swings()) {
            let named = world.named(upstreams);
            eprintln!("| {} | {named} in {} hours |", world.name, upstreams * HOURS);
            assert!(world.swings.is_some() || named * 100 <= upstreams * HOURS, "{}", world.name);
        }
    }
}
