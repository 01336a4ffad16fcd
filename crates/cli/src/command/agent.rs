//! `hoptax lab agent`: sends its shares of loads for a controller.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use hoptax_agents::agent::{Agent, Options};
use hoptax_session::targets::AllowedTarget;

use crate::arguments::shared::TokenArguments;
use crate::arguments::values;
use crate::exit::{Code, Failure};
use crate::{interrupt, print};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples, with the server on 192.0.2.9 and the agent on 192.0.2.1, whose port the controller
forwards with `ssh -N -L 8421:127.0.0.1:8420 192.0.2.1`:
  hoptax lab agent --allow-target 192.0.2.9:8080 --deadline 1h
  hoptax load -q 1000 --agents 127.0.0.1:8421 http://192.0.2.9:8080/

An agent serves one controller at a time, and sends to allowed targets only. Anyone who can reach it
can send load to them, so it needs a token unless it listens on loopback. Token, plan and headers
are not encrypted. An agent stops its load, and ends, when its controller is gone.

Exit codes:
  0    ended by a signal, or at its deadline while it served nobody
  2    invalid input: no targets, or an address that others reach and no token
  3    the address cannot be listened on, the controller is gone, or the deadline ended a load")]
pub(crate) struct AgentArguments {
    /// Address to listen on; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8420", value_parser = hoptax_host::scoped::socket_address)]
    listen: SocketAddr,
    #[command(flatten)]
    token: TokenArguments,
    /// Host that loads may go to, with one port or with all ports; repeatable
    ///
    /// The rules are those of `hoptax serve --allow-target`, except that loopback must be allowed like any other host.
    #[arg(long = "allow-target", value_name = "HOST[:PORT]", required = true)]
    allowed_targets: Vec<AllowedTarget>,
    /// Time after which the agent ends, whatever it does
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    deadline: Duration,
}

/// Runs the command.
pub(super) fn run(arguments: &AgentArguments) -> Result<Code, Failure> {
    let interrupt = interrupt::listen()?;
    let agent = Agent::bind(Options {
        listen: arguments.listen,
        token: arguments.token.read()?,
        targets: arguments.allowed_targets.clone(),
        deadline: arguments.deadline,
    })?;
    print::result(&format!("listening on {}", agent.address()))?;
    agent.run(&interrupt)?;
    Ok(Code::Success)
}
