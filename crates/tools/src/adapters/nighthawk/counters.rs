//! The counters of Nighthawk, and the numbers of requests that follow from them.

use hoptax_result::CountRange;

use crate::reported::Sum;
use crate::text::sum;

/// Requests by outcome. Each request is in exactly one counter: that of its status, resets, or failed connections
/// (<https://github.com/envoyproxy/nighthawk/blob/main/source/client/benchmark_client_impl.cc>). Counters of 0 are not listed. Requests in
/// excess of the pool (`pool_overflow`) were never sent. The latency covers all responses, whatever their status.
pub(super) struct Counts {
    pub(super) answered: Option<CountRange>,
    pub(super) failed: Option<CountRange>,
    pub(super) sums: Vec<Sum>,
}

impl Counts {
    /// Computed from the counters of the benchmark, if any, and from the number of samples of the selected statistic. `of_responses` is the
    /// number of samples of the response latency.
    pub(super) fn new(counters: &[Counter<'_>], samples: Option<u64>, of_responses: Option<u64>) -> Self {
        let own: Vec<&Counter<'_>> =
            counters.iter().filter(|counter| counter.of_benchmark().is_some()).collect();
        // Without counters, or with an unreadable one, a response may have any status.
        if own.is_empty() || own.iter().any(|counter| counter.count.is_none()) {
            let answered = samples.map(|samples| CountRange { at_least: 0, at_most: samples });
            return Self { answered, failed: None, sums: Vec::new() };
        }
        let of = |names: &[&str]| {
            let counts =
                own.iter().filter(|counter| counter.of_benchmark().is_some_and(|name| names.contains(&name)));
            sum(counts.filter_map(|counter| counter.count))
        };
        let answered = of(&["http_1xx", "http_2xx", "http_3xx"]);
        let refused = of(&["http_4xx", "http_5xx", "http_xxx"]);
        let without = of(&["stream_resets", "pool_connection_failure"]);
        let (responses, failed) = (answered.saturating_add(refused), refused.saturating_add(without));
        let samples = of_responses.unwrap_or(responses);
        // Responses of the warm-up are counted but have no time. An export of hoptax has only the times of answered requests.
        let tolerated = (samples as f64 * WARM_UP).ceil() as u64 + FEWEST_OF_WARM_UP;
        let timed = if answered.abs_diff(samples) <= tolerated { answered } else { responses };
        let whole = CountRange { at_least: 0, at_most: samples.saturating_add(tolerated) };
        // Additional samples may have had any status.
        let more = samples.saturating_sub(responses.saturating_add(tolerated));
        let more = if more > 0 { samples.saturating_sub(responses) } else { 0 };
        let range = |count: u64| Some(CountRange { at_least: count, at_most: count.saturating_add(more) });
        Self {
            answered: range(answered),
            failed: range(failed),
            sums: vec![Sum { name: "responses by status, by their times", parts: timed, whole }],
        }
    }
}

/// Tolerance for responses of the warm-up: a share of all responses, and a minimum number.
const WARM_UP: f64 = 0.01;

const FEWEST_OF_WARM_UP: u64 = 16;

/// A counter in the output; its count is none if the value is not a count.
pub(super) struct Counter<'a> {
    name: &'a str,
    pub(super) count: Option<u64>,
}

impl<'a> Counter<'a> {
    /// Before 2020, names begin with `client.`.
    pub(super) fn new(name: &'a str, count: Option<u64>) -> Self {
        Self { name: name.strip_prefix("client.").unwrap_or(name), count }
    }

    /// Its name, if it is a counter of the benchmark.
    pub(super) fn of_benchmark(&self) -> Option<&'a str> {
        self.name.strip_prefix("benchmark.")
    }
}
