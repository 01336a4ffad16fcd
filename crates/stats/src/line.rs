//! A cost over a quantity that differs between arms: its slope, and how far it is from a straight line.

use hoptax_result::Interval;

use crate::{CostRounds, costs_by_round, mean_over_rounds};

/// An arm on a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The quantity, in any unit.
    pub quantity: f64,
    /// The differences of the arm.
    pub rounds: CostRounds,
}

/// A line over the quantities of several arms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Cost per unit of the quantity.
    pub slope: Interval,
    /// Distance of the cost below a straight line half-way between the smallest and the largest quantity, in the unit of
    /// the cost; negative if it is above.
    pub sag: Interval,
    /// The cost that the slope adds from the smallest to the largest quantity.
    pub rise: f64,
    /// Rounds in which all arms were observed.
    pub rounds: u32,
}

/// The line over `points`, with `confidence` intervals.
///
/// **Method.** Each round is reduced to one cost per arm, as for [`crate::paired_cost_of_copies`]. In each round, the slope is
/// that of the least-squares line with an intercept over the arms. The sag is a quarter of the quadratic coefficient of the
/// least-squares parabola times the square of the range: the distance between chord and parabola at the middle. Over rounds,
/// [`mean_over_rounds`] of slopes, and of sags.
///
/// **Source.** J. N. S. Matthews, D. G. Altman, M. J. Campbell and P. Royston, "Analysis of serial measurements in medical
/// research", BMJ 300, 1990, 230-235: observations of one unit at several values of a quantity share its error, so each unit
/// is first reduced to a slope, and units are then compared. The unit here is the round.
///
/// **Why not one regression over all rounds.** Its interval treats the costs of a round as independent, but arms of a round share drift and
/// the error of the arm that they are compared with. A common error moves the intercept of the round, which neither slope nor sag contains.
/// `tests/line_coverage.rs` simulates shared errors and levels that live as long as a process: the 95 % intervals cover the true slope and
/// the true sag in 93 to 97 % of studies.
///
/// **Degenerate cases.** Rounds in which an arm has no difference are left out. `None` with fewer than three different
/// quantities, with quantities that are not finite, and as for [`crate::paired_cost`].
pub fn line(points: &[Point], confidence: f64) -> Option<Line> {
    let quantities: Vec<f64> = points.iter().map(|point| point.quantity).collect();
    let weights = Weights::new(&quantities)?;
    let costs = points.iter().map(|point| costs_by_round(&point.rounds));
    let costs: Vec<Vec<Option<f64>>> = costs.collect::<Option<_>>()?;
    let rounds = costs.iter().map(Vec::len).max()?;
    let of_round = |round: usize| -> Option<Vec<f64>> {
        costs.iter().map(|of_arm| of_arm.get(round).copied().flatten()).collect()
    };
    let rounds: Vec<Vec<f64>> = (0..rounds).filter_map(of_round).collect();
    let over = |weights: &[f64]| {
        let sums: Vec<f64> = rounds
            .iter()
            .map(|costs| costs.iter().zip(weights).map(|(cost, weight)| cost * weight).sum())
            .collect();
        mean_over_rounds(&sums, confidence)
    };
    let slope = over(&weights.slope)?;
    Some(Line {
        slope,
        sag: over(&weights.sag)?,
        rise: slope.estimate * weights.range,
        rounds: rounds.len() as u32,
    })
}

/// The weights of the costs in slope and sag, which are weighted sums of costs.
struct Weights {
    slope: Vec<f64>,
    sag: Vec<f64>,
    range: f64,
}

impl Weights {
    fn new(quantities: &[f64]) -> Option<Self> {
        let least = quantities.iter().copied().fold(f64::INFINITY, f64::min);
        let range = quantities.iter().copied().fold(f64::NEG_INFINITY, f64::max) - least;
        if !(range > 0.0 && range.is_finite()) {
            return None;
        }
        // Scaled to a range of 1, the squares of large quantities lose no digits.
        let scaled: Vec<f64> = quantities.iter().map(|quantity| (quantity - least) / range).collect();
        let linear = centred(&scaled);
        let squares = centred(&scaled.iter().map(|quantity| quantity * quantity).collect::<Vec<f64>>());
        let along = product(&squares, &linear) / product(&linear, &linear);
        // The part of the squares that a straight line does not contain.
        let bent: Vec<f64> =
            squares.iter().zip(&linear).map(|(square, linear)| square - along * linear).collect();
        let (of_linear, of_bent) = (product(&linear, &linear), product(&bent, &bent));
        // With two different quantities, nothing but rounding is left.
        if of_bent < 1e-12 {
            return None;
        }
        Some(Self {
            slope: linear.iter().map(|linear| linear / of_linear / range).collect(),
            sag: bent.iter().map(|bent| bent / of_bent / 4.0).collect(),
            range,
        })
    }
}

