//! Compares measured compositions with predictions from the single functions and plain proxies of the same study.

use hoptax_result::{
    ArmResult, CheckedComposition, ConnectionTls, ErrorSummary, PlannedFunction, SizeCheckBody,
    SizeCheckResult, SizeSide, StudyResult, UncheckedComposition,
};
use thiserror::Error;

use crate::size::arms::{hops, is_composition, plain_traffic, reference};
use crate::size::busy::{Placed, Placement, Processors};
use crate::size::check_response::{self, chain_times, checked_response};
use crate::size::graph::{Called, Service, Traffic};
use crate::size::items::Items;
use crate::size::learn::{Plain, Source};
use crate::size::measured_at::MeasuredAt;
use crate::size::memory::LearnedItems;
use crate::size::proxy::{LearnedFlow, Proxy};
use crate::size::sharing::Sharing;
use crate::size::sum::Sum;
use crate::size::times::{AllTimes, states_response_times};

/// Reason why a study has nothing to check.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SizeCheckError {
    /// The result has no rounds.
    #[error(
        "the result of `{0}` has no rounds to take differences in: use the result of a single sitting, in the current format"
    )]
    NoRounds(String),
    /// No arm is a composition.
    #[error(
        "`{0}` has no arm with several functions or several proxies, besides chains of plain proxies to predict others from: use a study \
         such as `prediction`, which measures compositions and what they consist of"
    )]
    NoComposition(String),
}

/// Predicts each composition of `study`, an arm with several functions or several proxies, at the rates at which it was measured. The
/// prediction uses the arms with one function, the plain proxies, and the shortest chain of plain proxies with each kind of request. These
/// chains show the CPU cost of sharing processors, and are not predicted themselves.
///
/// **Method.** The prediction is that of [`crate::size::size_on()`], for a chain of proxies with a worker for each processor. The
/// measurement is the sum of the plain proxy that the composition is compared with and the cost of the composition. The difference is
/// computed within rounds, so that the error of the baseline and the speed of the machine count once ([`Sum::interval`]). Response times
/// are predicted at the busy share of all proxies of the composition, which share their processors. Without a chain of plain proxies, the
/// CPU cost of sharing is missing, and the composition is marked as extrapolated.
///
/// # Errors
/// If the study has no rounds or no composition.
pub fn check(study: &StudyResult) -> Result<SizeCheckResult, SizeCheckError> {
    if study.rounds.is_empty() {
        return Err(SizeCheckError::NoRounds(study.name.clone()));
    }
    let sources = [Source::new(0, study)];
    let [source] = &sources;
    let is_part = |arm: &ArmResult| {
        let traffic = reference(study, arm).and_then(plain_traffic);
        let sharing = traffic.and_then(|traffic| Sharing::learn(&sources, &traffic));
        sharing.is_some_and(|sharing| sharing.arm().id == arm.id)
    };
    let compositions = study.arms.iter().filter(|arm| is_composition(arm));
    let (chains, arms): (Vec<&ArmResult>, Vec<&ArmResult>) = compositions.partition(|arm| is_part(arm));
    if arms.is_empty() {
        return Err(SizeCheckError::NoComposition(study.name.clone()));
    }
    let processors = Processors::Shared(study.environment.proxy_cpus.len().max(1) as u32);
    let mut times = AllTimes::new(&sources);
    let (mut compositions, mut left_out) = (Vec::new(), Vec::new());
    let (mut response_times, mut response_times_left_out) = (Vec::new(), Vec::new());
    for arm in arms {
        let leave_out = |load: Option<&str>, reason| UncheckedComposition {
            arm: arm.id.clone(),
            load: load.map(str::to_owned),
            reason,
        };
        let parts = parts(source, arm);
        let chain = match parts.as_ref().map(|parts| learn(source, parts)) {
            Ok(Ok(chain)) => chain,
            Ok(Err(reason)) => {
                left_out.push(leave_out(None, reason));
                continue;
            }
            Err(reason) => {
                left_out.push(leave_out(None, reason.clone()));
                continue;
            }
        };
        let sharing = || Sharing::learn(&sources, &parts.as_ref().ok()?.traffic);
        let placement = match chain.len() {
            1 => Placement { processors: Processors::Own, sharing: None },
            _ => Placement { processors, sharing: sharing() },
        };
        let placed = Placed { proxies: &chain, placement: &placement };
        let mut rates = Vec::new();
        for load in source.loads() {
            match checked(source, arm, load, placed) {
                Ok((checked, rate)) => {
                    compositions.push(checked);
                    rates.push((load, rate));
                }
                Err(reason) => left_out.push(leave_out(Some(load), reason)),
            }
        }
        let states_times =
            |load: &str| study.plan.loads.iter().any(|one| one.name == load && states_response_times(one));
        rates.retain(|(load, _)| states_times(load));
        match chain_times(placed, &mut times) {
            _ if rates.is_empty() => {}
            Err(reason) => response_times_left_out.push(leave_out(None, reason)),
            Ok(parts) => {
                for (load, rate) in rates {
                    match checked_response(&mut times, arm, load, placed, &parts, rate) {
                        Ok(checked) => response_times.push(checked),
                        Err(reason) => response_times_left_out.push(leave_out(Some(load), reason)),
                    }
                }
            }
        }
    }
    let errors: Vec<f64> =
        compositions.iter().filter(|one| !one.is_extrapolated).map(|one| one.error_share.abs()).collect();
    let errors = ErrorSummary::of(&errors);
    let body = SizeCheckBody {
        study: study.name.clone(),
        confidence: study.plan.confidence,
        chains: chains.into_iter().map(|arm| arm.id.clone()).collect(),
        mean_error_share: errors.map(|errors| errors.mean_share),
        worst_error_share: errors.map(|errors| errors.worst_share),
        mean_response_errors: check_response::errors(&response_times, |one| Some(one.mean)),
        p99_response_errors: check_response::errors(&response_times, |one| one.p99),
        compositions,
        left_out,
        response_times,
        response_times_left_out,
    };
    Ok(SizeCheckResult::new((), body).judged_as(study))
}

