//! Waits until the hypervisor places the processors close together, and repeats slices that the host disturbed.
//!
//! A host may move the processors of generator and proxy apart and together again, every few seconds or every few minutes. On many hosts,
//! slices are several times less noisy while the processors are close. So slices wait while the processors are further apart than usual
//! (than at the median of the slices so far), and are repeated if the host moves the processors apart during them, as long as the time
//! allowance lasts. This stops once replicates show that slices are no noisier with processors apart ([`hoptax_plan::placement`]). Slices
//! never wait for processors to be closer than usual: on a host that has them close for a third of the time, that would double the length
//! of a study. [`hoptax_plan::disturbance`] decides which slices count.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hoptax_host::handover::HandoverProbe;
use hoptax_host::processors::Placement;
use hoptax_plan::disturbance::{HandoverLimits, is_lost, was_delayed};
use hoptax_plan::plan::{self, Block, Plan, Subject};
use hoptax_plan::record::{RoundRecord, SliceRecord};

/// Interval between readings while waiting.
const READ_INTERVAL: Duration = Duration::from_millis(20);
/// Initial allowance, to wait out a bad start. It is limited to the time of all slices, so that a short study stays short.
const FIRST_WAIT: Duration = Duration::from_secs(5);
/// Time for waiting and for disturbed slices, as a share of the time of the other slices, so that a host that is always disturbed cannot
/// delay a study indefinitely. When it is used up, a disturbed slice is measured once and set aside.
const LOST_SHARE: f64 = 1.0;

/// Number of slices with a delayed proxy that are repeated in any case.
const MAX_DELAYED_REPEATS: u32 = 8;

/// Monitors where the host places the processors of generator and proxy.
#[derive(Debug)]
pub(super) struct HostWaits {
    probe: Option<HandoverProbe>,
    /// The slices so far.
    slices: Vec<SliceRecord>,
    /// The remaining allowance.
    allowance: Duration,
    /// The largest allowance.
    patience: Duration,
    /// True if proxies share processors with callers on purpose. Waiting for a processor is then not a disturbance.
    shares_processors: bool,
    /// Number of slices so far, and of those with a delayed proxy.
    seen: (u32, u32),
    /// Number of slices without a request that may still be repeated.
    empty_repeats: u32,
}

/// The outcome of the wait before a slice.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waited {
    /// The last reading, nanoseconds; None if there is no probe.
    pub(super) handover_ns: Option<f64>,
    /// Duration of the wait.
    pub(super) time: Duration,
}

impl HostWaits {
    /// Monitors the distance of the processors. There is no probe if generator and proxy share a processor, or if there is a link, whose
    /// round trips far exceed the effect of placement. A resumed study uses the readings of its earlier rounds.
    pub(super) fn over(
        plan: &Plan,
        placement: &Placement,
        has_link: bool,
        earlier: &[RoundRecord],
    ) -> io::Result<Self> {
        let processor = placement.proxy.first().filter(|_| placement.is_apart() && !has_link);
        let probe = processor.map(|&processor| HandoverProbe::start(processor)).transpose()?;
        let slices = earlier.iter().flat_map(|round| &round.slices).cloned().collect();
        Ok(Self {
            probe,
            slices,
            allowance: first_allowance(plan),
            patience: plan.patience,
            shares_processors: has_link,
            seen: (0, 0),
            empty_repeats: plan.empty_repeats,
        })
    }

    /// The usual placement so far; None before the first slice, and where slices are no noisier further apart.
    fn usual(&self) -> Option<HandoverLimits> {
        HandoverLimits::usual(self.slices.iter())
    }

