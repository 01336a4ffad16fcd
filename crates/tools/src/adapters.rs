//! The list of adapters.

mod ab;
mod bombardier;
mod fortio;
mod fortio_jitter;
mod h2load;
mod hey;
mod hoptax;
mod k6;
mod nighthawk;
mod oha;
mod vegeta;
mod wrk;
mod wrk2;

use crate::{Offer, Tool};

/// All adapters, hoptax first.
pub const ALL: &[Tool] = &[
    hoptax::TOOL,
    wrk::TOOL,
    wrk2::TOOL,
    fortio::TOOL,
    fortio_jitter::TOOL,
    nighthawk::TOOL,
    h2load::TOOL,
    oha::TOOL,
    hey::TOOL,
    vegeta::TOOL,
    k6::TOOL,
    bombardier::TOOL,
    ab::TOOL,
];

/// The command line: the program and its arguments.
fn command_line(offer: &Offer<'_>, arguments: &[&str]) -> Vec<String> {
    std::iter::once(offer.program.display().to_string()).chain(words(arguments)).collect()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}
