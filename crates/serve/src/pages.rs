//! Pages: the history, one for each run, and comparisons of runs. Each is `report.html` with its document and the address of the API. A
//! browser that requests a page that does not exist gets the history with the reason.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, CONTENT_SECURITY_POLICY};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use hoptax_report::document::Document;
use hoptax_report::documents;
use hoptax_report::render::OUTPUTS;
use hoptax_report::render::html::{self, Served};
use hoptax_result::RunsResult;

use crate::address::{Query, Segments, run_of};
use crate::api::BASE;
use crate::app::{App, blocking};
use crate::chosen::Chosen;
use crate::history::{MAX_RUNS, PageOfRun};
use crate::policy;
use crate::problem::{ErrorText, Problem};

/// How to see the runs that a page leaves out of its list.
const REST: &str = "`hoptax runs list --details` prints all";

/// A page with a policy that lets it send requests to this server.
type Page = ([(HeaderName, HeaderValue); 1], Html<String>);

/// The settings that all pages get.
fn page_context(app: &App) -> Served<'static> {
    Served {
        api: BASE,
        allows_bills: app.allows_bills,
        run: None,
        outputs: &[],
        exports: &[],
        again: None,
        before: None,
        compared: &[],
        newest: None,
    }
}

/// The history.
pub(crate) async fn history(State(app): State<Arc<App>>) -> Result<Page, Problem> {
    let page = move || {
        let (runs, all) = app.history.runs(None, MAX_RUNS)?;
        let document = documents::latest_runs(&runs, all, REST);
        shown_list(document, &runs, &app)
    };
    blocking(page).await
}

/// The page of a run.
pub(crate) async fn run(
    State(app): State<Arc<App>>,
    Segments(run): Segments<String>,
) -> Result<Page, Problem> {
    let run = run_of(&run)?;
    let page = move || {
        let PageOfRun { document, formats, again, before } = app.history.page(run)?;
        let outputs: Vec<(&str, &str)> = OUTPUTS.iter().map(|one| (one.extension, one.name)).collect();
        let exports: Vec<&str> = formats.iter().map(|one| one.name()).collect();
        let (outputs, exports, again) = (outputs.as_slice(), exports.as_slice(), again.as_deref());
        let before = before.as_ref().map(|before| (before.run, before.started_at.as_str()));
        shown(&document, Served { run: Some(run), outputs, exports, again, before, ..page_context(&app) })
    };
    blocking(page).await
}

/// The page that compares runs.
pub(crate) async fn compare(
    State(app): State<Arc<App>>,
    Query(chosen): Query<Chosen>,
) -> Result<Page, Problem> {
    let turn = app.comparison().await;
    let page = move || {
        // The comparison continues if the client disconnects, so the next one must wait for it.
        let _turn = turn;
        shown(&chosen.document(&app.history)?, Served { compared: chosen.runs(), ..page_context(&app) })
    };
    blocking(page).await
}

/// Shows a browser the history with the error. Other programs, and all requests below `/api`, get errors as JSON.
pub(crate) async fn for_people(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let is_of_people =
        request.method() == Method::GET && is_page(request.uri().path()) && wants_page(&request);
    let response = next.run(request).await;
    let status = response.status();
    // Not for a fault of the store, which the history would hit again.
    let is_shown = is_of_people && (status.is_client_error() || status == StatusCode::NOT_IMPLEMENTED);
    let Some(ErrorText(why)) = response.extensions().get::<ErrorText>().filter(|_| is_shown).cloned() else {
        return response;
    };
    let page = move || {
        let (runs, all) = app.history.runs(None, MAX_RUNS)?;
        let document = documents::runs_instead(&why, &runs, all, REST);
        shown_list(document, &runs, &app)
    };
    match blocking(page).await {
        Ok(page) => (status, page).into_response(),
        Err(_) => response,
    }
}

fn is_page(path: &str) -> bool {
    path != "/api" && !path.starts_with("/api/")
}

/// True for a browser that navigates; its scripts and other programs accept any media type.
fn wants_page(request: &Request) -> bool {
    let accepted = request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|one| {
        let medium = one.split(';').next().unwrap_or_default();
        medium.trim().eq_ignore_ascii_case("text/html")
    })
}

/// A list of runs, with links to their pages and to the newest.
fn shown_list(document: Document, runs: &RunsResult, app: &App) -> Result<Page, Problem> {
    let newest = documents::newest_run(runs).map(|newest| newest.run);
    shown(&document.with_pages_of_rows("/runs/"), Served { newest, ..page_context(app) })
}

fn shown(document: &Document, served: Served<'_>) -> Result<Page, Problem> {
    let page = html::served_page(document, served).map_err(Problem::internal)?;
    Ok(([(CONTENT_SECURITY_POLICY, policy::of_pages())], Html(page)))
}
