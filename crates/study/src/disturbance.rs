//! Decides which slices are set aside, by what the host did to the machine or the generator during them, never by what
//! was measured of the subject.

use std::collections::BTreeMap;

use hoptax_result::Disturbance;
use hoptax_stats::median;

use crate::placement::{MAX_HANDOVER_RATIO, is_noisier_apart};
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
/// The rule of a study, based on the host's readings over all of it.
///
/// Costs are differences within a block, so all slices of a block must share one placement of the processors; blocks
/// may differ. Where slices are noisier with the processors further apart than usual, those are set aside in any case.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    handover: Option<HandoverLimits>,
    has_readings: bool,
    /// Where proxies share processors with callers on purpose, waiting for a processor is no disturbance.
    shares_processors: bool,
}

impl Rule {
    /// The rule of a study with these rounds.
    pub fn of(rounds: &[RoundRecord], shares_processors: bool) -> Self {
        let slices = rounds.iter().flat_map(|round| &round.slices);
        let readings: Vec<f64> = slices.clone().filter_map(|slice| slice.handover_ns).collect();
        let is_noisier = is_noisier_apart(slices).unwrap_or(true);
        let handover = HandoverLimits::around(median(&readings)).filter(|_| is_noisier);
        Self { handover, has_readings: !readings.is_empty(), shares_processors }
    }

    /// What disturbed each slice of a round, in their order; empty if the slice counts.
    pub fn disturbances(&self, record: &RoundRecord) -> Vec<Vec<Disturbance>> {
        let mut readings: BTreeMap<(usize, u32), Vec<f64>> = BTreeMap::new();
        for slice in &record.slices {
            readings.entry((slice.load, slice.block)).or_default().extend(slice.handover_ns);
        }
        let of_block =
            |slice: &SliceRecord| HandoverLimits::around(median(readings.get(&(slice.load, slice.block))?));
        record.slices.iter().map(|slice| self.of_slice(slice, of_block(slice))).collect()
    }

    /// What disturbed a slice of a block with these limits.
    fn of_slice(&self, slice: &SliceRecord, of_block: Option<HandoverLimits>) -> Vec<Disturbance> {
        let is_moved = |reading: f64| {
            self.handover.is_some_and(|limits| limits.is_apart(reading))
                || of_block.is_some_and(|limits| !limits.hold(reading))
        };
        let is_disturbed = |disturbance: &Disturbance| match disturbance {
            Disturbance::Steal => took_ticks(slice),
            Disturbance::Handover => slice.handover_ns.is_some_and(is_moved),
            Disturbance::RunDelay => !self.shares_processors && was_delayed(slice),
            Disturbance::Stalled => stood_still(slice),
        };
        Disturbance::ALL.into_iter().filter(is_disturbed).collect()
    }

    /// The rule in words, for the result.
    pub fn text(&self) -> String {
        let mut rule =
            "a slice is set aside when the host took more than 1 % of it from a processor in use (a tick is 10 ms), or when the \
             generator stood still for 100 ms and more"
                .to_owned();
        if let Some(HandoverLimits { high_ns, .. }) = self.handover {
            rule += &format!(
                ", or when a cache line took more than {high_ns:.0} ns between the processors of generator and proxy and back \
                 ({MAX_HANDOVER_RATIO} times the median of the study): the hypervisor had moved them apart, where slices are \
                 noisier"
            );
        }
        if self.has_readings {
            rule += &format!(
                ", or when a cache line took {MAX_HANDOVER_RATIO} times more or less than in the other slices of its block"
            );
        }
        if !self.shares_processors {
            rule += "; where the proxy waited more than 5 % of it for a processor that none of its own threads had, only its \
                     CPU time counts";
        }
        rule
    }
}

/// The range of handovers at one placement of the processors.
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
        Some(Self { low_ns: usual_ns / MAX_HANDOVER_RATIO, high_ns: usual_ns * MAX_HANDOVER_RATIO })
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
pub fn took_ticks(slice: &SliceRecord) -> bool {
    slice.steal_ticks as f64 * TICK_S > MOST_STEAL * slice.wall_s
}

/// Whether the generator was stopped during a slice.
pub fn stood_still(slice: &SliceRecord) -> bool {
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
        (rule.disturbances(&rounds[0]), rule.text())
    }

    /// Whether each slice is set aside, given its block and its handover.
    fn apart(readings: &[(u32, f64)]) -> Vec<bool> {
        let with = |(block, handover_ns): &(u32, f64)| SliceRecord {
            block: *block,
            handover_ns: Some(*handover_ns),
            ..slice()
        };
        let slices: Vec<SliceRecord> = readings.iter().map(with).collect();
        judged(&slices).0.iter().map(|by| by.as_slice() == [Disturbance::Handover]).collect()
    }

    #[test]
    fn steal_run_delay_and_a_generator_that_stood_still_are_told_apart() {
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
    fn blocks_further_apart_than_usual_are_set_aside_even_when_the_study_began_with_them() {
        let first = [(0, 500.0), (0, 480.0)];
        let later = [(1, 60.0), (1, 70.0), (1, 60.0), (2, 80.0), (2, 60.0)];
        let aside = apart(&[first.as_slice(), &later].concat());
        assert_eq!(aside, [true, true, false, false, false, false, false]);
    }

    #[test]
    fn blocks_closer_together_than_usual_count() {
        let aside = apart(&[(0, 350.0), (0, 360.0), (0, 370.0), (1, 60.0), (1, 61.0), (2, 350.0)]);
        assert_eq!(aside, [false; 6]);
    }

    #[test]
    fn slices_at_another_placement_than_the_rest_of_their_block_are_set_aside() {
        let aside = apart(&[
            (0, 350.0),
            (0, 60.0),
            (0, 370.0),
            (1, 60.0),
            (1, 61.0),
            (1, 350.0),
            (1, 62.0),
            (2, 350.0),
            (2, 350.0),
        ]);
        assert_eq!(aside, [false, true, false, false, false, true, false, false, false]);
    }

    #[test]
    fn the_rule_says_its_limits_and_without_readings_does_not_speak_of_them() {
        let (_, rule) = judged(&[slice()]);
        assert!(rule.contains("more than 90 ns"), "{rule}");
        let (by, rule) = judged(&[SliceRecord { handover_ns: None, ..slice() }]);
        assert!(by[0].is_empty() && !rule.contains("cache line"), "{rule}");
    }
}
