//! The experiments of a calibration, with their known answers.

use std::time::Duration;

use hoptax_load::{Arrivals, Think};
use hoptax_origin::Freeze;

use super::theory::{ClosedLoop, constant_service};

/// One experiment: an origin with known delays, and a load on it.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    /// The query of every request to the origin.
    pub(crate) query: String,
    pub(crate) load: Load,
    pub(crate) connections: usize,
    pub(crate) length: Duration,
    /// Time limit of responses after that.
    pub(crate) drain: Duration,
    /// Freezes of the origin's server, as requested by the query.
    pub(crate) freeze: Option<Freeze>,
    /// Quantiles that are compared with the truth. A quantile at the edge between two values is undefined, so it is
    /// left out.
    pub(crate) quantiles: &'static [f64],
    /// The theoretical response times.
    pub(crate) theory: Theory,
    /// True to report the service time, which hides the freeze.
    pub(crate) shows_service: bool,
}

/// Release of requests.
#[derive(Clone, Debug)]
pub(crate) enum Load {
    Open(f64, Arrivals),
    Closed(Option<Think>),
}

/// Distributions with a closed form; times in us.
#[derive(Clone, Debug)]
pub(crate) enum Theory {
    /// No closed form.
    Unknown,
    /// A step function: each value up to a quantile.
    Steps(&'static [(f64, f64)]),
    /// A constant service time at this utilisation.
    ConstantService { utilisation: f64, service_us: f64 },
    /// An exponential response time of this mean.
    Exponential { mean_us: f64 },
    /// A closed loop without think time at a constant service time: each request waits for all others.
    Turns { users: f64, service_us: f64 },
    /// A closed loop with think time.
    Users { model: ClosedLoop, service_us: f64 },
    /// A freeze within a trial: `max(service, freeze - (1 - p) (1 - utilisation) length)`.
    Freeze { service_us: f64, freeze_us: f64, utilisation: f64, length_us: f64 },
}

impl Theory {
    /// The quantile `p` of response time, us.
    pub(crate) fn quantile_us(&self, p: f64) -> Option<f64> {
        match self {
            Self::Unknown => None,
            Self::Steps(steps) => steps.iter().find(|(to, _)| p < *to).map(|(_, us)| *us),
            // Below the share of requests that find the server idle, the quantile is the service time itself, and at
            // the edge it is undefined, so none is returned there.
            Self::ConstantService { utilisation, service_us } => {
                (p > 1.0 - utilisation).then(|| constant_service(*utilisation, p) * service_us)
            }
            Self::Exponential { mean_us } => Some(-(1.0 - p).ln() * mean_us),
            Self::Turns { users, service_us } => Some(users * service_us),
            Self::Users { model, service_us } => Some(model.quantile(p) * service_us),
            Self::Freeze { service_us, freeze_us, utilisation, length_us } => {
                Some(service_us.max(freeze_us - (1.0 - p) * (1.0 - utilisation) * length_us))
            }
        }
    }

