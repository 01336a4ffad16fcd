//! The modes of a distribution of times.

/// One mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundMode {
    /// Its lower end: the valley before it, or the smallest value.
    pub low: f64,
    /// Its peak.
    pub peak: f64,
    /// Its upper end.
    pub high: f64,
    /// Share of the values in it, 0 to 1.
    pub share: f64,
}

/// A value, and how often it was recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountedValue {
    /// The value, in any unit.
    pub value: f64,
    /// Its number of occurrences.
    pub count: u64,
}

/// Ratio between adjacent bins: fine enough to separate 50 ms from 60, coarse enough that bins hold values.
const STEP: f64 = 1.06;
/// Weights of the kernel that smooths adjacent bins.
const KERNEL: [f64; 5] = [1.0, 2.0, 3.0, 2.0, 1.0];
/// Least depth of the valley between two modes, as a share of the lower peak.
const VALLEY: f64 = 0.6;
/// Smallest share of the values that counts as a mode.
const LEAST_SHARE: f64 = 0.005;

/// The modes of the positive values, in ascending order.
///
/// **Method.** Values are counted in bins of equal ratio, since latencies spread in ratios, and smoothed over five
/// bins. Every local maximum is a candidate. The lower of two adjacent candidates is merged into the higher one unless
/// the valley between them is below 60 % of its peak, and further below it than counting noise explains (three standard
/// deviations of a Poisson count). A mode with less than half a percent of the values is merged into its neighbour
/// likewise. The method is our own.
///
/// **Degenerate cases.** Empty without positive values.
pub fn modes(values: impl Iterator<Item = CountedValue>) -> Vec<FoundMode> {
    let is_usable = |one: &CountedValue| one.value > 0.0 && one.value.is_finite() && one.count > 0;
    let all: Vec<CountedValue> = values.filter(is_usable).collect();
    let total: u64 = all.iter().map(|one| one.count).sum();
    let bin = |value: f64| (value.ln() / STEP.ln()).floor() as i64;
    let bins = || all.iter().map(|one| bin(one.value));
    let (Some(first), Some(last)) = (bins().min(), bins().max()) else { return Vec::new() };
    let mut counts = vec![0.0; (last - first + 1) as usize];
    for one in &all {
        if let Some(bin_count) = counts.get_mut((bin(one.value) - first) as usize) {
            *bin_count += one.count as f64;
        }
    }
    let smooth = smoothed(&counts);
    let parts = parts(&counts, &smooth, total as f64);
    let edge = |bin: usize| STEP.powi((first + bin as i64) as i32);
    let mode = |part: &Part| FoundMode {
        low: edge(part.from),
        peak: edge(part.peak) * STEP.sqrt(),
        high: edge(part.to),
        share: part.count / total as f64,
    };
    parts.iter().map(mode).collect()
}

/// A range of bins with one peak.
#[derive(Clone, Copy, Debug)]
struct Part {
    from: usize,
    peak: usize,
    /// Exclusive.
    to: usize,
    count: f64,
}

fn smoothed(counts: &[f64]) -> Vec<f64> {
    let reach = KERNEL.len() / 2;
    let at = |bin: usize| -> f64 {
        let near = KERNEL.iter().enumerate().filter_map(|(offset, weight)| {
            (bin + offset).checked_sub(reach).and_then(|near| counts.get(near)).map(|count| weight * count)
        });
        near.sum::<f64>() / KERNEL.iter().sum::<f64>()
    };
    (0..counts.len()).map(at).collect()
}

/// Splits the bins at every valley and merges modes that are not separate.
fn parts(counts: &[f64], smooth: &[f64], total: f64) -> Vec<Part> {
    let height = |bin: usize| smooth.get(bin).copied().unwrap_or_default();
    let part = |from: usize, to: usize| {
        let peak = (from..to).max_by(|a, b| height(*a).total_cmp(&height(*b))).unwrap_or(from);
        Part { from, peak, to, count: counts.get(from..to).unwrap_or_default().iter().sum() }
    };
    let mut cuts = vec![0];
    for bin in 1..counts.len().saturating_sub(1) {
        if height(bin) < height(bin - 1) && height(bin) <= height(bin + 1) {
            cuts.push(bin);
        }
    }
    cuts.push(counts.len());
    let mut parts: Vec<Part> =
        cuts.iter().zip(cuts.iter().skip(1)).map(|(from, to)| part(*from, *to)).collect();
    loop {
        let weakest = (1..parts.len())
            .filter_map(|number| {
                let (left, right) = (*parts.get(number - 1)?, *parts.get(number)?);
                let lower = height(left.peak).min(height(right.peak));
                let valley = (left.peak..=right.peak).map(height).fold(f64::INFINITY, f64::min);
                let is_apart = valley < VALLEY * lower && lower - valley > 3.0 * lower.sqrt();
                let is_small = left.count.min(right.count) < LEAST_SHARE * total;
                (!is_apart || is_small).then_some((number, lower - valley))
            })
            .min_by(|a, b| a.1.total_cmp(&b.1));
        let Some((number, _)) = weakest else { return parts };
        let right = parts.remove(number);
        if let Some(left) = parts.get_mut(number - 1) {
            *left = part(left.from, right.to);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// The modes of samples of the given sizes around each centre, spread by a tenth of it.
    fn found(around: &[(f64, usize)]) -> Vec<FoundMode> {
        let mut random = SmallRng::seed_from_u64(1);
        let values: Vec<CountedValue> = around
            .iter()
            .flat_map(|(centre, count)| std::iter::repeat_n(*centre, *count))
            .map(|centre| {
                let spread: f64 = (0..6).map(|_| random.random_range(-0.1..0.1)).sum();
                CountedValue { value: centre * (1.0 + spread / 2.0), count: 1 }
            })
            .collect();
        modes(values.into_iter())
    }

    #[test]
    fn the_published_case_has_two_modes() {
        let modes = found(&[(15_000.0, 300), (55_000.0, 700)]);
        assert_eq!(modes.len(), 2, "{modes:?}");
        assert!(
            (modes[0].share - 0.3).abs() < 0.01 && (modes[0].peak / 15_000.0 - 1.0).abs() < 0.1,
            "{modes:?}"
        );
        assert!(modes[0].high <= modes[1].low && modes[0].high > 18_000.0, "{modes:?}");
    }

    #[test]
    fn one_mode_stays_one_however_few_or_many_values_it_has() {
        for count in [100, 1_000, 100_000] {
            let modes = found(&[(500.0, count)]);
            assert_eq!(modes.len(), 1, "{count}: {modes:?}");
            assert!((modes[0].share - 1.0).abs() < 1e-9);
        }
        assert!(modes(std::iter::empty()).is_empty());
        let some = [CountedValue { value: 5.0, count: 7 }, CountedValue { value: 0.0, count: 3 }];
        assert_eq!(modes(some.into_iter()).len(), 1);
    }

    #[test]
    fn a_delayed_acknowledgement_is_a_mode_of_its_own() {
        let modes = found(&[(300.0, 10_000), (40_000.0, 200)]);
        assert_eq!(modes.len(), 2, "{modes:?}");
        assert!((modes[1].peak / 40_000.0 - 1.0).abs() < 0.1);
    }
}
