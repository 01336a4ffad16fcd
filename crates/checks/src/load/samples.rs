//! A quantile must rest on enough requests, and on all of them.

use hoptax_result::{Finding, Latency, LoadResult, Severity};

use crate::thresholds::SAMPLES_ABOVE_QUANTILE;
use crate::{Check, Measured, finding};

/// The quantiles that are printed, with how to reach them.
type Quantile = (&'static str, f64, fn(&mut Latency) -> &mut Option<f64>);
const QUANTILES: [Quantile; 4] = [
    ("p50", 0.5, |latency| &mut latency.p50_us),
    ("p90", 0.9, |latency| &mut latency.p90_us),
    ("p99", 0.99, |latency| &mut latency.p99_us),
    ("p99.9", 0.999, |latency| &mut latency.p99_9_us),
];

/// Requests without an answer are slow requests of unknown length.
pub(super) const UNFINISHED: Check<LoadResult> = Check {
    id: "unfinished",
    protects_from: "slow requests left out of the quantiles because they had not ended",
    source: "right-censoring: a quantile p is unknown when the censored share reaches 1 - p; half of that is allowed",
    judge: |result| {
        let share = censored_share(result);
        let lost: Vec<&str> =
            QUANTILES.iter().filter(|(_, p, _)| share >= (1.0 - p) / 2.0).map(|(name, ..)| *name).collect();
        if lost.is_empty() {
            return Vec::new();
        }
        vec![finding(
            "unfinished",
            Severity::Warn,
            Measured::percent(share, first_lost(share)),
            format!(
                "{:.3} % of the requests were unsent, unfinished or timed out: {} of response time cannot be known and \
                 {} withheld",
                share * 100.0,
                lost.join(", "),
                if lost.len() == 1 { "is" } else { "are" }
            ),
            "lower the rate, or raise --timeout so that slow answers are waited for",
        )]
    },
    withhold: Some(|result, _| {
        let share = censored_share(result);
        withhold(result, |p| share >= (1.0 - p) / 2.0);
    }),
};

/// Too few requests above the quantile.
pub(super) const TOO_FEW: Check<LoadResult> = Check {
    id: "too-few-samples",
    protects_from: "a tail quantile that a handful of requests decided",
    source: "our own: n (1 - p) of at least 100",
    judge: |result| {
        let count = result.latency.response.count;
        let lost: Vec<&Quantile> = QUANTILES.iter().filter(|(_, p, _)| is_too_few(count, *p)).collect();
        let Some((_, lowest, _)) = lost.first() else { return Vec::new() };
        let names: Vec<&str> = lost.iter().map(|(name, ..)| *name).collect();
        // The far tail of a short run is nobody's surprise; a median that nothing supports is.
        let severity = if *lowest < 0.999 { Severity::Warn } else { Severity::Info };
        vec![finding(
            "too-few-samples",
            severity,
            Measured::count(count as f64, needed(*lowest), "requests"),
            format!(
                "{count} answers do not support {}: {} withheld",
                names.join(", "),
                if names.len() == 1 { "it is" } else { "they are" }
            ),
            "lengthen the duration or raise the rate",
        )]
    },
    withhold: Some(|result, _: &Finding| {
        let count = result.latency.response.count;
        withhold(result, |p| is_too_few(count, p));
    }),
};

fn censored_share(result: &LoadResult) -> f64 {
    let book = &result.book;
    if book.planned == 0 {
        return 0.0;
    }
    (book.unsent + book.unfinished + book.timed_out) as f64 / book.planned as f64
}

fn first_lost(share: f64) -> f64 {
    QUANTILES.iter().map(|(_, p, _)| (1.0 - p) / 2.0).find(|allowed| share >= *allowed).unwrap_or(0.0)
}

fn needed(p: f64) -> f64 {
    (SAMPLES_ABOVE_QUANTILE / (1.0 - p)).round()
}

fn is_too_few(count: u64, p: f64) -> bool {
    (count as f64) < needed(p)
}

fn withhold(result: &mut LoadResult, is_lost: impl Fn(f64) -> bool) {
    let latency = &mut result.latency;
    for distribution in [&mut latency.response, &mut latency.service, &mut latency.first_byte] {
        for (_, p, quantile) in QUANTILES {
            if is_lost(p) {
                *quantile(distribution) = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::Severity;

    use crate::load::tests::fired;

    #[test]
    fn unfinished_requests_take_the_tail_with_them() {
        let (severity, result) = fired("unfinished", |result| {
            result.plan.max_error_share = 0.1;
            result.book.answered -= 1_200;
            result.book.unfinished += 1_200;
        });
        assert_eq!(severity, Some(Severity::Warn));
        let response = result.latency.response;
        assert!(response.p90_us.is_some() && response.p99_us.is_none() && response.p99_9_us.is_none());
        assert!(result.latency.send_lag.p99_us.is_some());
    }

    #[test]
    fn too_few_answers_take_the_quantiles_that_they_cannot_carry() {
        let run = |count: u64| fired("too-few-samples", |result| result.latency.response.count = count);
        assert_eq!(run(100_000).0, None);
        let (severity, result) = run(99_999);
        assert_eq!(severity, Some(Severity::Info));
        assert!(result.latency.response.p99_us.is_some() && result.latency.response.p99_9_us.is_none());
        let (severity, result) = run(150);
        assert_eq!(severity, Some(Severity::Warn));
        assert_eq!(result.latency.response.p50_us, None);
    }
}
