//! Searches for the highest rate, which are jobs.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::routing::post;

use super::operation::{Operation, Verb, schema_of};
use super::start::{self, Accepted, TARGET_REFUSED};
use crate::app::App;
use crate::finding;
use crate::job::Kind;
use crate::problem::Problem;
use crate::wanted::WantedFind;

/// The operations on searches.
pub(super) const OPERATIONS: &[Operation] = &[Operation {
    verb: Verb::Post,
    path: "/finds",
    id: "startFind",
    summary: "Searches for the highest rate at which a server holds objectives, as a job.",
    parameters: &[],
    body: Some(schema_of::<WantedFind>),
    answers: &start::answers(
        "The search is not valid.",
        TARGET_REFUSED,
        "The request is JSON, but not a search.",
    ),
    route: || post(start),
}];

async fn start(State(app): State<Arc<App>>, request: Request) -> Result<Accepted, Problem> {
    let wanted: WantedFind = start::body(request).await?;
    let find = wanted.bounded(app.most_connections).map_err(Problem::bad_input)?;
    let turn = start::turn(&app, Kind::Find).await?;
    let (addresses, turn) = start::admitted(&app, turn, find.load().target()).await?;
    let name = find.load().shown_target();
    let search = find.search(addresses);
    start::begin(&app, turn, Kind::Find, name, move |handle, interrupt| {
        finding::found(handle, &search, interrupt)
    })
}
