//! The progress line of a running trial.

use std::sync::mpsc::Receiver;

use hoptax_host::clock::now_ns;

use crate::counts::Counts;
use crate::run::LiveSample;

/// Contents of a progress line. Rate and percentiles cover the time since the previous line.
#[derive(Debug)]
pub struct LiveLine {
    /// Elapsed time of the trial, including the warm-up, seconds.
    pub elapsed_s: f64,
    /// Planned time of the trial, including the warm-up, seconds.
    pub total_s: f64,
    /// Responses per second.
    pub rate: f64,
    /// Median response time, microseconds.
    pub p50_us: f64,
    /// 99th percentile of response time, microseconds.
    pub p99_us: f64,
    /// Requests without a response, since the start of the record.
    pub errors: u64,
}

/// Merges the samples of all workers into a line twice a second, until all workers end.
pub(super) fn show(
    receiver: &Receiver<LiveSample>,
    start_ns: u64,
    end_ns: u64,
    on_live: &mut dyn FnMut(&LiveLine),
) {
    const INTERVAL_NS: u64 = 500_000_000;
    let mut response: Option<Counts<u64, 2>> = None;
    let mut errors = 0;
    let mut last_ns = start_ns;
    while let Ok(sample) = receiver.recv() {
        errors += sample.errors;
        match &mut response {
            Some(all) => *all += &sample.response,
            None => response = Some(sample.response),
        }
        let now = now_ns();
        if now.saturating_sub(last_ns) < INTERVAL_NS {
            continue;
        }
        if let Some(all) = response.take().map(|all| all.histogram()) {
            on_live(&LiveLine {
                elapsed_s: now.min(end_ns).saturating_sub(start_ns) as f64 / 1e9,
                total_s: (end_ns - start_ns) as f64 / 1e9,
                rate: all.len() as f64 / (now.saturating_sub(last_ns) as f64 / 1e9),
                p50_us: all.value_at_quantile(0.5) as f64 / 1e3,
                p99_us: all.value_at_quantile(0.99) as f64 / 1e3,
                errors,
            });
        }
        last_ns = now;
    }
}
