//! `hoptax load` and `hoptax lab origin`, as run by users and scripts.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::thread;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

use crate::support;
use crate::support::study::has_verdict;
use crate::support::{
    UNHURRIED, Watched, checked, hoptax, origin, program, ran, run, signal, sockets, wait_until,
};

#[test]
fn the_json_matches_its_schema_and_its_exit_code() {
    let (_origin, url) = origin(&[]);
    let ran = run(["load", "-q", "500", "-c", "8", "-d", "500ms", "--warmup", "100ms", "--json", "-", &url]);
    let result = checked("load", &ran.stdout);
    let book = |field: &str| result["book"][field].as_u64().unwrap();
    assert_eq!(book("planned"), 250);
    assert_eq!(book("planned"), book("sent") + book("unsent"));
    assert_eq!(book("sent"), book("answered") + book("failed") + book("timed_out") + book("unfinished"));
    for distribution in ["response", "service", "send_lag"] {
        for field in ["count", "min_us", "p50_us", "p90_us", "p99_us", "p99_9_us", "max_us"] {
            assert!(result["latency"][distribution].get(field).is_some(), "{distribution}.{field}");
        }
    }
    for pointer in [
        "/verdict",
        "/findings",
        "/rate/target",
        "/rate/offered",
        "/rate/achieved",
        "/generator/cpu_seconds",
        "/generator/run_delay_us",
    ] {
        assert!(result.pointer(pointer).is_some(), "{pointer}");
    }
    // The exit code follows the verdict, whatever the machine's noise made it.
    let expected = if result["verdict"] == "void" { 4 } else { 0 };
    assert_eq!(ran.code, Some(expected));
}

#[test]
fn the_table_goes_to_stdout_without_a_live_line_in_a_pipe() {
    let (_origin, url) = origin(&[]);
    let ran = run(["load", "-d", "200ms", "--warmup", "0s", &url]);
    assert!(ran.stdout.contains("response time") && has_verdict(&ran.stdout), "{}", ran.stdout);
    assert_eq!(ran.stderr, "");
    assert!(!ran.stdout.contains('\u{1b}'));
}

#[test]
fn a_closed_loop_is_not_void_because_of_the_generator_and_states_its_rate() {
    let (_origin, url) = origin(&[]);
    let ran = run(["load", "-d", "500ms", "--warmup", "100ms", "--json", "-", &url]);
    let result = checked("load", &ran.stdout);
    let findings = result["findings"].as_array().unwrap();
    let is_of_generator = |finding: &&serde_json::Value| {
        ["generator-saturated", "run-delay"].iter().any(|id| finding["id"] == *id)
    };
    let of_generator: Vec<_> = findings.iter().filter(is_of_generator).collect();
    assert!(of_generator.iter().all(|one| one["severity"] != "fail"), "{of_generator:?}");
    // The host may cause other findings, and most leave the rate.
    assert_eq!(result["rate"]["achieved"].is_number(), result["verdict"] != "void", "{result}");
}

#[test]
fn invalid_input_is_exit_code_2_and_an_unreachable_server_is_3() {
    assert_eq!(run(["load", "--rate", "fast", "http://127.0.0.1:1/"]).code, Some(2));
    assert_eq!(run(["load", "127.0.0.1:1"]).code, Some(2));
    assert_eq!(run(["load", "--arrivals", "poisson", "http://127.0.0.1:1/"]).code, Some(2));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    run(["load", &url]).fails(3, "is the server running");
}

