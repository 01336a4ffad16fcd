//! Sends the load of a job, and stores its result.

use hoptax_load::trial::LiveLine;
use hoptax_result::EndedBy;
use hoptax_session::load::{Sending, send};
use hoptax_session::{Failure, Interrupt, Update};

use crate::job::{Outcome, Progress};
use crate::working::{OfJob, Teller};

/// Sends a load.
///
/// # Errors
/// When it cannot be sent or stored, and when it is interrupted before its first request.
pub(crate) fn sent(of_job: &OfJob, sending: Sending<'_>, interrupt: &Interrupt) -> Result<Outcome, Failure> {
    let sending = Sending { beside: of_job.beside(), ..sending };
    let teller = Teller::new(of_job, &[]);
    let say = |update: Update<'_>| teller.say(update);
    let mut show = |line: &LiveLine| of_job.change(|job| job.progressed(Progress::from(line)));
    let result = send(&sending, None, Some(&mut show), interrupt, &say)?.result;
    let text = serde_json::to_string_pretty(&result).map_err(Failure::environment)? + "\n";
    of_job.kept(&text, result.verdict, result.ended_by == EndedBy::Interrupt)
}