    /// Waits until the processors are as close as usual, if they are not and the allowance lasts; calls `on_wait` first.
    pub(super) fn wait(&mut self, stop: &AtomicBool, on_wait: &mut dyn FnMut()) -> Waited {
        let mut waited = Waited::default();
        let usual = self.usual();
        let Some(probe) = self.probe.as_mut() else { return waited };
        loop {
            let reading = probe.read();
            waited.handover_ns = Some(reading);
            let is_apart = usual.is_some_and(|usual| usual.is_apart(reading));
            if !is_apart || self.allowance.is_zero() || stop.load(Ordering::Relaxed) {
                return waited;
            }
            if waited.time.is_zero() {
                on_wait();
            }
            let began = Instant::now();
            thread::sleep(READ_INTERVAL);
            waited.time += began.elapsed();
            self.allowance = self.allowance.saturating_sub(began.elapsed());
        }
    }

    /// The reading of a slice: the longer of the one before it and one taken now.
    pub(super) fn after(&mut self, before: Waited) -> Option<f64> {
        Some(before.handover_ns?.max(self.probe.as_mut()?.read()))
    }

    /// Returns true if the host disturbed this slice, or a process ended during it, and the allowance permits repeating it.
    pub(super) fn repeats(&mut self, slice: &SliceRecord) -> bool {
        let is_apart =
            slice.handover_ns.zip(self.usual()).is_some_and(|(reading, usual)| usual.is_apart(reading));
        self.slices.push(slice.clone());
        let length = Duration::from_secs_f64(slice.wall_s.max(0.0));
        let is_disturbed = is_apart || is_lost(slice);
        let is_empty = self.repeats_empty(slice);
        if !is_disturbed && !self.is_seldom_delayed(slice) && !is_empty {
            self.allowance = self.patience.min(self.allowance + length.mul_f64(LOST_SHARE));
            return false;
        }
        let has_time = self.allowance > length;
        self.allowance = self.allowance.saturating_sub(length);
        has_time || is_empty
    }

    /// Returns true if this slice sent no request, and a repetition for such slices is left.
    fn repeats_empty(&mut self, slice: &SliceRecord) -> bool {
        let repeats = self.empty_repeats > 0 && slice.book.planned > 0 && slice.book.sent == 0;
        self.empty_repeats -= u32::from(repeats);
        repeats
    }

    /// Returns true if there is time to repeat a slice of a block.
    pub(super) fn has_time_for(&self, block: &Block<'_>) -> bool {
        self.allowance > block.load.slice
    }

    /// Returns true if the proxy was delayed in this slice and seldom before. If other load delays it permanently, repeating does not help.
    fn is_seldom_delayed(&mut self, slice: &SliceRecord) -> bool {
        let is_delayed = !self.shares_processors && was_delayed(slice);
        self.seen.0 += 1;
        self.seen.1 += u32::from(is_delayed);
        is_delayed && self.seen.1 <= MAX_DELAYED_REPEATS.max(self.seen.0 / 4)
    }
}

/// [`FIRST_WAIT`], or the time of all planned slices or the patience of the plan if that is shorter.
fn first_allowance(plan: &Plan) -> Duration {
    let slices = |block: &Block<'_>| {
        block.load.slice.saturating_mul(u32::try_from(block.subjects.len()).unwrap_or(u32::MAX))
    };
    let round: Duration = plan::blocks(plan, 0).iter().map(slices).sum();
    FIRST_WAIT.min(round.saturating_mul(plan.rounds)).min(plan.patience)
}

/// The planned slices of a round without a measurement that counts, each with its block and subject. Slices that were lost because the
/// processors moved are excluded: their repetition would have another placement than the rest of their block.
pub(super) fn lost<'a, 'p>(
    blocks: &'a [Block<'p>],
    slices: &[SliceRecord],
) -> Vec<(&'a Block<'p>, Subject<'p>)> {
    let is_lost = |block: &Block<'_>, subject: Subject<'_>| {
        let place = (block.load.number, block.number, subject.arm_number, subject.copy);
        let of_it = |slice: &&SliceRecord| (slice.load, slice.block, slice.arm, slice.copy) == place;
        slices.iter().filter(of_it).all(is_lost)
    };
    let of_block = |block: &'a Block<'p>| block.subjects.iter().map(move |subject| (block, *subject));
    blocks.iter().flat_map(of_block).filter(|(block, subject)| is_lost(block, *subject)).collect()
}

