//! Detects the end of the warm-up in a series.

/// Fewest values that must be left after truncation.
const REST: usize = 10;

/// Returns the number of first values to discard as warm-up: the number `d` that minimises the squared standard error
/// of the mean of the rest.
///
/// **Method.** MSER (K. P. White, "An effective truncation heuristic for bias reduction in simulation output",
/// *Simulation* 69, 1997): minimise `sum((y[i] - mean)^2 for i > d) / (n - d)^2`. The values should already be batch
/// means. A steady series gives a small `d`; if the best `d` lies in the second half, the series shows no steady
/// state. At least ten values are left, since otherwise chance agreement of the last two or three would decide.
///
/// **Degenerate cases.** `None` with fewer than twenty values, and when a value is not finite.
pub fn truncation(values: &[f64]) -> Option<usize> {
    if values.len() < 2 * REST || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let error = |rest: &[f64]| {
        let count = rest.len() as f64;
        let mean = rest.iter().sum::<f64>() / count;
        rest.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count * count)
    };
    let candidates = (0..=values.len() - REST).filter_map(|first| Some((first, error(values.get(first..)?))));
    candidates.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(first, _)| first)
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn noise(seed: u64, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut random = SmallRng::seed_from_u64(seed);
        (0..100).map(|number| level(number) + random.random_range(-1.0..1.0)).collect()
    }

    #[test]
    fn a_steady_series_is_kept_almost_whole() {
        let late = (0..200).filter(|seed| truncation(&noise(*seed, |_| 10.0)).unwrap() > 50).count();
        assert!(late <= 4, "{late} of 200 steady series were taken for unsteady ones");
    }

    #[test]
    fn a_warm_up_is_cut_off_and_a_late_change_shows() {
        let warm_up = truncation(&noise(1, |number| if number < 20 { 20.0 } else { 10.0 })).unwrap();
        assert!((19..=25).contains(&warm_up), "{warm_up}");
        let late = truncation(&noise(2, |number| if number < 70 { 10.0 } else { 15.0 })).unwrap();
        assert!(late >= 70, "{late}");
        assert_eq!(truncation(&[1.0; 19]), None);
    }
}
