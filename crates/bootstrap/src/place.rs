//! Places in the user's files, and problems with them.

use std::fmt;

/// A place in a file of the user.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file, as the user named it.
    pub file: String,
    /// Line, from 1; 0 if the file is JSON in one line, where the pointer is more useful, or if the place is not a node.
    pub line: u64,
    /// Column in that line, in characters from 1; 0 if it is not known.
    pub column: u64,
    /// JSON pointer of the node in the file.
    pub pointer: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.pointer.as_str()) {
            (0, "") => f.write_str(&self.file),
            (0, pointer) => write!(f, "{} {pointer}", self.file),
            (line, _) => write!(f, "{}:{line}", self.file),
        }
    }
}

/// A problem at a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The place.
    pub place: Place,
    /// The problem and the advice. It quotes no values, because they may be secret.
    pub message: String,
}

/// All problems of a configuration, sorted by place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Sorts problems by place.
    pub fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort();
        problems.dedup();
        Self(problems)
    }

    /// These problems and further ones.
    pub(crate) fn joined(self, more: Option<Self>) -> Self {
        Self::new(self.0.into_iter().chain(more.into_iter().flat_map(|more| more.0)).collect())
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let end = if index == 0 { "" } else { "\n" };
            write!(f, "{end}{}: {}", problem.place, problem.message)?;
        }
        Ok(())
    }
}
