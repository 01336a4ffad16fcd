//! Nighthawk: an open loop over a connection pool of Envoy. All of its output formats are read: JSON, YAML, the Fortio format, and the
//! console output.

mod console;
mod counters;

use hoptax_result::{CountRange, Latency};
use hoptax_text::yaml::Placed;
use serde_json::{Value, json};

use super::command_line::command_line;
use super::fortio;
use crate::document::{Document, json as parse_json};
use crate::reported::{PERCENTILES, Reported};
use crate::run::Run;
use crate::text::{at, count_at, several, text_at};
use crate::tool::{Output, Tool};
use counters::{Counter, Counts};

/// The name of its latency statistic.
const LATENCY: &str = "benchmark_http_client.request_to_response";

pub(super) const TOOL: Tool = Tool {
    name: "nighthawk",
    program: "nighthawk_client",
    version: "--version",
    command: |offer| {
        if offer.rate.is_none() {
            return Err("requires a rate");
        }
        let (connections, seconds) = (offer.connections.to_string(), offer.seconds.to_string());
        let rate = offer.whole_rate()?;
        Ok(command_line(
            offer,
            &[
                "--rps",
                &rate,
                "--connections",
                &connections,
                "--concurrency",
                "1",
                "--open-loop",
                "--duration",
                &seconds,
                "--no-default-failure-predicates",
                "--output-format",
                "json",
                offer.url,
            ],
        ))
    },
    script: None,
    read,
    has_statistics: true,
    not_reported: &[
        "requests without a free connection: they count as overflow, and no latency contains them",
        "latency of requests in flight at the end",
        "time between the intended start and the encoding of a request",
    ],
};

/// The supported layouts.
const LAYOUTS: &str =
    "hoptax reads its JSON, its YAML, its Fortio format and its text for people, but not CSV or `dotted`";

fn read(output: &Output<'_>) -> Result<Reported, String> {
    let text = output.result();
    let is_result = |value: &Value| {
        ["DurationHistogram", "results"].iter().any(|name| value.get(name).is_some()) || has_times(value)
    };
    let yaml_line =
        (1..).zip(text.lines()).find(|(_, line)| line.starts_with("results:")).map(|(number, _)| number);
    let (text_line, yaml_line) = (console::line(text), yaml_line);
    if text_line.is_some() || yaml_line.is_some() {
        // Text in several formats contains several runs.
        let json_line = parse_json(text, is_result)
            .ok()
            .filter(|document| is_result(&document.value))
            .map(|one| one.line);
        let mut lines: Vec<usize> = [text_line, yaml_line, json_line].into_iter().flatten().collect();
        lines.sort_unstable();
        if lines.len() > 1 {
            return Err(several("runs", &lines));
        }
    }
    if text_line.is_some() {
        return console::read(text);
    }
    if yaml_line.is_some() {
        Run::only(text, &["results:"])?;
        return read_output(&yaml(text)?, output.statistic);
    }
    let Document { value: result, notes, .. } =
        parse_json(text, is_result).map_err(|problem| format!("{problem}; {LAYOUTS}"))?;
    let reported = if result.get("DurationHistogram").is_some() {
        fortio_form(&result)
    } else if result.get("results").is_none() && has_times(&result) {
        // A single statistic: histograms are written one by one.
        read_output(&json!({"results": [{"statistics": [result]}]}), output.statistic)
    } else {
        read_output(&result, output.statistic)
    };
    Ok(Reported { unread: notes, ..reported? })
}

