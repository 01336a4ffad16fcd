//! Fortio with its jitter: a tenth of the gap either way.

use super::fortio;
use crate::Tool;

pub(super) const TOOL: Tool = Tool {
    name: "fortio-jitter",
    command: |offer| {
        let mut line = (fortio::TOOL.command)(offer)?;
        if offer.rate.is_none() {
            return Err("jitter needs a rate");
        }
        // Before the URL, which comes last.
        line.insert(line.len().saturating_sub(1), "-jitter".to_owned());
        Ok(line)
    },
    ..fortio::TOOL
};
