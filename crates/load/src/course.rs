//! The course of a trial, from which checks decide if one number describes all of it: time windows, batches, the
//! first releases and responses in order, samples of the requests in flight, and response times per connection.

mod in_flight;

use hdrhistogram::Histogram;
use hoptax_result::{BytesOverTime, InFlightOverTime};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use self::in_flight::InFlight;
use crate::batches::BATCHES;
use crate::counts::Counts;
use crate::distribution::Distribution;
use crate::division::{Division, LastLookup};
use crate::log_histogram::LogHistogram;

/// Time windows of a trial.
pub(crate) const WINDOWS: usize = 100;
/// If the complete windows cover less than this share of a record that was divided by its expected length, it has no batches: the times
/// after these windows would count in the quantiles, but not in their intervals.
const LEAST_COVERED: f64 = 0.9;
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
    pub(crate) response: Counts<u32, 2>,
    /// Open connections at its start.
    pub(crate) connections: Option<u64>,
    /// Bytes of the bodies of responses that were complete in the window.
    pub(crate) received_bytes: u64,
    /// Bytes of the bodies of requests that were written in the window.
    pub(crate) sent_bytes: u64,
}

impl Window {
    fn new() -> Self {
        Self {
            planned: 0,
            sent: 0,
            response: Counts::new(),
            connections: None,
            received_bytes: 0,
            sent_bytes: 0,
        }
    }
}

/// A request that has its response. The order is that of the intended starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Responded {
    pub(crate) intended_ns: u64,
    pub(crate) response_ns: u64,
}

/// The course of the record of one worker, or of all workers.
#[derive(Clone, Debug)]
pub struct Course {
    record: Division,
    /// True if the record is divided by its expected length instead of its planned one.
    is_expected: bool,
    /// End of the record: that of the first worker to end.
    until_ns: u64,
    /// End of the last worker to end, after a merge.
    last_until_ns: Option<u64>,
    pub(crate) windows: Vec<Window>,
    /// Times of the first releases, one list per worker, in order.
    pub(crate) releases_ns: Vec<Vec<u64>>,
    /// Difference between each actual gap and the planned one.
    pub(crate) gap_error: Distribution,
    last_lag_ns: Option<u64>,
    /// The first responses.
    pub(crate) responses: Vec<Responded>,
    /// Requests in flight, by worker.
    in_flight: Vec<InFlight>,
    next_sample_ns: u64,
    /// Time at which the next sample is due or the next window starts, whichever is first.
    sample_due_ns: u64,
    random: SmallRng,
    /// Response times, by connection.
    pub(crate) connections: Vec<LogHistogram>,
    /// The last window that has started.
    window: Option<usize>,
    /// The windows of the last lookups. With a backlog, intended starts lag behind the present, so each has its own.
    intended: LastLookup,
    present: LastLookup,
}

impl Course {
    /// The course of a record from `from_ns` to `end_ns` on a number of connections.
    pub fn new(from_ns: u64, end_ns: u64, connections: usize, seed: u64) -> Self {
        Self {
            record: Division::new(from_ns, end_ns, WINDOWS),
            is_expected: false,
            until_ns: end_ns.max(from_ns + 1),
            last_until_ns: None,
            windows: vec![Window::new(); WINDOWS],
            releases_ns: vec![Vec::with_capacity(MAX_KEPT)],
            gap_error: Distribution::default(),
            last_lag_ns: None,
            responses: Vec::with_capacity(MAX_KEPT),
            in_flight: vec![InFlight::new(WINDOWS)],
            next_sample_ns: from_ns,
            sample_due_ns: from_ns,
            random: SmallRng::seed_from_u64(seed),
            connections: vec![LogHistogram::default(); connections],
            window: None,
            intended: LastLookup::default(),
            present: LastLookup::default(),
        }
    }

    /// The quantile `p` of the response times of each connection that has at least `least` of them, us.
    pub fn connection_quantiles_us(&self, p: f64, least: u64) -> Vec<f64> {
        let judged = self.connections.iter().filter(|times| times.count() >= least);
        judged.filter_map(|times| times.quantile_us(p)).collect()
    }

    /// The number of response times on these connections, and their quantile `p`, us; no quantile of fewer than `least` times.
    pub fn quantile_us_of(&self, connections: &[usize], p: f64, least: u64) -> (u64, Option<f64>) {
        let mut all = LogHistogram::default();
        connections
            .iter()
            .filter_map(|number| self.connections.get(*number))
            .for_each(|times| all.add(times));
        let count = all.count();
        (count, all.quantile_us(p).filter(|_| count >= least))
    }

    /// Length of the record, nanoseconds.
    fn recorded_ns(&self) -> u64 {
        self.until_ns.saturating_sub(self.record.start_ns())
    }

