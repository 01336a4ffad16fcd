//! Bills of configurations from clients, which are jobs.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::routing::post;
use hoptax_session::Kind as FailureKind;

use super::operation::{Answer, Operation, Verb, schema_of};
use super::start::{self, ACCEPTED, Accepted, BUSY, ENDING, NOT_IN_TIME, NOT_JSON, TOO_LARGE};
use crate::app::{App, MAX_UPLOADS, blocking};
use crate::billing::{self, Dropped};
use crate::job::{Kind, cut};
use crate::metrics::Refused;
use crate::problem::Problem;
use crate::wanted::{MAX_CONFIGURATION_BYTES, WantedBill};

/// Maximum size of a request body: each byte of a configuration may take two in JSON, as a line break does.
const MAX_BODY_BYTES: usize = 2 * MAX_CONFIGURATION_BYTES + 64 * 1024;

/// Error for configurations if the server was started without bills.
const OFF: &str = "bills are disabled on this server, because a configuration can do more than the checks detect: enable them with `hoptax \
                   serve --allow-bills`, for people whom you would also give a shell on its machine";

/// The operations on bills.
pub(super) const OPERATIONS: &[Operation] = &[Operation {
    verb: Verb::Post,
    path: "/bills",
    id: "startBill",
    summary: "Measures what an Envoy configuration costs, and what each of its parts adds, as a job. Envoy runs on this machine, with \
              every address of the configuration replaced by a server of the job. A configuration that names files or contains code is \
              refused; all are refused unless the server allows bills.",
    parameters: &[],
    body: Some(schema_of::<WantedBill>),
    answers: &[
        ACCEPTED,
        Answer::error(
            400,
            "It is not a configuration, names a file or contains code, or another value is not valid.",
        ),
        Answer::error(
            403,
            "The server was not started with `--allow-bills`, or a page of another server or a proxy sent the request.",
        ),
        NOT_IN_TIME,
        BUSY,
        TOO_LARGE,
        NOT_JSON,
        Answer::error(422, "The request is JSON, but not a bill."),
        Answer::error(
            429,
            "Too many configurations are being received or wait to be read. `Retry-After` says when to ask again, in seconds.",
        ),
        ENDING,
    ],
    route: || post(start).layer(DefaultBodyLimit::max(MAX_BODY_BYTES)),
}];

async fn start(State(app): State<Arc<App>>, request: Request) -> Result<Accepted, Problem> {
    if !app.allows_bills {
        return Err(Problem::new(StatusCode::FORBIDDEN, OFF));
    }
    // Check before receiving the body, which would waste memory and a processor while a job is running.
    start::check_room(&app, Kind::Bill)?;
    let upload = app.upload().ok_or_else(|| {
        app.metrics.refused(Refused::Uploads);
        let error = format!(
            "{MAX_UPLOADS} configurations are already being received or wait to be read: try again soon"
        );
        Problem::new(StatusCode::TOO_MANY_REQUESTS, error)
    })?;
    let wanted: WantedBill = start::body(request).await?;
    let (text, priced) = wanted.bounded().map_err(Problem::bad_input)?;
    let (name, turn) = (priced.name.clone(), start::turn(&app, Kind::Bill).await?);
    // Reading continues if the client disconnects, so the permit and the turn must last until it ends.
    let (dropped, turn) = blocking(move || {
        let _upload = upload;
        let dropped = Dropped::new(&text, priced).map_err(|failure| match failure.kind {
            // Cut the text: each line of a configuration may be a problem.
            FailureKind::BadInput => Problem::bad_input(cut(&format!("`configuration`: {failure}"))),
            _ => Problem::internal(failure),
        })?;
        Ok((dropped, turn))
    })
    .await?;
    start::begin(&app, turn, Kind::Bill, name, move |handle, interrupt| {
        billing::priced(handle, &dropped, interrupt)
    })
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
    use axum::response::IntoResponse;
    use futures_util::FutureExt;
    use serde_json::json;
    use tokio::runtime::{self, Runtime};

    use super::*;
    use crate::app::now;
    use crate::app::tests::{app, no_history};

    /// A request with a text that is no configuration, so that a reading of it is seen by its error.
    fn request() -> Request {
        let body = json!({"configuration": "[]"}).to_string();
        axum::http::Request::post("/")
            .header(CONTENT_TYPE, "application/json")
            .body(Body::from(body))
            .unwrap()
    }

    fn runtime() -> Runtime {
        runtime::Builder::new_current_thread().enable_time().build().unwrap()
    }

    #[test]
    fn no_configuration_is_read_beside_a_job_that_began_while_its_request_waited() {
        let app = app(no_history());
        runtime().block_on(async {
            assert_eq!(
                start(State(Arc::clone(&app)), request()).await.unwrap_err().status,
                400,
                "it is read"
            );
            let turn = app.turn().await;
            let mut waiting = Box::pin(start(State(Arc::clone(&app)), request()));
            assert!(waiting.as_mut().now_or_never().is_none());
            app.jobs.begin(Kind::Load, "http://127.0.0.1/".to_owned(), now()).unwrap();
            drop(turn);
            assert_eq!(waiting.await.unwrap_err().status, 409);
        });
    }

    #[test]
    fn few_configurations_wait_and_the_next_is_refused_before_it_is_received() {
        let app = app(no_history());
        runtime().block_on(async {
            let turn = app.turn().await;
            let mut waiting: Vec<_> =
                (0..MAX_UPLOADS).map(|_| Box::pin(start(State(Arc::clone(&app)), request()))).collect();
            assert!(waiting.iter_mut().all(|one| one.as_mut().now_or_never().is_none()));
            // Its body never comes.
            let next = || {
                let endless =
                    Body::from_stream(futures_util::stream::pending::<Result<Vec<u8>, axum::Error>>());
                let request = axum::http::Request::post("/")
                    .header(CONTENT_TYPE, "application/json")
                    .body(endless)
                    .unwrap();
                Box::pin(start(State(Arc::clone(&app)), request))
            };
            let refused = next().as_mut().now_or_never().unwrap().unwrap_err();
            assert!(refused.error.contains("4 configurations"), "{}", refused.error);
            assert!(app.metrics_text().contains("refused_total{reason=\"uploads\"} 1"));
            let response = refused.into_response();
            assert_eq!(
                (response.status().as_u16(), &response.headers()[RETRY_AFTER]),
                (429, &"5".parse().unwrap())
            );
            // A client that leaves gives its place back, and so does one that has its answer.
            drop(waiting.pop());
            assert!(next().as_mut().now_or_never().is_none());
            drop(turn);
            for one in waiting {
                assert_eq!(one.await.unwrap_err().status, 400);
            }
            let all: Vec<_> = (0..MAX_UPLOADS).map(|_| app.upload()).collect();
            assert!(all.iter().all(Option::is_some) && app.upload().is_none());
        });
    }
}
