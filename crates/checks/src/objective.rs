//! Objectives of a search, such as `p99<5ms`: conditions that a load must hold, with losses counted as users see them.
//!
//! A condition of `--fail-on` compares a number of the result, and its percentiles are those of the answered requests. A search
//! overloads its subject on purpose, where answered requests say the least. Objectives therefore count every scheduled
//! request: one that failed, timed out, was never sent or was answered too late is lost, as a lost packet is to RFC 2544.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use hoptax_result::{LoadResult, Severity, TimeOf, Within};
use hoptax_stats::search::{Criterion, Sample, Share};

use crate::fail_on::{Condition, Distribution, Kind, Metric};

/// Checks whose failure means that the generator or its machine was the limit, or spoilt the trial.
const OF_GENERATOR: [&str; 7] =
    ["send-lag", "generator-saturated", "generator-exhausted", "run-delay", "steal", "throttled", "clock"];

/// The checks among them about when a request is sent and its response seen. CPU time and memory of the subject do not depend on that.
const OF_TIMES: [&str; 2] = ["send-lag", "run-delay"];

/// The longest limit of response time, seconds. No trial waits so long.
const LONGEST_S: f64 = 3_600.0;

/// A condition that must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective(Condition);

/// Result of a load for an objective.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// True if the objective holds; false if its value is not known.
    pub holds: bool,
    /// Share of the scheduled requests that were lost, 0 to 1: without a complete response, or later than the objective
    /// permits.
    pub loss_ratio: f64,
    /// The value that the objective names; None if not known.
    pub value: Option<f64>,
    /// Unit of the value: `us`, `%`, `requests` or `bytes`.
    pub unit: &'static str,
}

impl Objective {
    /// The percentile that a trial must report for it.
    pub fn percentile(&self) -> Option<f64> {
        self.0.percentile()
    }

    /// The limit of its value, in the unit of [`Held::unit`].
    pub fn limit(&self) -> f64 {
        self.0.limit
    }

    /// The limit of response time for which a trial must count the responses within it, us.
    pub fn limit_us(&self) -> Option<f64> {
        self.late().map(|(_, limit_us)| limit_us)
    }

    /// Returns true if it limits processes, so that a trial must account for some.
    pub fn needs_account(&self) -> bool {
        self.0.needs_account()
    }

    /// Reasons why a judged load that fails this objective tells nothing about its subject: the findings that blame the
    /// generator or its machine for the limited number, as `id: message`.
    pub fn generator_limits(&self, result: &LoadResult) -> Vec<String> {
        findings(result, |id| OF_GENERATOR.contains(&id) && !(self.needs_account() && OF_TIMES.contains(&id)))
    }

    /// Judges a load whose numbers are not withheld yet: a trial may be too short for a quantile, and a search relies on all its trials.
    pub fn judge(&self, result: &LoadResult) -> Held {
        let book = &result.book;
        let share = |answered: u64| {
            let lost = book.planned.saturating_sub(answered);
            if book.planned == 0 { 1.0 } else { lost as f64 / book.planned as f64 }
        };
        let (known, unit) = self.0.known(result);
        let value = known.value();
        if let Some((percentile, limit_us)) = self.late() {
            let is_limit = |one: &&Within| one.limit_us.to_bits() == limit_us.to_bits();
            let loss_ratio = share(result.within.iter().find(is_limit).map_or(0, |one| one.answered));
            // The share that the percentile permits is a decimal fraction, which binary numbers approximate.
            let holds = loss_ratio <= 1.0 - percentile / 100.0 + 1e-9;
            return Held { holds, loss_ratio, value, unit };
        }
        let loss_ratio = share(book.answered);
        let value = match &self.0.metric {
            Metric::Requests { kind: Kind::Errors, as_percent: true } => Some(loss_ratio * 100.0),
            Metric::Requests { kind: Kind::Errors, as_percent: false } => {
                Some(book.planned.saturating_sub(book.answered) as f64)
            }
            _ => value,
        };
        let holds = value.is_some_and(|value| self.0.relation.holds(value, self.0.limit));
        Held { holds, loss_ratio, value, unit }
    }

