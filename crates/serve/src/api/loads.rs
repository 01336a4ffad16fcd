//! Loads, which are jobs.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{FromRequest, Request, State};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use axum::routing::post;
use tokio::time;

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

/// The time in which the body of a request has to come.
const BODY_TIME: Duration = Duration::from_secs(10);

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
        Answer::error(
            403,
            "Its target is not allowed, or a page of another server or a proxy sent the request.",
        ),
        Answer::error(408, "The body of the request did not come in time."),
        Answer::error(409, "Another job runs, which the error names."),
        Answer::error(413, "The request is too large."),
        Answer::error(415, "The request is not declared as JSON."),
        Answer::error(422, "The request is JSON, but no load."),
        Answer::error(503, "The server ends."),
    ],
    route: || post(start),
}];

async fn start(State(app): State<Arc<App>>, request: Request) -> Result<impl IntoResponse, Problem> {
    let body = time::timeout(BODY_TIME, Json::<WantedLoad>::from_request(request, &()));
    let Json(wanted) = body.await.map_err(|_| {
        let error = format!("the body of the request did not come within {} s", BODY_TIME.as_secs());
        Problem::new(StatusCode::REQUEST_TIMEOUT, error)
    })??;
    let load = wanted.bounded(app.most_connections).map_err(Problem::bad_input)?;
    // Names are looked up for nobody who would be refused anyway.
    app.jobs.room().map_err(|why| not_begun(&app, why))?;
    let (turn, of_names) = (app.lookup().await, Arc::clone(&app));
    let (load, addresses) = blocking(move || {
        // A client that leaves ends no lookup, so the next one waits for this, too.
        let _turn = turn;
        let addresses = of_names.targets.admit(load.target()).map_err(|why| refused(&of_names, why))?;
        Ok((load, addresses))
    })
    .await?;
    let begun = app.jobs.begin(load.shown_target(), now());
    let (job, interrupt) = begun.map_err(|why| not_begun(&app, why))?;
    sending::begin(&app, job.job, load.sending(addresses), interrupt)
        .map_err(|error| Problem::internal(format!("the thread of the load cannot be started: {error}")))?;
    Ok((StatusCode::ACCEPTED, [(LOCATION, address(job.job))], Json(job)))
}

fn not_begun(app: &App, why: NotBegun) -> Problem {
    match why {
        NotBegun::Busy(running) => {
            app.metrics.refused(Refused::Busy);
            let error = format!(
                "job {running} runs, and loads would disturb each other: wait for its end, or stop it with DELETE {}",
                address(running)
            );
            Problem::new(StatusCode::CONFLICT, error)
        }
        NotBegun::Closed => Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the server ends"),
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
