//! Leaves bounds of the numbers that a check limits, and withholds those that it makes unknown.

use hoptax_result::{
    Finding, Latency, LatencyBounds, LoadBody, LoadResult, LowerBounds, Percentile, QuantileIntervals, Range,
    TimeBounds,
};

use crate::thresholds::{self, Limits};

/// A usual quantile, with its places in a distribution and in its bounds.
#[derive(Clone, Copy)]
pub(super) struct Quantile {
    pub(super) name: &'static str,
    pub(super) p: f64,
    pub(super) of: fn(&mut Latency) -> &mut Option<f64>,
    pub(super) bounds: fn(&mut LatencyBounds) -> &mut Option<TimeBounds>,
    /// The lower bound that pending responses leave, which has no confidence of its own.
    pub(super) at_least: fn(&mut LowerBounds) -> &mut Option<f64>,
}

pub(super) const QUANTILES: [Quantile; 4] = [
    Quantile {
        name: "p50",
        p: 0.5,
        of: |one| &mut one.p50_us,
        bounds: |all| &mut all.p50_us,
        at_least: |all| &mut all.p50_us,
    },
    Quantile {
        name: "p90",
        p: 0.9,
        of: |one| &mut one.p90_us,
        bounds: |all| &mut all.p90_us,
        at_least: |all| &mut all.p90_us,
    },
    Quantile {
        name: "p99",
        p: 0.99,
        of: |one| &mut one.p99_us,
        bounds: |all| &mut all.p99_us,
        at_least: |all| &mut all.p99_us,
    },
    Quantile {
        name: "p99.9",
        p: 0.999,
        of: |one| &mut one.p99_9_us,
        bounds: |all| &mut all.p99_9_us,
        at_least: |all| &mut all.p99_9_us,
    },
];

/// The ends of a number that its bounds still limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// The truth is within the bounds.
    Both,
    /// The truth may be lower: times contain a delay of unknown length that is not the server's.
    Upper,
    /// The truth may be higher: more requests would have had longer times.
    Lower,
}

impl Ends {
    fn keep(self, bounds: &mut Option<TimeBounds>) {
        if let Some(known) = bounds {
            match self {
                Self::Both => {}
                Self::Upper => known.low_us = None,
                Self::Lower => known.high_us = None,
            }
        }
        *bounds = bounds.filter(|known| *known != TimeBounds::default());
    }
}

pub(super) fn name_of(one: &Percentile) -> String {
    format!("p{}", one.percentile)
}

/// A quantile of response time that the generator may have lengthened.
pub(super) struct Lengthened {
    /// Its name.
    pub(super) name: String,
    /// The time by which it may be longer, us.
    pub(super) us: f64,
    /// The limit of that, us.
    pub(super) limit_us: f64,
}

/// The quantiles of response time that the generator may have lengthened by more than a little.
pub(super) fn lengthened(result: &LoadResult, limits: &Limits) -> Vec<Lengthened> {
    let judge = |name: String, (value, without): (Option<f64>, Option<f64>)| {
        let Added { us, limit_us } = added_by_generator(value?, without?, limits)?;
        Some(Lengthened { name, us, limit_us })
    };
    let (mut response, mut without) = (result.latency.response, result.without_generator.unwrap_or_default());
    let mut bounds = result.bounds;
    let usual = QUANTILES.iter().filter_map(|one| {
        let lower = lower_ends(*(one.bounds)(&mut bounds.service), *(one.bounds)(&mut bounds.response));
        let value = *(one.of)(&mut response);
        judge(one.name.to_owned(), value.map_or(lower, |value| (Some(value), *(one.of)(&mut without))))
    });
    let mut found: Vec<_> = usual.collect();
    for one in &result.percentiles {
        let name = name_of(one);
        if !found.iter().any(|found| found.name == name) {
            let lower = lower_ends(one.service_bounds, one.response_bounds);
            let times = one.response_us.map_or(lower, |value| (Some(value), one.without_generator_us));
            found.extend(judge(name, times));
        }
    }
    found
}