    /// Requests per second of a closed loop.
    pub(crate) fn rate(&self) -> Option<f64> {
        match self {
            Self::Turns { service_us, .. } => Some(1e6 / service_us),
            Self::Users { model, service_us } => Some(model.rate * 1e6 / service_us),
            _ => None,
        }
    }
}

/// Quantiles of continuous distributions.
const QUANTILES: &[f64] = &[0.5, 0.9, 0.95, 0.99];
/// Default time to wait for responses after the end.
pub(crate) const DRAIN: Duration = Duration::from_secs(5);

fn spec(name: &'static str, summary: &'static str, query: impl Into<String>, load: Load) -> Spec {
    Spec {
        name,
        summary,
        query: query.into(),
        load,
        connections: 128,
        length: Duration::from_secs(6),
        drain: DRAIN,
        freeze: None,
        quantiles: QUANTILES,
        theory: Theory::Unknown,
        shows_service: false,
    }
}

/// An origin that responds immediately, for the floor and the ceiling.
pub(crate) fn plain(rate: f64, connections: usize, length: Duration) -> Spec {
    let load = Load::Open(rate, Arrivals::Uniform);
    Spec { connections, length, ..spec("plain", "An origin that responds immediately", "size=64", load) }
}

/// The experiments with known answers. Lengths suit a run of two minutes and are multiplied by `factor`.
pub(crate) fn all(factor: f64) -> Vec<Spec> {
    let length = |seconds: f64| Duration::from_secs_f64(seconds * factor);
    let poisson = |rate: f64| Load::Open(rate, Arrivals::Poisson);
    vec![
        Spec {
            connections: 512,
            length: length(12.0),
            // The middles of the plateaus of 5, 20 and 100 ms.
            quantiles: &[0.5, 0.95, 0.995],
            theory: Theory::Steps(&[(0.9, 5_000.0), (0.99, 20_000.0), (0.999, 100_000.0)]),
            ..spec(
                "delay",
                "Delays of 5, 20, 100 and 400 ms for 90, 9, 0.9 and 0.1 % (M/G/infinity)",
                "delay=5ms:90,20ms:9,100ms:0.9,400ms:0.1",
                poisson(1_000.0),
            )
        },
        Spec {
            length: length(16.0),
            // Half of the requests find the server idle, so the median is at an edge.
            quantiles: &[0.9, 0.95, 0.99],
            theory: Theory::ConstantService { utilisation: 0.5, service_us: 4_000.0 },
            ..spec(
                "constant-queue",
                "One server, 4 ms of service, Poisson arrivals at half its rate (M/D/1)",
                "service=4ms",
                poisson(125.0),
            )
        },
        Spec {
            length: length(16.0),
            theory: Theory::Exponential { mean_us: 2_000.0 },
            ..spec(
                "exponential-queue",
                "One server, 1 ms of service on average, Poisson arrivals at half its rate (M/M/1)",
                "service=exp:1ms",
                poisson(500.0),
            )
        },
        Spec {
            connections: 64,
            length: length(6.0),
            theory: Theory::Steps(&[(1.0, 1_000.0)]),
            ..spec(
                "in-step",
                "One server, 1 ms of service, even arrivals at half its rate (D/D/1)",
                "service=1ms",
                Load::Open(500.0, Arrivals::Uniform),
            )
        },
        freeze(factor),
        cut_off(factor),
        Spec {
            connections: 8,
            length: length(6.0),
            theory: Theory::Turns { users: 8.0, service_us: 1_000.0 },
            ..spec(
                "closed-loop",
                "Eight connections in a closed loop, one server with 1 ms of service: each request waits for seven others",
                "service=1ms",
                Load::Closed(None),
            )
        },
        Spec {
            connections: 8,
            length: length(12.0),
            theory: Theory::Users { model: ClosedLoop::new(8, 10.0), service_us: 4_000.0 },
            ..spec(
                "thinking-loop",
                "Eight users with 40 ms of think time, one server with 4 ms of service, both on average (M/M/1//8)",
                "service=exp:4ms",
                Load::Closed(Some(Think::Exponential(Duration::from_millis(40)))),
            )
        },
    ]
}

/// Coordinated omission: with few connections, service times barely show that the server froze for a second.
fn freeze(factor: f64) -> Spec {
    let seconds = 20.0 * factor.max(0.2);
    let freeze_seconds = seconds / 20.0;
    let freeze = Freeze { after_ns: (seconds / 4.0 * 1e9) as u64, length_ns: (freeze_seconds * 1e9) as u64 };
    Spec {
        connections: 16,
        length: Duration::from_secs_f64(seconds),
        freeze: Some(freeze),
        quantiles: &[0.5, 0.9, 0.95, 0.98, 0.99],
        theory: Theory::Freeze {
            service_us: 400.0,
            freeze_us: freeze_seconds * 1e6,
            utilisation: 0.4,
            length_us: seconds * 1e6,
        },
        shows_service: true,
        ..spec(
            "freeze",
            "One server with 0.4 ms of service at 1,000/s on 16 connections, frozen for a twentieth of the time",
            format!("service=400us&freeze={}ns@{}ns", freeze.length_ns, freeze.after_ns),
            Load::Open(1_000.0, Arrivals::Uniform),
        )
    }
}

/// Requests in flight at the end of the trial are slow, by an unknown amount.
/// Never longer than six seconds, which is enough for its quantiles, and never shorter than two.
fn cut_off(factor: f64) -> Spec {
    let length = Duration::from_secs_f64(6.0 * factor.clamp(1.0 / 3.0, 1.0));
    let after = length.saturating_sub(Duration::from_millis(500));
    let freeze = Freeze { after_ns: after.as_nanos() as u64, length_ns: 3_000_000_000 };
    Spec {
        connections: 1024,
        length,
        drain: Duration::from_millis(500),
        freeze: Some(freeze),
        ..spec(
            "cut-off",
            "The same server, frozen from half a second before the end; the drain lasts 0.5 s",
            format!("service=400us&freeze=3s@{}ms", after.as_millis()),
            Load::Open(1_000.0, Arrivals::Uniform),
        )
    }
}
