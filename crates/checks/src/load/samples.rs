//! A quantile needs enough requests, and must include all of them.

use hoptax_result::{
    Finding, Latency, LatencyBounds, LoadResult, Measured, Percentile, QuantileIntervals, Range, Severity,
    TimeBounds, counted, grouped, percent,
};

use super::limits::{Ends, QUANTILES, Quantile, name_of, to_bounds};
use crate::check::Check;
use crate::thresholds::{self, Limits};

/// The interval of a usual quantile.
fn interval(all: &QuantileIntervals, quantile: &Quantile) -> Option<Range> {
    match quantile.name {
        "p50" => all.p50_us,
        "p90" => all.p90_us,
        "p99" => all.p99_us,
        _ => all.p99_9_us,
    }
}

/// Unanswered requests are slow requests of unknown duration.
pub(super) const UNFINISHED: Check<LoadResult> = Check {
    id: "unfinished",
    protects_from: "slow requests missing from the quantiles because they had not finished",
    source: "right-censoring: a quantile is known if the generator waited longer than it for every unfinished request",
    judge: |result, _| {
        let at_least = result.latency.response.at_least;
        let bounds = [at_least.p50_us, at_least.p90_us, at_least.p99_us, at_least.p99_9_us];
        let lost: Vec<&str> = QUANTILES
            .iter()
            .zip(bounds)
            .filter(|(_, bound)| bound.is_some())
            .map(|(quantile, _)| quantile.name)
            .collect();
        let book = &result.book;
        let open = pending(result);
        if lost.is_empty() {
            return Vec::new();
        }
        let share = open as f64 / (book.planned.max(1)) as f64;
        vec![Finding::new(
            "unfinished",
            Severity::Warn,
            Measured::percent(share, 0.0),
            format!(
                "{} ({}) timed out, or {} unfinished or unsent at the end: {} of response time {}",
                counted(open, "request"),
                percent(share, 3),
                if open == 1 { "was" } else { "were" },
                lost.join(", "),
                if lost.len() == 1 { "is a lower bound" } else { "are lower bounds" }
            ),
            "lower the rate, or raise `--timeout` to wait for slow responses",
        )]
    },
    withhold: None,
};

/// Requests whose response time is known only to be longer than some time.
fn pending(result: &LoadResult) -> u64 {
    result.book.unfinished + result.book.timed_out + result.unsent.get("end").copied().unwrap_or(0)
}

/// Too few requests above the quantile.
pub(super) const TOO_FEW: Check<LoadResult> = Check {
    id: "too-few-samples",
    protects_from: "a tail quantile determined by a few requests",
    source: "own: n (1 - p) of at least 100; below it, the 95 % interval is given",
    judge: |result, limits| {
        let count = result.latency.response.count;
        let lost = too_few(result, limits);
        let Some((nearest, _)) = lost.first() else { return Vec::new() };
        let names: Vec<&str> = lost.iter().map(|(_, name)| name.as_str()).collect();
        // Requests without a response count with the time that they waited at least.
        let pending = pending(result).min(count);
        // An unsupported far tail is expected of a short run; an unsupported median is not.
        let severity = if rarer(*nearest) > 0.001_5 { Severity::Warn } else { Severity::Info };
        vec![
            Finding::new(
                "too-few-samples",
                severity,
                Measured::count(count as f64, needed(*nearest, limits), "requests"),
                format!(
                    "{}{} {} too few",
                    counted(count, if pending == 0 { "response" } else { "request" }),
                    if pending == 0 {
                        String::new()
                    } else {
                        format!(", {} of them without a response,", hoptax_result::count(pending))
                    },
                    if count == 1 { "is" } else { "are" }
                ),
                "run longer or raise the rate",
            )
            .bounding(&names),
        ]
    },
    withhold: Some(|result, finding, limits| {
        to_bounds(result, &finding.numbers, Ends::Both);
        let result = &mut result.body;
        let stages = result.stages.iter_mut().map(|stage| &mut stage.latency);
        for latency in stages.chain([&mut result.latency]) {
            let count = latency.response.count;
            for quantile in QUANTILES.iter().filter(|quantile| is_too_few(count, quantile.p, limits)) {
                for distribution in [
                    &mut latency.response,
                    &mut latency.service,
                    &mut latency.first_byte,
                    &mut latency.last_byte,
                ] {
                    *(quantile.of)(distribution) = None;
                }
            }
        }
        // A call has at least one message, so messages are too few only if calls are too few.
        if let Some(messages) = &mut result.messages {
            let count = messages.count;
            for quantile in QUANTILES.iter().filter(|quantile| is_too_few(count, quantile.p, limits)) {
                *(quantile.of)(messages) = None;
            }
        }
    }),
};

