//! Merges a fragment into the messages of a plain proxy. Overriding a field requires an explicit `replaces`.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

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
}

/// The merge of one fragment: the fields that it may override, and those that it has overridden so far.
pub(super) struct Merge<'a> {
    replaces: &'a [String],
    replaced: BTreeSet<&'a str>,
}

impl<'a> Merge<'a> {
    pub(super) fn new(replaces: &'a [String]) -> Self {
        Self { replaces, replaced: BTreeSet::new() }
    }

    /// Merges `part` into the message `plain`. Maps are merged key by key, and so are lists of one map each; any other value present in
    /// both must be equal or listed in `replaces`; `null` removes a value.
    pub(super) fn extend(
        &mut self,
        place: &str,
        mut plain: Value,
        part: &Map<String, Value>,
    ) -> Result<Value, MergeError> {
        self.merge(place, &mut plain, part)?;
        Ok(plain)
    }

    /// Checks that everything listed in `replaces` was overridden.
    pub(super) fn finish(self) -> Result<(), MergeError> {
        let unused = self.replaces.iter().find(|path| !self.replaced.contains(path.as_str()));
        unused.map_or(Ok(()), |path| Err(MergeError::NothingReplaced(path.clone())))
    }

    fn merge(
        &mut self,
        path: &str,
        message: &mut Value,
        part: &Map<String, Value>,
    ) -> Result<(), MergeError> {
        let mut removed = Vec::new();
        for (key, wanted) in part {
            let path = format!("{path}.{key}");
            match (message.get_mut(key), wanted) {
                (None, wanted) => message[key] = wanted.clone(),
                (Some(plain), wanted) if plain == wanted => {}
                (Some(plain @ Value::Object(_)), Value::Object(wanted)) => {
                    self.merge(&path, plain, wanted)?;
                }
                (Some(plain), wanted) => {
                    let stated = self.replaces.iter().find(|stated| **stated == path);
                    if let Some(stated) = stated {
                        self.replaced.insert(stated);
                        if wanted.is_null() {
                            removed.push(key);
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
        if let Some(fields) = message.as_object_mut() {
            fields.retain(|key, _| !removed.contains(&key));
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

/// Like [`only_map`], mutable.
fn only_map_mut(value: &mut Value) -> Option<&mut Value> {
    match value.as_array_mut()?.as_mut_slice() {
        [only @ Value::Object(_)] => Some(only),
        _ => None,
    }
}
