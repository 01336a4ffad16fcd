//! Jobs: their state, their events, and stopping them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use schemars::json_schema;

use super::operation::{Answer, Content, Operation, Parameter, Verb, schema_of};
use super::stream;
use crate::address::{Segments, number};
use crate::app::{App, MAX_STREAMS};
use crate::job::Job;
use crate::metrics::Refused;
use crate::problem::Problem;

const JOB: Parameter = Parameter::in_path("job", "The number of a job.", schema_of::<u64>);
const NO_JOB: Answer = Answer::error(404, "There is no such job, or it is forgotten.");

/// The operations on jobs.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: "/jobs",
        id: "listJobs",
        summary: "The latest jobs of this server, the latest first.",
        parameters: &[],
        body: None,
        answers: &[Answer::json(200, "The jobs.", schema_of::<Vec<Job>>)],
        route: || get(list),
    },
    Operation {
        verb: Verb::Get,
        path: "/jobs/{job}",
        id: "showJob",
        summary: "A job: its state, its latest progress and lines, and the run that has its result.",
        parameters: &[JOB],
        body: None,
        answers: &[Answer::json(200, "The job.", schema_of::<Job>), NO_JOB],
        route: || get(show),
    },
    Operation {
        verb: Verb::Post,
        path: "/jobs/{job}/stop",
        id: "stopJob",
        summary: "Stops a job, as Ctrl-C stops a command: what it has measured is kept. A job that has ended stays as it is.",
        parameters: &[JOB],
        body: None,
        answers: &[Answer::json(202, "The job, which ends soon.", schema_of::<Job>), NO_JOB],
        route: || post(stop),
    },
    Operation {
        verb: Verb::Get,
        path: "/jobs/{job}/events",
        id: "followJob",
        summary: "Server-sent events named `job`, each with the whole job as JSON: at once, and then at every change until its end.",
        parameters: &[JOB],
        body: None,
        answers: &[
            Answer {
                status: 200,
                description: "The events.",
                content: Content::Types(|_| vec![("text/event-stream", json_schema!({"type": "string"}))]),
            },
            NO_JOB,
            Answer::error(
                429,
                "There are too many event streams. `Retry-After` says when to ask again, in seconds.",
            ),
        ],
        route: || get(follow),
    },
];

fn no_job() -> Problem {
    Problem::not_found("there is no such job: the results of forgotten jobs are among the runs")
}

fn job_of(text: &str) -> Result<u64, Problem> {
    number(text).ok_or_else(|| Problem::not_found("a job is named by its number"))
}

async fn list(State(app): State<Arc<App>>) -> Json<Vec<Job>> {
    Json(app.jobs.all())
}

async fn show(State(app): State<Arc<App>>, Segments(job): Segments<String>) -> Result<Json<Job>, Problem> {
    app.jobs.get(job_of(&job)?).map(Json).ok_or_else(no_job)
}

async fn stop(
    State(app): State<Arc<App>>,
    Segments(job): Segments<String>,
) -> Result<impl IntoResponse, Problem> {
    let job = app.jobs.stop(job_of(&job)?).ok_or_else(no_job)?;
    Ok((StatusCode::ACCEPTED, Json(job)))
}

async fn follow(
    State(app): State<Arc<App>>,
    Segments(job): Segments<String>,
) -> Result<impl IntoResponse, Problem> {
    let job = app.jobs.follow(job_of(&job)?).ok_or_else(no_job)?;
    let permit = app.stream().ok_or_else(|| {
        app.metrics.refused(Refused::Streams);
        let error =
            format!("there are {MAX_STREAMS} event streams already: close one, or ask for the job itself");
        Problem::new(StatusCode::TOO_MANY_REQUESTS, error)
    })?;
    app.metrics.streamed();
    Ok(stream::events(job, permit))
}
