//! Reads results of `hoptax load`.

use std::path::Path;
use std::{fs, io};

use hoptax_result::LoadResult;
use serde_json::Value;

/// Why a file has no result. The text follows its name.
#[derive(Debug)]
pub(super) enum NoResult {
    /// It is missing, or its end is.
    Lost(String),
    /// It is a file of another kind, or cannot be read.
    Other(String),
}

/// Reads a result.
pub(super) fn read(path: &Path) -> Result<LoadResult, NoResult> {
    let text = fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => NoResult::Lost("the file does not exist".to_owned()),
        _ => NoResult::Other(format!("cannot be read: {error}")),
    })?;
    let value: Value = serde_json::from_str(&text).map_err(|error| {
        if error.is_eof() {
            NoResult::Lost(format!("its end is missing: {error}"))
        } else {
            NoResult::Other(format!("is not JSON: {error}"))
        }
    })?;
    let format = value.get("format").and_then(Value::as_str);
    if format != Some(LoadResult::FORMAT) {
        let found = format.map_or_else(|| "another JSON file".to_owned(), |format| format!("`{format}`"));
        return Err(NoResult::Other(format!("is {found}, not a result of `hoptax load --json`")));
    }
    serde_json::from_value(value)
        .map_err(|error| NoResult::Other(format!("is not a result of this version of hoptax: {error}")))
}