/// A quantile whose interval is as wide as the quantile, or has one end.
pub(super) const VAGUE: Check<LoadResult> = Check {
    id: "vague-quantile",
    protects_from: "a quantile that the next run does not reproduce",
    source: "own: the half-width of the 95 % interval is at most 10 % of the quantile; above 50 %, the interval is given without the quantile",
    judge: |result, limits| {
        let (response, bounds) = (&result.latency.response, &result.bounds.response);
        let half_width = |quantile| half_width(response, bounds, &result.response_intervals, quantile);
        let usual =
            QUANTILES.iter().filter_map(|quantile| Some((half_width(quantile)?, quantile.name.to_owned())));
        let requested = result.percentiles.iter().filter_map(|one| Some((half_width_of(one)?, name_of(one))));
        let mut vague: Vec<(f64, String)> = usual
            .chain(requested)
            .filter(|(half, _)| *half > limits.value(&thresholds::INTERVAL_SHARE))
            .collect();
        // `too-few-samples` reports the quantiles that are vague because responses are too few.
        let few = too_few(result, limits);
        vague.retain(|(_, name)| !few.iter().any(|(_, few)| few == name));
        let mut seen = std::collections::BTreeSet::new();
        vague.retain(|(_, name)| seen.insert(name.clone()));
        // A far tail often has a wide interval; a median with one deserves a warning.
        let finding = |names: &[&str], half: f64, message: String| {
            let severity = if names.contains(&"p50") { Severity::Warn } else { Severity::Info };
            let measured = Measured::percent(half, limits.value(&thresholds::INTERVAL_SHARE));
            let advice = "run longer or on a quieter machine; use the interval, not the estimate";
            Finding::new("vague-quantile", severity, measured, message, advice)
        };
        let fail = limits.value(&thresholds::INTERVAL_FAIL_SHARE);
        let part = |is_in: &dyn Fn(f64) -> bool| -> (Vec<&str>, f64, f64) {
            let part = vague.iter().filter(|(half, _)| is_in(*half));
            let halves = part.clone().map(|(half, _)| *half);
            let (least, most) = (halves.clone().fold(f64::INFINITY, f64::min), halves.fold(0.0, f64::max));
            (part.map(|(_, name)| name.as_str()).collect(), least, most)
        };
        let mut found = Vec::new();
        let (wide, least, most) = part(&|half| half <= fail);
        if !wide.is_empty() {
            let message = format!(
                "the half-width of the 95 % interval of {} is {}",
                wide.join(", "),
                percent_range(least, most)
            );
            found.push(finding(&wide, most, message));
        }
        let (bounded, least, most) = part(&|half| half > fail && half.is_finite());
        if !bounded.is_empty() {
            let message = format!(
                "the half-width of the 95 % interval is {}, above {}",
                percent_range(least, most),
                percent(fail, 0)
            );
            found.push(finding(&bounded, most, message).bounding(&bounded));
        }
        let (open, ..) = part(&f64::is_infinite);
        if !open.is_empty() {
            let message = "the slowest requests depend on each other, so responses bound one side alone";
            found.push(finding(&open, fail, message.to_owned()).bounding(&open));
        }
        found
    },
    // Service time has no interval of its own that is too wide.
    withhold: Some(|result, finding, _| {
        if !finding.bounds {
            return;
        }
        for quantile in QUANTILES.iter().filter(|one| finding.numbers.iter().any(|name| name == one.name)) {
            *(quantile.of)(&mut result.latency.response) = None;
        }
        for one in &mut result.percentiles {
            if finding.numbers.contains(&name_of(one)) {
                one.response_us = None;
            }
        }
    }),
};

