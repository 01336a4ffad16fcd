//! `hoptax serve`: the history as pages, and loads over a REST API.

use hoptax_serve::{Options, Server};
use hoptax_session::store;
use hoptax_session::targets::is_loopback;
use hoptax_session::token::Token;

use crate::arguments::ServeArguments;
use crate::exit::{Code, Failure};
use crate::{interrupt, print, token_file};

/// Runs the command.
pub(super) fn run(arguments: &ServeArguments) -> Result<Code, Failure> {
    let interrupt = interrupt::listen()?;
    let given = arguments.token_file.as_deref().map(token_file::read).transpose()?;
    let drawn = (given.is_none() && !is_loopback(arguments.listen)).then(Token::generated);
    let server = Server::bind(Options {
        listen: arguments.listen,
        token: given.or_else(|| drawn.clone()),
        targets: arguments.allowed_targets.clone(),
        hosts: arguments.allowed_hosts.clone(),
        allows_bills: arguments.allows_bills,
        is_offline: arguments.offline.is_set,
        loads_at_once: arguments.loads_at_once,
        store: store::path(arguments.store.file.as_deref())?,
        tell: print::say,
    })?;
    print::result(&format!("listening on http://{}/", server.address()))?;
    if let Some(token) = drawn {
        // Requests need the token, so `--quiet` does not suppress it.
        print::on_stderr(&format!("token: {}", token.secret()));
    }
    server.run(&interrupt)?;
    Ok(Code::Success)
}
