//! `hoptax convert export --to otlp` against a real OpenTelemetry Collector: that of `make collector`. `make collector-check` builds it
//! and runs these tests.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};

use crate::support::receiver::receiver;
use crate::support::{Guarded, Ran, TOLERANT, UNHURRIED, checked, origin, root, run, wait_until};

const ACCEPTS: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
const REFUSES: &str = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno!";

/// A collector that prints the metrics that it receives, and passes them on as JSON before it answers.
struct Collector {
    _process: Guarded,
    folder: tempfile::TempDir,
    /// Address that it listens on.
    address: String,
}

impl Collector {
    fn start(next: &str) -> Self {
        let program = root().join(".tools/bin/hoptax-collector");
        assert!(program.exists(), "there is no {}: run `make collector`", program.display());
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        // Without queues, it answers when the last exporter has finished, with the answer that the exporter got.
        let config = format!(
            "receivers:\n  otlp: {{protocols: {{http: {{endpoint: \"127.0.0.1:0\"}}}}}}\n\
             exporters:\n  debug: {{verbosity: detailed, use_internal_logger: false}}\n  \
             otlp_http:\n    metrics_endpoint: {next}\n    encoding: json\n    compression: none\n    \
             sending_queue: {{enabled: false}}\n    retry_on_failure: {{enabled: false}}\n\
             service:\n  telemetry: {{metrics: {{level: none}}}}\n  \
             pipelines: {{metrics: {{receivers: [otlp], exporters: [debug, otlp_http]}}}}\n"
        );
        fs::write(file("collector.yaml"), config).unwrap();
        let process = Command::new(program)
            .arg("--config")
            .arg(file("collector.yaml"))
            .stdin(Stdio::null())
            .stdout(File::create(file("printed")).unwrap())
            .stderr(File::create(file("log")).unwrap())
            .spawn()
            .unwrap();
        let process = Guarded(process);
        wait_until("the address of the collector", || listens_on(&file("log")).is_some());
        let address = listens_on(&file("log")).unwrap();
        Self { _process: process, folder, address }
    }

    fn send(&self, result: &str, path: &str) -> Ran {
        let url = format!("http://{}{path}", self.address);
        run(["convert", "export", result, "--to", "otlp", "--send-to", &url])
    }

    /// Returns the telemetry that it printed.
    fn printed(&self) -> String {
        fs::read_to_string(self.folder.path().join("printed")).unwrap()
    }
}

/// The address in the log of a collector, when it is there.
fn listens_on(log: &Path) -> Option<String> {
    let text = fs::read_to_string(log).unwrap();
    let started = text
        .split_inclusive('\n')
        .find(|line| line.contains("Starting HTTP server") && line.ends_with('\n'))?;
    Some(started.split("\"endpoint\": \"").nth(1)?.split('"').next()?.to_owned())
}

/// A result with answered and failed requests, and the file that it is in.
fn load(folder: &Path) -> (String, Value) {
    let file = folder.join("load.json").display().to_string();
    // Long times, because the collector prints them in microseconds.
    let (_origin, url) = origin(&["--default", "delay=5ms&status=503:10"]);
    // Enough for a p90 of those answered.
    let arguments = ["load", "-n", "2000", "-c", "16", "--warmup", "0s", "--json", &file, &url];
    let tolerant = ["--max-error-share", "1", "--threshold", "interval-fail-share=1e9"];
    let ran = run(arguments.into_iter().chain(tolerant).chain(UNHURRIED).chain(TOLERANT)).succeeded();
    let result = checked("load", &fs::read_to_string(&file).unwrap());
    assert!(result["book"]["failed"].as_u64() > Some(0), "{}", ran.stdout);
    (file, result)
}

/// The value without members that have the default of their type, which an encoder may leave out, and numbers as `f64`.
fn plain(value: &Value) -> Value {
    let is_default = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty() || text == "0",
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Object(members) => members.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Bool(is) => !is,
    };
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| (key.clone(), plain(value)));
            let members: Map<_, _> = members.filter(|(_, value)| !is_default(value)).collect();
            Value::Object(members)
        }
        Value::Array(values) => values.iter().map(plain).collect(),
        Value::Number(number) => number.as_f64().into(),
        other => other.clone(),
    }
}

