//! A server for tests of searches, in memory and in virtual time: a trial of minutes takes microseconds.

use std::time::Duration;

use hoptax_load::Pace;
use hoptax_load::trial::TrialSpec;
use hoptax_result::{LoadResult, Mode, Window, Within, sample};

/// Time that a window of a load covers.
const WINDOW_S: f64 = 0.1;

/// A server that serves one request at a time, or one that becomes slow when it is crowded.
#[derive(Clone, Copy, Debug)]
pub(super) enum VirtualServer {
    /// Each request takes this long, and the next one waits.
    OneAtATime(Duration),
    /// A request takes the first time while fewer than this number are in flight, and the second time otherwise.
    Crowded(Duration, usize, Duration),
}

impl VirtualServer {
    /// Returns the result of a load with evenly spaced requests on this server.
    pub(super) fn load(self, spec: &TrialSpec) -> LoadResult {
        let rate = match spec.open {
            Some((Pace::Constant(rate), _)) => Some(rate),
            _ => None,
        };
        let offered = rate.unwrap_or_else(|| self.closed_loop_rate(spec.connections));
        let count = |length: Duration| (offered * length.as_secs_f64()).round() as usize;
        let (unrecorded, recorded) = (count(spec.warmup), count(spec.duration));
        let all_us = match (self, rate) {
            // A closed loop keeps it crowded.
            (Self::Crowded(_, most, slow), None) if most <= spec.connections => {
                vec![slow.as_secs_f64() * 1e6; unrecorded + recorded]
            }
            _ => self.responses_us(offered, unrecorded + recorded),
        };
        result(spec, rate, offered, all_us.get(unrecorded..).unwrap_or_default())
    }

    /// Requests per second of a closed loop.
    fn closed_loop_rate(self, connections: usize) -> f64 {
        match self {
            Self::OneAtATime(service) => 1.0 / service.as_secs_f64(),
            Self::Crowded(_, _, slow) => connections as f64 / slow.as_secs_f64(),
        }
    }

    /// Response times of evenly spaced requests, us, in their order.
    fn responses_us(self, rate: f64, count: usize) -> Vec<f64> {
        let (mut free_s, mut ends_s) = (0.0_f64, Vec::<f64>::new());
        let arrivals_s = (0..count).map(|number| number as f64 / rate);
        let end_s = |arrival_s: f64| match self {
            Self::OneAtATime(service) => {
                free_s = free_s.max(arrival_s) + service.as_secs_f64();
                free_s
            }
            Self::Crowded(fast, most, slow) => {
                ends_s.retain(|end_s| *end_s > arrival_s);
                let end_s = arrival_s + if ends_s.len() < most { fast } else { slow }.as_secs_f64();
                ends_s.push(end_s);
                end_s
            }
        };
        arrivals_s
            .clone()
            .map(end_s)
            .zip(arrivals_s)
            .map(|(end_s, arrival_s)| (end_s - arrival_s) * 1e6)
            .collect()
    }
}

/// The result of a load, with the numbers that searches read.
fn result(spec: &TrialSpec, rate: Option<f64>, offered: f64, responses_us: &[f64]) -> LoadResult {
    let (count, seconds) = (responses_us.len(), spec.duration.as_secs_f64());
    let windows: Vec<&[f64]> = responses_us.chunks(((WINDOW_S * offered) as usize).max(1)).collect();
    let within = |limit_us: f64, responses_us: &[f64]| {
        responses_us.iter().filter(|us| **us <= limit_us).count() as u64
    };
    let mut result = sample::load();
    result.plan.connections = spec.connections as u32;
    result.recorded_s = seconds;
    (result.book.planned, result.book.sent, result.book.answered) =
        (count as u64, count as u64, count as u64);
    (result.rate.target, result.rate.offered, result.rate.achieved) = (rate, offered, Some(offered));
    let times_of = |window: &[f64]| Window {
        planned: window.len() as u64,
        sent: window.len() as u64,
        answered: window.len() as u64,
        median_response_us: window.get(window.len() / 2).copied(),
        connections: None,
    };
    result.windows = windows.iter().map(|window| times_of(window)).collect();
    result.within = spec
        .limits_us
        .iter()
        .map(|limit_us| Within {
            limit_us: *limit_us,
            answered: within(*limit_us, responses_us),
            by_window: windows.iter().map(|window| within(*limit_us, window)).collect(),
        })
        .collect();
    let mut sorted_us = responses_us.to_vec();
    sorted_us.sort_by(f64::total_cmp);
    let quantile_us = |share: f64| sorted_us.get((share * count as f64) as usize).copied();
    let response = &mut result.latency.response;
    response.mean_us = Some(responses_us.iter().sum::<f64>() / count.max(1) as f64);
    (response.p50_us, response.p90_us, response.p99_us) =
        (quantile_us(0.5), quantile_us(0.9), quantile_us(0.99));
    // The generator is never late.
    result.without_generator = Some(result.latency.response);
    result.modes = quantile_us(0.5).map(|peak_us| vec![mode(peak_us)]).unwrap_or_default();
    result
}

fn mode(peak_us: f64) -> Mode {
    Mode { low_us: peak_us * 0.8, peak_us, high_us: peak_us * 1.3, share: 1.0 }
}