#[test]
fn contradictory_arguments_are_rejected_before_anything_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("backwards");
    fs::write(&trace, "5ms\n1ms\n").unwrap();
    let trace = format!("trace={}", trace.display());
    // No server listens there, so the error precedes any connection.
    let url = "http://127.0.0.1:1/";
    for (flags, expected) in [
        (vec!["--arrivals", "burst=8"], "needs a rate"),
        (vec!["--arrivals", "jitter=70%", "-q", "10"], "at most 50 %"),
        (vec!["--arrivals", "posson", "-q", "10"], "`poisson`"),
        (vec!["--arrivals", &trace], "sort the trace"),
        (vec!["--arrivals", &trace, "-q", "10"], "has its own rate"),
        (vec!["--arrivals", "trace=/nonexistent"], "cannot read the trace"),
        (vec!["--pool", "fifo"], "`round-robin`"),
        (vec!["--when-busy", "queue=0", "-q", "10"], "`queue=100`"),
        (vec!["-q", "1e12"], "at most 10,000,000"),
        (vec!["-n", "0"], "at least 1"),
        (vec!["-n", "5", "--stages", "5@1s"], "cannot be used with"),
        (vec!["--fail-on", "p99"], "`errors>0.1%`"),
        (vec!["--fail-on", "p99>5"], "with its unit"),
        (vec!["--percentiles", "95,100"], "below 100"),
        (vec!["--stages", "0:1e12@5s"], "at most 10,000,000"),
        (vec!["--when-busy", "skip"], "has no schedule"),
        (vec!["-w", "8", "-c", "4"], "8 workers cannot share 4 connections"),
        (vec!["--stages", "5", "-c", "4"], "not a valid stage"),
        (vec!["--stages", "5@1s", "-q", "4"], "cannot be used with"),
        (vec!["--arrivals", &trace, "--stages", "5@1s"], "has its own rate"),
        (vec!["--think", "5ms", "-q", "4"], "cannot be used with"),
        (vec!["--weights", "1,2"], "1 URLs and 2 weights"),
        (vec!["--weights", "0"], "above 0"),
        (vec!["--requests", "/nonexistent"], "cannot read the requests"),
        (vec!["--openmetrics", "-"], "stdout has the result: name a file"),
        (vec!["--json", ""], "the name of the file is empty"),
        (vec!["--body-file", "/nonexistent"], "cannot read the body"),
        (vec!["--body-file", "/dev/zero"], "cannot read the body `/dev/zero`: it has more than 64 MiB"),
        (vec!["--body", "a", "--body-size", "5"], "cannot be used with"),
        (vec!["--requests-per-connection", "5-2"], "as `500-1500`"),
        (vec!["--connect", "later"], "`on-demand`"),
        (vec!["--expect", "header="], "not a valid expectation"),
        (vec!["--threshold", "steal"], "NAME=VALUE"),
    ] {
        ran(hoptax().arg("load").args(&flags).arg(url)).fails(2, expected);
    }
}

#[test]
fn a_trace_needs_no_rate_and_determines_the_duration() {
    let (_origin, url) = origin(&[]);
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    fs::write(&trace, "0s\n10ms\n10ms\n50ms\n").unwrap();
    let arrivals = format!("trace={}", trace.display());
    let ran = run(["load", "--arrivals", &arrivals, "--json", "-", &url]);
    let result = checked("load", &ran.stdout);
    assert_eq!(result["book"]["answered"], 4);
    assert_eq!(result["plan"]["arrivals"], arrivals.as_str());
}

#[test]
fn the_csv_of_the_log_has_every_request() {
    let (_origin, url) = origin(&["--default", "error=0.2&delay=exp:1ms"]);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("requests.log");
    let log = log.to_str().unwrap();
    let words = "load -q 800 -c 2 -w 2 -d 1s --max-error-share 1 --json - --log";
    let result = checked("load", &run(words.split(' ').chain([log, url.as_str()])).stdout);
    let csv = run(["convert", "log", log]).stdout;
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert!(csv.starts_with("intended_ns,offered_ns,started_ns,"));
    let count = |wanted: &dyn Fn(&str) -> bool| rows.iter().filter(|row| wanted(row[9])).count() as u64;
    let book = |field: &str| result["book"][field].as_u64().unwrap();
    assert_eq!(rows.len() as u64, book("planned"));
    assert_eq!(count(&|outcome| outcome.starts_with("unsent-")), book("unsent"));
    assert_eq!(count(&|outcome| outcome == "answered"), book("answered"));
    assert_eq!(count(&|outcome| outcome == "status-5xx"), result["failures"]["status-5xx"].as_u64().unwrap());
    assert_eq!(rows.iter().filter(|row| row[10] == "true").count() as u64, book("blocked"));
    assert!(
        ["0", "1"].iter().all(|connection| rows.iter().any(|row| row[7] == *connection)),
        "both workers are in it"
    );
    let mut response_ns: Vec<u64> =
        rows.iter().filter(|row| row[9] == "answered").map(|row| row[6].parse().unwrap()).collect();
    response_ns.sort_unstable();
    let exact_us = response_ns[response_ns.len().div_ceil(2) - 1] as f64 / 1e3;
    // Bounded if the machine was too busy.
    let printed_us = result["latency"]["response"]["p50_us"].as_f64();
    assert!(printed_us.is_some() || result["verdict"] != "sound");
    let differs = |printed_us: f64| (printed_us / exact_us - 1.0).abs() > 0.001;
    assert!(!printed_us.is_some_and(differs), "{printed_us:?} {exact_us}");
    assert_eq!(run(["convert", "log", "/dev/null"]).code, Some(2));
}

