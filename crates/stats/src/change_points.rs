//! Lasting changes of the level of a series.

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;

/// Minimum number of values at each level; fewer than three are a spike.
const SHORTEST_LEVEL: usize = 3;
/// Number of latest values that are examined. The effort grows with its square.
const LONGEST_SERIES: usize = 1_000;
/// Permutations of a test.
const PERMUTATIONS: usize = 999;
/// The seed of the permutations, so that equal series have equal results.
const SEED: u64 = 1;

/// A change of the level of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The index of the first value at the new level.
    pub at: usize,
    /// The probability of a split as clear as this in a series without a change.
    pub chance: f64,
}

/// A split of a series: the level changes at `at`, and the values from there to `until` are at the new one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Split {
    at: usize,
    statistic: f64,
}

/// The change points of a series of values in chronological order, ascending.
///
/// **Method.** E-divisive, the hierarchical division of Matteson and James (A Nonparametric Approach for Multiple Change Point Analysis of
/// Multivariate Data, Journal of the American Statistical Association 109, 2014), with the energy statistic of distances (exponent 1).
/// Among all splits of all segments into a left and a right part, where the right part may end before its segment does, the one with the
/// largest statistic is the candidate. Its chance is found by permuting the values within each segment and *searching for the best split
/// again* in each permutation: `(1 + n) / (1 + 999)`, where `n` permutations have at least the statistic of the candidate (Phipson and
/// Smyth 2010 on the 1). If the chance is at most `significance`, the candidate is a change point and the search goes on within the new
/// segments; otherwise it ends.
///
/// Testing the two sides of the best split with Student's test instead, as is common, ignores that the split was searched for:
/// on 30 values of white noise it finds a change at the 1 % level in 9 % of series. A count of `n / 999` can be zero,
/// which no permutation test supports.
///
/// A level has at least [`SHORTEST_LEVEL`] values. A single value apart from all others is therefore no level, and in the
/// statistic its distances within its side cancel those between the sides. With few values no split is rare enough: the first
/// change can be found in a series of about ten.
///
/// A series of more than [`LONGEST_SERIES`] values is examined from its end. Permutations end early once the candidate cannot be
/// significant any more, so `chance` never belongs to such a candidate.
///
/// **Degenerate cases.** None with fewer than twice [`SHORTEST_LEVEL`] values, with values that are not finite, or if all are
/// equal. Where the values before a change are correlated with each other (a machine that drifts), more changes are found than
/// `significance` says.
pub fn change_points(values: &[f64], significance: f64) -> Vec<ChangePoint> {
    of_latest(values, LONGEST_SERIES, significance)
}

/// The change points of the latest values, `longest` of them.
fn of_latest(values: &[f64], longest: usize, significance: f64) -> Vec<ChangePoint> {
    let skipped = values.len().saturating_sub(longest);
    let values = values.get(skipped..).unwrap_or_default();
    if !values.iter().all(|value| value.is_finite()) {
        return Vec::new();
    }
    let mut random = SmallRng::seed_from_u64(SEED);
    let mut found: Vec<ChangePoint> = Vec::new();
    loop {
        let mut ends: Vec<usize> = found.iter().map(|change| change.at).collect();
        ends.push(values.len());
        ends.sort_unstable();
        let Some(candidate) = best_split(values, &ends) else { break };
        let Some(chance) = chance(values, &ends, candidate.statistic, significance, &mut random) else {
            break;
        };
        found.push(ChangePoint { at: candidate.at, chance });
    }
    found.sort_by_key(|change| change.at);
    for change in &mut found {
        change.at += skipped;
    }
    found
}

/// The chance of a split with at least this statistic; none if it exceeds `significance`.
fn chance(
    values: &[f64],
    ends: &[usize],
    statistic: f64,
    significance: f64,
    random: &mut SmallRng,
) -> Option<f64> {
    let chance = |extreme: usize| (1 + extreme) as f64 / (1 + PERMUTATIONS) as f64;
    let mut permuted = values.to_vec();
    let mut extreme = 0;
    for _ in 0..PERMUTATIONS {
        let mut start = 0;
        for &end in ends {
            permuted.get_mut(start..end)?.shuffle(random);
            start = end;
        }
        let best = best_split(&permuted, ends).map_or(0.0, |split| split.statistic);
        extreme += usize::from(best >= statistic);
        if chance(extreme) > significance {
            return None;
        }
    }
    Some(chance(extreme))
}

/// The best split of all segments, which end at `ends`; none if no split has a positive statistic.
fn best_split(values: &[f64], ends: &[usize]) -> Option<Split> {
    let mut start = 0;
    let mut best: Option<Split> = None;
    for &end in ends {
        let segment = values.get(start..end).unwrap_or_default();
        if let Some(split) =
            best_split_of(segment).filter(|split| best.is_none_or(|best| split.statistic > best.statistic))
        {
            best = Some(Split { at: start + split.at, ..split });
        }
        start = end;
    }
    best
}

