//! Loads, which are jobs.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::routing::post;

use super::operation::{Answer, Operation, Verb, of};
use super::start::{self, BEGUN, BUSY, Begun, ENDING, NOT_IN_TIME, NOT_JSON, TOO_LARGE};
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
    body: Some(of::<WantedLoad>),
    answers: &[
        BEGUN,
        Answer::error(400, "The load is not valid."),
        Answer::error(
            403,
            "Its target is not allowed, or a page of another server or a proxy sent the request.",
        ),
        NOT_IN_TIME,
        BUSY,
        TOO_LARGE,
        NOT_JSON,
        Answer::error(422, "The request is JSON, but no load."),
        ENDING,
    ],
    route: || post(start),
}];

async fn start(State(app): State<Arc<App>>, request: Request) -> Result<Begun, Problem> {
    let wanted: WantedLoad = start::body(request).await?;
    let load = wanted.bounded(app.most_connections).map_err(Problem::bad_input)?;
    let turn = start::turn(&app).await?;
    let (addresses, turn) = start::admitted(&app, turn, load.target()).await?;
    let name = load.shown_target();
    let sending = load.sending(addresses);
    start::begin(&app, turn, Kind::Load, name, move |of_job, interrupt| {
        sending::sent(of_job, &sending, interrupt)
    })
}
