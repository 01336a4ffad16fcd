//! The JSON Schemas of the files that hoptax reads and writes, by name: those of inputs, that of the API, and a common one for all outputs
//! that state their `format`.

use hoptax_predict::size::graph::GraphFile;
use schemars::schema_for;
use serde_json::Value;

/// A name with the function that makes its schema.
type Named = (&'static str, fn() -> Result<Value, String>);

/// The name of the schema of outputs.
const REPORT: &str = "report";

/// All schemas.
const SCHEMAS: [Named; 5] = [
    ("study-file", || Ok(hoptax_plan::file::schema())),
    ("listeners", || Ok(hoptax_listeners::schema())),
    ("size-graph", || Ok(schema_for!(GraphFile).to_value())),
    (REPORT, || hoptax_report::schema::outputs([hoptax_supervisor::status::schema()])),
    ("openapi", || Ok(hoptax_serve::openapi())),
];

/// The names of all schemas.
pub(crate) fn names() -> Vec<&'static str> {
    SCHEMAS.iter().map(|(name, _)| *name).collect()
}

/// The schema with this name.
///
/// # Errors
/// When there is none, or outputs contradict each other.
pub(crate) fn named(name: &str) -> Result<Value, String> {
    let schema = SCHEMAS.iter().find(|(known, _)| *known == name);
    let (_, schema) = schema.ok_or_else(|| format!("`{name}` has no schema"))?;
    schema()
}

/// The place of an output in a schema, in words, by the name of its format; none if it is no output.
pub(crate) fn place_of(name: &str) -> Option<String> {
    let report = named(REPORT).ok()?;
    report["$defs"].get(name).map(|_| format!("`{name}` is in `$defs` of `hoptax generate schema {REPORT}`"))
}
