//! Adds up the results of several runs of one load, from their files.

use std::path::PathBuf;

use hoptax_checks::judge_merged;
use hoptax_load::merge::{Run, merge};
use hoptax_result::{LoadResult, RunLeftOut};

use crate::failure::Failure;
use crate::results::{LoadFileError, read_load};

/// The sum of the results in these files, judged. Leaves out a run whose file is lost, and states this in the result.
///
/// # Errors
/// When a file is no result of a load, or the results are of different loads, with all reasons.
pub fn merged(files: &[PathBuf]) -> Result<LoadResult, Failure> {
    let (mut runs, mut left_out, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    for path in files {
        let file = path.display().to_string();
        match read_load(path) {
            Ok(result) => runs.push(Run { file, result }),
            Err(LoadFileError::Lost(reason)) => {
                left_out.push(RunLeftOut { file, reason, planned_rate: None });
            }
            Err(LoadFileError::Other(reason)) => problems.push(format!("`{file}` {reason}")),
        }
    }
    match merge(&runs, left_out) {
        Ok(mut result) if problems.is_empty() => {
            judge_merged(&mut result);
            Ok(result)
        }
        other => {
            problems.extend(other.err().into_iter().flatten());
            Err(Failure::bad_input(problems.join("\n")))
        }
    }
}
