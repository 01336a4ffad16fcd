//! Reads the percentile distribution that `HdrHistogram` libraries and hoptax print (`.hgrm`).
//!
//! Each line has a value, a quantile, and the number of times up to the value. Lines become denser towards the maximum. A quantile such as
//! 0.99 lies between two lines: it is at most the value of the line after it and at least that of the line before it.

use hoptax_result::{CountRange, ImportedRange, Latency, LoadResult};

use super::judgement::Judgement;
use crate::reported::{Reported, Sum};
use crate::text::{number, several};

/// Values of a result that such a file does not contain.
const NOT_REPORTED: [&str; 2] = [
    "the unit of its values: hoptax reads them as milliseconds, the unit of hoptax, wrk2 and the plotters of HdrHistogram",
    "the moment from which its times count",
];

/// A line of the distribution.
struct Line {
    us: f64,
    quantile: f64,
    count: u64,
}

/// Reads a distribution in milliseconds.
///
/// # Errors
/// The reason, when it is not a distribution.
pub fn import_hgrm(text: &str) -> Result<LoadResult, String> {
    // Refuse several distributions: wrk2 prints two with `-U`, and a file may contain several loads.
    for mark in ["Value ", "#[Max "] {
        let numbered = text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with(mark));
        let lines: Vec<usize> = numbered.map(|(index, _)| index + 1).collect();
        if lines.len() > 1 {
            return Err(several("distributions", &lines));
        }
    }
    let lines: Vec<Line> = text.lines().filter_map(line).collect();
    let last = lines.last().ok_or("it has no line with a value, a quantile and a count")?;
    let footer = |name: &str| {
        let mut footers =
            text.lines().filter_map(|line| line.trim().strip_prefix("#[")).flat_map(|line| line.split(','));
        let value = footers.find_map(|part| part.split_once('=').filter(|(one, _)| one.trim() == name))?.1;
        number(value.trim())
    };
    let total = footer("Total count").map(|count| count as u64);
    // The last line of a complete distribution has all times. The quantiles of a truncated one are different.
    if total.is_none() && last.quantile < 1.0 {
        return Err(format!("its end is missing: its last line has the quantile {}", last.quantile));
    }
    let us = |name: &str| footer(name).map(|ms| ms * 1e3);
    let bucket = |percentile: f64| {
        let quantile = percentile / 100.0;
        // A quantile has the value of a line before it if enough times are at most that value.
        let has_rank = |line: &Line| line.count as f64 >= quantile * last.count as f64;
        let index = lines.iter().position(|line| line.quantile >= quantile - 1e-12 || has_rank(line))?;
        let behind = lines.get(index)?;
        let is_exact = behind.quantile <= quantile + 1e-12;
        let before = index.checked_sub(1).and_then(|before| lines.get(before)).unwrap_or(behind);
        let low_us = if is_exact { behind.us } else { before.us };
        Some(ImportedRange { percentile, low_us, high_us: behind.us })
    };
    let of_buckets = Reported::from_buckets(bucket);
    let reported = Reported {
        answered: Some(CountRange::exactly(last.count)),
        sums: total
            .map(|total| Sum::all("times up to its last line", last.count, total))
            .into_iter()
            .collect(),
        latency: Latency {
            mean_us: us("Mean"),
            standard_deviation_us: us("StdDeviation"),
            max_us: us("Max"),
            ..of_buckets.latency
        },
        ..of_buckets
    };
    Ok(Judgement::from_comments(text).import("hgrm", reported, &NOT_REPORTED))
}

fn line(text: &str) -> Option<Line> {
    let mut words = text.split_whitespace();
    let ms: f64 = words.next()?.parse().ok()?;
    let quantile: f64 = words.next()?.parse().ok()?;
    let count = words.next()?.parse().ok()?;
    ((0.0..=1.0).contains(&quantile) && ms.is_finite()).then_some(Line { us: ms * 1e3, quantile, count })
}

#[cfg(test)]
mod tests {
    use hoptax_load::hdr::percentile_distribution;
    use hoptax_load::histogram;
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "       Value     Percentile TotalCount 1/(1-Percentile)

       0.100 0.000000000000          1           1.00
       0.200 0.500000000000         60           2.00
       0.250 0.900000000000         90          10.00
       0.260 0.987500000000         98          80.00
       0.900 0.990625000000         99         106.67
       1.000 1.000000000000        100
#[Mean    =        0.211, StdDeviation   =        0.050]
#[Max     =        1.000, Total count    =          100]
#[Buckets =           27, SubBuckets     =         2048]
";

