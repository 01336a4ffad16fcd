//! A rule: its fault, the consequence, the severity, and the search.

use std::fmt;

use crate::found::Found;
use crate::proxy::Proxy;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file alone shows that it does not work as it states, or that Envoy refuses it.
    Error,
    /// It fails under conditions that are usual.
    Warning,
    /// A default that the owner should know, or a matter of the surroundings.
    Info,
}

impl Severity {
    /// All, the worst first.
    pub const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Info];

    /// Its name in outputs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

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
    /// Finds it.
    pub(crate) check: fn(&Proxy<'_>) -> Vec<Found>,
}
