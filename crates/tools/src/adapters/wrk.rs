//! wrk: a closed loop without a rate.

use hoptax_result::{CountRange, Latency};

use super::{command_line, wrk2};
use crate::run::Run;
use crate::text::{count, number, sum, time_us};
use crate::{Reported, Sum, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "wrk",
    program: "wrk",
    version: "-v",
    command: |offer| match offer.rate {
        Some(_) => Err("does not support a rate"),
        None => Ok(command_line(
            offer,
            &[
                "-t1",
                &format!("-c{}", offer.connections),
                &format!("-d{}s", offer.seconds),
                "--latency",
                offer.url,
            ],
        )),
    },
    script: None,
    read: |output| match output.text {
        // People call wrk2 by the name of its program, `wrk`.
        text if is_of_wrk2(text) => wrk2::read(text),
        text => read(text, true),
    },
    has_statistics: false,
    not_reported: &[
        "intended starts: each connection sends the next request after the response",
        "latency of requests in flight at the end, and of those that exceeded its timeout",
    ],
};

/// Lines that are in each report once.
const MARKS: [&str; 9] = [
    "Running ",
    "Making ",
    " threads and ",
    "Thread Stats",
    " requests in ",
    "Socket errors:",
    "Non-2xx or 3xx responses:",
    "Requests/sec:",
    "Transfer/sec:",
];

/// Whether the output is one of wrk2: it alone calibrates, and prints histograms of `HdrHistogram`.
fn is_of_wrk2(text: &str) -> bool {
    ["Thread calibration: ", "(HdrHistogram - "].into_iter().any(|mark| text.contains(mark))
}

/// Parses the output of wrk or wrk2, which have the same format. `may_be_late` states whether timeouts may be late responses, as in
/// wrk.
///
/// Of the complete requests, those with a status above 399 are refused: <https://github.com/wg/wrk/blob/master/src/wrk.c>. Errors of
/// sockets are no complete requests. Since 4.0.0, a timeout is a complete request whose response came late, refused or not; before,
/// and in wrk2, it is a connection that waited at one of the times when wrk looked, so it may be counted repeatedly, and be complete
/// or refused in the end. Lines about errors are printed only if there were some, so without the rates behind them, it is not known
/// whether there were.
pub(super) fn read(text: &str, may_be_late: bool) -> Result<Reported, String> {
    let run = Run::only(text, &MARKS)?;
    let (complete, length) = run
        .find(|line| line.split_once(" requests in "))
        .ok_or("the line `N requests in TIME` is missing, which all releases of wrk print at the end")?;
    let complete: u64 =
        complete.trim().parse().map_err(|_| format!("`{complete}` is no number of requests"))?;
    let mut unread = Vec::new();
    let counts = Counts::new(&run, &mut unread);
    let late = counts.timeouts.filter(|_| may_be_late).unwrap_or_default();
    let mut time = |name: &str, word: &str| {
        let us = time_us(word);
        if us.is_none() && number(word).is_some() {
            unread.push(format!("{name}: `{word}` has no unit, and any would be a guess"));
        } else if us.is_none() && word.contains(',') {
            unread.push(format!("{name}: `{word}` has a comma, and numbers with points are read"));
        }
        us
    };
    let [mean_us, standard_deviation_us, max_us] = latency(&run, &mut time);
    let quantile = |names: [&str; 2]| names.into_iter().find_map(|name| run.after(name)).and_then(time_us);
    // `1 threads and 16 connections`
    let threads = run.find(|line| line.strip_suffix(" connections")?.split_once(" threads and "));
    let url = run.find(|line| {
        let ran = line.strip_prefix("Running ").and_then(|rest| rest.split_once(" test @ "));
        ran.or_else(|| line.strip_prefix("Making ")?.split_once(" requests to ")).map(|(_, url)| url)
    });
    let latency = Latency {
        count: complete.saturating_sub(late),
        mean_us,
        standard_deviation_us,
        p50_us: quantile(["50%", "50.000%"]),
        p90_us: quantile(["90%", "90.000%"]),
        p99_us: quantile(["99%", "99.000%"]),
        p99_9_us: quantile(["99.9%", "99.900%"]),
        max_us,
        ..Latency::default()
    };
    Ok(Reported {
        url: url.map(str::to_owned),
        workers: threads.and_then(|(workers, _)| workers.parse().ok()),
        connections: threads.and_then(|(_, connections)| connections.parse().ok()),
        answered: Some(counts.answered(complete, may_be_late)),
        failed: counts.failed(),
        rate: run.number("Requests/sec:"),
        rated: Some(CountRange::exactly(complete)),
        seconds: length.split(',').next().and_then(time_us).map(|us| us / 1e6),
        latency,
        sums: counts.refused.map(|refused| Sum::some("refused", refused, complete)).into_iter().collect(),
        unread,
        ..Reported::default()
    })
}

/// Its counters; none where a line is missing that may have been there, or cannot be read.
struct Counts {
    refused: Option<u64>,
    /// Connections that failed: at connecting, reading and writing.
    failed: Option<u64>,
    timeouts: Option<u64>,
}

