//! How requests and response times divide among connections, as quantiles over connections: the distribution over all requests hides it.

use hoptax_result::ByConnection;
use hoptax_stats::quantile_of;

use crate::course::Course;
use crate::log_histogram::LogHistogram;
use crate::outliers::MIN_REQUESTS;

/// Largest number of quantiles.
const QUANTILES: usize = 64;

/// The division of a load among its connections; None unless it has several, and an answer.
pub(crate) fn by_connection(course: &Course) -> Option<ByConnection> {
    divided(&course.connections)
}

fn divided(all: &[LogHistogram]) -> Option<ByConnection> {
    let requests: Vec<f64> = all.iter().map(|times| times.count() as f64).collect();
    if all.len() < 2 || requests.iter().all(|count| *count <= 0.0) {
        return None;
    }
    let judged = all.iter().filter(|times| times.count() >= MIN_REQUESTS);
    let p50_us: Vec<f64> = judged.filter_map(|times| times.quantile_us(0.5)).collect();
    Some(ByConnection {
        total: all.len() as u32,
        requests: quantiles(requests),
        with_p50: p50_us.len() as u32,
        p50_us: quantiles(p50_us),
    })
}

/// Quantiles in equal steps from the least value to the greatest: the values themselves, ascending, if there are few enough.
fn quantiles(mut values: Vec<f64>) -> Vec<f64> {
    let number = values.len().min(QUANTILES);
    let steps = number.saturating_sub(1).max(1) as f64;
    (0..number).filter_map(|step| quantile_of(&mut values, step as f64 / steps)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection with so many requests, all of which took this long.
    fn connection(requests: u64, us: u64) -> LogHistogram {
        let mut times = LogHistogram::default();
        times.record_many(us * 1_000, requests);
        times
    }

    #[test]
    fn few_connections_are_stated_one_by_one_and_those_with_few_requests_without_a_median() {
        let all = [connection(300, 1_000), connection(99, 9_000), connection(100, 100), connection(0, 0)];
        let found = divided(&all).unwrap();
        assert_eq!((found.total, found.with_p50), (4, 2));
        let rounded: Vec<u64> = found.requests.iter().map(|requests| requests.round() as u64).collect();
        assert_eq!(rounded, [0, 99, 100, 300]);
        let [fast_us, slow_us] = found.p50_us[..] else { panic!("{found:?}") };
        assert!((fast_us / 100.0 - 1.0).abs() < 0.2 && (slow_us / 1_000.0 - 1.0).abs() < 0.2, "{found:?}");
    }

    #[test]
    fn many_connections_are_stated_as_quantiles_from_the_least_to_the_most() {
        let all: Vec<LogHistogram> = (0..=630).rev().map(|requests| connection(requests, 50)).collect();
        let found = divided(&all).unwrap();
        assert_eq!((found.total, found.with_p50, found.p50_us.len()), (631, 531, QUANTILES));
        let rounded: Vec<u64> = found.requests.iter().map(|requests| requests.round() as u64).collect();
        let expected: Vec<u64> = (0..64).map(|step| step * 10).collect();
        assert_eq!(rounded, expected);
    }

    #[test]
    fn one_connection_and_a_load_without_an_answer_have_no_division() {
        assert_eq!(divided(&[connection(500, 100)]), None);
        assert_eq!(divided(&[connection(0, 0), connection(0, 0)]), None);
        assert_eq!(divided(&[]), None);
    }
}
