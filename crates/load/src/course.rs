//! The course of a trial, from which checks decide whether one number describes all of it: time windows, batches, the
//! first releases and responses in order, samples of the requests in flight, and response times per connection.

use hdrhistogram::Histogram;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::distribution::Distribution;
use crate::log_histogram::LogHistogram;

/// Time windows of a trial.
pub(crate) const WINDOWS: usize = 100;
/// Batches of a trial, for intervals of quantiles: twenty, as in the method of batch means.
pub(crate) const BATCHES: usize = 20;
/// Maximum number of individual releases and responses.
const MAX_KEPT: usize = 16_384;
/// Mean time between samples of the requests in flight, nanoseconds.
const SAMPLE_INTERVAL_NS: f64 = 200_000.0;

/// One time window.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Window {
    /// Requests with an intended start in the window.
    pub(crate) planned: u64,
    /// Requests started in the window, whenever they were intended to start.
    pub(crate) sent: u64,
    /// Response times of answered requests with an intended start in the window, to two digits.
    pub(crate) response: Histogram<u32>,
    /// Open connections at its start.
    pub(crate) connections: Option<u64>,
}

impl Window {
    #[expect(clippy::expect_used, reason = "the bounds are constants within what the histogram allows")]
    fn new() -> Self {
        let response =
            Histogram::new_with_bounds(1, 3_600_000_000_000, 2).expect("constant bounds are valid");
        Self { planned: 0, sent: 0, response, connections: None }
    }
}

/// The course of the record of one worker, or of all workers.
#[derive(Clone, Debug)]
pub struct Course {
    from_ns: u64,
    /// The planned length, which the windows divide.
    length_ns: u64,
    /// End of the record.
    until_ns: u64,
    pub(crate) windows: Vec<Window>,
    /// Times of the first releases, one list per worker, in order.
    pub(crate) releases_ns: Vec<Vec<u64>>,
    /// Difference between each actual gap and the planned one.
    pub(crate) gap_error: Distribution,
    last_lag_ns: Option<u64>,
    /// Intended starts and response times of the first responses.
    pub(crate) responses_ns: Vec<(u64, u64)>,
    /// By worker: sum of the sampled requests in flight, and number of samples.
    samples: Vec<(u64, u64)>,
    next_sample_ns: u64,
    random: SmallRng,
    /// Total time of requests in flight within the record, nanoseconds.
    pub(crate) in_flight_ns: u64,
    /// Response times, by connection.
    pub(crate) connections: Vec<LogHistogram>,
    /// The last window that has started.
    window: Option<usize>,
}

impl Course {
    /// The course of a record from `from_ns` to `end_ns` on a number of connections.
    pub fn new(from_ns: u64, end_ns: u64, connections: usize, seed: u64) -> Self {
        Self {
            from_ns,
            length_ns: end_ns.saturating_sub(from_ns).max(1),
            until_ns: end_ns.max(from_ns + 1),
            windows: vec![Window::new(); WINDOWS],
            releases_ns: vec![Vec::with_capacity(MAX_KEPT)],
            gap_error: Distribution::new(),
            last_lag_ns: None,
            responses_ns: Vec::with_capacity(MAX_KEPT),
            samples: vec![(0, 0)],
            next_sample_ns: from_ns,
            random: SmallRng::seed_from_u64(seed),
            in_flight_ns: 0,
            connections: vec![LogHistogram::default(); connections],
            window: None,
        }
    }

    /// Length of the record, seconds.
    pub(crate) fn length_s(&self) -> f64 {
        self.until_ns.saturating_sub(self.from_ns) as f64 / 1e9
    }

    /// Ends the record earlier than planned.
    pub(crate) fn truncate(&mut self, until_ns: u64) {
        self.until_ns = self.until_ns.min(until_ns.max(self.from_ns + 1));
    }

    /// The complete windows: all of them, unless the record ended early.
    pub(crate) fn complete_windows(&self) -> &[Window] {
        let recorded_ns = u128::from(self.until_ns.saturating_sub(self.from_ns));
        let complete = recorded_ns * WINDOWS as u128 / u128::from(self.length_ns);
        self.windows.get(..complete as usize).unwrap_or(&self.windows)
    }

    /// Mean number of requests in flight, and the number of samples; None if a worker has no sample.
    pub(crate) fn in_flight(&self) -> Option<(f64, u64)> {
        let fewest_samples =
            self.samples.iter().map(|(_, samples)| *samples).min().filter(|samples| *samples > 0)?;
        Some((self.samples.iter().map(|(sum, samples)| *sum as f64 / *samples as f64).sum(), fewest_samples))
    }

    /// Response times by batch. A batch has a fixed number of complete windows. There are at least [`BATCHES`] batches if
    /// there are that many windows.
    pub(crate) fn batches(&self) -> Vec<Histogram<u32>> {
        let sum = |windows: &[Window]| {
            windows.iter().fold(Window::new().response, |mut all, window| {
                all += &window.response;
                all
            })
        };
        let windows = self.complete_windows();
        windows.chunks_exact((windows.len() / BATCHES).max(1)).map(sum).collect()
    }

    fn number_at(&self, at_ns: u64) -> usize {
        let since_ns = u128::from(at_ns.saturating_sub(self.from_ns));
        ((since_ns * WINDOWS as u128 / u128::from(self.length_ns)) as usize).min(WINDOWS - 1)
    }

