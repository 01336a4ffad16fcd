//! hey: workers in a closed loop, each with a ticker if there is a rate.

use hoptax_result::Latency;

use super::{command_line, words};
use crate::text::{after, number, time_us};
use crate::{Reported, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "hey",
    program: "hey",
    version: "-h",
    command: |offer| {
        let (connections, seconds) = (offer.connections.to_string(), format!("{}s", offer.seconds));
        let mut line = command_line(offer, &["-c", &connections, "-z", &seconds]);
        if let Some(rate) = offer.rate_per_connection() {
            line.extend(words(&["-q", &rate.to_string()]));
        }
        line.push(offer.url.to_owned());
        Ok(line)
    },
    script: None,
    read: |output| {
        let seconds = |mark: &str| after(output.text, mark).and_then(time_us);
        let quantile = |mark: &str| seconds(mark);
        let listed = |title: &str| output.text.split_once(title).map_or("", |(_, rest)| rest).lines().skip(1);
        let bracketed = |line: &str| -> Option<(String, String)> {
            let (inner, rest) = line.trim().strip_prefix('[')?.split_once(']')?;
            Some((inner.to_owned(), rest.to_owned()))
        };
        // A line has a status and its count, or the count of an error and its text.
        let statuses = listed("Status code distribution:")
            .map_while(bracketed)
            .filter_map(|(status, rest)| Some((status, number(&rest)? as u64)));
        let errors = listed("Error distribution:")
            .map_while(bracketed)
            .filter_map(|(count, _)| count.parse::<u64>().ok());
        let (mut answered, mut failed) = (0, errors.sum::<u64>());
        for (status, count) in statuses {
            *if status.as_str() < "4" { &mut answered } else { &mut failed } += count;
        }
        let rate =
            after(output.text, "Requests/sec:").and_then(number).ok_or("`Requests/sec:` is missing")?;
        Ok(Reported {
            connections: None,
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
            ..Reported::default()
        })
    },
    has_statistics: false,
    not_reported: &["intended starts: ticks during a request are lost", "p99.9"],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Output;

    #[test]
    fn output_is_read() {
        let text = include_str!("../../recorded/hey.txt");
        insta::assert_debug_snapshot!((TOOL.read)(&Output::of(text)));
    }

    #[test]
    fn errors_count_as_failed() {
        let text = "Summary:\n  Requests/sec:\t956.2871\n\nStatus code distribution:\n  [200]\t1920 responses\n  [503]\t7 responses\n\n\
                    Error distribution:\n  [5]\tGet \"http://127.0.0.1:1\": dial tcp: connect: connection refused\n  \
                    [40]\tGet \"http://127.0.0.1:1\": [200] of 3 responses\n\n";
        let reported = (TOOL.read)(&Output::of(text)).unwrap();
        assert_eq!((reported.answered, reported.failed), (Some(1_920), Some(52)));
    }
}
