//! `hoptax convert smp`, `hoptax convert export` and `hoptax convert import` in the formats of other tools, as run by users and scripts.

use std::fs;
use std::process::Command;

use hoptax_report::{histograms, parquet};
use hoptax_result::{CountedTime, ResponseHistogram};
use serde_json::{Value, json};

use crate::support::receiver::receiver;
use crate::support::{TOLERANT, UNHURRIED, checked, origin, program, ran, root, run};

/// The result of a load of 400 requests, and the folder that it is in.
fn load() -> (tempfile::TempDir, String, Value) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("load.json").display().to_string();
    let (_origin, url) = origin(&[]);
    let arguments = ["load", "-n", "400", "-c", "2", "--warmup", "0s", "--json", &file, &url];
    run(arguments.into_iter().chain(UNHURRIED).chain(TOLERANT)).succeeded();
    let result = checked("load", &fs::read_to_string(&file).unwrap());
    (folder, file, result)
}

#[test]
fn a_load_returns_from_smp_as_it_was_and_changes_are_noticed() {
    let (folder, file, result) = load();
    let smp = run(["convert", "export", &file, "--to", "smp"]).succeeded();
    let mut document: Value = serde_json::from_str(&smp.stdout).unwrap();
    assert_eq!(document["test"]["clients"][0]["connections"], 2);
    assert_eq!(document["result"]["actual_qps"], result["rate"]["achieved"]);
    let kept = folder.path().join("smp.json").display().to_string();
    fs::write(&kept, &smp.stdout).unwrap();
    let again = run(["convert", "import", "smp", &kept, "--json", "-"]);
    assert_eq!(serde_json::from_str::<Value>(&again.stdout).unwrap(), result);
    document["result"]["latencies_ms"]["p50"] = json!(0.001);
    fs::write(&kept, document.to_string()).unwrap();
    run(["convert", "import", "smp", &kept]).fails(2, "was changed after the export");
}

#[test]
fn a_distribution_returns_from_hgrm() {
    let (folder, file, result) = load();
    let kept = folder.path().join("load.hgrm").display().to_string();
    fs::write(&kept, run(["convert", "export", &file, "--to", "hgrm"]).stdout).unwrap();
    let read = checked("load", &run(["convert", "import", "hgrm", &kept, "--json", "-"]).stdout);
    assert_eq!(read["book"]["answered"], result["book"]["answered"]);
    let us = |of: &Value| of["p50_us"].as_f64().unwrap();
    let (read, was) = (us(&read["latency"]["service"]), us(&result["latency"]["response"]));
    assert!((read - was).abs() <= 1.0 + 0.01 * was, "{read} {was}");
    run(["convert", "import", "hdr", &kept]).fails(2, "supported are smp, hgrm, hlog, openmetrics, otlp,");
}

/// Asserts that an imported result does not state the p99 and p99.9, which 400 requests do not support.
fn states_no_far_tail(read: &Value) {
    let service = &read["latency"]["service"];
    assert!(service["p99_us"].is_null() && service["p99_9_us"].is_null(), "{service}");
    let mut ranges = read["imported"]["ranges"].as_array().into_iter().flatten();
    assert!(ranges.all(|range| range["percentile"].as_f64().unwrap() < 99.0), "{read}");
}

