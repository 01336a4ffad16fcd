//! Pages: the history, and one for each run. They are those of `report.html`, with their document inside.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Html;
use hoptax_report::documents;
use hoptax_report::render::html;

use crate::address::Segments;
use crate::app::{App, blocking};
use crate::history::{MAX_RUNS, number};
use crate::problem::Problem;

/// The history.
pub(crate) async fn history(State(app): State<Arc<App>>) -> Result<Html<String>, Problem> {
    let page = move || {
        let (runs, all) = app.history.runs(None, MAX_RUNS)?;
        let document = documents::latest_runs(&runs, all, "`hoptax runs list --details` prints all");
        let document = document.with_pages_of_rows("/runs/");
        html::page(&document).map_err(Problem::internal)
    };
    blocking(page).await.map(Html)
}

/// The page of a run.
pub(crate) async fn run(
    State(app): State<Arc<App>>,
    Segments(run): Segments<String>,
) -> Result<Html<String>, Problem> {
    let run = number(&run).ok_or_else(|| Problem::not_found("a run is named by its number"))?;
    let page = move || html::page(&app.history.document(run)?).map_err(Problem::internal);
    blocking(page).await.map(Html)
}
