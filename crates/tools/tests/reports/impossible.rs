//! Outputs with numbers that cannot be true, and files that no tool wrote: the numbers that are withheld, and the messages about them.

use hoptax_result::{LoadResult, Stated};
use hoptax_tools::{FORMATS, find, import};

/// Imports an output. Returns the result, and the message of its first finding.
fn read(tool: &str, text: &str) -> (LoadResult, String) {
    let result = import(find(tool).unwrap(), text, None).unwrap();
    let said = result.findings[0].message.clone();
    (result, said)
}

const BROKEN_DURATION: &str = "Running 1m test @ http://127.0.0.1:28080/db
  8 threads and 128 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   201.33ms  275.10ms   3.51s    84.10%
    Req/Sec    71.20     39.00   255.00     66.90%
  Latency Distribution
     50%   40.10ms
     75%  350.00ms
     90%  611.00ms
     99%    1.12s 
  34012 requests in 307445734491.24m, 5.22MB read
  Socket errors: connect 0, read 0, write 0, timeout 128
Requests/sec:      0.00
Transfer/sec:       0.00B
";

#[test]
fn a_duration_of_half_a_million_years_and_a_rate_of_0_are_not_stated() {
    let (result, said) = read("wrk", BROKEN_DURATION);
    assert_eq!((result.recorded_s, result.rate.achieved), (0.0, None));
    assert_eq!(result.imported.clone().unwrap().answered_per_s, None);
    assert!(said.contains("its duration, which is 18,446,744,069,474 s, longer than a year"), "{said}");
    assert!(said.contains("its rate, which is 0 in spite of 34012 requests"), "{said}");
    assert_eq!(result.latency.service.p99_us, Some(1_120_000.0));
}

#[test]
fn a_latency_of_0_is_not_stated() {
    let text = "Running 15s test @ http://127.0.0.1:8080/db
  8 threads and 256 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     0.00us    0.00us   0.00us    -nan%
    Req/Sec     0.00      0.00     0.00      -nan%
  110004 requests in 15.14s, 24.60MB read
Requests/sec:   7265.78
Transfer/sec:      1.62MB
";
    let (result, said) = read("wrk", text);
    let service = result.latency.service;
    assert_eq!((service.mean_us, service.max_us, service.standard_deviation_us), (None, None, None));
    assert!(said.contains("mean, standard deviation, maximum, which are 0"), "{said}");
    assert_eq!((result.book.answered, result.rate.achieved), (110_004, Some(7_265.78)));
}

#[test]
fn a_latency_without_a_unit_is_not_read() {
    let text = "Running 2m test @ https://127.0.0.1:9701
  8 threads and 400 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   1529112 121003400 30711200    84.20%
    Req/Sec    61.00     41.00   370.00     68.00%
  70012 requests in 2.00m, 2.61GB read
  Socket errors: connect 90, read 0, write 0, timeout 17001
Requests/sec:    583.43
Transfer/sec:     22.20MB
";
    let (result, said) = read("wrk", text);
    assert_eq!((result.latency.service.mean_us, result.latency.service.max_us), (None, None));
    assert!(said.contains("the mean: `1529112` has no unit, and hoptax does not guess it"), "{said}");
    assert!(said.contains("the maximum: `30711200` has no unit"), "{said}");
}

