//! One number of several sittings: as each states it, and combined.

use hoptax_plan::plan::CONFIDENCE;
use hoptax_result::Interval;
use hoptax_stats::{Sitting, random_effects};

use super::error_over_rounds;

/// A number as a sitting states it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stated {
    interval: Interval,
    /// Degrees of freedom of the interval.
    freedom: f64,
    /// The standard error over rounds; none without degrees of freedom.
    standard_error: Option<f64>,
}

/// A number of several sittings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Combined {
    pub(super) interval: Interval,
    /// Degrees of freedom of the interval; infinite for the normal distribution.
    pub(super) freedom: f64,
}

impl Stated {
    /// A number whose interval has so many degrees of freedom and this confidence.
    pub(super) fn new(interval: Interval, freedom: f64, confidence: f64) -> Self {
        Self { interval, freedom, standard_error: error_over_rounds(&interval, freedom, confidence) }
    }
}

/// The combined number: that of the only sitting that states it, or by [`random_effects`] of all whose standard errors are known. None if
/// no sitting states it.
///
/// The interval of a single sitting that looked at its widths is wider than Student's, and stays as it is. The standard error that follows
/// from it is a few per cent larger than that of the sitting.
pub(super) fn combined(stated: &[Stated]) -> Option<Combined> {
    if let [Stated { interval, freedom, .. }] = *stated {
        return Some(Combined { interval, freedom });
    }
    let known = stated.iter().filter_map(|one| {
        Some(Sitting { estimate: one.interval.estimate, standard_error: one.standard_error? })
    });
    let known: Vec<Sitting> = known.collect();
    let found = random_effects(&known, CONFIDENCE)?;
    Some(Combined { interval: found.cost, freedom: found.degrees_of_freedom })
}
