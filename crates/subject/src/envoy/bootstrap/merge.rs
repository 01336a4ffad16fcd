//! Merging a fragment into the messages of a plain proxy without overwriting anything unsaid.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value};

/// A message with a fragment's part merged in.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Merged(Map<String, Value>);

/// Why a plan has no bootstrap.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A proxy has nowhere to send requests.
    #[error("cannot make Envoy's bootstrap: the plan names no origin")]
    NoOrigin,
    /// The fragment sets a field that the plain proxy sets otherwise.
    #[error(
        "the fragment sets `{path}` to {wanted}, but the plain proxy sets it to {plain}: \
         add `{path}` to `replaces` if that is meant"
    )]
    Conflict {
        /// The field, a dotted path that begins with its place in the fragment.
        path: String,
        /// The plain proxy's value.
        plain: String,
        /// The fragment's value.
        wanted: String,
    },
    /// The fragment claims to replace what it does not.
    #[error("the fragment says that it replaces `{0}`, but nothing is replaced there: remove the line")]
    NothingReplaced(String),
    /// A message of this module is no JSON object.
    #[error("cannot write `{place}` of Envoy's bootstrap: {source}")]
    Serialise {
        /// The place in the bootstrap.
        place: &'static str,
        /// What the serialiser says.
        source: serde_json::Error,
    },
}

/// The merging of one fragment: what it may replace, and what it has replaced.
pub(super) struct Merge<'a> {
    replaces: &'a [String],
    replaced: BTreeSet<&'a str>,
}

impl<'a> Merge<'a> {
    pub(super) fn new(replaces: &'a [String]) -> Self {
        Self { replaces, replaced: BTreeSet::new() }
    }

    /// The message `plain` with `part` merged in. Maps are merged key by key; anything else that both have must be
    /// equal or said to be replaced; `null` takes away what is there.
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

    /// Checks that everything that was to be replaced has been.
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
                    let Some(said) = self.replaces.iter().find(|said| **said == path) else {
                        return Err(MergeError::Conflict {
                            path,
                            plain: plain.to_string(),
                            wanted: wanted.to_string(),
                        });
                    };
                    self.replaced.insert(said);
                    if wanted.is_null() {
                        removed.push(key.clone());
                    } else {
                        *plain = wanted.clone();
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

/// A message as the JSON object that it is written as.
pub(super) fn object<T: Serialize>(
    place: &'static str,
    message: &T,
) -> Result<Map<String, Value>, MergeError> {
    serde_json::to_value(message)
        .and_then(serde_json::from_value)
        .map_err(|source| MergeError::Serialise { place, source })
}