#[test]
fn a_rate_that_does_not_fit_is_not_stated_by_any_tool() {
    for (tool, text) in [
        (
            "ab",
            "Time taken for tests: 2.5 seconds\nComplete requests: 20000\nFailed requests: 0\nRequests per second: 80.00 [#/sec] (mean)\n",
        ),
        (
            "hey",
            "Total:\t2.0 secs\nRequests/sec:\t9.5\n\nStatus code distribution:\n  [200]\t1920 responses\n",
        ),
        (
            "h2load",
            "finished in 2.00s, 96.00 req/s, 1KB/s\nrequests: 1920 total, 1920 started, 1920 done, 1920 succeeded, 0 failed, 0 errored\n",
        ),
        (
            "k6",
            r#"{"state": {"testRunDurationMs": 1000}, "metrics": {"http_reqs": {"values": {"count": 1200, "rate": 119.8}}}}"#,
        ),
        ("fortio", r#"{"ActualQPS": 1, "ActualDuration": 3000000000, "DurationHistogram": {"Count": 3000}}"#),
        (
            "oha",
            r#"{"summary": {"total": 2, "requestsPerSec": 9}, "statusCodeDistribution": {"200": 2000}, "errorDistribution": {}}"#,
        ),
        (
            "vegeta",
            r#"{"latencies": {}, "requests": 2000, "duration": 2000000000, "wait": 1, "throughput": 9, "status_codes": {"200": 2000}}"#,
        ),
    ] {
        let (result, said) = read(tool, text);
        assert!(said.contains("which do not fit its"), "{tool}: {said}");
        assert_eq!((result.recorded_s, result.plan.duration_s), (0.0, 0.0), "{tool}");
        let Stated::Imported { answered, failed } = result.book.stated else { panic!("{tool}") };
        assert!(!answered && !failed, "{tool}: {said}");
    }
}

#[test]
fn counts_that_do_not_add_up_are_not_stated() {
    for (tool, text) in [
        (
            "ab",
            "Complete requests: 100\nFailed requests: 0\nNon-2xx responses: 101\nRequests per second: 50.00\n",
        ),
        ("wrk", "  100 requests in 2.00s, 1MB read\n  Non-2xx or 3xx responses: 101\nRequests/sec: 50.00\n"),
        (
            "h2load",
            "finished in 2.00s, 50.00 req/s, 1KB/s\nrequests: 100 total, 100 started, 100 done, 90 succeeded, 11 failed, 0 errored\n",
        ),
        (
            "h2load",
            "finished in 2.00s, 50.00 req/s, 1KB/s\nrequests: 100 total, 100 started, 100 done, 100 succeeded, 0 failed, 0 errored\n\
             status codes: 0 2xx, 0 3xx, 0 4xx, 100 5xx\n",
        ),
        (
            "k6",
            r#"{"metrics": {"http_reqs": {"count": 100, "rate": 10}, "http_req_failed": {"passes": 60, "fails": 60}}}"#,
        ),
        (
            "k6",
            r#"{"metrics": {"http_reqs": {"count": 100, "rate": 10}, "http_req_failed": {"passes": 5, "fails": 95, "value": 0.95}}}"#,
        ),
        (
            "nighthawk",
            r#"{"results": [{"statistics": [{"id": "benchmark_http_client.request_to_response", "count": "100", "mean": "0.002s"}],
                "counters": [{"name": "benchmark.http_2xx", "value": "500"}]}]}"#,
        ),
        ("fortio", r#"{"DurationHistogram": {"Count": 100}, "RetCodes": {"200": 60, "503": 60}}"#),
        (
            "fortio",
            r#"{"DurationHistogram": {"Count": 100}, "RetCodes": {"200": 60, "503": 40}, "ErrorsDurationHistogram": {"Count": 0}}"#,
        ),
        ("vegeta", r#"{"latencies": {}, "requests": 100, "status_codes": {"200": 60, "503": 60}}"#),
        (
            "vegeta",
            r#"{"latencies": {}, "requests": 100, "success": 1, "status_codes": {"200": 60, "503": 40}}"#,
        ),
    ] {
        let (result, said) = read(tool, text);
        assert!(said.contains("which do not add up"), "{tool}: {said}");
        assert!(said.contains("answered requests, failed requests, "), "{tool}: {said}");
        assert_eq!((result.book.answered, result.book.failed, result.rate.achieved), (0, 0, None), "{tool}");
    }
}

#[test]
fn another_layout_is_refused_with_the_one_that_is_read() {
    for (tool, text, layout) in [
        ("ab", "<table border=1><tr><th>Complete requests:</th><td>5</td></tr></table>", "without `-w`"),
        (
            "hey",
            "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n0.1,0,0,0,0,0,200,0\n",
            "without `-o`",
        ),
        ("h2load", "Requests: 5\n", "`finished in TIME, N req/s`"),
        ("wrk", "5 requests took 2.00s\n", "`N requests in TIME`"),
        ("oha", "Summary:\n  Success rate:\t100.00%\n", "`--output-format json`"),
        (
            "vegeta",
            "Requests      [total, rate, throughput]  2000, 1000.5, 1000.0\n",
            "`vegeta report -type json`",
        ),
        (
            "vegeta",
            "{\"attack\":\"\",\"seq\":0,\"code\":200,\"latency\":5}\n",
            "neither its text nor the output of `vegeta encode`",
        ),
        ("bombardier", "  HTTP codes:\n    1xx - 0, 2xx - 5\n", "`-o json`"),
        ("fortio", "All done 100 calls (plus 0 warmup) 1.0 ms avg, 9.9 qps\n", "`-json`"),
        ("nighthawk", "global.benchmark.http_2xx:5\n", "not CSV or `dotted`"),
        ("k6", "http_reqs......: 5  1/s\n", "`handleSummary()`"),
    ] {
        let problem = import(find(tool).unwrap(), text, None).unwrap_err();
        assert!(problem.contains(layout), "{tool}: {problem}");
    }
}

#[test]
fn a_run_of_fortio_that_did_not_begin_is_refused() {
    let text = r#"{"error": true, "message": "initial http error", "DurationHistogram": {"Count": 2, "Min": 0, "Max": 0.001}}"#;
    let problem = import(find("fortio").unwrap(), text, None).unwrap_err();
    assert_eq!(problem, "Fortio did not run the load: initial http error");
}

#[test]
fn two_distributions_are_refused() {
    let one = "       Value   Percentile   TotalCount 1/(1-Percentile)\n       0.082     0.500000            1         1.00\n       1.0     1.000000            2\n\
               #[Mean    =        0.5, StdDeviation   =        0.1]\n#[Max     =        1.0, Total count    =            2]\n";
    let hgrm = FORMATS.iter().find(|format| format.name == "hgrm").unwrap();
    assert!((hgrm.read)(one, None).is_ok());
    let problem = (hgrm.read)(&format!("{one}{one}"), None).unwrap_err();
    assert!(problem.contains("it has 2 distributions, which begin in lines 1 and 6"), "{problem}");
}
