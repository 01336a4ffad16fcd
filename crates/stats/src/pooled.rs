//! The distribution of values over rounds, as a list of equally likely values that can be added and drawn from.

use hoptax_result::CountedTime;

/// `count` equally likely values, in nanoseconds and ascending, for the distribution over all rounds but `left_out`, each round with the
/// same weight. `rounds` holds the times of each round.
///
/// **Method.** The distribution is cut into `count` parts of the same probability, and each value is the mean of its part. So the
/// mean of the values is that of the distribution, and the quantile `p` lies between two neighbours.
///
/// **Degenerate cases.** Rounds without values are left out. `None` if nothing is left, or `count` is 0.
pub fn pooled_values(rounds: &[&[CountedTime]], left_out: Option<usize>, count: usize) -> Option<Vec<f64>> {
    let mut shares: Vec<(u64, f64)> = Vec::new();
    let mut kept = 0_u32;
    for (index, times) in rounds.iter().enumerate() {
        let all: u64 = times.iter().map(|time| time.count).sum();
        if Some(index) == left_out || all == 0 {
            continue;
        }
        kept += 1;
        shares.extend(times.iter().map(|time| (time.ns, time.count as f64 / all as f64)));
    }
    if kept == 0 || count == 0 {
        return None;
    }
    shares.sort_unstable_by_key(|(value, _)| *value);
    let part = f64::from(kept) / count as f64;
    let mut values = Vec::with_capacity(count);
    let (mut missing, mut sum) = (part, 0.0);
    for (value, share) in &shares {
        let (value, mut share) = (*value as f64, *share);
        while share >= missing && values.len() < count {
            values.push((sum + value * missing) / part);
            share -= missing;
            (missing, sum) = (part, 0.0);
        }
        sum += value * share;
        missing -= share;
    }
    // Sums of shares round, so a sliver of the last part may be missing.
    let most = shares.last().map_or(0.0, |(value, _)| *value as f64);
    if values.len() < count {
        values.push((sum + most * missing) / part);
    }
    values.resize(count, most);
    Some(values)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_are_those_worked_by_hand() {
        // Round one has 10 and 20 half each, round two always 40: 10 a quarter, 20 a quarter, 40 a half.
        let first = [CountedTime::new(10, 3), CountedTime::new(20, 3)];
        let rounds: [&[CountedTime]; 3] = [&first, &[CountedTime::new(40, 1000)], &[]];
        assert_eq!(pooled_values(&rounds, None, 4), Some(vec![10.0, 20.0, 40.0, 40.0]));
        assert_eq!(pooled_values(&rounds, None, 2), Some(vec![15.0, 40.0]));
        assert_eq!(pooled_values(&rounds, Some(0), 2), Some(vec![40.0, 40.0]));
        assert_eq!(pooled_values(&rounds, Some(1), 1), Some(vec![15.0]));
        // A part that reaches over two values has their weighted mean.
        let thirds = pooled_values(&rounds[..1], None, 3).unwrap();
        let is_near = |(one, other): (&f64, f64)| (one - other).abs() < 1e-9;
        assert!(thirds.iter().zip([10.0, 15.0, 20.0]).all(is_near), "{thirds:?}");
    }

    #[test]
    fn nothing_has_no_values() {
        assert_eq!(pooled_values(&[], None, 4), None);
        assert_eq!(pooled_values(&[&[], &[CountedTime::new(5, 0)]], None, 4), None);
        assert_eq!(pooled_values(&[&[CountedTime::new(5, 1)]], Some(0), 4), None);
        assert_eq!(pooled_values(&[&[CountedTime::new(5, 1)]], None, 0), None);
    }

    proptest! {
        #[test]
        fn the_mean_is_kept_and_values_ascend(
            rounds in prop::collection::vec(prop::collection::vec((1..1_000_000_u64, 1..50_u64), 1..40), 1..6),
            count in 1..300_usize,
        ) {
            let rounds: Vec<Vec<CountedTime>> = rounds
                .into_iter()
                .map(|times| times.into_iter().map(|(ns, count)| CountedTime { ns, count }).collect())
                .collect();
            let slices: Vec<&[CountedTime]> = rounds.iter().map(Vec::as_slice).collect();
            let values = pooled_values(&slices, None, count).unwrap();
            prop_assert_eq!(values.len(), count);
            prop_assert!(values.is_sorted_by(|one, next| *one <= next + 1e-6));
            let of_round = |times: &Vec<CountedTime>| {
                let all: f64 = times.iter().map(|time| time.count as f64).sum();
                times.iter().map(|time| (time.ns * time.count) as f64).sum::<f64>() / all
            };
            let mean = rounds.iter().map(of_round).sum::<f64>() / rounds.len() as f64;
            let found = values.iter().sum::<f64>() / count as f64;
            prop_assert!((found - mean).abs() < 1e-6 * mean, "{} {}", found, mean);
        }
    }
}
