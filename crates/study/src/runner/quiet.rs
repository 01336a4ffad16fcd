//! Waiting for the host: a slice that begins while the host has the processors apart would only be set aside.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hoptax_host::handover::HandoverProbe;
use hoptax_host::processors::Placement;

use crate::record::handover_limit_ns;

/// Between two looks while waiting.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// What may be waited beyond the share, so that a bad start can be sat out.
const FIRST_WAIT: Duration = Duration::from_secs(5);
/// What may be waited, as a share of the time measured so far: a host that is never quiet must not hold a study up
/// for ever. When it is spent, slices are measured and set aside.
const WAIT_SHARE: f64 = 0.5;

/// Watches where the host has the processors of generator and proxy.
#[derive(Debug)]
pub(super) struct Quiet {
    probe: Option<HandoverProbe>,
    /// One reading for each slice so far, nanoseconds.
    readings: Vec<f64>,
    /// What may still be waited.
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

    /// Waits until the processors are together, if there is reason and time to; the last reading.
    pub(super) fn wait(&mut self, stop: &AtomicBool) -> Option<f64> {
        let probe = self.probe.as_mut()?;
        let limit_ns = handover_limit_ns(&self.readings).unwrap_or(f64::INFINITY);
        loop {
            let reading = probe.read();
            if reading <= limit_ns || self.allowance.is_zero() || stop.load(Ordering::Relaxed) {
                return Some(reading);
            }
            let began = Instant::now();
            thread::sleep(LOOK_AGAIN);
            self.allowance = self.allowance.saturating_sub(began.elapsed());
        }
    }

    /// The reading of a slice of `length`: the longer of that before it and one of just now.
    pub(super) fn after(&mut self, before: Option<f64>, length: Duration) -> Option<f64> {
        let reading = before?.max(self.probe.as_mut()?.read());
        self.readings.push(reading);
        self.allowance += length.mul_f64(WAIT_SHARE);
        Some(reading)
    }
}
