//! The values of parameters: how they are written, and how those with a distribution are sampled.

use std::time::Duration;

use hoptax_host::clock;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1};

use crate::queue::Freeze;
use crate::table::Tables;

/// Maximum delay.
pub(super) const MAX_DELAY: Duration = Duration::from_hours(1);
/// Maximum body size, bytes.
pub(super) const MAX_SIZE_BYTES: u64 = 64 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Delay {
    Weighted(Weighted<Duration>),
    Exponential(Duration),
    Table(usize),
}

/// Values with percentages; the remainder up to 100 % gets `default`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Weighted<T> {
    default: T,
    weighted: Vec<(T, f64)>,
}

impl Delay {
    pub(super) fn draw(&self, tables: &Tables, random: &mut impl Rng) -> Duration {
        match self {
            Self::Weighted(weighted) => *weighted.draw(random),
            Self::Exponential(mean) => {
                let factor: f64 = Exp1.sample(random);
                mean.mul_f64(factor).min(MAX_DELAY)
            }
            Self::Table(number) => {
                let delays = tables.delays(*number);
                let at = random.random_range(0..delays.len().max(1));
                delays.get(at).copied().unwrap_or_default()
            }
        }
    }
}

impl<T> Weighted<T> {
    pub(super) fn always(value: T) -> Self {
        Self { default: value, weighted: Vec::new() }
    }

    pub(super) fn draw(&self, random: &mut impl Rng) -> &T {
        if self.weighted.is_empty() {
            return &self.default;
        }
        let mut left = random.random_range(0.0..100.0);
        for (value, percent) in &self.weighted {
            if left < *percent {
                return value;
            }
            left -= percent;
        }
        &self.default
    }
}

pub(super) fn parse_delay(text: &str, tables: &Tables) -> Option<Delay> {
    if let Some(mean) = text.strip_prefix("exp:") {
        return parse_duration(mean).map(Delay::Exponential);
    }
    if let Some(name) = text.strip_prefix("table:") {
        return tables.find(name).map(Delay::Table);
    }
    parse_weighted(text, Duration::ZERO, parse_duration).map(Delay::Weighted)
}

/// `value`, or `value:percent,value:percent` with a sum of at most 100 %.
pub(super) fn parse_weighted<T>(
    text: &str,
    default: T,
    parse: impl Fn(&str) -> Option<T>,
) -> Option<Weighted<T>> {
    if !text.contains(':') {
        return parse(text).map(Weighted::always);
    }
    let weighted = text
        .split(',')
        .map(|part| {
            let (value, percent) = part.split_once(':')?;
            let percent: f64 = percent.trim_end_matches('%').parse().ok()?;
            (0.0..=100.0).contains(&percent).then_some((parse(value)?, percent))
        })
        .collect::<Option<Vec<(T, f64)>>>()?;
    let sum: f64 = weighted.iter().map(|(_, percent)| percent).sum();
    (sum <= 100.0 + 1e-9).then_some(Weighted { default, weighted })
}

pub(super) fn parse_duration(text: &str) -> Option<Duration> {
    clock::parse_duration(text).filter(|duration| *duration <= MAX_DELAY)
}

pub(super) fn parse_freeze(text: &str) -> Option<Freeze> {
    let (length, after) = text.split_once('@')?;
    let ns = |text: &str| parse_duration(text).map(|time| time.as_nanos() as u64);
    // A stop of no length stops nothing.
    Some(Freeze { after_ns: ns(after)?, length_ns: ns(length).filter(|length_ns| *length_ns > 0)? })
}

pub(super) fn parse_crowded(text: &str) -> Option<(u64, Duration)> {
    let (number, delay) = text.split_once(':')?;
    // From 0 on, it would be a delay of every response.
    let number = number.parse::<u64>().ok().filter(|number| *number > 0)?;
    Some((number, parse_duration(delay)?))
}

pub(super) fn parse_size(text: &str) -> Option<u64> {
    text.parse().ok().filter(|&size| size <= MAX_SIZE_BYTES)
}

pub(super) fn parse_status(text: &str) -> Option<u16> {
    text.parse().ok().filter(|status| (200..=599).contains(status))
}

pub(super) fn parse_probability(text: &str) -> Option<f64> {
    text.parse().ok().filter(|probability| (0.0..=1.0).contains(probability))
}

pub(super) fn parse_close(text: &str) -> Option<f64> {
    match text {
        "" | "true" => Some(1.0),
        "false" => Some(0.0),
        other => parse_probability(other),
    }
}

pub(super) fn parse_header(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once(':')?;
    let is_token = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    let frames = ["content-length", "transfer-encoding", "connection"];
    let framing = frames.iter().any(|frame| name.eq_ignore_ascii_case(frame));
    let value = value.trim();
    let is_value = value.chars().all(|c| c == ' ' || c.is_ascii_graphic());
    (is_token && !framing && is_value).then(|| (name.to_owned(), value.to_owned()))
}