    fn window_at(&mut self, at_ns: u64) -> Option<&mut Window> {
        let number = self.number_at(at_ns);
        self.windows.get_mut(number)
    }

    /// Samples the requests in flight, whose number has been constant since the last call.
    pub(crate) fn sample(&mut self, now_ns: u64, in_flight: usize, open_connections: usize) {
        if now_ns < self.from_ns || now_ns >= self.until_ns {
            return;
        }
        // Samples at random times are unbiased (Poisson arrivals see time averages, Wolff 1982). Samples in step with the
        // load would not be.
        while self.next_sample_ns <= now_ns {
            if let Some((sum, samples)) = self.samples.first_mut() {
                *sum += in_flight as u64;
                *samples += 1;
            }
            let gap_ns = -(1.0 - self.random.random::<f64>()).ln() * SAMPLE_INTERVAL_NS;
            self.next_sample_ns += gap_ns as u64 + 1;
        }
        let number = self.number_at(now_ns);
        if self.window != Some(number) {
            self.window = Some(number);
            if let Some(window) = self.windows.get_mut(number) {
                window.connections = Some(open_connections as u64);
            }
        }
    }

    pub(crate) fn plan(&mut self, intended_ns: u64) {
        if let Some(window) = self.window_at(intended_ns) {
            window.planned += 1;
        }
    }

    pub(crate) fn send(&mut self, intended_ns: u64, started_ns: u64) {
        if let Some(window) = self.window_at(started_ns) {
            window.sent += 1;
        }
        if let Some(releases_ns) =
            self.releases_ns.first_mut().filter(|releases_ns| releases_ns.len() < MAX_KEPT)
        {
            releases_ns.push(started_ns);
        }
        let lag_ns = started_ns.saturating_sub(intended_ns);
        if let Some(last_ns) = self.last_lag_ns.replace(lag_ns) {
            self.gap_error.record(lag_ns.abs_diff(last_ns));
        }
    }

    pub(crate) fn record_response(&mut self, intended_ns: u64, response_ns: u64, connection: usize) {
        if let Some(window) = self.window_at(intended_ns) {
            window.response.saturating_record(response_ns);
        }
        if self.responses_ns.len() < MAX_KEPT {
            self.responses_ns.push((intended_ns, response_ns));
        }
        if let Some(coarse) = self.connections.get_mut(connection) {
            coarse.record(response_ns);
        }
    }

    /// Adds a request that was in flight from `started_ns` to `ended_ns`.
    pub(crate) fn end(&mut self, started_ns: u64, ended_ns: u64) {
        let until_ns = ended_ns.min(self.until_ns);
        self.in_flight_ns += until_ns.saturating_sub(started_ns.max(self.from_ns));
    }

    /// Adds the course of another worker over the same time. Its connections are appended.
    pub(crate) fn merge(&mut self, other: Self) {
        self.until_ns = self.until_ns.min(other.until_ns);
        for (ours, theirs) in self.windows.iter_mut().zip(other.windows) {
            ours.planned += theirs.planned;
            ours.sent += theirs.sent;
            ours.response += &theirs.response;
            ours.connections = ours.connections.zip(theirs.connections).map(|(ours, theirs)| ours + theirs);
        }
        self.releases_ns.extend(other.releases_ns);
        self.gap_error += &other.gap_error;
        self.responses_ns.extend(other.responses_ns);
        self.samples.extend(other.samples);
        self.in_flight_ns += other.in_flight_ns;
        self.connections.extend(other.connections);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_count_in_their_windows() {
        let mut course = Course::new(1_000, 101_000, 2, 1);
        course.plan(1_000);
        course.plan(1_999);
        course.send(1_999, 2_100);
        course.record_response(100_999, 5, 1);
        course.plan(100_999);
        assert_eq!((course.windows[0].planned, course.windows[1].sent), (2, 1));
        assert_eq!((course.windows[99].planned, course.windows[99].response.len()), (1, 1));
        assert_eq!((course.connections[1].count(), course.batches()[19].len()), (1, 1));
    }

    #[test]
    fn samples_estimate_the_mean_number_in_flight() {
        let mut course = Course::new(0, 1_000_000_000, 0, 1);
        // Three in flight for the first quarter, then one.
        for step in 0..10_000_u64 {
            course.sample(step * 100_000, if step < 2_500 { 3 } else { 1 }, 4);
        }
        let (mean, _) = course.in_flight().unwrap();
        assert!((mean - 1.5).abs() < 0.1, "{mean}");
        assert!(course.windows.iter().all(|window| window.connections == Some(4)));
    }

    #[test]
    fn an_early_end_leaves_the_complete_windows_and_the_actual_length() {
        let mut course = Course::new(1_000, 101_000, 0, 1);
        course.truncate(48_500);
        assert_eq!((course.complete_windows().len(), course.batches().len()), (47, 23));
        assert!((course.length_s() - 47.5e-6).abs() < 1e-12);
        // The drain is excluded.
        course.end(48_000, 90_000);
        course.sample(60_000, 5, 5);
        assert_eq!((course.in_flight_ns, course.in_flight()), (500, None));
        course.truncate(0);
        assert_eq!((course.complete_windows().len(), course.batches().len()), (0, 0));
    }

    #[test]
    fn time_in_flight_outside_the_record_does_not_count() {
        let mut course = Course::new(100, 200, 0, 1);
        course.end(50, 150);
        course.end(150, 400);
        course.end(0, 50);
        assert_eq!(course.in_flight_ns, 100);
    }
}