/// Parts of a composition: the plain proxy that it is compared with, the requests, and its proxies.
struct Parts<'a> {
    plain: &'a ArmResult,
    traffic: Traffic,
    /// Each proxy, with its functions.
    hops: Vec<(Service, Vec<Called>)>,
}

/// # Errors
/// The reason why it cannot be predicted.
fn parts<'a>(source: &Source<'a>, arm: &ArmResult) -> Result<Parts<'a>, String> {
    let plain = reference(source.result, arm).ok_or("it is not compared with a plain proxy")?;
    let protocol = arm.subject.as_ref().map(|subject| subject.protocol.as_str()).unwrap_or_default();
    let traffic = plain_traffic(plain).unwrap_or_else(|| Traffic::new(protocol, None, None));
    let hops = hops(arm).unwrap_or_default();
    let processors = source.result.environment.proxy_cpus.len().max(1) as u32;
    let mut connections = plain.subject.iter().flat_map(|subject| &subject.tls);
    if hops.len() > 1 && connections.any(|tls| *tls != ConnectionTls::None) {
        return Err(
            "the plain proxy that it is compared with accepts TLS, so it cannot be a further proxy of the chain; use functions `tls/*`"
                .to_owned(),
        );
    }
    let of_hop = |hop: &hoptax_result::PlannedHop| {
        let service = Service {
            name: hop.name.clone(),
            place: 0,
            has_proxy: true,
            workers: processors,
            items: Items::default(),
            requests_per_connection: None,
            traffic: traffic.clone(),
            inbound: Vec::new(),
            outbound: None,
            own_time_us: 0.0,
            calls: Vec::new(),
        };
        (service, hop.functions.iter().map(called).collect())
    };
    let hops = hops.iter().map(of_hop).collect();
    Ok(Parts { plain, traffic, hops })
}

/// A function as it was measured.
fn called(function: &PlannedFunction) -> Called {
    let PlannedFunction { id, knobs, .. } = function;
    Called { text: id.clone(), id: id.clone(), knobs: knobs.clone(), at_default: [].into() }
}

