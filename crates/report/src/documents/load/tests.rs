use hoptax_result::{
    Book, CountRange, EndedBy, FailOn, Finding, Imported, ImportedRange, LatencySet, LoadBounds, LoadRate,
    Lookups, Measured, Merged, MergedRun, NetworkPlan, Percentile, ProcessAccount, Range, RunLeftOut,
    Severity, Stated, TimeBounds, TlsResult,
};

use super::*;
use crate::render::terminal;
use crate::{Style, fixture};

fn text_of(result: &LoadResult) -> String {
    terminal::details(&load(result), Style { width: 400, colour: false })
}

#[test]
fn the_summary_of_a_load_over_tls() {
    let mut result = fixture::load();
    result.plan.protocol = "http2".to_owned();
    result.plan.streams = 8;
    result.plan.network = NetworkPlan {
        servers: vec!["127.0.0.1:1".to_owned(), "127.0.0.2:1".to_owned()],
        source_addresses: vec!["127.0.1.0/24".to_owned(), "127.0.2.1".to_owned()],
        proxy_protocol: Some("v2".to_owned()),
        ramp_up_s: 2.5,
        ..NetworkPlan::default()
    };
    result.drained = [("no-error".to_owned(), 3)].into();
    result.tls = Some(TlsResult {
        version: "1.3".to_owned(),
        cipher: "TLS13_AES_256_GCM_SHA384".to_owned(),
        key_exchange_group: Some("X25519".to_owned()),
        alpn: Some("h2".to_owned()),
        full_handshakes: 16,
        resumed_handshakes: 1_000,
        hello_retry_requests: 2,
        resumption_share: 0.984,
        handshake: Latency { count: 1_016, p50_us: Some(310.5), max_us: Some(8_123.0), ..Latency::default() },
    });
    let text = text_of(&result);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| ["HTTP/2", "open", "drained", "TLS"].iter().any(|word| line.starts_with(word)))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_load_that_is_interrupted_before_its_first_measured_request_has_no_counts() {
    let mut result = fixture::load();
    (result.ended_by, result.recorded_s, result.book) = (EndedBy::Interrupt, 0.0, Book::default());
    (result.latency, result.rate.achieved) = (LatencySet::default(), None);
    (result.bounds, result.without_generator) = (LoadBounds::default(), None);
    let document = load(&result);
    assert_eq!(document.answer, ["The load was interrupted before the first measured request"]);
    assert!(document.table.is_none() && document.next.is_none(), "{document:?}");
    let text = text_of(&result);
    for made_up in ["0 of 0", "requests: 0", "of warm-up"] {
        assert!(!text.contains(made_up), "{made_up}: {text}");
    }
}

#[test]
fn a_load_that_is_interrupted_does_not_say_that_its_whole_plan_was_answered() {
    let mut result = fixture::load();
    (result.ended_by, result.recorded_s) = (EndedBy::Interrupt, 5.2);
    (result.book.planned, result.book.answered) = (1_036, 1_035);
    let answer = load(&result).answer.remove(0);
    assert!(
        answer.starts_with("1,035 of 1,036 requests due before the interruption were answered"),
        "{answer}"
    );
    result.plan.loop_ = Loop::Closed;
    assert!(!load(&result).answer[0].contains("due before"), "a closed loop plans no requests");
}

#[test]
fn one_answered_request_is_singular() {
    let mut result = fixture::load();
    (result.book.planned, result.book.answered) = (1, 1);
    let text = text_of(&result);
    assert!(text.contains("\n1 of 1 planned requests was answered, "), "{text}");
    result.imported = Some(imported("ab"));
    let text = text_of(&result);
    assert!(text.contains("\n1 request was answered, "), "{text}");
}

