//! The busy shares at which numbers were measured.

/// Excess over the measured busy shares that needs no warning, since a closed loop reaches 95 to 99 % of a processor.
pub(crate) const NEARLY: f64 = 0.05;

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

    /// Returns true if a value at this busy share is extrapolated.
    pub(crate) fn is_beyond(&self, busy: f64) -> bool {
        self.only.is_some_and(|only| (busy - only).abs() > NEARLY)
            || busy < self.least - NEARLY
            || busy > self.most + NEARLY
    }
}
