//! Content of Envoy's phase histograms: the distribution of an upstream's times, and its increase since the last poll.

use std::collections::BTreeMap;

use hoptax_listeners::phases::{Phase, of_name};
use serde::Deserialize;

/// A longer time is invalid: Envoy reports a negative one as a huge number.
const LONGEST_US: f64 = 86_400e6;

/// Number of values in each bin, by its lower bound in microseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Bins(BTreeMap<u64, Bin>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Bin {
    width_us: f64,
    count: u64,
}

impl Bins {
    /// The values added since an earlier poll of the same process.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let grown = |(lower, bin): (&u64, &Bin)| {
            let before = earlier.0.get(lower).map_or(0, |bin| bin.count);
            let count = bin.count.saturating_sub(before);
            (count > 0).then_some((*lower, Bin { count, ..*bin }))
        };
        Self(self.0.iter().filter_map(grown).collect())
    }

    /// Adds the values of another set of bins.
    pub(crate) fn add(&mut self, other: &Self) {
        for (lower, bin) in &other.0 {
            self.0.entry(*lower).or_insert(Bin { count: 0, ..*bin }).count += bin.count;
        }
    }

    /// The number of values.
    pub(crate) fn count(&self) -> u64 {
        self.0.values().map(|bin| bin.count).sum()
    }

    /// The quantile, microseconds: the middle of its bin. There are `above` more values that are larger than all of these. Infinite if the
    /// quantile is one of them; None without values.
    pub(crate) fn quantile(&self, share: f64, above: u64) -> Option<f64> {
        let all = self.count() + above;
        let rank = ((share * all as f64).ceil() as u64).max(1);
        let mut below = 0;
        for (lower, bin) in &self.0 {
            below += bin.count;
            if below >= rank {
                return Some(*lower as f64 + bin.width_us / 2.0);
            }
        }
        (all > 0).then_some(f64::INFINITY)
    }
}

/// Content of the histograms of a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Observed {
    /// The phase times by upstream.
    pub(crate) phases: BTreeMap<String, BTreeMap<Phase, Bins>>,
    /// The requests and tries that timed out, by upstream.
    pub(crate) unanswered: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct Answer {
    stats: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    histograms: Option<Histograms>,
}

#[derive(Deserialize)]
struct Histograms {
    #[serde(default)]
    details: Vec<Histogram>,
}

#[derive(Deserialize)]
struct Histogram {
    name: String,
    totals: Vec<Total>,
}

#[derive(Deserialize)]
struct Total {
    lower_bound: f64,
    width: f64,
    count: u64,
}

/// Parses two answers of Envoy's admin interface: the detailed histograms, and the timeout counters.
///
/// # Errors
/// When the first one has another format.
pub(crate) fn read(histograms: &str, timeouts: &str) -> Result<Observed, String> {
    let answer: Answer = serde_json::from_str(histograms)
        .map_err(|error| format!("Envoy's histograms cannot be read: {error}"))?;
    let mut observed = Observed::default();
    let details = answer.stats.into_iter().filter_map(|entry| entry.histograms).flat_map(|all| all.details);
    for histogram in details {
        let Some((phase, upstream)) = of_name(&histogram.name) else { continue };
        let sound = histogram.totals.iter().filter(|total| (0.0..LONGEST_US).contains(&total.lower_bound));
        let bin =
            |total: &Total| (total.lower_bound as u64, Bin { width_us: total.width, count: total.count });
        let bins = Bins(sound.map(bin).collect());
        // Several listeners may share an upstream.
        let of_upstream = observed.phases.entry(upstream.to_owned()).or_default();
        of_upstream.entry(phase).or_default().add(&bins);
    }
    for line in timeouts.lines() {
        let Some((upstream, count)) = timeout_of(line) else { continue };
        *observed.unanswered.entry(upstream.to_owned()).or_default() += count;
    }
    Ok(observed)
}

/// The upstream and the value in a line with a timeout counter.
fn timeout_of(line: &str) -> Option<(&str, u64)> {
    let (name, value) = line.strip_prefix("cluster.")?.rsplit_once(": ")?;
    let upstream =
        name.strip_suffix(".upstream_rq_timeout").or(name.strip_suffix(".upstream_rq_per_try_timeout"))?;
    Some((upstream, value.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(all: &[(u64, u64)]) -> Bins {
        Bins(all.iter().map(|(lower, count)| (*lower, Bin { width_us: 10.0, count: *count })).collect())
    }

    #[test]
    fn quantiles_are_those_of_all_values_with_those_above() {
        let some = bins(&[(100, 89), (1000, 11)]);
        assert_eq!(some.quantile(0.5, 0), Some(105.0));
        assert_eq!(some.quantile(0.9, 0), Some(1005.0));
        assert_eq!(some.quantile(0.89, 0), Some(105.0));
        assert_eq!(some.quantile(0.9, 20), Some(f64::INFINITY));
        assert_eq!(some.quantile(0.5, 20), Some(105.0));
        assert_eq!(bins(&[]).quantile(0.9, 1), Some(f64::INFINITY));
        assert_eq!(bins(&[]).quantile(0.9, 0), None);
    }

    #[test]
    fn what_came_since_is_the_growth_of_each_bin() {
        let (before, now) = (bins(&[(1, 5), (2, 5)]), bins(&[(1, 5), (2, 7), (3, 1)]));
        assert_eq!(now.since(&before), bins(&[(2, 2), (3, 1)]));
        assert_eq!(now.since(&Bins::default()), now);
        let mut sum = before.clone();
        sum.add(&now.since(&before));
        assert_eq!(sum, now);
    }

    #[test]
    fn the_answers_of_envoy_are_read_by_upstream_and_phase() {
        let histogram = |name: &str, totals: &str| {
            format!(r#"{{"name":"{name}","totals":[{totals}],"intervals":[],"percentiles":[]}}"#)
        };
        let text = format!(
            r#"{{"stats":[{{"histograms":{{"supported_percentiles":[0],"details":[{},{},{}]}}}}]}}"#,
            histogram(
                "hoptax_phases.first_byte_us.upstream.a.b",
                r#"{"lower_bound":100,"width":10,"count":3},{"lower_bound":1.8e19,"width":1e18,"count":1}"#
            ),
            histogram("hoptax_phases.wait_us.upstream.a.b", r#"{"lower_bound":1,"width":0.1,"count":3}"#),
            histogram("other", ""),
        );
        let timeouts = "cluster.a.b.upstream_rq_timeout: 2\ncluster.a.b.upstream_rq_per_try_timeout: 3\ncluster.c.other: 7\n";
        let observed = read(&text, timeouts).unwrap();
        assert_eq!(observed.unanswered, [("a.b".to_owned(), 5)].into());
        let of = observed.phases.get("a.b").unwrap();
        assert_eq!(of.get(&Phase::FirstByte), Some(&bins(&[(100, 3)])), "a negative time is none");
        assert_eq!(of.get(&Phase::Wait).unwrap().count(), 3);
        assert_eq!(observed.phases.len(), 1);
        assert_eq!(read(r#"{"stats":[]}"#, ""), Ok(Observed::default()));
        assert!(read("<html>", "").is_err());
    }
}