    /// Returns the criterion that a search evaluates for it.
    pub fn criterion(&self) -> Criterion {
        match (self.late(), &self.0.metric) {
            (Some((percentile, limit_us)), _) => Criterion::Late {
                permitted: 1.0 - percentile / 100.0,
                limit: Duration::from_secs_f64((limit_us / 1e6).clamp(0.0, LONGEST_S)),
            },
            (None, Metric::Requests { kind: Kind::Errors, as_percent: true })
                if self.0.limit > 0.0 && self.0.limit < 100.0 =>
            {
                Criterion::Lost { permitted: self.0.limit / 100.0 }
            }
            _ => Criterion::Value,
        }
    }

    /// Returns the sample for the criterion of a search, from a load whose numbers are not withheld yet.
    pub fn sample(&self, result: &LoadResult) -> Sample {
        let share = |planned: u64, answered: u64| Share {
            lost: planned.saturating_sub(answered) as f64,
            planned: planned as f64,
        };
        let windows = &result.windows;
        match self.criterion() {
            Criterion::Late { .. } => {
                let limit_us = self.limit_us().unwrap_or_default();
                let is_limit = |one: &&Within| one.limit_us.to_bits() == limit_us.to_bits();
                let within = result.within.iter().find(is_limit);
                let by_window = windows.iter().zip(within.map_or(&[][..], |within| &within.by_window));
                Sample::Share {
                    all: share(result.book.planned, within.map_or(0, |within| within.answered)),
                    windows: by_window.map(|(window, answered)| share(window.planned, *answered)).collect(),
                }
            }
            Criterion::Lost { .. } => Sample::Share {
                all: share(result.book.planned, result.book.answered),
                windows: windows.iter().map(|window| share(window.planned, window.answered)).collect(),
            },
            Criterion::Value => {
                let held = self.judge(result);
                let excess = held.value.map(|value| value - self.0.limit);
                // At the limit, `<` does not hold.
                Sample::Value(
                    excess.map(|excess| if held.holds { excess } else { excess.max(f64::MIN_POSITIVE) }),
                )
            }
        }
    }

    /// The percentile of response time and its limit in us, if it limits a percentile.
    fn late(&self) -> Option<(f64, f64)> {
        match self.0.metric {
            Metric::Time(Distribution::Response, TimeOf::Percentile(percentile)) => {
                Some((percentile, self.0.limit))
            }
            _ => None,
        }
    }
}

impl FromStr for Objective {
    type Err = String;

    /// Parses `METRIC<VALUE` or `METRIC<=VALUE`, with the metrics of `--fail-on` that describe the subject.
    fn from_str(text: &str) -> Result<Self, String> {
        if !text.contains(['<', '>']) {
            return Err("write it as `p99<5ms` or `errors<0.1%`".to_owned());
        }
        let condition: Condition = text.parse()?;
        if matches!(condition.metric, Metric::Rate { .. }) {
            return Err("the search sets the rate: limit a time or failures, as `p99<5ms` or `errors<0.1%`"
                .to_owned());
        }
        if matches!(condition.metric, Metric::Time(Distribution::OwnLag, _)) {
            return Err("`own-lag` is the generator's: limit a time of the server, as `p99<5ms`".to_owned());
        }
        if !condition.relation.is_below() {
            return Err("an objective states what must hold, with `<` or `<=`, as `p99<5ms`".to_owned());
        }
        // No value of a load is negative, and no response takes no time.
        let needs_time = matches!(condition.metric, Metric::Time(..));
        let holds_at_0 = condition.relation.holds(0.0, condition.limit);
        if !holds_at_0 || (needs_time && condition.limit <= 0.0) {
            return Err(
                "no load can hold it: limit it above 0, as `p99<5ms`, or failures by `errors<=0`".to_owned()
            );
        }
        Ok(Self(condition))
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Returns the reason why a load tells nothing about the processes that it accounted for, as `id: message`; None if everything about them
/// is known.
pub fn unaccounted(result: &LoadResult) -> Option<String> {
    let account = result.account.as_ref()?;
    let is_known = account.cpu_share.and(account.memory_bytes).is_some();
    (!is_known || (account.cpu_us.is_none() && result.book.answered > 0)).then(|| {
        format!(
            "account: a process or a thread of `{}` ended during the trial, so its CPU time and memory are not known",
            account.processes
        )
    })
}

/// Returns the reasons why a judged load tells nothing about the latency of its subject: the findings that blame the generator or its
/// machine, as `id: message`.
pub fn generator_limits(result: &LoadResult) -> Vec<String> {
    findings(result, |id| OF_GENERATOR.contains(&id))
}

/// The failed checks that `blames` names, as `id: message`.
fn findings(result: &LoadResult, blames: impl Fn(&str) -> bool) -> Vec<String> {
    result
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Fail && blames(&finding.id))
        .map(|finding| format!("{}: {}", finding.id, finding.message))
        .collect()
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ProcessAccount, Window, Within, sample};

