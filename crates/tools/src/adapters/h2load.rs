//! h2load: a closed loop, or a rate per connection in steps of at least ten milliseconds.

use hoptax_result::{CountRange, Latency};
use serde_json::Value;

use super::command_line::command_line;
use crate::document::{Document, json};
use crate::reported::{Reported, Sum};
use crate::run::Run;
use crate::text::{at, count_at, number, several, sum, time_us};
use crate::tool::{Output, Tool};

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

/// Minimum ratio of the requests computed from a rate and a duration, both rounded to hundredths, to the actual number of requests.
const MOST_ROUNDING: f64 = 0.98;
/// Lines that occur exactly once in each report.
const MARKS: [&str; 5] = ["starting benchmark", "finished in ", "requests:", "status codes:", "traffic:"];

fn read(output: &Output<'_>) -> Result<Reported, String> {
    let run = Run::only(output.text, &MARKS)?;
    let is_result = |value: &Value| value.pointer("/measurements/requests").is_some();
    if let Some((line, finished)) = run.numbered("finished in ") {
        return match json(output.text, is_result) {
            Ok(document) if is_result(&document.value) => {
                Err(several("runs", &[line.min(document.line), line.max(document.line)]))
            }
            _ => of_text(&run, finished),
        };
    }
    let layouts = "it has neither the line `finished in TIME, N req/s` that h2load prints at the end, nor the JSON of `--output-file`";
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
    let (requests, statuses) = (listed(requests), run.after("status codes:").and_then(listed));
    let counts = Counts::new(
        |name| count_named(requests.as_deref(), name),
        |name| count_named(statuses.as_deref(), name),
    );
    // The number of clients is printed per thread: `4 total client(s)`, before 1.0 `4 concurrent clients`.
    let threads: Vec<&str> = run
        .lines()
        .filter_map(|line| line.strip_prefix("spawning thread #")?.split_once(": ").map(|(_, rest)| rest))
        .collect();
    let clients: f64 = threads.iter().filter_map(|thread| number(thread)).sum();
    // The printed time includes the warm-up, but the rate does not.
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
    reported.latency = latency(us);
    Ok(reported)
}

/// Its statistics, by the names of its columns.
fn latency(us: impl Fn(&str) -> Option<f64>) -> Latency {
    Latency {
        min_us: us("min"),
        mean_us: us("mean"),
        standard_deviation_us: us("sd"),
        p50_us: us("median"),
        p99_us: us("p99"),
        max_us: us("max"),
        ..Latency::default()
    }
}

/// The counts in a line with their names: `5 total, 4 done`. None if one is unreadable: a comma may separate digits.
fn listed(line: &str) -> Option<Vec<(&str, u64)>> {
    let part = |part| {
        let (count, name) = str::trim(part).split_once(' ')?;
        Some((name.trim(), count.parse().ok()?))
    };
    line.split(',').map(part).collect()
}

/// The count with this name.
fn count_named(counts: Option<&[(&str, u64)]>, name: &str) -> Option<u64> {
    let (_, count) = counts?.iter().find(|(one, _)| *one == name)?;
    Some(*count)
}

/// Parses a sum of numbers with units: `2 sec, 515 millisec and 123 microsec`, or `2.00s`.
fn duration_us(text: &str) -> Option<f64> {
    let words: Vec<&str> = text.split_whitespace().filter(|word| *word != "and").collect();
    match words.as_slice() {
        [time] => time_us(time),
        words => words.chunks(2).map(|pair| time_us(&pair.join(" "))).sum(),
    }
}

/// The times of requests with the names of their columns, microseconds. The row is `time for request:`, since 1.69 `request :`.
///
/// # Errors
/// The unreadable values, if there is a table of times.
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

/// Reads the result of `--output-file`, since 1.69. Its times are in seconds.
fn of_json(document: Document) -> Reported {
    let measured = |name: &str| format!("/measurements/{name}");
    let result = &document.value;
    let count = |name: &str| count_at(result, &measured(name));
    let counts =
        Counts::new(|name| count(&format!("requests/{name}")), |name| count(&format!("status_codes/{name}")));
    let us = |name: &str| {
        at(result, &measured(&format!("performance/request/{name}"))).map(|seconds| seconds * 1e6)
    };
    let reported = counts.reported();
    let rate = at(result, &measured("request_per_second"));
    // In a run with a fixed time, the duration includes the warm-up, but the rate does not.
    let has_warm_up = |seconds: &f64| {
        counts.done.zip(rate).is_some_and(|(done, rate)| done as f64 * MOST_ROUNDING < rate * seconds)
    };
    let seconds = at(result, &measured("duration"));
    let mut unread = document.notes;
    unread.extend(seconds.filter(has_warm_up).map(|_| "the duration without the warm-up".to_owned()));
    Reported {
        rate,
        seconds: seconds.filter(|seconds| !has_warm_up(seconds)),
        latency: latency(us),
        unread,
        ..reported
    }
}