    /// Ends the record earlier than planned.
    pub(crate) fn truncate(&mut self, until_ns: u64) {
        self.until_ns = self.until_ns.min(until_ns.max(self.record.start_ns() + 1));
    }

    /// Divides the record up to an expected end instead of the planned one. Called as the record begins, when at most its first moment is
    /// recorded.
    pub(crate) fn expect_end(&mut self, end_ns: u64) {
        (self.record, self.is_expected) = (self.record.ending(end_ns), true);
        (self.intended, self.present) = (LastLookup::default(), LastLookup::default());
    }

    /// Length of a window, seconds, if the record is divided by its expected length; None if it is divided as planned.
    pub(crate) fn expected_window_s(&self) -> Option<f64> {
        self.is_expected.then(|| self.record.part_s())
    }

    /// The complete windows. A record that ended early lacks the last ones. If the record took longer than expected, the last window is
    /// left out, because it also holds all later times.
    pub(crate) fn complete_windows(&self) -> &[Window] {
        let is_longer = self.until_ns > self.record.end_ns();
        let complete = self.record.complete(self.until_ns).saturating_sub(usize::from(is_longer));
        self.windows.get(..complete).unwrap_or(&self.windows)
    }

    /// The windows that batches consist of: the complete ones. None if they leave too much of a record of expected length uncovered,
    /// because the length was too short or a worker ended early.
    fn windows_of_batches(&self) -> &[Window] {
        let windows = self.complete_windows();
        let covered_s = windows.len() as f64 * self.record.part_s();
        let recorded_ns = self.last_until_ns().saturating_sub(self.record.start_ns());
        let is_covered = covered_s >= LEAST_COVERED * recorded_ns as f64 / 1e9;
        if self.is_expected && !is_covered { &[] } else { windows }
    }

    /// Number of complete twentieths of the record; 0 if they leave too much of a record of expected length uncovered.
    pub(crate) fn complete_batches(&self) -> usize {
        self.windows_of_batches().len() * BATCHES / WINDOWS
    }

    /// End of the last worker to end.
    fn last_until_ns(&self) -> u64 {
        self.last_until_ns.unwrap_or(self.until_ns)
    }

    /// Mean number of requests in flight. The number of observations is that of the worker with the fewest. None if a worker has none.
    pub(crate) fn in_flight(&self) -> Option<hoptax_result::InFlight> {
        in_flight::mean(&self.in_flight, self.recorded_ns())
    }

    /// Mean number of requests in flight in each complete window. None if no window was observed by every worker.
    pub(crate) fn in_flight_over_time(&self) -> Option<InFlightOverTime> {
        let means = in_flight::means(&self.in_flight, self.complete_windows().len());
        InFlightOverTime::new(self.record.part_s(), means)
    }

    /// Response times by batch. All batches have the same number of complete windows. There are at most [`BATCHES`] of them, because
    /// responses depend on each other over longer than a shorter batch, and at least half as many if there are enough windows.
    pub(crate) fn batches(&self) -> Vec<Histogram<u32>> {
        let sum = |windows: &[Window]| {
            let mut all = Counts::new();
            for window in windows {
                all += &window.response;
            }
            all.histogram()
        };
        let windows = self.windows_of_batches();
        windows.chunks_exact(windows.len().div_ceil(BATCHES).max(1)).map(sum).collect()
    }

    /// Time at which [`Self::sample`] next has anything to do, at the earliest. Until then, calls have no effect.
    pub(crate) fn sample_due_ns(&self) -> u64 {
        self.sample_due_ns
    }

    /// Samples the requests in flight, whose number has been constant since the last call.
    pub(crate) fn sample(&mut self, now_ns: u64, in_flight: usize, open_connections: usize) {
        if now_ns < self.sample_due_ns || now_ns < self.record.start_ns() || now_ns >= self.until_ns {
            return;
        }
        // Samples at random times are unbiased (Poisson arrivals see time averages, Wolff 1982). Samples in step with the
        // load would not be. Each is in the window of its own time, which may be long ago: a wait is in all windows that it fills.
        while self.next_sample_ns <= now_ns {
            let number = self.present.number(self.next_sample_ns, self.record);
            if let Some(worker) = self.in_flight.first_mut() {
                worker.look(number, in_flight);
            }
            let gap_ns = -(1.0 - self.random.random::<f64>()).ln() * SAMPLE_INTERVAL_NS;
            self.next_sample_ns += gap_ns as u64 + 1;
        }
        let number = self.present.number(now_ns, self.record);
        if self.window != Some(number) {
            self.window = Some(number);
            if let Some(window) = self.windows.get_mut(number) {
                window.connections = Some(open_connections as u64);
            }
        }
        self.sample_due_ns = self.next_sample_ns.min(self.present.end_ns());
    }

