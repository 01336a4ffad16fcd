//! The histograms as a page: for each arm the counts as bars and the cumulative counts as a line.

use hoptax_result::ResponseHistogram;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Value};
use serde::Serialize;

use super::bins::{bin_of, bins, end_us};
use crate::numbers::grouped;
use crate::render::html::HtmlError;

const TEMPLATE: &str = include_str!("../../templates/histograms.html");
/// Size of a picture and of its margins, in units of its own.
const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 160.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 470.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 132.0;
/// Share of the responses of each arm that may be beyond either end of the scale. A few stalls would otherwise compress all.
const BEYOND: f64 = 0.001;
/// Quantiles below each picture.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p75", 0.75), ("p90", 0.9), ("p99", 0.99)];

#[derive(Serialize)]
struct Page<'a> {
    name: &'a str,
    loads: Vec<PageLoad<'a>>,
}

#[derive(Serialize)]
struct PageLoad<'a> {
    name: &'a str,
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    bar_width: f64,
    /// The share at the top of the scale of the bars.
    highest: String,
    ticks: Vec<Tick>,
    arms: Vec<PageArm<'a>>,
}

#[derive(Serialize)]
struct Tick {
    x: f64,
    label: String,
}

#[derive(Serialize)]
struct PageArm<'a> {
    name: &'a str,
    words: String,
    bars: Vec<Bar>,
    curve: String,
}

#[derive(Serialize)]
struct Bar {
    x: f64,
    y: f64,
    height: f64,
}

/// The page of a study.
///
/// # Errors
/// When the template does not evaluate.
pub fn page(name: &str, all: &[ResponseHistogram]) -> Result<String, HtmlError> {
    let mut names: Vec<&str> = Vec::new();
    for histogram in all {
        if !names.contains(&histogram.load.as_str()) {
            names.push(&histogram.load);
        }
    }
    let of =
        |load: &&'_ str| -> Vec<&ResponseHistogram> { all.iter().filter(|one| one.load == *load).collect() };
    let loads = names.iter().filter_map(|load| PageLoad::new(&of(load))).collect();
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    environment.add_template("histograms.html", TEMPLATE)?;
    Ok(environment.get_template("histograms.html")?.render(Value::from(Serde(Page { name, loads })))?)
}

impl<'a> PageLoad<'a> {
    /// The pictures of one load; none without histograms.
    fn new(arms: &[&'a ResponseHistogram]) -> Option<Self> {
        let ends =
            |share: f64| arms.iter().filter_map(move |arm| quantile_ns(&arm.counts, share)).map(bin_of_ns);
        let (first, last) = (ends(BEYOND).min()?, ends(1.0 - BEYOND).max()?);
        let bar_width = (RIGHT - LEFT) / f64::from(last - first + 1);
        let x = |bin: i32| LEFT + bar_width * f64::from(bin - first);
        let share = |arm: &ResponseHistogram, count: u64| count as f64 / total(&arm.counts).max(1) as f64;
        let shares =
            arms.iter().flat_map(|arm| bins(&arm.counts).into_iter().map(|(_, count)| share(arm, count)));
        let highest = shares.fold(f64::MIN_POSITIVE, f64::max);
        let y = |share: f64| BOTTOM - (BOTTOM - TOP) * share;
        let picture = |arm: &&'a ResponseHistogram| {
            let mut cumulative = 0;
            let mut points = vec![format!("{LEFT:.1},{BOTTOM:.1}")];
            let mut bars = Vec::new();
            for (bin, count) in bins(&arm.counts) {
                cumulative += count;
                if (first..=last).contains(&bin) {
                    points.push(format!("{:.1},{:.1}", x(bin + 1), y(share(arm, cumulative))));
                    let top = y(share(arm, count) / highest);
                    bars.push(Bar { x: rounded(x(bin)), y: rounded(top), height: rounded(BOTTOM - top) });
                }
            }
            PageArm { name: &arm.arm, words: words(&arm.counts), bars, curve: points.join(" ") }
        };
        let ticks = (first..=last).filter_map(|bin| {
            let end = end_us(bin);
            // Bins end at powers of ten and near their double and their fivefold.
            let is_marked = bin.rem_euclid(20) == 0 || [6, 14].contains(&bin.rem_euclid(20));
            is_marked.then(|| Tick { x: rounded(x(bin + 1)), label: label(end) })
        });
        Some(Self {
            name: &arms.first()?.load,
            width: WIDTH,
            height: HEIGHT,
            left: LEFT,
            right: RIGHT,
            top: TOP,
            bottom: BOTTOM,
            bar_width: rounded(bar_width * 0.9),
            highest: format!("{:.0} %", 100.0 * highest),
            ticks: ticks.collect(),
            arms: arms.iter().map(picture).collect(),
        })
    }
}

/// A time in microseconds with one digit.
fn label(us: f64) -> String {
    let unit = 10_f64.powf(us.log10().floor());
    grouped((us / unit).round() * unit, 0)
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn bin_of_ns(ns: u64) -> i32 {
    bin_of(ns as f64 / super::bins::NS_PER_US)
}

fn total(counts: &[(u64, u64)]) -> u64 {
    counts.iter().map(|(_, count)| count).sum()
}

/// The smallest time that at least this share of the responses does not exceed; none without responses.
fn quantile_ns(counts: &[(u64, u64)], share: f64) -> Option<u64> {
    let wanted = (share * total(counts) as f64).ceil().max(1.0) as u64;
    let mut sum = 0;
    counts.iter().find_map(|(ns, count)| {
        sum += count;
        (sum >= wanted).then_some(*ns)
    })
}

fn words(counts: &[(u64, u64)]) -> String {
    let quantile = |(name, share): (&str, f64)| {
        let us = quantile_ns(counts, share)? as f64 / super::bins::NS_PER_US;
        Some(format!("{name} {} us", grouped(us, 0)))
    };
    let quantiles: Vec<String> = QUANTILES.into_iter().filter_map(quantile).collect();
    format!("{}; {} responses", quantiles.join(", "), grouped(total(counts) as f64, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(arm: &str, load: &str, counts: Vec<(u64, u64)>) -> ResponseHistogram {
        ResponseHistogram { arm: arm.to_owned(), load: load.to_owned(), counts }
    }

    #[test]
    fn quantiles_are_the_smallest_times_that_enough_responses_do_not_exceed() {
        let counts: Vec<(u64, u64)> = (1..=100).map(|us| (us * 1_000, 1)).collect();
        let found = QUANTILES.map(|(_, share)| quantile_ns(&counts, share));
        assert_eq!(found, [50_000, 75_000, 90_000, 99_000].map(Some));
        assert_eq!(quantile_ns(&[], 0.5), None);
    }

    #[test]
    fn every_arm_has_a_picture_under_each_load_on_common_scales() {
        let all = [
            histogram("a<b", "open", vec![(100_000, 30), (400_000, 70)]),
            histogram("c", "open", vec![(100_000, 50), (800_000, 50)]),
            histogram("c", "other", vec![(5_000, 1)]),
        ];
        let page = page("test", &all).unwrap();
        assert_eq!((page.matches("<svg ").count(), page.matches("<h2>").count()), (3, 2));
        assert!(page.contains("<b>a&lt;b</b>") && page.contains("p50 400 us, p75 400 us"), "{page}");
        // The highest bar of the load is 70 % of its arm.
        assert!(page.contains(">70 %</text>"), "{page}");
        assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
    }
}
