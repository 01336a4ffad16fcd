//! The document of how rates grow with a size: a law for each series, and its points.

mod charts;

use hoptax_result::{
    Interval, PeakPlace, ScaleDimension, ScaleFit, ScaleLeftOut, ScalePoint, ScaleResult, ScaleSeries,
};
use hoptax_text::command_line::path_word;

use crate::document::{Block, Document, FindingText, Judgement, Next, Section};
use crate::numbers::{counted, grouped, percent};
use crate::quantity::{Form, Quantity};
use crate::table::{Cell, Column, Row, Table};
use crate::usable;

/// The document of the laws of the study in `source`, its folder or file.
pub fn scale_of(result: &ScaleResult, source: &str) -> Document {
    let file = path_word(source.as_ref());
    let command = format!("hoptax predict scale {file} --over {} --details", result.over.as_str());
    let next = Next::new(command, "prints the rate at each size, and what was left out");
    Document { next: Some(next), ..scale(result) }
}

/// More rounds of the study. A law needs at least five. None if no law holds: more rounds of rates that do not follow it change nothing.
fn next(result: &ScaleResult) -> Option<Next> {
    let fits = || result.series.iter().filter_map(|series| series.fit.as_ref());
    let fewest = fits().filter(|fit| !fit.is_refuted).map(|fit| fit.rounds).min();
    let with = |rounds: u32| format!("hoptax study {} --rounds {rounds}", path_word(result.study.as_ref()));
    match fewest {
        Some(rounds) => {
            let laws = if fits().any(|fit| fit.is_refuted) { "the laws that fit" } else { "the laws" };
            let purpose = format!("measures more rounds, which narrow the intervals of {laws}");
            Some(Next::new(with(2 * rounds), purpose))
        }
        None if fits().next().is_some() => None,
        None => Some(Next::new(with(10), "measures enough rounds for a law of four sizes or more")),
    }
}

/// The document of the laws of a study with an unknown folder.
pub fn scale(result: &ScaleResult) -> Document {
    let mut document = Document::new(
        format!("predict scale {}", result.study),
        format!("rate over {}", result.over.as_str()),
        answer(result),
    );
    let usable = usable::of_whole("rates and the laws that fit them", result.verdict, &result.findings);
    document.verdict = Some(Judgement { verdict: result.verdict, usable });
    document.findings = FindingText::all(&result.findings);
    document.table = Some(laws(result));
    document.next = next(result);
    document.plots.extend(charts::charts(result));
    let deviating = result.series.iter().filter(|series| is_refuted(series)).count();
    if deviating > 0 {
        document.notes.push(
            "where the law does not fit, use the measured rates: its numbers describe the nearest curve only"
                .to_owned(),
        );
    }
    for series in &result.series {
        let title = format!("{}: rate over {}", series.name, result.over.as_str());
        let mut blocks = vec![Block::Table(points(series, result.over))];
        let lines: Vec<String> = series.left_out.iter().map(left_out).collect();
        blocks.extend((!lines.is_empty()).then_some(Block::Lines(lines)));
        document.sections.push(Section::new(title, blocks));
    }
    document.sections.extend(Section::of_lines("Method", method(result)));
    document
}

/// The peaks of two series; series with a law come first.
fn answer(result: &ScaleResult) -> Vec<String> {
    let mut series: Vec<&ScaleSeries> = result.series.iter().collect();
    series.sort_by_key(|series| series.fit.is_none());
    series.into_iter().take(2).map(|series| sentence(series, result.over)).collect()
}

/// The peak of a series, or the reason why there is none.
fn sentence(series: &ScaleSeries, over: ScaleDimension) -> String {
    let name = &series.name;
    match (&series.fit, &series.no_fit) {
        (Some(fit), _) if fit.is_refuted => format!("`{name}` {}", misfit(series, over)),
        (Some(fit), _) => format!("`{name}` {}", peak(fit, over)),
        (None, why) => {
            let why = why.as_deref().unwrap_or("its points are too few");
            format!("`{name}`: no law: {why}")
        }
    }
}

fn is_refuted(series: &ScaleSeries) -> bool {
    series.fit.as_ref().is_some_and(|fit| fit.is_refuted)
}

/// The largest deviation from a law that does not hold, and the highest rate that was measured, since there is no peak to state.
fn misfit(series: &ScaleSeries, over: ScaleDimension) -> String {
    let share = |point: &ScalePoint| point.deviation_share.map_or(0.0, |share| share.estimate.abs());
    let largest = series.points.iter().max_by(|one, other| share(one).total_cmp(&share(other)));
    let largest = largest.map_or_else(String::new, |largest| {
        format!(
            ": its rates deviate by up to {} (at {}), more than chance explains",
            percent(share(largest), 1),
            sized(f64::from(largest.size), over)
        )
    });
    let highest = series.points.iter().max_by(|one, other| one.rate.estimate.total_cmp(&other.rate.estimate));
    let highest = highest.map_or_else(String::new, |highest| {
        format!(
            "; its highest measured rate is {} (at {})",
            rate(&highest.rate).with_unit(),
            sized(f64::from(highest.size), over)
        )
    });
    format!("does not follow the scalability law{largest}{highest}")
}

