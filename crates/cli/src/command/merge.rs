//! `hoptax runs merge`: adds up the results of several runs of one load.

use hoptax_checks::judge_merged;
use hoptax_load::merge::{Run, merge};
use hoptax_result::RunLeftOut;
use hoptax_session::results::{NoResult, read_load};

use super::load;
use crate::arguments::MergeArguments;
use crate::exit::{Code, Failure};

/// Runs the command.
pub(crate) fn run(arguments: &MergeArguments) -> Result<Code, Failure> {
    let (mut runs, mut left_out, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    for path in &arguments.files {
        let file = path.display().to_string();
        match read_load(path) {
            Ok(result) => runs.push(Run { file, result }),
            Err(NoResult::Lost(reason)) => left_out.push(RunLeftOut { file, reason, planned_rate: None }),
            Err(NoResult::Other(reason)) => problems.push(format!("`{file}` {reason}")),
        }
    }
    let mut result = match merge(runs, left_out) {
        Ok(result) if problems.is_empty() => result,
        Ok(_) => return Err(Failure::bad_input(problems.join("\n"))),
        Err(more) => {
            problems.extend(more);
            return Err(Failure::bad_input(problems.join("\n")));
        }
    };
    judge_merged(&mut result);
    load::write(arguments.json.file(), &result)?;
    Ok(Code::from(result.verdict))
}
