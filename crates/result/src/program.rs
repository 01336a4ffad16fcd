//! The program that made a result.

use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A build of hoptax.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Version of hoptax.
    pub version: String,
    /// The git commit that it was built from, with `-dirty` appended if files had been changed; null for a development build, and
    /// without git.
    pub commit: Option<String>,
}

/// The commit of this process. Only the executable knows it: compiled into this crate, each commit would compile all crates again.
static COMMIT: OnceLock<&str> = OnceLock::new();

impl Program {
    /// The program that runs.
    pub fn this() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: COMMIT.get().map(|commit| (*commit).to_owned()),
        }
    }

    /// True for a version of hoptax that is newer than the program that runs. A pre-release counts as its release; a text that is no
    /// version is not newer.
    pub(crate) fn is_newer(version: &str) -> bool {
        let numbers = |version: &str| -> Option<Vec<u64>> {
            let release = version.split(['-', '+']).next()?;
            release.split('.').map(|number| number.parse().ok()).collect()
        };
        numbers(version).zip(numbers(env!("CARGO_PKG_VERSION"))).is_some_and(|(theirs, ours)| theirs > ours)
    }

    /// States the commit that this program was built from. A program does it once, when it starts.
    pub fn set_commit(commit: Option<&'static str>) {
        if let Some(commit) = commit {
            // A second call would state the same.
            let _ = COMMIT.set(commit);
        }
    }
}