/// A size with what it counts, which is one if it is printed as one: `1 connection`.
fn sized(size: f64, over: ScaleDimension) -> String {
    let (size, many) = (grouped(size, 0), over.as_str());
    let what = if size == "1" { many.strip_suffix('s').unwrap_or(many) } else { many };
    format!("{size} {what}")
}

fn peak(fit: &ScaleFit, over: ScaleDimension) -> String {
    let peak = &fit.peak;
    let rate = rate(&peak.rate).with_unit();
    let [from, to] = [peak.size.low, peak.size.high].map(|size| grouped(size, 0));
    let size = sized(peak.size.estimate, over);
    match peak.place {
        PeakPlace::Within => format!("peaks at {size} ({from} to {to}) with {rate}"),
        PeakPlace::Beyond => format!(
            "peaks beyond {size} (from {from}), twice the largest size measured; its law reaches {rate} there"
        ),
        PeakPlace::Below => {
            let most = sized(peak.size.high, over);
            format!("peaks at its smallest size or below it (at most {most}) with {rate}")
        }
    }
}

fn rate(interval: &Interval) -> Quantity {
    Quantity::level(interval, "requests/s")
}

/// The law of each series.
fn laws(result: &ScaleResult) -> Table {
    let row = |series: &ScaleSeries| {
        let fit = series.fit.as_ref();
        let cell = |of: fn(&ScaleFit) -> Quantity| Cell::from(fit.map(of));
        let law = match fit {
            None => "too few sizes",
            Some(fit) if fit.is_refuted => "does not fit",
            Some(_) => "fits",
        };
        Row::new(
            &series.name,
            vec![
                cell(peak_size),
                cell(|fit| rate(&fit.peak.rate).predicted()),
                cell(|fit| rate(&fit.lambda)),
                cell(|fit| Quantity::level(&fit.sigma, "")),
                cell(|fit| Quantity::level(&fit.kappa, "")),
                Cell::words(law),
                Cell::words(series.points.len().to_string()),
            ],
        )
    };
    let columns = [
        Column::new("peak at", 0),
        Column::new("peak rate/s", 1),
        Column::new("rate/s at 1", 2),
        Column::new("contention", 3),
        Column::new("coherency", 4),
        Column::text("law", 0),
        Column::new("sizes", 5),
    ];
    let title = format!("growth of the rate with {}", result.over.as_str());
    Table::new(title, "series", columns, result.series.iter().map(row)).without_empty_columns()
}

/// The size at the peak: an interval, or one end of it if the peak is beyond the measured sizes.
fn peak_size(fit: &ScaleFit) -> Quantity {
    let size = &fit.peak.size;
    match fit.peak.place {
        PeakPlace::Within => Quantity::level(size, "").predicted(),
        PeakPlace::Beyond => Quantity::bounded(Some(size.low), None, "", Form::Level),
        PeakPlace::Below => Quantity::bounded(None, Some(size.high), "", Form::Level),
    }
}

/// The points of a series, by ascending size.
fn points(series: &ScaleSeries, over: ScaleDimension) -> Table {
    let row = |point: &ScalePoint| {
        let percent = point.deviation_share.map(|share| share.times(100.0));
        Row::new(
            grouped(f64::from(point.size), 0),
            vec![
                Cell::Quantity(rate(&point.rate)),
                point.fitted_rate.as_ref().map(|fitted| rate(fitted).predicted()).into(),
                percent.as_ref().map(|percent| Quantity::difference(percent, "%")).into(),
                Cell::words(&point.arm),
                Cell::words(&point.load),
            ],
        )
    };
    let columns = [
        Column::new("rate/s", 0),
        Column::new("fitted rate/s", 1),
        Column::new("deviation %", 2),
        Column::text("arm", 3),
        Column::text("load", 4),
    ];
    let title = format!("rate of {} over {}", series.name, over.as_str());
    Table::new(title, over.as_str(), columns, series.points.iter().map(row)).without_empty_columns()
}

fn left_out(point: &ScaleLeftOut) -> String {
    let rate =
        point.rate.as_ref().map_or_else(String::new, |interval| format!(", {}", rate(interval).with_unit()));
    let size = grouped(f64::from(point.size), 0);
    format!("left out: {size} ({} under {}{rate}): {}", point.arm, point.load, point.reason)
}