    #[test]
    fn a_quantile_between_two_lines_is_their_range() {
        let load = import_hgrm(TEXT).unwrap();
        let service = load.latency.service;
        assert_eq!((service.p50_us, service.p90_us, service.p99_us), (Some(200.0), Some(250.0), None));
        assert_eq!((service.mean_us, service.max_us, service.count), (Some(211.0), Some(1_000.0), 100));
        let ranges = load.body.imported.unwrap().ranges;
        let bounds: Vec<_> = ranges.iter().map(|one| (one.percentile, one.low_us, one.high_us)).collect();
        assert_eq!(bounds, [(99.0, 260.0, 900.0)], "p99.9 is between 900 and 1,000, which is narrow");
    }

    #[test]
    fn a_distribution_that_was_cut_off_is_refused_or_has_no_count() {
        let (cut, _) = TEXT.split_once("       0.900 ").unwrap();
        assert_eq!(
            import_hgrm(cut).unwrap_err(),
            "its end is missing: its last line has the quantile 0.9875"
        );
        let without_footer = TEXT.split_once("#[Mean").unwrap().0;
        assert_eq!(import_hgrm(without_footer).unwrap().latency.service.count, 100);
        let contradicting = import_hgrm(&TEXT.replace("          100]", "          200]")).unwrap();
        assert!(contradicting.findings[0].message.contains("do not add up"), "{:?}", contradicting.findings);
        assert_eq!(contradicting.body.imported.unwrap().answered, None);
    }

    #[test]
    fn a_quantile_at_the_count_of_an_earlier_line_is_its_value() {
        let mut times = histogram();
        times.record(55_801_020_416).unwrap();
        times.record_n(1_000, 9).unwrap();
        let load = import_hgrm(&percentile_distribution(&times)).unwrap();
        assert!(load.latency.service.p90_us.is_some_and(|us| us < 2.0), "{:?}", load.latency.service);
    }

    #[test]
    fn withheld_quantiles_stay_withheld_and_other_texts_are_refused() {
        let load = import_hgrm(&format!("{TEXT}# withheld in the result: p99, p99.9\n")).unwrap();
        assert_eq!((load.latency.service.p99_9_us, load.body.imported.unwrap().ranges), (None, Vec::new()));
        assert!(import_hgrm("# verdict: void\n").unwrap_err().contains("no line with a value"));
    }

    proptest! {
        #[test]
        fn what_is_exported_is_read(times_ns in prop::collection::vec(1_000..60_000_000_000_u64, 1..300)) {
            let mut times = histogram();
            for ns in &times_ns {
                times.record(*ns).unwrap();
            }
            let load = import_hgrm(&percentile_distribution(&times)).unwrap();
            let service = load.latency.service;
            prop_assert_eq!(service.count, times_ns.len() as u64);
            // Values are printed in steps of 1 us.
            let is_near = |us: Option<f64>, ns: f64| us.is_some_and(|us| (us - ns / 1e3).abs() <= 0.51 + 1e-9 * us);
            prop_assert!(is_near(service.mean_us, times.mean()), "{:?}", service);
            prop_assert!(is_near(service.max_us, times.max() as f64), "{:?}", service);
            let ranges = load.body.imported.unwrap().ranges;
            for (p, read) in [(50.0, service.p50_us), (90.0, service.p90_us), (99.0, service.p99_us)] {
                let us = times.value_at_quantile(p / 100.0) as f64 / 1e3;
                let range = ranges.iter().find(|range| (range.percentile - p).abs() < 1e-9);
                let (low, high) = match (read, range) {
                    // A bucket that is not wide reaches a tenth below its end.
                    (Some(high), None) => (0.9 * high, high),
                    (None, Some(range)) => (range.low_us, range.high_us),
                    other => return Err(TestCaseError::fail(format!("{other:?}"))),
                };
                prop_assert!(low - 1.0 <= us && us <= high + 1.0, "p{}: {} {} {}", p, low, us, high);
            }
        }
    }

    proptest! {
        // A fuzz target has this reader, and its kept inputs are tried with each change.
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_text_panics(text in ".{0,200}", words in prop::collection::vec("(#\\[|Mean|=|,|\\]|[0-9]{1,9}|0\\.[0-9]{1,3}| |\n)", 0..60)) {
            let _ = (import_hgrm(&text), import_hgrm(&words.concat()));
        }
    }
}
