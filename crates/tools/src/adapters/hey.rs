//! hey: workers in a closed loop, each of which has a ticker if there is a rate.

use hoptax_result::{CountRange, Latency};

use super::command_line::{command_line, words};
use crate::reported::Reported;
use crate::run::Run;
use crate::text::{count, number, sum, time_us};
use crate::tool::{Output, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "hey",
    program: "hey",
    version: "-h",
    command: |offer| {
        let (connections, seconds) = (offer.connections.to_string(), format!("{}s", offer.seconds));
        let mut line = command_line(offer, &["-c", &connections, "-z", &seconds]);
        if let Some(rate) = offer.rate_per_connection() {
            line.extend(words(&["-q", &rate.to_string()]));
        }
        line.push(offer.url.to_owned());
        Ok(line)
    },
    script: None,
    read,
    has_statistics: false,
    not_reported: &["intended starts: ticks during a request are lost"],
};

/// Lines that occur exactly once in each report.
const MARKS: [&str; 9] = [
    "Summary:",
    "Total:",
    "Slowest:",
    "Average:",
    "Requests/sec:",
    "Response time histogram:",
    "Latency distribution:",
    "Status code distribution:",
    "Error distribution:",
];
/// Maximum number of responses for which hey keeps times and statuses.
const KEPT: u64 = 1_000_000;

/// Reads the summary. Each request has either a status or an error: <https://github.com/rakyll/hey/blob/master/requester/report.go>. hey
/// keeps the times and statuses of only the first million responses, but its rate counts all of them, and its mean covers all times. Errors
/// are printed last and only if there were any, so the rate and the duration show if some are missing.
fn read(output: &Output<'_>) -> Result<Reported, String> {
    let run = Run::only(output.text, &MARKS)?;
    if run.find(|line| line.starts_with("response-time,").then_some(())).is_some() {
        return Err(
            "it is the table of `-o csv`; hoptax reads the summary that hey prints without `-o`".to_owned()
        );
    }
    let rate = run.needed("Requests/sec:", number, "hoptax reads the summary that hey prints")?;
    let seconds = run.after("Total:").and_then(time_us).map(|us| us / 1e6);
    let counts = Counts::new(&run);
    let Counts { answered, failed, kept } = counts.unwrap_or_default();
    let all = seconds.map(|seconds| (rate * seconds).round() as u64);
    let counted = answered.saturating_add(failed);
    // Responses beyond the first million.
    let more = all.map_or(0, |all| all.saturating_sub(counted)).min(if kept >= KEPT { u64::MAX } else { 0 });
    // Without the duration, it is unknown if these are all.
    let has_statuses = (run.after("Status code distribution:").is_some() || failed > 0)
        && counts.is_some()
        && seconds.is_some();
    let range = |count: u64| CountRange { at_least: count, at_most: count.saturating_add(more) };
    let time = |name: &str| run.after(name).and_then(time_us);
    let mut unread = Vec::new();
    if counts.is_none() {
        unread.push("numbers of responses by status, one of which cannot be read".to_owned());
    }
    if more > 0 {
        unread
            .push(format!("status and time of about {more} responses: it keeps those of the first million"));
    }
    let quantiles = quantiles(&run);
    let quantile = |percentile: f64| {
        quantiles.iter().find(|(one, _)| (one - percentile).abs() < 1e-9).map(|(_, us)| *us)
    };
    Ok(Reported {
        answered: has_statuses.then(|| range(answered)),
        failed: has_statuses.then(|| range(failed)),
        rate: Some(rate),
        rated: has_statuses.then(|| range(counted)),
        seconds,
        latency: Latency {
            count: kept,
            min_us: time("Fastest:"),
            mean_us: time("Average:").filter(|_| more == 0),
            p50_us: quantile(50.0),
            p90_us: quantile(90.0),
            p99_us: quantile(99.0),
            max_us: time("Slowest:"),
            ..Latency::default()
        },
        unread,
        ..Reported::default()
    })
}

/// Requests by their outcome.
#[derive(Clone, Copy, Default)]
struct Counts {
    answered: u64,
    failed: u64,
    /// Responses with a status.
    kept: u64,
}

impl Counts {
    /// None if one of the counts is unreadable.
    fn new(run: &Run<'_>) -> Option<Self> {
        let bracketed = |line: &'_ str| -> Option<(String, String)> {
            let (inner, rest) = line.strip_prefix('[')?.split_once(']')?;
            Some((inner.to_owned(), rest.trim().to_owned()))
        };
        let mut counts = Self { answered: 0, failed: 0, kept: 0 };
        // A line contains either a status and its count, or the count of an error and its text.
        for (status, rest) in run.below("Status code distribution:").map_while(bracketed) {
            let count = count(&rest)?;
            counts.kept = counts.kept.saturating_add(count);
            let is_answered = status.parse().is_ok_and(|status: u16| (100..400).contains(&status));
            let total = if is_answered { &mut counts.answered } else { &mut counts.failed };
            *total = total.saturating_add(count);
        }
        // An error may have several lines, including empty ones.
        let errors = run.behind("Error distribution:").filter_map(bracketed);
        counts.failed = sum(errors.filter_map(|(count, _)| count.parse().ok()).chain([counts.failed]));
        Some(counts)
    }
}

/// Percentiles and their times, us. Some builds print the percent sign twice (hey#337).
fn quantiles(run: &Run<'_>) -> Vec<(f64, f64)> {
    let rows = run.below("Latency distribution:").filter_map(|line| {
        let (percentile, time) = line.split_once(" in ")?;
        Some((percentile.trim_end_matches('%').parse().ok()?, time_us(time)?))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_count_as_failed() {
        let text = "Summary:\n  Total:\t2.0 secs\n  Requests/sec:\t986\n\nStatus code distribution:\n  [200]\t1920 responses\n  [503]\t7 responses\n\n\
                    Error distribution:\n  [5]\tGet \"http://127.0.0.1:1\": malformed header: X-A\n\nbar\n  \
                    [40]\tGet \"http://127.0.0.1:1\": [200] of 3 responses\n\n";
        let of =
            |text: &str| (TOOL.read)(&Output::new(text)).map(|reported| (reported.answered, reported.failed));
        let exactly = |count| Some(CountRange::exactly(count));
        assert_eq!(of(text), Ok((exactly(1_920), exactly(52))));
        // Lost errors and the number of responses are both unknown.
        assert_eq!(of(&text.replace("  Total:\t2.0 secs\n", "")), Ok((None, None)));
        assert_eq!(of(&text.replace("1920", "1,920")), Ok((None, None)));
        assert!(of(&text.replace("986", "1,986")).unwrap_err().contains("has `1,986`"));
    }

    #[test]
    fn of_more_than_a_million_responses_the_others_are_not_known() {
        let text = "Summary:\n  Total:\t10.0 secs\n  Average:\t0.0100 secs\n  Requests/sec:\t150005.0\n\n\
                    Status code distribution:\n  [200]\t600000 responses\n  [503]\t400000 responses\n\nError distribution:\n  [50]\tx\n";
        let reported = read(&Output::new(text)).unwrap();
        let range = |at_least, at_most| Some(CountRange { at_least, at_most });
        assert_eq!(reported.answered, range(600_000, 1_100_000));
        assert_eq!((reported.failed, reported.latency.mean_us), (range(400_050, 900_050), None));
    }
}
