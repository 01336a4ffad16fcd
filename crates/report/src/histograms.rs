//! Response times of every arm under every open loop as bins with counts, also cumulative, for pictures and comparisons.

mod bins;
mod page;

use hoptax_load::encoded;
use hoptax_result::{CountedTime, Histogram, ResponseHistogram};

use crate::tables::{Table, ids, integers, rounded};
use bins::{CountedBin, bins, end_us};

pub use page::document;
pub(crate) use page::{binned, quantile_ns};

/// The recorded times in a result's histogram with their counts, ascending; empty without a histogram.
pub(crate) fn recorded(histogram: Option<&Histogram>) -> Vec<CountedTime> {
    let times = histogram.and_then(encoded::decode::<u64>);
    times
        .iter()
        .flat_map(|times| times.iter_recorded())
        .map(|one| CountedTime::new(one.value_iterated_to(), one.count_at_value()))
        .collect()
}

/// A bin of an arm under a load.
struct Row<'a> {
    histogram: &'a ResponseHistogram,
    bin: i32,
    count: u64,
    cumulative: u64,
    total: u64,
}

impl Row<'_> {
    fn share(&self, count: u64) -> f64 {
        count as f64 / self.total.max(1) as f64
    }
}

/// A row for each bin from the first to the last with a response. `count` and `share` describe the bin, `cumulative_count` and
/// `cumulative_share` all responses up to its end. Bins are open at their start and closed at their end, in microseconds.
pub fn table(all: &[ResponseHistogram]) -> Table {
    let mut rows = Vec::new();
    for histogram in all {
        let total = histogram.counts.iter().map(|time| time.count).sum();
        let mut cumulative = 0;
        for CountedBin { bin, count } in bins(&histogram.counts) {
            cumulative += count;
            rows.push(Row { histogram, bin, count, cumulative, total });
        }
    }
    let columns = vec![
        ids("arm", rows.iter().map(|row| Some(row.histogram.arm.as_str()))),
        ids("load", rows.iter().map(|row| Some(row.histogram.load.as_str()))),
        rounded("from_us", 3, rows.iter().map(|row| end_us(row.bin - 1))),
        rounded("to_us", 3, rows.iter().map(|row| end_us(row.bin))),
        integers("count", rows.iter().map(|row| Some(row.count))),
        rounded("share", 6, rows.iter().map(|row| row.share(row.count))),
        integers("cumulative_count", rows.iter().map(|row| Some(row.cumulative))),
        rounded("cumulative_share", 6, rows.iter().map(|row| row.share(row.cumulative))),
    ];
    Table { columns }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use hoptax_result::CountedTime;

    use super::bins::NS_PER_US;
    use super::*;
    use crate::csv;
    use crate::histograms::bins::bin_of;

    fn csv_of(counts: Vec<(u64, u64)>) -> String {
        let counts = counts.into_iter().map(|(ns, count)| CountedTime { ns, count }).collect();
        let histogram = ResponseHistogram { arm: "f{a=1,b=2}".to_owned(), load: "open".to_owned(), counts };
        csv::text(&table(&[histogram]))
    }

    #[test]
    fn counts_are_listed_plain_and_cumulative_with_the_empty_bins_between() {
        let text = csv_of(vec![(100_000, 3), (101_000, 1), (126_000, 4)]);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "\"f{a=1,b=2}\",\"open\",89.125,100.000,3,0.375000,3,0.375000",
                "\"f{a=1,b=2}\",\"open\",100.000,112.202,1,0.125000,4,0.500000",
                "\"f{a=1,b=2}\",\"open\",112.202,125.893,0,0.000000,4,0.500000",
                "\"f{a=1,b=2}\",\"open\",125.893,141.254,4,0.500000,8,1.000000",
            ]
        );
        assert_eq!(csv_of(Vec::new()).lines().count(), 1);
    }

    proptest! {
        #[test]
        fn every_response_is_in_the_bin_that_holds_its_time(mut times in prop::collection::vec(1_u64..100_000_000_000, 1..50)) {
            times.sort_unstable();
            let bins = bins(&times.iter().map(|ns| CountedTime::new(*ns, 1)).collect::<Vec<_>>());
            prop_assert_eq!(bins.iter().map(|one| one.count).sum::<u64>(), times.len() as u64);
            prop_assert!(bins.windows(2).all(|two| two[1].bin == two[0].bin + 1));
            for CountedBin { bin, count } in bins {
                let within = times.iter().filter(|ns| bin_of(**ns as f64 / NS_PER_US) == bin);
                prop_assert_eq!(within.clone().count() as u64, count);
                for ns in within {
                    let us = *ns as f64 / NS_PER_US;
                    prop_assert!(us <= end_us(bin) * (1.0 + 1e-6) && us > end_us(bin - 1) * (1.0 - 1e-6), "{}", us);
                }
            }
        }
    }
}
