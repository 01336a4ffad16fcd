//! `hoptax lab reader`: reads CPU times of containers on a node of a cluster, for whoever measures a mesh.

use hoptax_agents::reader::Reader;

use crate::arguments::ReaderArguments;
use crate::exit::{Code, Failure};
use crate::{interrupt, print};

/// Runs the command.
pub(super) fn run(arguments: &ReaderArguments) -> Result<Code, Failure> {
    let interrupt = interrupt::listen()?;
    let reader = Reader::bind(arguments.listen, &arguments.groups)?;
    print::result(&format!("listening on {}", reader.address()))?;
    reader.run(&interrupt)?;
    Ok(Code::Success)
}
