//! The thread of a job: its measurement, its messages, and its end.

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hoptax_report::documents::{self, TextTable};
use hoptax_result::Verdict;
use hoptax_session::progress::{Progress as Course, SliceCount};
use hoptax_session::{EnvoyChoice, Failure, Interrupt, Update, written_out};

use crate::app::{App, now};
use crate::history::History;
use crate::job::{Job, Kind, Outcome, Step};

/// Minimum time between two steps of a job, each of which is an event. A slice takes a fifth of a second.
const STEP_EVERY: Duration = Duration::from_millis(500);

/// Starts the work of a job on its own thread. The job ends when its result is stored.
///
/// # Errors
/// When no thread can be started.
pub(crate) fn begin(
    app: &Arc<App>,
    job: u64,
    kind: Kind,
    interrupt: Interrupt,
    work: impl FnOnce(&JobHandle, &Interrupt) -> Result<Outcome, Failure> + Send + 'static,
) -> io::Result<()> {
    let handle = JobHandle { app: Arc::clone(app), job };
    let run = move || {
        let outcome = outcome(work(&handle, &interrupt), &interrupt);
        handle.end(outcome);
    };
    thread::Builder::new().name(format!("{kind:?}").to_lowercase()).spawn(run).map(drop)
}

fn outcome(worked: Result<Outcome, Failure>, interrupt: &Interrupt) -> Outcome {
    match worked {
        Ok(outcome) => outcome,
        // An error after an interrupt is a consequence of it.
        Err(failure) if failure.is_interrupt() || interrupt.is_requested() => Outcome::Interrupted,
        Err(failure) => Outcome::Failed(failure.to_string()),
    }
}

/// A job that ends when this is dropped, even if its thread panics or never starts. Otherwise no other job could begin.
pub(crate) struct JobHandle {
    app: Arc<App>,
    job: u64,
}

impl JobHandle {
    /// The history, which stores its result.
    pub(crate) fn history(&self) -> &History {
        &self.app.history
    }

    /// The default Envoy, downloaded only if the server allows it.
    pub(crate) fn envoy(&self) -> EnvoyChoice<'static> {
        EnvoyChoice { named: None, is_offline: self.app.is_offline }
    }

    /// The number of other loads that have run at the same time so far; none if the server runs one at a time.
    pub(crate) fn beside(&self) -> Option<Arc<AtomicU32>> {
        self.app.jobs.beside(self.job)
    }

    /// Changes the job, and notifies its followers.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Job)) {
        self.app.jobs.change(self.job, change);
    }

    /// Records a note.
    pub(crate) fn note(&self, text: &str) {
        self.change(|job| job.noted(text));
    }

    /// Stores a result, and returns the outcome of the job.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn kept(
        &self,
        result: &str,
        verdict: Verdict,
        is_interrupted: bool,
    ) -> Result<Outcome, Failure> {
        let run = self.history().keep(result)?;
        Ok(Outcome::Kept { run, verdict, is_interrupted })
    }

    fn end(&self, outcome: Outcome) {
        if let Some(state) = self.app.jobs.ended(self.job, outcome, now()) {
            self.app.metrics.ended(state);
        }
    }
}

impl Drop for JobHandle {
    fn drop(&mut self) {
        self.end(Outcome::Failed(
            "its thread could not be started, or panicked, which is a bug in hoptax".to_owned(),
        ));
    }
}

/// Shows the messages of a session on its job: lines, and the progress of a study. Clients read them, so they contain no local paths.
pub(crate) struct JobReporter<'a> {
    handle: &'a JobHandle,
    /// Texts to hide, each with its replacement.
    hidden: Vec<(String, String)>,
    measuring: Mutex<Option<Measuring>>,
}

/// A running study.
struct Measuring {
    course: Course,
    /// Its step when the last event was sent.
    reported: String,
    reported_at: Option<Instant>,
}

impl Measuring {
    /// The step, if an event is due: at once when another step begins.
    fn step(&mut self, at: Instant) -> Option<Step> {
        let doing = self.course.now();
        let is_due = |reported_at: Instant| at.saturating_duration_since(reported_at) >= STEP_EVERY;
        if doing == self.reported && !self.reported_at.is_none_or(is_due) {
            return None;
        }
        (self.reported, self.reported_at) = (doing, Some(at));
        let SliceCount { done, all } = self.course.slices();
        Some(Step { done, all, line: self.course.line(at) })
    }
}

