//! Bounds of quantiles of response time in spite of few responses, requests without a response, and a late generator.

use hoptax_result::{Book, CostMeasure, CountedTime, Interval, ResponseCost};
use hoptax_stats::{Ends, lateness, quantile_ends};

/// A quantile of response time.
pub(super) struct Quantile {
    pub(super) measure: CostMeasure,
    p: f64,
    /// Its level in a result, if stated.
    pub(super) level: fn(&ResponseCost) -> Option<Interval>,
}

/// The quantiles that are taken from all slices that count.
pub(super) const QUANTILES: [Quantile; 3] = [
    Quantile { measure: CostMeasure::ResponseP50Us, p: 0.5, level: |times| times.p50 },
    Quantile { measure: CostMeasure::ResponseP90Us, p: 0.9, level: |times| times.p90 },
    Quantile { measure: CostMeasure::ResponseP99Us, p: 0.99, level: |times| times.p99 },
];

/// p99 of quiet slices.
pub(super) const QUIET_P99: Quantile =
    Quantile { measure: CostMeasure::ResponseQuietP99Us, p: 0.99, level: |times| times.quiet_p99 };

/// Response times of an arm under a load, with the disturbances of their quantiles. Times are by round.
pub(super) struct Side<'a> {
    pub(super) responses: Vec<&'a [CountedTime]>,
    /// Send lags of the generator itself.
    pub(super) lags: Vec<&'a [CountedTime]>,
    /// Share of the planned requests without a response time.
    pub(super) missing: f64,
    /// The quantile with its interval, us; none if it has none.
    pub(super) stated: Option<Interval>,
}

/// Drops a lower bound that carries no information: `least` is the bound that holds because response times are not negative.
fn informative(ends: Ends, least: f64) -> Ends {
    let low = ends.low.filter(|low| ends.high.is_some() || *low > least);
    Ends { low, high: ends.high }
}

/// The share of the planned requests that were not sent in time, or not answered. A failed request counts as answered.
pub(super) fn missing_share(book: &Book) -> f64 {
    let missing = book.planned.saturating_sub(book.answered.saturating_add(book.failed));
    missing as f64 / book.planned.max(1) as f64
}

impl Side<'_> {
    /// Returns bounds, in us, of the quantile that all planned requests would have if they were sent in time. A generator that is late only
    /// lengthens response times.
    pub(super) fn level(&self, quantile: &Quantile, confidence: f64) -> Ends {
        let ends = self.stated().unwrap_or_else(|| self.ends(quantile.p, confidence));
        let late_us = self.late_us(quantile.p, confidence);
        informative(Ends { low: ends.low.map(|low| (low - late_us).max(0.0)), high: ends.high }, 0.0)
    }

    /// Returns bounds, in us, of the difference between that quantile and that of another arm. `stated` is the difference with its
    /// interval, if it has one: this interval is narrower than the difference of two levels, since it is computed within rounds.
    pub(super) fn cost(
        &self,
        other: &Self,
        stated: Option<Interval>,
        quantile: &Quantile,
        confidence: f64,
    ) -> Ends {
        let [own, others] = [self, other].map(|side| side.level(quantile, confidence));
        let less = |one: Option<f64>, two: Option<f64>| Some(one? - two?);
        // No response time is negative, so without a lower bound the level of the arm is at least 0.
        let own_low = own.low.unwrap_or(0.0);
        let of_levels =
            Ends { low: others.high.map(|high| own_low - high), high: less(own.high, others.low) };
        let of_levels = informative(of_levels, others.high.map_or(f64::NEG_INFINITY, |high| -high));
        let Some(stated) = stated.filter(|_| self.missing.max(other.missing) <= 0.0) else {
            return of_levels;
        };
        let [own_us, other_us] = [self, other].map(|side| side.late_us(quantile.p, confidence));
        // No response time is negative.
        let least = others.high.map_or(f64::NEG_INFINITY, |high| -high);
        let most = own.high.unwrap_or(f64::INFINITY);
        Ends { low: Some((stated.low - own_us).max(least)), high: Some((stated.high + other_us).min(most)) }
    }

    /// The ends of the stated interval, if every request has a response time.
    fn stated(&self) -> Option<Ends> {
        let stated = self.stated.filter(|_| self.missing <= 0.0)?;
        Some(Ends { low: Some(stated.low), high: Some(stated.high) })
    }

    /// Ends from order statistics. Requests without a response time could have been the fastest or the slowest of all.
    fn ends(&self, p: f64, confidence: f64) -> Ends {
        let answered = 1.0 - self.missing;
        let low = quantile_ends(&self.responses, (p - self.missing) / answered, confidence).low;
        let high = quantile_ends(&self.responses, p / answered, confidence).high;
        Ends { low: low.map(|ns| ns / 1e3), high: high.map(|ns| ns / 1e3) }
    }

    /// Returns how much lower the quantile might be without the lag of the generator, us.
    fn late_us(&self, p: f64, confidence: f64) -> f64 {
        lateness(&self.responses, &self.lags, p, confidence).unwrap_or(0.0) / 1e3
    }
}
