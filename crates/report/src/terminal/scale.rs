//! How rates grow with a size: a table of measured and fitted rates for each series, its law, and the points left out of it.

use hoptax_result::{
    Interval, PeakPlace, ScaleDimension, ScaleFit, ScaleLeftOut, ScalePoint, ScaleResult, ScaleSeries,
};

use super::rows::Rows;
use super::{Paint, Style};
use crate::numbers::{counted, grouped, signed};
use crate::words;

/// Each series with its law.
pub fn scale(result: &ScaleResult, style: Style) -> String {
    let mut text = String::new();
    if let Some(warning) = words::warning(result.verdict, "the study is void: read its findings first") {
        text += &format!("\n{}\n", style.paint(Style::of_verdict(result.verdict), warning));
    }
    for series in &result.series {
        let title = format!("{}: rate over {}", series.name, result.over.as_str());
        text += &format!("\n{}\n\n{}\n", style.paint(Paint::Bold, &title), table(series, result.over));
        text.extend(sentences(series, result.over).iter().map(|line| format!("{}\n", style.wrap(line, 2))));
    }
    text += &format!("\n{}\n", style.wrap(&method(result), 2));
    text
}

/// The points of a series, by ascending size.
fn table(series: &ScaleSeries, over: ScaleDimension) -> String {
    let mut rows = Rows::new(&[over.as_str(), "arm", "load", "rate/s", "fitted rate/s", "deviation"]);
    for point in &series.points {
        let fitted = point.fitted_rate.as_ref();
        rows.add(
            &grouped(f64::from(point.size), 0),
            vec![
                point.arm.clone(),
                point.load.clone(),
                range(&point.rate),
                fitted.map_or_else(|| "-".to_owned(), range),
                point.deviation_share.as_ref().map_or_else(|| "-".to_owned(), deviation),
            ],
        );
    }
    rows.text()
}

/// How far the measured rate is from the fitted one, in percent of the latter.
fn deviation(share: &Interval) -> String {
    let [estimate, low, high] = [share.estimate, share.low, share.high].map(|share| signed(100.0 * share, 1));
    format!("{estimate} % ({low} to {high})")
}

/// The law, its peak, and each point left out, a sentence each.
fn sentences(series: &ScaleSeries, over: ScaleDimension) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(fit) = &series.fit {
        sentences.extend(misfit(series, fit, over));
        sentences.push(format!("lambda  {} requests/s: rate at size 1", range(&fit.lambda)));
        sentences.push(format!("sigma   {}: contention", range(&fit.sigma)));
        sentences.push(format!("kappa   {}: coherency", range(&fit.kappa)));
        sentences.push(peak(fit, over));
    }
    sentences.extend(series.no_fit.iter().map(|why| format!("no fit: {why}")));
    sentences.extend(series.left_out.iter().map(left_out));
    sentences
}

/// That the law does not hold, with its largest deviation.
fn misfit(series: &ScaleSeries, fit: &ScaleFit, over: ScaleDimension) -> Option<String> {
    let share = |point: &ScalePoint| point.deviation_share.map_or(0.0, |share| share.estimate);
    let largest =
        series.points.iter().max_by(|one, other| share(one).abs().total_cmp(&share(other).abs()))?;
    fit.is_refuted.then(|| {
        format!(
            "the law does not fit: rates deviate from it by up to {:.1} % (at {} {}), more than chance explains. Use the \
             measured rates. The numbers below describe the nearest curve, not contention, coherency or a peak of the proxies.",
            100.0 * share(largest).abs(),
            grouped(f64::from(largest.size), 0),
            over.as_str(),
        )
    })
}

fn peak(fit: &ScaleFit, over: ScaleDimension) -> String {
    let peak = &fit.peak;
    let (size, rate) = (grouped(peak.size.estimate, 0), range(&peak.rate));
    let from = grouped(peak.size.low, 0);
    let to = grouped(peak.size.high, 0);
    let over = over.as_str();
    match peak.place {
        PeakPlace::Within => {
            format!("peak    {rate} requests/s at {size} ({from} to {to}) {over}")
        }
        PeakPlace::Beyond => format!(
            "peak    beyond {size} {over} (from {from}), twice the largest size measured; the law reaches {rate} requests/s there"
        ),
        PeakPlace::Below => {
            let to = if to == size { String::new() } else { format!(" to {to}") };
            format!(
                "peak    at the smallest size or below it ({over}: {size}{to}): {rate} requests/s; from there on, the rate does \
                 not rise"
            )
        }
    }
}

