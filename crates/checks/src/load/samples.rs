//! A quantile needs enough requests, and must include all of them.

use hoptax_result::{
    Finding, Latency, LatencySet, LoadResult, Measured, Percentile, QuantileIntervals, Range, Severity,
};

use super::number_of;
use crate::Check;
use crate::thresholds::{self, Limits};

/// A reported quantile, with an accessor.
struct Quantile {
    name: &'static str,
    p: f64,
    of: fn(&mut Latency) -> &mut Option<f64>,
    interval: fn(&QuantileIntervals) -> Option<Range>,
}

const QUANTILES: [Quantile; 4] = [
    Quantile { name: "p50", p: 0.5, of: |latency| &mut latency.p50_us, interval: |all| all.p50_us },
    Quantile { name: "p90", p: 0.9, of: |latency| &mut latency.p90_us, interval: |all| all.p90_us },
    Quantile { name: "p99", p: 0.99, of: |latency| &mut latency.p99_us, interval: |all| all.p99_us },
    Quantile { name: "p99.9", p: 0.999, of: |latency| &mut latency.p99_9_us, interval: |all| all.p99_9_us },
];

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
                "{} ({:.3} %) timed out, or {} unfinished or unsent at the end: {} of response time {}",
                number_of(open, "request"),
                share * 100.0,
                if open == 1 { "was" } else { "were" },
                lost.join(", "),
                if lost.len() == 1 { "is a lower bound" } else { "are lower bounds" }
            ),
            "lower the rate, or raise --timeout to wait for slow responses",
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
    source: "own: n (1 - p) of at least 100",
    judge: |result, limits| {
        let count = result.latency.response.count;
        let usual = QUANTILES.iter().map(|quantile| (quantile.p, quantile.name.to_owned()));
        let mut lost: Vec<(f64, String)> =
            usual.chain(requested(result)).filter(|(p, _)| is_too_few(count, *p, limits)).collect();
        lost.sort_by(|a, b| rarer(a.0).total_cmp(&rarer(b.0)).reverse());
        lost.dedup_by(|a, b| a.1 == b.1);
        let Some((nearest, _)) = lost.first() else { return Vec::new() };
        let names: Vec<&str> = lost.iter().map(|(_, name)| name.as_str()).collect();
        // Requests without a response count with the time that they waited at least.
        let pending = pending(result).min(count);
        // An unsupported far tail is expected of a short run; an unsupported median is not.
        let severity = if rarer(*nearest) > 0.001_5 { Severity::Warn } else { Severity::Info };
        vec![Finding::new(
            "too-few-samples",
            severity,
            Measured::count(count as f64, needed(*nearest, limits), "requests"),
            format!(
                "{}{} {} too few for {}, which {} withheld",
                number_of(count, if pending == 0 { "response" } else { "request" }),
                if pending == 0 { String::new() } else { format!(", {pending} of them without a response,") },
                if count == 1 { "is" } else { "are" },
                names.join(", "),
                if names.len() == 1 { "is" } else { "are" }
            ),
            "run longer or raise the rate",
        )]
    },
    withhold: Some(|result, _: &Finding, limits| {
        let latencies = result.stages.iter_mut().map(|stage| &mut stage.latency);
        for latency in latencies.chain([&mut result.latency]) {
            let count = latency.response.count;
            withhold(latency, |quantile| is_too_few(count, quantile.p, limits));
        }
        // A call has at least one message, so they are too few only where calls are.
        if let Some(messages) = &mut result.messages {
            let count = messages.count;
            for quantile in QUANTILES.iter().filter(|quantile| is_too_few(count, quantile.p, limits)) {
                *(quantile.of)(messages) = None;
            }
        }
        let count = result.latency.response.count;
        for one in &mut result.percentiles {
            if is_too_few(count, one.percentile / 100.0, limits) {
                *one = withheld(one);
            }
        }
    }),
};

