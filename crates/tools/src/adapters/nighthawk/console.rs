//! Nighthawk's console output: a table of percentiles for each statistic, and a table of counters.

use hoptax_result::{CountRange, Latency};

use super::counters::{Counter, Counts};
use crate::reported::Reported;
use crate::run::Run;
use crate::text::time_us;

/// The heading of the latency of requests.
const LATENCY: &str = "Request start to response end";

/// The line by which this format is recognised: no other format has a table that begins with these words. Log lines may precede it.
pub(super) fn line(text: &str) -> Option<usize> {
    let is_header = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.first() == Some(&"Percentile") || words.ends_with(&["Percentile", "Count", "Value"])
    };
    (1..).zip(text.lines()).find(|(_, line)| is_header(line)).map(|(number, _)| number)
}

/// Reads the output, which states neither the target nor the load.
pub(super) fn read(text: &str) -> Result<Reported, String> {
    let run = Run::only(text, &["Nighthawk - A layer 7", "Request start to response end", "Counter "])?;
    let sections: Vec<Section> = sections(text);
    let section = sections
        .iter()
        .find(|one| one.name == LATENCY)
        .or_else(|| Some(sections.first()?).filter(|_| sections.len() == 1))
        .ok_or_else(|| missing(&sections))?;
    let rows: Vec<Vec<&str>> = run.behind("Counter ").map(|line| line.split_whitespace().collect()).collect();
    let counters: Vec<Counter<'_>> = rows
        .iter()
        .filter_map(|row| Some(Counter::new(row.first()?, row.get(1).and_then(|count| count.parse().ok()))))
        .collect();
    let of_responses = Some(section.samples).filter(|_| section.name == LATENCY);
    let Counts { answered, failed, sums } = Counts::new(&counters, Some(section.samples), of_responses);
    let of_2xx = counters.iter().zip(&rows).find(|(counter, _)| counter.of_benchmark() == Some("http_2xx"));
    let us = |name: &str| section.value(name);
    let percentile = |p: f64| section.percentiles.iter().find(|(one, _)| *one >= p - 1e-9).map(|(_, us)| *us);
    Ok(Reported {
        answered,
        failed,
        rate: of_2xx.and_then(|(_, row)| row.get(2)?.parse().ok()),
        rated: of_2xx.and_then(|(counter, _)| counter.count).map(CountRange::exactly),
        latency: Latency {
            count: section.samples,
            min_us: us("min"),
            mean_us: us("mean"),
            standard_deviation_us: us("pstdev"),
            p50_us: percentile(0.5),
            p90_us: percentile(0.9),
            p99_us: percentile(0.99),
            p99_9_us: percentile(0.999),
            max_us: us("max"),
            ..Latency::default()
        },
        sums,
        ..Reported::default()
    })
}

/// A statistic with times.
struct Section {
    name: String,
    samples: u64,
    /// Names and values in the summary, us.
    summary: Vec<(String, f64)>,
    /// Percentiles from 0 to 1, ascending, and their values, us.
    percentiles: Vec<(f64, f64)>,
}

impl Section {
    fn value(&self, name: &str) -> Option<f64> {
        self.summary.iter().find(|(one, _)| one == name).map(|(_, us)| *us)
    }
}

/// The statistics with times. Statistics of sizes are left out, because their numbers have no unit.
fn sections(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in text.lines() {
        if let Some((name, samples)) = heading(line) {
            sections.push(Section { name, samples, summary: Vec::new(), percentiles: Vec::new() });
            continue;
        }
        let Some(section) = sections.last_mut() else { continue };
        if line.contains(" | ") {
            section.summary.extend(line.split(" | ").filter_map(|part| {
                let (name, time) = part.split_once(':')?;
                Some((name.trim().to_owned(), duration_us(time)?))
            }));
        } else if let Some(row) = percentile(line) {
            section.percentiles.push(row);
        }
    }
    sections.retain(|section| !section.summary.is_empty());
    sections
}

/// `NAME (123 samples)`.
fn heading(line: &str) -> Option<(String, u64)> {
    let (name, rest) = line.rsplit_once(" (")?;
    Some((name.trim().to_owned(), rest.trim().strip_suffix(" samples)")?.parse().ok()?))
}

/// `0.5 88291 0s 002ms 898us`: a percentile, the number of samples up to it, and its value.
fn percentile(line: &str) -> Option<(f64, f64)> {
    let (percentile, rest) = line.trim().split_once(char::is_whitespace)?;
    let (count, time) = rest.trim().split_once(char::is_whitespace)?;
    count.parse::<u64>().ok()?;
    Some((percentile.parse().ok()?, duration_us(time)?))
}

/// `0s 002ms 898us`, or `2.898ms`; microseconds.
fn duration_us(text: &str) -> Option<f64> {
    let parts: Option<Vec<f64>> = text.split_whitespace().map(time_us).collect();
    parts.filter(|parts| !parts.is_empty()).map(|parts| parts.iter().sum())
}

fn missing(sections: &[Section]) -> String {
    let names: Vec<&str> = sections.iter().map(|one| one.name.as_str()).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    format!("the statistic `{LATENCY}` is missing; statistics with times: {names}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = include_str!("../../../recorded/nighthawk.txt");

    #[test]
    fn output_is_read() {
        insta::assert_debug_snapshot!(read(TEXT));
    }

    #[test]
    fn counters_of_earlier_releases_and_cut_off_ones_are_read() {
        let counted = |text: &str| {
            let reported = read(text).unwrap();
            [reported.answered, reported.failed]
                .map(|count| count.map(|range| (range.at_least, range.at_most)))
        };
        let refused = TEXT
            .replace("http_2xx                      4990", "http_2xx                      90  ")
            .replace("http_5xx                      7   ", "http_5xx                      4900");
        let old = refused.replace("\nbenchmark.", "\nclient.benchmark.");
        assert_eq!(counted(&old), [Some((90, 90)), Some((4_900, 4_900))]);
        assert_eq!(
            counted(old.split_once("client.benchmark.http_5xx").unwrap().0),
            [Some((90, 4_990)), Some((0, 4_900))]
        );
        assert_eq!(counted(old.split_once("client.benchmark.http_2xx").unwrap().0), [Some((0, 4_990)), None]);
        assert_eq!(counted(&refused.replace("4900", "4,900")), [Some((0, 4_990)), None]);
        let prefixed: String = TEXT.lines().map(|line| format!("03:04:05 {line}\n")).collect();
        assert!(read(&prefixed).unwrap_err().contains("its lines begin with other text"));
    }

    #[test]
    fn one_statistic_is_read_and_of_several_unknown_ones_none() {
        assert_eq!((line(TEXT), line("percentile: 1")), (Some(6), None));
        let renamed = TEXT.replace(LATENCY, "other");
        assert!(
            read(&renamed).unwrap_err().ends_with("statistics with times: other, Initiation to completion")
        );
        let (start, end) = (renamed.find("other").unwrap(), renamed.find("Initiation").unwrap());
        let single = read(&renamed[start..end]).unwrap();
        assert_eq!((single.latency.count, single.latency.p50_us), (4_990, Some(113.0)));
        assert_eq!(single.answered, Some(CountRange { at_least: 0, at_most: 4_990 }));
        assert!(read("Percentile").unwrap_err().ends_with("statistics with times: none"));
    }

    #[test]
    fn durations_add_their_parts() {
        assert_eq!(duration_us(" 1s 002ms 898us "), Some(1_002_898.0));
        assert_eq!(duration_us("1.5ms"), Some(1_500.0));
        assert_eq!((duration_us("10"), duration_us("")), (None, None));
    }
}