#[cfg(test)]
mod tests {
    use hoptax_result::Book;

    use super::*;
    use crate::runner::fixture::plan_of;

    /// A slice of 100 ms with this reading.
    fn slice(handover_ns: f64) -> SliceRecord {
        SliceRecord { wall_s: 0.1, handover_ns: Some(handover_ns), ..SliceRecord::default() }
    }

    fn repeats(host_waits: &mut HostWaits, handover_ns: f64, steal_ticks: u64) -> bool {
        host_waits.repeats(&SliceRecord { steal_ticks, ..slice(handover_ns) })
    }

    fn host_waits(readings: &[f64]) -> HostWaits {
        let slices = readings.iter().map(|reading| slice(*reading)).collect();
        let patience = Duration::from_secs(20);
        HostWaits {
            probe: None,
            slices,
            allowance: FIRST_WAIT,
            patience,
            shares_processors: false,
            seen: (0, 0),
            empty_repeats: 0,
        }
    }

    #[test]
    fn disturbed_slices_are_measured_again_until_the_time_for_it_is_spent() {
        let mut host_waits = host_waits(&[]);
        let again = (0..1000).take_while(|_| repeats(&mut host_waits, 60.0, 1)).count();
        // Five seconds of slices of 100 ms.
        assert!((49..=50).contains(&again), "{again}");
        assert!(!repeats(&mut host_waits, 60.0, 0) && !repeats(&mut host_waits, 60.0, 0));
        assert!(repeats(&mut host_waits, 60.0, 1), "slices that count earn time for others");
    }

    #[test]
    fn a_study_without_patience_measures_nothing_again() {
        let none = Duration::ZERO;
        let mut host_waits = HostWaits { allowance: none, patience: none, ..host_waits(&[]) };
        assert!((0..100).all(|_| !repeats(&mut host_waits, 60.0, 0) && !repeats(&mut host_waits, 60.0, 1)));
    }

    #[test]
    fn a_slice_without_a_request_is_measured_again_in_the_short_form_of_a_study_alone() {
        let book = Book { planned: 8, unsent: 8, ..Book::default() };
        let empty = SliceRecord { book, ..slice(60.0) };
        let mut plan = plan_of("name: test\narms: [baseline, lua]\nloads: [{name: a, loop: closed}]\n");
        let again = |plan: &Plan| {
            let (patience, empty_repeats) = (plan.patience, plan.empty_repeats);
            let mut host_waits = HostWaits { patience, empty_repeats, ..host_waits(&[]) };
            (0..100).filter(|_| host_waits.repeats(&empty)).count() as u32
        };
        assert_eq!(again(&plan), 0, "that the subject held all connections is a result");
        plan.smoke();
        assert!(again(&plan) > 0 && again(&plan) == plan.empty_repeats);
    }

    #[test]
    fn a_study_may_first_wait_for_as_long_as_its_slices_take_and_five_seconds_at_most() {
        let first = |rounds: u32, blocks: u32, is_smoke: bool| {
            let text = format!(
                "name: test\nrounds: {rounds}\narms: [baseline, lua]\nloads: [{{name: a, loop: closed, blocks: {blocks}, slice: 50ms}}]\n"
            );
            let mut plan = plan_of(&text);
            if is_smoke {
                plan.smoke();
            }
            (first_allowance(&plan), plan.subjects().count() as u32)
        };
        let (short, subjects) = first(2, 1, false);
        assert_eq!(short, Duration::from_millis(2 * 50) * subjects);
        assert_eq!(first(30, 9, false).0, FIRST_WAIT);
        assert_eq!(first(30, 9, true).0, Duration::ZERO);
    }

    #[test]
    fn a_long_quiet_time_earns_no_more_than_a_short_one() {
        let mut host_waits = host_waits(&[]);
        // These slices would earn an allowance of a hundred seconds.
        assert!((0..1_000).all(|_| !repeats(&mut host_waits, 60.0, 0)));
        let again = (0..1_000).take_while(|_| repeats(&mut host_waits, 60.0, 1)).count();
        // Twenty seconds of slices of 100 ms.
        assert!((199..=200).contains(&again), "{again}");
    }