fn left_out(point: &ScaleLeftOut) -> String {
    let rate = point.rate.as_ref().map_or_else(String::new, |rate| format!(", {} requests/s", range(rate)));
    let size = grouped(f64::from(point.size), 0);
    format!("left out: {size} ({} under {}{rate}): {}", point.arm, point.load, point.reason)
}

/// How the numbers were computed, and what they do not cover.
fn method(result: &ScaleResult) -> String {
    let fits: Vec<&ScaleFit> = result.series.iter().filter_map(|series| series.fit.as_ref()).collect();
    let rounds = fits.iter().map(|fit| fit.rounds).min();
    let rounds =
        rounds.map_or_else(String::new, |rounds| format!(" over {}", counted(u64::from(rounds), "round")));
    format!(
        "X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)). Intervals are those of {:.0} %{rounds}. They assume that \
         rates follow the law; a deviation whose interval excludes 0 speaks against it, and by chance one in twenty does. Nothing \
         is stated beyond twice the largest size of a fit.",
        100.0 * result.confidence
    )
}

/// An estimate with the ends of its interval: `995 (980 to 1,010)`.
pub(super) fn range(interval: &Interval) -> String {
    let digits = decimals(interval);
    let [estimate, low, high] =
        [interval.estimate, interval.low, interval.high].map(|value| grouped(value, digits));
    format!("{estimate} ({low} to {high})")
}

/// Share of the estimate below which the width of an interval is not shown.
const LEAST_WIDTH: f64 = 1e-2;

/// Decimals for two digits of half the width, and for at most four of the estimate.
pub(super) fn decimals(interval: &Interval) -> usize {
    let width = interval.half_width().max(LEAST_WIDTH * interval.estimate.abs());
    if width > 0.0 { (1.0 - width.log10().floor()).clamp(0.0, 12.0) as usize } else { 0 }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ScalePeak, Verdict};

    use super::*;

    fn about(estimate: f64, share: f64) -> Interval {
        Interval { estimate, low: estimate * (1.0 - share), high: estimate * (1.0 + 2.0 * share) }
    }

    fn around(estimate: f64, half_width: f64) -> Interval {
        Interval { estimate, low: estimate - half_width, high: estimate + half_width }
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
            deviation_share: Some(around(rate / fitted - 1.0, 0.009)),
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
            fit: Some(fit(PeakPlace::Within, about(20.0, 0.3))),
            no_fit: None,
        };
        let mut bare = series.clone();
        bare.name = "jwt".to_owned();
        for point in &mut bare.points {
            (point.fitted_rate, point.deviation_share) = (None, None);
        }
        (bare.fit, bare.no_fit) = (None, Some("3 different sizes are too few".to_owned()));
        bare.left_out[0].rate = None;
        ScaleResult {
            format: ScaleResult::FORMAT.to_owned(),
            study: "growth".to_owned(),
            verdict: Verdict::Caution,
            over: ScaleDimension::Connections,
            confidence: 0.95,
            series: vec![series, bare],
        }
    }

    #[test]
    fn series_with_and_without_a_law() {
        insta::assert_snapshot!(scale(&result(), Style { width: 110, colour: false }));
    }

    #[test]
    fn a_law_that_does_not_fit_says_so_before_its_numbers() {
        let mut result = result();
        result.series.truncate(1);
        let series = &mut result.series[0];
        series.points[1].rate = about(3_895.0, 0.02);
        series.points[1].deviation_share = Some(around(-0.26, 0.04));
        series.left_out.clear();
        series.fit.iter_mut().for_each(|fit| fit.is_refuted = true);
        insta::assert_snapshot!(scale(&result, Style { width: 110, colour: false }));
    }

    #[test]
    fn a_peak_outside_of_the_measured_sizes_says_so() {
        let ends = |low: f64, estimate: f64, high: f64| Interval { estimate, low, high };
        let sentences = [
            peak(&fit(PeakPlace::Beyond, ends(97.0, 128.0, 128.0)), ScaleDimension::Connections),
            peak(&fit(PeakPlace::Below, ends(1.0, 1.0, 3.2)), ScaleDimension::Clones),
        ];
        insta::assert_snapshot!(sentences.join("\n"));
    }

    #[test]
    fn an_interval_without_width_keeps_four_digits_of_its_estimate() {
        assert_eq!(range(&Interval { estimate: 0.1, low: 0.1, high: 0.1 }), "0.1000 (0.1000 to 0.1000)");
        assert_eq!(range(&Interval { estimate: 0.0, low: 0.0, high: 0.0 }), "0 (0 to 0)");
        assert_eq!(
            range(&Interval { estimate: 0.0, low: 0.0, high: 0.000_24 }),
            "0.00000 (0.00000 to 0.00024)"
        );
    }
}
