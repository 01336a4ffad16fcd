//! The loads that a search may choose: equal steps of the logarithm, so that a width is the same number of steps at any load.

/// Steps in the width of the narrowest goal. More steps would place loads more finely than the result needs.
const RUNGS_PER_WIDTH: u32 = 8;

/// A ladder of loads from the smallest to the largest. A rung is the index of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ladder {
    min: f64,
    max: f64,
    top: u32,
}

impl Ladder {
    /// The ladder from `min` to `max`, which are above 0 and not equal, for bounds that are `width` apart.
    pub(crate) fn new(min: f64, max: f64, width: f64) -> Self {
        let step = log_width(width) / f64::from(RUNGS_PER_WIDTH);
        // A width beyond the whole range still needs a rung between the ends.
        let top = ((max / min).ln() / step).ceil().max(2.0) as u32;
        Self { min, max, top }
    }

    /// The highest rung.
    pub(crate) fn top(&self) -> u32 {
        self.top
    }

    /// The load of a rung.
    pub(crate) fn load(&self, rung: u32) -> f64 {
        if rung >= self.top {
            return self.max;
        }
        self.min * (self.step() * f64::from(rung)).exp()
    }

    /// The highest rung whose load is at most `load`; the lowest if none is.
    pub(crate) fn at_most(&self, load: f64) -> u32 {
        if load.is_nan() || load <= self.min {
            return 0;
        }
        // The load of a rung must map to that rung in spite of rounding.
        let rung = ((load / self.min).ln() / self.step() + 1e-6).floor();
        (rung as u32).min(self.top)
    }

    /// The largest number of rungs that are at most `width` apart, as a share of the upper load.
    pub(crate) fn rungs(&self, width: f64) -> u32 {
        ((log_width(width) / self.step() + 1e-6).floor() as u32).max(1)
    }

    /// The rung whose load is nearest.
    pub(crate) fn nearest(&self, load: f64) -> u32 {
        self.at_most(load * (0.5 * self.step()).exp())
    }

    /// The difference of the logarithms of two loads.
    pub(crate) fn step(&self) -> f64 {
        (self.max / self.min).ln() / f64::from(self.top)
    }
}

/// The logarithm of the ratio of two loads that are `width` apart, as a share of the upper one.
fn log_width(width: f64) -> f64 {
    -(1.0 - width).ln()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rungs_ascend_within_the_range_and_are_found_again(
            min in 0.5_f64..1_000.0, factor in 1.01_f64..1e5, width in 0.001_f64..0.3, part in 0.0_f64..1.0,
        ) {
            let ladder = Ladder::new(min, min * factor, width);
            let rung = (f64::from(ladder.top()) * part) as u32;
            let load = ladder.load(rung);
            prop_assert!((min..=min * factor).contains(&load));
            prop_assert_eq!(ladder.at_most(load), rung);
            prop_assert_eq!(ladder.nearest(load), rung);
            if rung < ladder.top() {
                prop_assert!(ladder.load(rung + 1) > load);
                prop_assert_eq!(ladder.at_most(f64::midpoint(load, ladder.load(rung + 1))), rung);
            }
            let above = rung + ladder.rungs(width);
            if above <= ladder.top() {
                let relative = (ladder.load(above) - load) / ladder.load(above);
                prop_assert!(relative <= width + 1e-6, "{relative}");
            }
        }
    }
}
