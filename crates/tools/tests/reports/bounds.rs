//! Reports with any counters: of each tool, no request is counted twice, and none as answered that the tool does not count as a success.
//!
//! The counters are drawn as a tool counts: its outcomes are disjoint, and counters that overlap are drawn as an overlap.

use hoptax_result::{CountRange, LoadResult, Stated};
use hoptax_tools::{find, import};
use proptest::prelude::*;

/// Requests by their outcomes.
#[derive(Clone, Copy, Debug)]
struct Outcomes {
    /// Complete responses with a status of 2xx, 3xx, 4xx and 5xx.
    statuses: [u64; 4],
    /// Without a response, since the connection failed before, or was reset.
    unconnected: u64,
    reset: u64,
    /// Complete responses of 5xx that also count as late, or as broken off: in two counters of some tools.
    both: u64,
}

impl Outcomes {
    fn responses(&self) -> u64 {
        self.statuses.iter().sum()
    }

    fn all(&self) -> u64 {
        self.responses() + self.unconnected + self.reset
    }
}

prop_compose! {
    fn outcomes()(
        statuses in prop::array::uniform4(0..5_000_u64),
        unconnected in 0..5_000_u64,
        reset in 0..5_000_u64,
        share in 0.0..=1.0_f64,
    ) -> Outcomes {
        let both = (statuses[3] as f64 * share) as u64;
        Outcomes { statuses, unconnected, reset, both }
    }
}

/// Report of a tool, beside the true counts.
struct Report {
    tool: &'static str,
    text: String,
    /// Requests that the tool counts as successes.
    succeeded: u64,
    /// Requests that the tool counts as done, in one way or another.
    done: u64,
    answered: u64,
    failed: u64,
}

const SECONDS: f64 = 10.0;

fn reports(of: &Outcomes) -> Vec<Report> {
    let Outcomes { statuses: [ok, moved, missing, broken], unconnected, reset, both } = *of;
    let (responses, all) = (of.responses(), of.all());
    let (answered, failed) = (ok + moved, all - ok - moved);
    let rate = |count: u64| count as f64 / SECONDS;
    let report = |tool, text| Report { tool, text, succeeded: ok + moved, done: all, answered, failed };
    // A late response is complete, and may be a refused one.
    let wrk = format!(
        "  2 threads and 16 connections\n  {responses} requests in {SECONDS:.2}s, 1.00MB read\n  Socket errors: connect {unconnected}, read {reset}, \
         write 0, timeout {both}\n  Non-2xx or 3xx responses: {}\nRequests/sec: {:.2}\n",
        missing + broken,
        rate(responses),
    );
    vec![
        // A status other than 2xx, and a length that is another one for all of them; resets are reads that failed, with `both` behind
        // the head of a response.
        Report {
            // Any of its failed reads may be one behind such a head, so it may have been a success that a reset ended.
            succeeded: ok + reset,
            done: responses + reset + unconnected,
            answered: ok,
            failed: moved + missing + broken + reset + unconnected,
            ..report("ab", format!(
                "Time taken for tests:   {SECONDS:.3} seconds\nComplete requests:      {}\nFailed requests:        {}\n   (Connect: {unconnected}, \
                 Receive: {}, Length: {}, Exceptions: 0)\nNon-2xx responses:      {}\nRequests per second:    {:.2} [#/sec] (mean)\n",
                responses + reset,
                unconnected + reset + both + moved + missing + broken,
                reset + both,
                moved + missing + broken,
                moved + missing + broken,
                rate(responses + reset),
            ))
        },
        report("wrk", wrk.clone()),
        report("wrk2", wrk),
        report("hey", format!(
            "Summary:\n  Total:\t{SECONDS:.4} secs\n  Requests/sec:\t{:.4}\n\nStatus code distribution:\n  [200]\t{ok} responses\n  [302]\t{moved} responses\n  \
             [404]\t{missing} responses\n  [503]\t{broken} responses\n\nError distribution:\n  [{unconnected}]\tconnection refused\n  [{reset}]\treset\n",
            rate(all),
        )),
        report("h2load", format!(
            "finished in {SECONDS:.2}s, {:.2} req/s, 1KB/s\nrequests: {all} total, {all} started, {} done, {answered} succeeded, {failed} failed, {} errored, 0 timeout\n\
             status codes: {ok} 2xx, {moved} 3xx, {missing} 4xx, {broken} 5xx\n",
            rate(responses),
            responses + reset,
            unconnected + reset,
        )),
        report("oha", serde_json::json!({
            "summary": {"total": SECONDS, "requestsPerSec": rate(all)},
            "statusCodeDistribution": {"200": ok, "302": moved, "404": missing, "503": broken},
            "errorDistribution": {"connection error": unconnected, "reset": reset},
        }).to_string()),
        report("vegeta", serde_json::json!({
            "latencies": {}, "requests": all, "duration": 9e9, "wait": 1e9, "throughput": rate(answered),
            "success": if all > 0 { answered as f64 / all as f64 } else { 0.0 },
            "status_codes": {"0": unconnected + reset, "200": ok, "302": moved, "404": missing, "503": broken},
        }).to_string()),
        report("k6", serde_json::json!({"metrics": {
            "http_reqs": {"count": all, "rate": rate(all)},
            "http_req_failed": {"passes": failed, "fails": answered},
        }}).to_string()),
        // A body that breaks off is an error of a request that has a status.
        report("bombardier", serde_json::json!({"result": {
            "timeTakenSeconds": SECONDS, "req1xx": 0, "req2xx": ok, "req3xx": moved, "req4xx": missing, "req5xx": broken,
            "others": unconnected + reset,
            "errors": [{"description": "refused", "count": unconnected}, {"description": "reset", "count": reset + both}],
        }}).to_string()),
        // It takes 3xx for failures.
        Report { succeeded: ok, answered: ok, failed: failed + moved, ..report("fortio", serde_json::json!({
            "ActualQPS": rate(all), "ActualDuration": SECONDS * 1e9, "DurationHistogram": {"Count": all},
            "ErrorsDurationHistogram": {"Count": all - ok},
            "RetCodes": {"200": ok, "302": moved, "404": missing, "503": broken, "-1": unconnected + reset},
        }).to_string()) },
        report("nighthawk", serde_json::json!({"results": [{"name": "global", "execution_duration": "10s",
            "statistics": [{"id": "benchmark_http_client.request_to_response", "count": (responses + 1).to_string(), "mean": "0.002s"}],
            "counters": [
                {"name": "benchmark.http_2xx", "value": ok}, {"name": "benchmark.http_3xx", "value": moved},
                {"name": "benchmark.http_4xx", "value": missing}, {"name": "benchmark.http_5xx", "value": broken},
                {"name": "benchmark.stream_resets", "value": reset},
                {"name": "benchmark.pool_connection_failure", "value": unconnected},
            ]}]}).to_string()),
    ]
}

