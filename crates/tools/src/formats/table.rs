//! Reads a distribution from a CSV or Parquet table: a row for each bin of times, as in the table `histograms` of a study.
//!
//! The columns `from_us`, `to_us` and `count` are required. `arm` and `load` distinguish several distributions in a table.

mod csv;
mod parquet;

use hoptax_result::{CountRange, ImportedRange, LoadResult};

use super::judgement::Judgement;
use super::named_or_only;
use crate::reported::Reported;

pub(super) use csv::read as import_table;
pub use parquet::csv_of_parquet;

/// The required columns.
const NUMBERS: [&str; 3] = ["from_us", "to_us", "count"];
/// The columns that identify a distribution.
const NAMES: [&str; 2] = ["arm", "load"];
/// A column that is not needed here, but that each table of a study has.
const SHARE: &str = "share";

/// Values of a result that such a table does not contain.
const NOT_REPORTED: [&str; 2] =
    ["values within a bin: a quantile is the end of its bin", "the moment from which its times count"];

/// A row: the times above `from_us` and up to `to_us`.
#[derive(Clone, Debug, PartialEq)]
struct Bin {
    /// The arm and its load; empty if the table has neither.
    name: String,
    from_us: f64,
    to_us: f64,
    count: u64,
}

impl Bin {
    /// Parses the values of a row, in the order of [`NAMES`] and [`NUMBERS`]; none if the numbers are not those of a bin.
    fn new(names: [Option<&str>; 2], [from_us, to_us, count]: [f64; 3]) -> Option<Self> {
        let is_bin = 0.0 <= from_us && from_us <= to_us && to_us.is_finite();
        let is_count = (0.0..9e15).contains(&count) && count.fract() == 0.0;
        let names: Vec<&str> = names.into_iter().flatten().filter(|name| !name.is_empty()).collect();
        (is_bin && is_count).then(|| Self {
            name: names.join(" under "),
            from_us,
            to_us,
            count: count as u64,
        })
    }
}

/// The distribution with this name, or the only one.
///
/// # Errors
/// The reason, when the selection is ambiguous, or when the distribution has no times.
fn distribution(
    format: &str,
    judgement: &Judgement,
    bins: &[Bin],
    name: Option<&str>,
) -> Result<LoadResult, String> {
    let mut names: Vec<&str> = bins.iter().map(|bin| bin.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let names: Vec<(&str, ())> = names.into_iter().map(|name| (name, ())).collect();
    let (meant, ()) = named_or_only(&names, name, "distribution")?;
    let mut own: Vec<&Bin> = bins.iter().filter(|bin| bin.name == meant && bin.count > 0).collect();
    own.sort_by(|one, other| one.to_us.total_cmp(&other.to_us));
    let total = own
        .iter()
        .try_fold(0, |sum: u64, bin| sum.checked_add(bin.count))
        .filter(|total| *total > 0)
        .ok_or_else(|| format!("`{meant}` has no times"))?;
    let bucket = |percentile: f64| {
        let rank = (percentile / 100.0 * total as f64).ceil() as u64;
        let mut below = 0;
        let bin = own.iter().find(|bin| {
            below += bin.count;
            below >= rank
        })?;
        Some(ImportedRange { percentile, low_us: bin.from_us, high_us: bin.to_us })
    };
    let answered = Some(CountRange::exactly(total));
    let reported = Reported { answered, ..Reported::from_buckets(bucket) };
    Ok(judgement.import(format, reported, &NOT_REPORTED))
}

/// Returns the message that a table lacks a column, with the existing columns.
fn lacks<'a>(column: &str, columns: impl Iterator<Item = &'a str>) -> String {
    let columns: Vec<String> = columns.map(|name| format!("`{name}`")).collect();
    format!("it has no column `{column}`; it has {}", columns.join(", "))
}

#[cfg(test)]
mod tests {
    use hoptax_report::{csv, histograms, parquet};
    use hoptax_result::{CountedTime, ResponseHistogram};
    use proptest::prelude::*;