#[test]
fn intervals_return_from_hlog_as_one_distribution() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (file, log) = (path("load.json"), path("load.hlog"));
    let (_origin, url) = origin(&[]);
    let arguments =
        ["load", "-n", "400", "--warmup", "0s", "--every", "100ms", "--hlog", &log, "--json", &file, &url];
    run(arguments.into_iter().chain(UNHURRIED).chain(TOLERANT)).succeeded();
    let result = checked("load", &fs::read_to_string(&file).unwrap());
    for series in ["response", "service"] {
        let read = run(["convert", "import", "hlog", &log, "--statistic", series, "--json", "-"]);
        let read = checked("load", &read.stdout);
        assert_eq!(read["book"]["answered"], 400);
        let us = |of: &Value| of["p50_us"].as_f64().unwrap();
        let (read_us, was) = (us(&read["latency"]["service"]), us(&result["latency"][series]));
        assert!((read_us - was).abs() <= 0.01 * was, "{series}: {read_us} {was}");
        states_no_far_tail(&read);
    }
    let whole = path("whole.hlog");
    fs::write(&whole, run(["convert", "export", &file, "--to", "hlog"]).stdout).unwrap();
    let read = checked(
        "load",
        &run(["convert", "import", "hlog", &whole, "--statistic", "response", "--json", "-"]).stdout,
    );
    assert_eq!(read["book"]["answered"], 400);
    states_no_far_tail(&read);
    let void = path("void.hlog");
    fs::write(&void, fs::read_to_string(&whole).unwrap() + "# verdict: void\n").unwrap();
    let read = checked(
        "load",
        &run(["convert", "import", "hlog", &void, "--statistic", "service", "--json", "-"]).stdout,
    );
    let service = &read["latency"]["service"];
    assert!(
        read["verdict"] == "void" && service["p50_us"].is_null() && service["max_us"].is_null(),
        "{read}"
    );
    for format in ["nighthawk", "k6"] {
        let exported = path(format);
        fs::write(&exported, run(["convert", "export", &file, "--to", format]).stdout).unwrap();
        let read = checked("load", &run(["convert", "import", format, &exported, "--json", "-"]).stdout);
        let us = |of: &Value| of["latency"]["service"]["p50_us"].as_f64().unwrap();
        assert!((us(&read) / us(&result) - 1.0).abs() < 1e-3, "{format}: {read}");
    }
    for (format, metric) in
        [("openmetrics", "hoptax_load_response_seconds"), ("otlp", "hoptax.load.response_time")]
    {
        let exported = path(format);
        fs::write(&exported, run(["convert", "export", &file, "--to", format]).stdout).unwrap();
        let read = checked(
            "load",
            &run(["convert", "import", format, &exported, "--statistic", metric, "--json", "-"]).stdout,
        );
        assert_eq!(read["book"]["answered"], 400, "{format}");
        states_no_far_tail(&read);
    }
    run(["convert", "import", "hlog", &log]).fails(2, "`response` and `service`");
    run(["convert", "import", "hgrm", &log, "--statistic", "service"]).fails(2, "`hgrm` has only one");
}

#[test]
fn a_histogram_that_states_more_bytes_than_it_has_does_not_take_them_from_memory() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("load.hlog");
    // The head of an encoding, which states 4 GiB of counts.
    let head = "HISTE/////8AAAAAAAAAAwAAAAAAAAABAAADRjC4oAA/8AAAAAAAAA==";
    fs::write(&log, format!("0.000,1.000,1.000,{head}\n")).unwrap();
    let script =
        format!("ulimit -v 2097152; exec '{}' convert import hlog '{}'", program().display(), log.display());
    ran(Command::new("sh").args(["-c", &script])).fails(2, "at 0 s cannot be read");
}

