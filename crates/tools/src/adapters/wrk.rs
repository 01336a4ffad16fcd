//! wrk: a closed loop, as fast as the server answers.

use hoptax_result::Latency;

use super::called;
use crate::text::{after, number, time_us};
use crate::{Reported, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "wrk",
    program: "wrk",
    version: "-v",
    command: |offer| match offer.rate {
        Some(_) => Err("it has no rate"),
        None => Ok(called(
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
    read: |said| read(said.text),
    unknown: &[
        "planned releases: each connection sends when it is answered",
        "requests in flight at the end, and those that took longer than its timeout, are in no latency",
    ],
};

/// Output of wrk; that of wrk2 has the same shape.
pub(super) fn read(text: &str) -> Result<Reported, String> {
    let total = text
        .lines()
        .find_map(|line| line.split_once(" requests in "))
        .ok_or("it says nothing of its requests")?;
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
    let refused = after(text, "Non-2xx or 3xx responses:").and_then(number).map_or(0, |count| count as u64);
    Ok(Reported {
        answered: requests.map(|requests| requests.saturating_sub(refused)),
        failed: Some(refused),
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
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn output_is_read() {
        insta::assert_debug_snapshot!(super::read(include_str!("../../recorded/wrk.txt")));
        assert!(super::read("unable to connect to 127.0.0.1:1 Connection refused\n").is_err());
    }
}
