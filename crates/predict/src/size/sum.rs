//! Weighted sums of measured CPU times, with intervals that include the errors that times of the same study share.

use hoptax_result::Interval;
use hoptax_stats::{Weighted, mean_over_rounds, sum_of_independent};

/// A CPU time from one study: a level of an arm, or its difference from another arm.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    /// The index of the result.
    pub(crate) source: usize,
    /// The number as the result states it.
    pub(crate) interval: Interval,
    /// Its value in each round; none if the result has no rounds.
    pub(crate) rounds: Option<Vec<Option<f64>>>,
    /// The confidence of quantiles over these rounds.
    pub(crate) confidence: f64,
}

/// CPU times with weights.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum<'a>(Vec<Weighted<&'a Measured>>);

impl<'a> Sum<'a> {
    pub(crate) fn add(&mut self, weight: f64, measured: &'a Measured) {
        self.0.push(Weighted::new(weight, measured));
    }

    /// Adds all terms of another sum, times `weight`.
    pub(crate) fn add_all(&mut self, weight: f64, other: &Sum<'a>) {
        self.0.extend(other.0.iter().map(|own| Weighted::new(weight * own.weight, own.value)));
    }

    /// Its terms.
    pub(crate) fn into_terms(self) -> impl Iterator<Item = Weighted<&'a Measured>> {
        self.0.into_iter()
    }

    /// The sum of the estimates.
    pub(crate) fn estimate(&self) -> f64 {
        estimate(&self.0)
    }

    /// The sum with its interval; none for an empty sum.
    ///
    /// **Method.** Within a study, the sum is computed in each round that has all its terms, and the interval is over these rounds
    /// ([`mean_over_rounds`]): costs share the error of their baseline and the speed of the machine, and sums within rounds include that.
    /// The width comes from the rounds; the estimate is the sum of the estimates that the result states. If a result has no rounds, or too
    /// few with all terms, the shared errors of its numbers are unknown, and the distances to the ends add up
    /// ([`Interval::sum_of_dependent`]). Sums of different studies are independent ([`sum_of_independent`]).
    pub(crate) fn interval(&self) -> Option<Interval> {
        let mut sources: Vec<usize> = self.0.iter().map(|term| term.value.source).collect();
        sources.sort_unstable();
        sources.dedup();
        let of_source = |source: usize| {
            let terms: Vec<Weighted<&Measured>> =
                self.0.iter().filter(|term| term.value.source == source).copied().collect();
            within_rounds(&terms).or_else(|| as_intervals(&terms))
        };
        sum_of_independent(&sources.into_iter().map(of_source).collect::<Option<Vec<_>>>()?)
    }
}

fn estimate(terms: &[Weighted<&Measured>]) -> f64 {
    terms.iter().map(|term| term.weight * term.value.interval.estimate).sum()
}

fn within_rounds(terms: &[Weighted<&Measured>]) -> Option<Interval> {
    let first = terms.first()?.value;
    let series = terms.iter().map(|term| Some(Weighted::new(term.weight, term.value.rounds.as_ref()?)));
    let series: Vec<Weighted<&Vec<Option<f64>>>> = series.collect::<Option<_>>()?;
    let rounds = series.iter().map(|term| term.value.len()).max()?;
    let in_round = |round: usize| {
        let weighted = |term: &Weighted<&Vec<Option<f64>>>| {
            Some(term.weight * term.value.get(round).copied().flatten()?)
        };
        series.iter().map(weighted).sum::<Option<f64>>()
    };
    let sums: Vec<f64> = (0..rounds).filter_map(in_round).collect();
    let spread = mean_over_rounds(&sums, first.confidence)?;
    Some(Interval::around(estimate(terms), spread.half_width()))
}