impl<'a> JobReporter<'a> {
    /// A teller that replaces these paths. A file must precede the folder that contains it.
    pub(crate) fn new(handle: &'a JobHandle, hidden: &[(&Path, &str)]) -> Self {
        let hidden = hidden.iter().map(|(path, with)| (path.display().to_string(), (*with).to_owned()));
        Self { handle, hidden: hidden.collect(), measuring: Mutex::new(None) }
    }

    /// Shows an update.
    pub(crate) fn report(&self, update: Update<'_>) {
        match update {
            Update::Note(text) | Update::Problem(text) => self.handle.note(&self.shown(text)),
            Update::Begins { slices_per_round, rounds_done } => {
                let course = Course::new(slices_per_round, rounds_done);
                self.measures(Some(Measuring { course, reported: String::new(), reported_at: None }));
                self.costs(None);
            }
            Update::Ends => {
                self.measures(None);
                self.step(None);
            }
            Update::SoFar { result, is_worth_a_line } => {
                self.costs(documents::costs_so_far(result));
                let line = if is_worth_a_line { documents::so_far(result) } else { None };
                if let Some(line) = line {
                    self.handle.note(&self.shown(&line));
                }
            }
            Update::Trial(trial) => self.handle.change(|job| job.tried(trial)),
            Update::Rounds(_) | Update::Event(_) => self.steps(&update),
            Update::Search(_) => {}
        }
    }

    /// Replaces the hidden paths in a text.
    pub(crate) fn shown(&self, text: &str) -> String {
        let hide = |text: String, (path, with): &(String, String)| text.replace(path, with);
        self.hidden.iter().fold(text.to_owned(), hide)
    }

    /// A failure with the hidden paths replaced.
    pub(crate) fn failure(&self, failure: &Failure) -> Outcome {
        Outcome::Failed(self.shown(&failure.to_string()))
    }

    fn measures(&self, measuring: Option<Measuring>) {
        *self.measuring.lock().unwrap_or_else(PoisonError::into_inner) = measuring;
    }

    fn steps(&self, update: &Update<'_>) {
        let now = Instant::now();
        let mut measuring = self.measuring.lock().unwrap_or_else(PoisonError::into_inner);
        let step = measuring.as_mut().and_then(|measuring| {
            measuring.course.update(update, now);
            measuring.step(now)
        });
        drop(measuring);
        if step.is_some() {
            self.step(step);
        }
    }

    fn costs(&self, costs: Option<TextTable>) {
        let costs = costs.map(|mut table| {
            let texts = table.rows.iter_mut().flatten().chain([&mut table.title]);
            texts.for_each(|text| *text = written_out(&self.shown(text)));
            table
        });
        self.handle.change(|job| job.costed(costs));
    }

    fn step(&self, step: Option<Step>) {
        self.handle.change(|job| job.stepped(step));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_rare_unless_something_else_begins() {
        let mut measuring =
            Measuring { course: Course::new(10, 0), reported: String::new(), reported_at: None };
        let began = Instant::now();
        let first = measuring.step(began).unwrap();
        assert_eq!((first.done, first.all, first.line.as_str()), (0, 10, "starting processes"));
        assert_eq!(measuring.step(began + STEP_EVERY / 2), None);
        assert!(measuring.step(began + STEP_EVERY).is_some());
        measuring.reported = "round 1".to_owned();
        assert!(measuring.step(began + STEP_EVERY).is_some());
    }

    #[test]
    fn an_error_after_an_interrupt_is_a_consequence_of_it() {
        let failed = || Err(Failure::environment("a process ended"));
        let interrupt = Interrupt::default();
        assert_eq!(outcome(failed(), &interrupt), Outcome::Failed("a process ended".to_owned()));
        assert_eq!(outcome(Err(Failure::interrupted()), &interrupt), Outcome::Interrupted);
        interrupt.flag().store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(outcome(failed(), &interrupt), Outcome::Interrupted);
        let kept = Outcome::Kept { run: 1, verdict: Verdict::Sound, is_interrupted: false };
        assert_eq!(outcome(Ok(kept.clone()), &interrupt), kept);
    }
}
