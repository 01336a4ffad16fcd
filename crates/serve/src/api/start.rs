//! The start of a job, which is the same for all kinds: a body in time, room for a job, an admitted target, a thread.

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

/// The time in which the body of a request has to come.
const BODY_TIME: Duration = Duration::from_secs(10);

/// The answers of a start: those of every kind of job, and three errors in words of this kind. The errors are that a value is not valid
/// (400), that the job is refused (403), and that the request is JSON, but states nothing of this kind (422).
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

/// When a start that sends requests to a target is refused.
pub(super) const TARGET_REFUSED: &str =
    "Its target is not allowed, or a page of another server or a proxy sent the request.";

/// The answer of a start.
pub(super) const ACCEPTED: Answer =
    Answer::json(202, "The job, which began. `Location` is its address.", schema_of::<Job>);
pub(super) const NOT_IN_TIME: Answer = Answer::error(408, "The body of the request did not come in time.");
pub(super) const BUSY: Answer = Answer::error(409, "Another job runs, which the error names.");
pub(super) const TOO_LARGE: Answer = Answer::error(413, "The request is too large.");
pub(super) const NOT_JSON: Answer = Answer::error(415, "The request is not declared as JSON.");
pub(super) const ENDING: Answer = Answer::error(503, "The server ends.");

/// A job that began, with its address.
pub(super) type Accepted = (StatusCode, [(HeaderName, String); 1], Json<Job>);

/// The body of a request.
///
/// # Errors
/// When it does not come in time, or is not what is wanted.
pub(super) async fn body<T: DeserializeOwned>(request: Request) -> Result<T, Problem> {
    let body = time::timeout(BODY_TIME, Json::<T>::from_request(request, &()));
    let Json(wanted) = body.await.map_err(|_| {
        let error = format!("the body of the request did not come within {} s", BODY_TIME.as_secs());
        Problem::new(StatusCode::REQUEST_TIMEOUT, error)
    })??;
    Ok(wanted)
}

/// Decides whether a job of a kind may begin now.
///
/// # Errors
/// When another one runs, or the server ends.
pub(super) fn check_room(app: &App, kind: Kind) -> Result<(), Problem> {
    app.jobs.check_room(kind).map_err(|why| begin_problem(app, why))
}

/// The turn of a request that begins a job. Until its end, no other job begins, so nothing is looked up or read beside a measurement,
/// whose processor it would take, or for somebody who would be refused anyway. Where several loads may run at once, they are looked up
/// beside each other, too.
///
/// # Errors
/// As [`check_room`].
pub(super) async fn turn(app: &App, kind: Kind) -> Result<Turn, Problem> {
    check_room(app, kind)?;
    let turn = app.turn().await;
    // Another request may have begun one while this one waited.
    check_room(app, kind)?;
    Ok(turn)
}

/// The addresses of an allowed target, and the turn in which they were looked up.
///
/// # Errors
/// When it is not allowed, or is no target.
pub(super) async fn admitted(
    app: &Arc<App>,
    turn: Turn,
    target: &str,
) -> Result<(Vec<StaticAddress>, Turn), Problem> {
    let (of_names, target) = (Arc::clone(app), target.to_owned());
    // A client that leaves ends no lookup, so the turn lasts until the end of that.
    blocking(move || {
        let addresses = of_names.targets.admit(&target).map_err(|why| refused(&of_names, why))?;
        Ok((addresses, turn))
    })
    .await
}

/// Begins a job, and ends the turn of its request.
///
/// # Errors
/// When another one runs, or the server ends.
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
                "job {running} runs, and jobs would disturb each other: wait for its end, or stop it with POST {}/stop",
                address(running)
            );
            Problem::new(StatusCode::CONFLICT, error)
        }
        BeginError::Closed => Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the server ends"),
    }
}

/// The field is named, as in errors of all other fields.
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
