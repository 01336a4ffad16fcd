//! Pages: the history, one for each run, and runs beside each other. They are those of `report.html`, with their document inside, and are
//! told where the API is.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Html;
use hoptax_report::document::Document;
use hoptax_report::documents;
use hoptax_report::render::html::{self, Served};

use crate::address::{Query, Segments, run_of};
use crate::api::BASE;
use crate::app::{App, blocking};
use crate::chosen::Chosen;
use crate::history::MAX_RUNS;
use crate::policy;
use crate::problem::Problem;

/// A page, under a policy that lets it ask this server.
type Page = ([(HeaderName, HeaderValue); 1], Html<String>);

/// What every page is told.
fn told(app: &App) -> Served<'static> {
    Served { api: BASE, allows_bills: app.allows_bills, run: None, compared: &[] }
}

/// The history.
pub(crate) async fn history(State(app): State<Arc<App>>) -> Result<Page, Problem> {
    let page = move || {
        let (runs, all) = app.history.runs(None, MAX_RUNS)?;
        let document = documents::latest_runs(&runs, all, "`hoptax runs list --details` prints all");
        shown(&document.with_pages_of_rows("/runs/"), told(&app))
    };
    blocking(page).await
}

/// The page of a run.
pub(crate) async fn run(
    State(app): State<Arc<App>>,
    Segments(run): Segments<String>,
) -> Result<Page, Problem> {
    let run = run_of(&run)?;
    blocking(move || shown(&app.history.document(run)?, Served { run: Some(run), ..told(&app) })).await
}

/// The page of runs beside each other.
pub(crate) async fn compare(
    State(app): State<Arc<App>>,
    Query(chosen): Query<Chosen>,
) -> Result<Page, Problem> {
    let turn = app.comparison().await;
    let page = move || {
        // A client that leaves ends no comparison, so the next one waits for this, too.
        let _turn = turn;
        shown(&chosen.document(&app.history)?, Served { compared: chosen.runs(), ..told(&app) })
    };
    blocking(page).await
}

fn shown(document: &Document, served: Served<'_>) -> Result<Page, Problem> {
    let page = html::served_page(document, served).map_err(Problem::internal)?;
    Ok(([(CONTENT_SECURITY_POLICY, policy::of_pages())], Html(page)))
}
