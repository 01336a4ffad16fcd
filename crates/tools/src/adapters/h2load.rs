//! h2load: a closed loop, or a rate per connection in steps of ten milliseconds and more.

use hoptax_result::Latency;

use super::command_line;
use crate::text::{after, number, time_us};
use crate::{Reported, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "h2load",
    program: "h2load",
    version: "--version",
    command: |offer| {
        let (connections, seconds) = (format!("-c{}", offer.connections), format!("-D{}", offer.seconds));
        let mut line = command_line(offer, &["--h1", &connections, &seconds]);
        if let Some(rate) = offer.rate_per_connection() {
            line.push(format!("--rps={rate}"));
        }
        line.push(offer.url.to_owned());
        Ok(line)
    },
    script: None,
    read: |output| {
        let finished = after(output.text, "finished in ").ok_or("`finished in` is missing")?;
        let (time, rest) = finished.split_once(',').ok_or("the time after `finished in` is missing")?;
        let columns: Vec<f64> = after(output.text, "time for request:")
            .unwrap_or_default()
            .split_whitespace()
            .filter_map(time_us)
            .collect();
        let column = |index: usize| columns.get(index).copied();
        let requests = after(output.text, "requests:").unwrap_or_default();
        let count = |word: &str| {
            let before = requests.split_once(word)?.0;
            before.rsplit(',').next().and_then(number).map(|count| count as u64)
        };
        // Clients are printed for each thread.
        let clients = output.text.lines().filter_map(|line| {
            line.strip_prefix("spawning thread #")?.split_once(": ").and_then(|(_, rest)| number(rest))
        });
        Ok(Reported {
            connections: Some(clients.sum::<f64>() as u32).filter(|count| *count > 0),
            answered: count(" succeeded"),
            failed: count(" failed"),
            rate: number(rest),
            seconds: time_us(time).map(|us| us / 1e6),
            latency: Latency {
                min_us: column(0),
                max_us: column(1),
                mean_us: column(2),
                standard_deviation_us: column(3),
                ..Latency::default()
            },
            ..Reported::default()
        })
    },
    has_statistics: false,
    not_reported: &["quantiles", "requests in flight at the end", "intended starts"],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Output;

    #[test]
    fn output_is_read() {
        let text = include_str!("../../recorded/h2load.txt");
        insta::assert_debug_snapshot!((TOOL.read)(&Output::of(text)));
    }
}
