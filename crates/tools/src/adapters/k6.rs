//! k6: virtual users that run a script.

use hoptax_result::Latency;

use super::called;
use crate::text::{at, json};
use crate::{RESULT, Reported, SCRIPT, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "k6",
    program: "k6",
    version: "version",
    command: |offer| {
        Ok(called(
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
                // It takes a whole number of requests for any unit of time.
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
        // A URL as a string of JSON is one of JavaScript, too.
        let url = serde_json::Value::from(offer.url);
        format!(
            "import http from 'k6/http';\nexport const options = {{ discardResponseBodies: true, scenarios: {{ load: {{ {scenario} \
             }} }} }};\nexport default function () {{ http.get({url}); }}\n"
        )
    }),
    read: |output| {
        let result = json(output.result())?;
        let us = |name: &str| at(&result, &format!("/metrics/http_req_duration/{name}")).map(|ms| ms * 1e3);
        let requests = at(&result, "/metrics/http_reqs/count").ok_or("it says nothing of its requests")?;
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
        })
    },
    unknown: &[
        "iterations that found no free user: they are counted as dropped and are in no latency",
        "time between the planned release and the sending",
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Output;

    #[test]
    fn output_is_read() {
        let text = include_str!("../../recorded/k6.json");
        insta::assert_debug_snapshot!((TOOL.read)(&Output { text, file: None }));
    }
}
