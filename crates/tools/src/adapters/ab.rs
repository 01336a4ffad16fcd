//! ab: a closed loop with HTTP/1.0, which Envoy rejects.

use hoptax_result::{CountRange, Latency};

use super::command_line::command_line;
use crate::reported::{Reported, Sum};
use crate::run::Run;
use crate::text::{count, sum};
use crate::tool::{Output, Tool};

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
        "the difference between connections closed without a response and responses of another length, if their bodies are about as long \
         as the others",
    ],
};

/// Lines that occur exactly once in each report.
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
    if let Some(completed) = run.after("Total of ").filter(|_| run.after("Complete requests:").is_none()) {
        return Err(gave_up(&run, completed));
    }
    let complete = run.needed(
        "Complete requests:",
        count,
        "hoptax reads the report that ab prints without `-w`, not the files of `-e` and `-g`",
    )?;
    let counts = Counts::new(&run, complete);
    let [answered, failed] = match &counts {
        Ok(counts) => [Some(counts.answered()), Some(counts.failed())],
        // If the number of failures is unreadable, the number of requests may be truncated, too.
        Err(_) => {
            [run.after("Failed requests:").map(|_| CountRange { at_least: 0, at_most: complete }), None]
        }
    };
    let ms = |mark: &str| run.number(mark).map(|ms| ms * 1e3);
    let total = total(&run);
    let column = |name: &str| total.iter().find(|(one, _)| *one == name).map(|(_, ms)| ms * 1e3);
    Ok(Reported {
        connections: run.count("Concurrency Level:").and_then(|count| u32::try_from(count).ok()),
        answered,
        failed,
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
        sums: counts.iter().flat_map(Counts::sums).collect(),
        unread: counts.err().into_iter().collect(),
        ..Reported::default()
    })
}

/// Returns the message that ab ended without a report, with the reason (`apr_err` in
/// <https://github.com/apache/httpd/blob/trunk/support/ab.c>).
fn gave_up(run: &Run<'_>, completed: &str) -> String {
    let completed = completed.split_whitespace().next().unwrap_or_default();
    let reason = run
        .lines()
        .take_while(|line| !line.starts_with("Total of "))
        .filter(|line| line.contains(": ") && line.ends_with(')'))
        .last();
    let reason = reason.unwrap_or("it printed no reason");
    format!(
        "ab itself gave up after {completed} requests and printed no report: {reason}; `-s` sets its timeout, and with `-r` it goes on after socket errors"
    )
}

