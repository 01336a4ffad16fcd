//! k6: virtual users that execute a script.

use hoptax_result::Latency;

use super::command_line;
use crate::text::{at, json};
use crate::{RESULT, Reported, SCRIPT, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "k6",
    program: "k6",
    version: "version",
    command: |offer| {
        Ok(command_line(
            offer,
            &[
                "run",
                "--no-usage-report",
                "--quiet",
                "--summary-trend-stats",
                "avg,min,med,max,p(90),p(99),p(99.9)",
                "--summary-export",
                &offer.file(RESULT),
                &offer.file(SCRIPT),
            ],
        ))
    },
    script: Some(|offer| {
        let (users, seconds) = (offer.connections, offer.seconds);
        let scenario = match offer.rate {
            Some(rate) => {
                // It supports whole numbers of requests per arbitrary time unit.
                let (rate, unit) = match offer.whole_rate() {
                    Ok(rate) => (rate, "1s".to_owned()),
                    Err(_) => ("1".to_owned(), format!("{:.0}ns", 1e9 / rate)),
                };
                format!(
                    "executor: 'constant-arrival-rate', rate: {rate}, timeUnit: '{unit}', duration: '{seconds}s', \
                     preAllocatedVUs: {users}, maxVUs: {users}"
                )
            }
            None => format!("executor: 'constant-vus', vus: {users}, duration: '{seconds}s'"),
        };
        // A JSON string is a valid JavaScript string.
        let url = serde_json::Value::from(offer.url);
        format!(
            "import http from 'k6/http';\nexport const options = {{ discardResponseBodies: true, scenarios: {{ load: {{ {scenario} \
             }} }} }};\nexport default function () {{ http.get({url}); }}\n"
        )
    }),
    read: |output| {
        let result = json(output.result())?;
        let us = |name: &str| at(&result, &format!("/metrics/http_req_duration/{name}")).map(|ms| ms * 1e3);
        let requests = at(&result, "/metrics/http_reqs/count").ok_or("the metric `http_reqs` is missing")?;
        let failed = at(&result, "/metrics/http_req_failed/passes").unwrap_or(0.0);
        Ok(Reported {
            connections: at(&result, "/metrics/vus_max/max").map(|count| count as u32),
            answered: Some((requests - failed).max(0.0) as u64),
            failed: Some(failed as u64),
            rate: at(&result, "/metrics/http_reqs/rate"),
            seconds: at(&result, "/metrics/http_reqs/rate")
                .filter(|rate| *rate > 0.0)
                .map(|rate| requests / rate),
            latency: Latency {
                min_us: us("min"),
                mean_us: us("avg"),
                p50_us: us("med"),
                p90_us: us("p(90)"),
                p99_us: us("p(99)"),
                p99_9_us: us("p(99.9)"),
                max_us: us("max"),
                ..Latency::default()
            },
            ..Reported::default()
        })
    },
    has_statistics: false,
    not_reported: &[
        "iterations without a free user: they are counted as dropped and are in no latency",
        "time between the intended start and the sending",
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Output;

    #[test]
    fn output_is_read() {
        let text = include_str!("../../recorded/k6.json");
        insta::assert_debug_snapshot!((TOOL.read)(&Output::of(text)));
    }
}