    pub(crate) fn plan(&mut self, intended_ns: u64) {
        let number = self.intended.number(intended_ns, self.record);
        if let Some(window) = self.windows.get_mut(number) {
            window.planned += 1;
        }
    }

    pub(crate) fn send(&mut self, intended_ns: u64, started_ns: u64) {
        let number = self.present.number(started_ns, self.record);
        if let Some(window) = self.windows.get_mut(number) {
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
        let number = self.intended.number(intended_ns, self.record);
        if let Some(window) = self.windows.get_mut(number) {
            window.response.record(response_ns);
        }
        if self.responses.len() < MAX_KEPT {
            self.responses.push(Responded { intended_ns, response_ns });
        }
        if let Some(coarse) = self.connections.get_mut(connection) {
            coarse.record(response_ns);
        }
    }

    /// Adds the body of a response that is complete. What arrives after the record is in no window.
    pub(crate) fn receive(&mut self, now_ns: u64, body_bytes: u64) {
        if let Some(window) = self.present_window(now_ns) {
            window.received_bytes += body_bytes;
        }
    }

    /// Adds the body of a request that is written.
    pub(crate) fn write(&mut self, now_ns: u64, body_bytes: u64) {
        if let Some(window) = self.present_window(now_ns) {
            window.sent_bytes += body_bytes;
        }
    }

    /// The window of the present; none after the record.
    fn present_window(&mut self, now_ns: u64) -> Option<&mut Window> {
        if now_ns >= self.record.end_ns() {
            return None;
        }
        let number = self.present.number(now_ns, self.record);
        self.windows.get_mut(number)
    }

    /// The bytes of bodies in the complete windows; none without a body.
    pub(crate) fn bytes_over_time(&self) -> Option<BytesOverTime> {
        let windows = self.complete_windows();
        let received = windows.iter().map(|window| window.received_bytes).collect();
        let sent = windows.iter().map(|window| window.sent_bytes).collect();
        BytesOverTime::new(self.record.part_s(), received, sent)
    }

    /// Adds a request that was in flight from `started_ns` to `ended_ns`, recorded or not: [`Self::sample`] observes all.
    pub(crate) fn end(&mut self, started_ns: u64, ended_ns: u64) {
        let until_ns = ended_ns.min(self.until_ns);
        if let Some(worker) = self.in_flight.first_mut() {
            worker.total_ns += until_ns.saturating_sub(started_ns.max(self.record.start_ns()));
        }
    }

    /// Adds the course of another worker over the same time. Its connections are appended.
    pub(crate) fn merge(&mut self, mut other: Self) {
        for course in [&mut *self, &mut other] {
            let length_ns = course.recorded_ns();
            course.in_flight.iter_mut().for_each(|worker| {
                worker.length_ns.get_or_insert(length_ns);
            });
        }
        self.last_until_ns = Some(self.last_until_ns().max(other.last_until_ns()));
        self.until_ns = self.until_ns.min(other.until_ns);
        for (ours, theirs) in self.windows.iter_mut().zip(other.windows) {
            ours.planned += theirs.planned;
            ours.sent += theirs.sent;
            ours.response += &theirs.response;
            ours.received_bytes += theirs.received_bytes;
            ours.sent_bytes += theirs.sent_bytes;
            ours.connections = ours.connections.zip(theirs.connections).map(|(ours, theirs)| ours + theirs);
        }
        self.releases_ns.extend(other.releases_ns);
        self.gap_error += &other.gap_error;
        self.responses.extend(other.responses);
        self.in_flight.extend(other.in_flight);
        self.connections.extend(other.connections);
    }
}

#[cfg(test)]
mod coverage;

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
        assert_eq!(course.complete_batches(), BATCHES);
        // Nine windows, of which five are a twentieth.
        course.truncate(10_999);
        assert_eq!((course.complete_windows().len(), course.complete_batches()), (9, 1));
    }

    #[test]
    fn bytes_count_in_the_window_in_which_they_are_read_or_written_and_not_after_the_record() {
        let mut course = Course::new(1_000, 101_000, 0, 1);
        assert_eq!(course.bytes_over_time(), None);
        course.receive(1_999, 10);
        course.receive(2_000, 5);
        course.receive(100_999, 3);
        course.receive(101_000, 1_000);
        let mut all = course.clone();
        course.write(2_500, 7);
        all.merge(course);
        let bytes = all.bytes_over_time().unwrap();
        assert!((bytes.part_s - 1e-6).abs() < 1e-12, "{}", bytes.part_s);
        assert_eq!([0, 1, 99].map(|window| bytes.received[window]), [20, 10, 6]);
        assert_eq!(bytes.received.iter().sum::<u64>(), 36);
        assert_eq!((bytes.sent[1], bytes.sent.iter().sum::<u64>()), (7, 7));
        // Its last window is not complete.
        all.truncate(100_999);
        assert_eq!(all.bytes_over_time().unwrap().received.len(), 99);
    }

    #[test]
    fn samples_estimate_the_mean_number_in_flight() {
        let mut course = Course::new(0, 1_000_000_000, 0, 1);
        // Three in flight for the first quarter, up to a call that ends it, then one.
        for step in 0..10_000_u64 {
            course.sample(step * 100_000, if step <= 2_500 { 3 } else { 1 }, 4);
        }
        let mean = course.in_flight().unwrap().seen;
        assert!((mean - 1.5).abs() < 0.1, "{mean}");
        let over_time = course.in_flight_over_time().unwrap();
        assert!((over_time.part_s - 0.01).abs() < 1e-12, "{}", over_time.part_s);
        let expected = [vec![Some(3.0); 25], vec![Some(1.0); 75]].concat();
        assert_eq!(over_time.means, expected, "a sample is in the window of its time");
        assert!(course.windows.iter().all(|window| window.connections == Some(4)));
    }

    #[test]
    fn workers_that_end_individually_count_over_their_own_times() {
        // One request in flight all the time, on each of two workers, of which one ends after a quarter.
        let worker = |until_ns: u64| {
            let mut course = Course::new(0, 1_000_000_000, 0, 1);
            for step in 0..1_000 {
                course.sample(step * 1_000_000, 1, 1);
            }
            course.truncate(until_ns);
            course.end(0, until_ns);
            course
        };
        let mut all = worker(250_000_000);
        all.merge(worker(1_000_000_000));
        let hoptax_result::InFlight { seen, computed, .. } = all.in_flight().unwrap();
        assert!((seen - 2.0).abs() < 1e-9 && (computed - 2.0).abs() < 1e-9, "{seen} {computed}");
    }

    #[test]
    fn an_early_end_leaves_the_complete_windows_and_the_actual_length() {
        let mut course = Course::new(1_000, 101_000, 0, 1);
        course.truncate(48_500);
        assert_eq!((course.complete_windows().len(), course.batches().len()), (47, 15));
        assert_eq!(course.recorded_ns(), 47_500);
        // The drain is excluded.
        course.end(48_000, 90_000);
        course.sample(60_000, 5, 5);
        assert_eq!((course.in_flight[0].total_ns, course.in_flight()), (500, None));
        course.truncate(0);
        assert_eq!((course.complete_windows().len(), course.batches().len()), (0, 0));
    }

    #[test]
    fn an_expected_end_divides_the_record_and_what_is_later_is_in_no_complete_window() {
        let course = |until_ns: u64| {
            let mut course = Course::new(1_000, 3_600_000_001_000, 0, 1);
            assert_eq!(course.expected_window_s(), None);
            course.plan(1_001);
            course.expect_end(101_000);
            for at_ns in [50_500, 100_999, 150_000] {
                course.plan(at_ns);
            }
            course.truncate(until_ns);
            course
        };
        let complete = |course: &Course| (course.complete_windows().len(), course.complete_batches());
        let early = course(71_500);
        assert_eq!((complete(&early), early.batches().len()), ((70, 14), 17));
        assert_eq!([0, 49, 99].map(|window| early.windows[window].planned), [1, 1, 2]);
        assert!(early.expected_window_s().is_some_and(|length_s| (length_s - 1e-6).abs() < 1e-12));
        assert_eq!(complete(&course(101_000)), (100, BATCHES));
        assert_eq!(complete(&course(109_000)), (99, BATCHES - 1));
    }

    #[test]
    fn batches_of_an_expected_record_cover_nearly_all_of_it_or_there_are_none() {
        let course = |until_ns: u64| {
            let mut course = Course::new(0, 3_600_000_000_000, 0, 1);
            course.expect_end(100_000);
            course.truncate(until_ns);
            course
        };
        let batches = |course: &Course| (course.batches().len(), course.complete_batches());
        assert_eq!(batches(&course(105_000)), (19, 19));
        assert_eq!((batches(&course(111_000)), course(111_000).complete_windows().len()), ((0, 0), 99));
        // A worker that ends early leaves the others a lower load.
        let ending = |first_ns: u64, last_ns: u64| {
            let mut all = course(first_ns);
            all.merge(course(last_ns));
            all.merge(course(first_ns));
            batches(&all)
        };
        assert_eq!([ending(70_000, 72_000), ending(72_000, 70_000)], [(17, 14); 2]);
        assert_eq!([ending(60_000, 72_000), ending(72_000, 60_000)], [(0, 0); 2]);
    }

    #[test]
    fn time_in_flight_outside_the_record_does_not_count() {
        let mut course = Course::new(100, 200, 0, 1);
        course.end(50, 150);
        course.end(150, 400);
        course.end(0, 50);
        assert_eq!(course.in_flight[0].total_ns, 100);
    }
}
