//! Finds faults in the file of an Envoy configuration. Each rule states a real incident, and many rules have a fix.
//!
//! [`lint`] applies all rules of [`ALL`] to a configuration that `hoptax_bootstrap` read; [`mend()`] changes its texts. Nothing here opens
//! a file.

mod allowances;
mod allowed;
mod finding;
mod found;
mod mend;
pub mod output;
mod proxy;
mod rule;
mod rules;

// Tests of the public interface are part of the unit test program, because each further program links all libraries again.
#[cfg(test)]
extern crate self as hoptax_lint;
#[cfg(test)]
#[path = "../tests/main.rs"]
mod linting;

pub use allowances::Allowances;
pub use finding::Finding;
pub use found::{Change, Found, Price};
pub use mend::{Mended, Refused, in_file, mend};
pub use rule::{Rule, Severity};
pub use rules::ALL;

use hoptax_bootstrap::Partly;

use crate::allowed::allow_by_comments;
use crate::proxy::Proxy;

/// Findings of a configuration, the most severe first, then by their places.
#[derive(Clone, Debug, Default)]
pub struct Linted {
    /// The findings that nothing allows.
    pub findings: Vec<Finding>,
    /// The findings that a comment or a file of allowances allows, with the reason.
    pub allowed: Vec<(Finding, String)>,
}

impl Linted {
    /// Adds to each finding its price: the cost of a function in words, if the list has it. Returns the number of prices.
    pub fn add_prices(&mut self, cost: &dyn Fn(&str) -> Option<String>) -> usize {
        let mut added = 0;
        let allowed = self.allowed.iter_mut().map(|(finding, _)| finding);
        for finding in self.findings.iter_mut().chain(allowed) {
            let (what, arm) = match finding.found.price {
                Some(Price::OfFault(arm)) => ("it costs", arm),
                Some(Price::OfCure(arm)) => ("the cure costs", arm),
                None => continue,
            };
            if let Some(cost) = cost(arm) {
                finding.found.message += &format!("; {what} {cost}");
                added += 1;
            }
        }
        added
    }
}

/// Applies all rules to a configuration, and the comments in its texts that allow findings.
pub fn lint(read: &Partly) -> Linted {
    let proxy = Proxy::new(read);
    let mut findings = Vec::new();
    for rule in ALL {
        let mut found = Vec::new();
        (rule.check)(&proxy, &mut found);
        findings.extend(found.into_iter().map(|found| Finding::new(rule, found, &read.configuration)));
    }
    let mut linted = allowed::sort_out(findings, &read.configuration);
    linted.findings.sort_by(|one, other| one.order().cmp(&other.order()));
    // A YAML alias repeats findings about its node.
    linted.findings.dedup_by(|one, other| one.is_like(other));
    linted
}

/// Like [`lint()`], for a bootstrap that was rendered from another file, given by its name and text. Findings refer to lines of that file,
/// which `line` returns for pointers of the bootstrap, and comments in that file allow findings.
pub fn lint_generated(read: &Partly, name: &str, file: &str, line: &dyn Fn(&str) -> u64) -> Linted {
    let mut linted = lint(read);
    for finding in &mut linted.findings {
        finding.place.line = line(&finding.found.at);
        finding.place.column = 0;
    }
    // Several routes of a listener have the same line there.
    linted.findings.sort_by(|one, other| one.order().cmp(&other.order()));
    linted.findings.dedup_by(|one, other| one.is_like(other));
    allow_by_comments(linted, name, file)
}

/// The rule with this id.
pub fn rule(id: &str) -> Option<&'static Rule> {
    ALL.iter().copied().find(|rule| rule.id == id)
}
