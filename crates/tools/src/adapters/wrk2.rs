//! wrk2: each connection has a schedule of its own, and catches up.

use super::{called, wrk};
use crate::Tool;

pub(super) const TOOL: Tool = Tool {
    name: "wrk2",
    program: "wrk2",
    version: "-v",
    command: |offer| match offer.rate {
        None => Err("it needs a rate"),
        Some(_) => Ok(called(
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
    read: |output| wrk::read(output.text, false),
    unknown: &[
        "the first ten seconds, which are in no latency",
        "requests in flight at the end",
        "requests that timed out: every two seconds it counts all connections that wait, and may count one again",
        "waits to the millisecond, which count as latency of the server",
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Output;

    #[test]
    fn output_is_read_short_runs_without_rates_too() {
        let read = |text| (TOOL.read)(&Output { text, file: None });
        insta::assert_debug_snapshot!(read(include_str!("../../recorded/wrk2.txt")));
        let short = read(include_str!("../../recorded/wrk2-short.txt")).unwrap();
        assert_eq!((short.latency.p50_us, short.seconds), (Some(792.0), short.seconds));
    }
}
