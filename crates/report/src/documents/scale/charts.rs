//! The charts of a scaling law: the measured rates at each size, excluded rates, the fitted law, and its peak.

use hoptax_result::{
    Interval, PeakPlace, ScaleDimension, ScaleFit, ScaleLeftOut, ScalePoint, ScaleResult, ScaleSeries,
};

use super::{peak, rate};
use crate::chart::{Axis, Band, Chart, Group, Line, LineForm, Point, Scale, Series, Tone, drawn};
use crate::document::Section;

/// Number of points of a law between the smallest and the largest drawn size, enough for a smooth curve.
const PLACES: u32 = 64;
/// The largest size for which a law is drawn, as a multiple of the largest measured size.
const BEYOND: f64 = 2.0;

/// A chart of each series; none without a rate.
pub(super) fn charts(result: &ScaleResult) -> Option<Section> {
    let of = |series: &ScaleSeries| {
        Some(Group { name: series.name.clone(), charts: vec![chart(series, result.over)?] })
    };
    let groups = result.series.iter().filter_map(of).collect();
    let note = "Points: rates that were measured, with intervals. Dotted: the law that is nearest to them, up to twice the largest size. \
                Shaded: where it peaks. Hollow: rates that are not in the fit, since something other than the proxies limited them.";
    let title = format!("Rate over {}", result.over.as_str());
    Section::of_charts(&title, note, Chart::groups(groups))
}

fn chart(series: &ScaleSeries, over: ScaleDimension) -> Option<Series> {
    let measured: Vec<Point> = series.points.iter().map(point).collect();
    let left_out: Vec<Point> = series.left_out.iter().filter_map(left_out).collect();
    let sizes = || series.points.iter().map(|point| f64::from(point.size));
    let (smallest, largest) = (sizes().reduce(f64::min), sizes().reduce(f64::max));
    let law = series.fit.as_ref().zip(smallest.zip(largest));
    let law = law.map(|(fit, ends)| law_points(fit, ends)).unwrap_or_default();
    let fits =
        if series.fit.as_ref().is_some_and(|fit| fit.is_refuted) { "law, which does not fit" } else { "law" };
    let lines = [
        Line::joined(fits, Tone::Third, law).in_form(LineForm::Computed),
        Line::joined("left out", Tone::Other, left_out).in_form(LineForm::Scattered),
        Line::joined("measured", Tone::Own, measured).in_form(LineForm::Scattered),
    ];
    let lines: Vec<Line> = lines.into_iter().filter(|line| !line.points.is_empty()).collect();
    let x = Axis::linear(over.as_str(), over.as_str()).on(Scale::Logarithmic);
    let y = Axis::linear("answered requests per second", "requests/s");
    // A refuted law has no meaningful peak.
    let fit = series.fit.as_ref().filter(|fit| !fit.is_refuted);
    let bands = fit.map(|fit| band(fit, over)).into_iter().collect();
    let title = format!("rate over {}", over.as_str());
    (!lines.is_empty()).then(|| Series { bands, ..Series::new(title, x, y, lines) })
}

fn point(point: &ScalePoint) -> Point {
    let fitted = point
        .fitted_rate
        .as_ref()
        .map_or_else(String::new, |fitted| format!("; the law has {}", rate(fitted).predicted().text()));
    let text = format!("{}{fitted}", rate(&point.rate).with_unit());
    Point::with_interval(f64::from(point.size), &point.rate, text)
}

fn left_out(point: &ScaleLeftOut) -> Option<Point> {
    let found = point.rate.as_ref()?;
    let text = format!("{}: {}", rate(found).with_unit(), point.reason);
    Some(Point::with_interval(f64::from(point.size), found, text))
}

/// The law at sizes in geometric progression.
fn law_points(fit: &ScaleFit, (smallest, largest): (f64, f64)) -> Vec<Point> {
    let ratio = BEYOND * largest / smallest;
    let at = |place: u32| {
        let size = smallest * ratio.powf(f64::from(place) / f64::from(PLACES));
        Point::at(size, Some(law_at(fit, size)))
    };
    (0..=PLACES).map(at).collect()
}

