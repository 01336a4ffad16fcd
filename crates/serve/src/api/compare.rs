//! Runs of the store beside each other.

use std::sync::Arc;

use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::get;
use hoptax_report::document::Document;
use hoptax_report::documents::MOST_OVERLAID;
use schemars::{Schema, SchemaGenerator, json_schema};

use super::operation::{Answer, Operation, Parameter, Verb, schema_of};
use super::runs::json;
use crate::address::Query;
use crate::app::{App, blocking};
use crate::chosen::{Chosen, FEWEST};
use crate::problem::Problem;

/// The operations on several runs.
pub(super) const OPERATIONS: &[Operation] = &[Operation {
    verb: Verb::Get,
    path: "/compare",
    id: "compareRuns",
    summary: "Runs as one document: their numbers, the differences from the first run with decisions, and what else differs.",
    parameters: &[Parameter::in_required_query(
        "runs",
        "The numbers of the runs, with commas between them. The others are compared with the first.",
        run_numbers,
    )],
    body: None,
    answers: &[
        Answer::json(200, "The document.", schema_of::<Document>),
        Answer::error(
            400,
            "`runs` are not different numbers of runs, or too few or too many, or their results have more than 32 MiB together.",
        ),
        Answer::error(404, "One of the runs does not exist, or has no result."),
        Answer::error(501, "Another version of hoptax wrote the result of one of the runs."),
    ],
    route: || get(compare),
}];

fn run_numbers(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {"type": "integer", "format": "int64", "minimum": 0},
        "minItems": FEWEST,
        "maxItems": MOST_OVERLAID,
        "uniqueItems": true,
    })
}

async fn compare(
    State(app): State<Arc<App>>,
    Query(chosen): Query<Chosen>,
) -> Result<impl IntoResponse, Problem> {
    let turn = app.comparison().await;
    blocking(move || {
        // The comparison continues if the client disconnects, so the next one must wait for it.
        let _turn = turn;
        json(&chosen.document(&app.history)?)
    })
    .await
}
