//! h2load: a closed loop, or a rate per connection in steps of ten milliseconds and more.

use hoptax_result::{CountRange, Latency};
use serde_json::Value;

use super::command_line;
use crate::document::{Document, json};
use crate::run::Run;
use crate::text::{at, count_at, number, time_us};
use crate::{Output, Reported, Sum, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "h2load",
    program: "h2load",
    version: "--version",
    command: |offer| {
        let (connections, seconds) = (format!("-c{}", offer.connections), format!("-D{}", offer.seconds));
        let mut line = command_line(offer, &["--h1", &connections, &seconds]);
        if let Some(rate) = offer.rate_per_connection() {
            line.push(format!("--rps={rate}"));
        }
        line.push(offer.url.to_owned());
        Ok(line)
    },
    script: None,
    read,
    has_statistics: false,
    not_reported: &["requests in flight at the end", "intended starts"],
};

/// Lines that are in each report once.
const MARKS: [&str; 5] = ["starting benchmark", "finished in ", "requests:", "status codes:", "traffic:"];

fn read(output: &Output<'_>) -> Result<Reported, String> {
    let run = Run::only(output.text, &MARKS)?;
    if let Some(finished) = run.after("finished in ") {
        return of_text(&run, finished);
    }
    let is_result = |value: &Value| value.pointer("/measurements/requests").is_some();
    let layouts = "it has neither the line `finished in TIME, N req/s`, which h2load prints at the end, nor the JSON of `--output-file`";
    let document = json(output.text, is_result).map_err(|problem| format!("{layouts}: {problem}"))?;
    if !is_result(&document.value) {
        return Err(layouts.to_owned());
    }
    Ok(of_json(document))
}

fn of_text(run: &Run<'_>, finished: &str) -> Result<Reported, String> {
    // `2.00s, 960.00 req/s, 120.94KB/s`; before 1.0, `2 sec, 515 millisec and 123 microsec, 3975 req/s, 1710 kbytes/s`.
    let (before_rate, _) = finished.split_once(" req/s").ok_or("the rate after `finished in` is missing")?;
    let (time, rate) = before_rate.rsplit_once(", ").ok_or("the time after `finished in` is missing")?;
    let requests = run.after("requests:").ok_or("the line `requests:` is missing")?;
    let count = |line: &str, word: &str| {
        let mut parts = line.split(',').map(str::trim);
        parts.find_map(|part| part.strip_suffix(word)?.trim().parse::<u64>().ok())
    };
    let counts = Counts {
        total: count(requests, "total"),
        done: count(requests, "done"),
        succeeded: count(requests, "succeeded"),
        failed: count(requests, "failed"),
        errored: count(requests, "errored"),
    };
    // Clients are printed for each thread: `4 total client(s)`, before 1.0 `4 concurrent clients`.
    let threads: Vec<&str> = run
        .lines()
        .filter_map(|line| line.strip_prefix("spawning thread #")?.split_once(": ").map(|(_, rest)| rest))
        .collect();
    let clients: f64 = threads.iter().filter_map(|thread| number(thread)).sum();
    // The printed time has the warm-up in it, and the rate has not.
    let main = threads.iter().find_map(|thread| {
        let (before, _) = thread.split_once(" of main duration")?;
        time_us(before.rsplit(' ').next()?)
    });
    let mut reported = counts.reported();
    reported.connections = Some(clients as u32).filter(|count| *count > 0);
    reported.rate = rate.parse().ok();
    reported.seconds = main.or_else(|| duration_us(time)).map(|us| us / 1e6);
    let times = times(run).unwrap_or_else(|problem| {
        reported.unread.push(problem);
        Vec::new()
    });
    let us = |name: &str| times.iter().find(|(column, _)| *column == name).map(|(_, us)| *us);
    reported.latency = Latency {
        min_us: us("min"),
        mean_us: us("mean"),
        standard_deviation_us: us("sd"),
        p50_us: us("median"),
        p99_us: us("p99"),
        max_us: us("max"),
        ..Latency::default()
    };
    Ok(reported)
}

/// Numbers and their units, added up: `2 sec, 515 millisec and 123 microsec`, or `2.00s`.
fn duration_us(text: &str) -> Option<f64> {
    let words: Vec<&str> = text.split_whitespace().filter(|word| *word != "and").collect();
    match words.as_slice() {
        [time] => time_us(time),
        words => words.chunks(2).map(|pair| time_us(&pair.join(" "))).sum(),
    }
}

