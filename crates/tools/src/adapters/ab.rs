//! ab: a closed loop with HTTP/1.0, which Envoy rejects.

use hoptax_result::{CountRange, Latency};

use super::command_line;
use crate::run::Run;
use crate::text::{number, sum};
use crate::{Output, Reported, Sum, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "ab",
    program: "ab",
    version: "-V",
    command: |offer| {
        if offer.rate.is_some() {
            return Err("does not support a rate");
        }
        let (connections, seconds) = (offer.connections.to_string(), offer.seconds.to_string());
        // Without `-n`, it stops after 50,000 requests.
        Ok(command_line(
            offer,
            &["-q", "-k", "-c", &connections, "-t", &seconds, "-n", "100000000", "-s", "30", offer.url],
        ))
    },
    script: None,
    read,
    has_statistics: false,
    not_reported: &[
        "times below a millisecond",
        "intended starts",
        "connections that the server closed without a response apart from responses of another length",
    ],
};

/// Lines that are in each report once.
const MARKS: [&str; 8] = [
    "This is ApacheBench",
    "Server Software:",
    "Concurrency Level:",
    "Time taken for tests:",
    "Complete requests:",
    "Failed requests:",
    "Requests per second:",
    "Connection Times (ms)",
];

fn read(output: &Output<'_>) -> Result<Reported, String> {
    let run = Run::only(output.text, &MARKS)?;
    let complete = run.count("Complete requests:").ok_or(
        "`Complete requests:` is missing; the report is read that ab prints without `-w`, and none of `-e` or `-g`",
    )?;
    let counts = Counts::of(&run, complete);
    let ms = |mark: &str| run.number(mark).map(|ms| ms * 1e3);
    let total = total(&run);
    let column = |name: &str| total.iter().find(|(one, _)| *one == name).map(|(_, ms)| ms * 1e3);
    Ok(Reported {
        connections: run.count("Concurrency Level:").and_then(|count| u32::try_from(count).ok()),
        answered: Some(counts.answered()),
        failed: Some(counts.failed()),
        rate: run.number("Requests per second:"),
        rated: Some(CountRange::exactly(complete)),
        seconds: run.number("Time taken for tests:"),
        latency: Latency {
            count: complete,
            min_us: column("min"),
            mean_us: column("mean").or_else(|| column("avg")),
            standard_deviation_us: column("sd"),
            p50_us: ms("50%"),
            p90_us: ms("90%"),
            p99_us: ms("99%"),
            max_us: column("max"),
            ..Latency::default()
        },
        sums: vec![Sum {
            what: "with another status than 2xx",
            parts: counts.refused,
            whole: complete,
            is_all: false,
        }],
        ..Reported::default()
    })
}

/// The row of whole times, by the columns of its table: `-S` prints others.
fn total<'a>(run: &Run<'a>) -> Vec<(&'a str, f64)> {
    // Before 2.0.41, its title has an `n` more.
    let title =
        run.find(|line| line.ends_with("ection Times (ms)").then_some(line)).unwrap_or("Connection Times");
    let mut table = run.below(title);
    let header = table.next().unwrap_or_default();
    let names = header.split(|c: char| c.is_whitespace() || c == '[').map(|name| name.trim_end_matches(']'));
    let names = names.map(|name| name.trim_start_matches("+/-")).filter(|name| !name.is_empty());
    let row = table.find_map(|line| line.strip_prefix("Total:")).unwrap_or_default();
    let values: Vec<Option<f64>> = row.split_whitespace().map(|word| word.parse().ok()).collect();
    let names: Vec<&str> = names.collect();
    // A row of another length belongs to a layout that is not known.
    if values.len() != names.len() {
        return Vec::new();
    }
    names.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Its counters, which overlap: <https://github.com/apache/httpd/blob/trunk/support/ab.c>.
///
/// `Complete requests` counts all that ended, in whatever way, except failed connects and exceptions. `Failed requests` adds up the
/// kinds in brackets, and one request may be of several: a refused connection is an exception, a failed read and a response of another
/// length. `Length` is about the length of the first response, so it alone is no failure. `Non-2xx responses` are among those if their
/// length differs, and a read that fails behind the head of such a response counts in both. Writes that fail have no response.
struct Counts {
    complete: u64,
    /// With another status than 2xx.
    refused: u64,
    connect: u64,
    receive: u64,
    exceptions: u64,
    write: u64,
    /// Failures of kinds that the report does not name.
    unnamed: u64,
    /// Whether failed reads may be none of the complete requests: on kept connections, of releases with several workers.
    may_be_apart: bool,
}

impl Counts {
    fn of(run: &Run<'_>, complete: u64) -> Self {
        let count = |name: &str| run.count(name).unwrap_or_default();
        let kinds = run.after("(Connect:").map(|rest| format!("Connect:{}", rest.trim_end_matches(')')));
        let kind = |name: &str| {
            let mut all = kinds.iter().flat_map(|kinds| kinds.split(','));
            all.find_map(|kind| number(kind.trim().strip_prefix(name)?.trim())).unwrap_or_default() as u64
        };
        Self {
            complete,
            refused: count("Non-2xx responses:"),
            connect: kind("Connect:"),
            receive: kind("Receive:"),
            exceptions: kind("Exceptions:"),
            write: count("Write errors:").max(count("Broken pipe errors:")),
            unnamed: if kinds.is_some() { 0 } else { count("Failed requests:") },
            may_be_apart: run.after("Number of workers:").is_some()
                && run.after("Keep-Alive requests:").is_some(),
        }
    }

    fn answered(&self) -> CountRange {
        let without =
            |counts: &[u64]| counts.iter().fold(self.complete, |rest, count| rest.saturating_sub(*count));
        let fewest_failed = if self.may_be_apart { self.refused } else { self.refused.max(self.receive) };
        CountRange {
            at_least: without(&[self.refused, self.receive, self.write, self.unnamed]),
            at_most: without(&[fewest_failed, self.write]),
        }
    }

    fn failed(&self) -> CountRange {
        let same = self.refused.max(self.receive).max(self.exceptions);
        let different = sum([self.refused, self.receive, self.exceptions, self.unnamed]);
        CountRange {
            at_least: sum([same, self.connect, self.write]),
            at_most: sum([different, self.connect, self.write]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_read() {
        let text = include_str!("../../recorded/ab.txt");
        insta::assert_debug_snapshot!((TOOL.read)(&Output::of(text)));
    }

    #[test]
    fn columns_of_times_are_those_of_the_header() {
        let text = "Complete requests: 4\nConnection Times (ms)\n   min   avg   max\nConnect: 0 0 0\nTotal:  1  2  9\n";
        let latency = (TOOL.read)(&Output::of(text)).unwrap().latency;
        assert_eq!((latency.min_us, latency.mean_us, latency.max_us), (Some(1e3), Some(2e3), Some(9e3)));
        let old = text.replace("Connection", "Connnection");
        assert_eq!((TOOL.read)(&Output::of(&old)).unwrap().latency.max_us, Some(9e3));
        let other = text.replace("avg", "avg new");
        assert_eq!((TOOL.read)(&Output::of(&other)).unwrap().latency.max_us, None);
    }
}
