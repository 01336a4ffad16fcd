//! All jobs of a server: the running ones, and the latest ones that have ended.
//!
//! Only one job runs at a time, because two would disturb each other. The owner of the server may allow several loads at once, but never
//! searches, studies or bills, which make decisions from their numbers while they measure.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hoptax_session::Interrupt;
use tokio::sync::watch;

use crate::job::{Job, Kind, Outcome, State};

/// Maximum number of remembered jobs. The results of older ones are in the store.
const MAX_JOBS: usize = 100;

/// Maximum number of loads that may be allowed at once. It is less than the number of remembered jobs, so that no running job is forgotten.
pub(crate) const MOST_LOADS_AT_ONCE: u32 = 16;

/// The jobs.
#[derive(Debug)]
pub(crate) struct Jobs {
    known: Mutex<Known>,
    /// Number of loads that may run at the same time.
    loads_at_once: u32,
}

#[derive(Debug, Default)]
struct Known {
    /// Number of jobs that have begun.
    begun: u64,
    /// True if no more jobs may begin, because the server is shutting down.
    is_closed: bool,
    /// The remembered jobs, the latest last.
    latest: VecDeque<Remembered>,
}

#[derive(Debug)]
struct Remembered {
    job: watch::Sender<Job>,
    interrupt: Interrupt,
    /// Number of other jobs that have run at the same time so far.
    beside: Arc<AtomicU32>,
}

/// Reason why a job may not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BeginError {
    /// This job is running.
    Busy(u64),
    /// The server is shutting down.
    Closed,
}

impl Remembered {
    fn is_running(&self) -> bool {
        !self.job.borrow().state.is_end()
    }

    fn stop(&self) {
        if self.is_running() {
            // The same effect as a signal.
            self.interrupt.flag().store(true, Ordering::Relaxed);
            self.job.send_modify(Job::stopped);
        }
    }
}

impl Known {
    fn find(&self, job: u64) -> Option<&Remembered> {
        self.latest.iter().find(|one| one.job.borrow().job == job)
    }

    fn running(&self) -> impl Iterator<Item = &Remembered> {
        self.latest.iter().filter(|one| one.is_running())
    }

    fn check_room(&self, kind: Kind, loads_at_once: u32) -> Result<(), BeginError> {
        if self.is_closed {
            return Err(BeginError::Closed);
        }
        let Some(first) = self.running().next() else { return Ok(()) };
        let are_loads = kind == Kind::Load && self.running().all(|one| one.job.borrow().kind == Kind::Load);
        if are_loads && self.running().count() < loads_at_once as usize {
            return Ok(());
        }
        Err(BeginError::Busy(first.job.borrow().job))
    }

    /// Forgets the oldest job that has ended.
    fn forget_one(&mut self) {
        if let Some(place) = self.latest.iter().position(|one| !one.is_running()) {
            self.latest.remove(place);
        }
    }
}

