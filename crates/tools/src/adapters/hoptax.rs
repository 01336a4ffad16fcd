//! hoptax itself, run like the other tools.

use hoptax_result::{CountRange, Latency};
use serde_json::Value;

use super::command_line::{command_line, words};
use crate::document::{Document, with_fields};
use crate::reported::Reported;
use crate::text::{at, count_at};
use crate::tool::{RESULT, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "hoptax",
    program: "hoptax",
    version: "--version",
    command: |offer| {
        let (connections, seconds) = (offer.connections.to_string(), format!("{}s", offer.seconds));
        let mut line = command_line(
            offer,
            &["load", "-c", &connections, "-d", &seconds, "--warmup", "0s", "--timeout", "30s"],
        );
        if let Some(rate) = offer.rate {
            line.extend(words(&["-q", &rate.to_string()]));
        }
        line.extend(words(&["--json", &offer.file(RESULT), offer.url]));
        Ok(line)
    },
    script: None,
    read: |output| {
        let layout = "hoptax reads the result of `hoptax load --json`";
        let Document { value: result, notes, .. } =
            with_fields(output.result(), &["/book", "/latency"], layout)?;
        // Withheld quantiles are still available in the outcome `answered`, for every answered request.
        let us = |name: &str| {
            at(&result, &format!("/latency/response/{name}"))
                .or_else(|| at(&result, &format!("/outcomes/answered/{name}")))
        };
        let count = |name: &str| count_at(&result, &format!("/book/{name}"));
        // A request that timed out has failed, too, unlike requests in flight at the end.
        let failed =
            count("failed").map(|failed| failed.saturating_add(count("timed_out").unwrap_or_default()));
        Ok(Reported {
            connections: at(&result, "/plan/connections").map(|count| count as u32),
            answered: count("answered").map(CountRange::exactly),
            failed: failed.map(CountRange::exactly),
            rate: at(&result, "/rate/achieved"),
            rated: count("answered").map(CountRange::exactly),
            seconds: at(&result, "/recorded_s"),
            unread: notes,
            latency: Latency {
                min_us: us("min_us"),
                mean_us: us("mean_us"),
                standard_deviation_us: us("standard_deviation_us"),
                p50_us: us("p50_us"),
                p90_us: us("p90_us"),
                p99_us: us("p99_us"),
                p99_9_us: us("p99_9_us"),
                max_us: us("max_us"),
                ..Latency::default()
            },
            ..Reported::default()
        })
    },
    has_statistics: false,
    not_reported: &[],
};

/// The ids of the checks that left quantiles of a result without a value, without duplicates: checks that withhold or bound them, and
/// checks that make the result void. p90 and p99.9 do not matter, because a crosscheck does not compare them.
pub(crate) fn withheld_by(result: &str) -> Vec<String> {
    let result: Value = serde_json::from_str(result).unwrap_or_default();
    let mut checks: Vec<String> = Vec::new();
    for finding in result["findings"].as_array().into_iter().flatten() {
        let withholds =
            finding["withholds"] == true || finding["bounds"] == true || finding["severity"] == "fail";
        let mut numbers = finding["numbers"].as_array().into_iter().flatten().peekable();
        let is_compared =
            numbers.peek().is_none() || numbers.any(|number| *number != "p90" && *number != "p99.9");
        let check = finding["id"].as_str().filter(|_| withholds && is_compared);
        checks.extend(check.filter(|check| !checks.iter().any(|one| one == check)).map(str::to_owned));
    }
    checks
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn checks_that_leave_compared_quantiles_without_a_value_are_named_once() {
        let finding =
            |id: &str, how: &str, numbers: &[&str]| json!({"id": id, how: true, "numbers": numbers});
        let result = json!({"findings": [
            finding("send-lag", "bounds", &["p50", "p90"]),
            finding("send-lag", "withholds", &["p99"]),
            finding("too-few-samples", "bounds", &["p99.9"]),
            finding("run-delay", "warns", &["times"]),
            {"id": "void", "severity": "fail"},
        ]});
        assert_eq!(withheld_by(&result.to_string()), ["send-lag", "void"]);
        assert!(withheld_by("").is_empty() && withheld_by("{}").is_empty());
    }
}