impl Counts {
    fn new(run: &Run<'_>, unread: &mut Vec<String>) -> Self {
        if run.after("Requests/sec:").is_none() {
            let lost = "failures: the text ends before `Requests/sec:`, so lines about them may be cut off";
            unread.push(lost.to_owned());
            return Self { refused: None, failed: None, timeouts: None };
        }
        let mut read = |line: &str, found: Option<u64>| {
            if found.is_none() {
                unread.push(format!("failures: `{line}` is no line about them that can be read"));
            }
            found
        };
        // Some builds print it without the dash.
        let refused = run
            .find(|line| line.starts_with("Non").then_some(line).filter(|line| line.contains("responses:")));
        let refused = refused.map_or(Some(0), |line| read(line, count(line.rsplit_once(':')?.1.trim())));
        let Some(errors) = run.after("Socket errors:") else {
            return Self { refused, failed: Some(0), timeouts: Some(0) };
        };
        // Without a kind, a comma is one between digits.
        let kinds: Option<Vec<(&str, u64)>> = errors
            .split(',')
            .map(|kind| {
                kind.trim().split_once(' ').and_then(|(name, rest)| Some((name, count(rest.trim())?)))
            })
            .collect();
        let kind = |name: &str| {
            let (_, count) = kinds.as_ref()?.iter().find(|(one, _)| *one == name)?;
            Some(*count)
        };
        let failed =
            ["connect", "read", "write"].into_iter().map(kind).collect::<Option<Vec<u64>>>().map(sum);
        let timeouts = read(&format!("Socket errors: {errors}"), failed.and(kind("timeout")));
        Self { refused, failed, timeouts }
    }

    fn answered(&self, complete: u64, may_be_late: bool) -> CountRange {
        let at_most = complete.saturating_sub(self.refused.unwrap_or_default());
        let late = if may_be_late { self.timeouts } else { Some(0) };
        let at_least = self.refused.and(late).map_or(0, |late| at_most.saturating_sub(late));
        CountRange { at_least, at_most }
    }

    fn failed(&self) -> Option<CountRange> {
        let at_least = sum([self.refused?, self.failed?]);
        Some(CountRange { at_least, at_most: at_least.saturating_add(self.timeouts?) })
    }
}

/// Mean, deviation and maximum, by the header of their table.
fn latency(run: &Run<'_>, time: &mut impl FnMut(&str, &str) -> Option<f64>) -> [Option<f64>; 3] {
    let header: Vec<&str> = run.after("Thread Stats").unwrap_or("Avg Stdev Max").split_whitespace().collect();
    let row = run.find(|line| line.strip_prefix("Latency ").filter(|rest| !rest.starts_with("Distribution")));
    let row: Vec<&str> = row.unwrap_or_default().split_whitespace().collect();
    [("Avg", "the mean"), ("Stdev", "the standard deviation"), ("Max", "the maximum")].map(
        |(column, name)| {
            let place = header.iter().position(|one| *one == column)?;
            time(name, row.get(place)?)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_read() {
        insta::assert_debug_snapshot!(read(include_str!("../../recorded/wrk.txt"), true));
        assert!(read("unable to connect to 127.0.0.1:1 Connection refused\n", true).is_err());
    }

    #[test]
    fn late_responses_may_be_refused_ones() {
        let text = "  2 threads and 16 connections\n  100 requests in 2.00s, 3.87MB read\n  Socket errors: connect 1, read 20, write 300, timeout 4\n  \
                    Non-2xx or 3xx responses: 50\nRequests/sec:  50.00\n";
        let range = |at_least, at_most| Some(CountRange { at_least, at_most });
        let wrk = read(text, true).unwrap();
        assert_eq!((wrk.answered, wrk.failed, wrk.connections), (range(46, 50), range(371, 375), Some(16)));
        let wrk2 = read(text, false).unwrap();
        assert_eq!((wrk2.answered, wrk2.failed), (range(50, 50), range(371, 375)));
    }

    #[test]
    fn counters_that_are_lost_or_cannot_be_read_are_not_0() {
        let text = "  100 requests in 2.00s, 3.87MB read\n  Socket errors: connect 1, read 20, write 300, timeout 4\n  \
                    Non-2xx or 3xx responses: 50\nRequests/sec:  50.00\n";
        let of = |text: &str| {
            let read = read(text, true).unwrap();
            (read.answered.map(|range| (range.at_least, range.at_most)), read.failed, read.unread.join("; "))
        };
        // The last number that is left may lack digits.
        for end in ["Requests/sec", "0\nRequests/sec", "  Non-2xx", "  Socket"] {
            let (answered, failed, said) = of(text.split_once(end).unwrap().0);
            assert_eq!((answered, failed), (Some((0, 100)), None), "{end}");
            assert!(said.contains("the text ends before `Requests/sec:`"), "{said}");
        }
        for line in [
            "0 connect, 20 read, 0 write, 4 timeout",
            "connect 1, read 2,000, write 3, timeout 4",
            "connect 1",
        ] {
            let (answered, failed, said) =
                of(&text.replace("connect 1, read 20, write 300, timeout 4", line));
            assert_eq!((answered, failed), (Some((0, 50)), None), "{line}");
            assert!(said.contains(&format!("`Socket errors: {line}` is no line")), "{said}");
        }
        let (answered, failed, _) = of(&text.replace("responses: 50", "responses: 5,000"));
        assert_eq!((answered, failed), (Some((0, 100)), None));
        let (answered, ..) = of(&text.replace("Non-2xx", "Non 2xx"));
        assert_eq!(answered, Some((46, 50)));
    }

    #[test]
    fn columns_are_those_of_the_header_and_a_time_without_a_unit_is_named() {
        let text = "  Thread Stats   Max  Avg   Stdev\n    Latency  3.00ms  1529112  0.50ms\n  100 requests in 2.00s, 1MB read\nRequests/sec: 50.00\n";
        let read = read(text, true).unwrap();
        let latency = read.latency;
        assert_eq!(
            (latency.mean_us, latency.standard_deviation_us, latency.max_us),
            (None, Some(500.0), Some(3e3))
        );
        assert_eq!(read.unread, ["the mean: `1529112` has no unit, and any would be a guess"]);
        let commas = super::read(&text.replace("1529112", "1,10ms"), true).unwrap();
        assert_eq!(commas.unread, ["the mean: `1,10ms` has a comma, and numbers with points are read"]);
    }
}
