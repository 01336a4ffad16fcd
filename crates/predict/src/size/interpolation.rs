//! Linear interpolation between measured numbers.

use hoptax_stats::Weighted;

/// The number at `at` as a weighted sum of points: the nearest points on both sides with linear weights, or the first or last point alone
/// outside of all points. `points` ascend by `place`.
pub(crate) fn weighted<T>(
    points: &[T],
    place: impl Fn(&T) -> f64,
    at: f64,
) -> impl Iterator<Item = Weighted<&T>> {
    let after = points.iter().position(|point| place(point) >= at).unwrap_or(points.len());
    let before = after.checked_sub(1).and_then(|number| points.get(number));
    let weights = match (before, points.get(after)) {
        (Some(low), Some(high)) => {
            let share = (at - place(low)) / (place(high) - place(low));
            [Some(Weighted::new(1.0 - share, low)), Some(Weighted::new(share, high))]
        }
        (Some(only), None) | (None, Some(only)) => [Some(Weighted::new(1.0, only)), None],
        (None, None) => [None, None],
    };
    weights.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::weighted;

    #[test]
    fn numbers_lie_on_straight_lines_between_points_and_are_level_outside() {
        let points = [(0.2, 10.0), (0.4, 20.0), (0.8, 16.0)];
        let at = |at: f64| {
            weighted(&points, |point| point.0, at).map(|part| part.weight * part.value.1).sum::<f64>()
        };
        for (place, expected) in
            [(0.0, 10.0), (0.2, 10.0), (0.3, 15.0), (0.4, 20.0), (0.7, 17.0), (0.8, 16.0), (1.0, 16.0)]
        {
            assert!((at(place) - expected).abs() < 1e-12, "{place}: {}", at(place));
        }
        assert_eq!(weighted(&points[..0], |point| point.0, 0.5).count(), 0);
    }
}
