//! Pages: the history, and one for each run. They are those of `report.html`, with their document inside.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Html;
use hoptax_report::documents;
use hoptax_report::render::html;

use crate::app::{App, blocking};
use crate::history::number;
use crate::problem::Problem;

/// The most runs on the page of the history. A page of more would open slowly; `hoptax runs list` and the API have all.
const MAX_RUNS: usize = 500;

/// The history.
pub(crate) async fn history(State(app): State<Arc<App>>) -> Result<Html<String>, Problem> {
    let page = move || {
        let document = documents::runs(&app.history.runs()?).with_pages_of_rows("/runs/");
        let document = document.with_first_rows(MAX_RUNS, "`hoptax runs list --details` prints all");
        html::page(&document).map_err(Problem::internal)
    };
    blocking(page).await.map(Html)
}

/// The page of a run.
pub(crate) async fn run(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
) -> Result<Html<String>, Problem> {
    let run = number(&run).ok_or_else(|| Problem::not_found("a run is named by its number"))?;
    let page = move || html::page(&app.history.document(run)?).map_err(Problem::internal);
    blocking(page).await.map(Html)
}
