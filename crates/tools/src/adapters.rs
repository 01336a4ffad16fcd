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

pub(crate) use hoptax::withheld_by;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Output;

    #[test]
    fn recorded_outputs_are_read() {
        // Fortio with jitter prints the same as Fortio, and hoptax is tested with its own results.
        for tool in ALL.iter().filter(|tool| !["fortio-jitter", "hoptax"].contains(&tool.name)) {
            let recorded = |ending: &str| {
                let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/recorded");
                std::fs::read_to_string(format!("{folder}/{}.{ending}", tool.name))
            };
            let text = recorded("json").or_else(|_| recorded("txt")).unwrap();
            insta::assert_debug_snapshot!(tool.name, (tool.read)(&Output::new(&text)));
        }
    }
}
