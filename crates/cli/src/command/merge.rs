//! `hoptax runs merge`: adds up the results of several runs of one load.

use hoptax_session::merge::merged;

use super::load;
use crate::arguments::MergeArguments;
use crate::exit::{Code, Failure};

/// Runs the command.
pub(crate) fn run(arguments: &MergeArguments) -> Result<Code, Failure> {
    let result = merged(&arguments.files)?;
    load::write(arguments.json.file(), &result)?;
    Ok(Code::from(result.verdict))
}
