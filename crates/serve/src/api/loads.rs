//! Loads, which are jobs.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::routing::post;

use super::operation::{Operation, Verb, schema_of};
use super::start::{self, Accepted, TARGET_REFUSED};
use crate::app::App;
use crate::job::Kind;
use crate::problem::Problem;
use crate::sending;
use crate::wanted::WantedLoad;

/// The operations on loads.
pub(super) const OPERATIONS: &[Operation] = &[Operation {
    verb: Verb::Post,
    path: "/loads",
    id: "startLoad",
    summary: "Sends a load to a server, as a job.",
    parameters: &[],
    body: Some(schema_of::<WantedLoad>),
    answers: &start::answers(
        "The load is not valid.",
        TARGET_REFUSED,
        "The request is JSON, but not a load.",
    ),
    route: || post(start),
}];

async fn start(State(app): State<Arc<App>>, request: Request) -> Result<Accepted, Problem> {
    let wanted: WantedLoad = start::body(request).await?;
    let load = wanted.bounded(app.most_connections).map_err(Problem::bad_input)?;
    let turn = start::turn(&app, Kind::Load).await?;
    let (addresses, turn) = start::admitted(&app, turn, load.target()).await?;
    let name = load.shown_target();
    let (sending, fail_on) = load.sending(addresses);
    start::begin(&app, turn, Kind::Load, name, move |handle, interrupt| {
        sending::sent(handle, sending, &fail_on, interrupt)
    })
}
