//! The runs of the store.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderName;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::IntoResponse;
use axum::routing::get;
use hoptax_report::document::Document;
use hoptax_report::render::{OUTPUTS, Output};
use hoptax_result::RunsResult;
use hoptax_session::export::TEXT_FORMATS;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::operation::{Answer, Content, Operation, Parameter, Verb, schema_of};
use crate::address::{Page, Query, Segments, run_of};
use crate::app::{App, blocking};
use crate::history::MAX_RUNS;
use crate::problem::Problem;

const JSON: &str = "application/json";
pub(super) const RUN: Parameter = Parameter::in_path("run", "The number of a run.", run_number);
const NO_RUN: Answer = Answer::error(404, "There is no such run, or it has no result.");
const NOT_READABLE: Answer = Answer::error(501, "Another version of hoptax wrote the result of the run.");

/// The operations on runs.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: "/runs",
        id: "listRuns",
        summary: "Runs of the store, the latest first. The next page is `before` the last run of this one.",
        parameters: &[
            Parameter::in_query(
                "limit",
                "The most runs, 500 if absent.",
                |_| json_schema!({"type": "integer", "format": "uint32", "minimum": 1, "maximum": MAX_RUNS}),
            ),
            Parameter::in_query(
                "before",
                "The number of a run: those that began before it, and none if there is no such run.",
                run_number,
            ),
        ],
        body: None,
        // The schema is inline, because the name of the format is not a valid component name.
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
        answers: &[Answer::json(200, "The document.", schema_of::<Document>), NO_RUN, NOT_READABLE],
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
            Parameter::in_path(
                "output",
                "The format, by the ending of its files.",
                |_| json_schema!({"type": "string", "enum": endings()}),
            ),
        ],
        body: None,
        answers: &[
            Answer { status: 200, description: "The run.", content: Content::Types(outputs) },
            Answer::error(404, "There is no such run or format, or the run has no result."),
            NOT_READABLE,
        ],
        route: || get(output),
    },
    Operation {
        verb: Verb::Get,
        path: "/runs/{run}/exports/{format}",
        id: "exportRun",
        summary: "The result of a load in a format of another tool, or that of a study as SMP.",
        parameters: &[
            RUN,
            Parameter::in_path(
                "format",
                "The format: JSON of Fortio, the percentiles or the log of HdrHistogram, JSON of Service Mesh Performance.",
                |_| json_schema!({"type": "string", "enum": names()}),
            ),
        ],
        body: None,
        answers: &[
            Answer {
                status: 200,
                description: "The result in this format.",
                content: Content::Types(exports),
            },
            Answer::error(404, "There is no such run or format, or the run has no result that it can state."),
            NOT_READABLE,
        ],
        route: || get(export),
    },
];

fn any_result(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "required": ["format"], "properties": {"format": {"type": "string"}}})
}

/// Numbers of runs are SQLite integers.
fn run_number(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "format": "int64", "minimum": 0})
}

/// The media types of all formats. JSON is the document itself.
fn outputs(generator: &mut SchemaGenerator) -> Vec<(&'static str, Schema)> {
    let of_output = |output: &Output| match output.media_type {
        JSON => (JSON, generator.subschema_for::<Document>()),
        text => (text, json_schema!({"type": "string"})),
    };
    OUTPUTS.iter().map(of_output).collect()
}

/// The media types of all formats of other tools, without duplicates.
fn exports(_: &mut SchemaGenerator) -> Vec<(&'static str, Schema)> {
    let of_type = |media_type: &'static str| match media_type {
        JSON => (JSON, json_schema!({"type": ["object", "array"]})),
        text => (text, json_schema!({"type": "string"})),
    };
    let types: BTreeSet<&str> = TEXT_FORMATS.iter().map(|one| one.media_type()).collect();
    types.into_iter().map(of_type).collect()
}

fn names() -> Vec<&'static str> {
    TEXT_FORMATS.iter().map(|one| one.name()).collect()
}

fn endings() -> Vec<&'static str> {
    OUTPUTS.iter().map(|output| output.extension).collect()
}

/// A text under its media type.
type Typed = ([(HeaderName, &'static str); 1], String);

/// A value as JSON. Serialisation takes place on the `blocking` thread.
pub(super) fn json(value: &impl Serialize) -> Result<Typed, Problem> {
    let text = serde_json::to_string(value).map_err(Problem::internal)?;
    Ok(([(CONTENT_TYPE, JSON)], text))
}

/// The headers of a file that a browser saves instead of displaying it.
fn file(media_type: &str, name: &str) -> [(HeaderName, String); 2] {
    let disposition = format!("attachment; filename=\"{name}\"");
    [(CONTENT_TYPE, media_type.to_owned()), (CONTENT_DISPOSITION, disposition)]
}

async fn list(State(app): State<Arc<App>>, Query(page): Query<Page>) -> Result<impl IntoResponse, Problem> {
    blocking(move || json(&app.history.runs(page.before, page.limit)?.0)).await
}

async fn document(
    State(app): State<Arc<App>>,
    Segments(run): Segments<String>,
) -> Result<impl IntoResponse, Problem> {
    let run = run_of(&run)?;
    blocking(move || json(&app.history.document(run)?)).await
}

async fn result(
    State(app): State<Arc<App>>,
    Segments(run): Segments<String>,
) -> Result<impl IntoResponse, Problem> {
    let run = run_of(&run)?;
    let text = blocking(move || app.history.result(run)).await?;
    Ok((file(JSON, &format!("run-{run}.result.json")), text))
}

async fn output(
    State(app): State<Arc<App>>,
    Segments((run, ending)): Segments<(String, String)>,
) -> Result<impl IntoResponse, Problem> {
    let run = run_of(&run)?;
    let output = OUTPUTS.iter().find(|output| output.extension == ending).ok_or_else(|| {
        Problem::not_found(format!("the formats of a run are {}, and `result`", endings().join(", ")))
    })?;
    let text = move || (output.text)(&app.history.document(run)?).map_err(Problem::internal);
    Ok((file(output.media_type, &format!("run-{run}.{ending}")), blocking(text).await?))
}

async fn export(
    State(app): State<Arc<App>>,
    Segments((run, format)): Segments<(String, String)>,
) -> Result<impl IntoResponse, Problem> {
    let run = run_of(&run)?;
    let format = TEXT_FORMATS.iter().copied().find(|one| one.name() == format).ok_or_else(|| {
        Problem::not_found(format!("the formats of other tools are {}", names().join(", ")))
    })?;
    let name = format!("run-{run}.{}", format.extension());
    Ok((file(format.media_type(), &name), blocking(move || app.history.exported(run, format)).await?))
}
