//! Decides which slices are set aside: for steal, the placement of the processors, run delay of the proxy, a stall of
//! the generator, or a process that did not last. The result of a slice never decides about that slice. CPU times of replicates only decide whether
//! distant placements are set aside at all ([`crate::placement`]).

use std::collections::BTreeMap;

use hoptax_result::{Disturbance, grouped};

use crate::placement::{MAX_HANDOVER_RATIO, is_noisier_apart};
use crate::record::{RoundRecord, SliceRecord};

/// Largest share of a slice that the host may steal from one processor: one tick of 10 ms per full second. A slice
/// shorter than a second may lose none.
const MAX_STEAL_SHARE: f64 = 0.01;
/// Length of a tick, seconds.
const TICK_S: f64 = 0.01;
/// Largest share of a slice that a proxy may wait for its processor.
const MAX_RUN_DELAY_SHARE: f64 = 0.05;
/// Largest lag of the generator itself, with a request or between two turns of its event loop, nanoseconds. Beside busy
/// tasks a scheduler may delay the generator by milliseconds. If it lags by this much, it or the whole machine was
/// stopped: requests due meanwhile carry no information on the subject, and a closed loop left it idle.
const MAX_OWN_LAG_NS: u64 = 100_000_000;
/// A closed loop of many connections leaves the subject idle only when the requests in flight are used up. About half of them may wait
/// at the generator, so it may lag by this share of the time that they take (Little's law). Origin and generator share processors: after
/// a burst of 10,000 requests, the generator may wait more than 100 ms for its turn.
const MAX_IN_FLIGHT_SHARE: f64 = 0.5;

/// The rule of a study, based on the host's readings over all of it.
///
/// Costs are differences within a block, so all slices of a block must share one placement of the processors; blocks
/// may differ. Slices measured further apart than usual are also set aside, unless replicates show that such slices are
/// no noisier.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    handover: Option<HandoverLimits>,
    has_readings: bool,
    /// Where proxies share processors with callers on purpose, waiting for a processor is no disturbance.
    shares_processors: bool,
    /// True if a closed loop has so many connections that the generator may lag by more than [`MAX_OWN_LAG_NS`].
    has_long_queues: bool,
}

impl Rule {
    /// The rule of a study with these rounds.
    pub fn from_rounds(rounds: &[RoundRecord], shares_processors: bool) -> Self {
        let slices = rounds.iter().flat_map(|round| &round.slices);
        let has_readings = slices.clone().any(|slice| slice.handover_ns.is_some());
        let has_long_queues = slices.clone().any(|slice| max_own_lag_ns(slice) > MAX_OWN_LAG_NS as f64);
        Self { handover: HandoverLimits::usual(slices), has_readings, shares_processors, has_long_queues }
    }

    /// Returns the disturbances of each slice of a round, in the order of the slices; empty for a slice that counts.
    pub fn disturbances(&self, record: &RoundRecord) -> Vec<Vec<Disturbance>> {
        let mut readings: BTreeMap<(usize, u32), Vec<f64>> = BTreeMap::new();
        for slice in &record.slices {
            readings.entry((slice.load, slice.block)).or_default().extend(slice.handover_ns);
        }
        let of_block = |slice: &SliceRecord| {
            let of_block = readings.get(&(slice.load, slice.block))?;
            low_median(of_block).map(HandoverLimits::around)
        };
        record.slices.iter().map(|slice| self.of_slice(slice, of_block(slice))).collect()
    }

    /// Returns the disturbances of a slice, given the limits of its block.
    fn of_slice(&self, slice: &SliceRecord, of_block: Option<HandoverLimits>) -> Vec<Disturbance> {
        let is_moved = |reading: f64| {
            self.handover.is_some_and(|limits| limits.is_apart(reading))
                || of_block.is_some_and(|limits| !limits.hold(reading))
        };
        let is_disturbed = |disturbance: &Disturbance| match disturbance {
            Disturbance::Steal => lost_ticks(slice),
            Disturbance::Handover => slice.handover_ns.is_some_and(is_moved),
            Disturbance::RunDelay => !self.shares_processors && was_delayed(slice),
            Disturbance::Stalled => was_stalled(slice),
            Disturbance::Restarted => slice.is_incomplete,
        };
        Disturbance::ALL.into_iter().filter(is_disturbed).collect()
    }

    /// The rule in words, for the result.
    pub fn text(&self) -> String {
        let longer = if self.has_long_queues {
            " (in a closed loop, above half of the time that the requests in flight take, if that is longer)"
        } else {
            ""
        };
        let mut rule = format!(
            "set aside: steal above 1 % (ticks of 10 ms on a processor in use), generator stall above 100 ms{longer}, end or restart of a \
             process"
        );
        let of_block = format!("off by a factor of {MAX_HANDOVER_RATIO} from the rest of its block");
        match self.handover {
            Some(HandoverLimits { high_ns, .. }) => {
                rule += &format!(
                    ", cache-line round trip above {high_ns} ns ({MAX_HANDOVER_RATIO} times the study's median; replicates did \
                     not show that slices above it are no noisier) or {of_block}",
                    high_ns = grouped(high_ns, 0)
                );
            }
            None if self.has_readings => rule += &format!(", cache-line round trip {of_block}"),
            None => {}
        }
        if !self.shares_processors {
            rule += "; set aside except for its CPU time: proxy run delay above 5 % (waits of its threads for each other do not count)";
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
    /// The limits around the handover of a placement.
    fn around(handover_ns: f64) -> Self {
        Self { low_ns: handover_ns / MAX_HANDOVER_RATIO, high_ns: handover_ns * MAX_HANDOVER_RATIO }
    }

    /// The limits around the usual placement, that of the median slice. None without readings, and where replicates show
    /// that slices are no noisier further apart.
    pub fn usual<'a>(slices: impl Iterator<Item = &'a SliceRecord> + Clone) -> Option<Self> {
        let readings: Vec<f64> = slices.clone().filter_map(|slice| slice.handover_ns).collect();
        let is_noisier = || is_noisier_apart(slices).unwrap_or(true);
        low_median(&readings).filter(|_| is_noisier()).map(Self::around)
    }

    /// Returns true if a reading is within the limits.
    pub fn hold(self, reading_ns: f64) -> bool {
        !self.is_apart(reading_ns) && reading_ns >= self.low_ns
    }

    /// Returns true if a reading shows that the host placed the processors further apart.
    pub fn is_apart(self, reading_ns: f64) -> bool {
        reading_ns > self.high_ns
    }
}

/// The median, and of an even number of readings the lower of the two in the middle: a mean of two placements is neither.
fn low_median(readings: &[f64]) -> Option<f64> {
    let mut sorted = readings.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().checked_sub(1)? / 2).copied()
}

