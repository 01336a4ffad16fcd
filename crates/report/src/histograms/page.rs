//! The histograms as a document: for each load, the distributions of all arms on common scales.

use hoptax_result::{CountedTime, ResponseHistogram};

use super::bins::{CountedBin, NS_PER_US, bin_of, bins, end_us};
use crate::chart::{Bin, Chart, Distribution, Distributions, Tone, drawn};
use crate::document::{Block, Document, Section};
use crate::numbers::grouped;

/// Share of each arm's responses that may be beyond either end of the scale. Otherwise, a few stalls would compress all distributions.
const BEYOND: f64 = 0.001;
/// Quantiles below each picture.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p75", 0.75), ("p90", 0.9), ("p99", 0.99)];

/// The document of the response times of a study.
pub fn document(name: &str, all: &[ResponseHistogram]) -> Document {
    let mut loads: Vec<&str> = Vec::new();
    for histogram in all {
        if !loads.contains(&histogram.load.as_str()) {
            loads.push(&histogram.load);
        }
    }
    let answer =
        "Response times of each arm, as the share of the responses in each bin and up to it".to_owned();
    let mut document = Document::new(format!("study {name}: response times"), "", vec![answer]);
    document.notes.push("histograms.csv has the numbers".to_owned());
    let section = |load: &&str| {
        let arms: Vec<&ResponseHistogram> = all.iter().filter(|one| one.load == *load).collect();
        let distributions = distributions(load, &arms)?;
        Some(Section::new(*load, vec![Block::chart(Chart::Distributions(distributions))]))
    };
    document.sections = loads.iter().filter_map(section).collect();
    document
}

/// The distributions under one load; none without responses.
fn distributions(load: &str, arms: &[&ResponseHistogram]) -> Option<Distributions> {
    let bin_of_ns = |ns: u64| bin_of(ns as f64 / NS_PER_US);
    let ends = |share: f64| arms.iter().filter_map(move |arm| quantile_ns(&arm.counts, share)).map(bin_of_ns);
    let (first, last) = (ends(BEYOND).min()?, ends(1.0 - BEYOND).max()?);
    let one = |arm: &&ResponseHistogram| Distribution {
        name: arm.arm.clone(),
        words: words(&arm.counts),
        tone: Tone::Own,
        bins: binned(&arm.counts),
    };
    Some(Distributions {
        title: format!("response times under {load}"),
        axis: "response time, us".to_owned(),
        from: drawn(end_us(first - 1)),
        to: drawn(end_us(last)),
        items: arms.iter().map(one).collect(),
    })
}

/// Times as bins, microseconds.
pub(crate) fn binned(times: &[CountedTime]) -> Vec<Bin> {
    let bin = |CountedBin { bin, count }| Bin { from: drawn(end_us(bin - 1)), to: drawn(end_us(bin)), count };
    bins(times).into_iter().map(bin).collect()
}

fn total(times: &[CountedTime]) -> u64 {
    times.iter().map(|time| time.count).sum()
}

/// The smallest time that is at least as long as this share of the responses; none without responses.
pub(crate) fn quantile_ns(times: &[CountedTime], share: f64) -> Option<u64> {
    let wanted = (share * total(times) as f64).ceil().max(1.0) as u64;
    let mut sum = 0;
    times.iter().find_map(|time| {
        sum += time.count;
        (sum >= wanted).then_some(time.ns)
    })
}

fn words(times: &[CountedTime]) -> String {
    let quantile = |(name, share): (&str, f64)| {
        let us = quantile_ns(times, share)? as f64 / NS_PER_US;
        Some(format!("{name} {} us", grouped(us, 0)))
    };
    let quantiles: Vec<String> = QUANTILES.into_iter().filter_map(quantile).collect();
    format!("{}; {} responses", quantiles.join(", "), grouped(total(times) as f64, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(arm: &str, load: &str, counts: Vec<(u64, u64)>) -> ResponseHistogram {
        let counts = counts.into_iter().map(|(ns, count)| CountedTime { ns, count }).collect();
        ResponseHistogram { arm: arm.to_owned(), load: load.to_owned(), counts }
    }

    #[test]
    fn quantiles_are_the_smallest_times_that_enough_responses_do_not_exceed() {
        let counts: Vec<CountedTime> = (1..=100).map(|us| CountedTime::new(us * 1_000, 1)).collect();
        let found = QUANTILES.map(|(_, share)| quantile_ns(&counts, share));
        assert_eq!(found, [50_000, 75_000, 90_000, 99_000].map(Some));
        assert_eq!(quantile_ns(&[], 0.5), None);
    }

    #[test]
    fn every_arm_has_a_distribution_under_each_load_on_common_scales() {
        let all = [
            histogram("a<b", "open", vec![(100_000, 30), (400_000, 70)]),
            histogram("c", "open", vec![(100_000, 50), (800_000, 50)]),
            histogram("c", "other", vec![(5_000, 1)]),
        ];
        let document = document("test", &all);
        let titles: Vec<&str> = document.sections.iter().map(|section| section.title.as_str()).collect();
        assert_eq!(titles, ["open", "other"]);
        let [Block::Chart(chart)] = document.sections[0].blocks.as_slice() else { panic!("{document:?}") };
        let Chart::Distributions(open) = chart.as_ref() else { panic!("{chart:?}") };
        let [first, _] = open.items.as_slice() else { panic!("{open:?}") };
        assert_eq!(
            (first.name.as_str(), first.words.as_str()),
            ("a<b", "p50 400 us, p75 400 us, p90 400 us, p99 400 us; 100 responses")
        );
        assert!(open.from < 100.0 && open.to >= 800.0, "{open:?}");
        assert_eq!(first.bins.iter().map(|bin| bin.count).sum::<u64>(), 100);
    }
}
