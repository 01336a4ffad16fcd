//! What is wrong with a study file: each problem at its place, all at once.

use std::fmt;

/// One problem at its place in the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Line, from 1; 0 when it concerns no place.
    pub line: u64,
    /// Column, from 1; 0 when it concerns no place.
    pub column: u64,
    /// What is wrong and what would be right.
    pub message: String,
}

/// Every problem of one file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problems {
    /// The file, as it was named.
    pub file: String,
    /// The problems, by place.
    pub problems: Vec<Problem>,
}

impl Problems {
    /// The problems of `file`, put into the order of their places.
    pub fn new(file: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort();
        problems.dedup();
        Self { file: file.to_owned(), problems }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}:", self.file)?;
            if problem.line > 0 {
                write!(f, "{}:{}:", problem.line, problem.column)?;
            }
            write!(f, " {}", problem.message)?;
        }
        Ok(())
    }
}
