//! Laws that are recovered, and data that have none.

use proptest::prelude::*;

use super::*;

const SIZES: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

fn law([lambda, sigma, kappa]: [f64; 3], size: f64) -> f64 {
    lambda * size / (1.0 + sigma * (size - 1.0) + kappa * size * (size - 1.0))
}

/// Rounds in which all rates are `speeds` times those of the law.
fn points(law_of: impl Fn(f64) -> f64, sizes: &[f64], speeds: &[f64]) -> Vec<SizedRates> {
    let rates = |size: f64| speeds.iter().map(|speed| Some(speed * law_of(size))).collect();
    sizes.iter().map(|size| SizedRates { size: *size, rates: rates(*size) }).collect()
}

const SPEEDS: [f64; 5] = [0.98, 0.99, 1.0, 1.01, 1.02];

fn is_near(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= 1e-6 * expected.abs().max(1e-3)
}

#[test]
fn exact_rates_have_their_law_and_its_peak() {
    let found =
        scalability(&points(|size| law([1_000.0, 0.02, 0.005], size), &SIZES, &SPEEDS), 0.95).unwrap();
    let fit = &found.fit;
    for (interval, truth) in [(fit.lambda, 1_000.0), (fit.sigma, 0.02), (fit.kappa, 0.005)] {
        assert!(is_near(interval.estimate, truth), "{interval:?}");
    }
    // The speed of a round is a factor of all its rates, which only lambda contains.
    assert!(is_near(fit.sigma.low, 0.02) && is_near(fit.kappa.high, 0.005), "{fit:?}");
    assert!(fit.lambda.low < 990.0 && fit.lambda.high > 1_000.0, "{fit:?}");
    // sqrt(0.98 / 0.005) = 14.
    assert_eq!(fit.peak.place, PeakPlace::Within);
    assert!(is_near(fit.peak.size.estimate, 14.0), "{fit:?}");
    assert!(is_near(fit.peak.rate.estimate, law([1_000.0, 0.02, 0.005], 14.0)), "{fit:?}");
    assert_eq!((fit.rounds, fit.is_refuted, found.points.len()), (5, false, SIZES.len()));
    for (size, point) in SIZES.iter().zip(&found.points) {
        assert!(is_near(point.rate.estimate, law([1_000.0, 0.02, 0.005], *size)), "{size}: {point:?}");
        assert!(point.deviation_share.estimate.abs() < 1e-9, "{size}: {point:?}");
    }
}

#[test]
fn nothing_is_stated_beyond_twice_the_largest_size() {
    let of = |numbers: [f64; 3]| {
        scalability(&points(|size| law(numbers, size), &SIZES, &SPEEDS), 0.95).unwrap().fit
    };
    // The law peaks at 98.
    let far = of([100.0, 0.04, 0.0001]);
    assert_eq!(far.peak.place, PeakPlace::Beyond);
    assert!(far.peak.size == Interval::new(64.0, 64.0, 64.0), "{far:?}");
    assert!(is_near(far.peak.rate.estimate, law([100.0, 0.04, 0.0001], 64.0)), "{far:?}");
    let linear = of([100.0, 0.0, 0.0]);
    assert_eq!((linear.peak.place, linear.peak.size.high), (PeakPlace::Beyond, 64.0));
    assert!(linear.sigma.low >= 0.0 && linear.kappa.low >= 0.0, "{linear:?}");
    let falling = of([100.0, 0.9, 0.4]);
    assert_eq!((falling.peak.place, falling.peak.size.estimate), (PeakPlace::Below, 1.0));
    let constant = of([100.0, 1.0, 0.0]);
    assert!(is_near(constant.sigma.estimate, 1.0) && is_near(constant.peak.rate.estimate, 100.0));
}

#[test]
fn numbers_stay_in_their_range_where_rates_do_not_follow_the_law() {
    // Faster than linear: contention would be negative.
    let superlinear = points(|size| 100.0 * size.powf(1.2), &SIZES, &SPEEDS);
    let Scalability { fit, points: fitted } = scalability(&superlinear, 0.95).unwrap();
    assert!(fit.sigma.estimate.abs() < 1e-12 && fit.kappa.estimate.abs() < 1e-12, "{fit:?}");
    let ends = [fitted[0].deviation_share, fitted[5].deviation_share];
    assert!(ends[0].high < -0.1 && ends[1].low > 0.1 && fit.is_refuted, "{fitted:?}");
    // Steeper than any contention.
    let falling = points(|size| 100.0 / size.sqrt(), &SIZES, &SPEEDS);
    let fit = scalability(&falling, 0.95).unwrap().fit;
    assert!(fit.sigma.high <= 1.0 + 1e-12 && fit.kappa.low > 0.0 && fit.is_refuted, "{fit:?}");
}