/// The proxies of a composition, with the costs of their parts from the study.
///
/// # Errors
/// The plain proxies and functions that the study does not state.
fn learn<'a>(source: &Source<'a>, parts: &'a Parts<'a>) -> Result<Vec<Proxy<'a>>, String> {
    let mut proxies = Vec::new();
    let mut missing: Vec<&str> = Vec::new();
    for (service, calls) in &parts.hops {
        let plain: Plain<'_> = source
            .plain_of(parts.plain)
            .ok_or_else(|| format!("the CPU time of `{}` is withheld under every load", parts.plain.id))?;
        let mut functions = Vec::new();
        for called in calls {
            match source.function(called, &parts.traffic) {
                Some(priced) => functions.push((called, priced)),
                None => missing.push(&called.id),
            }
        }
        let flow =
            LearnedFlow { side: SizeSide::Inbound, per_request: 1.0, plain, functions, connections: None };
        proxies.push(Proxy { service, flows: vec![flow], items: LearnedItems::default() });
    }
    if missing.is_empty() {
        return Ok(proxies);
    }
    Err(format!(
        "no arm states the cost of `{}` over {} alone, with the same knobs: add it to the study, or measure more rounds",
        missing.join("`, `"),
        parts.traffic.protocol
    ))
}

/// The prediction and the measurement under one load, and the rate of the measurement, requests per second.
///
/// # Errors
/// The number that is missing.
fn checked<'a>(
    source: &Source<'a>,
    arm: &ArmResult,
    load: &str,
    placed: Placed<'_, 'a>,
) -> Result<(CheckedComposition, f64), String> {
    let Placed { proxies: chain, placement } = placed;
    let composition = source.cost(arm, load).ok_or("its cost is withheld")?;
    let plain = chain.first().and_then(|proxy| proxy.flows.first()).map(|flow| &flow.plain);
    let plain = plain.ok_or("it has no proxy")?;
    let level = source.level(plain.arm, load).ok_or_else(|| {
        format!("the CPU time of `{}`, which it is compared with, is withheld", plain.arm.id)
    })?;
    let mut measured = Sum::default();
    measured.add(1.0, &level);
    measured.add(1.0, &composition);
    let of_load = arm.under(load).ok_or("it was not measured")?;
    let busy = of_load.proxy_busy_share.ok_or("how busy it was is not known")?;
    // The rate may be withheld even if CPU times are not. It could be derived from the measured CPU time, but the error of the measurement
    // should not affect the prediction too.
    let rate = of_load.rate.map(|rate| rate.estimate).or(of_load.planned_rate);
    let rate = rate.unwrap_or(busy * source.processors(arm) * 1e6 / measured.estimate());
    let mut predicted = Sum::default();
    let mut is_extrapolated = false;
    for (proxy, busy) in chain.iter().zip(placed.busy(rate)) {
        // A prediction that is too high for a saturated proxy is an error, not an extrapolation.
        is_extrapolated |= proxy.measured_at().is_beyond_loads(busy.own.min(1.0))
            || placement.is_beyond(&busy, MeasuredAt::is_beyond_loads);
        predicted.add_all(1e6 / rate, &placement.cores(proxy, rate, busy, None));
    }
    let mut difference = Sum::default();
    difference.add_all(1.0, &measured);
    difference.add_all(-1.0, &predicted);
    let intervals = (measured.interval(), predicted.interval(), difference.interval());
    let (Some(measured_us), Some(predicted_us), Some(difference_us)) = intervals else {
        return Err("its parts have too few rounds in common".to_owned());
    };
    let checked = CheckedComposition {
        arm: arm.id.clone(),
        load: load.to_owned(),
        hops: chain.len() as u32,
        functions: chain.iter().map(|proxy| proxy.functions().len()).sum::<usize>() as u32,
        measured_us,
        predicted_us,
        difference_us,
        error_share: -difference_us.estimate / measured_us.estimate,
        is_interaction: !difference_us.contains(0.0),
        is_extrapolated,
    };
    Ok((checked, rate))
}
