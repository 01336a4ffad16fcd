//! The curve of the law as three times, and its fit to rates.

use super::Reach;

/// The law as times in seconds: `N / X(N) = parallel + serial N + crosstalk N (N - 1)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Curve {
    pub(super) parallel: f64,
    pub(super) serial: f64,
    pub(super) crosstalk: f64,
}

/// Selection of the three times that a fit has; the others are zero.
pub(super) type Support = [bool; 3];

/// All times, of any sign.
pub(super) const ALL: Support = [true; 3];

/// The choices of times that are not zero. Crosstalk alone has no finite rate at size 1.
const SUPPORTS: [Support; 6] = [
    [true, false, false],
    [false, true, false],
    [true, true, false],
    [true, false, true],
    [false, true, true],
    ALL,
];

impl Curve {
    /// The curve with the least sum of squares of relative deviations whose times are not negative, and the times that it has;
    /// None if a sum overflows.
    pub(super) fn fit(sizes: &[f64], rates: &[f64]) -> Option<(Self, Support)> {
        let equations = Equations::new(sizes, rates);
        let of_support = |support: &Support| {
            let times = equations.solve(*support)?;
            let is_valid = times.iter().zip(support).all(|(time, is_in)| !is_in || *time > 0.0);
            let explained: f64 = times.iter().zip(equations.sums).map(|(time, sum)| time * sum).sum();
            is_valid.then_some((times, *support, explained))
        };
        let best = SUPPORTS.iter().filter_map(of_support).max_by(|one, other| one.2.total_cmp(&other.2));
        let (times, support, _) = best.filter(|(_, _, explained)| explained.is_finite())?;
        Some((equations.curve(times), support))
    }

    /// The curve with the least sum of squares whose times in `support` have any sign; None if two of them cannot be told apart.
    pub(super) fn free(sizes: &[f64], rates: &[f64], support: Support) -> Option<Self> {
        let equations = Equations::new(sizes, rates);
        Some(equations.curve(equations.solve(support)?))
    }

    /// Its three times, in seconds.
    pub(super) fn times(self) -> [f64; 3] {
        [self.parallel, self.serial, self.crosstalk]
    }

    /// Seconds per request at size 1.
    pub(super) fn first(self) -> f64 {
        self.parallel + self.serial
    }

    pub(super) fn rate(self, size: f64) -> f64 {
        1.0 / product(self.times(), per_request(size))
    }

    /// The size from which the rate falls: `sqrt((1 - sigma) / kappa)`. Infinite if it rises forever, and 0 if it never rises.
    pub(super) fn turn(self) -> f64 {
        if self.parallel <= 0.0 {
            0.0
        } else if self.crosstalk > 0.0 {
            (self.parallel / self.crosstalk).sqrt()
        } else {
            f64::INFINITY
        }
    }

    /// The size within `reach` with the least time per request, for times of any sign.
    pub(super) fn fastest(self, reach: Reach) -> f64 {
        let time = |size: &f64| product(self.times(), per_request(*size));
        let sizes = [self.turn().clamp(reach.least, reach.most), reach.least, reach.most];
        sizes.into_iter().min_by(|one, other| time(one).total_cmp(&time(other))).unwrap_or(reach.most)
    }
}

/// The shares of the three times in the seconds per request at a size, `1 / X(N)`.
pub(super) fn per_request(size: f64) -> [f64; 3] {
    [1.0 / size, 1.0, size - 1.0]
}

/// The sum of the products of two lists.
pub(super) fn product(one: [f64; 3], other: [f64; 3]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// The normal equations of a fit, on equal scales, so that one limit recognizes equal columns for all sizes.
struct Equations {
    products: [[f64; 3]; 3],
    sums: [f64; 3],
    scales: [f64; 3],
}

impl Equations {
    fn new(sizes: &[f64], rates: &[f64]) -> Self {
        let mut products = [[0.0; 3]; 3];
        let mut sums = [0.0; 3];
        for (size, rate) in sizes.iter().zip(rates) {
            // A relative deviation is the sum of these, each times its time in seconds, less one.
            let factors = per_request(*size).map(|share| rate * share);
            for ((products, sum), factor) in products.iter_mut().zip(&mut sums).zip(factors) {
                *sum += factor;
                products.iter_mut().zip(factors).for_each(|(product, other)| *product += factor * other);
            }
        }
        let scales: [f64; 3] = std::array::from_fn(|index| products[index][index].sqrt());
        Self {
            products: std::array::from_fn(|row| {
                std::array::from_fn(|column| products[row][column] / scales[row] / scales[column])
            }),
            sums: std::array::from_fn(|index| sums[index] / scales[index]),
            scales,
        }
    }

    /// The scaled times in `support`; the others are zero. None if two columns cannot be told apart.
    fn solve(&self, support: Support) -> Option<[f64; 3]> {
        // The diagonal of the products is 1.
        let mut rows: [[f64; 4]; 3] = std::array::from_fn(|row| {
            std::array::from_fn(|column| match (support[row], column) {
                (_, column) if column == row => 1.0,
                (true, 3) => self.sums[row],
                (true, column) if support[column] => self.products[row][column],
                _ => 0.0,
            })
        });
        for index in 0..3 {
            let pivot = rows[index];
            if pivot[index] < 1e-12 {
                return None;
            }
            for (_, row) in rows.iter_mut().enumerate().filter(|(other, _)| *other != index) {
                let factor = row[index] / pivot[index];
                row.iter_mut().zip(pivot).for_each(|(value, pivot)| *value -= factor * pivot);
            }
        }
        Some(std::array::from_fn(|index| rows[index][3] / rows[index][index]))
    }

    fn curve(&self, times: [f64; 3]) -> Curve {
        let [parallel, serial, crosstalk] = std::array::from_fn(|index| times[index] / self.scales[index]);
        Curve { parallel, serial, crosstalk }
    }
}
