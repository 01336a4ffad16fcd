//! The busy shares at which numbers were measured.

use hoptax_result::percent;

/// Excess over the measured busy shares that needs no warning, since a closed loop reaches 95 to 99 % of a processor. Below them, a part of
/// the lowest one: a proxy that is busy for 9 % of the time is not nearly as busy as one for 12 %.
pub(crate) const NEARLY: f64 = 0.05;

/// True if a number is extrapolated at a busy share.
pub(crate) type IsBeyond = fn(&MeasuredAt, f64) -> bool;

/// The range of busy shares in which all numbers of a proxy were measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MeasuredAt {
    pub(crate) least: f64,
    pub(crate) most: f64,
    /// The busy share of a number that was measured at a single busy share.
    pub(crate) only: Option<f64>,
}

impl MeasuredAt {
    /// From the busy shares of each curve, ascending.
    pub(crate) fn new(shares: &[Vec<f64>]) -> Self {
        let only = shares.iter().find(|shares| shares.len() == 1).and_then(|shares| shares.first());
        Self {
            least: shares.iter().filter_map(|shares| shares.first()).fold(0.0, |most, share| share.max(most)),
            most: shares.iter().filter_map(|shares| shares.last()).fold(1.0, |least, share| share.min(least)),
            only: only.copied(),
        }
    }

    /// Returns true if a value at this busy share is extrapolated: it is the value at the nearest one that was measured.
    pub(crate) fn is_beyond(&self, busy: f64) -> bool {
        self.is_below(busy) || busy > self.most + NEARLY
    }

    /// True if this busy share is below the measured ones.
    pub(crate) fn is_below(&self, busy: f64) -> bool {
        busy < self.least * (1.0 - NEARLY)
    }

    /// As [`Self::is_beyond`], for an arm that was measured under the same loads, which keep arms busy for about the same share of the time.
    pub(crate) fn is_beyond_loads(&self, busy: f64) -> bool {
        busy < self.least - NEARLY || busy > self.most + NEARLY
    }

    /// True if the number that was measured at a single busy share, if there is one, is extrapolated.
    pub(crate) fn is_beyond_only(&self, busy: f64) -> bool {
        self.only.is_some_and(|only| Self { least: only, most: only, only: None }.is_beyond(busy))
    }
}

/// Two different shares in percent, with a decimal if they would read the same without one.
pub(crate) fn apart(one: f64, other: f64) -> [String; 2] {
    let with = |decimals: usize| [one, other].map(|share| percent(share, decimals));
    let [whole, of_other] = with(0);
    if whole == of_other { with(1) } else { [whole, of_other] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_that_differ_read_differently() {
        assert_eq!(apart(0.09, 0.118), ["9 %", "12 %"]);
        assert_eq!(apart(0.1049, 0.0961), ["10.5 %", "9.6 %"]);
    }

    #[test]
    fn a_proxy_that_is_a_little_less_busy_than_measured_ones_is_beyond_them() {
        let measured_at = MeasuredAt::new(&[vec![0.118, 0.38, 0.99], vec![0.125, 0.39, 0.98]]);
        for (busy, expected) in
            [(0.05, true), (0.09, true), (0.1, true), (0.12, false), (0.5, false), (1.0, false)]
        {
            assert_eq!(measured_at.is_beyond(busy), expected, "{busy}");
        }
        // In its own study, an arm may be less busy than the others under the same load.
        assert!(!measured_at.is_beyond_loads(0.1) && measured_at.is_beyond_loads(0.05));
        let only = MeasuredAt::new(&[vec![0.97], vec![0.4, 0.99]]);
        for (busy, expected) in [(0.4, true), (0.9, true), (0.95, false), (1.0, false)] {
            assert_eq!((only.is_beyond(busy), only.is_beyond_only(busy)), (expected, expected), "{busy}");
        }
        assert!(!measured_at.is_beyond_only(0.0));
    }
}
