//! wrk: a closed loop without a rate.

use hoptax_result::{CountRange, Latency};

use super::command_line;
use crate::run::Run;
use crate::text::{number, sum, time_us};
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
    read: |output| read(output.text, true),
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

/// Parses the output of wrk or wrk2, which have the same format. `may_be_late` states whether timeouts may be late responses, as in
/// wrk.
///
/// Of the complete requests, those with a status above 399 are refused: <https://github.com/wg/wrk/blob/master/src/wrk.c>. Errors of
/// sockets are no complete requests. Since 4.0.0, a timeout is a complete request whose response came late, refused or not; before,
/// and in wrk2, it is a connection that waited at one of the times when wrk looked, so it may be counted repeatedly, and be complete
/// or refused in the end.
pub(super) fn read(text: &str, may_be_late: bool) -> Result<Reported, String> {
    let run = Run::only(text, &MARKS)?;
    let (complete, length) = run
        .find(|line| line.split_once(" requests in "))
        .ok_or("the line `N requests in TIME` is missing, which all releases of wrk print at the end")?;
    let complete: u64 =
        complete.trim().parse().map_err(|_| format!("`{complete}` is no number of requests"))?;
    let errors = run.after("Socket errors:").unwrap_or_default();
    let error = |kind: &str| {
        let mut kinds = errors.split(',').map(str::trim);
        kinds.find_map(|one| number(one.strip_prefix(kind)?.trim())).unwrap_or_default() as u64
    };
    let refused = run.count("Non-2xx or 3xx responses:").unwrap_or_default();
    let failed = sum([refused, error("connect"), error("read"), error("write")]);
    let timeouts = error("timeout");
    let answered = complete.saturating_sub(refused);
    let late = if may_be_late { timeouts } else { 0 };
    let mut unread = Vec::new();
    let mut time = |name: &str, word: &str| {
        let us = time_us(word);
        if us.is_none() && number(word).is_some() {
            unread.push(format!("{name}: `{word}` has no unit, and any would be a guess"));
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
        answered: Some(CountRange { at_least: answered.saturating_sub(late), at_most: answered }),
        failed: Some(CountRange { at_least: failed, at_most: failed.saturating_add(timeouts) }),
        rate: run.number("Requests/sec:"),
        rated: Some(CountRange::exactly(complete)),
        seconds: length.split(',').next().and_then(time_us).map(|us| us / 1e6),
        latency,
        sums: vec![Sum { what: "refused", parts: refused, whole: complete, is_all: false }],
        unread,
        ..Reported::default()
    })
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
    fn columns_are_those_of_the_header_and_a_time_without_a_unit_is_named() {
        let text = "  Thread Stats   Max  Avg   Stdev\n    Latency  3.00ms  1529112  0.50ms\n  100 requests in 2.00s, 1MB read\n";
        let read = read(text, true).unwrap();
        let latency = read.latency;
        assert_eq!(
            (latency.mean_us, latency.standard_deviation_us, latency.max_us),
            (None, Some(500.0), Some(3e3))
        );
        assert_eq!(read.unread, ["the mean: `1529112` has no unit, and any would be a guess"]);
    }
}