/// The lower bounds of service time and of response time. If pending responses leave no value of a quantile, they show delays of the
/// generator: both are of the same rank, and only the one of response time is without these delays, so without any it is no lower.
fn lower_ends(service: Option<TimeBounds>, response: Option<TimeBounds>) -> (Option<f64>, Option<f64>) {
    let low = |bounds: Option<TimeBounds>| bounds.and_then(|bounds| bounds.low_us);
    (low(service), low(response))
}

/// The part of a time that may be a delay of the generator.
pub(super) struct Added {
    us: f64,
    limit_us: f64,
}

/// The part of a time that may be a delay of the generator; None if it is within its limit. `without_us` is the time without it.
pub(super) fn added_by_generator(value_us: f64, without_us: f64, limits: &Limits) -> Option<Added> {
    let limit_us =
        limits.value(&thresholds::OWN_LAG_US).max(limits.value(&thresholds::OWN_LAG_SHARE) * value_us);
    let us = value_us - without_us;
    (us > limit_us).then_some(Added { us, limit_us })
}

/// Leaves bounds of the quantiles of response and service time with these names, also of the requests of each name.
pub(super) fn to_bounds(result: &mut LoadResult, names: &[String], ends: Ends) {
    let is_limited = |name: &str| names.iter().any(|one| one == name);
    let LoadBody { bounds, latency, percentiles, by_request, .. } = &mut result.body;
    for quantile in QUANTILES.iter().filter(|quantile| is_limited(quantile.name)) {
        for (latency, bounds) in
            [(&mut latency.response, &mut bounds.response), (&mut latency.service, &mut bounds.service)]
        {
            *(quantile.of)(latency) = None;
            ends.keep((quantile.bounds)(bounds));
        }
        for row in by_request.iter_mut() {
            *(quantile.of)(&mut row.response) = None;
            ends.keep((quantile.bounds)(&mut row.bounds));
        }
    }
    for one in percentiles {
        if is_limited(&name_of(one)) {
            (one.response_us, one.response_interval, one.service_us) = (None, None, None);
            ends.keep(&mut one.response_bounds);
            ends.keep(&mut one.service_bounds);
        }
    }
}

/// Leaves an upper bound of the quantiles of service time with these names: it counts until the generator read the response.
pub(super) fn service_to_upper(result: &mut LoadResult, names: &[String]) {
    for quantile in QUANTILES.iter().filter(|quantile| names.iter().any(|name| name == quantile.name)) {
        Ends::Upper.keep((quantile.bounds)(&mut result.bounds.service));
        *(quantile.at_least)(&mut result.latency.service.at_least) = None;
    }
    for one in &mut result.percentiles {
        if names.contains(&name_of(one)) {
            Ends::Upper.keep(&mut one.service_bounds);
            one.service_at_least_us = None;
        }
    }
}

/// Leaves bounds of all times, if the finding does: a warning of the same check leaves the times.
pub(super) fn bound_by(result: &mut LoadResult, finding: &Finding, ends: Ends) {
    if finding.bounds {
        all_to_bounds(result, ends);
    }
}

/// Leaves bounds of everything that response and service time state.
fn all_to_bounds(result: &mut LoadResult, ends: Ends) {
    let mut names: Vec<String> = QUANTILES.iter().map(|quantile| quantile.name.to_owned()).collect();
    names.extend(result.percentiles.iter().map(name_of));
    to_bounds(result, &names, ends);
    others_to_bounds(result);
    let result = &mut result.body;
    let of_rows = result.by_request.iter_mut().map(|row| &mut row.bounds);
    for bounds in [&mut result.bounds.response, &mut result.bounds.service].into_iter().chain(of_rows) {
        for one in bounds.all_mut() {
            ends.keep(one);
        }
    }
    let stages = result.stages.iter_mut().map(|stage| (&mut stage.latency, &mut stage.bounds));
    for (latency, bounds) in stages {
        for (latency, bounds) in
            [(&mut latency.response, &mut bounds.response), (&mut latency.service, &mut bounds.service)]
        {
            *latency = Latency { count: latency.count, at_least: latency.at_least, ..Latency::default() };
            bounds.all_mut().into_iter().for_each(|one| ends.keep(one));
        }
    }
}

