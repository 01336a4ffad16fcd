//! The JSON Schemas of the files that hoptax reads and writes, by name: those of inputs, and that of each kind of result.

use hoptax_predict::size::graph::GraphFile;
use hoptax_report::documents::KINDS;
use hoptax_result::LoadInterval;
use serde_json::Value;

/// A name with the function that makes its schema.
type Named = (&'static str, fn() -> Value);

/// Files that are no results.
const FILES: [Named; 7] = [
    ("study-file", hoptax_plan::file::schema),
    ("listeners", hoptax_listeners::schema),
    ("listeners-status", hoptax_supervisor::status::schema),
    ("document", hoptax_report::document::schema),
    ("openapi", hoptax_serve::openapi),
    ("load-interval", || schemars::schema_for!(LoadInterval).to_value()),
    ("size-graph", || schemars::schema_for!(GraphFile).to_value()),
];

/// The names of all schemas.
pub(crate) fn names() -> Vec<&'static str> {
    FILES.iter().map(|(name, _)| *name).chain(KINDS.iter().map(|kind| kind.name)).collect()
}

/// The schema with this name; none if no file or result has it.
pub(crate) fn named(name: &str) -> Option<Value> {
    let of_file = || FILES.iter().find(|(file, _)| *file == name).map(|(_, schema)| schema());
    let of_kind = || KINDS.iter().find(|kind| kind.name == name).map(|kind| (kind.schema)().to_value());
    of_file().or_else(of_kind)
}
