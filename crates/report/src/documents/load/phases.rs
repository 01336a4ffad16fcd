//! The phases of a request, on average: the wait until it was sent, that for the first byte of its response, and the rest of that.

use hoptax_result::LoadResult;

use crate::chart::{BarPiece, BarRow, Bars, drawn};
use crate::numbers::{grouped, us};

/// The mean of each phase. Means add up to that of the response time; quantiles do not. None if the mean of a phase is not known, or if the
/// phases are not those of the same requests.
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
        label: format!("mean of {} requests", grouped(count as f64, 0)),
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

#[cfg(test)]
mod tests {
    use hoptax_result::Latency;

    use super::*;
    use crate::fixture;

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
