//! Calibrates the load generator on this machine by experiments with known answers: its error, the lowest latency that it can resolve, and
//! the highest rate that it can send on time. Also measures the machine's speeds at the operations that make up the cost of a function.
//!
//! The origin of an experiment uses no CPU time for its delays: it schedules each response, from a delay or from a simulated queue, and
//! records the schedule. Each measured response time is then compared with the scheduled one, request by request, so random variation of
//! the schedule does not affect the error.

mod error;
mod experiments;
mod recorder;
mod speeds;
mod theory;
mod trial;
mod truth;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hoptax_host::processors::Placement;
use hoptax_load::Recording;
use hoptax_result::{
    CalibrationBody, CalibrationResult, Ceiling, Environment, Experiment, Floor, FloorAt, PerRequestError,
    QuantileError, RateError, RateTried, grouped,
};
use hoptax_stats::{quantile, quantile_supported};

use experiments::Spec;
use trial::Trial;
use truth::Request;

pub use error::CalibrateError;
pub use speeds::{KeepAwake, speeds};

/// Rates that are tried to find the ceiling.
const RATES: [f64; 9] =
    [1_000.0, 2_000.0, 5_000.0, 10_000.0, 20_000.0, 40_000.0, 80_000.0, 120_000.0, 160_000.0];
/// Number of connections at those rates.
const CEILING_CONNECTIONS: usize = 64;
/// Minimum share of planned requests that must have been sent.
const SENT_SHARE: f64 = 0.999;

/// Service time of the experiment that ends before its last responses, nanoseconds.
const CUT_OFF_SERVICE_NS: u64 = 400_000;

/// Options of a calibration.
#[derive(Clone)]
pub struct Options<'a> {
    /// The processors of each process; the origin takes the place of the proxy.
    pub placement: &'a Placement,
    /// Duration as a multiple of two minutes.
    pub factor: f64,
    /// Seed of arrivals and delays, and of the order of speeds.
    pub seed: u64,
    /// Keeps processors awake, so that wake-ups are measured with and without halting; None if not possible.
    pub keep_awake: Option<KeepAwake<'a>>,
    /// True to keep processors awake during everything else as well, if possible.
    pub never_halted: bool,
}

/// Runs all experiments; `on_step` is called at the start of each step.
///
/// # Errors
/// When one of them cannot be run.
pub fn run(
    options: &Options<'_>,
    environment: Environment,
    stop: &AtomicBool,
    on_step: &mut dyn FnMut(&str),
) -> Result<CalibrationResult, CalibrateError> {
    let measure = |spec: &Spec| {
        let trial = trial::run(spec, options.seed, options.placement, stop)?;
        if stop.load(Ordering::Relaxed) { Err(CalibrateError::Interrupted) } else { Ok(trial) }
    };
    let awake = options
        .keep_awake
        .filter(|_| options.never_halted)
        .map(|keep_awake| keep_awake(&options.placement.all()))
        .transpose()?;
    let never_halted = awake.is_some();
    let length = Duration::from_secs_f64(3.0 * options.factor);
    on_step("use of the machine by others");
    let others_before = others_share(options.placement)?;
    on_step("floor");
    let plain = experiments::plain(1_000.0, 16, length);
    let floor = floor(&joined(&plain, &measure(&plain)?)?);
    let mut found = Vec::new();
    for spec in experiments::all(options.factor) {
        on_step(spec.name);
        let trial = measure(&spec)?;
        found.push(if trial.recording.book.unfinished > 0 {
            unfinished(&spec, &trial)
        } else {
            experiment(&spec, &trial.recording, &joined(&spec, &trial)?)
        });
    }
    let mut tried = Vec::new();
    let mut floors = Vec::new();
    for rate in RATES {
        on_step(&format!("ceiling: {rate}/s", rate = grouped(rate, 0)));
        let length = Duration::from_secs_f64(options.factor.clamp(0.2, 1.0));
        let trial = measure(&experiments::plain(rate, CEILING_CONNECTIONS, length))?;
        let one = rate_tried(rate, &trial.recording);
        tried.push(one);
        // Higher rates would not be fully sent either.
        if one.sent_share < SENT_SHARE {
            break;
        }
        floors.extend(floor_at(rate, &trial.recording));
    }
    on_step("speeds");
    // Speeds are measured with and without a spinner, which `speeds` starts itself.
    drop(awake);
    let speeds = speeds(options.placement, options.factor, options.seed, options.keep_awake, stop)?;
    let others_share = others_before.max(others_share(options.placement)?);
    let body = CalibrationBody {
        never_halted,
        others_share,
        floor,
        floors,
        recorder: recorder::check(),
        experiments: found,
        ceiling: ceiling(&tried),
        tried,
        speeds: Some(speeds),
    };
    Ok(CalibrationResult::new(environment, body))
}

/// The largest share of a processor that other processes use at present.
fn others_share(placement: &Placement) -> Result<f64, CalibrateError> {
    let probe = hoptax_host::machine::probe_briefly(placement)?;
    Ok(probe.used_by_others.iter().map(|used| used.share).fold(0.0, f64::max))
}

fn joined(spec: &Spec, trial: &Trial) -> Result<Vec<Request>, CalibrateError> {
    truth::requests(&trial.entries, trial.start_ns, &trial.served, spec.freeze)
        .filter(|requests| !requests.is_empty())
        .ok_or(CalibrateError::Accounts(spec.name))
}

fn floor(requests: &[Request]) -> Floor {
    let measured: Vec<f64> = requests.iter().map(Request::measured_us).collect();
    let at = |p: f64| quantile(&measured, p).unwrap_or_default();
    Floor { min_us: at(0.0), p50_us: at(0.5), p99_us: at(0.99) }
}