/// A quantile whose interval is as wide as the quantile.
pub(super) const VAGUE: Check<LoadResult> = Check {
    id: "vague-quantile",
    protects_from: "a quantile that the next run does not reproduce",
    source: "own: the half-width of the 95 % interval from batches is at most 10 % of the quantile; above 50 % it is withheld",
    judge: |result, limits| {
        let usual = QUANTILES
            .iter()
            .filter_map(|quantile| Some((half_width(result, quantile)?, quantile.name.to_owned())));
        let requested = result.percentiles.iter().filter_map(|one| Some((half_width_of(one)?, name(one))));
        let mut vague: Vec<(f64, String)> = usual
            .chain(requested)
            .filter(|(half, _)| *half > limits.of(&thresholds::INTERVAL_SHARE))
            .collect();
        let mut seen = std::collections::BTreeSet::new();
        vague.retain(|(_, name)| seen.insert(name.clone()));
        let Some(worst) = vague.iter().map(|(half, _)| *half).reduce(f64::max) else { return Vec::new() };
        let names: Vec<&str> = vague.iter().map(|(_, name)| name.as_str()).collect();
        let least_vague = vague.iter().map(|(half, _)| *half).fold(f64::INFINITY, f64::min);
        // A far tail often has a wide interval; a median with one deserves a warning.
        let severity = if names.contains(&"p50") { Severity::Warn } else { Severity::Info };
        let fail = limits.of(&thresholds::INTERVAL_FAIL_SHARE);
        vec![Finding::new(
            "vague-quantile",
            severity,
            Measured::percent(worst, limits.of(&thresholds::INTERVAL_SHARE)),
            if worst > fail {
                format!(
                    "the half-width of the 95 % interval of {} is {}; quantiles above {:.0} % are withheld",
                    names.join(", "),
                    percent_range(least_vague, worst),
                    fail * 100.0
                )
            } else {
                format!(
                    "the half-width of the 95 % interval of {} is {}",
                    names.join(", "),
                    percent_range(least_vague, worst)
                )
            },
            "run longer or on a quieter machine; use the interval, not the estimate",
        )]
    },
    withhold: Some(|result, _: &Finding, limits| {
        let lost: Vec<&str> = QUANTILES
            .iter()
            .filter(|quantile| {
                half_width(result, quantile)
                    .is_some_and(|half| half > limits.of(&thresholds::INTERVAL_FAIL_SHARE))
            })
            .map(|quantile| quantile.name)
            .collect();
        // The interval is that of response time. The service time has none, so
        // service times are kept.
        for quantile in QUANTILES.iter().filter(|quantile| lost.contains(&quantile.name)) {
            *(quantile.of)(&mut result.latency.response) = None;
        }
        for one in &mut result.percentiles {
            if half_width_of(one).is_some_and(|half| half > limits.of(&thresholds::INTERVAL_FAIL_SHARE)) {
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
        let max = limits.of(&thresholds::CORRELATION);
        if correlation.abs() <= max {
            return Vec::new();
        }
        vec![Finding::new(
            "correlated-samples",
            Severity::Info,
            Measured::count(correlation, max, ""),
            format!("the rank correlation of consecutive response times is {correlation:.2}"),
            "no action needed: intervals are computed from batches, which allow for correlation",
        )]
    },
    withhold: None,
};

/// Two shares as a range in percent, or as one if they print alike.
fn percent_range(min: f64, max: f64) -> String {
    let (min, max) = (format!("{:.0}", min * 100.0), format!("{:.0}", max * 100.0));
    if min == max { format!("{min} %") } else { format!("{min} to {max} %") }
}

/// The half-width of a quantile's interval, as a share of the quantile.
fn half_width(result: &LoadResult, quantile: &Quantile) -> Option<f64> {
    let mut response = result.latency.response;
    let value = (*(quantile.of)(&mut response)).filter(|value| *value > 0.0)?;
    let interval = (quantile.interval)(&result.response_intervals)?;
    Some((interval.high - interval.low) / 2.0 / value)
}

/// As [`half_width`], for a requested percentile.
fn half_width_of(one: &Percentile) -> Option<f64> {
    let value = one.response_us.filter(|value| *value > 0.0)?;
    let interval = one.response_interval?;
    Some((interval.high - interval.low) / 2.0 / value)
}

/// The requested percentiles, as shares from 0 to 1, with their names.
fn requested(result: &LoadResult) -> impl Iterator<Item = (f64, String)> {
    result.percentiles.iter().map(|one| (one.percentile / 100.0, name(one)))
}

fn name(one: &Percentile) -> String {
    format!("p{}", one.percentile)
}

/// A percentile without the values that the evidence does not support. Bounds are kept.
pub(super) fn withheld(one: &Percentile) -> Percentile {
    Percentile { response_us: None, service_us: None, response_interval: None, ..*one }
}

/// The share of the requests on the thinner side of a quantile.
fn rarer(p: f64) -> f64 {
    p.min(1.0 - p)
}

fn needed(p: f64, limits: &Limits) -> f64 {
    (limits.of(&thresholds::SAMPLES_ABOVE) / rarer(p)).round()
}

fn is_too_few(count: u64, p: f64, limits: &Limits) -> bool {
    (count as f64) < needed(p, limits)
}

fn withhold(latency: &mut LatencySet, is_lost: impl Fn(&Quantile) -> bool) {
    for distribution in
        [&mut latency.response, &mut latency.service, &mut latency.first_byte, &mut latency.last_byte]
    {
        for quantile in QUANTILES.iter().filter(|quantile| is_lost(quantile)) {
            *(quantile.of)(distribution) = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{LoadResult, LowerBounds, Percentile, Range, Severity};

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
            result.findings.iter().any(|one| one.message.contains("1200") && one.message.contains("p99.9"))
        );
        assert_eq!(result.latency.response.at_least.p99_9_us, Some(5e6));
    }

    #[test]
    fn too_few_responses_withhold_the_quantiles_that_they_do_not_support() {
        let run = |count: u64| fired("too-few-samples", |result| result.latency.response.count = count);
        assert_eq!(run(100_000).0, None);
        let (severity, result) = run(99_999);
        assert_eq!(severity, Some(Severity::Info));
        assert!(result.latency.response.p99_us.is_some() && result.latency.response.p99_9_us.is_none());
        let (severity, result) = run(150);
        assert_eq!(severity, Some(Severity::Warn));
        assert_eq!(result.latency.response.p50_us, None);
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
    fn requested_percentiles_are_withheld_like_the_default_ones() {
        let requested = |percentile: f64, half: f64| Percentile {
            percentile,
            response_us: Some(100.0),
            response_at_least_us: None,
            response_interval: Some(Range { low: 100.0 - half, high: 100.0 + half }),
            service_us: Some(90.0),
            service_at_least_us: None,
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
    fn a_wide_interval_fires_and_a_very_wide_one_withholds() {
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
    }

    #[test]
    fn correlated_requests_fire() {
        assert_eq!(fired("correlated-samples", |result| result.serial_correlation = Some(0.04)).0, None);
        let (severity, _) = fired("correlated-samples", |result| result.serial_correlation = Some(0.6));
        assert_eq!(severity, Some(Severity::Info));
    }
}
