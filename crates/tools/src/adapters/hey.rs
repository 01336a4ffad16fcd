//! hey: workers in a closed loop, each with a ticker where there is a rate.

use hoptax_result::Latency;

use super::{called, words};
use crate::text::{after, number, time_us};
use crate::{Reported, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "hey",
    program: "hey",
    version: "-h",
    command: |offer| {
        let (connections, seconds) = (offer.connections.to_string(), format!("{}s", offer.seconds));
        let mut line = called(offer, &["-c", &connections, "-z", &seconds]);
        if let Some(rate) = offer.rate_of_connection() {
            line.extend(words(&["-q", &rate.to_string()]));
        }
        line.push(offer.url.to_owned());
        Ok(line)
    },
    script: None,
    read: |said| {
        let seconds = |mark: &str| after(said.text, mark).and_then(time_us);
        let quantile = |mark: &str| seconds(mark);
        let statuses = said.text.lines().filter_map(|line| {
            let (status, count) = line.trim().strip_prefix('[')?.split_once(']')?;
            Some((status, number(count.split_once("responses")?.0)? as u64))
        });
        let (mut answered, mut failed) = (0, 0);
        for (status, count) in statuses {
            *if status < "4" { &mut answered } else { &mut failed } += count;
        }
        let rate = after(said.text, "Requests/sec:").and_then(number).ok_or("it says nothing of its rate")?;
        Ok(Reported {
            answered: Some(answered),
            failed: Some(failed),
            rate: Some(rate),
            seconds: seconds("Total:").map(|us| us / 1e6),
            latency: Latency {
                min_us: seconds("Fastest:"),
                mean_us: seconds("Average:"),
                p50_us: quantile("50% in "),
                p90_us: quantile("90% in "),
                p99_us: quantile("99% in "),
                max_us: seconds("Slowest:"),
                ..Latency::default()
            },
        })
    },
    unknown: &["planned releases: ticks that come while a worker waits are lost", "p99.9"],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Said;

    #[test]
    fn output_is_read() {
        let text = include_str!("../../recorded/hey.txt");
        insta::assert_debug_snapshot!((TOOL.read)(&Said { text, file: None }));
    }
}