#[test]
fn lookups_during_a_load_are_counted_in_the_summary() {
    let mut result = fixture::load();
    result.plan.network.resolve_every_s = Some(10.0);
    let servers = vec!["127.0.0.1:1".to_owned()];
    result.lookups = Some(Lookups { done: 1_200, failed: 3, changes: 2, servers });
    let text = text_of(&result);
    for expected in [
        "connections, names resolved every 10 s",
        "lookups: 1,200, 3 failed, 2 changed the addresses or their order\n",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn requests_that_were_sent_again_and_a_rate_that_a_backlog_hides_have_a_line() {
    let mut result = fixture::load();
    (result.book.sent_again, result.sustained_rate) = (3_506, Some(97.6));
    result.unsent = [("end".to_owned(), 400)].into();
    let text = text_of(&result);
    for expected in [
        "again: 3,506 sent again, because the server had handed them back unprocessed\n",
        "answered 98/s from the start of the warm-up on\n",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    result.sustained_rate = Some(0.46);
    let text = text_of(&result);
    assert!(text.contains("answered 0.5/s from the start of the warm-up on\n"), "{text}");
    result.plan.warmup_s = 0.0;
    assert!(text_of(&result).contains("answered 0.5/s from the start on\n"));
    result.unsent.clear();
    assert!(!text_of(&result).contains("answered 0.5/s from the start"));
}

#[test]
fn processes_have_a_line_with_their_cpu_time_and_memory() {
    let mut result = fixture::load();
    let known = ProcessAccount {
        processes: "pid 7".to_owned(),
        processors: 1.5,
        cpu_share: Some(0.503),
        cpu_us: Some(37.72),
        memory_bytes: Some(200 << 20),
    };
    let unknown = ProcessAccount { processors: 1.0, cpu_share: None, cpu_us: None, ..known.clone() };
    let lines = [known, unknown].map(|account| {
        result.account = Some(account);
        let text = text_of(&result);
        text.lines().find(|line| line.starts_with("account: ")).unwrap().to_owned()
    });
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn the_summary_of_an_interrupted_load_states_the_recorded_time() {
    let mut result = fixture::load();
    (result.ended_by, result.recorded_s) = (EndedBy::Interrupt, 7.04);
    result.plan.stages = Some("0:10000@5s,10000:30000@5s,30000@5s".to_owned());
    result.stages[1].duration_s = 2.04;
    (result.book.blocked, result.waiting.total_s) = (0, 2.5);
    result.unsent.insert("end".to_owned(), 7);
    let text = text_of(&result);
    for expected in [
        "7.0 of 10 s (interrupted) after",
        "waiting: 7 waited for a connection, 7 of them until the end, at most 7 at once, 2.500 s in total",
        "the last stage did not start",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn a_load_with_a_request_limit_states_their_number_and_time() {
    let mut result = fixture::load();
    (result.ended_by, result.recorded_s, result.plan.request_limit) =
        (EndedBy::Requests, 10.04, Some(200_000));
    let text = text_of(&result);
    assert!(text.contains("1 worker, 200,000 requests in 10.0 s after 1 s"), "{text}");
    (result.ended_by, result.plan.request_limit, result.book.sent) =
        (EndedBy::Interrupt, Some(500_000), 199_950);
    let text = text_of(&result);
    assert!(
        text.contains("1 worker, 199,950 of 500,000 requests in 10.0 s (interrupted) after 1 s"),
        "{text}"
    );
}

#[test]
fn requested_percentiles_and_conditions_have_their_lines() {
    let mut result = fixture::load();
    result.percentiles = vec![Percentile {
        percentile: 99.99,
        response_at_least_us: Some(5_000_000.0),
        service_us: Some(412.3),
        ..Percentile::default()
    }];
    let one = |condition: &str, outcome, value, unit: &str| FailOn {
        condition: condition.to_owned(),
        outcome,
        value,
        at_least: None,
        at_most: None,
        unit: unit.to_owned(),
    };
    result.fail_on = vec![
        one("p99>5ms", FailOnOutcome::Failed, Some(6_120.0), "us"),
        one("errors>0.1%", FailOnOutcome::Passed, Some(0.025), "%"),
        one("rate<9900", FailOnOutcome::Unknown, None, "/s"),
        FailOn {
            at_least: Some(210.0),
            at_most: Some(430.0),
            ..one("p50>300us", FailOnOutcome::Unknown, None, "us")
        },
    ];
    let text = text_of(&result);
    for expected in [
        "fail-on `p99>5ms`: FAILED: 6,120 us",
        "fail-on `errors>0.1%`: passed: 0.025 %",
        "fail-on `rate<9900`: UNKNOWN: no value",
        "fail-on `p50>300us`: UNKNOWN: 210.0 us to 430.0 us",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let line = text.lines().find(|line| line.starts_with("p99.99")).unwrap();
    assert!(line.contains("≥ 5,000,000") && line.contains("412.3"), "{line}");
}

#[test]
fn times_that_are_only_bounded_are_printed_as_bounds_and_the_verdict_says_what_may_be_used() {
    let mut result = fixture::load();
    result.verdict = hoptax_result::Verdict::Caution;
    (result.latency.response.p99_us, result.latency.service.p99_us) = (None, None);
    result.bounds.response.p99_us = Some(TimeBounds { low_us: Some(210.0), high_us: Some(430.0) });
    result.bounds.service.p99_us = Some(TimeBounds { low_us: None, high_us: Some(410.0) });
    let text = text_of(&result);
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(line("response time").contains("  210 to 430  "), "{text}");
    assert!(line("service time").contains("  ≤ 410  "), "{text}");
    let verdict = "caution: counts, rates, p50 and p90 are sound; p99 and p99.9 are only bounded";
    assert!(line("caution").starts_with(verdict), "{text}");
}

#[test]
fn a_void_load_states_no_rate_of_responses_and_no_times() {
    let mut result = fixture::load();
    result.verdict = hoptax_result::Verdict::Void;
    result.rate.achieved = None;
    result.bounds.response = LatencyBounds::default();
    result.latency.response = Latency { count: result.latency.response.count, ..Latency::default() };
    let text = text_of(&result);
    let rate = text.lines().find(|line| line.starts_with("rate: ")).unwrap();
    assert!(!rate.contains("answered") && rate.ends_with("(rate of responses withheld)"), "{rate}");
    assert!(!text.contains("from the intended start: "), "{text}");
    assert!(text.contains("\nvoid: ") && text.contains("199,850 answered"), "{text}");
}

#[test]
fn the_summary_of_a_load() {
    insta::assert_snapshot!(text_of(&fixture::load()));
}

#[test]
fn a_merged_load_has_a_row_for_each_run() {
    let mut result = fixture::load();
    let run = |file: &str, from_s: f64, p99_us: Option<f64>| MergedRun {
        file: file.to_owned(),
        program: result.program.clone(),
        verdict: hoptax_result::Verdict::Sound,
        recorded_from_unix_s: from_s,
        recorded_s: 10.0,
        rate: LoadRate { target: Some(10_000.0), offered: 10_000.0, achieved: Some(9_990.0) },
        connections: 16,
        seed: 1,
        share: None,
        response: Latency { p99_us, ..fixture::load().latency.response },
        bounds: LatencyBounds::default(),
        environment: result.environment.clone(),
    };
    let runs = vec![run("a.json", 1_767_323_045.2, Some(1_234.0)), run("b.json", 1_767_323_045.0, None)];
    let reason = "it cannot be read".to_owned();
    let left_out = vec![RunLeftOut { file: "c.json".to_owned(), reason, planned_rate: None }];
    let merged = Merged { runs, left_out, ..Merged::default() };
    result.stages.clear();
    result.merged = Some(merged);
    let text = text_of(&result);
    assert!(text.contains(" planned requests of 2 of 3 runs were answered, "), "{text}");
    assert!(text.contains("\nmerged from 2 runs: GET http://127.0.0.1:8080/ and 2 more\n"), "{text}");
    let table: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("run ")).take(4).collect();
    insta::assert_snapshot!(table.join("\n"));
}

fn imported(tool: &str) -> Imported {
    Imported { tool: tool.to_owned(), ..Imported::default() }
}

#[test]
fn requests_of_which_only_bounds_are_known_are_printed_as_ranges() {
    let mut result = fixture::load();
    result.book.stated = Stated::Imported { answered: false, failed: true };
    (result.book.failed, result.rate.achieved) = (150, None);
    result.imported = Some(Imported {
        answered: Some(CountRange { at_least: 19_700, at_most: 19_850 }),
        answered_per_s: Some(Range { low: 7_880.0, high: 7_940.0 }),
        ..imported("ab")
    });
    let text = text_of(&result);
    assert!(text.contains("rate: answered 7,880 to 7,940/s\n"), "{text}");
    assert!(text.contains("requests: 19,700 to 19,850 answered, 150 failed\n"), "{text}");
    result.book.stated = Stated::Imported { answered: false, failed: false };
    let text = text_of(&result);
    assert!(text.contains("requests: 19,700 to 19,850 answered, failed not known\n"), "{text}");
}

#[test]
fn a_quantile_of_which_only_the_bucket_is_known_is_printed_as_a_range() {
    let mut result = fixture::load();
    let ranges = vec![ImportedRange { percentile: 50.0, low_us: 13.0, high_us: 1_000.0 }];
    result.imported = Some(Imported { ranges, ..imported("fortio") });
    let text = text_of(&result);
    let line = text.lines().find(|line| line.starts_with("service time")).unwrap();
    assert!(line.contains("13 to 1,000 "), "{line}");
}

#[test]
fn an_imported_result_states_what_its_file_does() {
    let mut result = fixture::load();
    result.imported = Some(imported("hgrm"));
    assert!(!text_of(&result).contains("not known"));
    let plan = &mut result.plan;
    (plan.url, plan.connections, plan.workers) = ("unknown".to_owned(), 0, 0);
    result.book.stated = Stated::Imported { answered: false, failed: false };
    result.recorded_s = 0.0;
    (result.rate.target, result.rate.achieved, result.latency.service.p99_9_us) = (None, None, None);
    let text = text_of(&result);
    for words in [
        "imported from hgrm: unknown target\na load that is not known\n",
        "rate: not known\nrequests: not known\n",
    ] {
        assert!(text.contains(words), "{text}");
    }
    let service = text.lines().find(|line| line.starts_with("service time")).unwrap();
    assert!(!service.contains("withheld"), "{service}");
}

#[test]
fn a_longer_load_lasts_whole_seconds_and_one_of_the_same_length_is_as_it_was() {
    let next_of = |value: f64, threshold: f64| {
        let mut result = fixture::load();
        (result.plan.url, result.plan.requests) = ("http://127.0.0.1:1/".to_owned(), 1);
        (result.plan.duration_s, result.plan.connections, result.rate.target) = (0.333, 16, Some(500.0));
        let id = if value > 0.0 { "too-few-samples" } else { "run-delay" };
        let measured = Measured::us(value, threshold);
        result.findings = vec![Finding::new(id, Severity::Warn, measured, String::new(), "")];
        next_step::next(&result, GivenOptions::default()).unwrap().command
    };
    // 648 and 15 times 0.333 s: the first product is 215.78400000000002.
    let load = |length: &str| format!("hoptax load -q 500 -c 16 -d {length} 'http://127.0.0.1:1/'");
    assert_eq!(next_of(17.0, 10_000.0), load("216s"));
    assert_eq!(next_of(6.0, 80.0), load("5s"));
    assert_eq!(next_of(0.0, 0.0), load("0.333s"));
}

#[test]
fn the_next_step_has_the_advice_of_the_finding_that_limits_most() {
    let advice = "run again when the host is quieter, or on a dedicated machine";
    let finding = |id: &str, advice: &str| {
        Finding::new(id, Severity::Warn, Measured::us(1.0, 0.0), String::new(), advice)
    };
    let mut result = fixture::load();
    (result.plan.url, result.plan.requests) = ("http://127.0.0.1:1/".to_owned(), 1);
    result.findings = vec![finding("too-few-samples", "run longer"), finding("steal", advice)];
    let purpose = |result: &LoadResult| next_step::next(result, GivenOptions::default()).unwrap().purpose;
    assert_eq!(purpose(&result), format!("measures again, after the remedy: {advice}"));
    result.plan.requests = 3;
    assert_eq!(purpose(&result), format!("says what disturbs this machine; {advice}"));
}

#[test]
fn the_next_command_mends_what_the_findings_are_about_or_searches_the_rate() {
    let next_of = |ids: &[&str], change: fn(&mut LoadResult)| {
        let mut result = fixture::load();
        let finding = |id: &&str| Finding::new(id, Severity::Warn, Measured::us(1.0, 0.0), String::new(), "");
        result.findings = ids.iter().map(finding).collect();
        (result.plan.url, result.plan.requests) = ("http://127.0.0.1:1/".to_owned(), 1);
        (result.plan.connections, result.plan.duration_s, result.rate.target) = (16, 10.0, Some(500.0));
        change(&mut result);
        next_step::next(&result, GivenOptions::default()).map(|next| next.command)
    };
    let longer = Some("hoptax load -q 500 -c 16 -d 40s 'http://127.0.0.1:1/'".to_owned());
    assert_eq!(next_of(&["too-few-samples"], |_| ()), longer);
    let limited = |result: &mut LoadResult| {
        (result.plan.request_limit, result.plan.duration_s, result.rate.target) = (Some(10), 3_600.0, None);
    };
    let more_requests = Some("hoptax load -c 16 -n 40 'http://127.0.0.1:1/'".to_owned());
    assert_eq!(next_of(&["too-few-samples"], limited), more_requests);
    let more = Some("hoptax load -q 500 -c 64 -d 10s 'http://127.0.0.1:1/'".to_owned());
    assert_eq!(next_of(&["offered"], |_| ()), more);
    let more_and_longer = Some("hoptax load -q 500 -c 64 -d 40s 'http://127.0.0.1:1/'".to_owned());
    assert_eq!(next_of(&["too-few-samples", "offered"], |_| ()), more_and_longer);
    assert_eq!(next_of(&["too-few-samples", "run-delay"], |_| ()), longer, "the same load is as short");
    let p99_us = fixture::load().latency.response.p99_us;
    assert_eq!(p99_us, Some(200.0), "the objective is above it");
    let search = Some("hoptax find --slo 'p99<500us' 'http://127.0.0.1:1/'".to_owned());
    assert_eq!(next_of(&[], |_| ()), search);
    let slow = |result: &mut LoadResult| result.latency.response.p99_us = Some(1_200.0);
    assert_eq!(next_of(&[], slow), Some("hoptax find --slo 'p99<5ms' 'http://127.0.0.1:1/'".to_owned()));
    let special = |result: &mut LoadResult| {
        result.plan.arrivals = Some("burst=8".to_owned());
        (result.plan.connections, result.plan.timeout_s) = (4, 0.5);
    };
    let same = "hoptax load -q 500 --arrivals burst=8 -c 4 -d 40s --timeout 0.5s 'http://127.0.0.1:1/'";
    assert_eq!(next_of(&["too-few-samples"], special), Some(same.to_owned()));
    let same = "hoptax find --slo 'p99<500us' --arrivals burst=8 -c 4 --timeout 0.5s 'http://127.0.0.1:1/'";
    assert_eq!(next_of(&[], special), Some(same.to_owned()));
    // A trace has its own rate and its own end, and is nothing that a search could send.
    let trace = |result: &mut LoadResult| result.plan.arrivals = Some("trace=times".to_owned());
    let same = Some("hoptax load --arrivals trace=times -c 16 -d 10s 'http://127.0.0.1:1/'".to_owned());
    assert_eq!(next_of(&["too-few-samples", "run-delay"], trace), same);
    let more = Some("hoptax load --arrivals trace=times -c 64 -d 10s 'http://127.0.0.1:1/'".to_owned());
    assert_eq!(next_of(&["too-few-samples", "offered"], trace), more);
    assert_eq!((next_of(&["too-few-samples"], trace), next_of(&[], trace)), (None, None));
    let given = GivenOptions { of_both: " --never-halt never", of_itself: " --warmup 3s" };
    let mut result = fixture::load();
    (result.plan.url, result.plan.requests) = ("http://127.0.0.1:1/".to_owned(), 1);
    result.findings.clear();
    let searched = load_of(&result, given).next.unwrap().command;
    assert!(searched.starts_with("hoptax find ") && !searched.contains("--warmup"), "{searched}");
    assert!(searched.contains(" --never-halt never 'http"), "{searched}");
    let few = Finding::new("too-few-samples", Severity::Warn, Measured::us(1.0, 0.0), String::new(), "");
    result.findings = vec![few];
    let again = load_of(&result, given).next.unwrap().command;
    assert!(again.contains(" --warmup 3s --never-halt never 'http"), "{again}");
    for change in [
        (|result| result.book.answered = 0) as fn(&mut LoadResult),
        |result| result.latency.response.p99_us = None,
        |result| result.ended_by = EndedBy::Interrupt,
        |result| result.plan.protocol = "http2".to_owned(),
        |result| result.plan.method = "POST".to_owned(),
        |result| result.plan.network.unix_socket = Some("/run/x".to_owned()),
        |result| result.plan.pool = "pinned".to_owned(),
        |result| result.plan.when_busy = "skip".to_owned(),
    ] {
        assert_eq!(next_of(&[], change), None);
    }
    // A longer load is as late.
    let calibrate = Some("hoptax trust calibrate".to_owned());
    assert_eq!(next_of(&["too-few-samples", "send-lag"], |_| ()), calibrate);
    // A calibration beside other work would be late, too.
    let same = Some("hoptax load -q 500 -c 16 -d 10s 'http://127.0.0.1:1/'".to_owned());
    assert_eq!(next_of(&["send-lag", "run-delay"], |_| ()), same);
    let post = |result: &mut LoadResult| result.plan.method = "POST".to_owned();
    assert_eq!(next_of(&["send-lag", "run-delay"], post), calibrate, "a short command cannot repeat it");
    let few = |result: &mut LoadResult| {
        let finding = &mut result.findings[0];
        (finding.value, finding.threshold) = (3.0, 200.0);
        finding.numbers = ["p50", "p90", "p99", "p99.9"].map(str::to_owned).to_vec();
        (result.plan.request_limit, result.rate.target) = (Some(3), None);
    };
    let enough = Some("hoptax load -c 16 -n 11001 'http://127.0.0.1:1/'".to_owned());
    assert_eq!(next_of(&["too-few-samples"], few), enough, "p99 needs 10,000, and p99.9 is not expected");
    // Nothing that this load does helps where the machine or the server has to change: the advice says what does.
    for id in ["steal", "throttled", "other-loads", "errors", "stream-limit"] {
        assert_eq!(next_of(&[id], |_| ()), same, "{id}");
    }
    assert_eq!(next_of(&["steal"], post), Some("hoptax trust doctor".to_owned()));
    assert_eq!(next_of(&["errors"], post), None, "the details have the advice");
    let late = ["generator-saturated", "ceiling"].map(|id| next_of(&[id, "too-few-samples"], |_| ()));
    assert_eq!(late, [calibrate.clone(), calibrate.clone()]);
    assert_eq!(next_of(&["too-few-samples", "connections-busy"], |_| ()), more_and_longer);
    let informed = |result: &mut LoadResult| result.findings[1].severity = Severity::Info;
    assert_eq!(next_of(&["too-few-samples", "run-delay"], informed), longer, "the screen does not show it");
}

#[test]
fn a_load_that_ends_before_a_request_is_due_is_to_last_until_one_is() {
    let next_of = |arrivals: &str, change: fn(&mut LoadResult)| {
        let mut result = fixture::load();
        (result.plan.url, result.plan.requests) = ("http://127.0.0.1:1/".to_owned(), 1);
        (result.plan.connections, result.plan.duration_s, result.rate.target) = (16, 2.0, Some(50.0));
        result.plan.arrivals = Some(arrivals.to_owned());
        (result.book.planned, result.book.answered) = (0, 0);
        let none = Measured::percent(0.0, 0.99);
        result.findings = vec![Finding::new("offered", Severity::Fail, none, String::new(), "")];
        change(&mut result);
        next_step::next(&result, GivenOptions::default()).map(|next| next.command)
    };
    let burst = "hoptax load -q 50 --arrivals burst=1000 -c 16 -d 20s 'http://127.0.0.1:1/'";
    assert_eq!(next_of("burst=1000", |_| ()), Some(burst.to_owned()));
    let slow = |result: &mut LoadResult| result.rate.target = Some(0.3);
    let seldom = "hoptax load -q 0.3 -c 16 -d 4s 'http://127.0.0.1:1/'";
    assert_eq!(next_of("uniform", slow), Some(seldom.to_owned()));
    let by_chance = "hoptax load -q 0.3 --arrivals poisson -c 16 -d 34s 'http://127.0.0.1:1/'";
    assert_eq!(next_of("poisson", slow), Some(by_chance.to_owned()));
    assert_eq!(next_of("burst=8", |result| result.plan.method = "POST".to_owned()), None);
    assert_eq!(next_of("burst=8", |result| result.ended_by = EndedBy::Interrupt), None);
    assert_eq!(next_of("burst=8", |result| result.book.planned = 1), None, "the server does not answer");
}

#[test]
fn more_connections_are_at_least_as_many_as_the_rate_keeps_in_use() {
    let connections_for = |p50_us: Option<f64>, bounds: Option<TimeBounds>| {
        let mut result = fixture::load();
        (result.plan.url, result.plan.requests) = ("http://127.0.0.1:1/".to_owned(), 1);
        (result.plan.connections, result.rate.target) = (50, Some(20.0));
        (result.latency.service.p50_us, result.bounds.service.p50_us) = (p50_us, bounds);
        let busy = Measured::us(1.0, 0.0);
        result.findings = vec![Finding::new("connections-busy", Severity::Warn, busy, String::new(), "")];
        let command = next_step::next(&result, GivenOptions::default()).unwrap().command;
        let (_, rest) = command.split_once(" -c ").unwrap();
        rest.split(' ').next().unwrap().to_owned()
    };
    assert_eq!(connections_for(Some(15e6), None), "300");
    assert_eq!(connections_for(None, Some(TimeBounds::at_least(14.96e6))), "300", "rounded up");
    // Four times as many are enough, or nothing is known.
    assert_eq!(connections_for(Some(1e6), None), "200");
    assert_eq!(connections_for(None, None), "200");
}
