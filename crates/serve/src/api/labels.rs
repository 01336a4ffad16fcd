//! Labels of runs. One label makes a run the reference.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::routing::patch;
use hoptax_result::StoredRun;

use super::operation::{Answer, Operation, Verb, schema_of};
use super::runs::RUN;
use super::start::{self, NOT_IN_TIME, NOT_JSON, TOO_LARGE};
use crate::address::{Segments, run_of};
use crate::app::{App, blocking};
use crate::labels::LabelChange;
use crate::problem::Problem;

/// The operations on labels.
pub(super) const OPERATIONS: &[Operation] = &[Operation {
    verb: Verb::Patch,
    path: "/runs/{run}",
    id: "labelRun",
    summary: "Changes the labels of a run. The label `reference` of one run alone sets it as reference.",
    parameters: &[RUN],
    body: Some(schema_of::<LabelChange>),
    answers: &[
        Answer::json(200, "The run with its labels.", schema_of::<StoredRun>),
        Answer::error(400, "A label is not valid, or the run has too many."),
        Answer::error(404, "There is no such run."),
        NOT_IN_TIME,
        TOO_LARGE,
        NOT_JSON,
        Answer::error(422, "The request is JSON, but not a change of labels."),
    ],
    route: || patch(label),
}];

async fn label(
    State(app): State<Arc<App>>,
    Segments(run): Segments<String>,
    request: Request,
) -> Result<Json<StoredRun>, Problem> {
    let run = run_of(&run)?;
    let change: LabelChange = start::body(request).await?;
    let change = change.checked().map_err(Problem::bad_input)?;
    let labelled = blocking(move || app.history.label(run, &change)).await?;
    labelled.map(Json).ok_or_else(|| Problem::not_found(format!("there is no run {run}")))
}