/// The counts and rates of a result, by the names that its metrics and their attributes have.
fn stated(result: &Value) -> BTreeMap<String, f64> {
    let mut numbers = BTreeMap::new();
    let book = &result["book"];
    for outcome in ["answered", "failed", "timed_out", "unfinished", "unsent"] {
        numbers.insert(format!("requests {}", outcome.replace('_', "-")), book[outcome].as_f64().unwrap());
    }
    for (metric, counts) in
        [("failures", &result["failures"]), ("responses", &result["statuses"]), ("rate", &result["rate"])]
    {
        for (name, number) in counts.as_object().unwrap() {
            // A closed loop has no planned rate.
            let Some(number) = number.as_f64() else { continue };
            numbers.insert(format!("{metric} {name}"), number);
        }
    }
    for times in ["response", "service"] {
        numbers.insert(format!("{times}_time count"), book["answered"].as_f64().unwrap());
        numbers.insert(format!("{times}_time in buckets"), book["answered"].as_f64().unwrap());
    }
    numbers
}

/// A number, which JSON has as text if it is a whole one of 64 bits.
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

/// The same, as the collector read them.
fn read(passed_on: &Value) -> BTreeMap<String, f64> {
    let mut numbers = BTreeMap::new();
    for metric in metrics(passed_on) {
        let name = metric["name"].as_str().unwrap().strip_prefix("hoptax.load.").unwrap();
        for (kind, member) in [("sum", "asInt"), ("gauge", "asDouble")] {
            for point in metric[kind]["dataPoints"].as_array().into_iter().flatten() {
                let of = point["attributes"][0]["value"]["stringValue"].as_str().unwrap();
                numbers.insert(format!("{name} {of}"), number(&point[member]));
            }
        }
        for point in metric["exponentialHistogram"]["dataPoints"].as_array().into_iter().flatten() {
            let counts = point["positive"]["bucketCounts"].as_array().unwrap();
            numbers.insert(format!("{name} count"), number(&point["count"]));
            numbers.insert(format!("{name} in buckets"), counts.iter().map(number).sum());
        }
    }
    numbers
}

