//! The progress line of a running trial.

use std::fmt;
use std::sync::mpsc::Receiver;

use hoptax_host::clock::now_ns;
use hoptax_result::grouped;

use crate::counts::Counts;
use crate::run::{LIVE_NS, LiveSample};

/// Contents of a progress line. Rates and percentiles cover the time since the previous line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveLine {
    /// Elapsed time of the trial, including the warm-up, seconds.
    pub elapsed_s: f64,
    /// Planned time of the trial, including the warm-up, seconds.
    pub total_s: f64,
    /// Responses per second.
    pub rate: f64,
    /// Responses that the times are of. Without any, the times are 0 and mean nothing.
    pub responses: u64,
    /// Median response time, microseconds.
    pub p50_us: f64,
    /// 99th percentile of response time, microseconds.
    pub p99_us: f64,
    /// 99th percentile of send lag, microseconds; none in a closed loop, in which the server decides when requests are sent.
    pub send_lag_p99_us: Option<f64>,
    /// Requests without a response, since the start of the record.
    pub errors: u64,
    /// Bytes per second of the bodies of complete responses; None for agents, which do not report it.
    pub body_bytes_per_s: Option<f64>,
    /// Open connections at the end of the line's time; None until each worker has reported its own, and for agents, which do not report
    /// them.
    pub connections: Option<u64>,
}

impl fmt::Display for LiveLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>9} req/s   p50 {}   p99 {}   {} errors   {} s left",
            grouped(self.rate, 0),
            self.time_in_words(self.p50_us),
            self.time_in_words(self.p99_us),
            self.errors,
            grouped((self.total_s - self.elapsed_s).max(0.0), 0)
        )
    }
}

impl LiveLine {
    /// One of its times with its unit, or `-` if it is of no response.
    pub fn time_in_words(&self, us: f64) -> String {
        match self.responses {
            0 => "-".to_owned(),
            _ if us < 10_000.0 => format!("{} us", grouped(us, 0)),
            _ => format!("{} ms", grouped(us / 1e3, 1)),
        }
    }
}

/// The times of a trial, nanoseconds.
pub(super) struct Times {
    pub(super) start: u64,
    /// The end of the warm-up, which samples do not count.
    pub(super) record_from: u64,
    pub(super) end: u64,
}

impl Times {
    /// Start of the time that a line at `now` covers, if the last line was at `last_ns`. A line covers either the warm-up or the record.
    fn begin_ns(&self, last_ns: u64, now: u64) -> u64 {
        if now < self.record_from { last_ns } else { last_ns.max(self.record_from) }
    }
}

/// Merges the samples of all workers into a line twice a second, until all workers end. The number of open connections is known once each
/// worker has sent a sample.
pub(super) fn show(
    receiver: &Receiver<LiveSample>,
    trial: &Times,
    workers: usize,
    is_open: bool,
    on_live: &mut dyn FnMut(&LiveLine),
) {
    let mut times: Option<(Counts<u64, 2>, Counts<u64, 2>)> = None;
    let (mut errors, mut body_bytes, mut connections, mut samples) = (0, 0_u64, 0_i64, 0);
    let mut covered_ns = 0;
    let Times { start: start_ns, end: end_ns, .. } = *trial;
    let mut last_ns = start_ns;
    while let Ok(sample) = receiver.recv() {
        errors += sample.errors;
        body_bytes += sample.body_bytes;
        covered_ns += sample.covered_ns;
        connections += sample.more_connections;
        samples += 1;
        match &mut times {
            Some((response, send_lag)) => {
                *response += &sample.response;
                *send_lag += &sample.send_lag;
            }
            None => times = Some((sample.response, sample.send_lag)),
        }
        let now = now_ns();
        let length_ns = now.saturating_sub(trial.begin_ns(last_ns, now));
        if length_ns < LIVE_NS {
            continue;
        }
        if let Some((response, send_lag)) = times.take() {
            let all = response.histogram();
            let at = |quantile: f64| all.value_at_quantile(quantile) as f64 / 1e3;
            let covered_ns = std::mem::take(&mut covered_ns);
            on_live(&LiveLine {
                elapsed_s: now.min(end_ns).saturating_sub(start_ns) as f64 / 1e9,
                total_s: (end_ns - start_ns) as f64 / 1e9,
                rate: per_second(all.len(), covered_ns, workers),
                responses: all.len(),
                p50_us: at(0.5),
                p99_us: at(0.99),
                send_lag_p99_us: is_open.then(|| send_lag.histogram().value_at_quantile(0.99) as f64 / 1e3),
                errors,
                body_bytes_per_s: Some(per_second(std::mem::take(&mut body_bytes), covered_ns, workers)),
                connections: u64::try_from(connections).ok().filter(|_| samples >= workers),
            });
        }
        last_ns = now;
    }
}

/// The rate over all workers, from samples that hold `count` and together cover `covered_ns`. Workers send samples one after the other, so
/// a line may have more samples of one worker than of another.
fn per_second(count: u64, covered_ns: u64, workers: usize) -> f64 {
    if covered_ns == 0 {
        return 0.0;
    }
    count as f64 * workers as f64 / (covered_ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn the_rate_of_a_line_is_that_of_all_workers_before_it_has_a_sample_of_each() {
        let now = now_ns();
        let trial = Times { start: now - 4 * LIVE_NS, record_from: now - 2 * LIVE_NS, end: now + LIVE_NS };
        let (sender, receiver) = sync_channel(1);
        let mut sample = LiveSample::new(trial.record_from);
        (0..500).for_each(|_| sample.response.record(1_000));
        (sample.body_bytes, sample.covered_ns) = (1_000, LIVE_NS);
        sender.send(sample).unwrap();
        drop(sender);
        let mut lines = Vec::new();
        show(&receiver, &trial, 2, false, &mut |line| lines.push(*line));
        let [line] = lines[..] else { panic!("{lines:?}") };
        assert!((line.rate - 2_000.0).abs() < 1e-9, "{line:?}");
        assert!(line.body_bytes_per_s.is_some_and(|bytes| (bytes - 4_000.0).abs() < 1e-9), "{line:?}");
        assert!(per_second(0, 0, 2).abs() < 1e-9, "of the warm-up");
    }

    #[test]
    fn a_line_has_nothing_of_the_warm_up_or_that_alone() {
        let trial = Times { start: 100, record_from: 200, end: 900 };
        assert_eq!(trial.begin_ns(100, 190), 100);
        assert_eq!(trial.begin_ns(190, 240), 200, "the rest of the warm-up is left out");
        assert_eq!(trial.begin_ns(240, 290), 240);
    }

    #[test]
    fn the_live_line_has_units() {
        let line = LiveLine {
            elapsed_s: 3.0,
            total_s: 10.0,
            rate: 1234.5,
            responses: 617,
            p50_us: 87.4,
            p99_us: 12_345.0,
            send_lag_p99_us: Some(12.0),
            errors: 2,
            body_bytes_per_s: Some(79_000.0),
            connections: Some(16),
        };
        assert_eq!(line.to_string(), "    1,234 req/s   p50 87 us   p99 12.3 ms   2 errors   7 s left");
        let silent = LiveLine { rate: 0.0, responses: 0, p50_us: 0.0, p99_us: 0.0, ..line };
        assert_eq!(silent.to_string(), "        0 req/s   p50 -   p99 -   2 errors   7 s left");
    }
}
