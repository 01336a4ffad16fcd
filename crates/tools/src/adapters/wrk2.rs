//! wrk2: each connection has its own schedule and catches up with it.

use super::command_line::command_line;
use super::wrk_report;
use crate::reported::Reported;
use crate::tool::Tool;

pub(super) const TOOL: Tool = Tool {
    name: "wrk2",
    program: "wrk2",
    version: "-v",
    command: |offer| match offer.rate {
        None => Err("requires a rate"),
        Some(_) => Ok(command_line(
            offer,
            &[
                "-t1",
                &format!("-c{}", offer.connections),
                &format!("-d{}s", offer.seconds),
                &format!("-R{}", offer.whole_rate()?),
                "--latency",
                offer.url,
            ],
        )),
    },
    script: None,
    read: |output| read(output.text),
    has_statistics: false,
    not_reported: &[
        "latency of the first ten seconds",
        "requests in flight at the end",
        "the number of timeouts: every two seconds it counts all waiting connections, some of them repeatedly",
        "its own waits up to the next millisecond, which it counts as server latency",
    ],
};

/// Parses its output. Latency starts at the time at which the rate of the connection schedules the request (`response_complete` in
/// <https://github.com/giltene/wrk2/blob/master/src/wrk.c>).
pub(super) fn read(text: &str) -> Result<Reported, String> {
    Ok(Reported { is_from_intended_start: true, ..wrk_report::read(text, false)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_runs_without_rates_are_read() {
        let short = read(include_str!("../../recorded/wrk2-short.txt")).unwrap();
        assert_eq!((short.latency.p50_us, short.seconds), (Some(792.0), short.seconds));
    }
}