/// The times of requests by the columns above them, microseconds. The row is `time for request:`, since 1.69 `request     :`.
///
/// # Errors
/// What cannot be read of them, if there is a table of times.
fn times(run: &Run<'_>) -> Result<Vec<(String, f64)>, String> {
    let header = run.find(|line| {
        let joined = line.replace("+/- sd", "+/-sd");
        let columns: Vec<String> = joined.split_whitespace().map(str::to_owned).collect();
        ["min", "max", "mean"]
            .iter()
            .all(|name| columns.iter().any(|column| column == name))
            .then_some(columns)
    });
    let Some(header) = header else { return Ok(Vec::new()) };
    let row = run.find(|line| {
        let (name, times) = line.split_once(':')?;
        ["time for request", "request"].contains(&name.trim()).then_some(times)
    });
    let row: Vec<&str> = row
        .ok_or("times: their table has no row `time for request` or `request`")?
        .split_whitespace()
        .collect();
    if row.len() != header.len() {
        return Err(format!("times: their table has {} columns, and its row {}", header.len(), row.len()));
    }
    let columns = header.into_iter().zip(row);
    Ok(columns.filter_map(|(column, time)| Some((column, time_us(time)?))).collect())
}

/// The result of `--output-file`, since 1.69. Its times are in seconds.
fn of_json(document: Document) -> Reported {
    let measured = |name: &str| format!("/measurements/{name}");
    let result = &document.value;
    let count = |name: &str| count_at(result, &measured(name));
    let counts = Counts {
        total: count("requests/total"),
        done: count("requests/done"),
        succeeded: count("requests/succeeded"),
        failed: count("requests/failed"),
        errored: count("requests/errored"),
    };
    let us = |name: &str| {
        at(result, &measured(&format!("performance/request/{name}"))).map(|seconds| seconds * 1e6)
    };
    let reported = counts.reported();
    // In a run of some time, the duration has the warm-up in it, and the rate has not.
    Reported {
        rate: at(result, &measured("request_per_second")),
        seconds: at(result, &measured("duration")),
        latency: Latency {
            min_us: us("min"),
            mean_us: us("mean"),
            standard_deviation_us: us("sd"),
            p50_us: us("median"),
            p99_us: us("p99"),
            max_us: us("max"),
            ..Latency::default()
        },
        unread: document.notes,
        ..reported
    }
}

/// Its counters: <https://github.com/nghttp2/nghttp2/blob/master/src/h2load.cc>. `succeeded` are complete responses with a status of
/// 2xx or 3xx; `failed` are all others, with those that were not issued. `errored` are failed ones without a complete response, and
/// `timeout` some of these. `done` are those that ended with a response or without one.
#[derive(Clone, Copy)]
struct Counts {
    total: Option<u64>,
    done: Option<u64>,
    succeeded: Option<u64>,
    failed: Option<u64>,
    errored: Option<u64>,
}

impl Counts {
    fn reported(self) -> Reported {
        let sum = |what: &'static str, parts: Option<u64>, whole: Option<u64>| {
            Some(Sum { what, parts: parts?, whole: whole?, is_all: false })
        };
        let both = self.succeeded.zip(self.failed).map(|(one, other)| one.saturating_add(other));
        let sums = [sum("succeeded and failed", both, self.total), sum("errored", self.errored, self.failed)];
        // The rate counts complete responses of any status.
        let rated = self.succeeded.zip(self.done);
        Reported {
            answered: self.succeeded.map(CountRange::exactly),
            failed: self.failed.map(CountRange::exactly),
            rated: rated
                .map(|(succeeded, done)| CountRange { at_least: succeeded, at_most: done.max(succeeded) }),
            sums: sums.into_iter().flatten().collect(),
            ..Reported::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_read() {
        let text = include_str!("../../recorded/h2load.txt");
        insta::assert_debug_snapshot!((TOOL.read)(&Output::of(text)));
    }

    #[test]
    fn a_duration_adds_its_parts() {
        let old = duration_us("2 sec, 515 millisec and 123 microsec".replace(',', "").as_str());
        assert_eq!(old, Some(2_515_123.0));
        assert_eq!((duration_us("500.12ms"), duration_us("2 x")), (Some(500_120.0), None));
    }

    #[test]
    fn columns_of_times_are_those_of_the_header() {
        let times = |table: &str| times(&Run::only(table, &MARKS).unwrap());
        let read =
            times("  mean  sd  +/- sd  max  p99  min\nrequest : 1.50ms 2us 95.00% 4ms 3ms 1ms\n").unwrap();
        let of = |name: &str| read.iter().find(|(column, _)| column == name).map(|(_, us)| *us);
        assert_eq!(
            (of("mean"), of("max"), of("p99"), of("min")),
            (Some(1_500.0), Some(4e3), Some(3e3), Some(1e3))
        );
        assert_eq!(times("no table\n"), Ok(Vec::new()));
        let renamed = times("min max mean\nexchange : 1ms 2ms 3ms\n").unwrap_err();
        assert!(renamed.contains("no row `time for request` or `request`"), "{renamed}");
        assert!(times("min max mean\nrequest : 1ms 2ms\n").unwrap_err().contains("3 columns, and its row 2"));
    }

    #[test]
    fn a_run_with_a_warm_up_is_as_long_as_its_main_part() {
        let text = include_str!("../../recorded/h2load.txt")
            .replace("with 0s of warm-up time", "with 10s of warm-up time")
            .replace("finished in 2.00s", "finished in 12.00s");
        assert_eq!(read(&Output::of(&text)).unwrap().seconds, Some(2.0));
    }
}
