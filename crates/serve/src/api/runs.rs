//! The runs of the store.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use hoptax_report::document::Document;
use hoptax_report::render::OUTPUTS;
use hoptax_result::RunsResult;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::operation::{Answer, Operation, Parameter, Verb, of};
use crate::app::{App, blocking};
use crate::history::number;
use crate::problem::Problem;

const RUN: Parameter = Parameter::number("run", "The number of a run.");
const NO_RUN: Answer = Answer::error(404, "There is no such run, or it has no result.");

/// The operations on runs.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: "/runs",
        id: "listRuns",
        summary: "The runs of the store, the latest first.",
        parameters: &[],
        body: None,
        // In place: the name of its format is none that a component may have.
        answers: &[Answer::json(
            200,
            "The runs, as `hoptax runs list --json` prints them.",
            RunsResult::json_schema,
        )],
        route: || get(list),
    },
    Operation {
        verb: Verb::Get,
        path: "/runs/{run}",
        id: "showRun",
        summary: "A run as a document: the answer, tables, findings, charts.",
        parameters: &[RUN],
        body: None,
        answers: &[Answer::json(200, "The document.", of::<Document>), NO_RUN],
        route: || get(document),
    },
    Operation {
        verb: Verb::Get,
        path: "/runs/{run}/result",
        id: "downloadResult",
        summary: "The result of a run, as it is stored.",
        parameters: &[RUN],
        body: None,
        answers: &[Answer::json(200, "The result. Its format is in its field `format`.", any_result), NO_RUN],
        route: || get(result),
    },
    Operation {
        verb: Verb::Get,
        path: "/runs/{run}/{output}",
        id: "downloadRun",
        summary: "A run in a format for other programs and for people.",
        parameters: &[
            RUN,
            Parameter {
                name: "output",
                description: "The format, by the ending of its files.",
                schema: |_| json_schema!({"type": "string", "enum": endings()}),
            },
        ],
        body: None,
        answers: &[
            Answer {
                status: 200,
                description: "The run.",
                content: "*/*",
                schema: |_| json_schema!({"type": "string"}),
            },
            Answer::error(404, "There is no such run or format, or the run has no result."),
        ],
        route: || get(output),
    },
];

fn any_result(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "required": ["format"], "properties": {"format": {"type": "string"}}})
}

fn endings() -> Vec<&'static str> {
    OUTPUTS.iter().map(|output| output.extension).collect()
}

fn run_of(text: &str) -> Result<i64, Problem> {
    number(text).ok_or_else(|| Problem::not_found("a run is named by its number"))
}

async fn list(State(app): State<Arc<App>>) -> Result<Json<RunsResult>, Problem> {
    blocking(move || app.history.runs()).await.map(Json)
}

async fn document(State(app): State<Arc<App>>, Path(run): Path<String>) -> Result<Json<Document>, Problem> {
    let run = run_of(&run)?;
    blocking(move || app.history.document(run)).await.map(Json)
}

async fn result(State(app): State<Arc<App>>, Path(run): Path<String>) -> Result<impl IntoResponse, Problem> {
    let run = run_of(&run)?;
    let text = blocking(move || app.history.result(run)).await?;
    Ok(([(CONTENT_TYPE, "application/json")], text))
}

async fn output(
    State(app): State<Arc<App>>,
    Path((run, ending)): Path<(String, String)>,
) -> Result<impl IntoResponse, Problem> {
    let run = run_of(&run)?;
    let output = OUTPUTS.iter().find(|output| output.extension == ending).ok_or_else(|| {
        Problem::not_found(format!("the formats of a run are {}, and `result`", endings().join(", ")))
    })?;
    let text = move || (output.text)(&app.history.document(run)?).map_err(Problem::internal);
    Ok(([(CONTENT_TYPE, output.media_type)], blocking(text).await?))
}
