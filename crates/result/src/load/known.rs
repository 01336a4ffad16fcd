//! Times of a load's result that may be known by bounds only.

use super::{Latency, LatencyBounds, LoadResult, TimeBounds};

/// A statistic of a distribution of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeOf {
    /// The smallest.
    Min,
    /// The arithmetic mean.
    Mean,
    /// A percentile, above 0 and below 100.
    Percentile(f64),
    /// The largest.
    Max,
}

/// A time of a result: its value, bounds of it, or nothing; us.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Known {
    /// Its value.
    Measured(f64),
    /// Bounds of it, at least one of them.
    Bounded(TimeBounds),
    /// Neither a value nor a bound.
    Unknown,
}

impl Known {
    /// The value if it is known, or else its bounds.
    pub fn new(value: Option<f64>, bounds: Option<TimeBounds>) -> Self {
        match (value, bounds) {
            (Some(value), _) => Self::Measured(value),
            (None, Some(bounds)) if bounds != TimeBounds::default() => Self::Bounded(bounds),
            (None, _) => Self::Unknown,
        }
    }

    /// The value, if it is known.
    pub fn value(self) -> Option<f64> {
        if let Self::Measured(value) = self { Some(value) } else { None }
    }

    /// The lowest and the highest that it can be; None where nothing bounds it.
    pub fn ends(self) -> (Option<f64>, Option<f64>) {
        match self {
            Self::Measured(value) => (Some(value), Some(value)),
            Self::Bounded(TimeBounds { low_us, high_us }) => (low_us, high_us),
            Self::Unknown => (None, None),
        }
    }
}

/// True if two percentiles are the same, but for rounding.
fn is_same(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

impl TimeBounds {
    /// A lower bound alone.
    pub fn at_least(low_us: f64) -> Self {
        Self { low_us: Some(low_us), high_us: None }
    }
}

impl LatencyBounds {
    /// All of them.
    pub fn all_mut(&mut self) -> [&mut Option<TimeBounds>; 7] {
        [
            &mut self.min_us,
            &mut self.mean_us,
            &mut self.p50_us,
            &mut self.p90_us,
            &mut self.p99_us,
            &mut self.p99_9_us,
            &mut self.max_us,
        ]
    }
}

impl Latency {
    /// Returns a statistic, or the bounds of it. Percentiles are p50, p90, p99 and p99.9; all others are unknown.
    pub fn known(&self, bounds: &LatencyBounds, of: TimeOf) -> Known {
        let (at_least, percentiles) = (&self.at_least, [50.0, 90.0, 99.0, 99.9]);
        let (value, pending, bounds) = match of {
            TimeOf::Min => (self.min_us, None, bounds.min_us),
            TimeOf::Mean => (self.mean_us, None, bounds.mean_us),
            TimeOf::Max => (self.max_us, at_least.max_us, bounds.max_us),
            TimeOf::Percentile(percentile) => {
                match percentiles.iter().position(|one| is_same(*one, percentile)) {
                    Some(0) => (self.p50_us, at_least.p50_us, bounds.p50_us),
                    Some(1) => (self.p90_us, at_least.p90_us, bounds.p90_us),
                    Some(2) => (self.p99_us, at_least.p99_us, bounds.p99_us),
                    Some(_) => (self.p99_9_us, at_least.p99_9_us, bounds.p99_9_us),
                    None => return Known::Unknown,
                }
            }
        };
        Known::new(value, bounds.or(pending.map(TimeBounds::at_least)))
    }
}

impl LoadResult {
    /// Returns a statistic of response time.
    pub fn response(&self, of: TimeOf) -> Known {
        let requested = self.requested(of).map(|one| {
            let pending = one.response_at_least_us.map(TimeBounds::at_least);
            Known::new(one.response_us, one.response_bounds.or(pending))
        });
        or_else(self.latency.response.known(&self.bounds.response, of), requested)
    }

    /// Returns a statistic of service time.
    pub fn service(&self, of: TimeOf) -> Known {
        let requested = self.requested(of).map(|one| {
            let pending = one.service_at_least_us.map(TimeBounds::at_least);
            Known::new(one.service_us, one.service_bounds.or(pending))
        });
        or_else(self.latency.service.known(&self.bounds.service, of), requested)
    }

    fn requested(&self, of: TimeOf) -> Option<&super::Percentile> {
        let TimeOf::Percentile(percentile) = of else { return None };
        self.percentiles.iter().find(|one| is_same(one.percentile, percentile))
    }
}

fn or_else(known: Known, other: Option<Known>) -> Known {
    if known == Known::Unknown { other.unwrap_or(known) } else { known }
}
