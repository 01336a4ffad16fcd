//! ab: a closed loop with HTTP/1.0, which Envoy rejects.

use hoptax_result::Latency;

use super::command_line;
use crate::text::{after, number};
use crate::{Reported, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "ab",
    program: "ab",
    version: "-V",
    command: |offer| {
        if offer.rate.is_some() {
            return Err("does not support a rate");
        }
        let (connections, seconds) = (offer.connections.to_string(), offer.seconds.to_string());
        // Without `-n`, it stops after 50,000 requests.
        Ok(command_line(
            offer,
            &["-q", "-k", "-c", &connections, "-t", &seconds, "-n", "100000000", "-s", "30", offer.url],
        ))
    },
    script: None,
    read: |output| {
        let value = |mark: &str| after(output.text, mark).and_then(number);
        let ms = |mark: &str| {
            let line = output.text.lines().find_map(|line| line.trim().strip_prefix(mark))?;
            number(line).map(|ms| ms * 1e3)
        };
        let complete = value("Complete requests:").ok_or("`Complete requests:` is missing")?;
        let failed = value("Failed requests:").unwrap_or(0.0);
        let refused = value("Non-2xx responses:").unwrap_or(0.0);
        let total: Vec<f64> = after(output.text, "Total:")
            .unwrap_or_default()
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        let column = |index: usize| total.get(index).map(|ms| ms * 1e3);
        Ok(Reported {
            connections: value("Concurrency Level:").map(|count| count as u32),
            answered: Some((complete - refused).max(0.0) as u64),
            failed: Some((failed + refused) as u64),
            rate: value("Requests per second:"),
            seconds: value("Time taken for tests:"),
            latency: Latency {
                min_us: column(0),
                mean_us: column(1),
                standard_deviation_us: column(2),
                p50_us: ms("50%"),
                p90_us: ms("90%"),
                p99_us: ms("99%"),
                max_us: column(4),
                ..Latency::default()
            },
            ..Reported::default()
        })
    },
    has_statistics: false,
    not_reported: &["times below a millisecond", "intended starts", "p99.9"],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Output;

    #[test]
    fn output_is_read() {
        let text = include_str!("../../recorded/ab.txt");
        insta::assert_debug_snapshot!((TOOL.read)(&Output::of(text)));
    }
}