fn centred(values: &[f64]) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| value - mean).collect()
}

fn product(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Rounds with one difference each.
    fn point(quantity: f64, costs: &[f64]) -> Point {
        Point { quantity, rounds: costs.iter().map(|cost| vec![vec![*cost]]).collect() }
    }

    #[test]
    fn a_straight_line_has_its_slope_and_no_sag() {
        let points = [0.0, 10.0, 40.0, 100.0].map(|x| point(x, &[5.0 + 0.3 * x, 6.0 + 0.5 * x]));
        let line = line(&points, 0.95).unwrap();
        assert!((line.slope.estimate - 0.4).abs() < 1e-12 && (line.rise - 40.0).abs() < 1e-9, "{line:?}");
        assert!(line.sag.estimate.abs() < 1e-9, "{line:?}");
        assert_eq!(line.rounds, 2);
        // The slopes of the rounds are 0.3 and 0.5.
        assert!((line.slope.half_width() - 12.706_205 * 0.1).abs() < 1e-6, "{line:?}");
    }

    #[test]
    fn the_sag_is_the_distance_between_chord_and_parabola() {
        // At 0, 1 and 2 the squares are 0, 1 and 4; the chord is at 2 in the middle.
        let points = [0.0, 1.0, 2.0].map(|x| point(x, &[x * x, x * x + 1.0]));
        let line = line(&points, 0.95).unwrap();
        assert!(
            (line.sag.estimate - 1.0).abs() < 1e-12 && (line.slope.estimate - 2.0).abs() < 1e-12,
            "{line:?}"
        );
    }

    #[test]
    fn a_round_without_one_of_the_arms_is_left_out() {
        let mut points = [0.0, 1.0, 2.0].map(|x| point(x, &[x, 2.0 * x, 9.0 * x])).to_vec();
        points[1].rounds[2].clear();
        let line = line(&points, 0.95).unwrap();
        assert!((line.slope.estimate - 1.5).abs() < 1e-12 && line.rounds == 2, "{line:?}");
    }

    #[test]
    fn degenerate_input_has_no_line() {
        let of = |quantities: &[f64]| {
            let points: Vec<Point> = quantities.iter().map(|x| point(*x, &[1.0, 2.0])).collect();
            line(&points, 0.95)
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[1.0, 1.0, 1.0]), None);
        assert_eq!(of(&[0.0, 5.0, 5.0]), None, "two quantities");
        assert_eq!(of(&[0.0, 1.0, f64::NAN]).map(|line| line.rounds), None);
        assert_eq!(
            line(&[point(0.0, &[1.0]), point(1.0, &[1.0]), point(2.0, &[1.0])], 0.95),
            None,
            "one round"
        );
    }

    proptest! {
        #[test]
        fn a_common_error_of_a_round_changes_nothing(
            errors in prop::collection::vec(-50.0..50.0_f64, 3), slope in -5.0..5.0_f64, bend in -1.0..1.0_f64,
        ) {
            let quantities = [0.0, 1.0, 5.0, 20.0];
            let with = |errors: &[f64]| {
                let at = |x: f64| errors.iter().map(|error| error + slope * x + bend * x * x).collect::<Vec<f64>>();
                line(&quantities.map(|x| point(x, &at(x))), 0.95).unwrap()
            };
            let (own, plain) = (with(&errors), with(&[0.0; 3]));
            prop_assert!((own.slope.estimate - plain.slope.estimate).abs() < 1e-9);
            prop_assert!((own.sag.estimate - plain.sag.estimate).abs() < 1e-9);
            prop_assert!((own.sag.estimate - bend * 100.0).abs() < 1e-9);
        }
    }
}