#[test]
fn a_receiver_gets_the_metrics_or_its_refusal_is_an_error() {
    let (_folder, file, result) = load();
    let send = |url: &str| run(["convert", "export", &file, "--to", "otlp", "--send-to", url]);
    let (url, received) = receiver("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
    let sent = send(&url).succeeded();
    assert!(sent.stdout.is_empty() && sent.stderr.contains("metrics received"), "{}", sent.stderr);
    let (head, body) = received.join().unwrap();
    assert!(
        head.starts_with("post /v1/metrics http/1.1") && head.contains("content-type: application/json"),
        "{head}"
    );
    let printed = run(["convert", "export", &file, "--to", "otlp"]).stdout;
    assert_eq!(body, printed);
    let request: Value = serde_json::from_str(&body).unwrap();
    let metrics = request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
    let named = |name: &str| metrics.iter().find(|one| one["name"] == name).unwrap();
    let point = &named("hoptax.load.response_time")["exponentialHistogram"]["dataPoints"][0];
    assert_eq!(point["count"], "400");
    let counts = point["positive"]["bucketCounts"].as_array().unwrap().iter();
    let total: u64 = counts.map(|count| count.as_str().unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(total, 400);
    let mean_s = point["sum"].as_f64().unwrap() / 400.0;
    let expected_s = result["outcomes"]["answered"]["mean_us"].as_f64().unwrap() / 1e6;
    assert!((mean_s / expected_s - 1.0).abs() < 0.002, "{mean_s} {expected_s}");

    for (answer, expected) in [
        (
            "HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno!",
            "it answered 400 Bad Request: no!",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 45\r\nConnection: close\r\n\r\n{\"partialSuccess\":{\"rejectedDataPoints\":\"2\"}}",
            "it rejected 2 data points",
        ),
    ] {
        let answer: &'static str = answer;
        let (url, received) = receiver(answer);
        let refused = send(&url);
        received.join().unwrap();
        refused.fails(3, expected);
    }
    // Nothing listens on port 1.
    assert_eq!(send("http://127.0.0.1:1/v1/metrics").code, Some(3));
    assert_eq!(send("https://127.0.0.1:1/v1/metrics").code, Some(2));
    assert_eq!(
        run(["convert", "export", &file, "--to", "smp", "--send-to", "http://127.0.0.1:1/"]).code,
        Some(2)
    );
}

#[test]
fn a_test_configuration_of_smp_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (file, json) = (path("test.yaml"), path("result.json"));
    let (_origin, url) = origin(&[]);
    let config = format!(
        "test:\n  smp_version: v0.0.1\n  name: a test\n  labels: {{a: b}}\n  clients:\n  - internal: false\n    \
         load_generator: fortio\n    protocol: 1\n    connections: 2\n    rps: 50\n    headers: {{X-A: b}}\n    \
         content_type: text/plain\n    body: hello\n    additional_options: -stdclient\n    \
         endpoint_urls: [\"{url}/a\", \"{url}/b\"]\n  duration: 0.3s\nmesh: {{type: 3}}\n"
    );
    fs::write(&file, config).unwrap();
    let ran = run(["convert", "smp", "run", &file, "--json", &json]);
    // A machine that stalls for long makes the result void.
    assert!([Some(0), Some(4)].contains(&ran.code), "{}", ran.stderr);
    for words in [
        "client 1: 50 requests/s (open loop), 2 connections, 0.3s to http://127.0.0.1",
        "not used: mesh",
        "`load_generator: fortio`",
        "`additional_options`",
    ] {
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
    let result = checked("load", &fs::read_to_string(&json).unwrap());
    let plan = &result["plan"];
    assert_eq!(
        (&plan["connections"], &plan["requests"], &plan["method"]),
        (&json!(2), &json!(2), &json!("POST"))
    );
    assert_eq!((&plan["duration_s"], &result["rate"]["target"]), (&json!(0.3), &json!(50.0)));

    // Exports of hoptax can be run, too.
    fs::write(&file, run(["convert", "export", &json, "--to", "smp"]).stdout).unwrap();
    let again = run(["convert", "smp", "run", &file]);
    assert!([Some(0), Some(4)].contains(&again.code), "{}", again.stderr);
}

#[test]
fn a_file_does_not_aim_a_load_at_another_machine() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("test.json").display().to_string();
    let write = |urls: &[&str]| {
        let clients: Vec<Value> = urls.iter().map(|url| json!({"rps": 1, "endpoint_urls": [url]})).collect();
        fs::write(&file, json!({"test": {"clients": clients, "duration": "100ms"}}).to_string()).unwrap();
    };
    // The names do not exist; a load to them would fail in another way.
    write(&["http://127.0.0.1:1/", "http://a.invalid:81/x", "http://127.0.0.1@b.invalid/"]);
    let refused = run(["convert", "smp", "run", &file]);
    assert_eq!(refused.code, Some(2));
    for words in ["`--target a.invalid:81`", "`--target b.invalid:80`"] {
        assert!(refused.stderr.contains(words), "{words}: {}", refused.stderr);
    }
    assert!(!refused.stderr.contains("client 1:"), "no load began: {}", refused.stderr);
    let allowed = run(["convert", "smp", "run", &file, "--client", "2", "--target", "a.invalid:81"]);
    assert!(allowed.code != Some(0) && !allowed.stderr.contains("--target"), "{}", allowed.stderr);
    assert!(allowed.stderr.contains("client 2: 1 requests/s"), "{}", allowed.stderr);
    run(["convert", "smp", "run", &file, "--json", "-"]).fails(2, "`--client 1`");
    assert!(run(["convert", "smp", "run", &file, "--client", "4"]).stderr.contains("there is no client 4"));
    fs::write(&file, "{\"test\": {\"clients\": [{\"rps\": \"x\", \"protocol\": 7}]}}").unwrap();
    let bad = run(["convert", "smp", "run", &file]);
    assert_eq!(bad.code, Some(2));
    assert!(
        bad.stderr.contains("test.clients[0].rps") && bad.stderr.contains("test.clients[0].protocol"),
        "{}",
        bad.stderr
    );
}

#[test]
fn marks_are_printed_for_a_published_study() {
    let list = root().join("docs/results/price-list");
    let list = list.to_str().unwrap();
    let ran = run(["convert", "smp", "meshmark", list]).succeeded();
    assert!(ran.stdout.contains("MeshMark") && ran.stdout.contains("value for cost"), "{}", ran.stdout);
    let marks = checked("meshmark", &run(["convert", "smp", "meshmark", list, "--json", "-"]).stdout);
    let arms = marks["arms"].as_array().unwrap();
    let jwt = arms.iter().find(|one| one["arm"] == "jwt").unwrap();
    let value = &jwt["value_for_cost"];
    let of = |name: &str| value[name].as_f64().unwrap();
    assert!(of("low") < of("estimate") && of("estimate") < of("high"), "{value}");
    assert!(arms.iter().all(|one| one["arm"] != "direct"), "without a proxy there is no cost of one");
    assert_eq!(run(["convert", "smp", "meshmark", "/nonexistent"]).code, Some(2));
}

/// A table of bins in a Parquet file.
fn bins() -> Vec<u8> {
    let histogram = ResponseHistogram {
        arm: "lua".to_owned(),
        load: "open".to_owned(),
        counts: vec![CountedTime::new(100_000, 3), CountedTime::new(300_000, 1)],
    };
    parquet::bytes(&histograms::table(&[histogram])).unwrap()
}

#[test]
fn a_distribution_returns_from_parquet() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("histograms.parquet").display().to_string();
    fs::write(&file, bins()).unwrap();
    let read = checked("load", &run(["convert", "import", "parquet", &file, "--json", "-"]).stdout);
    assert_eq!(read["book"]["answered"], 4);
    assert_eq!(read["imported"]["ranges"][0]["high_us"], json!(100.0));
    run(["convert", "import", "parquet", "nowhere.parquet"]).fails(2, "cannot read `nowhere.parquet`");
}

/// The library panics on some of these files. If it does no longer, it can be called without a process of its own.
#[test]
fn damaged_parquet_ends_with_an_error_and_not_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("damaged.parquet").display().to_string();
    let whole = bins();
    let mut panics = 0;
    for place in (4..whole.len()).step_by(9) {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x7f;
        fs::write(&file, damaged).unwrap();
        let ran = run(["convert", "import", "parquet", &file]);
        // Bytes of the table itself may be damaged, too.
        let is_refused = ["is not a Parquet file", "cannot be read as output of parquet"]
            .iter()
            .any(|reason| ran.stderr.contains(reason));
        let is_clean = ran.code == Some(0) || ran.code == Some(2) && is_refused;
        assert!(is_clean && !ran.stderr.contains("panicked"), "byte {place}: {:?}, {}", ran.code, ran.stderr);
        panics += usize::from(ran.stderr.contains("it is damaged"));
    }
    assert!(panics > 0);
}

#[test]
fn a_file_that_is_no_parquet_is_refused_with_the_reason_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("text.parquet").display().to_string();
    fs::write(&file, "This is a text, and no table.").unwrap();
    let ran = run(["convert", "import", "parquet", &file]);
    ran.fails(2, "it is not a Parquet file that can be read: ");
    assert!(!ran.stderr.contains("it is damaged"), "{ran:?}");
}

#[test]
fn a_file_without_end_does_not_take_all_memory() {
    run(["convert", "import", "parquet", "/dev/zero"]).fails(2, "memory");
}
