//! Reads the interval log that `HdrHistogram` libraries and hoptax write (`.hlog`), which has a histogram for each interval.
//!
//! Histograms of one series are added, so percentiles cover all its values. Logs with two runs are refused. The comments of hoptax about a
//! load apply to each of its series. They are about response times, but a result with too few requests for a quantile withholds that of
//! service times, too.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use hoptax_load::encoded::decode;
use hoptax_result::{CountRange, Latency, LoadResult};
use hoptax_text::list::listed;

use super::judgement::Judgement;
use crate::import::several;
use crate::reported::Reported;
use crate::run::Run;
use crate::text::date;

/// Values of a result that such a log does not contain.
const NOT_REPORTED: [&str; 3] = [
    "the unit of its values: hoptax reads them as nanoseconds, the unit of hoptax and the usual one of HdrHistogram",
    "the moment from which its times count",
    "the requested rate",
];
/// Longest interval; a longer one counts as this long.
const MAX_INTERVAL: Duration = Duration::from_hours(366 * 24);

/// The intervals of one tag, or those without a tag.
struct Series {
    times: Histogram<u64>,
    length: Duration,
}

/// Reads the series with this tag. Without a tag, the intervals that have no tag, or else those of the only tag.
///
/// # Errors
/// The reason, when it is not an interval log, or when the series is ambiguous.
pub fn import_hlog(text: &str, tag: Option<&str>) -> Result<LoadResult, String> {
    Run::only(text, &["#[StartTime:"])?;
    let (mut all, mut started) = (BTreeMap::<String, Series>::new(), None);
    for entry in IntervalLogIterator::new(text.as_bytes()) {
        match entry.map_err(|_| {
            "it has a line that is neither a comment nor an interval with its histogram".to_owned()
        })? {
            LogEntry::StartTime(time) => started = started.or(Some(time)),
            LogEntry::BaseTime(_) => {}
            LogEntry::Interval(interval) => {
                let name = interval.tag().map_or("", |tag| tag.as_str());
                let at_s = interval.start_timestamp().as_secs_f64();
                let times = histogram(interval.encoded_histogram())
                    .ok_or_else(|| format!("the histogram of the interval at {at_s} s cannot be read"))?;
                let length = interval.duration().min(MAX_INTERVAL);
                match all.get_mut(name) {
                    None => {
                        all.insert(name.to_owned(), Series { times, length });
                    }
                    Some(series) => {
                        series.length = series.length.saturating_add(length);
                        series.times.add(&times).map_err(|error| {
                            format!("the histogram of the interval at {at_s} s cannot be added to the intervals before: {error}")
                        })?;
                    }
                }
            }
        }
    }
    let series = meant(&mut all, tag)?;
    // Sums of counts saturate there.
    if series.times.len() == u64::MAX {
        return Err("it has more values than can be counted".to_owned());
    }
    let us = |ns: f64| Some(ns / 1e3).filter(|_| !series.times.is_empty());
    let quantile = |quantile: f64| us(series.times.value_at_quantile(quantile) as f64);
    let (count, seconds) = (series.times.len(), series.length.as_secs_f64());
    let reported = Reported {
        started_at: started.and_then(date),
        answered: Some(CountRange::exactly(count)),
        rate: (seconds > 0.0).then(|| count as f64 / seconds),
        rated: Some(CountRange::exactly(count)),
        seconds: Some(seconds),
        latency: Latency {
            min_us: us(series.times.min() as f64),
            mean_us: us(series.times.mean()),
            standard_deviation_us: us(series.times.stdev()),
            p50_us: quantile(0.5),
            p90_us: quantile(0.9),
            p99_us: quantile(0.99),
            p99_9_us: quantile(0.999),
            max_us: us(series.times.max() as f64),
            ..Latency::default()
        },
        ..Reported::default()
    };
    Ok(Judgement::from_comments(text).import("hlog", reported, &NOT_REPORTED))
}