#[test]
fn too_little_data_is_named() {
    let of = |sizes: &[f64], speeds: &[f64]| scalability(&points(|size| size, sizes, speeds), 0.95).err();
    assert_eq!(of(&[1.0, 2.0, 4.0, 4.0], &SPEEDS), Some(NoScalability::TooFewSizes(3)));
    assert_eq!(of(&SIZES, &[1.0, 1.1, 1.2, 1.3]), Some(NoScalability::TooFewRounds(4)));
    assert_eq!(of(&[0.5, 1.0, 2.0, 3.0], &SPEEDS), Some(NoScalability::OutOfRange));
    assert_eq!(of(&SIZES, &[1.0, 1.0, 1.0, 1.0, 0.0]), Some(NoScalability::OutOfRange));
    assert_eq!(of(&[1e6, 1e6 + 1.0, 1e6 + 2.0, 1e6 + 3.0], &SPEEDS), Some(NoScalability::TooCloseSizes));
    let sound = points(|size| size, &SIZES, &SPEEDS);
    assert_eq!(scalability(&sound, 1.0).err(), Some(NoScalability::OutOfRange));
    assert_eq!(
        NoScalability::TooFewSizes(3).to_string(),
        "3 different sizes are too few for a law with three numbers: it needs 4"
    );
}

/// Rates at sizes from 1,024 say little about the rate at size 1, but a limited fit would claim to know it.
#[test]
fn a_law_that_the_rates_do_not_limit_at_size_1_is_not_fitted() {
    let sizes = [1_024.0, 2_048.0, 4_096.0, 8_192.0];
    let noisy = |round: u32, size: f64| {
        let noise = f64::from((round * 7 + size.log2() as u32 * 3) % 5) - 2.0;
        Some((1.0 + 0.01 * noise) * 1e6 / (1e3 + size))
    };
    let rates = |size: f64| (0..6).map(|round| noisy(round, size)).collect();
    let points: Vec<SizedRates> =
        sizes.iter().map(|size| SizedRates { size: *size, rates: rates(*size) }).collect();
    let none = scalability(&points, 0.95).unwrap_err();
    assert_eq!(none, NoScalability::Unlimited(1.0));
    assert_eq!(none.to_string(), "the rates do not limit the rate that the law has at size 1");
}

#[test]
fn a_round_without_one_of_the_rates_is_left_out() {
    let mut points = points(|size| law([100.0, 0.1, 0.01], size), &SIZES, &[1.0, 1.0, 1.0, 1.0, 1.0, 5.0]);
    points[3].rates[5] = None;
    let fit = scalability(&points, 0.95).unwrap().fit;
    assert!(is_near(fit.lambda.high, 100.0) && fit.rounds == 5, "{fit:?}");
}

/// The sum of squares that the fit minimises.
fn squares(curve: Curve, rates: &[f64]) -> f64 {
    SIZES.iter().zip(rates).map(|(size, rate)| (rate / curve.rate(*size) - 1.0).powi(2)).sum()
}

/// Lambda, sigma and kappa of the fit to rates at [`SIZES`].
fn numbers(rates: &[f64]) -> [f64; 3] {
    let (curve, _) = Curve::fit(&SIZES, rates).unwrap();
    [1.0 / curve.first(), curve.serial / curve.first(), curve.crosstalk / curve.first()]
}

proptest! {
    #[test]
    fn the_law_is_recovered(
        lambda in 1.0..1e6_f64, sigma in 0.0..0.9_f64, kappa in 1e-5..0.1_f64,
    ) {
        let rates = SIZES.map(|size| law([lambda, sigma, kappa], size));
        let numbers = numbers(&rates);
        prop_assert!((numbers[0] / lambda - 1.0).abs() < 1e-6, "{numbers:?}");
        prop_assert!((numbers[1] - sigma).abs() < 1e-6 && (numbers[2] - kappa).abs() < 1e-7, "{numbers:?}");
    }

    #[test]
    fn no_other_curve_is_nearer(
        sigma in 0.0..1.0_f64,
        kappa in 0.0..0.1_f64,
        noise in prop::array::uniform6(0.8..1.25_f64),
        moved in prop::array::uniform3(0.5..2.0_f64),
        added in prop::array::uniform3(0.0..0.01_f64),
    ) {
        let rates: Vec<f64> =
            SIZES.iter().zip(noise).map(|(size, noise)| noise * law([100.0, sigma, kappa], *size)).collect();
        let (best, _) = Curve::fit(&SIZES, &rates).unwrap();
        let other = Curve {
            parallel: best.parallel * moved[0] + added[0],
            serial: best.serial * moved[1] + added[1],
            crosstalk: best.crosstalk * moved[2] + added[2],
        };
        prop_assert!(squares(best, &rates) <= squares(other, &rates) + 1e-9);
        prop_assert!(best.parallel >= 0.0 && best.serial >= 0.0 && best.crosstalk >= 0.0);
    }

    #[test]
    fn another_unit_of_rates_changes_lambda_alone(rates in prop::collection::vec(1.0..100.0_f64, 6)) {
        // A power of two changes no digit.
        let of = |unit: f64| {
            let rates: Vec<f64> = rates.iter().map(|rate| unit * rate).collect();
            numbers(&rates)
        };
        let (one, other) = (of(1.0), of(1_024.0));
        prop_assert!((other[0] / one[0] / 1_024.0 - 1.0).abs() < 1e-12);
        prop_assert!((1..3).all(|number| (other[number] - one[number]).abs() <= 1e-12 * one[number].abs()));
    }
}
