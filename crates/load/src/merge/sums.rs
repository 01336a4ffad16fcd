//! Sums over runs: histograms, counts and rates.

use std::collections::{BTreeMap, BTreeSet};

use hdrhistogram::{Counter, Histogram};
use hoptax_result::{
    Book, Generator, Histogram as Encoded, Latency, LatencySet, LoadHistograms, LoadPlan, LoadRate,
    LoadResult, Lookups, Reasons, TlsResult, Waiting,
};

use super::Run;
use crate::by_key::add_by_key;
use crate::distribution::{Moments, histogram, summary};
use crate::encoded::{decode, encode};
use crate::handshakes::supported;
use crate::times::Times;

/// A run with everything that a merge needs.
pub(super) struct Part<'a> {
    pub(super) file: &'a str,
    pub(super) result: &'a LoadResult,
    pub(super) histograms: &'a LoadHistograms,
    /// Start of its record, seconds since 1970.
    pub(super) from_s: f64,
}

impl<'a> Part<'a> {
    /// None without histograms or the time of the record.
    pub(super) fn new(run: &'a Run) -> Option<Self> {
        Some(Self {
            file: &run.file,
            result: &run.result,
            histograms: run.result.histograms.as_ref()?,
            from_s: run.result.recorded_from_unix_s?,
        })
    }

    /// End of its record, seconds since 1970.
    pub(super) fn to_s(&self) -> f64 {
        self.from_s + self.result.recorded_s
    }
}

