//! Built-in studies: their list, and their measurements, which are jobs.

use std::sync::{Arc, LazyLock};

use axum::Json;
use axum::extract::{Request, State};
use axum::routing::{get, post};

use super::operation::{Answer, Operation, Verb, schema_of};
use super::start::{self, ACCEPTED, Accepted, BUSY, ENDING, NOT_IN_TIME, NOT_JSON, TOO_LARGE};
use crate::app::{App, blocking};
use crate::job::Kind;
use crate::problem::Problem;
use crate::studying;
use crate::wanted::{BuiltInStudy, WantedStudy, startable};

/// The operations on studies.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: "/studies",
        id: "listStudies",
        summary: "The built-in studies that can be started: those that need no root.",
        parameters: &[],
        body: None,
        answers: &[Answer::json(
            200,
            "The studies, in the order of their names.",
            schema_of::<Vec<BuiltInStudy>>,
        )],
        route: || get(list),
    },
    Operation {
        verb: Verb::Post,
        path: "/studies",
        id: "startStudy",
        summary: "Measures a built-in study on this machine, as a job. Its proxies and its load are on loopback.",
        parameters: &[],
        body: Some(schema_of::<WantedStudy>),
        answers: &[
            ACCEPTED,
            Answer::error(400, "There is no such study, it needs root, or its time is not valid."),
            NOT_IN_TIME,
            BUSY,
            TOO_LARGE,
            NOT_JSON,
            Answer::error(422, "The request is JSON, but not a study."),
            ENDING,
        ],
        route: || post(start),
    },
];

/// The studies. All of them are planned to determine their requirements, which takes a while.
static STUDIES: LazyLock<Result<Vec<BuiltInStudy>, String>> = LazyLock::new(startable);

async fn all() -> Result<&'static [BuiltInStudy], Problem> {
    blocking(|| STUDIES.as_ref().map(Vec::as_slice).map_err(Problem::internal)).await
}

async fn list() -> Result<Json<&'static [BuiltInStudy]>, Problem> {
    all().await.map(Json)
}

async fn start(State(app): State<Arc<App>>, request: Request) -> Result<Accepted, Problem> {
    let wanted: WantedStudy = start::body(request).await?;
    let turn = start::turn(&app, Kind::Study).await?;
    let study = wanted.bounded(all().await?).map_err(Problem::bad_input)?;
    let name = wanted.name().to_owned();
    start::begin(&app, turn, Kind::Study, name, move |handle, interrupt| {
        studying::measured(handle, &study, interrupt)
    })
}
