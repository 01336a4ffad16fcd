//! The list of adapters.

mod ab;
mod bombardier;
mod command_line;
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
mod wrk_report;

use crate::tool::Tool;

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
