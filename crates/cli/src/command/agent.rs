//! `hoptax lab agent`: sends shares of loads for a controller.

use hoptax_agents::agent::{Agent, Options};

use crate::arguments::AgentArguments;
use crate::exit::{Code, Failure};
use crate::{interrupt, print, token_file};

/// Runs the command.
pub(super) fn run(arguments: &AgentArguments) -> Result<Code, Failure> {
    let interrupt = interrupt::listen()?;
    let agent = Agent::bind(Options {
        listen: arguments.listen,
        token: arguments.token_file.as_deref().map(token_file::read).transpose()?,
        targets: arguments.allowed_targets.clone(),
        deadline: arguments.deadline,
    })?;
    print::result(&format!("listening on {}", agent.address()))?;
    agent.run(&interrupt)?;
    Ok(Code::Success)
}