    use super::*;
    use crate::load::ALL;
    use crate::load::tests::fired;

    fn held(objective: &str, change: impl FnOnce(&mut LoadResult)) -> Held {
        let mut result = sample::load();
        change(&mut result);
        objective.parse::<Objective>().unwrap().judge(&result)
    }

    fn within(limit_us: f64, answered: u64) -> impl FnOnce(&mut LoadResult) {
        move |result| result.within = vec![Within { limit_us, answered, by_window: vec![answered] }]
    }

    #[test]
    fn a_percentile_holds_if_enough_of_the_scheduled_requests_are_in_time() {
        // 200,000 requests are scheduled.
        let at = |answered| held("p99<5ms", within(5_000.0, answered));
        assert!(at(198_000).holds && !at(197_999).holds);
        assert!((at(190_000).loss_ratio - 0.05).abs() < 1e-12);
        assert_eq!((at(200_000).value, at(200_000).unit), (Some(200.0), "us"));
        assert!(!held("p99<5ms", |_| {}).holds, "nothing was counted");
    }

    #[test]
    fn requests_that_were_never_sent_are_lost() {
        let unsent = |result: &mut LoadResult| {
            (result.book.sent, result.book.answered, result.book.unsent) = (199_000, 199_000, 1_000);
        };
        assert!(!held("errors<0.5%", unsent).holds && held("errors<=0.5%", unsent).holds);
        assert!(!held("errors<1000", unsent).holds && held("errors<1001", unsent).holds);
        assert!((held("errors<0.1%", unsent).loss_ratio - 0.005).abs() < 1e-12);
    }

    #[test]
    fn a_search_is_told_of_late_and_lost_requests_by_window_and_of_other_values() {
        let mut result = sample::load();
        let window = |planned, answered| Window {
            planned,
            sent: planned,
            answered,
            median_response_us: None,
            connections: None,
        };
        (result.book.planned, result.book.answered) = (100, 95);
        result.windows = vec![window(60, 59), window(40, 36)];
        result.within = vec![Within { limit_us: 5_000.0, answered: 90, by_window: vec![58, 32] }];
        let of = |text: &str| {
            let objective: Objective = text.parse().unwrap();
            (objective.criterion(), objective.sample(&result))
        };
        let share = |lost, planned| Share { lost, planned };
        let (criterion, sample) = of("p99<5ms");
        let Criterion::Late { permitted, limit } = criterion else { panic!("{criterion:?}") };
        assert!((permitted - 0.01).abs() < 1e-12 && limit == Duration::from_millis(5));
        let windows = vec![share(2.0, 60.0), share(8.0, 40.0)];
        assert_eq!(sample, Sample::Share { all: share(10.0, 100.0), windows });
        let (criterion, sample) = of("errors<0.1%");
        assert_eq!(criterion, Criterion::Lost { permitted: 0.001 });
        let windows = vec![share(1.0, 60.0), share(4.0, 40.0)];
        assert_eq!(sample, Sample::Share { all: share(5.0, 100.0), windows });
        assert_eq!(of("service.mean<96us").0, Criterion::Value);
        let excess = |text: &str| match of(text).1 {
            Sample::Value(excess) => excess,
            other @ Sample::Share { .. } => panic!("{other:?}"),
        };
        assert!(excess("service.mean<96us") < Some(0.0) && excess("service.mean<90us") > Some(0.0));
        assert!(excess("errors<5") > Some(0.0) && excess("errors<=5") == Some(0.0), "5 requests were lost");
        assert_eq!((excess("cpu<50%"), of("errors<=0%").0), (None, Criterion::Value));
    }

