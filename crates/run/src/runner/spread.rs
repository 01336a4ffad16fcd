//! Reads the statistics of the proxies that should be even, at the end of each interval of a course.

use std::collections::BTreeMap;
use std::time::Duration;

use hoptax_plan::plan::{Arm, Timeline};
use hoptax_result::SpreadSample;

use super::RunError;
use super::error::in_arm;
use super::subject::Subject;

/// Statistics whose names end like this are gauges; others are counters.
const GAUGE: &str = "_active";

/// The statistics of a course so far.
pub(super) struct Spread<'a> {
    arm: &'a Arm,
    /// The names of the statistics, with wildcards; none if nothing is read.
    pattern: Option<&'a str>,
    interval: Duration,
    /// The values at the last sample.
    last: BTreeMap<String, u64>,
    samples: Vec<SpreadSample>,
}

impl<'a> Spread<'a> {
    /// Starts without samples, from the values before the first request.
    pub(super) fn begin(timeline: &'a Timeline, arm: &'a Arm, subject: &Subject) -> Result<Self, RunError> {
        let pattern = timeline.spread.as_deref();
        let mut spread =
            Self { arm, pattern, interval: timeline.interval, last: BTreeMap::new(), samples: Vec::new() };
        spread.last = spread.read(subject)?;
        Ok(spread)
    }

    /// Returns the time of the next sample, since the start of the slice.
    pub(super) fn due(&self) -> Option<Duration> {
        self.pattern.map(|_| self.interval * (self.samples.len() as u32 + 1))
    }

    /// Takes the sample that is due.
    pub(super) fn sample(&mut self, subject: &Subject) -> Result<(), RunError> {
        let at_s = self.due().unwrap_or_default().as_secs_f64();
        let now = self.read(subject)?;
        let is_gauge = self.pattern.is_some_and(|pattern| pattern.ends_with(GAUGE));
        let value = |name: &String, now: u64| {
            let last = self.last.get(name).copied().filter(|_| !is_gauge).unwrap_or(0);
            // A restarted proxy counts from zero again.
            now.checked_sub(last).unwrap_or(now)
        };
        let values = now.iter().map(|(name, now)| (name.clone(), value(name, *now))).collect();
        self.samples.push(SpreadSample { at_s, values });
        self.last = now;
        Ok(())
    }

    /// The samples.
    pub(super) fn finish(self) -> Vec<SpreadSample> {
        self.samples
    }

    /// The values now, by proxy if the arm has several, and by the part of the name that the last wildcard matches.
    fn read(&self, subject: &Subject) -> Result<BTreeMap<String, u64>, RunError> {
        // The study names no statistics that should be even.
        let Some(pattern) = self.pattern else { return Ok(BTreeMap::new()) };
        let mut values = BTreeMap::new();
        for (hop, proxy) in self.arm.chain.hops.iter().zip(&subject.proxies) {
            let matching = proxy.matching(pattern).map_err(in_arm(self.arm))?;
            for (name, value) in matching {
                let place = matched(&name, pattern);
                let label = match (self.arm.chain.hops.len(), place) {
                    (1, place) => place.unwrap_or(&hop.name).to_owned(),
                    (_, None) => hop.name.clone(),
                    (_, Some(place)) => format!("{} {place}", hop.name),
                };
                *values.entry(label).or_default() += value;
            }
        }
        Ok(values)
    }
}

/// Returns the part of a name that the last wildcard of a pattern matches, without parts that earlier wildcards match: `worker_1` of
/// `listener.127.0.0.1_4001.worker_1.downstream_cx_active`. None without a wildcard.
fn matched<'a>(name: &'a str, pattern: &str) -> Option<&'a str> {
    let (_, behind) = pattern.rsplit_once('*')?;
    let head = name.strip_suffix(behind)?;
    Some(head.rsplit('.').next().unwrap_or(head))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_named_without_its_port() {
        let pattern = "listener.*.worker_*.downstream_cx_active";
        let name = "listener.127.0.0.1_4001.worker_1.downstream_cx_active";
        assert_eq!(matched(name, pattern), Some("worker_1"));
        assert_eq!(matched("http.ingress.downstream_rq_total", "http.ingress.downstream_rq_total"), None);
    }
}
