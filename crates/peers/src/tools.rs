//! The list of them.

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

use crate::{Offer, Peer};

/// All of them, hoptax first.
pub const ALL: &[Peer] = &[
    hoptax::PEER,
    wrk::PEER,
    wrk2::PEER,
    fortio::PEER,
    fortio_jitter::PEER,
    nighthawk::PEER,
    h2load::PEER,
    oha::PEER,
    hey::PEER,
    vegeta::PEER,
    k6::PEER,
    bombardier::PEER,
    ab::PEER,
];

/// The program with its arguments.
fn called(offer: &Offer<'_>, arguments: &[&str]) -> Vec<String> {
    std::iter::once(offer.program.display().to_string()).chain(words(arguments)).collect()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}
