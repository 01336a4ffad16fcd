//! Decides which slices are set aside, by what the host did to the machine or the generator during them, never by what
//! was measured of the subject.

use hoptax_result::Disturbance;
use hoptax_stats::median;

use crate::record::{RoundRecord, SliceRecord};

/// Largest share of a slice that the host may take from a processor: one tick in a slice of a second or more, none in a
/// shorter one.
const MOST_STEAL: f64 = 0.01;
/// Length of a tick, seconds.
const TICK_S: f64 = 0.01;
/// Largest share of a slice that a proxy may wait for its processor.
const MOST_RUN_DELAY: f64 = 0.05;
/// Largest lag of the generator itself with a request, nanoseconds. Beside busy tasks a scheduler may delay the
/// generator by milliseconds. If it lags by this much, it or the whole machine was stopped, and the requests due
/// meanwhile carry no information on the subject.
const MOST_STILL_NS: u64 = 100_000_000;
/// Largest ratio of a handover to the usual one, either way. Readings of one placement of the processors are within a
/// fifth of each other; those of another placement are several times as long.
const MOST_HANDOVER: f64 = 1.5;

/// The rule of a study, based on the host's readings over all of it.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    handover: Option<HandoverLimits>,
    /// Where proxies share processors with callers on purpose, waiting for a processor is no disturbance.
    shares_processors: bool,
}

impl Rule {
    /// The rule of a study with these rounds.
    pub fn of(rounds: &[RoundRecord], shares_processors: bool) -> Self {
        let slices = rounds.iter().flat_map(|round| &round.slices);
        let readings: Vec<f64> = slices.filter_map(|slice| slice.handover_ns).collect();
        Self { handover: HandoverLimits::around(median(&readings)), shares_processors }
    }

    /// What disturbed a slice; empty if the slice counts.
    pub fn disturbances(&self, slice: &SliceRecord) -> Vec<Disturbance> {
        let is_disturbed = |disturbance: &Disturbance| match disturbance {
            Disturbance::Steal => lost_ticks(slice),
            Disturbance::Handover => {
                slice.handover_ns.zip(self.handover).is_some_and(|(reading, limits)| !limits.hold(reading))
            }
            Disturbance::RunDelay => !self.shares_processors && was_delayed(slice),
            Disturbance::Stalled => was_stalled(slice),
        };
        Disturbance::ALL.into_iter().filter(is_disturbed).collect()
    }

    /// The rule in words, for the result.
    pub fn text(&self) -> String {
        let mut rule =
            "slices are set aside for steal above 1 % on a processor in use (counted in ticks of 10 ms) and for generator \
             stalls of 100 ms and more"
                .to_owned();
        if let Some(HandoverLimits { low_ns, high_ns }) = self.handover {
            rule += &format!(
                ", and if the cache-line round trip between generator and proxy just before or after the slice is not within \
                 {low_ns:.0} to {high_ns:.0} ns (a factor of 1.5 around the study's median): the hypervisor moved the vCPUs"
            );
        }
        if !self.shares_processors {
            rule += "; only the CPU time counts if the proxy waited more than 5 % of the slice for a processor, waits for its \
                     own threads excluded";
        }
        rule
    }
}

/// The range of handovers at the study's usual placement of the processors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandoverLimits {
    /// The shortest, nanoseconds.
    low_ns: f64,
    /// The longest, nanoseconds.
    high_ns: f64,
}

impl HandoverLimits {
    /// The limits around the usual handover, if there is one.
    pub fn around(usual_ns: Option<f64>) -> Option<Self> {
        let usual_ns = usual_ns?;
        Some(Self { low_ns: usual_ns / MOST_HANDOVER, high_ns: usual_ns * MOST_HANDOVER })
    }

    /// Whether a reading is within the limits.
    pub fn hold(self, reading_ns: f64) -> bool {
        !self.is_apart(reading_ns) && reading_ns >= self.low_ns
    }

    /// Whether the host placed the processors further apart.
    pub fn is_apart(self, reading_ns: f64) -> bool {
        reading_ns > self.high_ns
    }
}

/// Whether the host took more of a slice than allowed.
pub fn lost_ticks(slice: &SliceRecord) -> bool {
    slice.steal_ticks as f64 * TICK_S > MOST_STEAL * slice.wall_s
}

/// Whether the generator was stopped during a slice.
pub fn was_stalled(slice: &SliceRecord) -> bool {
    slice.latest_own_lag_ns > MOST_STILL_NS
}

/// Whether the proxy waited for its processor for longer than allowed.
pub fn was_delayed(slice: &SliceRecord) -> bool {
    slice.proxy_run_delay_ns as f64 / 1e9 > MOST_RUN_DELAY * slice.wall_s
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice() -> SliceRecord {
        SliceRecord { wall_s: 0.2, recorded_s: 0.2, handover_ns: Some(60.0), ..SliceRecord::default() }
    }

    /// The disturbances of each slice, and the rule in words.
    fn judged(slices: &[SliceRecord]) -> (Vec<Vec<Disturbance>>, String) {
        let rounds = [RoundRecord { slices: slices.to_vec(), ..RoundRecord::default() }];
        let rule = Rule::of(&rounds, false);
        (slices.iter().map(|slice| rule.disturbances(slice)).collect(), rule.text())
    }

    /// Whether each slice with the given handover is set aside.
    fn apart(readings: &[f64]) -> Vec<bool> {
        let with = |handover_ns: &f64| SliceRecord { handover_ns: Some(*handover_ns), ..slice() };
        let slices: Vec<SliceRecord> = readings.iter().map(with).collect();
        judged(&slices).0.iter().map(|by| by.as_slice() == [Disturbance::Handover]).collect()
    }

    #[test]
    fn steal_run_delay_and_a_stalled_generator_are_distinguished() {
        let slices = [
            slice(),
            SliceRecord { steal_ticks: 1, ..slice() },
            SliceRecord { proxy_run_delay_ns: 10_000_000, ..slice() },
            SliceRecord { proxy_run_delay_ns: 10_000_001, ..slice() },
            SliceRecord { latest_own_lag_ns: 100_000_000, ..slice() },
            SliceRecord { latest_own_lag_ns: 100_000_001, ..slice() },
        ];
        let run_delay = vec![Disturbance::RunDelay];
        let expected =
            [vec![], vec![Disturbance::Steal], vec![], run_delay, vec![], vec![Disturbance::Stalled]];
        assert_eq!(judged(&slices).0, expected);
    }

    #[test]
    fn processors_that_were_moved_apart_set_aside_even_when_the_study_began_so() {
        let aside = apart(&[500.0, 480.0, 60.0, 70.0, 60.0, 91.0, 60.0]);
        assert_eq!(aside, [true, true, false, false, false, false, false]);
    }

    #[test]
    fn processors_that_were_seldom_together_set_those_slices_aside() {
        let aside = apart(&[350.0, 360.0, 60.0, 370.0, 380.0, 400.0, 340.0]);
        assert_eq!(aside, [false, false, true, false, false, false, false]);
    }

    #[test]
    fn the_rule_states_its_handover_limits_only_with_readings() {
        let (_, rule) = judged(&[slice()]);
        assert!(rule.contains("40 to 90 ns"), "{rule}");
        let (by, rule) = judged(&[SliceRecord { handover_ns: None, ..slice() }]);
        assert!(by[0].is_empty() && !rule.contains("cache line"), "{rule}");
    }
}
