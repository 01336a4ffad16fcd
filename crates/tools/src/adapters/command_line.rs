//! Command lines of load generators.

use crate::tool::Offer;

/// The command line: the program and its arguments.
pub(super) fn command_line(offer: &Offer<'_>, arguments: &[&str]) -> Vec<String> {
    std::iter::once(offer.program.display().to_string()).chain(words(arguments)).collect()
}

pub(super) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}
