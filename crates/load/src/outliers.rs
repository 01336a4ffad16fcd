//! Detects workers and connections whose response times are longer than the others': hot spots of the subject, which
//! the distribution over all requests hides.

use hoptax_result::Outliers;

use crate::course::Course;
use crate::log_histogram::LogHistogram;
use crate::recording::Recording;

/// Minimum number of requests of a worker or connection to be judged.
pub(crate) const MIN_REQUESTS: u64 = 100;
/// Minimum ratio of medians.
const MIN_RATIO: f64 = 1.2;
/// Width of the interval of a median, in standard deviations of its rank. Four, because there may be thousands of
/// connections, and because the requests of a connection are not independent.
const DEVIATIONS: f64 = 4.0;

/// Outlying workers and outlying connections.
pub(crate) fn outliers(course: &Course, recordings: &[Vec<Recording>]) -> Vec<Outliers> {
    let workers: Vec<LogHistogram> =
        recordings.iter().filter_map(|parts| parts.first()).map(coarse).collect();
    let found = [slow("worker", &workers), slow("connection", &course.connections)];
    found.into_iter().flatten().collect()
}

fn coarse(recording: &Recording) -> LogHistogram {
    let mut coarse = LogHistogram::default();
    for value in recording.response.histogram().iter_recorded() {
        coarse.record_many(value.value_iterated_to(), value.count_at_value());
    }
    coarse
}

/// The histograms whose median is more than a fifth above the typical one, with confidence.
fn slow(of: &str, all: &[LogHistogram]) -> Option<Outliers> {
    let lower_us = |one: &LogHistogram| {
        let count = one.count();
        let reach = DEVIATIONS * 0.5 / (count as f64).sqrt();
        (count >= MIN_REQUESTS).then(|| one.quantile_us(0.5 - reach))?
    };
    // The median of medians is typical as long as fewer than half are slow.
    let mut medians: Vec<f64> =
        all.iter().filter(|one| one.count() >= MIN_REQUESTS).filter_map(|one| one.quantile_us(0.5)).collect();
    medians.sort_by(f64::total_cmp);
    let typical_us = *medians.get(medians.len().saturating_sub(1) / 2)?;
    let numbers: Vec<u32> = (0..)
        .zip(all)
        .filter(|(_, one)| lower_us(one).is_some_and(|lower_us| lower_us > MIN_RATIO * typical_us))
        .map(|(number, _)| number)
        .collect();
    if numbers.is_empty() {
        return None;
    }
    let (mut theirs, mut others) = (LogHistogram::default(), LogHistogram::default());
    for (number, one) in (0..).zip(all) {
        if numbers.contains(&number) { theirs.add(one) } else { others.add(one) }
    }
    Some(Outliers {
        of: of.to_owned(),
        total: all.len() as u32,
        p50_us: theirs.quantile_us(0.5)?,
        others_p50_us: others.quantile_us(0.5)?,
        numbers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(us: u64, count: u64) -> LogHistogram {
        let mut coarse = LogHistogram::default();
        (0..count).for_each(|number| coarse.record(us * 1_000 + number * us));
        coarse
    }

    #[test]
    fn slow_connections_are_detected() {
        let mut all = vec![around(200, 1_000); 8];
        (all[2], all[5]) = (around(900, 1_000), around(500, 1_000));
        let found = slow("connection", &all).unwrap();
        assert_eq!((found.numbers, found.total), (vec![2, 5], 8));
        assert!(found.p50_us > 2.0 * found.others_p50_us);
    }

    #[test]
    fn chance_and_few_requests_detect_none() {
        assert_eq!(slow("connection", &vec![around(200, 1_000); 8]), None);
        let mut all = vec![around(200, 1_000); 8];
        all[0] = around(900, 99);
        assert_eq!(slow("connection", &all), None);
        assert_eq!(slow("connection", &[]), None);
        assert_eq!(slow("connection", &[around(5, 500)]), None);
    }
}
