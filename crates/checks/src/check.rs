//! One validity check, and the severity of its findings.

use hoptax_result::{Finding, Severity};

use crate::thresholds::Limits;

/// One validity check of a result of type `R`.
#[derive(Debug)]
pub struct Check<R> {
    /// Id of the check and of its findings.
    pub id: &'static str,
    /// The error that it prevents, in one sentence.
    pub protects_from: &'static str,
    /// The source of the check.
    pub source: &'static str,
    /// Evaluates the evidence.
    pub judge: fn(&R, &Limits) -> Vec<Finding>,
    /// Withholds the numbers that a finding of this check invalidates, if those are not everything in the finding's
    /// scope.
    pub withhold: Option<fn(&mut R, &Finding, &Limits)>,
}

impl<R> Clone for Check<R> {
    fn clone(&self) -> Self {
        *self
    }
}

// A derived one would need a result that can be copied.
impl<R> Copy for Check<R> {}

/// Fail above `fail`, warn above `warn`, otherwise None. NaN fails.
pub(super) fn severity_above(value: f64, warn: f64, fail: f64) -> Option<(Severity, f64)> {
    if value.is_nan() || value > fail {
        Some((Severity::Fail, fail))
    } else if value > warn {
        Some((Severity::Warn, warn))
    } else {
        None
    }
}
