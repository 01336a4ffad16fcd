//! Problems of a file, with their positions; all are reported at once.

use std::fmt;

/// Problem at a position of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The name of the file.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1; 0 if only the line is known.
    pub column: u64,
    /// The problem, and how to correct it.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:", self.file, self.line)?;
        if self.column > 0 {
            write!(f, "{}:", self.column)?;
        }
        write!(f, " {}", self.message)
    }
}

/// All problems, by position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problems(pub Vec<Problem>);

/// Maximum number of reported problems. For a generated file with thousands, a few suffice.
const MOST: usize = 100;

impl Problems {
    pub(crate) fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort();
        problems.dedup();
        Self(problems)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().take(MOST).enumerate() {
            let separator = if index > 0 { "\n" } else { "" };
            write!(f, "{separator}{problem}")?;
        }
        match self.0.len().saturating_sub(MOST) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}