/// The row of total times, with the names of its columns: the table of `-S` has different ones.
fn total<'a>(run: &Run<'a>) -> Vec<(&'a str, f64)> {
    // Before 2.0.41, its title contains an additional `n`.
    let title =
        run.find(|line| line.ends_with("ection Times (ms)").then_some(line)).unwrap_or("Connection Times");
    let mut table = run.below(title);
    let header = table.next().unwrap_or_default();
    let names = header.split(|c: char| c.is_whitespace() || c == '[').map(|name| name.trim_end_matches(']'));
    let names = names.map(|name| name.trim_start_matches("+/-")).filter(|name| !name.is_empty());
    let row = table.find_map(|line| line.strip_prefix("Total:")).unwrap_or_default();
    let values: Vec<Option<f64>> = row.split_whitespace().map(|word| word.parse().ok()).collect();
    let names: Vec<&str> = names.collect();
    // A row of another length belongs to an unknown layout.
    if values.len() != names.len() {
        return Vec::new();
    }
    names.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Its counters, which overlap: <https://github.com/apache/httpd/blob/trunk/support/ab.c>.
///
/// `Complete requests` counts all requests that ended in any way, except failed connects and exceptions. `Failed requests` is the sum of
/// the kinds in brackets, and one request may count in several kinds: a refused connection counts as an exception, a failed read, and a
/// response of another length. `Length` counts responses whose length differs from the first response, so it alone indicates no failure.
/// `Non-2xx responses` also count in `Length` if their length differs. A read that fails after the head of such a response counts in both.
/// Failed writes have no response. A connection that the server closes at once has no response either, but counts as complete, and as a
/// failure by `Length` if the first response had a body.
struct Counts {
    complete: u64,
    /// Failures of all kinds, as the report states their sum.
    all: u64,
    /// Failures of the kinds that the report names.
    named: u64,
    /// Responses with a status other than 2xx.
    refused: u64,
    connect: u64,
    receive: u64,
    exceptions: u64,
    write: u64,
    /// Failures of kinds that the report does not name.
    unnamed: u64,
    /// Complete requests without a response that are in no other counter.
    silent: CountRange,
    /// True if failed reads may not be among the complete requests: on kept connections, in releases with several workers.
    may_be_apart: bool,
}

impl Counts {
    /// # Errors
    /// The name of the count that is missing or unreadable. Most lines are printed only if their count is above 0, so the text must contain
    /// the line of the rate, which follows them.
    fn new(run: &Run<'_>, complete: u64) -> Result<Self, String> {
        if run.after("Requests per second:").is_none() {
            return Err(
                "failures: the text ends before `Requests per second:`, so lines about them may be cut off"
                    .to_owned(),
            );
        }
        let read = |name: &str, found: Option<u64>| {
            found.ok_or_else(|| format!("failures: `{name}` has no count that can be read"))
        };
        let count_of = |name: &str| read(name, run.count_if_any(name));
        let all = read("Failed requests:", run.count("Failed requests:"))?;
        let kinds =
            run.after("(Connect:").map(|rest| format!("Connect:{}", rest.trim_end_matches([')', ','])));
        let kinds: Vec<(&str, u64)> = kinds
            .iter()
            .flat_map(|kinds| kinds.split(','))
            .map(|kind| {
                // A comma without a name after it is a separator of digits.
                let (name, found) = kind.trim().split_once(':').unwrap_or((kind, ""));
                Ok((name, read("(Connect:", count(found.trim()))?))
            })
            .collect::<Result<_, String>>()?;
        let kind = |name: &str| sum(kinds.iter().filter(|(one, _)| *one == name).map(|(_, count)| *count));
        let named = sum(kinds.iter().map(|(_, count)| *count));
        let counts = Self {
            complete,
            all,
            named,
            refused: count_of("Non-2xx responses:")?,
            connect: kind("Connect"),
            receive: kind("Receive"),
            exceptions: kind("Exceptions"),
            write: count_of("Write errors:")?.max(count_of("Broken pipe errors:")?),
            unnamed: all.saturating_sub(named),
            silent: CountRange::exactly(0),
            may_be_apart: run.after("Number of workers:").is_some()
                && run.after("Keep-Alive requests:").is_some(),
        };
        Ok(Self { silent: counts.silent(kind("Length"), &Bytes::new(run)), ..counts })
    }

    /// Complete requests that may have had no response, and that are not counted as a failure of another kind.
    fn silent(&self, length: u64, bytes: &Bytes) -> CountRange {
        let known = self.receive.max(self.exceptions).saturating_add(self.write);
        // Maximum number of responses that fit into the received bytes.
        let responses = bytes.all.map_or(self.complete, |all| (all / SHORTEST_RESPONSE).min(self.complete));
        let at_least = self.complete.saturating_sub(responses).saturating_sub(known);
        let unexplained =
            length.saturating_sub(sum([self.refused, self.receive, self.exceptions, self.write]));
        let of_length = if bytes.are_those_of_all(self.complete, length) { 0 } else { unexplained };
        CountRange { at_least, at_most: at_least.max(of_length) }
    }

    fn sums(&self) -> Vec<Sum> {
        let mut sums = vec![Sum::some("with a status other than 2xx", self.refused, self.complete)];
        // Kinds are printed only if there is a failure.
        if self.named > 0 {
            sums.push(Sum::some("failures by kind", self.named, self.all));
        }
        sums
    }

    fn answered(&self) -> CountRange {
        let without =
            |counts: &[u64]| counts.iter().fold(self.complete, |rest, count| rest.saturating_sub(*count));
        let fewest_failed = if self.may_be_apart { self.refused } else { self.refused.max(self.receive) };
        let most = without(&[fewest_failed, self.write, self.silent.at_least]);
        CountRange {
            at_least: without(&[self.refused, self.receive, self.write, self.unnamed, self.silent.at_most])
                .min(most),
            at_most: most,
        }
    }

    fn failed(&self) -> CountRange {
        let same = self.refused.saturating_add(self.silent.at_least).max(self.receive).max(self.exceptions);
        let different = sum([self.refused, self.receive, self.exceptions, self.unnamed, self.silent.at_most]);
        CountRange {
            at_least: sum([same, self.connect, self.write]),
            at_most: sum([different, self.connect, self.write]),
        }
    }
}

/// The shortest response, `HTTP/1.1 200` and an empty line.
const SHORTEST_RESPONSE: u64 = 16;

/// Received bytes.
struct Bytes {
    /// Bytes of heads and bodies.
    all: Option<u64>,
    bodies: Option<u64>,
    /// The length of the first response's body, with which ab compares all others.
    first: Option<u64>,
}

impl Bytes {
    fn new(run: &Run<'_>) -> Self {
        Self {
            all: run.count("Total transferred:"),
            bodies: run.count("HTML transferred:"),
            first: run.count("Document Length:"),
        }
    }

    /// Returns true if the received bytes suffice for all `complete` responses. Bodies that differ from the first are assumed to have at
    /// least half its length on average. If the length of the first is unknown, the bytes must suffice for all heads.
    fn are_those_of_all(&self, complete: u64, length: u64) -> bool {
        let Some(all) = self.all else { return length == 0 };
        let have_heads = all / SHORTEST_RESPONSE >= complete;
        let have_bodies = self.bodies.zip(self.first).is_none_or(|(bodies, first)| {
            let of_others = bodies.saturating_sub(complete.saturating_sub(length).saturating_mul(first));
            of_others.saturating_mul(2) >= length.saturating_mul(first)
        });
        have_heads && have_bodies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ranges of answered and failed requests.
    fn counted(text: &str) -> [Option<(u64, u64)>; 2] {
        let reported = (TOOL.read)(&Output::new(text)).unwrap();
        [reported.answered, reported.failed].map(|count| count.map(|range| (range.at_least, range.at_most)))
    }

    const TEXT: &str = "Document Length: 100 bytes\nTime taken for tests: 2.5 seconds\nComplete requests: 1000\nFailed requests: 0\n\
                        Total transferred: 300000 bytes\nHTML transferred: 100000 bytes\nRequests per second: 400.00 [#/sec] (mean)\n";

    #[test]
    fn failures_of_a_text_that_was_cut_off_are_not_known() {
        assert_eq!(counted(TEXT), [Some((1_000, 1_000)), Some((0, 0))]);
        for (end, answered) in
            [("Requests per", Some((0, 1_000))), ("Total", Some((0, 1_000))), ("Failed", None)]
        {
            assert_eq!(counted(TEXT.split_once(end).unwrap().0), [answered, None], "{end}");
        }
        let none = TEXT.replace("Failed requests: 0\n", "");
        assert_eq!(counted(&none), [None, None]);
    }

    #[test]
    fn failures_without_a_kind_may_be_of_any() {
        let with =
            |kinds: &str| TEXT.replace("Failed requests: 0\n", &format!("Failed requests: 700\n{kinds}\n"));
        let [answered, failed] = counted(&with("   (Connect: 0, Length: 100, Exceptions: 0)"));
        assert_eq!((answered, failed), (Some((400, 1_000)), Some((0, 600))));
        assert_eq!(
            counted(&with("   (Connect: 0, Receive: 700,\n    Length: 0, Exceptions: 0)")),
            [Some((300, 300)), Some((700, 700))]
        );
        let more = (TOOL.read)(&Output::new(&with("   (Connect: 0, Length: 800, Exceptions: 0)"))).unwrap();
        assert!(more.sums.iter().any(|sum| sum.name == "failures by kind" && sum.parts > sum.whole.at_most));
    }

    #[test]
    fn grouped_digits_are_not_read() {
        let grouped = TEXT.replace("Complete requests: 1000", "Complete requests: 20,000");
        let problem = (TOOL.read)(&Output::new(&grouped)).unwrap_err();
        assert!(problem.contains("`Complete requests:`") && problem.contains("`20,000`"), "{problem}");
        for line in [
            "15,000",
            "700\n   (Connect: 0, Receive: 15,000, Length: 0, Exceptions: 0)",
            "5\nNon-2xx responses: 1,000",
        ] {
            let text = TEXT.replace("Failed requests: 0", &format!("Failed requests: {line}"));
            assert_eq!(counted(&text), [Some((0, 1_000)), None], "{line}");
        }
    }

    #[test]
    fn connections_closed_without_a_response_are_not_answered() {
        let with = |lengths: u64, all: u64, bodies: u64| {
            let failed = format!(
                "Failed requests: {lengths}\n (Connect: 0, Receive: 0, Length: {lengths}, Exceptions: 0)"
            );
            let text =
                TEXT.replace("Failed requests: 0", &failed).replace("300000 bytes", &format!("{all} bytes"));
            counted(&text.replace("100000 bytes", &format!("{bodies} bytes")))
        };
        // Ten responses of 100 bytes and their heads.
        assert_eq!(with(990, 2_000, 1_000), [Some((10, 125)), Some((875, 990))]);
        // Bodies of other lengths.
        assert_eq!(with(990, 298_000, 98_000), [Some((1_000, 1_000)), Some((0, 0))]);
        // Bytes enough for all, and no bodies of those that differ: empty ones, or none.
        assert_eq!(with(10, 297_000, 99_000), [Some((990, 1_000)), Some((0, 10))]);
        // The first had no response, so none differs.
        let none = TEXT
            .replace("300000 bytes", "0 bytes")
            .replace("100000 bytes", "0 bytes")
            .replace("100 bytes", "0 bytes");
        assert_eq!(counted(&none), [Some((0, 0)), Some((1_000, 1_000))]);
    }

    #[test]
    fn ab_that_gave_up_is_named() {
        let text = "This is ApacheBench, Version 2.3\nBenchmarking a (be patient)\nCompleted 200 requests\n\
                    apr_pollset_poll: The timeout specified has expired (70007)\nTotal of 287 requests completed\n";
        let problem = (TOOL.read)(&Output::new(text)).unwrap_err();
        assert!(
            problem.starts_with(
                "ab itself gave up after 287 requests and printed no report: apr_pollset_poll: The timeout"
            ),
            "{problem}"
        );
    }

    #[test]
    fn columns_of_times_are_those_of_the_header() {
        let text = "Complete requests: 4\nConnection Times (ms)\n   min   avg   max\nConnect: 0 0 0\nTotal:  1  2  9\n";
        let latency = (TOOL.read)(&Output::new(text)).unwrap().latency;
        assert_eq!((latency.min_us, latency.mean_us, latency.max_us), (Some(1e3), Some(2e3), Some(9e3)));
        let old = text.replace("Connection", "Connnection");
        assert_eq!((TOOL.read)(&Output::new(&old)).unwrap().latency.max_us, Some(9e3));
        let other = text.replace("avg", "avg new");
        assert_eq!((TOOL.read)(&Output::new(&other)).unwrap().latency.max_us, None);
    }
}