fn as_intervals(terms: &[Weighted<&Measured>]) -> Option<Interval> {
    // Weights of the same number are added first, so that opposite ones cancel.
    let mut merged: Vec<Weighted<&Measured>> = Vec::new();
    for term in terms {
        match merged.iter_mut().find(|other| other.value == term.value) {
            Some(sum) => sum.weight += term.weight,
            None => merged.push(*term),
        }
    }
    let numbers: Vec<Interval> = merged.iter().map(|term| term.value.interval.times(term.weight)).collect();
    Interval::sum_of_dependent(&numbers)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::Xoshiro256PlusPlus;
    use rand_distr::{Distribution, StandardNormal};

    use super::*;

    const CONFIDENCE: f64 = 0.95;
    const STUDIES: usize = 2_000;

    /// Standard deviations: of the error that the costs of a round share, of the level of a process, and of the speed of the machine.
    const SHARED: f64 = 0.6;
    const LEVEL: f64 = 0.6;
    const SPEED: f64 = 0.02;

    /// A study of a plain proxy of 60 us and of functions: its level and their costs.
    fn simulated(
        source: usize,
        rounds: usize,
        costs: &[f64],
        normal: &mut impl FnMut() -> f64,
        has_rounds: bool,
    ) -> Vec<Measured> {
        let mut values: Vec<Vec<f64>> = vec![Vec::new(); costs.len() + 1];
        for _ in 0..rounds {
            let speed = 1.0 + SPEED * normal();
            let shared = SHARED * normal();
            for (number, values) in values.iter_mut().enumerate() {
                values.push(match number.checked_sub(1).and_then(|function| costs.get(function)) {
                    None => speed * 60.0 + shared,
                    Some(cost) => speed * cost - shared + LEVEL * normal(),
                });
            }
        }
        let measured = |values: Vec<f64>| Measured {
            source,
            interval: mean_over_rounds(&values, CONFIDENCE).unwrap(),
            rounds: has_rounds.then(|| values.into_iter().map(Some).collect()),
            confidence: CONFIDENCE,
        };
        values.into_iter().map(measured).collect()
    }

    /// Share of predictions whose interval covers the truth: the plain proxy and five functions of two studies, some of them on
    /// two proxies.
    fn coverage(rounds: [usize; 2], has_rounds: bool, seed: u64) -> f64 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
        let costs: [&[f64]; 2] = [&[40.0, 5.0, 2.0], &[8.0, 0.5]];
        let weights: [&[f64]; 2] = [&[2.0, 1.0, 2.0, 1.0], &[0.0, 1.5, 1.0]];
        let truth: f64 = 2.0 * 60.0 + 40.0 + 2.0 * 5.0 + 2.0 + 1.5 * 8.0 + 0.5;
        let covered = (0..STUDIES).filter(|_| {
            let studies: Vec<Vec<Measured>> = (0..2)
                .map(|source| simulated(source, rounds[source], costs[source], &mut normal, has_rounds))
                .collect();
            let mut sum = Sum::default();
            for (study, weights) in studies.iter().zip(weights) {
                for (measured, weight) in study.iter().zip(weights) {
                    sum.add(*weight, measured);
                }
            }
            sum.interval().unwrap().contains(truth)
        });
        covered.count() as f64 / STUDIES as f64
    }

    #[test]
    fn the_interval_of_a_prediction_covers_the_truth_as_often_as_it_states() {
        for (number, rounds) in [[6, 6], [12, 6], [12, 12]].into_iter().enumerate() {
            let within = coverage(rounds, true, 311 + number as u64);
            assert!((0.935..=0.985).contains(&within), "{rounds:?}: {within}");
            let without = coverage(rounds, false, 321 + number as u64);
            assert!(without >= within, "{rounds:?}: {without}, {within}");
        }
    }

    fn exact(source: usize, values: [Option<f64>; 3]) -> Measured {
        let kept: Vec<f64> = values.into_iter().flatten().collect();
        Measured {
            source,
            interval: mean_over_rounds(&kept, CONFIDENCE).unwrap(),
            rounds: Some(values.to_vec()),
            confidence: CONFIDENCE,
        }
    }

    #[test]
    fn what_two_terms_share_cancels_within_rounds_only() {
        let one = exact(0, [Some(10.0), Some(12.0), Some(14.0)]);
        let other = exact(0, [Some(3.0), Some(5.0), Some(7.0)]);
        let mut difference = Sum::default();
        difference.add(1.0, &one);
        difference.add(-1.0, &other);
        let within = difference.interval().unwrap();
        assert_eq!(within, Interval::new(7.0, 7.0, 7.0));
        let unknown = [one, other].map(|measured| Measured { rounds: None, ..measured });
        let mut difference = Sum::default();
        difference.add(1.0, &unknown[0]);
        difference.add(-1.0, &unknown[1]);
        let apart = difference.interval().unwrap();
        assert!((apart.half_width() - 2.0 * unknown[0].interval.half_width()).abs() < 1e-9, "{apart:?}");
        // The same number twice counts as one number.
        difference.add(1.0, &unknown[1]);
        assert_eq!(difference.interval(), Some(unknown[0].interval));
    }

    #[test]
    fn a_round_without_a_term_counts_for_none_of_them() {
        let whole = exact(0, [Some(1.0), Some(3.0), Some(5.0)]);
        let gap = exact(0, [Some(1.0), None, Some(2.0)]);
        let mut sum = Sum::default();
        sum.add(1.0, &whole);
        sum.add(1.0, &gap);
        let interval = sum.interval().unwrap();
        assert!((interval.estimate - 4.5).abs() < 1e-12);
        let spread = mean_over_rounds(&[2.0, 7.0], CONFIDENCE).unwrap();
        assert!((interval.half_width() - spread.half_width()).abs() < 1e-9);
        assert_eq!(Sum::default().interval(), None);
    }
}