/// Reads Nighthawk's output message: the statistic with this name, or else its latency.
fn read_output(result: &Value, statistic: Option<&str>) -> Result<Reported, String> {
    let results = result.get("results").and_then(Value::as_array);
    let results = results.ok_or_else(|| format!("`results` is missing; {LAYOUTS}"))?;
    let named = |name: &str| results.iter().find(|one| one.get("name").and_then(Value::as_str) == Some(name));
    let global = named("global").or(results.last()).ok_or("`results` is empty")?;
    let statistics = global.get("statistics").and_then(Value::as_array);
    let latency = statistics
        .and_then(|all| meant(all, statistic))
        .ok_or_else(|| missing(statistics.map_or(&[], Vec::as_slice), statistic))?;
    let counters = global.get("counters").and_then(Value::as_array).into_iter().flatten();
    let counters: Vec<Counter<'_>> = counters
        .filter_map(|one| Some(Counter::new(one.get("name")?.as_str()?, count_at(one, "/value"))))
        .collect();
    let seconds = global.get("execution_duration").and_then(seconds);
    let samples = count_at(latency, "/count");
    let of_responses = samples.filter(|_| latency.get("id").and_then(Value::as_str) == Some(LATENCY));
    let Counts { answered, failed, sums } = Counts::new(&counters, samples, of_responses);
    let us = |name: &str| latency.get(name).and_then(self::seconds).map(|seconds| seconds * 1e6);
    // Rate and connections are stated per worker.
    let is_worker = |one: &&Value| {
        one.get("name").and_then(Value::as_str).is_some_and(|name| name.starts_with("worker_"))
    };
    let workers = results.iter().filter(is_worker).count();
    let of_workers = |pointer: &str| at(result, pointer).map(|one| one * workers.max(1) as f64);
    Ok(Reported {
        url: text_at(result, "/options/uri"),
        started_at: text_at(global, "/execution_start"),
        target: of_workers("/options/requests_per_second"),
        workers: (workers > 0).then_some(workers as u32),
        connections: of_workers("/options/connections").map(|count| count as u32),
        answered,
        failed,
        rate: exact(answered)
            .zip(seconds)
            .filter(|(_, seconds)| *seconds > 0.0)
            .map(|(count, seconds)| count as f64 / seconds),
        rated: exact(answered).map(CountRange::exactly),
        seconds,
        latency: Latency {
            count: samples.unwrap_or_default(),
            min_us: us("min"),
            mean_us: us("mean"),
            standard_deviation_us: us("pstdev"),
            p50_us: percentile(latency, 0.5),
            p90_us: percentile(latency, 0.9),
            p99_us: percentile(latency, 0.99),
            p99_9_us: percentile(latency, 0.999),
            max_us: us("max"),
            ..Latency::default()
        },
        sums,
        ..Reported::default()
    })
}

fn exact(count: Option<CountRange>) -> Option<u64> {
    count.and_then(CountRange::exact)
}

/// Reads the Fortio format. Unlike Fortio's own, its buckets end at recorded quantiles, so nothing is interpolated: a quantile is the end
/// of its bucket. It contains only return codes 2xx. Its rate counts all requests to the server, with or without a response.
fn fortio_form(result: &Value) -> Result<Reported, String> {
    let reported = fortio::read(result)?;
    let [p50_us, p90_us, p99_us, p99_9_us] = PERCENTILES
        .map(|percentile| fortio::bucket(&result["DurationHistogram"], percentile).map(|one| one.high_us));
    let responses = reported.latency.count;
    let succeeded = count_at(result, "/RetCodes/200").unwrap_or_default();
    let latency = Latency { p50_us, p90_us, p99_us, p99_9_us, ..reported.latency };
    Ok(Reported {
        // In this format, `NumThreads` is the number of connections.
        workers: None,
        latency,
        answered: Some(CountRange { at_least: succeeded, at_most: responses.max(succeeded) }),
        failed: None,
        rated: Some(CountRange { at_least: responses, at_most: u64::MAX }),
        sums: Vec::new(),
        ..reported
    })
}

fn yaml(text: &str) -> Result<Value, String> {
    let root: Placed = serde_saphyr::from_str(text)
        .map_err(|error| format!("neither JSON nor YAML: {}", hoptax_text::yaml::message(&error)))?;
    Ok(root.value.to_value())
}

/// The statistic with this name. Without a name, the latency of requests, or the only statistic with times.
fn meant<'s>(statistics: &'s [Value], name: Option<&str>) -> Option<&'s Value> {
    let is_called = |one: &&Value, name: &str| one.get("id").and_then(Value::as_str) == Some(name);
    if let Some(name) = name {
        return statistics.iter().find(|one| is_called(one, name) && has_times(one));
    }
    statistics.iter().find(|one| is_called(one, LATENCY)).or_else(|| {
        let mut with_times = statistics.iter().filter(|one| has_times(one));
        with_times.next().filter(|_| with_times.next().is_none())
    })
}