    use super::*;

    fn bin(name: &str, from_us: f64, to_us: f64, count: u64) -> Bin {
        Bin { name: name.to_owned(), from_us, to_us, count }
    }

    #[test]
    fn a_quantile_is_the_range_of_its_bin() {
        let bins = [
            bin("a under open", 100.0, 112.0, 50),
            bin("a under open", 112.0, 126.0, 49),
            bin("a under open", 900.0, 1_000.0, 1),
            bin("b under open", 10.0, 20.0, 7),
        ];
        let result = distribution("csv", &Judgement::for_study(), &bins, Some("a under open")).unwrap();
        assert_eq!(result.book.answered, 100);
        let ranges = result.imported.clone().unwrap().ranges;
        let of = |p: f64| {
            let range = ranges.iter().find(|range| (range.percentile - p).abs() < 1e-9).unwrap();
            (range.low_us, range.high_us)
        };
        assert_eq!([of(50.0), of(90.0), of(99.0)], [(100.0, 112.0), (112.0, 126.0), (112.0, 126.0)]);
        // A tenth of its end is not wide.
        assert_eq!(result.latency.service.p99_9_us, Some(1_000.0));
        let error = distribution("csv", &Judgement::for_study(), &bins, None).unwrap_err();
        let several = "`--statistic` must name one of its 2 statistics, `a under open` and `b under open`";
        assert_eq!(error, several);
        let empty = distribution("csv", &Judgement::default(), &[bin("", 1.0, 2.0, 0)], None).unwrap_err();
        assert_eq!(empty, "`` has no times");
    }

    #[test]
    fn a_row_must_be_a_bin() {
        for numbers in
            [[2.0, 1.0, 1.0], [0.0, f64::INFINITY, 1.0], [0.0, 1.0, -1.0], [0.0, 1.0, 0.5], [f64::NAN; 3]]
        {
            assert_eq!(Bin::new([None, None], numbers), None, "{numbers:?}");
        }
        let named = Bin::new([Some("lua"), Some("open")], [0.0, 1.0, 3.0]);
        assert_eq!(named, Some(bin("lua under open", 0.0, 1.0, 3)));
    }

    proptest! {
        #[test]
        fn the_table_of_a_study_is_read_from_both_formats(
            times_ns in prop::collection::vec(1_000..60_000_000_000_u64, 1..200),
        ) {
            let mut sorted = times_ns.clone();
            sorted.sort_unstable();
            let counts = sorted.iter().map(|ns| CountedTime::new(*ns, 1)).collect();
            let histogram = ResponseHistogram { arm: "lua".to_owned(), load: "open".to_owned(), counts };
            let table = histograms::table(&[histogram]);
            let of_parquet = csv_of_parquet(parquet::bytes(&table).unwrap()).unwrap();
            for (format, text) in [("csv", csv::text(&table)), ("parquet", of_parquet)] {
                let read = import_table(format, &text, None).unwrap();
                prop_assert_eq!(read.book.answered, times_ns.len() as u64);
                let ranges = read.imported.clone().unwrap().ranges;
                for (percentile, stated) in [(50.0, read.latency.service.p50_us), (99.0, read.latency.service.p99_us)] {
                    let rank = (percentile / 100.0 * sorted.len() as f64).ceil() as usize;
                    let us = sorted[rank - 1] as f64 / 1e3;
                    let range = ranges.iter().find(|range| (range.percentile - percentile).abs() < 1e-9);
                    let (low, high) = match (range, stated) {
                        (Some(range), None) => (range.low_us, range.high_us),
                        (None, Some(high)) => (0.9 * high, high),
                        other => return Err(TestCaseError::fail(format!("{other:?}"))),
                    };
                    // CSV rounds the ends of bins to nanoseconds.
                    prop_assert!(low - 0.001 <= us && us <= high + 0.001, "p{}: {} {} {}", percentile, low, us, high);
                }
            }
        }
    }
}
