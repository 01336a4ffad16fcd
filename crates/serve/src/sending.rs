//! Sends the load of a job, and stores its result.

use hoptax_load::trial::LiveLine;
use hoptax_result::EndedBy;
use hoptax_session::load::{Condition, Sending, send};
use hoptax_session::{Failure, Interrupt, Update};

use crate::job::{Outcome, Progress};
use crate::working::{JobHandle, JobReporter};

/// Sends a load, and judges its result by the conditions that must not hold.
///
/// # Errors
/// When it cannot be sent or kept, and when it is interrupted before its first request.
pub(crate) fn sent<'a>(
    handle: &JobHandle,
    sending: Sending<'a>,
    fail_on: &'a [Condition],
    interrupt: &Interrupt,
) -> Result<Outcome, Failure> {
    let sending = Sending { beside: handle.beside(), fail_on, ..sending };
    let reporter = JobReporter::new(handle, &[]);
    let say = |update: Update<'_>| reporter.report(update);
    let mut show = |line: &LiveLine| handle.change(|job| job.progressed(Progress::from(line)));
    let result = send(&sending, None, Some(&mut show), interrupt, &say)?.result;
    let text = serde_json::to_string_pretty(&result).map_err(Failure::environment)? + "\n";
    handle.kept(&text, result.verdict, result.ended_by == EndedBy::Interrupt)
}