impl Jobs {
    /// No jobs, with a limit on simultaneous loads.
    pub(crate) fn new(loads_at_once: u32) -> Self {
        Self { known: Mutex::default(), loads_at_once }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that a job of a kind may begin now. Another one may still begin first.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub(crate) fn check_room(&self, kind: Kind) -> Result<(), BeginError> {
        self.known().check_room(kind, self.loads_at_once)
    }

    /// Begins a job, and returns it with the interrupt that stops it.
    ///
    /// # Errors
    /// When a job is running that excludes it, or the server is shutting down.
    pub(crate) fn begin(&self, kind: Kind, name: String, at: String) -> Result<(Job, Interrupt), BeginError> {
        let mut known = self.known();
        known.check_room(kind, self.loads_at_once)?;
        known.begun += 1;
        let (job, interrupt) = (Job::begun(known.begun, kind, name, at), Interrupt::default());
        let others = known.running().count() as u32;
        for other in known.running() {
            other.beside.fetch_add(1, Ordering::Relaxed);
        }
        if known.latest.len() == MAX_JOBS {
            known.forget_one();
        }
        let (sender, beside) = (watch::Sender::new(job.clone()), Arc::new(AtomicU32::new(others)));
        known.latest.push_back(Remembered { job: sender, interrupt: interrupt.clone(), beside });
        Ok((job, interrupt))
    }

    /// The number of other loads that have run at the same time as a job, which is updated as they begin; none if only one load runs at a
    /// time.
    pub(crate) fn beside(&self, job: u64) -> Option<Arc<AtomicU32>> {
        let known = self.known();
        known.find(job).filter(|_| self.loads_at_once > 1).map(|one| Arc::clone(&one.beside))
    }

    /// All remembered jobs, the latest first.
    pub(crate) fn all(&self) -> Vec<Job> {
        self.known().latest.iter().rev().map(|one| one.job.borrow().clone()).collect()
    }

    /// A job; none if there is no job with this number, or if it was forgotten.
    pub(crate) fn get(&self, job: u64) -> Option<Job> {
        self.known().find(job).map(|one| one.job.borrow().clone())
    }

    /// A job with its later changes.
    pub(crate) fn follow(&self, job: u64) -> Option<watch::Receiver<Job>> {
        self.known().find(job).map(|one| one.job.subscribe())
    }

    /// Asks a job to stop, and returns it.
    pub(crate) fn stop(&self, job: u64) -> Option<Job> {
        self.known().find(job).map(|one| {
            one.stop();
            one.job.borrow().clone()
        })
    }

    /// Ends a job, and returns its final state; none if it had ended before.
    pub(crate) fn ended(&self, job: u64, outcome: Outcome, at: String) -> Option<State> {
        let mut state = None;
        self.change(job, |job| state = job.ended(outcome, at).then_some(job.state));
        state
    }

    /// Changes a remembered job, and notifies its followers.
    pub(crate) fn change(&self, job: u64, change: impl FnOnce(&mut Job)) {
        if let Some(one) = self.known().find(job) {
            one.job.send_modify(change);
        }
    }

    /// Prevents new jobs, and stops the running ones.
    pub(crate) fn close(&self) {
        let mut known = self.known();
        known.is_closed = true;
        known.latest.iter().for_each(Remembered::stop);
    }

    /// Number of running jobs.
    pub(crate) fn running(&self) -> usize {
        self.known().running().count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(jobs: &Jobs) -> Result<(u64, Interrupt), BeginError> {
        let (job, interrupt) = jobs.begin(Kind::Load, "http://127.0.0.1/".to_owned(), "now".to_owned())?;
        Ok((job.job, interrupt))
    }

    fn fail(jobs: &Jobs, job: u64) -> Option<State> {
        jobs.ended(job, Outcome::Failed("why".to_owned()), "later".to_owned())
    }

    #[test]
    fn one_job_runs_at_a_time_and_the_running_one_is_named() {
        let jobs = Jobs::new(1);
        let (first, interrupt) = begun(&jobs).unwrap();
        assert_eq!(begun(&jobs).unwrap_err(), BeginError::Busy(first));
        assert_eq!(jobs.check_room(Kind::Load), Err(BeginError::Busy(first)));
        assert_eq!(jobs.stop(first).map(|job| job.state), Some(State::Stopping));
        assert!(interrupt.is_requested() && jobs.running() == 1);
        assert_eq!(begun(&jobs).unwrap_err(), BeginError::Busy(first), "it has not ended yet");
        assert_eq!(fail(&jobs, first), Some(State::Failed));
        assert_eq!(fail(&jobs, first), None, "it had ended");
        assert_eq!(jobs.check_room(Kind::Load), Ok(()));
        let (second, interrupt) = begun(&jobs).unwrap();
        assert_ne!(first, second);
        jobs.stop(first);
        assert!(!interrupt.is_requested(), "another job was stopped");
        assert_eq!(jobs.get(first).map(|job| job.state), Some(State::Failed));
        assert_eq!((jobs.get(99), jobs.stop(99)), (None, None));
    }

    #[test]
    fn as_many_loads_run_at_once_as_are_allowed_and_nothing_else_runs_beside_a_job() {
        let jobs = Jobs::new(2);
        let (first, _) = begun(&jobs).unwrap();
        assert_eq!(jobs.check_room(Kind::Study), Err(BeginError::Busy(first)));
        let (second, _) = begun(&jobs).unwrap();
        assert_eq!(begun(&jobs).unwrap_err(), BeginError::Busy(first));
        assert_eq!(jobs.running(), 2);
        fail(&jobs, first);
        assert_eq!(jobs.check_room(Kind::Find), Err(BeginError::Busy(second)), "the other load still runs");
        let (third, _) = begun(&jobs).unwrap();
        let beside = |job: u64| jobs.beside(job).map(|others| others.load(Ordering::Relaxed));
        // Each counts those that it met, also those that have ended.
        assert_eq!([first, second, third].map(beside), [Some(1), Some(2), Some(1)]);
        fail(&jobs, second);
        fail(&jobs, third);
        jobs.begin(Kind::Bill, "edge.yaml".to_owned(), "now".to_owned()).unwrap();
        assert!(begun(&jobs).is_err(), "a load beside a bill");
        let alone = Jobs::new(1);
        let (job, _) = begun(&alone).unwrap();
        assert!(alone.beside(job).is_none());
    }

    #[test]
    fn a_job_that_runs_is_not_forgotten() {
        let jobs = Jobs::new(2);
        let (long, _) = begun(&jobs).unwrap();
        for _ in 0..MAX_JOBS + 5 {
            let (job, _) = begun(&jobs).unwrap();
            fail(&jobs, job);
        }
        assert_eq!(jobs.get(long).map(|job| job.state), Some(State::Running));
        assert_eq!(jobs.all().len(), MAX_JOBS);
    }

    #[test]
    fn whoever_follows_a_job_sees_its_end() {
        let jobs = Jobs::new(1);
        let (job, _) = begun(&jobs).unwrap();
        let mut follower = jobs.follow(job).unwrap();
        assert_eq!(follower.borrow_and_update().state, State::Running);
        assert!(!follower.has_changed().unwrap());
        jobs.change(job, |job| job.noted("a note"));
        fail(&jobs, job);
        assert!(follower.has_changed().unwrap());
        let seen = follower.borrow_and_update().clone();
        assert_eq!((seen.state, seen.notes), (State::Failed, ["a note".to_owned()].into()));
    }

    #[test]
    fn a_server_that_ends_stops_its_job_and_begins_no_other() {
        let jobs = Jobs::new(1);
        let (job, interrupt) = begun(&jobs).unwrap();
        jobs.close();
        assert!(interrupt.is_requested());
        assert_eq!(begun(&jobs).unwrap_err(), BeginError::Closed);
        assert_eq!(jobs.running(), 1);
        fail(&jobs, job);
        assert_eq!(jobs.running(), 0);
        assert_eq!(begun(&jobs).unwrap_err(), BeginError::Closed);
        assert_eq!(jobs.check_room(Kind::Load), Err(BeginError::Closed));
    }

    #[test]
    fn the_oldest_jobs_are_forgotten() {
        let jobs = Jobs::new(1);
        for _ in 0..MAX_JOBS + 5 {
            let (job, _) = begun(&jobs).unwrap();
            fail(&jobs, job);
        }
        let all = jobs.all();
        assert_eq!(all.len(), MAX_JOBS);
        assert_eq!((all[0].job, all[MAX_JOBS - 1].job), (MAX_JOBS as u64 + 5, 6));
        assert!(jobs.follow(1).is_none());
    }
}