/// The Universal Scalability Law (Gunther 1993) at a size.
fn law_at(fit: &ScaleFit, size: f64) -> f64 {
    let [lambda, sigma, kappa] = [&fit.lambda, &fit.sigma, &fit.kappa].map(|of: &Interval| of.estimate);
    lambda * size / (1.0 + sigma * (size - 1.0) + kappa * size * (size - 1.0))
}

/// The range of sizes that contains the peak, or the side that it is on.
fn band(fit: &ScaleFit, over: ScaleDimension) -> Band {
    let size = &fit.peak.size;
    let (low, high) = (Some(drawn(size.low)), Some(drawn(size.high)));
    let (from, to, at) = match fit.peak.place {
        PeakPlace::Within => (low, high, Some(drawn(size.estimate))),
        PeakPlace::Beyond => (low, None, None),
        PeakPlace::Below => (None, high, None),
    };
    Band { from, to, at, text: peak(fit, over), tone: Tone::Own }
}

#[cfg(test)]
mod tests {
    use hoptax_result::ScalePeak;

    use super::*;

    fn fit(place: PeakPlace, is_refuted: bool) -> ScaleFit {
        let exactly = |estimate: f64| Interval::around(estimate, 0.0);
        ScaleFit {
            lambda: exactly(1_000.0),
            sigma: exactly(0.1),
            kappa: exactly(0.001),
            peak: ScalePeak {
                place,
                size: Interval::around(30.0, 4.0),
                rate: Interval::around(6_200.0, 90.0),
            },
            is_refuted,
            rounds: 5,
        }
    }

    fn series(fit: Option<ScaleFit>) -> ScaleSeries {
        let point = |size: u32, rate: f64| ScalePoint {
            size,
            arm: "baseline".to_owned(),
            load: "full".to_owned(),
            rate: Interval::around(rate, 10.0),
            fitted_rate: Some(Interval::around(rate + 5.0, 8.0)),
            deviation_share: None,
        };
        let no_fit = fit.is_none().then(|| "too few".to_owned());
        let points = vec![point(1, 1_000.0), point(16, 5_800.0)];
        ScaleSeries { name: "baseline".to_owned(), points, left_out: Vec::new(), fit, no_fit }
    }

    #[test]
    fn a_law_goes_through_its_rate_at_one_and_ends_at_twice_the_largest_size() {
        let law = law_points(&fit(PeakPlace::Within, false), (1.0, 16.0));
        let ends = [law.first(), law.last()].map(|point| point.map(|point| (point.x, point.y)));
        // 1,000 * 32 / (1 + 0.1 * 31 + 0.001 * 32 * 31)
        assert_eq!(ends, [Some((1.0, Some(1_000.0))), Some((32.0, Some(6_284.4)))]);
        assert!(law.windows(2).all(|two| two[0].x < two[1].x));
    }

    #[test]
    fn a_peak_is_a_range_or_a_side_and_a_law_that_does_not_hold_has_none() {
        let of = |fit: ScaleFit| {
            let chart = chart(&series(Some(fit)), ScaleDimension::Connections).unwrap();
            chart.bands.first().map(|band| (band.from, band.to, band.at))
        };
        assert_eq!(of(fit(PeakPlace::Within, false)), Some((Some(26.0), Some(34.0), Some(30.0))));
        assert_eq!(of(fit(PeakPlace::Beyond, false)), Some((Some(26.0), None, None)));
        assert_eq!(of(fit(PeakPlace::Below, false)), Some((None, Some(34.0), None)));
        assert_eq!(of(fit(PeakPlace::Within, true)), None);
    }

    #[test]
    fn rates_without_a_law_are_drawn_alone_and_those_left_out_are_told_apart() {
        let mut bare = series(None);
        let names = |series: &ScaleSeries| -> Vec<String> {
            let chart = chart(series, ScaleDimension::Connections);
            chart.iter().flat_map(|chart| &chart.lines).map(|line| line.name.clone()).collect()
        };
        assert_eq!(names(&bare), ["measured"]);
        bare.left_out = vec![ScaleLeftOut {
            size: 32,
            arm: "baseline".to_owned(),
            load: "full".to_owned(),
            rate: Some(Interval::around(4_500.0, 9.0)),
            reason: "the generator was the limit".to_owned(),
        }];
        assert_eq!(names(&bare), ["left out", "measured"]);
        bare.left_out.clear();
        bare.points.clear();
        assert!(names(&bare).is_empty());
    }
}
