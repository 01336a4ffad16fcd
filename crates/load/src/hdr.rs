//! Text formats of `HdrHistogram`, which other tools plot and merge: the percentile distribution (`.hgrm`) and the interval log
//! (`.hlog`); and the buckets of a histogram, for other formats.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogWriter, IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};

use crate::interval::{Interval, Part, join};

/// Nanoseconds per millisecond, the unit of both formats.
const NS_PER_MS: f64 = 1e6;
/// Lines for each halving of the distance to 100 %, as in the tools of `HdrHistogram`.
const TICKS_PER_HALF_DISTANCE: u32 = 5;
/// Sub-buckets of a histogram of three significant digits.
const SUB_BUCKETS: u32 = 2048;

/// The percentile distribution of times in nanoseconds, printed in milliseconds as `outputPercentileDistribution` of the Java
/// library does. Without times it has no lines between header and footer.
pub fn percentile_distribution(times: &Histogram<u64>) -> String {
    let mut text =
        format!("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    let mut count = 0;
    for step in times.iter_quantiles(TICKS_PER_HALF_DISTANCE) {
        count += step.count_since_last_iteration();
        let value_ms = step.value_iterated_to() as f64 / NS_PER_MS;
        let quantile = step.quantile_iterated_to();
        let _ = write!(text, "{value_ms:12.3} {quantile:14.12} {count:10}");
        if quantile < 1.0 {
            let _ = write!(text, " {:14.2}", 1.0 / (1.0 - quantile));
        }
        text.push('\n');
    }
    let (mean_ms, deviation_ms) = (times.mean() / NS_PER_MS, times.stdev() / NS_PER_MS);
    let max_ms = times.max() as f64 / NS_PER_MS;
    let (total, buckets) = (times.len(), times.buckets());
    let _ = writeln!(text, "#[Mean    = {mean_ms:12.3}, StdDeviation   = {deviation_ms:12.3}]");
    let _ = writeln!(text, "#[Max     = {max_ms:12.3}, Total count    = {total:12}]");
    let _ = writeln!(text, "#[Buckets = {buckets:12}, SubBuckets     = {SUB_BUCKETS:12}]");
    text
}

/// Times of one kind in an interval log.
#[derive(Clone, Copy, Debug)]
pub struct TaggedTimes<'a> {
    /// Their kind, such as `response`.
    pub tag: &'a str,
    /// The times, nanoseconds.
    pub times: &'a Histogram<u64>,
}

/// An interval log with one interval of this length, in the form of [`write_interval_log`]; `started_unix_s` is its start.
pub fn one_interval(series: &[TaggedTimes<'_>], started_unix_s: Option<f64>, length: Duration) -> String {
    let started = since_1970(started_unix_s.unwrap_or_default());
    let (mut text, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    // Writes to memory, which cannot fail.
    let written = begin_log(started, &mut text, &mut serializer)
        .and_then(|mut log| write_series(&mut log, series, Duration::ZERO, length));
    debug_assert!(written.is_ok(), "{written:?}");
    String::from_utf8_lossy(&text).into_owned()
}

/// A time of a result; 1970 if it is out of range.
fn since_1970(unix_s: f64) -> SystemTime {
    let since = Duration::try_from_secs_f64(unix_s).unwrap_or_default();
    SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Times of a bucket, from its first to its last nanosecond, and their number.
pub type Bucket = (RangeInclusive<u64>, u64);

/// The buckets that hold times, ascending.
pub fn buckets(times: &Histogram<u64>) -> Vec<Bucket> {
    times
        .iter_recorded()
        .map(|value| {
            let ns = value.value_iterated_to();
            (times.lowest_equivalent(ns)..=times.highest_equivalent(ns), value.count_at_value())
        })
        .collect()
}

/// Writes an interval log (format 1.3) with two histograms of each interval, tagged `response` and `service`. Histograms hold
/// nanoseconds; the maximum beside each is in milliseconds. Timestamps count from `StartTime`, the start of the record.
///
/// # Errors
/// When it cannot be written.
pub fn write_interval_log(parts: impl IntoIterator<Item = Part>, file: &mut impl Write) -> io::Result<()> {
    let mut parts = parts.into_iter().peekable();
    let started = parts.peek().map_or_else(SystemTime::now, Part::record_started);
    let mut serializer = V2DeflateSerializer::new();
    let mut log = begin_log(started, file, &mut serializer)?;
    join(parts, |interval, _| write_interval(&mut log, interval))
}

fn begin_log<'f, 's, W: Write>(
    started: SystemTime,
    file: &'f mut W,
    serializer: &'s mut V2DeflateSerializer,
) -> io::Result<IntervalLogWriter<'f, 's, W, V2DeflateSerializer>> {
    IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .with_start_time(started)
        .with_max_value_divisor(NS_PER_MS)
        .begin_log_with(file, serializer)
}

fn write_interval<W: Write>(
    log: &mut IntervalLogWriter<'_, '_, W, V2DeflateSerializer>,
    interval: &Interval,
) -> io::Result<()> {
    let from = Duration::from_nanos(interval.from_ns);
    let length = Duration::from_nanos(interval.to_ns.saturating_sub(interval.from_ns));
    let series = [("response", &interval.response), ("service", &interval.service)];
    write_series(log, &series.map(|(tag, times)| TaggedTimes { tag, times }), from, length)
}

/// Writes the histograms of an interval, each with its tag.
fn write_series<W: Write>(
    log: &mut IntervalLogWriter<'_, '_, W, V2DeflateSerializer>,
    series: &[TaggedTimes<'_>],
    from: Duration,
    length: Duration,
) -> io::Result<()> {
    for TaggedTimes { tag, times } in series {
        log.write_histogram(*times, from, length, Tag::new(tag)).map_err(|error| match error {
            IntervalLogWriterError::IoError(error) => error,
            error @ IntervalLogWriterError::SerializeError(_) => io::Error::other(error),
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distribution_has_the_columns_and_the_footer_of_hdrhistogram() {
        let mut times = crate::distribution::histogram();
        for us in 1..=1_000_u64 {
            times.record(us * 1_000).unwrap();
        }
        let text = percentile_distribution(&times);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "       Value     Percentile TotalCount 1/(1-Percentile)");
        assert_eq!((lines[1], lines[2]), ("", "       0.001 0.000000000000          1           1.00"));
        assert!(lines.contains(&"       0.500 0.500000000000        500           2.00"), "{text}");
        let footer = &lines[lines.len() - 4..];
        assert_eq!(footer[0].split_whitespace().collect::<Vec<_>>(), ["1.000", "1.000000000000", "1000"]);
        assert!(
            footer[1].starts_with("#[Mean    =        0.50") && footer[1].contains(", StdDeviation   = ")
        );
        assert_eq!(footer[2], "#[Max     =        1.000, Total count    =         1000]");
        assert!(
            footer[3].starts_with("#[Buckets = ") && footer[3].ends_with("SubBuckets     =         2048]")
        );
    }

    #[test]
    fn buckets_have_their_bounds_and_counts() {
        let mut times = crate::distribution::histogram();
        for ns in [5, 1_000_000, 1_000_001] {
            times.record(ns).unwrap();
        }
        // Above 2^19 ns, buckets are 512 ns wide.
        assert_eq!(buckets(&times), [(5..=5, 1), (999_936..=1_000_447, 2)]);
    }

    #[test]
    fn without_times_there_are_no_lines() {
        let text = percentile_distribution(&crate::distribution::histogram());
        assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 2, "{text}");
    }
}
