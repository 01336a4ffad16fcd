//! Fortio with jitter: up to a tenth of the gap in either direction.

use super::fortio;
use crate::tool::Tool;

pub(super) const TOOL: Tool = Tool {
    name: "fortio-jitter",
    command: |offer| {
        let mut line = (fortio::TOOL.command)(offer)?;
        if offer.rate.is_none() {
            return Err("jitter requires a rate");
        }
        // The URL is the last argument.
        line.insert(line.len().saturating_sub(1), "-jitter".to_owned());
        Ok(line)
    },
    ..fortio::TOOL
};