    #[test]
    fn other_metrics_hold_by_their_value_and_not_if_it_is_unknown() {
        assert!(held("service.mean<96us", |_| {}).holds && !held("service.mean<95us", |_| {}).holds);
        assert!(!held("service.mean<96us", |result| result.latency.service.mean_us = None).holds);
        assert!(held("reset<=0", |_| {}).holds);
    }

    #[test]
    fn processes_whose_use_is_not_known_are_named() {
        let known = ProcessAccount {
            processes: "pid 7".to_owned(),
            processors: 2.0,
            cpu_share: Some(0.5),
            cpu_us: Some(50.0),
            memory_bytes: Some(1 << 20),
        };
        let mut result = sample::load();
        assert_eq!(unaccounted(&result), None);
        result.account = Some(known.clone());
        assert_eq!(unaccounted(&result), None);
        let cpu: Objective = "cpu<=50%".parse().unwrap();
        assert!(cpu.needs_account() && cpu.judge(&result).holds);
        for account in [
            ProcessAccount { cpu_share: None, ..known.clone() },
            ProcessAccount { cpu_us: None, ..known.clone() },
            ProcessAccount { memory_bytes: None, ..known.clone() },
        ] {
            result.account = Some(account);
            assert!(unaccounted(&result).is_some_and(|reason| reason.contains("`pid 7` ended")));
        }
        result.account = Some(ProcessAccount { cpu_us: None, ..known });
        result.book.answered = 0;
        assert_eq!(unaccounted(&result), None, "without responses, there is no CPU time for each");
    }

    #[test]
    fn an_objective_that_could_not_limit_a_search_is_refused() {
        for (text, expected) in [
            ("p99", "write it as `p99<5ms`"),
            ("p99>5ms", "with `<` or `<=`"),
            ("rate<100", "the search sets the rate"),
            ("own-lag.p99<1ms", "generator's"),
            ("p100<5ms", "below 100"),
            ("cpu>80%", "with `<` or `<=`"),
            ("errors<0%", "no load can hold it"),
            ("errors<0", "no load can hold it"),
            ("p99<0ms", "no load can hold it"),
            ("service.mean<=0ms", "no load can hold it"),
            ("cpu<0%", "no load can hold it"),
        ] {
            let error = text.parse::<Objective>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_failure_of_the_generator_is_a_limit_and_an_overloaded_subject_is_not() {
        let limits = |change: fn(&mut LoadResult)| generator_limits(&fired("", change).1);
        let lag = limits(|result| result.latency.own_lag.p99_us = Some(5_000.0));
        assert!(lag.len() == 1 && lag[0].starts_with("send-lag: "), "{lag:?}");
        let overloaded = limits(|result| {
            (result.book.sent, result.book.answered, result.book.unsent) = (150_000, 150_000, 50_000);
        });
        assert_eq!(overloaded, Vec::<String>::new());
    }

    #[test]
    fn a_late_generator_spoils_times_and_losses_and_not_what_processes_use() {
        let limits = |objective: &str, change: fn(&mut LoadResult)| {
            objective.parse::<Objective>().unwrap().generator_limits(&fired("", change).1)
        };
        let late = |result: &mut LoadResult| result.latency.own_lag.p99_us = Some(5_000.0);
        for objective in ["p99<5ms", "service.mean<1ms", "errors<1%"] {
            assert!(limits(objective, late)[0].starts_with("send-lag: "), "{objective}");
        }
        for objective in ["cpu_us<50", "cpu<80%", "memory<100MiB"] {
            assert_eq!(limits(objective, late), Vec::<String>::new(), "{objective}");
            let steal = |result: &mut LoadResult| result.generator.steal_share = 0.5;
            assert!(limits(objective, steal)[0].starts_with("steal: "), "{objective}");
        }
    }

    #[test]
    fn the_checks_of_the_generator_exist() {
        assert!(OF_TIMES.iter().all(|id| OF_GENERATOR.contains(id)));
        assert!(OF_GENERATOR.iter().all(|id| ALL.iter().any(|check| check.id == *id)));
    }
}