/// The numbers of answered and failed requests.
fn counts(result: &LoadResult) -> Option<[CountRange; 2]> {
    let (book, imported) = (&result.book, result.imported.as_ref()?);
    let Stated::Imported { answered, failed } = book.stated else { return None };
    let count = |is_exact: bool, count: u64, range: Option<CountRange>| {
        range.or_else(|| is_exact.then(|| CountRange::exactly(count)))
    };
    Some([count(answered, book.answered, imported.answered)?, count(failed, book.failed, imported.failed)?])
}

proptest! {
    #[test]
    fn bounds_hold_what_is_true_and_no_request_is_counted_twice(outcomes in outcomes()) {
        for report in reports(&outcomes) {
            let tool = report.tool;
            let result = import(find(tool).unwrap(), &report.text, None).unwrap();
            let [answered, failed] = counts(&result).unwrap_or_else(|| panic!("{tool}: {}", result.findings[0].message));
            prop_assert!(answered.at_most <= report.succeeded, "{tool}: {answered:?}");
            prop_assert!(answered.at_least + failed.at_least <= report.done, "{tool}: {answered:?} {failed:?}");
            prop_assert!(answered.at_most + failed.at_least <= report.done, "{tool}: {answered:?} {failed:?}");
            let is_in = |count: u64, range: CountRange| range.at_least <= count && count <= range.at_most;
            prop_assert!(is_in(report.answered, answered), "{tool}: {} {answered:?}", report.answered);
            prop_assert!(is_in(report.failed, failed), "{tool}: {} {failed:?}", report.failed);
            // The rate and the duration fit, so they are stated.
            prop_assert!((result.recorded_s - SECONDS).abs() < 1e-6, "{tool}: {}", result.findings[0].message);
        }
    }
}

#[test]
fn every_tool_has_a_report() {
    let outcomes = Outcomes { statuses: [1; 4], unconnected: 1, reset: 1, both: 1 };
    let tools: Vec<&str> = reports(&outcomes).iter().map(|report| report.tool).collect();
    for tool in hoptax_tools::ALL {
        let is_other = ["fortio-jitter", "hoptax"].contains(&tool.name);
        assert!(is_other || tools.contains(&tool.name), "{}", tool.name);
    }
}
