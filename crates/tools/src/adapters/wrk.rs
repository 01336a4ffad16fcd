//! wrk: a closed loop without a rate.

use hoptax_result::Latency;

use super::command_line;
use crate::text::{after, number, time_us};
use crate::{Reported, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "wrk",
    program: "wrk",
    version: "-v",
    command: |offer| match offer.rate {
        Some(_) => Err("does not support a rate"),
        None => Ok(command_line(
            offer,
            &[
                "-t1",
                &format!("-c{}", offer.connections),
                &format!("-d{}s", offer.seconds),
                "--latency",
                offer.url,
            ],
        )),
    },
    script: None,
    read: |output| read(output.text, true),
    has_statistics: false,
    not_reported: &[
        "intended starts: each connection sends the next request after the response",
        "latency of requests in flight at the end, and of those that exceeded its timeout",
    ],
};

/// Parses the output of wrk or wrk2, which have the same format. `counts_late` states whether timeouts are late responses, as in
/// wrk.
pub(super) fn read(text: &str, counts_late: bool) -> Result<Reported, String> {
    let total =
        text.lines().find_map(|line| line.split_once(" requests in ")).ok_or("`requests in` is missing")?;
    let quantile =
        |mark: &str| text.lines().find_map(|line| line.trim().strip_prefix(mark).and_then(time_us));
    let latency: Vec<&str> = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Latency  "))
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let column = |index: usize| latency.get(index).copied().and_then(time_us);
    let requests = number(total.0).map(|count| count as u64);
    let count = |text: Option<&str>| text.and_then(number).map_or(0, |count| count as u64);
    let refused = count(after(text, "Non-2xx or 3xx responses:"));
    let errors = after(text, "Socket errors:").unwrap_or_default();
    let error = |kind: &str| count(errors.split_once(kind).map(|(_, rest)| rest));
    let unanswered = error("connect ") + error("read ") + error("write ");
    // wrk counts a response after the timeout as a request, but not in the latency.
    let late = if counts_late { error("timeout ") } else { 0 };
    // `1 threads and 16 connections`
    let threads = text.lines().find_map(|line| line.trim().strip_suffix(" connections"));
    Ok(Reported {
        url: after(text, " test @ ").map(str::to_owned),
        workers: threads.and_then(|threads| threads.split(' ').next()?.parse().ok()),
        connections: threads.and_then(|threads| threads.rsplit(' ').next()?.parse().ok()),
        answered: requests.map(|requests| requests.saturating_sub(refused + late)),
        failed: Some(refused + unanswered + late),
        rate: after(text, "Requests/sec:").and_then(number),
        seconds: time_us(total.1).map(|us| us / 1e6),
        latency: Latency {
            mean_us: column(0),
            standard_deviation_us: column(1),
            p50_us: quantile("50%").or_else(|| quantile("50.000%")),
            p90_us: quantile("90%").or_else(|| quantile("90.000%")),
            p99_us: quantile("99%").or_else(|| quantile("99.000%")),
            p99_9_us: quantile("99.900%"),
            max_us: column(2),
            ..Latency::default()
        },
        ..Reported::default()
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn output_is_read() {
        insta::assert_debug_snapshot!(super::read(include_str!("../../recorded/wrk.txt"), true));
        assert!(super::read("unable to connect to 127.0.0.1:1 Connection refused\n", true).is_err());
    }

    #[test]
    fn socket_errors_and_late_responses_count_as_failed() {
        let text = "  2 threads and 16 connections\n  100 requests in 2.00s, 3.87MB read\n  Socket errors: connect 1, read 20, write 300, timeout 4\n  \
                    Non-2xx or 3xx responses: 50\nRequests/sec:  50.00\n";
        let wrk = super::read(text, true).unwrap();
        assert_eq!((wrk.answered, wrk.failed, wrk.connections), (Some(46), Some(375), Some(16)));
        let wrk2 = super::read(text, false).unwrap();
        assert_eq!((wrk2.answered, wrk2.failed), (Some(50), Some(371)));
    }
}
