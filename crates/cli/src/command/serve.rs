//! `hoptax serve`: the history as pages, and loads over a REST API.

use std::net::SocketAddr;

use clap::Args;
use hoptax_serve::{AllowedHost, Options, Server};
use hoptax_session::store;
use hoptax_session::targets::{AllowedTarget, is_loopback};
use hoptax_session::token::Token;

use crate::arguments::shared::{OfflineArguments, StoreChoice, TokenArguments};
use crate::exit::{Code, Failure};
use crate::{interrupt, print};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax serve                                 on http://127.0.0.1:8419/, for this machine
  hoptax serve --allow-target shop.test:8080   loads may go there, too
  hoptax serve --listen 192.0.2.1:8419 --token-file token --allow-target 192.0.2.2:8080

If it listens on another address than loopback, it needs a list of allowed targets, and requests
must send a token: that of --token-file, or one that is printed when the server starts. A browser
asks for it as a password, with any user name. docs/guide/serve.md describes the API.

On loopback, every user of this machine can read the runs, even those of a store that only you can
open, and can start loads: on a shared machine, or behind a proxy, use --token-file.

Ctrl-C ends the server. A load that runs is stopped, and what it measured is kept.

Exit codes:
  0    ended by a signal
  2    invalid input: no token file, no targets, no folder for the store, a --store that is no store
  3    the address cannot be listened on, or the store cannot be used or written")]
pub(crate) struct ServeArguments {
    /// Address to listen on; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8419", value_parser = hoptax_host::scoped::socket_address)]
    listen: SocketAddr,
    /// Host that loads may go to, with one port or with all ports; repeatable
    ///
    /// A name in the URL of a load must be this one; an address must be one that it resolves to. A name does not allow addresses of this
    /// machine or its link; an address or `localhost` does. On loopback, `localhost` and loopback addresses are allowed without it.
    #[arg(long = "allow-target", value_name = "HOST[:PORT]")]
    allowed_targets: Vec<AllowedTarget>,
    /// Name or address by which the server is reached, besides the one that it listens on; repeatable
    ///
    /// A request that names any other host is refused, because a stranger's name can be made to resolve to this machine.
    #[arg(long = "allow-host", value_name = "HOST")]
    allowed_hosts: Vec<AllowedHost>,
    /// Accept Envoy configurations to price, from people whom you would also give a shell on this machine
    ///
    /// A configuration is checked before anything starts, and one that names a file or brings code is refused. This is not a sandbox: with
    /// a configuration that the checks do not know, its sender can do what the user of the server can do.
    #[arg(long = "allow-bills")]
    allows_bills: bool,
    #[command(flatten)]
    offline: OfflineArguments,
    /// Loads that may run at the same time, 1 to 16; concurrent loads disturb each other
    ///
    /// The result of a load that ran beside others has a finding about that, and its verdict is at best caution. A search, a study and a
    /// bill always run alone.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    loads_at_once: u32,
    #[command(flatten)]
    token: TokenArguments,
    #[command(flatten)]
    store: StoreChoice,
}

/// Runs the command.
pub(super) fn run(arguments: &ServeArguments) -> Result<Code, Failure> {
    let interrupt = interrupt::listen()?;
    let given = arguments.token.read()?;
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
        on_update: print::say,
    })?;
    print::result(&format!("listening on http://{}/", server.address()))?;
    if let Some(token) = drawn {
        // Requests need the token, so `--quiet` does not suppress it.
        print::on_stderr(&format!("token: {}", token.secret()));
    }
    server.run(&interrupt)?;
    Ok(Code::Success)
}
