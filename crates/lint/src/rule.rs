//! A rule: its fault, the consequence, the severity, and the check.

use crate::found::Found;
use crate::proxy::Proxy;

pub use hoptax_result::LintSeverity as Severity;

/// A rule: its fault, and the consequence.
#[derive(Debug)]
pub struct Rule {
    /// Its name in outputs and in comments that allow a finding.
    pub id: &'static str,
    /// The severity of its findings.
    pub severity: Severity,
    /// The fault that it finds, in a few words.
    pub title: &'static str,
    /// The consequence of the fault, and a place where it happened.
    pub why: &'static str,
    /// The cure.
    pub cure: &'static str,
    /// The source.
    pub source: &'static str,
    /// Finds the fault in a configuration, and adds each place to the list.
    pub(crate) check: fn(&Proxy<'_>, &mut Vec<Found>),
}

impl Rule {
    /// Returns true if the fault lets a stranger control the proxy, pass its access rules or take the place of a server. Such a finding
    /// precedes others of its severity.
    pub(crate) fn opens_to_strangers(&self) -> bool {
        ["admin-exposed", "path-not-normalised", "tls-any-name", "tls-unverified"].contains(&self.id)
    }
}
