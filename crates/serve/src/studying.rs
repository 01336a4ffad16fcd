//! Measures the built-in study of a job, and stores its rounds and its result.

use std::time::Duration;

use hoptax_session::{Failure, Held, Interrupt, Options, Place, RequestedLength, Study, Update, measure};

use crate::folder::Folder;
use crate::job::Outcome;
use crate::working::{JobHandle, JobReporter};

/// A validated study.
pub(crate) struct BoundedStudy {
    /// The study.
    pub(crate) study: Study,
    /// Run as many rounds as fit into this time.
    pub(crate) budget: Duration,
}

/// Measures the study.
///
/// # Errors
/// When it cannot begin or cannot be stored.
pub(crate) fn measured(
    handle: &JobHandle,
    bounded: &BoundedStudy,
    interrupt: &Interrupt,
) -> Result<Outcome, Failure> {
    let folder = Folder::create()?;
    let run = folder.run();
    let reporter = JobReporter::new(handle, &[(run.as_path(), Folder::SHOWN)]);
    let say = |update: Update<'_>| reporter.report(update);
    let length = RequestedLength { budget: Some(bounded.budget), ..RequestedLength::default() };
    let study = Box::new(bounded.study.clone());
    let place = Place::New { study, folder: Some(&run), held: Held::Refused };
    let options = Options { length, envoy: handle.envoy(), ..Options::default() };
    let measured = match measure(&place, &options, interrupt, &say) {
        Ok(measured) => measured,
        Err(failure) if failure.is_interrupt() || interrupt.is_requested() => {
            return Ok(Outcome::Interrupted);
        }
        Err(failure) => return Ok(reporter.failure(&failure)),
    };
    let verdict = measured.result.verdict;
    let kept =
        if measured.result.plan.rounds_completed > 0 { handle.history().keep_folder(&run)? } else { None };
    let failure = measured.complete().err();
    Ok(match (kept, failure) {
        (Some(run), None) => Outcome::Kept { run, verdict, is_interrupted: false },
        (Some(run), Some(failure)) if failure.is_interrupt() => {
            Outcome::Kept { run, verdict, is_interrupted: true }
        }
        (None, Some(failure)) if failure.is_interrupt() => Outcome::Interrupted,
        (Some(run), Some(failure)) => {
            reporter.failure(&failure.with(format!("\nthe rounds before that are run {run}")))
        }
        (None, Some(failure)) => reporter.failure(&failure),
        (None, None) => Outcome::Failed("no round of it was complete".to_owned()),
    })
}
