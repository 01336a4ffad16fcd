//! The phases of a request, on average and over the recorded time: the wait until it was sent, the time to the first byte of its response,
//! and the time for the rest of the response. Over time, also how long it took to open connections.

use hoptax_result::{Histogram, LoadResult, RequestPhase};

use super::course::{scale, supported_us, time};
use crate::chart::{Axis, BarPiece, BarRow, Bars, Line, Point, Series, Tone, drawn};
use crate::histograms::recorded;
use crate::numbers::{self, us};

/// Number of parts of the planned time for which results have the phases.
const BATCHES: f64 = 20.0;
/// Number of windows in each part.
const WINDOWS: f64 = 5.0;
/// The phases over time, in the same colours as in all charts.
const OVER_TIME: [(RequestPhase, &str, Tone); 5] = [
    (RequestPhase::SendLag, "send lag", Tone::Third),
    (RequestPhase::Connect, "connect", Tone::Fourth),
    (RequestPhase::Handshake, "TLS handshake", Tone::Fifth),
    (RequestPhase::FirstByte, "until the first byte", Tone::Own),
    (RequestPhase::LastByte, "until the last byte", Tone::Other),
];
/// The quantiles, each of which has a chart.
const QUANTILES: [(&str, f64); 2] = [("p50", 0.5), ("p90", 0.9)];

/// The mean of each phase. Means add up to the mean response time; quantiles do not. None if the mean of a phase is unknown, or if the
/// phases cover different requests.
pub(super) fn phases(result: &LoadResult) -> Option<Bars> {
    let latency = &result.latency;
    let all = [
        ("send lag", &latency.send_lag),
        ("until the first byte", &latency.first_byte),
        ("until the last byte", &latency.last_byte),
    ];
    let count = latency.first_byte.count;
    if count == 0 || all.iter().any(|(_, phase)| phase.count != count) {
        return None;
    }
    let means = all.iter().map(|(_, phase)| phase.mean_us).collect::<Option<Vec<f64>>>()?;
    let whole: f64 = means.iter().sum();
    let piece = |(piece, mean): (usize, &f64)| BarPiece { piece, length: drawn(*mean), text: us(*mean) };
    let row = BarRow {
        label: format!("mean of {} requests", numbers::count(count)),
        value: format!("{} us", us(whole)),
        pieces: means.iter().enumerate().map(piece).collect(),
    };
    (whole > 0.0).then(|| Bars {
        title: "mean response time by phase".to_owned(),
        axis: "time since the intended start, us".to_owned(),
        unit: "us",
        pieces: all.iter().map(|(name, _)| (*name).to_owned()).collect(),
        rows: vec![row],
    })
}

/// Quantiles of each phase over the recorded time, one chart per quantile. A phase that took no time or had too few requests has no line; a
/// chart without lines is left out.
pub(super) fn over_time(result: &LoadResult) -> Vec<Series> {
    let chart = |(name, share): (&str, f64)| {
        let lines: Vec<Line> = OVER_TIME.into_iter().filter_map(|phase| line(result, phase, share)).collect();
        let y = Axis::linear("time of a phase, us", "us").on(scale(&lines)?);
        Some(Series::new(format!("{name} of each phase over time"), time(result), y, lines))
    };
    QUANTILES.into_iter().filter_map(chart).collect()
}

/// Length of a twentieth of the planned time, or else of the time of a hundred windows, seconds.
pub(super) fn batch_s(result: &LoadResult) -> f64 {
    result.window_s.map_or(result.plan.duration_s / BATCHES, |window_s| WINDOWS * window_s)
}

