//! The report that wrk and wrk2 print.

use hoptax_result::{CountRange, Latency};

use crate::reported::{Reported, Sum};
use crate::run::Run;
use crate::text::{count, number, sum, time_us};

/// Lines that occur exactly once in each report.
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

/// Parses the output of wrk or wrk2, which have the same format. `may_be_late` is true if timeouts may be late responses, as in wrk.
///
/// Complete requests with a status above 399 are refused: <https://github.com/wg/wrk/blob/master/src/wrk.c>. Socket errors are not complete
/// requests. Since wrk 4.0.0, a timeout is a complete request whose response came late, refused or not. Before, and in wrk2, it is a
/// connection that was waiting when wrk checked, so it may be counted repeatedly, and may be complete or refused in the end. Lines about
/// errors are printed only if there were any, so the text must contain the rates after them. Otherwise it is unknown if there were errors.
pub(super) fn read(text: &str, may_be_late: bool) -> Result<Reported, String> {
    let run = Run::only(text, &MARKS)?;
    let (complete, length) = run
        .find(|line| line.split_once(" requests in "))
        .ok_or("the line `N requests in TIME` is missing, which all releases of wrk print at the end")?;
    let complete: u64 =
        complete.trim().parse().map_err(|_| format!("`{complete}` is not a number of requests"))?;
    let mut unread = Vec::new();
    let counts = Counts::new(&run, &mut unread);
    let late = counts.timeouts.filter(|_| may_be_late).unwrap_or_default();
    let mut time = |name: &str, word: &str| {
        let us = time_us(word);
        if us.is_none() && number(word).is_some() {
            unread.push(format!("{name}: `{word}` has no unit, and hoptax does not guess it"));
        } else if us.is_none() && word.contains(',') {
            unread.push(format!("{name}: `{word}` has a comma, but hoptax reads numbers with points"));
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

/// Its counters; none if a line that may have existed is missing, or if one is unreadable.
struct Counts {
    refused: Option<u64>,
    /// Connections that failed in connect, read or write.
    pub(super) failed: Option<u64>,
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
                unread.push(format!("failures: their line `{line}` cannot be read"));
            }
            found
        };
        // Some builds print it without the hyphen.
        let refused = run
            .find(|line| line.starts_with("Non").then_some(line).filter(|line| line.contains("responses:")));
        let refused = refused.map_or(Some(0), |line| read(line, count(line.rsplit_once(':')?.1.trim())));
        let Some(errors) = run.after("Socket errors:") else {
            return Self { refused, failed: Some(0), timeouts: Some(0) };
        };
        // A comma without a kind after it is a separator of digits.
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
pub(super) fn latency(run: &Run<'_>, time: &mut impl FnMut(&str, &str) -> Option<f64>) -> [Option<f64>; 3] {
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