/// Requests that are correlated because they queued behind each other.
pub(super) const CORRELATED: Check<LoadResult> = Check {
    id: "correlated-samples",
    protects_from: "an interval that treats requests in one queue as independent",
    source: "Lancet (ATC 2019): Spearman's correlation of consecutive requests; Seila (1982): intervals from batches",
    judge: |result, limits| {
        let Some(correlation) = result.serial_correlation else { return Vec::new() };
        let max = limits.value(&thresholds::CORRELATION);
        if correlation.abs() <= max {
            return Vec::new();
        }
        vec![Finding::new(
            "correlated-samples",
            Severity::Info,
            Measured::count(correlation, max, ""),
            format!(
                "the rank correlation of consecutive response times is {correlation}",
                correlation = grouped(correlation, 2)
            ),
            "no action needed: intervals are computed from batches, which allow for correlation",
        )]
    },
    withhold: None,
};

/// Two shares as a range in percent, or as one if they print alike.
fn percent_range(min: f64, max: f64) -> String {
    let (min, max) = (grouped(min * 100.0, 0), grouped(max * 100.0, 0));
    if min == max { format!("{min} %") } else { format!("{min} to {max} %") }
}

/// The half-width of a quantile's interval, as a share of the quantile; infinite if it has one end. None if nothing is known of it.
pub(super) fn half_width(
    response: &Latency,
    bounds: &LatencyBounds,
    intervals: &QuantileIntervals,
    quantile: &Quantile,
) -> Option<f64> {
    let (mut response, mut bounds) = (*response, *bounds);
    share_of(
        (quantile.of)(&mut response).as_ref(),
        interval(intervals, quantile),
        *(quantile.bounds)(&mut bounds),
    )
}

/// As [`half_width`], for a requested percentile.
fn half_width_of(one: &Percentile) -> Option<f64> {
    share_of(one.response_us.as_ref(), one.response_interval, one.response_bounds)
}

fn share_of(value: Option<&f64>, interval: Option<Range>, bounds: Option<TimeBounds>) -> Option<f64> {
    let value = value.filter(|value| **value > 0.0)?;
    match (interval, bounds) {
        (Some(interval), _) => Some((interval.high - interval.low) / 2.0 / value),
        (None, Some(TimeBounds { low_us: None, .. } | TimeBounds { high_us: None, .. })) => {
            Some(f64::INFINITY)
        }
        (None, _) => None,
    }
}

/// The requested percentiles, as shares from 0 to 1, with their names.
fn requested(result: &LoadResult) -> impl Iterator<Item = (f64, String)> {
    result.percentiles.iter().map(|one| (one.percentile / 100.0, name_of(one)))
}

/// The quantiles that too few responses support, the least rare first, with their names.
fn too_few(result: &LoadResult, limits: &Limits) -> Vec<(f64, String)> {
    let count = result.latency.response.count;
    let usual = QUANTILES.iter().map(|quantile| (quantile.p, quantile.name.to_owned()));
    let mut few: Vec<(f64, String)> =
        usual.chain(requested(result)).filter(|(p, _)| is_too_few(count, *p, limits)).collect();
    few.sort_by(|a, b| rarer(a.0).total_cmp(&rarer(b.0)).reverse());
    few.dedup_by(|a, b| a.1 == b.1);
    few
}

/// The share of the requests on the thinner side of a quantile.
fn rarer(p: f64) -> f64 {
    p.min(1.0 - p)
}

fn needed(p: f64, limits: &Limits) -> f64 {
    (limits.value(&thresholds::SAMPLES_ABOVE) / rarer(p)).round()
}

/// True if so many requests are too few for a quantile.
pub(super) fn is_too_few(count: u64, p: f64, limits: &Limits) -> bool {
    (count as f64) < needed(p, limits)
}

#[cfg(test)]
mod tests {
    use hoptax_result::{LoadResult, LowerBounds, Percentile, Range, Severity, TimeBounds, TimeOf};

    use crate::load::tests::fired;

    #[test]
    fn unfinished_requests_that_reach_a_quantile_fire() {
        let (severity, result) = fired("unfinished", |result| {
            result.plan.max_error_share = 0.1;
            result.book.answered -= 1_200;
            result.book.unfinished += 1_200;
            let response = &mut result.latency.response;
            (response.p99_9_us, response.max_us) = (None, None);
            response.at_least =
                LowerBounds { p99_9_us: Some(5e6), max_us: Some(5e6), ..LowerBounds::default() };
        });
        assert_eq!(severity, Some(Severity::Warn));
        assert!(
            result.findings.iter().any(|one| one.message.contains("1,200") && one.message.contains("p99.9"))
        );
        assert_eq!(result.latency.response.at_least.p99_9_us, Some(5e6));
    }

