//! bombardier: a closed loop, or a rate by a token bucket that is refilled every ten milliseconds.

use hoptax_result::Latency;

use super::{command_line, words};
use crate::text::{at, json, text_at};
use crate::{Reported, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "bombardier",
    program: "bombardier",
    version: "--version",
    command: |offer| {
        let (connections, seconds) = (offer.connections.to_string(), format!("{}s", offer.seconds));
        let mut line = command_line(
            offer,
            &["-c", &connections, "-d", &seconds, "-t", "30s", "-l", "-p", "r", "-o", "json"],
        );
        if offer.rate.is_some() {
            line.extend(words(&["-r", &offer.whole_rate()?]));
        }
        line.push(offer.url.to_owned());
        Ok(line)
    },
    script: None,
    read: |output| {
        let result = json(output.result())?;
        let us = |name: &str| at(&result, &format!("/result/latency/{name}"));
        let count = |name: &str| at(&result, &format!("/result/{name}")).unwrap_or(0.0) as u64;
        let answered = count("req1xx") + count("req2xx") + count("req3xx");
        let seconds = at(&result, "/result/timeTakenSeconds").ok_or("`timeTakenSeconds` is missing")?;
        Ok(Reported {
            url: text_at(&result, "/spec/url"),
            target: at(&result, "/spec/rate"),
            connections: at(&result, "/spec/numberOfConnections").map(|count| count as u32),
            answered: Some(answered),
            failed: Some(count("req4xx") + count("req5xx") + count("others")),
            rate: (seconds > 0.0).then(|| answered as f64 / seconds),
            seconds: Some(seconds),
            latency: Latency {
                mean_us: us("mean"),
                standard_deviation_us: us("stddev"),
                p50_us: us("percentiles/50"),
                p90_us: us("percentiles/90"),
                p99_us: us("percentiles/99"),
                max_us: us("max"),
                ..Latency::default()
            },
            ..Reported::default()
        })
    },
    has_statistics: false,
    not_reported: &["intended starts: a token is taken when a connection is free", "p99.9"],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Output;

    #[test]
    fn output_is_read() {
        let text = include_str!("../../recorded/bombardier.json");
        insta::assert_debug_snapshot!((TOOL.read)(&Output::of(text)));
    }
}