fn experiment(spec: &Spec, recording: &Recording, requests: &[Request]) -> Experiment {
    let all = |of: fn(&Request) -> f64| requests.iter().map(of).collect::<Vec<f64>>();
    let (measured, truth, error) = (all(Request::measured_us), all(Request::true_us), all(Request::error_us));
    let at = |values: &[f64], p: f64| quantile(values, p).unwrap_or_default();
    let count = requests.len() as u64;
    let supported = spec.quantiles.iter().copied().filter(|p| quantile_supported(count, *p));
    Experiment {
        name: spec.name.to_owned(),
        summary: spec.summary.to_owned(),
        requests: count,
        error: Some(PerRequestError {
            min_us: at(&error, 0.0),
            p50_us: at(&error, 0.5),
            p99_us: at(&error, 0.99),
            max_us: at(&error, 1.0),
        }),
        quantiles: supported
            .map(|p| QuantileError {
                quantile: p,
                reported_us: at(&measured, p),
                is_lower_bound: false,
                true_us: at(&truth, p),
                analytic_us: spec.theory.quantile_us(p),
            })
            .collect(),
        service_p99_us: spec.shows_service.then(|| recording.service.quantile_us(0.99)).flatten(),
        rate: spec.theory.rate().map(|analytic| RateError {
            reported: recording.book.answered as f64 / spec.length.as_secs_f64(),
            analytic,
        }),
        unfinished: 0,
    }
}

/// An experiment that does not wait for its last responses. Its reported numbers must still be true.
fn unfinished(spec: &Spec, trial: &Trial) -> Experiment {
    let truth = truth::planned(&trial.entries, CUT_OFF_SERVICE_NS, spec.freeze);
    let response = trial.recording.latencies().response;
    let reported = [
        (0.5, response.p50_us, response.at_least.p50_us),
        (0.9, response.p90_us, response.at_least.p90_us),
        (0.99, response.p99_us, response.at_least.p99_us),
    ];
    let quantiles = reported.into_iter().filter_map(|(p, known, bound)| {
        Some(QuantileError {
            quantile: p,
            reported_us: known.or(bound)?,
            is_lower_bound: known.is_none(),
            true_us: quantile(&truth, p)?,
            analytic_us: None,
        })
    });
    Experiment {
        name: spec.name.to_owned(),
        summary: spec.summary.to_owned(),
        requests: trial.recording.book.planned,
        error: None,
        quantiles: quantiles.collect(),
        service_p99_us: None,
        rate: None,
        unfinished: trial.recording.book.unfinished,
    }
}

fn rate_tried(rate: f64, recording: &Recording) -> RateTried {
    let book = recording.book;
    let sent_share = if book.planned > 0 { book.sent as f64 / book.planned as f64 } else { 0.0 };
    RateTried { rate, sent_share, send_lag_p99_us: recording.send_lag.quantile_us(0.99) }
}

fn floor_at(rate: f64, recording: &Recording) -> Option<FloorAt> {
    let response = recording.latencies().response;
    Some(FloorAt {
        rate,
        connections: CEILING_CONNECTIONS as u32,
        p50_us: response.p50_us?,
        p99_us: response.p99_us?,
    })
}

/// The highest rate that was sent on time. It may be above a rate that was not: on a machine whose processors wake slowly, requests are
/// late while processors sleep between them, and on time once they are too busy to sleep.
fn ceiling(tried: &[RateTried]) -> Option<Ceiling> {
    let on_time = |one: &RateTried| {
        let send_lag_p99_us = one.send_lag_p99_us?;
        (one.sent_share >= SENT_SHARE && send_lag_p99_us <= CalibrationBody::ON_TIME_US)
            .then_some(Ceiling { rate: one.rate, send_lag_p99_us })
    };
    tried.iter().filter_map(on_time).max_by(|a, b| a.rate.total_cmp(&b.rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(intended_ns: u64, due_ns: u64, back_ns: u64) -> Request {
        Request { intended_ns, due_ns, back_ns }
    }

    #[test]
    fn late_requests_appear_in_the_error_of_an_experiment() {
        let spec = experiments::all(1.0).remove(3);
        // One request in twenty is a millisecond late.
        let requests: Vec<Request> = (0..10_000)
            .map(|number| request(0, 1_000_000, 1_050_000 + if number % 20 == 0 { 1_000_000 } else { 0 }))
            .collect();
        let found = experiment(&spec, &Recording::default(), &requests);
        let error = found.error.unwrap();
        assert!((error.p50_us - 50.0).abs() < 1e-9 && (error.p99_us - 1_050.0).abs() < 1e-9);
        let p99 = found.quantiles.iter().find(|one| (one.quantile - 0.99).abs() < 1e-9).unwrap();
        assert!((p99.reported_us - 2_050.0).abs() < 1e-9 && (p99.true_us - 1_000.0).abs() < 1e-9);
        assert_eq!(p99.analytic_us, Some(1_000.0));
    }

    #[test]
    fn the_ceiling_may_lie_above_a_rate_that_was_late() {
        let tried = |rate, sent_share, send_lag_p99_us| RateTried {
            rate,
            sent_share,
            send_lag_p99_us: Some(send_lag_p99_us),
        };
        let slow_to_wake =
            [tried(1e3, 1.0, 90.0), tried(5e3, 1.0, 60.0), tried(2e4, 1.0, 20.0), tried(8e4, 0.9, 10.0)];
        assert_eq!(ceiling(&slow_to_wake), Some(Ceiling { rate: 2e4, send_lag_p99_us: 20.0 }));
        assert_eq!(ceiling(&slow_to_wake[..2]), None);
        assert_eq!(ceiling(&[]), None);
    }
}