/// Decodes a histogram; None if it is invalid.
fn histogram(encoded: &str) -> Option<Histogram<u64>> {
    let encoded = hoptax_result::Histogram(encoded.to_owned());
    let mut times: Histogram<u64> = decode(&encoded)?;
    times.auto(true);
    Some(times)
}

/// The selected series.
fn meant(all: &mut BTreeMap<String, Series>, tag: Option<&str>) -> Result<Series, String> {
    let each: Vec<String> = all.keys().filter(|tag| !tag.is_empty()).map(|tag| format!("`{tag}`")).collect();
    let tags = if each.is_empty() { "no tags".to_owned() } else { format!("the tags {}", listed(&each)) };
    let only = |all: &mut BTreeMap<String, Series>| {
        if all.len() == 1 { all.pop_first().map(|(_, one)| one) } else { None }
    };
    match tag {
        Some(tag) => all.remove(tag).ok_or_else(|| format!("no interval has the tag `{tag}`; it has {tags}")),
        None if all.is_empty() => Err("it has no interval".to_owned()),
        None => all.remove("").or_else(|| only(all)).ok_or_else(|| several(&each)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use hdrhistogram::serialization::V2DeflateSerializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
    use hoptax_result::Verdict;
    use proptest::prelude::*;

    use super::*;

    /// A log of intervals of a second, each with its tag and times.
    fn log(intervals: &[(&str, Vec<u64>)]) -> String {
        let (mut bytes, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
        let mut log = IntervalLogWriterBuilder::new()
            .with_start_time(SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_323_045))
            .begin_log_with(&mut bytes, &mut serializer)
            .unwrap();
        for (second, (tag, times_ns)) in intervals.iter().enumerate() {
            let mut times = Histogram::<u64>::new(3).unwrap();
            for ns in times_ns {
                times.record(*ns).unwrap();
            }
            let at = Duration::from_secs(second as u64);
            log.write_histogram(&times, at, Duration::from_secs(1), Tag::new(tag)).unwrap();
        }
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn the_logs_of_two_runs_are_refused() {
        let text = log(&[("", vec![1_000])]);
        let problem = import_hlog(&format!("{text}{text}"), None).unwrap_err();
        assert!(problem.starts_with("it has 2 runs, which begin in lines "), "{problem}");
    }

    #[test]
    fn intervals_of_a_tag_are_one_distribution() {
        let text =
            log(&[("response", vec![1_000, 2_000]), ("service", vec![500]), ("response", vec![90_000])]);
        let load = import_hlog(&text, Some("response")).unwrap();
        let service = load.latency.service;
        assert_eq!((service.count, load.recorded_s), (3, 2.0));
        // Another program may have recorded the times of failed requests, too.
        let imported = load.body.imported.unwrap();
        assert_eq!(imported.answered, Some(CountRange { at_least: 0, at_most: 3 }));
        assert_eq!(imported.answered_per_s.map(|range| (range.low, range.high)), Some((0.0, 1.5)));
        let own = import_hlog(&format!("{text}# verdict: sound\n"), Some("response")).unwrap();
        assert_eq!((own.book.answered, own.rate.achieved), (3, Some(1.5)));
        assert_eq!((service.p50_us.map(f64::round), service.max_us.map(f64::round)), (Some(2.0), Some(90.0)));
        assert_eq!(load.environment.started_at, "2026-01-02T03:04:05.000000000Z");
        let error = import_hlog(&text, None).unwrap_err();
        assert_eq!(error, "`--statistic` must name one of its 2 statistics, `response` and `service`");
        let error = import_hlog(&text, Some("other")).unwrap_err();
        assert_eq!(error, "no interval has the tag `other`; it has the tags `response` and `service`");
        let three = log(&[("a", vec![1_000]), ("b", vec![1_000]), ("c", vec![1_000])]);
        let error = import_hlog(&three, None).unwrap_err();
        assert_eq!(error, "`--statistic` must name one of its 3 statistics, `a`, `b` and `c`");
    }

    #[test]
    fn what_the_comments_withhold_is_stated_of_no_series() {
        let text = log(&[("response", vec![1_000, 2_000]), ("service", vec![500])]);
        let judged = format!(
            "{text}# verdict: caution\n# withheld in the result: p99.9\n# lower bounds in the result: p90, p99\n"
        );
        for series in ["response", "service"] {
            let service = import_hlog(&judged, Some(series)).unwrap().latency.service;
            assert!(service.p50_us.is_some(), "{service:?}");
            assert_eq!((service.p90_us, service.p99_us, service.p99_9_us), (None, None, None));
            assert!(service.max_us.is_none() && service.at_least.max_us.is_some(), "{service:?}");
            let void = import_hlog(&format!("{text}# verdict: void\n"), Some(series)).unwrap();
            assert_eq!((void.verdict, void.rate.achieved), (Verdict::Void, None));
            let count = void.book.answered;
            assert_eq!(void.latency.service, Latency { count, ..Latency::default() });
        }
    }

    #[test]
    fn counts_without_a_sum_are_refused() {
        let mut times = Histogram::<u64>::new(3).unwrap();
        for ns in [1_000, 1_001, 1_002] {
            times.record_n(ns, i64::MAX as u64).unwrap();
        }
        let (mut bytes, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
        let mut log = IntervalLogWriterBuilder::new().begin_log_with(&mut bytes, &mut serializer).unwrap();
        log.write_histogram(&times, Duration::ZERO, Duration::from_secs(1), None).unwrap();
        let error = import_hlog(&String::from_utf8(bytes).unwrap(), None).unwrap_err();
        assert_eq!(error, "it has more values than can be counted");
    }

    #[test]
    fn intervals_without_a_tag_come_first_and_an_only_tag_is_meant() {
        let count = |text: &str| import_hlog(text, None).unwrap().latency.service.count;
        assert_eq!(count(&log(&[("", vec![1, 2]), ("service", vec![3])])), 2);
        assert_eq!(count(&log(&[("service", vec![3]), ("service", Vec::new())])), 1);
    }

    #[test]
    fn other_texts_are_refused_with_the_reason() {
        assert_eq!(import_hlog("# a comment\n", None).unwrap_err(), "it has no interval");
        assert!(import_hlog("us 1.0\n", None).unwrap_err().contains("neither a comment nor an interval"));
        let damaged = log(&[("", vec![1])]).replace("HISTF", "AAAAA");
        assert!(import_hlog(&damaged, None).unwrap_err().contains("at 0 s cannot be read"), "{damaged}");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(parts in prop::collection::vec(prop::collection::vec(1_000..60_000_000_000_u64, 0..50), 1..6)) {
            let intervals: Vec<(&str, Vec<u64>)> = parts.iter().map(|part| ("", part.clone())).collect();
            let mut all = Histogram::<u64>::new(3).unwrap();
            for ns in parts.iter().flatten() {
                all.record(*ns).unwrap();
            }
            let load = import_hlog(&log(&intervals), None).unwrap();
            prop_assert_eq!(load.latency.service.count, all.len());
            let service = load.latency.service;
            for (quantile, us) in [(0.5, service.p50_us), (0.9, service.p90_us), (0.99, service.p99_us), (0.999, service.p99_9_us), (1.0, service.max_us)] {
                let expected = (!all.is_empty()).then(|| all.value_at_quantile(quantile) as f64 / 1e3);
                prop_assert_eq!(us, expected);
            }
        }
    }

    proptest! {
        // A fuzz target has this reader, and its kept inputs are tried with each change.
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_text_panics(text in ".{0,200}", words in prop::collection::vec("(#|\\[|StartTime: |Tag=|a,|[0-9]{1,9}|\\.|HISTFAAAA|\"| |\n)", 0..60)) {
            let _ = (import_hlog(&text, None), import_hlog(&words.concat(), Some("a")));
        }
    }
}