fn metrics(passed_on: &Value) -> &[Value] {
    passed_on["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap()
}

/// Each number of a result that the collector read differently, given the metrics that it passed on and its output.
fn differences(result: &Value, passed_on: &Value, printed: &str) -> Vec<String> {
    let (stated, read) = (stated(result), read(passed_on));
    let names: Vec<&String> = stated.keys().chain(read.keys()).collect();
    let mut differences: Vec<String> = names
        .into_iter()
        .filter(|name| stated.get(*name) != read.get(*name))
        .map(|name| format!("{name}: {:?}, and the collector read {:?}", stated.get(name), read.get(name)))
        .collect();
    for of in ["response", "service"] {
        differences.extend(differences_of_times(of, &result["latency"][of], passed_on, printed));
    }
    differences
}

/// The same for a mean, and for quantiles, which must be in the buckets with their ranks.
fn differences_of_times(of: &str, latency: &Value, passed_on: &Value, printed: &str) -> Vec<String> {
    let mut differences = Vec::new();
    let name = format!("hoptax.load.{of}_time");
    let metric = metrics(passed_on).iter().find(|metric| metric["name"] == name.as_str()).unwrap();
    let point = &metric["exponentialHistogram"]["dataPoints"][0];
    let (mean_us, read_us) =
        (number(&latency["mean_us"]), number(&point["sum"]) * 1e6 / number(&point["count"]));
    if (read_us / mean_us - 1.0).abs() > 0.001 {
        differences.push(format!("{of}: the mean is {mean_us}, and the collector read {read_us}"));
    }
    let part = printed.split("Metric #").find(|part| part.contains(&format!("-> Name: {name}\n"))).unwrap();
    let buckets: Vec<(f64, f64, u64)> = part.lines().filter_map(bucket).collect();
    let total: u64 = buckets.iter().map(|(_, _, count)| count).sum();
    for (quantile, share) in [("p50_us", 0.5), ("p90_us", 0.9)] {
        let rank = (share * total as f64).ceil() as u64;
        let mut below = 0;
        let holds = buckets.iter().find(|(_, _, count)| {
            below += count;
            below >= rank
        });
        let (from_s, to_s, _) = holds.unwrap();
        let s = number(&latency[quantile]) / 1e6;
        // The result rounds to a histogram's bucket of 0.1 %, the collector's text to a microsecond.
        if s < from_s * 0.999 - 1e-6 || to_s * 1.001 + 1e-6 < s {
            differences.push(format!("{of} {quantile}: {s} s, and the collector read {from_s} to {to_s} s"));
        }
    }
    differences
}

/// Bounds in seconds and the count of a line such as `Bucket (0.005000, 0.005014], Count: 3`. The collector computes the bounds.
fn bucket(line: &str) -> Option<(f64, f64, u64)> {
    let (bounds, count) = line.trim().strip_prefix("Bucket (")?.split_once("], Count: ")?;
    let (from_s, to_s) = bounds.split_once(", ")?;
    Some((from_s.parse().ok()?, to_s.parse().ok()?, count.parse().ok()?))
}

#[test]
#[ignore = "needs the collector of `make collector`"]
fn a_collector_reads_what_the_result_says() {
    let folder = tempfile::tempdir().unwrap();
    let (file, result) = load(folder.path());
    let (next, passed_on) = receiver(ACCEPTS);
    let collector = Collector::start(&next);
    // The program takes any status but those of success, and a partial success, for a refusal.
    collector.send(&file, "/v1/metrics").succeeded();
    let passed_on: Value = serde_json::from_str(&passed_on.join().unwrap().1).unwrap();

    // The collector drops fields that it does not know, so it knows each that was sent.
    let exported: Value =
        serde_json::from_str(&run(["convert", "export", &file, "--to", "otlp"]).stdout).unwrap();
    assert_eq!(plain(&passed_on), plain(&exported));
    let printed = collector.printed();
    assert_eq!(differences(&result, &passed_on, &printed), Vec::<String>::new(), "{printed}");

    // The output of a collector is read as well.
    let written = folder.path().join("collected.json").display().to_string();
    fs::write(&written, passed_on.to_string()).unwrap();
    let import = "convert import otlp --statistic hoptax.load.service_time --json -".split(' ');
    let imported = run(import.chain([written.as_str()])).succeeded();
    let imported = checked("load", &imported.stdout);
    assert_eq!(imported["book"]["answered"], result["book"]["answered"]);
    for quantile in ["p50_us", "p90_us"] {
        let [of, read] = [&result, &imported].map(|one| number(&one["latency"]["service"][quantile]));
        // The end of a bucket of the widest kind that is not given as a range.
        assert!((0.999..=1.1).contains(&(read / of)), "{quantile}: {of} {read}");
    }

    // A result with one other number would not pass.
    let numbers = [
        "/book/answered",
        "/book/unsent",
        "/failures/status-5xx",
        "/statuses/200",
        "/rate/offered",
        "/latency/response/mean_us",
        "/latency/response/p50_us",
        "/latency/service/p90_us",
    ];
    for changed in numbers {
        let mut other = result.clone();
        let of_other = other.pointer_mut(changed).unwrap();
        *of_other = match of_other.as_u64() {
            Some(count) => json!(count + 1),
            // Wider than a bucket.
            None => json!(number(of_other) * 1.1),
        };
        assert_ne!(differences(&other, &passed_on, &printed), Vec::<String>::new(), "{changed}");
    }
}

#[test]
#[ignore = "needs the collector of `make collector`"]
fn what_a_collector_refuses_is_an_error_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let (file, _) = load(folder.path());
    // It refuses a request if the receiver behind it does.
    let (next, passed_on) = receiver(REFUSES);
    let collector = Collector::start(&next);
    collector.send(&file, "/v1/nothing").fails(3, "it answered 404");
    collector.send(&file, "/v1/metrics").fails(3, "it answered 400");
    passed_on.join().unwrap();
}
