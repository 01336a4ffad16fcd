//! Waiting for the host, and measuring again what it disturbed.
//!
//! A host may move the processors of generator and proxy apart and together again, every few seconds or every few minutes. A
//! slice that begins where they mostly are not would only be set aside, so it waits; one that was disturbed all the same is
//! measured again. Which slices those are is seen from what the host did alone, never from what was measured.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hoptax_host::handover::HandoverProbe;
use hoptax_host::processors::Placement;

use crate::record::{HandoverLimits, SliceRecord, took_ticks};

/// Between two looks while waiting.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// What may be lost beyond the share, so that a bad start can be sat out.
const FIRST_WAIT: Duration = Duration::from_secs(5);
/// What may be lost to waiting and to disturbed slices, as a share of the time of the others: a host that is never quiet must
/// not hold a study up for ever. When it is spent, slices are measured once and set aside.
const LOST_SHARE: f64 = 2.0;

/// Watches where the host has the processors of generator and proxy.
#[derive(Debug)]
pub(super) struct Quiet {
    probe: Option<HandoverProbe>,
    /// One reading for each slice so far, nanoseconds.
    readings: Vec<f64>,
    /// What may still be lost.
    allowance: Duration,
}

impl Quiet {
    /// A watch over processors that are apart; where they are not, there is nothing to watch. Nor is there with a link, whose
    /// round trips are far above what the processors' places change.
    pub(super) fn over(placement: &Placement, has_link: bool) -> io::Result<Self> {
        let processor = placement.proxy.first().filter(|_| placement.is_apart() && !has_link);
        let probe = processor.map(|&processor| HandoverProbe::start(processor)).transpose()?;
        Ok(Self { probe, readings: Vec::new(), allowance: FIRST_WAIT })
    }

    /// Waits until the processors are where they mostly are, if there is reason and time to; the last reading.
    pub(super) fn wait(&mut self, stop: &AtomicBool) -> Option<f64> {
        let probe = self.probe.as_mut()?;
        let limits = HandoverLimits::of(&self.readings);
        loop {
            let reading = probe.read();
            let holds = limits.as_ref().is_none_or(|limits| limits.hold(reading));
            if holds || self.allowance.is_zero() || stop.load(Ordering::Relaxed) {
                return Some(reading);
            }
            let began = Instant::now();
            thread::sleep(LOOK_AGAIN);
            self.allowance = self.allowance.saturating_sub(began.elapsed());
        }
    }

    /// The reading of a slice: of that before it and one of just now, the one that is further from where the processors mostly
    /// are.
    pub(super) fn after(&mut self, before: Option<f64>) -> Option<f64> {
        let (before, now) = (before?, self.probe.as_mut()?.read());
        let limits = HandoverLimits::of(&self.readings);
        let holds = limits.is_none_or(|limits| limits.hold(now));
        let reading = if holds { before } else { now };
        self.readings.push(reading);
        Some(reading)
    }

    /// Whether the host disturbed this slice and there is time to measure it again.
    pub(super) fn asks_again(&mut self, slice: &SliceRecord) -> bool {
        let limits = HandoverLimits::of(&self.readings);
        let has_moved = slice.handover_ns.zip(limits).is_some_and(|(reading, limits)| !limits.hold(reading));
        let length = Duration::from_secs_f64(slice.wall_s.max(0.0));
        if !has_moved && !took_ticks(slice) {
            self.allowance += length.mul_f64(LOST_SHARE);
            return false;
        }
        let has_time = self.allowance > length;
        self.allowance = self.allowance.saturating_sub(length);
        has_time
    }
}
