//! Results of hoptax in labels of SMP, so that nothing is lost: one label for each member of the result, with its JSON.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{Context, SHA256};
use hoptax_result::{Body, Report};
use serde::Serialize;
use serde_json::{Map, Value};

/// The beginning of the names of these labels.
const PREFIX: &str = "hoptax/";

/// The labels of a result.
pub(crate) fn labels(result: &impl Serialize) -> BTreeMap<String, String> {
    // Results are structs of texts and numbers, so this cannot fail.
    let Ok(Value::Object(members)) = serde_json::to_value(result) else { return BTreeMap::new() };
    members.into_iter().map(|(name, value)| (format!("{PREFIX}{name}"), value.to_string())).collect()
}

/// The format of the result in labels; none without one.
pub(crate) fn format(labels: &BTreeMap<String, String>) -> Option<String> {
    serde_json::from_str(labels.get(&format!("{PREFIX}format"))?).ok()
}

/// The result in labels.
///
/// # Errors
/// When a label was changed so that it is no longer a result: the reason.
pub(crate) fn result<T: Body>(labels: &BTreeMap<String, String>) -> Result<Report<T>, String> {
    let mut members = Map::new();
    for (label, text) in labels {
        let Some(name) = label.strip_prefix(PREFIX) else { continue };
        let value: Value = serde_json::from_str(text)
            .map_err(|error| format!("the label `{label}` is no longer JSON: {error}"))?;
        members.insert(name.to_owned(), value);
    }
    Report::from_fields(members).map_err(|error| {
        format!("its labels `{PREFIX}...` are not a result of this version of hoptax: {error}")
    })
}

/// An id that depends on the result alone.
pub(crate) fn id(labels: &BTreeMap<String, String>) -> String {
    let mut hash = Context::new(&SHA256);
    for (name, text) in labels {
        for part in [name, text] {
            hash.update(&part.len().to_le_bytes());
            hash.update(part.as_bytes());
        }
    }
    let hex: String = hash.finish().as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("hoptax-{hex}")
}