fn has_times(statistic: &Value) -> bool {
    let has_mean = statistic.get("mean").and_then(seconds).is_some();
    has_mean && at(statistic, "/count").is_some_and(|count| count > 0.0)
}

/// Returns the reason why there is no latency.
fn missing(statistics: &[Value], name: Option<&str>) -> String {
    let others: Vec<&str> = statistics
        .iter()
        .filter(|one| has_times(one))
        .filter_map(|one| one.get("id").and_then(Value::as_str))
        .collect();
    let others = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
    let (name, advice) = match name {
        Some(name) => (name, ""),
        None => (LATENCY, "; name one with `--statistic`"),
    };
    let advice = if others == "none" { "" } else { advice };
    format!("the statistic `{name}` is missing; statistics with times: {others}{advice}")
}

/// Parses a Protobuf duration in JSON, `1.5s`; seconds.
fn seconds(value: &Value) -> Option<f64> {
    value.as_str()?.strip_suffix('s')?.parse().ok()
}

/// The first listed percentile that is at least `p`, microseconds. The list depends on the data and may not contain `p` itself.
fn percentile(latency: &Value, p: f64) -> Option<f64> {
    let all = latency.get("percentiles")?.as_array()?;
    let one = all.iter().find(|one| at(one, "/percentile").is_some_and(|value| value >= p - 1e-9))?;
    one.get("duration").and_then(seconds).map(|seconds| seconds * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Reported, String> {
        (TOOL.read)(&Output::new(text))
    }

    /// A run with a thousand samples of latency and these counters.
    fn with(counters: &[(&str, &str)]) -> Reported {
        let counters =
            counters.iter().map(|(name, value)| json!({"name": name, "value": value})).collect::<Vec<_>>();
        let latency = json!({"id": LATENCY, "count": "1000", "mean": "0.002s"});
        let result = json!({"results": [{"name": "global", "statistics": [latency], "counters": counters}]});
        read(&result.to_string()).unwrap()
    }

    #[test]
    fn counters_of_earlier_releases_are_read_and_without_any_no_status_is_known() {
        let range = |at_least, at_most| Some(CountRange { at_least, at_most });
        let counts = |counters: &[(&str, &str)]| {
            let reported = with(counters);
            (reported.answered, reported.failed)
        };
        let old = [
            ("client.benchmark.http_2xx", "100"),
            ("client.benchmark.http_5xx", "900"),
            ("client.upstream_cx_total", "5"),
        ];
        assert_eq!(counts(&old), (range(100, 100), range(900, 900)));
        let none = (range(0, 1_000), None);
        for counters in
            [&[][..], &old[2..], &[("benchmark.http_2xx", "-1")], &[("benchmark.http_2xx", "1,000")]]
        {
            assert_eq!(counts(counters), none, "{counters:?}");
        }
    }

    #[test]
    fn statuses_and_samples_are_those_of_the_same_responses() {
        let is_broken = |of: &Reported| of.sums.iter().any(|sum| sum.whole.at_most < sum.parts);
        // Two responses of the warm-up.
        let sound = with(&[("benchmark.http_2xx", "1002")]);
        assert_eq!((sound.answered, is_broken(&sound)), (Some(CountRange::exactly(1_002)), false));
        assert!(is_broken(&with(&[("benchmark.http_2xx", "5000")])));
        let cut = with(&[("benchmark.http_2xx", "100"), ("upstream_rq_total", "1000")]);
        assert_eq!(cut.answered, Some(CountRange { at_least: 100, at_most: 1_000 }));
        assert_eq!((cut.failed, is_broken(&cut)), (Some(CountRange { at_least: 0, at_most: 900 }), false));
    }

    #[test]
    fn runs_in_two_forms_are_refused() {
        let forms = [
            include_str!("../../recorded/nighthawk.json"),
            include_str!("../../recorded/nighthawk.txt"),
            include_str!("../../recorded/nighthawk.yaml"),
        ];
        for (first, second) in [(0, 1), (1, 0), (0, 2), (1, 2), (2, 1)] {
            let problem = read(&format!("{}\n{}", forms[first], forms[second])).unwrap_err();
            assert!(
                problem.starts_with("it has 2 runs, which begin in lines "),
                "{first} {second}: {problem}"
            );
        }
    }

    #[test]
    fn yaml_holds_what_json_does() {
        let json = include_str!("../../recorded/nighthawk.json");
        let yaml = include_str!("../../recorded/nighthawk.yaml");
        assert_eq!(read(json).unwrap(), read(yaml).unwrap());
        assert!(read(&yaml.replace("statistics", "others")).unwrap_err().contains("is missing"));
        assert!(read("results: [").unwrap_err().starts_with("neither JSON nor YAML"));
    }

    #[test]
    fn the_form_of_fortio_lists_quantiles_that_were_recorded() {
        let reported = read(include_str!("../../recorded/nighthawk-fortio.json")).unwrap();
        insta::assert_debug_snapshot!(reported);
        // A bucket from 91 to 248 ms would be a range in a file of Fortio.
        assert!(reported.buckets.is_empty());
        assert_eq!((reported.connections, reported.workers), (Some(300), None));
    }

    #[test]
    fn a_statistic_alone_is_read() {
        let text = r#"{"count": "10", "id": "", "percentiles": [
            {"percentile": 0.5, "count": "5", "duration": "0.000005s"}, {"percentile": 1, "count": "10", "duration": "0.000010s"}],
            "domain": "DURATION", "mean": "0.000006s", "pstdev": "0.000003s", "min": "0.000001s", "max": "0.000010s"}"#;
        let reported = read(text).unwrap();
        // Its status is not known.
        assert_eq!(reported.answered, Some(CountRange { at_least: 0, at_most: 10 }));
        assert_eq!((reported.latency.count, reported.url, reported.target), (10, None, None));
        let latency = reported.latency;
        assert_eq!((latency.p50_us, latency.p90_us, latency.mean_us), (Some(5.0), Some(10.0), Some(6.0)));
        assert!(read("{\"count\": \"0\"}").unwrap_err().contains("`results` is missing"));
    }

    #[test]
    fn one_of_several_statistics_is_read_if_it_is_named() {
        let text = r#"{"results": [{"name": "global", "statistics": [
            {"id": "stat_id", "count": "3", "mean": "0.002s"}, {"id": "foo_latency", "count": "4", "mean": "0.005s"}]}]}"#;
        let named = |name| (TOOL.read)(&Output { statistic: Some(name), ..Output::new(text) });
        let reported = named("foo_latency").unwrap();
        assert_eq!((reported.latency.count, reported.latency.mean_us), (4, Some(5_000.0)));
        let error = named("bar").unwrap_err();
        assert_eq!(error, "the statistic `bar` is missing; statistics with times: stat_id, foo_latency");
    }

    #[test]
    fn rate_and_connections_are_those_of_all_workers() {
        let statistic = |count: &str| format!(r#"{{"id": "x", "count": "{count}", "mean": "0.002s"}}"#);
        let output = |statistics: &str| {
            format!(
                r#"{{"options": {{"uri": "http://a/", "connections": 5, "requests_per_second": 100}}, "results": [
                {{"name": "worker_0"}}, {{"name": "worker_1"}}, {{"name": "global", "statistics": [{statistics}]}}]}}"#
            )
        };
        let read = |statistics: &str| (TOOL.read)(&Output::new(&output(statistics)));
        let reported = read(&[statistic("3"), statistic("0")].join(", ")).unwrap();
        assert_eq!(
            (reported.workers, reported.connections, reported.target),
            (Some(2), Some(10), Some(200.0))
        );
        assert_eq!((reported.url.as_deref(), reported.latency.mean_us), (Some("http://a/"), Some(2_000.0)));
        // With several, the one that is meant is not known.
        let error = read(&[statistic("3"), statistic("4")].join(", ")).unwrap_err();
        assert!(error.ends_with("statistics with times: x, x; name one with `--statistic`"), "{error}");
        assert!(read(&statistic("0")).unwrap_err().ends_with("statistics with times: none"));
    }
}