/// Its counters: <https://github.com/nghttp2/nghttp2/blob/master/src/h2load.cc>. `succeeded` counts complete responses with a status of 2xx
/// or 3xx; `failed` counts all other requests, including those that were not issued. `errored` counts failed requests without a complete
/// response, some of which are in `timeout`. `done` counts all requests that ended, with or without a response. A status is counted once
/// its headers arrive, even if the stream breaks off later.
#[derive(Clone, Copy)]
struct Counts {
    total: Option<u64>,
    started: Option<u64>,
    done: Option<u64>,
    succeeded: Option<u64>,
    failed: Option<u64>,
    errored: Option<u64>,
    /// Numbers of responses of 2xx, 3xx, 4xx and 5xx.
    statuses: [Option<u64>; 4],
}

impl Counts {
    /// Counts of requests and of statuses, by their names.
    fn new(count: impl Fn(&str) -> Option<u64>, status: impl Fn(&str) -> Option<u64>) -> Self {
        Self {
            total: count("total"),
            started: count("started"),
            done: count("done"),
            succeeded: count("succeeded"),
            failed: count("failed"),
            errored: count("errored"),
            statuses: ["2xx", "3xx", "4xx", "5xx"].map(status),
        }
    }

    fn reported(self) -> Reported {
        let some = |name, parts: Option<u64>, whole: Option<u64>| Some(Sum::some(name, parts?, whole?));
        let of = |counts: &[Option<u64>]| counts.iter().copied().collect::<Option<Vec<u64>>>().map(sum);
        let [ok, moved, ..] = self.statuses;
        let both = of(&[self.succeeded, self.failed]);
        let sums = [
            some("succeeded and failed", both, self.total),
            some("done, by success and failure", self.done, both),
            some("errored", self.errored, self.failed),
            some("succeeded, by status", self.succeeded, of(&[ok, moved])),
            some("with a status, by those started", of(&self.statuses), self.started),
        ];
        // The rate counts complete responses with any status.
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
    fn counts_with_grouped_digits_are_not_read() {
        assert_eq!(listed("5 total, 4 done"), Some(vec![("total", 5), ("done", 4)]));
        for line in ["20,000 total, 20,000 done", "20 000 total, 5", "5 total, 4", ""] {
            assert_eq!(
                count_named(listed(line).as_deref(), "total").filter(|count| *count < 20_000),
                None,
                "{line}"
            );
        }
        let text = include_str!("../../recorded/h2load.txt").replace("1920", "1,920");
        let reported = read(&Output::new(&text)).unwrap();
        assert_eq!((reported.answered, reported.failed), (None, None));
    }

    #[test]
    fn statuses_and_successes_are_those_of_the_same_requests() {
        let broken = |from: &str, to: &str| {
            let text = include_str!("../../recorded/h2load.txt").replace(from, to);
            let sums = read(&Output::new(&text)).unwrap().sums;
            sums.into_iter()
                .filter(|sum| sum.parts > sum.whole.at_most)
                .map(|sum| sum.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(broken("1920 2xx", "1920 2xx"), [""; 0]);
        assert_eq!(broken("1920 2xx, 0 3xx, 0 4xx", "0 2xx, 0 3xx, 1920 4xx"), ["succeeded, by status"]);
        assert_eq!(broken("0 5xx", "900 5xx"), ["with a status, by those started"]);
        assert_eq!(broken("1920 succeeded", "20 succeeded"), ["done, by success and failure"]);
    }

    #[test]
    fn a_text_and_a_file_are_two_runs() {
        let (text, file) = (
            include_str!("../../recorded/h2load.txt"),
            include_str!("../../failures/h2load-1.69-output-file.json"),
        );
        for both in [format!("{text}{file}"), format!("{file}\n{text}")] {
            assert!(
                read(&Output::new(&both)).unwrap_err().starts_with("it has 2 runs, which begin in lines ")
            );
        }
    }

    #[test]
    fn the_warm_up_of_a_file_is_not_its_duration() {
        let text =
            include_str!("../../failures/h2load-1.69-output-file.json").replace("0.50012,", "10.50012,");
        let reported = read(&Output::new(&text)).unwrap();
        assert_eq!((reported.seconds, reported.rate), (None, Some(1_799.57)));
        assert!(
            reported.unread.contains(&"the duration without the warm-up".to_owned()),
            "{:?}",
            reported.unread
        );
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
        assert_eq!(read(&Output::new(&text)).unwrap().seconds, Some(2.0));
    }
}