/// Leaves bounds of minimum, mean and maximum, and no modes: their peaks are times, too.
pub(super) fn others_to_bounds(result: &mut LoadResult) {
    let LoadBody { latency, by_request, modes, .. } = &mut result.body;
    let of_rows = by_request.iter_mut().map(|row| &mut row.response);
    [&mut latency.response, &mut latency.service].into_iter().chain(of_rows).for_each(clear_others);
    modes.clear();
}

/// Leaves the quantiles alone.
pub(super) fn clear_others(of: &mut Latency) {
    (of.min_us, of.mean_us, of.standard_deviation_us, of.max_us) = (None, None, None, None);
}

/// Narrows the bounds of quantiles of response time by those of the quantiles beside them: the lower bound of p90 holds for p99, and the
/// upper bound of p99 for p90. Response time is no shorter than service time, so lower bounds of service time hold for it, too. The
/// interval of a stated quantile counts as its bounds. Bounds that contradict each other stay.
pub(crate) fn order_bounds(result: &mut LoadResult) {
    let LoadBody { bounds, latency, response_intervals, percentiles, by_request, .. } = &mut result.body;
    order(&mut latency.response, &mut bounds.response, &mut bounds.service, response_intervals, percentiles);
    for row in by_request {
        // Requests of a name have no service time of their own.
        let mut service = LatencyBounds::default();
        order(&mut row.response, &mut row.bounds, &mut service, &row.intervals, &mut []);
    }
}

fn order(
    latency: &mut Latency,
    response: &mut LatencyBounds,
    service: &mut LatencyBounds,
    intervals: &QuantileIntervals,
    percentiles: &mut [Percentile],
) {
    let intervals = [intervals.p50_us, intervals.p90_us, intervals.p99_us, intervals.p99_9_us];
    let ends = |is_stated: bool, interval: Option<Range>, bounds: Option<TimeBounds>| {
        let of_interval = |range: Range| TimeBounds { low_us: Some(range.low), high_us: Some(range.high) };
        if is_stated { interval.map(of_interval) } else { bounds }.unwrap_or_default()
    };
    let mut known: Vec<(f64, TimeBounds)> = QUANTILES
        .iter()
        .zip(intervals)
        .map(|(one, interval)| {
            let is_stated = (one.of)(latency).is_some();
            (100.0 * one.p, ends(is_stated, interval, *(one.bounds)(response)))
        })
        .collect();
    known.extend(percentiles.iter().map(|one| {
        (one.percentile, ends(one.response_us.is_some(), one.response_interval, one.response_bounds))
    }));
    let at_least = |percentile: f64, bounds: Option<TimeBounds>| {
        bounds?.low_us.map(|low_us| (percentile, TimeBounds::at_least(low_us)))
    };
    known.extend(QUANTILES.iter().filter_map(|one| at_least(100.0 * one.p, *(one.bounds)(service))));
    known.extend(percentiles.iter().filter_map(|one| at_least(one.percentile, one.service_bounds)));
    let narrow = |percentile: f64, bounds: &mut TimeBounds| {
        let lower = known.iter().filter(|(other, _)| *other <= percentile);
        let upper = known.iter().filter(|(other, _)| *other >= percentile);
        let narrowed = TimeBounds {
            low_us: lower.filter_map(|(_, ends)| ends.low_us).reduce(f64::max),
            high_us: upper.filter_map(|(_, ends)| ends.high_us).reduce(f64::min),
        };
        if narrowed.low_us.zip(narrowed.high_us).is_none_or(|(low, high)| low <= high) {
            *bounds = narrowed;
        }
    };
    for one in QUANTILES.iter().filter(|one| (one.of)(latency).is_none()) {
        if let Some(bounds) = (one.bounds)(response) {
            narrow(100.0 * one.p, bounds);
        }
    }
    for one in percentiles.iter_mut().filter(|one| one.response_us.is_none()) {
        if let Some(bounds) = &mut one.response_bounds {
            narrow(one.percentile, bounds);
        }
    }
}