#[test]
fn the_loss_of_the_origin_appears_in_the_book() {
    let (origin, url) = origin(&[]);
    let mut load = Watched::start(&["-q", "200", "-d", "1h", "--warmup", "0s", &url]);
    load.wait_for(|line| line["answered"].as_u64() > Some(0));
    origin.signal("KILL");
    load.wait_for(|line| line["failures"]["refused"].as_u64() > Some(0));
    let result = load.interrupt();
    assert_eq!(result["verdict"], "caution", "{result:#}");
    assert!(result["book"]["failed"].as_u64().unwrap() > 0, "{result:#}");
    assert!(result["failures"].get("refused").is_some(), "{result:#}");
    // Requests that failed may have taken any time.
    assert!(result["rate"]["achieved"].is_f64() && result["latency"]["response"]["p50_us"].is_null());
}

#[test]
fn invalid_responses_are_counted_by_kind() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        let responses: [&[u8]; 3] =
            [b"\x00\x01 nothing\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nshort", b""];
        for (stream, response) in listener.incoming().zip(responses.iter().cycle()) {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(response);
        }
    });
    let flags = ["load", "-q", "100", "-n", "60", "-c", "1", "--warmup", "0s", "--json", "-", &url];
    let ran = run(flags.into_iter().chain(UNHURRIED));
    assert_eq!(ran.code, Some(4));
    let result = checked("load", &ran.stdout);
    for kind in ["malformed", "truncated", "closed"] {
        assert!(result["failures"][kind].as_u64() > Some(0), "{kind}: {}", result["failures"]);
    }
    let mut findings = result["findings"].as_array().unwrap().iter();
    assert!(findings.any(|finding| finding["id"] == "errors"), "{result:#}");
}

#[test]
fn a_true_or_unknown_condition_is_exit_code_1_and_a_void_result_is_4() {
    let (_origin, url) = origin(&[]);
    let load = |conditions: &[&str]| {
        let flags = conditions.iter().flat_map(|condition| ["--fail-on", *condition]);
        let loose = [
            "offered-share=0.001",
            "own-lag-fail-us=1e9",
            "load-deviation=100",
            "run-delay-fail=1",
            "steal-fail=1",
            "steady-change-fail=1e9",
        ];
        let loose = loose.into_iter().flat_map(|threshold| ["--threshold", threshold]);
        let fixed =
            ["load", "-q", "1000", "-c", "8", "-n", "500", "--percentiles", "75", "--json", "-", &url];
        let ran = run(fixed.into_iter().chain(UNHURRIED).chain(loose).chain(flags));
        (ran.code, checked("load", &ran.stdout))
    };
    let (code, result) = load(&["rate<1", "errors>50%"]);
    assert_eq!((code, &result["fail_on"][1]["outcome"]), (Some(0), &"passed".into()), "{result:#}");
    assert_eq!(result["percentiles"][0]["percentile"], 75.0);
    let (code, result) = load(&["rate>1", "errors>50%", "p50<=3600s"]);
    assert_eq!(code, Some(1), "{result:#}");
    assert_eq!(
        (&result["fail_on"][0]["outcome"], &result["fail_on"][1]["outcome"]),
        (&"failed".into(), &"passed".into())
    );
    assert!(result["fail_on"][0]["value"].as_f64() > Some(1.0));
    // 500 responses bound a p99.99 from below alone, and a condition that the bound does not decide does not pass.
    let (code, result) = load(&["p99.99>3600s"]);
    assert_eq!((code, &result["fail_on"][0]["outcome"]), (Some(1), &"unknown".into()), "{result:#}");
    let words = "load -d 300ms --warmup 0s --expect status=404 --json - --fail-on rate>1e9";
    let void = run(words.split(' ').chain([url.as_str()]));
    let result = checked("load", &void.stdout);
    assert_eq!((void.code, &result["fail_on"][0]["outcome"]), (Some(4), &"unknown".into()), "{result:#}");
}

