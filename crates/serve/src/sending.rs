//! Sends the load of a job on a thread of its own, and keeps its result.

use std::io;
use std::sync::Arc;
use std::thread;

use hoptax_load::trial::LiveLine;
use hoptax_result::EndedBy;
use hoptax_session::load::{Sending, send};
use hoptax_session::{Failure, Interrupt, Update};

use crate::app::{App, now};
use crate::job::{Outcome, Progress};

/// Begins to send the load of a job. The job has ended when its result is kept.
///
/// # Errors
/// When no thread can be started.
pub(crate) fn begin(
    app: &Arc<App>,
    job: u64,
    sending: Sending<'static>,
    interrupt: Interrupt,
) -> io::Result<()> {
    let of_job = OfJob { app: Arc::clone(app), job };
    let run = move || {
        let outcome = outcome(&of_job, &sending, &interrupt);
        of_job.end(outcome);
    };
    thread::Builder::new().name("load".to_owned()).spawn(run).map(drop)
}

/// A job that its thread ends, even if it panics or never began: no other job could begin.
struct OfJob {
    app: Arc<App>,
    job: u64,
}

impl OfJob {
    fn end(&self, outcome: Outcome) {
        if let Some(state) = self.app.jobs.ended(self.job, outcome, now()) {
            self.app.metrics.ended(state);
        }
    }
}

impl Drop for OfJob {
    fn drop(&mut self) {
        self.end(Outcome::Failed(
            "its thread could not be started, or panicked, which is a bug in hoptax".to_owned(),
        ));
    }
}

fn outcome(of_job: &OfJob, sending: &Sending<'_>, interrupt: &Interrupt) -> Outcome {
    sent(of_job, sending, interrupt).unwrap_or_else(|failure| {
        if failure.is_interrupt() { Outcome::Interrupted } else { Outcome::Failed(failure.to_string()) }
    })
}

fn sent(of_job: &OfJob, sending: &Sending<'_>, interrupt: &Interrupt) -> Result<Outcome, Failure> {
    let OfJob { app, job } = of_job;
    let say = |update: Update<'_>| {
        if let Update::Note(text) | Update::Problem(text) = update {
            app.jobs.noted(*job, text);
        }
    };
    let mut show = |line: &LiveLine| app.jobs.progressed(*job, Progress::from(line));
    let result = send(sending, None, Some(&mut show), interrupt, &say)?.result;
    let text = serde_json::to_string_pretty(&result).map_err(Failure::environment)? + "\n";
    let run = app.history.keep(&text)?;
    let is_interrupted = result.ended_by == EndedBy::Interrupt;
    Ok(Outcome::Kept { run, verdict: result.verdict, is_interrupted })
}
