//! The quantiles of response time that have no interval, and the reason.

use hoptax_result::{Known, LoadResult, Loop, TimeOf};
use hoptax_text::list::listed;

/// Minimum number of parts of the record for an interval.
pub(super) const FEWEST_BATCHES: usize = 10;
/// The reason in a closed loop that ends with its requests.
pub(super) const OF_CLOSED_LOOP: &str = "the load ended after its number of requests, and its warm-up did not show how long they take, or \
                                         showed less than a tenth of a second";

/// The reason in a load with stages.
pub(super) const OF_STAGES: &str = "the load has stages, which differ by design";
/// The reason in a load that ends with its requests, and whose record was divided by the time that these were expected to take.
pub(super) const OF_EXPECTED_LENGTH: &str =
    "the requests took longer or much shorter than expected, or some workers ended long before others";

/// True if a quantile is stated although nothing bounds its error. What another tool states is not judged.
pub(super) fn is_without(result: &LoadResult, percentile: f64) -> bool {
    let is_stated = matches!(result.response(TimeOf::Percentile(percentile)), Known::Measured(_));
    let has_interval = super::interval(&result.response_intervals, percentile).is_some();
    is_stated && !has_interval && result.imported.is_none()
}

/// Explains which quantiles have no interval; none if all have one.
pub(super) fn note(result: &LoadResult) -> Option<String> {
    let without = [50.0, 90.0, 99.0, 99.9].into_iter().filter(|percentile| is_without(result, *percentile));
    let names: Vec<String> = without.map(|percentile| format!("p{percentile}")).collect();
    let have = if names.len() == 1 { "has no interval" } else { "have no intervals" };
    (!names.is_empty())
        .then(|| format!("{} of the answered requests {have}, since {}", listed(&names), reason(result)))
}

/// The reason why the parts of the record tell no interval.
fn reason(result: &LoadResult) -> &'static str {
    let parts = result.histograms.as_ref().map_or(0, |histograms| histograms.batches.len());
    if result.merged.is_some() {
        "intervals need ten parts of the record that are the same in all runs"
    } else if parts >= FEWEST_BATCHES {
        "intervals need responses in ten parts of the record"
    } else if !result.stages.is_empty() {
        OF_STAGES
    } else if result.window_s.is_some() {
        OF_EXPECTED_LENGTH
    } else if result.plan.request_limit.is_none() {
        "the load ended early in its planned time"
    } else if result.plan.loop_ == Loop::Closed {
        OF_CLOSED_LOOP
    } else {
        "the load ended with its requests early in its planned time: set `--duration` to about the time that they take"
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{LoadBounds, LoadHistograms, Merged, QuantileIntervals, sample};

    use super::super::load;
    use super::*;
    use crate::fixture::{self, STYLE};
    use crate::headline::tests::texts;
    use crate::render::terminal;

    /// A load that ended with its requests long before its planned time.
    fn without_batches() -> LoadResult {
        let mut result = sample::load();
        result.response_intervals = QuantileIntervals::default();
        result.bounds = LoadBounds::default();
        result.histograms = None;
        result.plan.request_limit = Some(200_000);
        result
    }

    #[test]
    fn quantiles_without_intervals_are_marked_and_one_note_says_why() {
        let result = without_batches();
        let document = load(&result);
        assert_eq!(document.answer[1], "Response time, without intervals: p50 100 us, p99 200 us");
        assert_eq!(texts(&document)[1], "p50 of the response time: 100 us (without an interval)");
        let note = "p50, p90, p99 and p99.9 of the answered requests have no intervals, since the load ended with its requests early in \
                    its planned time: set `--duration` to about the time that they take";
        assert_eq!(document.notes.iter().filter(|one| *one == note).count(), 1, "{:?}", document.notes);
        let screen = terminal::screen(&document, STYLE);
        assert_eq!(screen.matches("have no intervals").count(), 1, "{screen}");
    }

    #[test]
    fn one_quantile_without_an_interval_leaves_the_others_as_they_are() {
        let mut result = sample::load();
        assert_eq!(note(&result), None);
        assert!(load(&result).answer[1].starts_with("Response time: p50 100.0 ±"));
        result.response_intervals.p99_9_us = None;
        assert!(note(&result).unwrap().starts_with("p99.9 of the answered requests has no interval, since "));
        assert!(load(&result).answer[1].starts_with("Response time: p50 100.0 ±"));
        // A bound says how little is known.
        result.latency.response.p99_9_us = None;
        assert_eq!(note(&result), None);
    }

    #[test]
    fn each_load_without_intervals_has_its_reason() {
        let reason_of = |change: fn(&mut LoadResult)| {
            let mut result = without_batches();
            change(&mut result);
            reason(&result)
        };
        assert_eq!(reason_of(|result| result.plan.loop_ = Loop::Closed), OF_CLOSED_LOOP);
        let ended = reason_of(|result| result.plan.request_limit = None);
        assert_eq!(ended, "the load ended early in its planned time");
        // Another `--duration` helps neither: stages have no parts, and the rate told the length of the record.
        let staged = |result: &mut LoadResult| {
            (result.plan.request_limit, result.body.stages) = (None, fixture::load().body.stages);
        };
        assert_eq!(reason_of(staged), OF_STAGES);
        assert_eq!(reason_of(|result| result.window_s = Some(0.2)), OF_EXPECTED_LENGTH);
        let empty = |result: &mut LoadResult| {
            result.histograms = Some(LoadHistograms { batches: vec![None; 20], ..LoadHistograms::default() });
        };
        assert_eq!(reason_of(empty), "intervals need responses in ten parts of the record");
        assert!(reason_of(|result| result.merged = Some(Merged::default())).contains("in all runs"));
    }
}
