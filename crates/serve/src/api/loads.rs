//! Loads, which are jobs.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use axum::routing::post;

use super::BASE;
use super::operation::{Answer, Operation, Verb, of};
use crate::app::{App, blocking, now};
use crate::job::Job;
use crate::jobs::NotBegun;
use crate::metrics::Refused;
use crate::problem::Problem;
use crate::sending;
use crate::targets::NotAdmitted;
use crate::wanted::WantedLoad;

/// The operations on loads.
pub(super) const OPERATIONS: &[Operation] = &[Operation {
    verb: Verb::Post,
    path: "/loads",
    id: "startLoad",
    summary: "Sends a load to a server, as a job.",
    parameters: &[],
    body: Some(of::<WantedLoad>),
    answers: &[
        Answer::json(202, "The job, which began. `Location` is its address.", of::<Job>),
        Answer::error(400, "The load is not valid."),
        Answer::error(403, "Its target is not allowed."),
        Answer::error(409, "Another job runs, which the error names."),
        Answer::error(413, "The request is too large."),
        Answer::error(415, "The request is not declared as JSON."),
        Answer::error(422, "The request is JSON, but no load."),
        Answer::error(503, "The server ends."),
    ],
    route: || post(start),
}];

async fn start(
    State(app): State<Arc<App>>,
    wanted: Result<Json<WantedLoad>, JsonRejection>,
) -> Result<impl IntoResponse, Problem> {
    let Json(wanted) = wanted?;
    let of_names = Arc::clone(&app);
    let (wanted, addresses) = blocking(move || {
        let addresses = of_names.targets.admit(&wanted.target).map_err(|why| refused(&of_names, why))?;
        Ok((wanted, addresses))
    })
    .await?;
    let target = wanted.shown_target();
    let sending = wanted.sending(addresses).map_err(Problem::bad_input)?;
    let (job, interrupt) = app.jobs.begin(target, now()).map_err(|why| match why {
        NotBegun::Busy(running) => {
            app.metrics.refused(Refused::Busy);
            let error = format!(
                "job {running} runs, and loads would disturb each other: wait for its end, or stop it with DELETE {}",
                address(running)
            );
            Problem::new(StatusCode::CONFLICT, error)
        }
        NotBegun::Closed => Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the server ends"),
    })?;
    sending::begin(&app, job.job, sending, interrupt)
        .map_err(|error| Problem::internal(format!("the thread of the load cannot be started: {error}")))?;
    Ok((StatusCode::ACCEPTED, [(LOCATION, address(job.job))], Json(job)))
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