fn line(result: &LoadResult, (phase, name, tone): (RequestPhase, &str, Tone), share: f64) -> Option<Line> {
    let length_s = batch_s(result);
    let batches = result.histograms.as_ref()?.phases.get(&phase)?;
    let point = |(place, times): (usize, &Option<Histogram>)| {
        Point::at((place as f64 + 0.5) * length_s, supported_us(&recorded(times.as_ref()), share))
    };
    let points: Vec<Point> = batches.iter().enumerate().map(point).collect();
    let took_time = points.iter().any(|point| point.y.is_some_and(|us| us > 0.0));
    took_time.then(|| Line::joined(name, tone, points))
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Latency, LoadHistograms};

    use super::*;
    use crate::chart::Scale;
    use crate::fixture::{self, times};

    /// The lines of a chart, each with its values.
    fn lines(chart: &Series) -> Vec<(&str, Vec<Option<f64>>)> {
        let values = |line: &Line| line.points.iter().map(|point| point.y.map(f64::round)).collect();
        chart.lines.iter().map(|line| (line.name.as_str(), values(line))).collect()
    }

    #[test]
    fn each_phase_has_a_line_over_time_where_ten_times_are_above_its_quantile() {
        let mut result = fixture::load();
        let phases = [
            (RequestPhase::FirstByte, vec![times(100, 200), times(200, 20), None]),
            (RequestPhase::SendLag, vec![times(2, 200), times(2, 200), times(2, 19)]),
            (RequestPhase::LastByte, vec![times(0, 200); 3]),
        ];
        result.histograms = Some(LoadHistograms { phases: phases.into(), ..LoadHistograms::default() });
        let [p50, p90]: [Series; 2] = over_time(&result).try_into().unwrap();
        let some = |values: [f64; 2]| values.map(Some).to_vec();
        assert_eq!(
            lines(&p50),
            [
                ("send lag", [some([2.0, 2.0]), vec![None]].concat()),
                ("until the first byte", [some([100.0, 200.0]), vec![None]].concat()),
            ],
            "the last byte came with the first"
        );
        assert_eq!(
            lines(&p90),
            [
                ("send lag", vec![Some(2.0), Some(2.0), None]),
                ("until the first byte", vec![Some(100.0), None, None]),
            ]
        );
        let xs: Vec<f64> = p50.lines[0].points.iter().map(|point| point.x).collect();
        assert_eq!(xs, [0.25, 0.75, 1.25], "twentieths of ten seconds");
        assert_eq!((p50.y.scale, p50.x.highest), (Scale::Logarithmic, Some(10.0)));
    }

    #[test]
    fn phases_that_are_withheld_or_were_not_recorded_have_no_chart_over_time() {
        let mut result = fixture::load();
        assert!(over_time(&result).is_empty(), "without histograms");
        result.histograms = Some(LoadHistograms::default());
        assert!(over_time(&result).is_empty());
    }

    /// A load of a thousand requests with these means of its phases.
    fn load(send_lag_us: f64, first_byte_us: f64, last_byte_us: f64) -> LoadResult {
        let mut result = fixture::load();
        let latency = &mut result.latency;
        for (phase, mean_us) in [
            (&mut latency.send_lag, send_lag_us),
            (&mut latency.first_byte, first_byte_us),
            (&mut latency.last_byte, last_byte_us),
        ] {
            *phase = Latency { count: 1_000, mean_us: Some(mean_us), ..Latency::default() };
        }
        result
    }

    #[test]
    fn phases_add_up_to_the_response_time() {
        let chart = phases(&load(5.0, 94.0, 1.5)).unwrap();
        let [row] = chart.rows.as_slice() else { panic!("{chart:?}") };
        assert_eq!((row.label.as_str(), row.value.as_str()), ("mean of 1,000 requests", "100.5 us"));
        let pieces: Vec<(&str, &str)> = row
            .pieces
            .iter()
            .map(|piece| (chart.pieces[piece.piece].as_str(), piece.text.as_str()))
            .collect();
        assert_eq!(
            pieces,
            [("send lag", "5.0"), ("until the first byte", "94.0"), ("until the last byte", "1.5")]
        );
    }

    #[test]
    fn phases_of_other_requests_or_without_a_mean_are_no_chart() {
        let mut other = load(5.0, 94.0, 1.0);
        other.latency.send_lag.count = 999;
        assert!(phases(&other).is_none());
        let mut withheld = load(5.0, 94.0, 1.0);
        withheld.latency.first_byte.mean_us = None;
        assert!(phases(&withheld).is_none());
        let mut imported = load(5.0, 94.0, 1.0);
        imported.latency = hoptax_result::LatencySet::default();
        assert!(phases(&imported).is_none(), "another tool states none");
    }
}
