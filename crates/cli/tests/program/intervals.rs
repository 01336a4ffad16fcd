//! Outputs of `hoptax load` for other tools: lines of JSON while it runs, and the files of `HdrHistogram`.

use std::fs;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use serde_json::Value;

use crate::support::{checked, origin, run};

/// The histograms of an interval log with one tag, in order, each with its start in seconds.
fn histograms(log: &[u8], wanted: &str) -> Vec<(f64, Histogram<u64>)> {
    let mut found = Vec::new();
    for entry in IntervalLogIterator::new(log) {
        let LogEntry::Interval(interval) = entry.unwrap() else { continue };
        if interval.tag().unwrap().as_str() == wanted {
            let bytes = STANDARD.decode(interval.encoded_histogram()).unwrap();
            let histogram = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            found.push((interval.start_timestamp().as_secs_f64(), histogram));
        }
    }
    found
}

#[test]
fn an_interval_log_and_a_distribution_hold_every_response() {
    let (_origin, url) = origin(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (json, hlog) = (file("a.json"), file("a.hlog"));
    let arguments = ["load", "-q", "300", "-d", "2500ms", "--warmup", "100ms", "-c", "4", "-w", "2"];
    let outputs = ["--hlog", &hlog, "--json", &json, &url];
    let ran = run(arguments.into_iter().chain(outputs));
    let result = checked("load", &fs::read_to_string(&json).unwrap());
    let answered = result["book"]["answered"].as_u64().unwrap();
    assert!(answered > 0, "{}", ran.stderr);

    let log = fs::read(&hlog).unwrap();
    let text = String::from_utf8_lossy(&log);
    assert!(text.starts_with("#[Histogram log format version 1.3]\n#[StartTime: "), "{text}");
    let mut sums = Vec::new();
    for tag in ["response", "service"] {
        let all = histograms(&log, tag);
        let starts: Vec<f64> = all.iter().map(|(start, _)| *start).collect();
        assert!(starts.len() >= 3 && starts[..3] == [0.0, 1.0, 2.0], "{starts:?}");
        let mut sum = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        for (_, histogram) in &all {
            sum += histogram;
        }
        assert_eq!(sum.len(), answered, "{tag}");
        sums.push(sum);
    }
    // Response time begins before service time does.
    assert!(sums[0].value_at_quantile(0.5) >= sums[1].value_at_quantile(0.5));

    let exported = run(["convert", "export", &json, "--to", "hgrm"]);
    if result["verdict"] == "void" {
        // The machine was too busy.
        assert_eq!(exported.code, Some(2));
        return;
    }
    let text = exported.stdout;
    let rows: Vec<Vec<f64>> = text
        .lines()
        .skip(2)
        .take_while(|line| !line.starts_with('#'))
        .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
        .collect();
    assert!(rows.windows(2).all(|pair| pair[0][0] <= pair[1][0] && pair[0][2] <= pair[1][2]), "{text}");
    let last = rows.last().unwrap();
    assert_eq!((last.len(), last[1], last[2]), (3, 1.0, answered as f64), "{text}");
    let median_ms = rows.iter().find(|row| row[1] >= 0.5).unwrap()[0];
    let expected_ms = sums[0].value_at_quantile(0.5) as f64 / 1e6;
    assert!((median_ms - expected_ms).abs() <= 0.0006, "{median_ms} {expected_ms}");
    assert!(text.contains(&format!("Total count    = {answered:>12}]")), "{text}");
}

#[test]
fn lines_of_a_load_add_up_to_its_result() {
    let (_origin, url) = origin(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.json").display().to_string();
    let refused = format!("{url}/?status=503");
    let words = "load -q 300 -d 1s --warmup 200ms -c 4 -w 2 --every 250ms --max-error-share 1 --json";
    let ran = run(words.split(' ').chain([file.as_str(), url.as_str(), refused.as_str()]));
    let result = checked("load", &fs::read_to_string(&file).unwrap());
    let lines: Vec<Value> = ran.stdout.lines().map(|line| checked("load-interval", line)).collect();
    assert!(lines.len() >= 4, "{}", ran.stdout);
    let sum = |of: &dyn Fn(&Value) -> Option<u64>| lines.iter().filter_map(of).sum::<u64>();
    let (answered, failed) = (&result["book"]["answered"], &result["failures"]["status-5xx"]);
    assert_eq!(sum(&|line| line["answered"].as_u64()), answered.as_u64().unwrap());
    assert_eq!(sum(&|line| line["failures"]["status-5xx"].as_u64()), failed.as_u64().unwrap());
    assert_eq!(sum(&|line| line["sent"].as_u64()), result["book"]["sent"].as_u64().unwrap());
    assert!(answered.as_u64().unwrap() > 0 && failed.as_u64().unwrap() > 0, "{result}");
    for (line, next) in lines.iter().zip(&lines[1..]) {
        assert_eq!(line["to_s"], next["from_s"]);
    }
    assert_eq!((&lines[0]["from_s"], &lines[3]["from_s"]), (&Value::from(0.0), &Value::from(0.75)));
    assert!(lines[3]["to_s"].as_f64() >= Some(1.0), "{}", ran.stdout);
    let (last, before) = lines.split_last().unwrap();
    assert_eq!((&last["in_flight"], &last["verdict"]), (&Value::from(0), &result["verdict"]));
    assert!(before.iter().all(|line| line.get("verdict").is_none()), "{}", ran.stdout);
    // No line covers a fraction of an interval only.
    let length_s = |line: &Value| line["to_s"].as_f64().unwrap() - line["from_s"].as_f64().unwrap();
    assert!(lines.iter().all(|line| length_s(line) >= 0.025), "{}", ran.stdout);
    let slowest = lines.iter().filter_map(|line| line["response"]["max_us"].as_f64()).fold(0.0, f64::max);
    // A result withholds times where the machine was too busy for them.
    let reported = result["latency"]["response"]["max_us"].as_f64();
    assert!(reported.is_none() || reported == Some(slowest), "{reported:?} {slowest}");
    assert!(ran.stderr.contains("p99"), "the table goes to stderr: {}", ran.stderr);
}

#[test]
fn an_interval_log_states_the_verdict() {
    let (_origin, url) = origin(&[]);
    let folder = tempfile::tempdir().unwrap();
    let hlog = folder.path().join("a.hlog").display().to_string();
    let refused = format!("{url}/?status=503");
    let arguments = ["load", "-q", "200", "-d", "500ms", "--warmup", "0s", "-c", "4", "--json", "-"];
    let load = |more: &[&str], other: &str| {
        let outputs = ["--hlog", &hlog, &refused, other];
        let ran = run(arguments.into_iter().chain(more.iter().copied()).chain(outputs));
        let log = fs::read_to_string(&hlog).unwrap();
        let comments = log[log.rfind("# verdict: ").unwrap()..].to_owned();
        (checked("load", &ran.stdout), log, comments)
    };
    // All answers are errors.
    let (result, log, comments) = load(&[], &refused);
    assert_eq!(result["verdict"], "void");
    assert!(comments.starts_with("# verdict: void\n"), "{comments}");
    assert!(comments.contains("\n# fail: errors: ") && comments.contains("p50, p90, p99"), "{comments}");
    assert!(comments.lines().all(|line| line.starts_with('#')), "{comments}");
    // The comments end the log, and its readers skip them.
    let answered: u64 = histograms(log.as_bytes(), "response").iter().map(|(_, one)| one.len()).sum();
    assert_eq!(answered, result["book"]["answered"].as_u64().unwrap());

    // The far tail has too few answers; a busy machine may withhold more.
    let (result, _, comments) = load(&["--max-error-share", "1"], &url);
    let verdict = result["verdict"].as_str().unwrap();
    assert!(comments.starts_with(&format!("# verdict: {verdict}\n")), "{comments}");
    let withheld = comments.lines().find(|line| line.starts_with("# withheld in the result: ")).unwrap();
    assert!(withheld.ends_with("p99, p99.9"), "{withheld}");
}

#[test]
fn stdout_cannot_have_both_lines_and_the_result() {
    run(["load", "--every", "1s", "--json", "-", "http://127.0.0.1:1/"]).fails(2, "give `--json` a file");
    assert_eq!(run(["load", "--every", "10ms", "http://127.0.0.1:1/"]).code, Some(2));
    let missing = run(["load", "--hlog", "/nonexistent/a.hlog", "http://127.0.0.1:1/"]);
    assert!(missing.stderr.contains("/nonexistent/a.hlog"), "{}", missing.stderr);
}
