//! A rule: what it looks for, why, how bad that is, and how it finds it.

use crate::found::Found;
use crate::proxy::Proxy;

pub use hoptax_result::LintSeverity as Severity;

/// A rule: what it looks for, and why.
#[derive(Debug)]
pub struct Rule {
    /// Its name in outputs and in comments that allow a finding.
    pub id: &'static str,
    /// How bad its findings are.
    pub severity: Severity,
    /// What it finds, in a few words.
    pub title: &'static str,
    /// What happens because of it, and where it happened.
    pub why: &'static str,
    /// What to do.
    pub cure: &'static str,
    /// Where this is known from.
    pub source: &'static str,
    /// Finds it.
    pub(crate) check: fn(&Proxy<'_>) -> Vec<Found>,
}
