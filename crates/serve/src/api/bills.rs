//! Bills of configurations that are sent, which are jobs.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::routing::post;
use hoptax_session::Kind as FailureKind;

use super::operation::{Operation, Verb, of};
use super::start::{self, Begun};
use crate::app::{App, blocking};
use crate::billing::{self, Dropped};
use crate::job::{Kind, cut};
use crate::problem::Problem;
use crate::wanted::{MAX_CONFIGURATION_BYTES, WantedBill};

/// The largest body of a request: each byte of a configuration may take two in JSON, as a line break does.
const MAX_BODY_BYTES: usize = 2 * MAX_CONFIGURATION_BYTES + 64 * 1024;

/// Why configurations are refused unless the server was started for them.
const OFF: &str = "bills are off on this server, because a configuration may do more than its checks know: allow them with \
     `hoptax serve --allow-bills` to people who might as well have a shell on its machine";

/// The operations on bills.
pub(super) const OPERATIONS: &[Operation] = &[Operation {
    verb: Verb::Post,
    path: "/bills",
    id: "startBill",
    summary: "Measures what an Envoy configuration costs, and what each of its parts adds, as a job. Envoy runs on this machine, with every \
              address of the configuration led to servers of the job. A configuration that names files or brings code is refused; all \
              are refused unless the server allows bills.",
    parameters: &[],
    body: Some(of::<WantedBill>),
    answers: &start::answers(
        "It is no configuration, names a file or brings code, or another value is not valid.",
        "The server was not started with `--allow-bills`, or a page of another server or a proxy sent the request.",
        "The request is JSON, but no bill.",
    ),
    route: || post(start).layer(DefaultBodyLimit::max(MAX_BODY_BYTES)),
}];

async fn start(State(app): State<Arc<App>>, request: Request) -> Result<Begun, Problem> {
    if !app.allows_bills {
        return Err(Problem::new(StatusCode::FORBIDDEN, OFF));
    }
    let wanted: WantedBill = start::body(request).await?;
    let (text, priced) = wanted.bounded().map_err(Problem::bad_input)?;
    start::room(&app)?;
    let (name, turn) = (priced.name.clone(), app.turn().await);
    let dropped = blocking(move || {
        let _turn = turn;
        Dropped::new(&text, priced).map_err(|failure| match failure.kind {
            // Each line of a configuration may be a problem.
            FailureKind::BadInput => Problem::bad_input(cut(&format!("`configuration`: {failure}"))),
            _ => Problem::internal(failure),
        })
    })
    .await?;
    start::begin(&app, Kind::Bill, name, move |of_job, interrupt| {
        billing::priced(of_job, &dropped, interrupt)
    })
}