/// The best split of a segment. With sums over distances that grow by one value at a time, all pairs of a split and an end of
/// its right part take time in proportion to the square of the length.
fn best_split_of(values: &[f64]) -> Option<Split> {
    let length = values.len();
    // For each value: the sum of its distances to all values before it, and to those of the left part.
    let mut to_earlier = vec![0.0; length];
    for (index, value) in values.iter().enumerate() {
        let sum: f64 = values.iter().take(index).map(|earlier| (earlier - value).abs()).sum();
        if let Some(slot) = to_earlier.get_mut(index) {
            *slot = sum;
        }
    }
    let mut to_left = vec![0.0; length];
    let mut within_left = 0.0;
    let mut best: Option<Split> = None;
    for at in 1..length {
        let added = values.get(at - 1).copied().unwrap_or_default();
        within_left += to_earlier.get(at - 1).copied().unwrap_or_default();
        for (sum, value) in to_left.iter_mut().zip(values).skip(at) {
            *sum += (value - added).abs();
        }
        if at < SHORTEST_LEVEL {
            continue;
        }
        let left = at as f64;
        let pairs_left = left * (left - 1.0) / 2.0;
        let (mut between, mut within_right) = (0.0, 0.0);
        for (index, (left_sum, earlier_sum)) in to_left.iter().zip(&to_earlier).enumerate().skip(at) {
            between += left_sum;
            within_right += earlier_sum - left_sum;
            let count = index + 1 - at;
            if count < SHORTEST_LEVEL {
                continue;
            }
            let right = count as f64;
            let pairs_right = right * (right - 1.0) / 2.0;
            let energy =
                2.0 * between / (left * right) - within_left / pairs_left - within_right / pairs_right;
            let statistic = left * right / (left + right) * energy;
            if statistic > best.map_or(0.0, |best| best.statistic) {
                best = Some(Split { at, statistic });
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_distr::{Distribution, Normal};
    use serde::Deserialize;
    use statrs::distribution::{ContinuousCDF, StudentsT};

    use super::*;

    /// Random values around each level; a level comes with its number of values.
    fn series(levels: &[(f64, usize)], seed: u64) -> Vec<f64> {
        let mut random = SmallRng::seed_from_u64(seed);
        let noise = Normal::new(0.0, 1.0).unwrap();
        let each = levels.iter().flat_map(|(level, count)| std::iter::repeat_n(*level, *count));
        each.map(|level| level + noise.sample(&mut random)).collect()
    }

    /// The statistic by its definition, to compare with.
    fn by_definition(values: &[f64]) -> Option<Split> {
        let mean = |one: &[f64], other: &[f64]| {
            let sum: f64 = one.iter().flat_map(|a| other.iter().map(move |b| (a - b).abs())).sum();
            sum / (one.len() * other.len()) as f64
        };
        let within = |part: &[f64]| mean(part, part) * part.len() as f64 / (part.len() as f64 - 1.0);
        let mut best: Option<Split> = None;
        for at in SHORTEST_LEVEL..values.len() {
            for end in at + SHORTEST_LEVEL..=values.len() {
                let (left, right) = (&values[..at], &values[at..end]);
                let (n, m) = (left.len() as f64, right.len() as f64);
                let statistic = n * m / (n + m) * (2.0 * mean(left, right) - within(left) - within(right));
                if statistic > best.map_or(0.0, |best| best.statistic) {
                    best = Some(Split { at, statistic });
                }
            }
        }
        best
    }

    /// The best split of a series of Apache Otava's own tests. `bench/change-points` writes the file.
    #[derive(Deserialize)]
    struct OtavaSeries {
        name: String,
        values: Vec<f64>,
        best_split: OtavaSplit,
    }

    #[derive(Deserialize)]
    struct OtavaSplit {
        at: usize,
        statistic: f64,
    }

    fn otava() -> Vec<OtavaSeries> {
        #[derive(Deserialize)]
        struct File {
            series: Vec<OtavaSeries>,
        }
        serde_json::from_str::<File>(include_str!("../tests/otava.json")).unwrap().series
    }

    #[test]
    fn the_best_split_is_that_of_apache_otava_on_its_own_series() {
        for OtavaSeries { name, values, best_split: theirs } in otava() {
            let ours = best_split_of(&values).unwrap();
            assert_eq!(ours.at, theirs.at, "{name}");
            assert!((ours.statistic / theirs.statistic - 1.0).abs() < 1e-9, "{name}: {ours:?}");
        }
    }

    /// The probability of Student's test of the values before and after.
    fn student(values: &[f64], at: usize) -> f64 {
        let (left, right) = values.split_at(at);
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let squares = |part: &[f64]| part.iter().map(|value| (value - mean(part)).powi(2)).sum::<f64>();
        let freedom = values.len() as f64 - 2.0;
        let variance = (squares(left) + squares(right)) / freedom;
        let error = (variance * (1.0 / left.len() as f64 + 1.0 / right.len() as f64)).sqrt();
        let t = (mean(left) - mean(right)) / error;
        2.0 * StudentsT::new(0.0, 1.0, freedom).unwrap().cdf(-t.abs())
    }

    #[test]
    fn students_test_of_the_best_split_finds_false_changes_in_nine_series_of_a_hundred() {
        let has_change = |seed: &u64| {
            let values = series(&[(0.0, 30)], 5_000 + seed);
            best_split_of(&values).is_some_and(|split| student(&values, split.at) <= 0.01)
        };
        let found = (0..2_000u64).filter(has_change).count();
        // Of 2,000, with a standard error of 13.
        assert!((150..=220).contains(&found), "{found}");
    }

    #[test]
    fn the_end_of_a_long_series_is_examined() {
        let values = series(&[(30.0, 10), (0.0, 30), (9.0, 10)], 6);
        let places: Vec<usize> = of_latest(&values, 40, 0.01).into_iter().map(|change| change.at).collect();
        assert_eq!(places, [40]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_sums_give_the_statistic_of_the_definition(values in prop::collection::vec(-100.0..100.0f64, 0..40)) {
            match (best_split_of(&values), by_definition(&values)) {
                (Some(one), Some(other)) => {
                    prop_assert!((one.statistic - other.statistic).abs() < 1e-6 * other.statistic.abs().max(1.0));
                }
                // Rounding may leave a statistic of zero on one side.
                (one, other) => prop_assert!(one.or(other).is_none_or(|split| split.statistic < 1e-6)),
            }
        }
    }
}
