//! The experiments, and what is known of their answers beforehand.

use std::time::Duration;

use hoptax_load::Arrivals;

/// One experiment: an origin whose delays are known, and a load on it.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    /// What every request asks of the origin.
    pub(crate) query: &'static str,
    /// Requests per second and how they arrive; none for a closed loop.
    pub(crate) open: Option<(f64, Arrivals)>,
    pub(crate) connections: usize,
    pub(crate) length: Duration,
    /// Quantiles that are held against the truth. One on the edge between two values says nothing.
    pub(crate) quantiles: &'static [f64],
    /// The quantile of the distribution of response time, microseconds, where it is known in closed form.
    pub(crate) analytic_us: fn(f64) -> Option<f64>,
}

/// Quantiles of continuous distributions.
const QUANTILES: &[f64] = &[0.5, 0.9, 0.95, 0.99];

/// An origin that answers at once, for the floor and the ceiling.
pub(crate) fn plain(rate: f64, connections: usize, length: Duration) -> Spec {
    Spec {
        name: "plain",
        summary: "An origin that answers at once",
        query: "size=64",
        open: Some((rate, Arrivals::Uniform)),
        connections,
        length,
        quantiles: QUANTILES,
        analytic_us: |_| None,
    }
}

/// The experiments with known answers. Lengths suit a run of one minute; `factor` stretches them.
pub(crate) fn all(factor: f64) -> Vec<Spec> {
    let length = |seconds: f64| Duration::from_secs_f64(seconds * factor);
    vec![
        Spec {
            name: "delay",
            summary: "Delays of 5, 20, 100 and 400 ms for 90, 9, 0.9 and 0.1 % (M/G/infinity)",
            query: "delay=5ms:90,20ms:9,100ms:0.9,400ms:0.1",
            open: Some((1_000.0, Arrivals::Poisson)),
            connections: 512,
            length: length(12.0),
            // The middles of the plateaus of 5, 20 and 100 ms.
            quantiles: &[0.5, 0.95, 0.995],
            analytic_us: |quantile| {
                Some(if quantile < 0.9 {
                    5_000.0
                } else if quantile < 0.99 {
                    20_000.0
                } else {
                    100_000.0
                })
            },
        },
        Spec {
            name: "constant-queue",
            summary: "One server, 4 ms of service, Poisson arrivals at half its rate (M/D/1)",
            query: "service=4ms",
            open: Some((125.0, Arrivals::Poisson)),
            connections: 128,
            length: length(16.0),
            quantiles: QUANTILES,
            // G. Crommelin's series, evaluated at utilisation 0.5.
            analytic_us: |quantile| match quantile {
                0.9 => Some(10_060.0),
                0.99 => Some(17_340.0),
                _ => None,
            },
        },
        Spec {
            name: "exponential-queue",
            summary: "One server, 1 ms of service in the mean, Poisson arrivals at half its rate (M/M/1)",
            query: "service=exp:1ms",
            open: Some((500.0, Arrivals::Poisson)),
            connections: 128,
            length: length(16.0),
            quantiles: QUANTILES,
            analytic_us: |quantile| Some(-(1.0 - quantile).ln() / (1_000.0 - 500.0) * 1e6),
        },
        Spec {
            name: "in-step",
            summary: "One server, 1 ms of service, even arrivals at half its rate (D/D/1)",
            query: "service=1ms",
            open: Some((500.0, Arrivals::Uniform)),
            connections: 64,
            length: length(6.0),
            quantiles: QUANTILES,
            analytic_us: |_| Some(1_000.0),
        },
        Spec {
            name: "closed-loop",
            summary: "Eight connections in a closed loop at one server of 1 ms: each waits for the other seven",
            query: "service=1ms",
            open: None,
            connections: 8,
            length: length(6.0),
            quantiles: QUANTILES,
            analytic_us: |_| Some(8_000.0),
        },
    ]
}