#[test]
fn a_result_is_also_written_as_open_metrics() {
    let (_origin, url) = origin(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("load.prom");
    let path = file.to_str().unwrap();
    let ran = run(["load", "-q", "200", "-d", "500ms", "--openmetrics", path, "--json", "-", &url]);
    let result = checked("load", &ran.stdout);
    let text = fs::read_to_string(&file).unwrap();
    let expected = format!("hoptax_load_requests{{state=\"answered\"}} {}\n", result["book"]["answered"]);
    assert!(text.contains(&expected) && text.ends_with("# EOF\n"), "{text}");
    let full = run(["load", "-d", "100ms", "--warmup", "0s", "--openmetrics", "/dev/full", &url]);
    assert_eq!(full.code, Some(3));
}

#[test]
fn a_full_disk_is_an_error_but_the_table_is_printed() {
    let (_origin, url) = origin(&[]);
    let ran = run(["load", "-d", "100ms", "--warmup", "0s", "--json", "/dev/full", &url]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.stderr.contains("/dev/full") && ran.stderr.contains("No space left"), "{}", ran.stderr);
    assert!(has_verdict(&ran.stdout));
}

#[test]
fn help_that_cannot_be_printed_is_an_error_as_a_result_is() {
    for arguments in ["--help", "load --help", "--version"] {
        let line = format!("exec \"$0\" {arguments} > /dev/full");
        let full = ran(Command::new("sh").args(["-c", &line]).arg(program()));
        full.fails(3, "cannot write to stdout: No space");
    }
}

#[test]
fn the_origin_names_a_file_of_calls_that_it_cannot_read_or_that_lists_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("calls.json");
    let started = || run(["lab", "origin", "--calls", file.to_str().unwrap()]);
    started().fails(2, "calls.json` cannot be read: ");
    fs::write(&file, r#"{"stages": []}"#).unwrap();
    started().fails(2, "calls.json` does not list calls as JSON: unknown field `stages`");
    let endless = run(["lab", "origin", "--calls", "/dev/zero"]);
    endless.fails(2, "the file of calls `/dev/zero` cannot be read: it has more than 16 MiB");
}

#[test]
fn the_origin_refuses_a_default_response_that_never_ends() {
    let endless = run(["lab", "origin", "--listen", "127.0.0.1:0", "--default-file", "/dev/zero"]);
    endless.fails(2, "cannot read the default response `/dev/zero`: it has more than 16 MiB");
}

#[test]
fn the_origin_reports_that_its_port_is_in_use_and_ends_on_a_signal() {
    let (mut first, url) = origin(&[]);
    let address = url.strip_prefix("http://").unwrap();
    ran(hoptax().args(["lab", "origin", "--listen", address])).fails(3, "another process listens there");
    assert_eq!(run(["lab", "origin", "--default", "delay=soon"]).code, Some(2));
    let contradiction = ["lab", "origin", "--cert", "a.pem", "--key", "a.key", "--alpn", "none,h2"];
    run(contradiction).fails(2, "`--alpn none` disables ALPN");
    signal(first.0.id(), "TERM");
    let mut status = None;
    wait_until("the end of the origin", || {
        status = first.0.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(0));
}

#[test]
fn more_connections_than_open_files_are_an_error_with_the_limit_and_a_remedy() {
    let script = format!(
        "ulimit -n 1024; exec '{}' load -c 10000000 http://127.0.0.1:1/",
        support::program().display()
    );
    let ran = ran(Command::new("sh").args(["-c", &script]));
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    for words in ["is 1024", "`ulimit -n 10001024`", "--nofile=10001024`"] {
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
}

#[test]
fn requests_of_a_file_are_sent_in_turn_and_all_its_errors_are_reported() {
    let (_origin, url) = origin(&[]);
    let folder = tempfile::tempdir().unwrap();
    let requests = folder.path().join("requests");
    fs::write(&requests, "# two\n/?status=204\n\nPOST /?status=201 {\"id\": \"{counter}\"}\n").unwrap();
    let file = requests.to_str().unwrap();
    let flags = ["load", "-q", "200", "-n", "100", "--warmup", "0s", "--requests", file, "--json", "-", &url];
    let result = checked("load", &run(flags.into_iter().chain(UNHURRIED)).stdout);
    assert_eq!((&result["statuses"]["204"], &result["statuses"]["201"]), (&50.into(), &50.into()));
    assert_eq!(result["plan"]["requests"], 2);
    fs::write(&requests, "/a b\nftp://x/\nGET GET GET\n").unwrap();
    let ran = run(["load", "--requests", file, &url]);
    assert_eq!(ran.code, Some(2));
    assert!(["line 1", "line 2", "line 3"].iter().all(|line| ran.stderr.contains(line)), "{}", ran.stderr);
}

#[test]
fn an_ipv6_host_is_reached_or_reported_as_unreachable() {
    // Some machines have no IPv6.
    if TcpListener::bind("[::1]:0").is_ok() {
        let (_origin, url) = origin(&["--listen", "[::1]:0"]);
        let result = checked("load", &run(["load", "-q", "100", "-d", "300ms", "--json", "-", &url]).stdout);
        assert!(result["book"]["answered"].as_u64().unwrap() > 0);
    }
    // No machine has a route to the documentation prefix.
    run(["load", "-d", "300ms", "--timeout", "1s", "http://[2001:db8::1]/"]).fails(3, "2001:db8::1");
}

#[test]
fn processes_of_the_server_are_accounted_for() {
    let (origin, url) = origin(&[]);
    let account = format!("pid={}", origin.0.id());
    let limits = ["--fail-on", "memory>=1TiB", "--fail-on", "memory>1000GiB"];
    let flags = ["load", "-n", "500", "--warmup", "0s", "--account", &account, "--json", "-"];
    run([&flags[..], &limits[..], &[url.as_str()]].concat()).fails(2, "as `200MiB`");
    let result = run([&flags[..], &limits[2..], &UNHURRIED[..], &[url.as_str()]].concat());
    let result = checked("load", &result.stdout);
    let found = &result["account"];
    assert_eq!(found["processes"], format!("pid {}", origin.0.id()));
    for name in ["processors", "cpu_share", "cpu_us", "memory_bytes"] {
        assert!(found[name].as_f64() > Some(0.0), "{name}: {found}");
    }
    assert_eq!(result["fail_on"][0]["value"].as_f64(), found["memory_bytes"].as_f64(), "{found}");
    run(["load", "--fail-on", "cpu>80%", &url]).fails(2, "--account process=envoy");
}

#[test]
fn running_out_of_file_descriptors_is_a_failure_of_the_generator() {
    let (origin, url) = origin(&[]);
    let before = sockets(origin.0.id());
    // Every request opens a connection and holds it long enough to be observed.
    let flags = ["-c", "16", "--connect", "on-demand", "--requests-per-connection", "1", "-q", "100"];
    let url = format!("{url}/?delay=50ms");
    let mut load = Watched::start(&[&flags[..], &["-d", "1h", "--warmup", "0s", &url]].concat());
    wait_until("a connection of the load", || sockets(origin.0.id()) > before);
    // For a while, the generator cannot open files.
    let process = Pid::from_child(&load.load.0);
    let none = Rlimit { current: Some(3), maximum: getrlimit(Resource::Nofile).maximum };
    let usual = prlimit(Some(process), Resource::Nofile, none).unwrap();
    load.wait_for(|line| line["failures"]["generator"].as_u64() > Some(0));
    prlimit(Some(process), Resource::Nofile, usual).unwrap();
    let result = load.interrupt();
    assert!(result["failures"]["generator"].as_u64().unwrap_or_default() > 0, "{}", result["failures"]);
    assert!(result["failures"]["reset"].is_null(), "{}", result["failures"]);
    let findings = result["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["id"] == "generator-exhausted"), "{findings:?}");
}
