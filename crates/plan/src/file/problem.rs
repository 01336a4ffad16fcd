//! Problems of a study file with their positions, reported all at once.

use std::fmt;

/// A problem at a position in the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Line, from 1; 0 when the problem has no position.
    pub line: u64,
    /// Column, from 1; 0 when the problem has no position.
    pub column: u64,
    /// The fault, and how to correct it.
    pub message: String,
}

/// All problems of one file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problems {
    /// The name of the file, as the caller gave it; none if no user wrote it.
    pub file: Option<String>,
    /// The problems, sorted by position.
    pub problems: Vec<Problem>,
}

impl Problems {
    /// The problems of `file`, sorted by position.
    pub fn new(file: &str, problems: Vec<Problem>) -> Self {
        Self { file: Some(file.to_owned()), ..Self::of_made(problems) }
    }

    /// The problems of a file that no user wrote.
    pub(super) fn of_made(mut problems: Vec<Problem>) -> Self {
        problems.sort();
        problems.dedup();
        Self { file: None, problems }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            if let Some(file) = &self.file {
                write!(f, "{file}:")?;
                if problem.line > 0 {
                    write!(f, "{}:{}:", problem.line, problem.column)?;
                }
                f.write_str(" ")?;
            }
            f.write_str(&problem.message)?;
        }
        Ok(())
    }
}
