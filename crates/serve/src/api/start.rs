//! The start of a job, common to all kinds: a body in time, room for the job, an admitted target, a thread.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{FromRequest, Request};
use axum::http::header::LOCATION;
use axum::http::{HeaderName, StatusCode};
use hoptax_load::StaticAddress;
use hoptax_session::targets::NotAdmitted;
use hoptax_session::{Failure, Interrupt};
use serde::de::DeserializeOwned;
use tokio::time;

use super::BASE;
use super::operation::{Answer, schema_of};
use crate::app::{App, Turn, blocking, now};
use crate::job::{Job, Kind, Outcome};
use crate::jobs::BeginError;
use crate::metrics::Refused;
use crate::problem::Problem;
use crate::working::{self, JobHandle};

/// Time limit for the body of a request.
const BODY_TIME: Duration = Duration::from_secs(10);

/// The answers to a start: those that all kinds of jobs share, and three errors with descriptions for this kind. These are an invalid value
/// (400), a refused job (403), and JSON that does not describe a job of this kind (422).
pub(super) const fn answers(
    not_valid: &'static str,
    refused: &'static str,
    not_this_kind: &'static str,
) -> [Answer; 9] {
    [
        ACCEPTED,
        Answer::error(400, not_valid),
        Answer::error(403, refused),
        NOT_IN_TIME,
        BUSY,
        TOO_LARGE,
        NOT_JSON,
        Answer::error(422, not_this_kind),
        ENDING,
    ]
}

/// When a start is refused because of its target.
pub(super) const TARGET_REFUSED: &str =
    "Its target is not allowed, or a page of another server or a proxy sent the request.";

/// The answer to a successful start.
pub(super) const ACCEPTED: Answer =
    Answer::json(202, "The job, which began. `Location` is its address.", schema_of::<Job>);
pub(super) const NOT_IN_TIME: Answer = Answer::error(408, "The body of the request did not come in time.");
pub(super) const BUSY: Answer = Answer::error(409, "Another job runs, which the error names.");
pub(super) const TOO_LARGE: Answer = Answer::error(413, "The request is too large.");
pub(super) const NOT_JSON: Answer = Answer::error(415, "The request is not declared as JSON.");
pub(super) const ENDING: Answer = Answer::error(503, "The server is shutting down.");

/// A started job with its address.
pub(super) type Accepted = (StatusCode, [(HeaderName, String); 1], Json<Job>);

/// The body of a request.
///
/// # Errors
/// When it does not arrive in time, or is not of the expected type.
pub(super) async fn body<T: DeserializeOwned>(request: Request) -> Result<T, Problem> {
    let body = time::timeout(BODY_TIME, Json::<T>::from_request(request, &()));
    let Json(wanted) = body.await.map_err(|_| {
        let error = format!("the body of the request did not come within {} s", BODY_TIME.as_secs());
        Problem::new(StatusCode::REQUEST_TIMEOUT, error)
    })??;
    Ok(wanted)
}

/// Checks that a job of a kind may begin now.
///
/// # Errors
/// When another one is running, or the server is shutting down.
pub(super) fn check_room(app: &App, kind: Kind) -> Result<(), Problem> {
    app.jobs.check_room(kind).map_err(|why| begin_problem(app, why))
}

/// The turn of a request to start a job. While it is held, no other job begins, so no lookup or read competes with a measurement for a
/// processor, or is done for a request that would be refused anyway. If several loads may run at once, their lookups run during
/// measurements, too.
///
/// # Errors
/// As [`check_room`].
pub(super) async fn turn(app: &App, kind: Kind) -> Result<Turn, Problem> {
    check_room(app, kind)?;
    let turn = app.turn().await;
    // Check again: another request may have started a job while this one waited.
    check_room(app, kind)?;
    Ok(turn)
}

/// The addresses of an allowed target, and the turn under which they were looked up.
///
/// # Errors
/// When the target is not allowed or invalid.
pub(super) async fn admitted(
    app: &Arc<App>,
    turn: Turn,
    target: &str,
) -> Result<(Vec<StaticAddress>, Turn), Problem> {
    let (of_names, target) = (Arc::clone(app), target.to_owned());
    // The lookup continues if the client disconnects, so the turn must last until it ends.
    blocking(move || {
        let addresses = of_names.targets.admit(&target).map_err(|why| refused(&of_names, why))?;
        Ok((addresses, turn))
    })
    .await
}

/// Begins a job, and releases the turn of its request.
///
/// # Errors
/// When another one is running, or the server is shutting down.
pub(super) fn begin(
    app: &Arc<App>,
    turn: Turn,
    kind: Kind,
    name: String,
    work: impl FnOnce(&JobHandle, &Interrupt) -> Result<Outcome, Failure> + Send + 'static,
) -> Result<Accepted, Problem> {
    let begun = app.jobs.begin(kind, name, now());
    drop(turn);
    let (job, interrupt) = begun.map_err(|why| begin_problem(app, why))?;
    working::begin(app, job.job, kind, interrupt, work)
        .map_err(|error| Problem::internal(format!("the thread of the job cannot be started: {error}")))?;
    Ok((StatusCode::ACCEPTED, [(LOCATION, address(job.job))], Json(job)))
}

fn begin_problem(app: &App, why: BeginError) -> Problem {
    match why {
        BeginError::Busy(running) => {
            app.metrics.refused(Refused::Busy);
            let error = format!(
                "job {running} runs, and jobs would disturb each other: wait until it ends, or stop it with POST {}/stop",
                address(running)
            );
            Problem::new(StatusCode::CONFLICT, error)
        }
        BeginError::Closed => Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down"),
    }
}

/// Name the field, like the errors of all other fields.
fn refused(app: &App, why: NotAdmitted) -> Problem {
    let of_target = |error: String| format!("`target`: {error}");
    match why {
        NotAdmitted::Invalid(error) => Problem::bad_input(of_target(error)),
        NotAdmitted::Refused(error) => {
            app.metrics.refused(Refused::Target);
            Problem::new(StatusCode::FORBIDDEN, of_target(error))
        }
    }
}

fn address(job: u64) -> String {
    format!("{BASE}/jobs/{job}")
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt;
    use tokio::runtime;

    use super::*;
    use crate::app::tests::{app, no_history};

    #[test]
    fn a_request_waits_for_the_turn_of_another_and_is_refused_if_that_begins_a_job() {
        let app = app(no_history());
        runtime::Builder::new_current_thread().build().unwrap().block_on(async {
            let first = turn(&app, Kind::Load).await.unwrap();
            let mut second = pin!(turn(&app, Kind::Load));
            let mut third = pin!(turn(&app, Kind::Load));
            assert!(second.as_mut().now_or_never().is_none() && third.as_mut().now_or_never().is_none());
            drop(first);
            let second = second.await.unwrap();
            assert!(third.as_mut().now_or_never().is_none());
            app.jobs.begin(Kind::Load, "http://127.0.0.1/".to_owned(), now()).unwrap();
            drop(second);
            assert_eq!(third.await.unwrap_err().status, StatusCode::CONFLICT);
            assert_eq!(turn(&app, Kind::Load).await.unwrap_err().status, StatusCode::CONFLICT);
        });
    }
}