/// The method of the numbers and its limits.
fn method(result: &ScaleResult) -> Vec<String> {
    let fits = result.series.iter().filter_map(|series| series.fit.as_ref());
    let rounds = fits.map(|fit| fit.rounds).min();
    let rounds =
        rounds.map_or_else(String::new, |rounds| format!(" over {}", counted(u64::from(rounds), "round")));
    vec![
        "X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)): lambda is the rate at 1, sigma the contention, kappa the coherency"
            .to_owned(),
        format!(
            "intervals are those of {}{rounds}; they assume that rates follow the law",
            percent(result.confidence, 0)
        ),
        "a deviation whose interval excludes 0 speaks against the law; by chance one in twenty does".to_owned(),
        "no number is stated beyond twice the largest size of a fit".to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ScaleBody, ScalePeak, Verdict};

    use super::*;
    use crate::fixture::STYLE;
    use crate::render::terminal;

    fn about(estimate: f64, share: f64) -> Interval {
        Interval::new(estimate, estimate * (1.0 - share), estimate * (1.0 + 1.4 * share))
    }

    fn fit(place: PeakPlace, size: Interval) -> ScaleFit {
        ScaleFit {
            lambda: about(1_003.4, 0.011),
            sigma: about(0.1014, 0.05),
            kappa: about(0.000_225_4, 0.2),
            peak: ScalePeak { place, size, rate: about(5_326.0, 0.02) },
            is_refuted: false,
            rounds: 6,
        }
    }

    fn result() -> ScaleResult {
        let point = |size: u32, rate: f64, fitted: f64| ScalePoint {
            size,
            arm: "baseline".to_owned(),
            load: format!("full-{size}"),
            rate: about(rate, 0.02),
            fitted_rate: Some(about(fitted, 0.012)),
            deviation_share: Some(Interval::around(rate / fitted - 1.0, 0.009)),
        };
        let series = ScaleSeries {
            name: "baseline".to_owned(),
            points: vec![point(1, 1_010.0, 1_003.4), point(16, 5_240.0, 5_263.2), point(1_000, 380.0, 383.1)],
            left_out: vec![ScaleLeftOut {
                size: 32,
                arm: "baseline".to_owned(),
                load: "full-32".to_owned(),
                rate: Some(about(4_500.0, 0.01)),
                reason: "the generator used 99 % of its core, and the proxies were busy 80 % of the time"
                    .to_owned(),
            }],
            fit: Some(fit(PeakPlace::Within, Interval::around(20.0, 6.0))),
            no_fit: None,
        };
        let mut bare = series.clone();
        bare.name = "jwt".to_owned();
        for point in &mut bare.points {
            (point.fitted_rate, point.deviation_share) = (None, None);
        }
        (bare.fit, bare.no_fit) = (None, Some("3 different sizes are too few".to_owned()));
        bare.left_out[0].rate = None;
        let body = ScaleBody {
            study: "growth".to_owned(),
            over: ScaleDimension::Connections,
            confidence: 0.95,
            series: vec![series, bare],
        };
        ScaleResult::new((), body).judged(Verdict::Caution, Vec::new())
    }

    #[test]
    fn series_with_and_without_a_law() {
        insta::assert_snapshot!(terminal::details(&scale(&result()), STYLE));
    }

    #[test]
    fn a_law_that_does_not_fit_says_so_before_its_numbers() {
        let mut result = result();
        result.series.truncate(1);
        let series = &mut result.series[0];
        series.points[1].rate = about(3_895.0, 0.02);
        series.points[1].deviation_share = Some(Interval::around(-0.26, 0.04));
        series.left_out.clear();
        series.fit.iter_mut().for_each(|fit| fit.is_refuted = true);
        insta::assert_snapshot!(terminal::screen(&scale(&result), STYLE));
        // The highest rate need not be where the deviation is largest.
        result.series[0].points[0].rate = about(6_000.0, 0.02);
        let answer = scale(&result).answer.remove(0);
        assert!(answer.contains("26.0 % (at 16 connections)"), "{answer}");
        assert!(answer.ends_with("rate is 6,000 ±168 requests/s (at 1 connection)"), "{answer}");
        assert!(scale(&result).next.is_none(), "more rounds make no law hold");
        let mut beside = result.clone();
        beside.series.extend(self::result().body.series);
        let purpose = scale(&beside).next.unwrap().purpose;
        assert!(purpose.ends_with("of the laws that fit"), "{purpose}");
    }

    #[test]
    fn a_peak_outside_of_the_measured_sizes_says_so() {
        let ends = |low: f64, estimate: f64, high: f64| Interval::new(estimate, low, high);
        let beyond = fit(PeakPlace::Beyond, ends(97.0, 128.0, 128.0));
        let below = fit(PeakPlace::Below, ends(1.0, 1.0, 3.2));
        assert_eq!([peak_size(&beyond).text(), peak_size(&below).text()], ["≥ 97.0", "≤ 3.20"]);
        insta::assert_snapshot!(
            [peak(&beyond, ScaleDimension::Connections), peak(&below, ScaleDimension::Clones)].join("\n")
        );
    }
}