    #[test]
    fn too_few_responses_leave_bounds_of_the_quantiles_that_they_do_not_support() {
        let run = |count: u64| fired("too-few-samples", |result| result.latency.response.count = count);
        assert_eq!(run(100_000).0, None);
        let (severity, result) = run(99_999);
        assert_eq!(severity, Some(Severity::Info));
        assert!(result.latency.response.p99_us.is_some() && result.latency.response.p99_9_us.is_none());
        let (severity, result) = run(150);
        assert_eq!(severity, Some(Severity::Warn));
        assert_eq!(result.latency.response.p50_us, None);
        assert_eq!(result.response(TimeOf::Percentile(50.0)).ends(), (Some(96.0), Some(102.0)));
        assert_eq!(result.usable(), "counts and rates are sound; times are only bounded");
        let message = &result.findings.iter().find(|one| one.id == "too-few-samples").unwrap().message;
        assert!(message.starts_with("150 responses are too few"), "{message}");
        let (_, result) = fired("too-few-samples", |result| {
            result.plan.max_error_share = 1.0;
            result.latency.response.count = 150;
            (result.book.answered, result.book.timed_out) = (result.book.answered - 140, 140);
        });
        let message = &result.findings.iter().find(|one| one.id == "too-few-samples").unwrap().message;
        assert!(
            message.starts_with("150 requests, 140 of them without a response, are too few"),
            "{message}"
        );
    }

    #[test]
    fn requested_percentiles_are_limited_like_the_default_ones() {
        let requested = |percentile: f64, half: f64| Percentile {
            percentile,
            response_us: Some(100.0),
            response_interval: Some(Range { low: 100.0 - half, high: 100.0 + half }),
            service_us: Some(90.0),
            ..Percentile::default()
        };
        let (severity, result) = fired("too-few-samples", |result| {
            result.percentiles = vec![requested(0.01, 1.0), requested(95.0, 1.0), requested(99.99, 1.0)];
        });
        assert_eq!(severity, Some(Severity::Info));
        let known: Vec<bool> = result.percentiles.iter().map(|one| one.response_us.is_some()).collect();
        assert_eq!(known, [false, true, false]);
        assert!(result.percentiles[2].service_us.is_none());
        let (severity, result) =
            fired("vague-quantile", |result| result.percentiles = vec![requested(95.0, 60.0)]);
        assert_eq!((severity, result.percentiles[0].response_us), (Some(Severity::Info), None));
    }

    #[test]
    fn a_wide_interval_fires_and_a_very_wide_one_is_a_bound() {
        let run = |half: f64| {
            fired("vague-quantile", |result: &mut LoadResult| {
                let p99_us = result.latency.response.p99_us.unwrap();
                let interval = Range { low: p99_us * (1.0 - half), high: p99_us * (1.0 + half) };
                result.response_intervals.p99_us = Some(interval);
            })
        };
        assert_eq!(run(0.09).0, None);
        let (severity, result) = run(0.2);
        assert!(severity == Some(Severity::Info) && result.latency.response.p99_us.is_some());
        let (_, result) = run(0.6);
        assert!(result.latency.response.p99_us.is_none() && result.latency.response.p50_us.is_some());
        assert_eq!(result.usable(), "counts, rates, p50, p90 and p99.9 are sound; p99 is only bounded");
        let (severity, result) = fired("vague-quantile", |result| {
            result.response_intervals.p99_9_us = None;
            result.bounds.response.p99_9_us = Some(TimeBounds::at_least(290.0));
        });
        assert_eq!(severity, Some(Severity::Info));
        assert_eq!(result.response(TimeOf::Percentile(99.9)).ends(), (Some(290.0), None));
    }

    #[test]
    fn correlated_requests_fire() {
        assert_eq!(fired("correlated-samples", |result| result.serial_correlation = Some(0.04)).0, None);
        let (severity, _) = fired("correlated-samples", |result| result.serial_correlation = Some(0.6));
        assert_eq!(severity, Some(Severity::Info));
    }
}
