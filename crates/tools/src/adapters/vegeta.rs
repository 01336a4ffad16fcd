//! vegeta: a constant rate with as many workers as needed.

use hoptax_result::{CountRange, Latency, ungrouped};

use super::command_line::words;
use crate::document::{Document, with_fields};
use crate::reported::{Reported, Sum};
use crate::text::{at, counts_at, needed_count, part, rest, sum, text_at};
use crate::tool::{Output, RESULT, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "vegeta",
    program: "vegeta",
    version: "-version",
    command: |offer| {
        // It supports whole numbers of requests per arbitrary time unit; 0 means no limit.
        let rate = match offer.rate {
            None => "0".to_owned(),
            Some(rate) => offer.whole_rate().unwrap_or_else(|_| format!("1/{}ns", ungrouped(1e9 / rate, 0))),
        };
        // `-connections` limits only idle connections, so without a rate, the number of workers must be limited instead.
        let limit =
            if offer.rate.is_none() { format!(" -max-workers {}", offer.connections) } else { String::new() };
        let program = offer.program.display();
        let script = format!(
            "echo \"GET $1\" | '{program}' attack -rate {rate} -duration {}s -timeout 30s -connections {}{limit} > \
             \"$2.gob\" && '{program}' report -type json \"$2.gob\" > \"$2\"",
            offer.seconds, offer.connections
        );
        Ok(words(&["sh", "-c", &script, "sh", offer.url, &offer.file(RESULT)]))
    },
    script: None,
    read,
    has_statistics: false,
    not_reported: &[
        "time between the intended start and the start by a worker",
        "the number of connections, which is unlimited",
        "quantiles other than those that a t-digest estimates",
    ],
};

/// Reads the JSON. Successes are requests with a status from 200 to 399; requests without a response have status 0
/// (<https://github.com/tsenart/vegeta/blob/master/lib/metrics.go>). `rate` counts requests until the last one was sent, `throughput`
/// successes until the last response. Releases before 8 have no `throughput`.
fn read(output: &Output<'_>) -> Result<Reported, String> {
    let layout = "hoptax reads the JSON of `vegeta report -type json`, but neither its text nor the output of `vegeta encode`";
    let Document { value: result, notes, .. } =
        with_fields(output.result(), &["/requests", "/latencies"], layout)?;
    let requests = needed_count(&result, "/requests")?;
    let us = |name: &str| at(&result, &format!("/latencies/{name}")).map(|ns| ns / 1e3);
    let statuses = counts_at(&result, "/status_codes");
    let share = at(&result, "/success");
    let is_success = |status: &str| status.parse().is_ok_and(|status: u16| (200..400).contains(&status));
    let by_status = statuses
        .as_ref()
        .map(|all| sum(all.iter().filter(|(status, _)| is_success(status)).map(|(_, count)| *count)));
    let by_share = share.and_then(|share| part(requests, share));
    let mut sums = Vec::new();
    if let Some(all) = &statuses {
        let parts = sum(all.iter().map(|(_, count)| *count));
        sums.push(Sum::all("with a status code", parts, requests));
    }
    if let (Some(parts), Some(whole)) = (by_status, by_share) {
        sums.push(Sum { name: "successes by status code, by the share of successes", parts, whole });
    }
    // Without either, the outcomes are unknown.
    let answered = by_status.map(CountRange::exactly).or(by_share);
    let answered = answered.unwrap_or(CountRange { at_least: 0, at_most: requests });
    let ns = |name: &str| at(&result, &format!("/{name}"));
    let attack_ns = ns("duration").filter(|ns| *ns > 0.0);
    Ok(Reported {
        started_at: text_at(&result, "/earliest"),
        answered: Some(answered),
        failed: Some(rest(requests, answered)),
        // For a single request, vegeta states the number of successes instead.
        rate: attack_ns.and_then(|_| at(&result, "/throughput")),
        rated: Some(answered),
        seconds: attack_ns.map(|ns_of_attack| (ns_of_attack + ns("wait").unwrap_or_default()) / 1e9),
        latency: Latency {
            count: requests,
            min_us: us("min"),
            mean_us: us("mean"),
            p50_us: us("50th"),
            p90_us: us("90th"),
            p99_us: us("99th"),
            max_us: us("max"),
            ..Latency::default()
        },
        sums,
        unread: notes,
        ..Reported::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_without_statuses_is_known_by_its_digits_and_a_negative_number_is_none() {
        let text = r#"{"latencies": {}, "requests": 2000, "success": 0.99}"#;
        let reported = (TOOL.read)(&Output::new(text)).unwrap();
        assert_eq!(reported.answered, Some(CountRange { at_least: 1_970, at_most: 1_990 }));
        assert_eq!(reported.failed, Some(CountRange { at_least: 10, at_most: 30 }));
        let problem = (TOOL.read)(&Output::new(&text.replace("2000", "-5"))).unwrap_err();
        assert_eq!(problem, "`requests` is -5, which is not a number of requests");
    }
}
