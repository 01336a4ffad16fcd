//! `hoptax load --agents`: a load sent by agents.

use hoptax_agents::controller::{self, LoadRequest, Notice, RemoteAgent};
use hoptax_result::Agents;
use hoptax_session::load::Sending;
use hoptax_session::token::Token;
use hoptax_session::{Interrupt, Update, machine};

use super::{LoadArguments, Outputs, code};
use crate::exit::{Code, Failure};
use crate::progress::{self, LoadProgress};
use crate::{interrupt, print};

/// Sends a load from the agents of these arguments and prints its result.
pub(super) fn sent(
    sending: &Sending<'_>,
    arguments: &LoadArguments,
    outputs: Outputs<'_>,
) -> Result<Code, Failure> {
    let addresses = arguments.agents.as_slice();
    let least = arguments.least_agents.map_or(addresses.len(), |least| least as usize);
    let token_file = arguments.agents_token_file.as_deref();
    let token = token_file.map(|file| Token::of_file(file, &print::say)).transpose()?;
    // Each agent needs a connection of this process.
    machine::allow_connections(addresses.len())?;
    let interrupt = interrupt::listen_until_result()?;
    let progress = progress::of_agents();
    let request = LoadRequest {
        sending,
        agents: addresses.iter().map(|address| RemoteAgent::at(address)).collect(),
        news: None,
        advice: "start it with `hoptax lab agent`, check the tunnel",
        token,
        least,
        is_watched: progress.is_shown(),
    };
    gather(request, progress, &interrupt, outputs, |_| ())
}

/// Has agents send a load, shows its progress, and prints its result, to which `add` adds what others know of the agents.
pub(super) fn gather(
    request: LoadRequest<'_>,
    mut progress: LoadProgress,
    interrupt: &Interrupt,
    outputs: Outputs<'_>,
    add: impl FnOnce(&mut Agents),
) -> Result<Code, Failure> {
    let gathered = controller::send(request, interrupt, &mut |notice| match notice {
        Notice::Live(line) => progress.show(line),
        Notice::Note(text) => progress.say(Update::Note(text)),
        Notice::Problem(text) => progress.say(Update::Problem(text)),
    });
    progress.end();
    let mut gathered = gathered?;
    if let Some(agents) = &mut gathered.result.agents {
        add(agents);
    }
    outputs.write(&gathered.result)?;
    Ok(code(&gathered.result, gathered.all_pass, interrupt))
}