/// Returns true if the host stole more of a slice than allowed.
pub fn lost_ticks(slice: &SliceRecord) -> bool {
    slice.steal_ticks as f64 * TICK_S > MAX_STEAL_SHARE * slice.wall_s
}

/// Returns true if the generator was stopped during a slice.
pub fn was_stalled(slice: &SliceRecord) -> bool {
    slice.latest_own_lag_ns as f64 > max_own_lag_ns(slice)
}

fn max_own_lag_ns(slice: &SliceRecord) -> f64 {
    let in_flight_ns = if slice.book.answered > 0 {
        1e9 * f64::from(slice.closed_connections) * slice.recorded_s / slice.book.answered as f64
    } else {
        0.0
    };
    (MAX_IN_FLIGHT_SHARE * in_flight_ns).max(MAX_OWN_LAG_NS as f64)
}

/// Returns true if no number of a slice counts, for a reason that a repetition later in the round would not have.
pub fn is_lost(slice: &SliceRecord) -> bool {
    lost_ticks(slice) || was_stalled(slice) || slice.is_incomplete
}

/// Returns true if the proxy waited for its processor for longer than allowed.
pub fn was_delayed(slice: &SliceRecord) -> bool {
    slice.proxy_run_delay_ns as f64 / 1e9 > MAX_RUN_DELAY_SHARE * slice.wall_s
}

#[cfg(test)]
mod tests {
    use hoptax_result::Book;

    use super::*;

    fn slice() -> SliceRecord {
        SliceRecord { wall_s: 0.2, recorded_s: 0.2, handover_ns: Some(60.0), ..SliceRecord::default() }
    }

    /// The disturbances of each slice, and the rule in words.
    fn judged(slices: &[SliceRecord]) -> (Vec<Vec<Disturbance>>, String) {
        let rounds = [RoundRecord { slices: slices.to_vec(), ..RoundRecord::default() }];
        let rule = Rule::from_rounds(&rounds, false);
        (rule.disturbances(&rounds[0]), rule.text())
    }

    /// Returns for each slice, given its block and its handover, true if it is set aside.
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
    fn steal_run_delay_a_stalled_generator_and_a_restarted_process_are_distinguished() {
        let slices = [
            slice(),
            SliceRecord { steal_ticks: 1, ..slice() },
            SliceRecord { proxy_run_delay_ns: 10_000_000, ..slice() },
            SliceRecord { proxy_run_delay_ns: 10_000_001, ..slice() },
            SliceRecord { latest_own_lag_ns: 100_000_000, ..slice() },
            SliceRecord { latest_own_lag_ns: 100_000_001, ..slice() },
            SliceRecord { is_incomplete: true, ..slice() },
        ];
        let by = |disturbance: Disturbance| vec![disturbance];
        let expected = [
            vec![],
            by(Disturbance::Steal),
            vec![],
            by(Disturbance::RunDelay),
            vec![],
            by(Disturbance::Stalled),
            by(Disturbance::Restarted),
        ];
        assert_eq!(judged(&slices).0, expected);
    }

    #[test]
    fn a_generator_may_lag_until_half_of_the_requests_in_flight_are_used_up() {
        // 12,000 responses/s: 10,000 requests in flight last for 833 ms, 100 for 8 ms.
        let closed = |closed_connections: u32, lag_ms: u64| SliceRecord {
            closed_connections,
            book: Book { answered: 2_400, ..Book::default() },
            latest_own_lag_ns: lag_ms * 1_000_000,
            ..slice()
        };
        let (by, text) =
            judged(&[closed(10_000, 400), closed(10_000, 420), closed(100, 100), closed(100, 101)]);
        assert_eq!(by, [vec![], vec![Disturbance::Stalled], vec![], vec![Disturbance::Stalled]]);
        assert!(text.contains("100 ms (in a closed loop, above half"), "{text}");
        let (_, text) = judged(&[closed(100, 0)]);
        assert!(text.contains("generator stall above 100 ms, end or restart"), "{text}");
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
    fn of_a_block_in_two_halves_the_closer_one_counts() {
        let aside = apart(&[(0, 350.0), (0, 60.0), (0, 352.0), (0, 61.0)]);
        assert_eq!(aside, [true, false, true, false]);
    }

    #[test]
    fn the_rule_states_its_handover_limits_only_with_readings() {
        let (_, rule) = judged(&[slice()]);
        assert!(rule.contains("above 90 ns") && rule.contains("round trip"), "{rule}");
        let (by, rule) = judged(&[SliceRecord { handover_ns: None, ..slice() }]);
        assert!(by[0].is_empty() && !rule.contains("round trip"), "{rule}");
    }
}