/// Withholds everything that describes the subject. The evidence (book, send lag, generator) is
/// kept.
pub(crate) fn withhold_all(result: &mut LoadResult) {
    let body = &mut result.body;
    let stages = body.stages.iter_mut().map(|stage| &mut stage.rate);
    for rate in stages.chain([&mut body.rate]) {
        rate.achieved = None;
    }
    withhold_times(result);
}

/// Withholds times and their histograms; the number of responses is kept.
pub(super) fn withhold_times(result: &mut LoadResult) {
    let result = &mut result.body;
    result.histograms = None;
    let stages = result
        .stages
        .iter_mut()
        .map(|stage| (&mut stage.latency, &mut stage.bounds, &mut stage.without_generator));
    let whole = (&mut result.latency, &mut result.bounds, &mut result.without_generator);
    for (latency, bounds, without_generator) in stages.chain([whole]) {
        for one in
            [&mut latency.response, &mut latency.service, &mut latency.first_byte, &mut latency.last_byte]
        {
            *one = Latency { count: one.count, ..Latency::default() };
        }
        (*bounds, *without_generator) = Default::default();
    }
    if let Some(messages) = &mut result.messages {
        *messages = Latency { count: messages.count, ..Latency::default() };
    }
    result.response_intervals = QuantileIntervals::default();
    for row in &mut result.by_request {
        row.response = Latency { count: row.response.count, ..Latency::default() };
        (row.bounds, row.intervals, row.without_generator) = Default::default();
    }
    for one in &mut result.percentiles {
        *one = Percentile { percentile: one.percentile, ..Percentile::default() };
    }
    result.outcomes.remove("answered");
    result.modes.clear();
    if let Some(connections) = &mut result.by_connection {
        connections.p50_us.clear();
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ByConnection, Known, TimeOf, sample};

    use super::*;

    const P99: TimeOf = TimeOf::Percentile(99.0);

    fn limited(ends: Ends) -> LoadResult {
        let mut result = sample::load();
        let bounds = Some(TimeBounds { low_us: Some(1.0), high_us: Some(2.0) });
        result.percentiles = vec![Percentile {
            percentile: 95.0,
            response_us: Some(1.5),
            response_bounds: bounds,
            ..Percentile::default()
        }];
        all_to_bounds(&mut result, ends);
        result
    }

    #[test]
    fn what_is_limited_keeps_the_bounds_that_hold() {
        for (ends, expected) in [
            (Ends::Both, (Some(192.0), Some(204.0))),
            (Ends::Upper, (None, Some(204.0))),
            (Ends::Lower, (Some(192.0), None)),
        ] {
            let result = limited(ends);
            assert_eq!(result.response(P99).ends(), expected, "{ends:?}");
            assert!(matches!(result.response(TimeOf::Mean), Known::Bounded(_)), "{ends:?}");
            assert_eq!(result.rate.achieved, Some(20_000.0));
        }
        let upper = limited(Ends::Upper).response(TimeOf::Percentile(95.0)).ends();
        assert_eq!(upper, (None, Some(2.0)));
    }

    #[test]
    fn single_quantiles_are_limited_alone() {
        let mut result = sample::load();
        to_bounds(&mut result, &["p99".to_owned()], Ends::Both);
        assert!(matches!(result.response(P99), Known::Bounded(_)));
        assert_eq!(result.response(TimeOf::Percentile(90.0)), Known::Measured(150.0));
        service_to_upper(&mut result, &["p99".to_owned()]);
        assert_eq!(result.service(P99).ends(), (None, Some(194.0)));
    }

    #[test]
    fn times_that_the_generator_lengthened_are_found() {
        let mut result = sample::load();
        let found = |result: &LoadResult| -> Vec<String> {
            lengthened(result, &Limits::default()).into_iter().map(|one| one.name).collect()
        };
        assert_eq!(found(&result), Vec::<String>::new());
        if let Some(without) = &mut result.without_generator {
            without.p99_us = Some(149.0);
        }
        assert_eq!(found(&result), ["p99"]);
        result.percentiles = vec![Percentile {
            percentile: 95.0,
            response_us: Some(170.0),
            without_generator_us: Some(100.0),
            ..Percentile::default()
        }];
        assert_eq!(found(&result), ["p99", "p95"]);
    }

    #[test]
    fn a_bound_is_no_lower_than_that_of_the_quantile_below_and_no_higher_than_that_above() {
        let mut result = sample::load();
        result.response_intervals.p50_us = Some(Range { low: 120.0, high: 130.0 });
        result.bounds.service = LatencyBounds::default();
        to_bounds(&mut result, &["p90", "p99", "p99.9"].map(str::to_owned), Ends::Both);
        let bounds = |low_us, high_us| Some(TimeBounds { low_us, high_us });
        result.bounds.response.p90_us = bounds(Some(110.0), None);
        result.bounds.response.p99_us = bounds(Some(150.0), Some(900.0));
        result.bounds.response.p99_9_us = bounds(None, Some(800.0));
        order_bounds(&mut result);
        let of = |result: &LoadResult, p| result.response(TimeOf::Percentile(p)).ends();
        assert_eq!(of(&result, 90.0), (Some(120.0), Some(800.0)), "of p50 and of p99.9");
        assert_eq!(of(&result, 99.0), (Some(150.0), Some(800.0)));
        assert_eq!(of(&result, 99.9), (Some(150.0), Some(800.0)));
        // Percentiles that were asked for, too; and a contradiction stays as it is.
        result.percentiles = vec![Percentile {
            percentile: 95.0,
            response_bounds: bounds(None, Some(1_000.0)),
            ..Percentile::default()
        }];
        order_bounds(&mut result);
        assert_eq!(of(&result, 95.0), (Some(120.0), Some(800.0)));
        result.bounds.response.p99_us = bounds(Some(110.0), Some(115.0));
        order_bounds(&mut result);
        assert_eq!(of(&result, 99.0), (Some(110.0), Some(115.0)), "p50 is at least 120");
    }

    #[test]
    fn a_lower_bound_of_service_time_holds_for_response_time() {
        let mut result = sample::load();
        to_bounds(&mut result, &["p99".to_owned()], Ends::Both);
        result.bounds.response.p99_us = Some(TimeBounds::at_least(120.0));
        result.bounds.service.p99_us = Some(TimeBounds::at_least(160.0));
        result.percentiles = vec![Percentile {
            percentile: 99.5,
            response_bounds: Some(TimeBounds::at_least(120.0)),
            service_bounds: Some(TimeBounds::at_least(170.0)),
            ..Percentile::default()
        }];
        order_bounds(&mut result);
        let low = |percentile| result.response(TimeOf::Percentile(percentile)).ends().0;
        assert_eq!((low(99.0), low(99.5)), (Some(160.0), Some(170.0)));
    }

    #[test]
    fn withheld_times_leave_no_bounds() {
        let mut result = sample::load();
        let requests = vec![400.0, 500.0];
        let p50_us = vec![90.0, 110.0];
        result.by_connection =
            Some(ByConnection { total: 2, requests: requests.clone(), with_p50: 2, p50_us });
        withhold_times(&mut result);
        assert_eq!((result.response(P99), result.service(P99)), (Known::Unknown, Known::Unknown));
        assert!(result.without_generator.is_none() && result.rate.achieved.is_some());
        let connections = result.body.by_connection.unwrap();
        assert_eq!((connections.requests, connections.p50_us), (requests, Vec::new()), "counts are kept");
    }
}
