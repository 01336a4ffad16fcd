//! Merges a fragment into the messages of a plain proxy. Overriding a field requires an explicit `replaces`.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value};

/// A message with a fragment merged in.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Merged(Map<String, Value>);

/// Reason why a plan has no valid bootstrap.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The plan has no origin.
    #[error("cannot build Envoy's bootstrap: the plan has no origin")]
    NoOrigin,
    /// The fragment sets a field to another value than the plain proxy.
    #[error(
        "the fragment sets `{path}` to {wanted}, but the plain proxy sets it to {plain}: \
         add `{path}` to `replaces` if that is intended"
    )]
    Conflict {
        /// The field, as a dotted path that begins with its place in the fragment.
        path: String,
        /// The plain proxy's value.
        plain: String,
        /// The fragment's value.
        wanted: String,
    },
    /// The fragment lists a field in `replaces` that it does not override.
    #[error("the fragment replaces `{0}`, but nothing is replaced there: remove the line")]
    NothingReplaced(String),
    /// A message of this module does not serialise to a JSON object.
    #[error("cannot write `{place}` of Envoy's bootstrap: {source}")]
    Serialise {
        /// The place in the bootstrap.
        place: &'static str,
        /// The serialiser's error.
        source: serde_json::Error,
    },
}

/// The merge of one fragment: the fields that it may override, and those that it has overridden.
pub(super) struct Merge<'a> {
    replaces: &'a [String],
    replaced: BTreeSet<&'a str>,
}

impl<'a> Merge<'a> {
    pub(super) fn new(replaces: &'a [String]) -> Self {
        Self { replaces, replaced: BTreeSet::new() }
    }

    /// Merges `part` into `plain`. Maps are merged key by key, and so are lists of one map each; any other value present in
    /// both must be equal or listed in `replaces`; `null` removes a value.
    pub(super) fn extend<T: Serialize>(
        &mut self,
        place: &'static str,
        plain: &T,
        part: &Map<String, Value>,
    ) -> Result<Merged, MergeError> {
        let mut message = object(place, plain)?;
        self.merge(place, &mut message, part)?;
        Ok(Merged(message))
    }

    /// Checks that everything listed in `replaces` was overridden.
    pub(super) fn finish(self) -> Result<(), MergeError> {
        let unused = self.replaces.iter().find(|path| !self.replaced.contains(path.as_str()));
        unused.map_or(Ok(()), |path| Err(MergeError::NothingReplaced(path.clone())))
    }

    fn merge(
        &mut self,
        path: &str,
        message: &mut Map<String, Value>,
        part: &Map<String, Value>,
    ) -> Result<(), MergeError> {
        let mut removed = Vec::new();
        for (key, wanted) in part {
            let path = format!("{path}.{key}");
            match (message.get_mut(key), wanted) {
                (None, wanted) => {
                    message.insert(key.clone(), wanted.clone());
                }
                (Some(plain), wanted) if plain == wanted => {}
                (Some(Value::Object(plain)), Value::Object(wanted)) => self.merge(&path, plain, wanted)?,
                (Some(plain), wanted) => {
                    let stated = self.replaces.iter().find(|stated| **stated == path);
                    if let Some(stated) = stated {
                        self.replaced.insert(stated);
                        if wanted.is_null() {
                            removed.push(key.clone());
                        } else {
                            *plain = wanted.clone();
                        }
                    } else if let (Some(plain), Some(wanted)) = (only_map_mut(plain), only_map(wanted)) {
                        self.merge(&path, plain, wanted)?;
                    } else {
                        return Err(MergeError::Conflict {
                            path,
                            plain: plain.to_string(),
                            wanted: wanted.to_string(),
                        });
                    }
                }
            }
        }
        for key in removed {
            message.remove(&key);
        }
        Ok(())
    }
}

/// The map of a list that has no other member; none for other values.
fn only_map(value: &Value) -> Option<&Map<String, Value>> {
    match value.as_array()?.as_slice() {
        [Value::Object(only)] => Some(only),
        _ => None,
    }
}

/// The same, to change it.
fn only_map_mut(value: &mut Value) -> Option<&mut Map<String, Value>> {
    match value.as_array_mut()?.as_mut_slice() {
        [Value::Object(only)] => Some(only),
        _ => None,
    }
}

/// Serialises a message to a JSON object.
pub(super) fn object<T: Serialize>(
    place: &'static str,
    message: &T,
) -> Result<Map<String, Value>, MergeError> {
    serde_json::to_value(message)
        .and_then(serde_json::from_value)
        .map_err(|source| MergeError::Serialise { place, source })
}
