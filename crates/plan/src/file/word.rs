//! The schema of entries that are one of a few words.

use schemars::{Schema, json_schema};
use serde_json::{Value, json};

/// The schema of an entry that is one of these words, each with its description.
pub(super) fn one_of_words<'a>(words: impl Iterator<Item = (&'a str, &'a str)>) -> Schema {
    let word = |(word, title)| json!({"const": word, "description": title, "type": "string"});
    json_schema!({"oneOf": words.map(word).collect::<Vec<Value>>()})
}