    #[test]
    fn only_processors_that_are_mostly_close_are_waited_for_when_apart() {
        for (so_far, apart, is_repeated, close) in [
            (&[370.0; 10][..], 350.0, false, 50.0),
            (&[50.0, 50.0, 50.0, 50.0, 370.0, 370.0], 370.0, true, 55.0),
            // Close for a third of the slices.
            (&[50.0, 50.0, 370.0, 370.0, 370.0, 370.0], 370.0, false, 55.0),
        ] {
            let mut host_waits = host_waits(so_far);
            assert_eq!(repeats(&mut host_waits, apart, 0), is_repeated, "{so_far:?}");
            assert!(!repeats(&mut host_waits, close, 0), "closer is never measured again: {so_far:?}");
        }
    }

    #[test]
    fn a_proxy_that_waited_is_measured_again_unless_it_always_does() {
        let delayed = SliceRecord { wall_s: 0.1, proxy_run_delay_ns: 20_000_000, ..SliceRecord::default() };
        let still = SliceRecord { wall_s: 0.1, ..SliceRecord::default() };
        let mut seldom = host_waits(&[]);
        let again =
            (0..200).filter(|number| seldom.repeats(if number % 10 == 0 { &delayed } else { &still }));
        assert_eq!(again.count(), 20);
        let mut always = host_waits(&[]);
        let again = (0..200).filter(|_| always.repeats(&delayed)).count();
        assert!(again < 20, "{again}");
    }

    #[test]
    fn a_slice_with_a_stalled_generator_is_measured_again() {
        let stalled = SliceRecord { wall_s: 0.2, latest_own_lag_ns: 1_000_000_000, ..SliceRecord::default() };
        assert!(host_waits(&[]).repeats(&stalled));
    }

    #[test]
    fn a_slice_that_a_process_did_not_outlast_is_measured_again() {
        let complete = SliceRecord { wall_s: 0.2, ..SliceRecord::default() };
        assert!(!host_waits(&[]).repeats(&complete));
        assert!(host_waits(&[]).repeats(&SliceRecord { is_incomplete: true, ..complete }));
    }

    #[test]
    fn slices_that_are_lost_when_their_block_has_ended_are_found() {
        let plan =
            plan_of("name: test\narms: [baseline, lua]\nloads: [{name: a, loop: closed, blocks: 2}]\n");
        let blocks = plan::blocks(&plan, 0);
        let planned = |block: &Block<'_>| {
            let of = |subject: &Subject<'_>| SliceRecord {
                load: block.load.number,
                block: block.number,
                arm: subject.arm_number,
                copy: subject.copy,
                ..slice(60.0)
            };
            block.subjects.iter().map(of).collect::<Vec<_>>()
        };
        let mut slices: Vec<SliceRecord> = blocks.iter().flat_map(planned).collect();
        let found = |slices: &[SliceRecord]| -> Vec<(u32, usize)> {
            let lost = lost(&blocks, slices);
            lost.into_iter().map(|(block, subject)| (block.number, subject.arm_number)).collect()
        };
        assert_eq!(found(&slices), []);
        // A later reading marks the slice like this if a thread is gone.
        slices[0].is_incomplete = true;
        slices[1].proxy_run_delay_ns = 100_000_000;
        slices[2].steal_ticks = 1;
        let lost = [&slices[0], &slices[2]].map(|slice| (slice.block, slice.arm));
        assert_eq!(found(&slices), lost);
        let again = SliceRecord { is_incomplete: false, ..slices[0].clone() };
        slices.push(again);
        assert_eq!(found(&slices), lost[1..], "a repetition counts");
    }

    #[test]
    fn without_a_probe_nothing_waits() {
        let mut waits = 0;
        let waited = host_waits(&[]).wait(&AtomicBool::new(false), &mut || waits += 1);
        assert_eq!((waited.handover_ns, waited.time, waits), (None, Duration::ZERO, 0));
    }
}