/// The reasons of the failures of all runs.
pub(super) fn reasons(parts: &[Part<'_>]) -> Reasons {
    let mut all = Reasons::default();
    for part in parts {
        all.merge(&part.result.reasons);
    }
    all
}

/// The sum of one histogram over the runs.
pub(super) fn sum(
    parts: &[Part<'_>],
    of: impl Fn(&LoadHistograms) -> Option<&Encoded>,
) -> Result<Histogram<u64>, String> {
    let mut all = histogram();
    add_to(&mut all, parts, of)?;
    Ok(all)
}

/// Adds one histogram of each run.
pub(super) fn add_to<C: Counter>(
    all: &mut Histogram<C>,
    parts: &[Part<'_>],
    of: impl Fn(&LoadHistograms) -> Option<&Encoded>,
) -> Result<(), String> {
    for part in parts {
        if let Some(encoded) = of(part.histograms) {
            let invalid = || format!("`{}` has a damaged histogram: run that load again", part.file);
            all.add(decode::<C>(encoded).ok_or_else(invalid)?).map_err(|_| invalid())?;
        }
    }
    Ok(())
}

/// Mean and standard deviation of all times together, from those of each run (Chan, Golub and `LeVeque`, "Updating Formulae and
/// a Pairwise Algorithm for Computing Sample Variances", 1979). Unknown if they are unknown for a run that has times.
pub(super) fn moments<'a>(latencies: impl Iterator<Item = &'a Latency> + Clone) -> Moments {
    let overflow = latencies.clone().map(|one| one.overflow).sum();
    let unknown = Moments { overflow, ..Moments::default() };
    let (mut count, mut mean_us, mut squares) = (0.0, 0.0, 0.0);
    for one in latencies.filter(|one| one.count > 0) {
        let its_count = one.count as f64;
        // A single time has no deviation.
        let its_deviation_us = if one.count == 1 { Some(0.0) } else { one.standard_deviation_us };
        let (Some(its_mean_us), Some(its_deviation_us)) = (one.mean_us, its_deviation_us) else {
            return unknown;
        };
        let total = count + its_count;
        let difference = its_mean_us - mean_us;
        mean_us += difference * its_count / total;
        squares +=
            its_deviation_us.powi(2) * (its_count - 1.0) + difference.powi(2) * count * its_count / total;
        count = total;
    }
    if count < 1.0 {
        return unknown;
    }
    let standard_deviation_us = (count > 1.0).then(|| (squares / (count - 1.0)).sqrt());
    Moments { overflow, mean_us: Some(mean_us), standard_deviation_us }
}

/// The distributions, and their histograms.
pub(super) fn latencies(parts: &[Part<'_>], times: &Times) -> Result<(LatencySet, LoadHistograms), String> {
    let pooled =
        |of: fn(&LatencySet) -> &Latency| moments(parts.iter().map(move |part| of(&part.result.latency)));
    let added = |of: fn(&LatencySet) -> &Latency,
                 encoded: fn(&LoadHistograms) -> Option<&Encoded>|
     -> Result<(Latency, Option<Encoded>), String> {
        let all = sum(parts, encoded)?;
        Ok((summary(&all, pooled(of), None), encode(&all)))
    };
    let send_lag = added(|set| &set.send_lag, |all| all.send_lag.as_ref())?;
    let own_lag = added(|set| &set.own_lag, |all| all.own_lag.as_ref())?;
    let first_byte = added(|set| &set.first_byte, |all| all.first_byte.as_ref())?;
    let last_byte = added(|set| &set.last_byte, |all| all.last_byte.as_ref())?;
    let connect = added(|set| &set.connect, |all| all.connect.as_ref())?;
    let (pending_response, pending_service) = (&times.pending_response, &times.pending_service);
    let set = LatencySet {
        response: summary(&times.response, pooled(|set| &set.response), pending_response.as_ref()),
        service: summary(&times.service, pooled(|set| &set.service), pending_service.as_ref()),
        send_lag: send_lag.0,
        own_lag: own_lag.0,
        first_byte: first_byte.0,
        last_byte: last_byte.0,
        connect: connect.0,
    };
    let histograms = LoadHistograms {
        response: encode(&times.response),
        pending_response: pending_response.as_ref().and_then(encode),
        without_generator: times.without_generator.as_ref().and_then(encode),
        service: encode(&times.service),
        pending_service: pending_service.as_ref().and_then(encode),
        send_lag: send_lag.1,
        own_lag: own_lag.1,
        first_byte: first_byte.1,
        last_byte: last_byte.1,
        connect: connect.1,
        ..LoadHistograms::default()
    };
    Ok((set, histograms))
}

/// Response times without the delays of the generator; None unless all runs have them.
pub(super) fn without_generator(parts: &[Part<'_>]) -> Result<Option<Histogram<u64>>, String> {
    let is_known = parts.iter().all(|part| part.result.without_generator.is_some());
    if is_known { sum(parts, |all| all.without_generator.as_ref()).map(Some) } else { Ok(None) }
}

/// The summary of response times without the delays of the generator.
pub(super) fn without_generator_summary(parts: &[Part<'_>], times: &Times) -> Option<Latency> {
    let latencies = parts.iter().filter_map(|part| part.result.without_generator.as_ref());
    times.without_generator.as_ref().map(|all| summary(all, moments(latencies), None))
}

/// Times between messages, and their histogram; None if no run has any.
pub(super) fn messages(parts: &[Part<'_>]) -> Result<(Option<Latency>, Option<Encoded>), String> {
    let all = sum(parts, |histograms| histograms.messages.as_ref())?;
    let latencies = parts.iter().filter_map(|part| part.result.messages.as_ref());
    let latency = latencies.clone().next().map(|_| summary(&all, moments(latencies), None));
    Ok((latency, encode(&all)))
}

type ByOutcome<T> = BTreeMap<String, T>;

/// Response times of failed requests by outcome, and their histograms.
pub(super) fn outcomes(parts: &[Part<'_>]) -> Result<(ByOutcome<Latency>, ByOutcome<Encoded>), String> {
    let names: BTreeSet<&String> = parts.iter().flat_map(|part| part.histograms.outcomes.keys()).collect();
    let (mut latencies, mut encoded) = (BTreeMap::new(), BTreeMap::new());
    for name in names {
        let all = sum(parts, |histograms| histograms.outcomes.get(name))?;
        let of_runs = parts.iter().filter_map(|part| part.result.outcomes.get(name));
        latencies.insert(name.clone(), summary(&all, moments(of_runs), None));
        encoded.extend(encode(&all).map(|all| (name.clone(), all)));
    }
    Ok((latencies, encoded))
}

/// TLS handshakes, and the histogram of their durations. Version and cipher are those of the first run with TLS.
pub(super) fn tls(parts: &[Part<'_>]) -> Result<(Option<TlsResult>, Option<Encoded>), String> {
    let all = parts.iter().filter_map(|part| part.result.tls.as_ref());
    let Some(first) = all.clone().next() else { return Ok((None, None)) };
    let durations = sum(parts, |histograms| histograms.handshake.as_ref())?;
    let total = |of: fn(&TlsResult) -> u64| all.clone().map(of).sum::<u64>();
    let (full, resumed) = (total(|tls| tls.full_handshakes), total(|tls| tls.resumed_handshakes));
    let tls = TlsResult {
        full_handshakes: full,
        resumed_handshakes: resumed,
        hello_retry_requests: total(|tls| tls.hello_retry_requests),
        resumption_share: resumed as f64 / (full + resumed).max(1) as f64,
        handshake: supported(summary(&durations, moments(all.clone().map(|tls| &tls.handshake)), None)),
        ..first.clone()
    };
    Ok((Some(tls), encode(&durations)))
}

/// Counts by name.
pub(super) fn counts<K: Ord + Clone>(
    parts: &[Part<'_>],
    of: impl Fn(&LoadResult) -> &BTreeMap<K, u64>,
) -> BTreeMap<K, u64> {
    let mut all = BTreeMap::new();
    for part in parts {
        add_by_key(&mut all, of(part.result));
    }
    all
}

pub(super) fn book(parts: &[Part<'_>]) -> Book {
    let mut all = Book::default();
    for part in parts {
        all.add(&part.result.book);
    }
    all
}

/// Sums of waiting requests. The maxima of the runs are added, although they may have been at different times.
pub(super) fn waiting(parts: &[Part<'_>]) -> Waiting {
    let of_runs = parts.iter().map(|part| part.result.waiting);
    Waiting {
        most: of_runs.clone().map(|waiting| waiting.most).sum(),
        total_s: of_runs.map(|waiting| waiting.total_s).sum(),
    }
}

pub(super) fn rate(parts: &[Part<'_>]) -> LoadRate {
    let rates = parts.iter().map(|part| part.result.rate);
    LoadRate {
        target: rates.clone().map(|rate| rate.target).sum(),
        offered: rates.clone().map(|rate| rate.offered).sum(),
        achieved: rates.map(|rate| rate.achieved).sum(),
    }
}

pub(super) fn lookups(parts: &[Part<'_>]) -> Option<Lookups> {
    let of_runs = parts.iter().filter_map(|part| part.result.lookups.as_ref());
    of_runs.clone().next()?;
    let total = |of: fn(&Lookups) -> u64| of_runs.clone().map(of).sum();
    Some(Lookups {
        done: total(|lookups| lookups.done),
        failed: total(|lookups| lookups.failed),
        changes: total(|lookups| lookups.changes),
        servers: distinct(of_runs.clone().flat_map(|lookups| &lookups.servers)),
    })
}

/// The plan of all runs: connections, workers and numbers of requests are added.
pub(super) fn plan(first: &LoadPlan, parts: &[Part<'_>]) -> LoadPlan {
    let plans = parts.iter().map(|part| &part.result.plan);
    let mut plan = LoadPlan { share: None, ..first.clone() };
    plan.connections = plans.clone().map(|plan| plan.connections).sum();
    plan.workers = plans.clone().map(|plan| plan.workers).sum();
    plan.request_limit = plans.clone().map(|plan| plan.request_limit).sum();
    plan.duration_s = plans.clone().map(|plan| plan.duration_s).fold(0.0, f64::max);
    plan.warmup_s = plans.clone().map(|plan| plan.warmup_s).fold(f64::INFINITY, f64::min);
    plan.max_error_share = plans.clone().map(|plan| plan.max_error_share).fold(f64::INFINITY, f64::min);
    plan.never_halted = plans.clone().all(|plan| plan.never_halted);
    plan.network.ramp_up_s = plans.clone().map(|plan| plan.network.ramp_up_s).fold(0.0, f64::max);
    plan.network.servers = distinct(plans.clone().flat_map(|plan| &plan.network.servers));
    plan.network.source_addresses = distinct(plans.flat_map(|plan| &plan.network.source_addresses));
    plan
}

/// Resource use of all generators. Shares of a machine cannot be added, so the largest one counts.
pub(super) fn generator(parts: &[Part<'_>]) -> Generator {
    let all = parts.iter().map(|part| &part.result.generator);
    let largest = |of: fn(&Generator) -> f64| all.clone().map(of).fold(0.0, f64::max);
    Generator {
        cpu_seconds: all.clone().map(|one| one.cpu_seconds).sum(),
        run_delay_us: all.clone().map(|one| one.run_delay_us).sum(),
        wall_seconds: largest(|one| one.wall_seconds),
        steal_share: largest(|one| one.steal_share),
        pressure_share: all.clone().filter_map(|one| one.pressure_share).reduce(f64::max),
        throttled: all.clone().map(|one| one.throttled).sum(),
        clock_read_ns: largest(|one| one.clock_read_ns),
        clock_step_back_ns: all.clone().map(|one| one.clock_step_back_ns).max().unwrap_or_default(),
        workers: all.flat_map(|one| one.workers.clone()).collect(),
    }
}

fn distinct<'a>(all: impl Iterator<Item = &'a String>) -> Vec<String> {
    all.collect::<BTreeSet<_>>().into_iter().cloned().collect()
}
