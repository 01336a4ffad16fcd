//! CPU limits of the containers of proxies.

use hoptax_result::{ArmResult, Finding, LimitPeriods, Measure, Measured, StudyResult, count, grouped};

use crate::check::{Check, severity_above};
use crate::thresholds;

/// A CPU limit that throttled a proxy.
pub(super) const THROTTLED: Check<StudyResult> = Check {
    id: "throttled",
    protects_from: "a container's CPU limit that stops the generator, or a proxy, for most of every 100 ms",
    source: "kernel documentation, admin-guide/cgroup-v2: nr_throttled of cpu.stat",
    judge: |result, limits| {
        let (warn, fail) =
            (limits.value(&thresholds::PROXY_THROTTLED), limits.value(&thresholds::PROXY_THROTTLED_FAIL));
        let of_arm = |arm: &ArmResult| {
            let names = arm.hops.iter().map(|hop| hop.name.as_str());
            let all: Vec<(&str, LimitPeriods)> = names.zip(of_proxies(result, arm)).collect();
            let share = all.iter().map(|(_, periods)| periods.throttled_share()).fold(0.0, f64::max);
            let (severity, threshold) = severity_above(share, warn, fail)?;
            let stopped = all.iter().filter(|(_, periods)| periods.throttled > 0).map(|(name, periods)| {
                let LimitPeriods { periods, throttled, throttled_s } = periods;
                format!(
                    "`{name}` in {} of {} periods, for {} s",
                    count(*throttled),
                    count(*periods),
                    grouped(*throttled_s, 2)
                )
            });
            let message = format!(
                "a CPU limit (cgroup) throttled proxies of `{}`: {}",
                arm.id,
                stopped.collect::<Vec<_>>().join("; ")
            );
            let advice = "raise or remove the CPU limit of the container, or lower the rate; CPU times under the limit may differ from \
                          those without it";
            let finding =
                Finding::new("throttled", severity, Measured::percent(share, threshold), message, advice);
            Some(Finding { arm: Some(arm.id.clone()), measures: Measure::TIMED.to_vec(), ..finding })
        };
        result.arms.iter().filter_map(of_arm).collect()
    },
    withhold: None,
};

/// The periods of the limit of each proxy of an arm in all slices.
fn of_proxies(result: &StudyResult, arm: &ArmResult) -> Vec<LimitPeriods> {
    let mut all = vec![LimitPeriods::default(); arm.hops.len()];
    let samples = result.rounds.iter().flat_map(|round| &round.samples).filter(|sample| sample.arm == arm.id);
    for slice in samples.flat_map(|sample| &sample.limits) {
        for (sum, periods) in all.iter_mut().zip(slice) {
            *sum = *sum + periods.unwrap_or_default();
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use hoptax_result::{HopUse, LimitPeriods, Sample, Severity, StudyResult, StudyRound};

    use crate::study::tests::{fired, left, withheld};

    /// Gives the arm `lua` two proxies, of which the second had these periods in each of two rounds.
    fn limited(result: &mut StudyResult, periods: u64, throttled: u64) {
        let hop = |name: &str| HopUse { name: name.to_owned(), ..HopUse::default() };
        result.arms[2].hops = vec![hop("client"), hop("server")];
        let periods = LimitPeriods { periods, throttled, throttled_s: throttled as f64 / 20.0 };
        let sample = Sample {
            arm: "lua".to_owned(),
            load: "fixed-rate".to_owned(),
            limits: vec![vec![None, Some(periods)]],
            ..Sample::default()
        };
        result.rounds = vec![StudyRound { samples: vec![sample], ..StudyRound::default() }; 2];
    }

    #[test]
    fn a_limit_on_the_cpu_time_of_a_proxy_fires() {
        let found = |periods, throttled| fired("throttled", |result| limited(result, periods, throttled));
        assert_eq!(found(0, 0).0, None, "without a limit");
        assert_eq!(found(200, 0).0, None);
        assert_eq!(found(200, 1).0, Some(Severity::Warn));
        let (severity, result) = found(200, 3);
        assert_eq!(severity, Some(Severity::Fail));
        let finding = result.findings.iter().find(|finding| finding.id == "throttled").unwrap();
        assert!(
            finding.message.ends_with("of `lua`: `server` in 6 of 400 periods, for 0.30 s"),
            "{finding:?}"
        );
        assert!((finding.value - 1.5).abs() < 1e-9 && finding.arm.as_deref() == Some("lua"), "{finding:?}");
    }

    #[test]
    fn times_of_a_throttled_arm_are_withheld_and_its_cpu_time_is_kept() {
        let (_, mut result) = fired("throttled", |result| limited(result, 200, 50));
        let left = left(&mut result);
        for kept in ["+lua fixed-rate Cpu", "lua fixed-rate Cpu", "+same fixed-rate ResponseP50"] {
            assert!(left.iter().any(|place| place == kept), "{kept}: {left:?}");
        }
        let withheld = withheld(|result| limited(result, 200, 50));
        assert!(
            withheld.iter().all(|place| place.contains("lua") && !place.ends_with("Cpu")),
            "{withheld:?}"
        );
        for place in ["+lua fixed-rate ResponseP50", "lua fixed-rate ResponseP99", "lua fixed-rate Rate"] {
            assert!(withheld.iter().any(|other| other == place), "{place}: {withheld:?}");
        }
    }

    #[test]
    fn the_threshold_of_a_throttled_proxy_can_be_set() {
        let mut limits = crate::thresholds::Limits::default();
        limits.set("proxy-throttled", 0.5).unwrap();
        limits.set("proxy-throttled-fail", 0.5).unwrap();
        let mut result = crate::study::tests::sound();
        limited(&mut result, 200, 50);
        crate::judge_study(&mut result, &limits);
        assert!(result.findings.iter().all(|finding| finding.id != "throttled"), "{:?}", result.findings);
    }
}
