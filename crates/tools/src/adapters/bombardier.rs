//! bombardier: a closed loop, or a rate by a token bucket that is refilled every ten milliseconds.

use hoptax_result::{CountRange, Latency};
use serde_json::Value;

use super::command_line::{command_line, words};
use crate::document::{Document, with_fields};
use crate::reported::Reported;
use crate::text::{at, count_at, sum, text_at};
use crate::tool::{Output, Tool};

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
    read,
    has_statistics: false,
    not_reported: &[
        "intended starts: a token is taken when a connection is free",
        "latency of failed requests separately: its times cover all requests",
    ],
};

/// Reads the JSON. Each request is in exactly one counter: that of its status, or `others` if it has none; `errors` lists the reasons. A
/// response with a truncated body has both a status and an error (<https://github.com/codesenberg/bombardier/blob/master/clients.go>), so
/// errors in excess of `others` belong to responses that look answered.
fn read(output: &Output<'_>) -> Result<Reported, String> {
    let layout = "hoptax reads the JSON that bombardier prints with `-o json`";
    let Document { value: result, notes, .. } =
        with_fields(output.result(), &["/result/timeTakenSeconds"], layout)?;
    let us = |name: &str| at(&result, &format!("/result/latency/{name}"));
    let of = |names: &[&str]| -> Option<u64> {
        let counts = names.iter().map(|name| count_at(&result, &format!("/result/{name}")));
        Some(sum(counts.collect::<Option<Vec<u64>>>()?))
    };
    let (answered, failed) = (of(&["req1xx", "req2xx", "req3xx"]), of(&["req4xx", "req5xx", "others"]));
    let errors = result.pointer("/result/errors").and_then(Value::as_array);
    let errors = sum(errors.into_iter().flatten().filter_map(|error| count_at(error, "/count")));
    let broken_off = errors.saturating_sub(of(&["others"]).unwrap_or_default());
    let answered =
        answered.map(|count| CountRange { at_least: count.saturating_sub(broken_off), at_most: count });
    let failed =
        failed.map(|count| CountRange { at_least: count, at_most: count.saturating_add(broken_off) });
    let seconds = at(&result, "/result/timeTakenSeconds");
    let exact = answered.and_then(CountRange::exact);
    Ok(Reported {
        url: text_at(&result, "/spec/url"),
        target: at(&result, "/spec/rate"),
        connections: at(&result, "/spec/numberOfConnections").map(|count| count as u32),
        answered,
        failed,
        rate: exact
            .zip(seconds)
            .filter(|(_, seconds)| *seconds > 0.0)
            .map(|(count, seconds)| count as f64 / seconds),
        rated: exact.map(CountRange::exactly),
        seconds,
        latency: Latency {
            count: answered
                .zip(failed)
                .map_or(0, |(answered, failed)| answered.at_most.saturating_add(failed.at_least)),
            mean_us: us("mean"),
            standard_deviation_us: us("stddev"),
            p50_us: us("percentiles/50"),
            p90_us: us("percentiles/90"),
            p99_us: us("percentiles/99"),
            max_us: us("max"),
            ..Latency::default()
        },
        unread: notes,
        ..Reported::default()
    })
}
