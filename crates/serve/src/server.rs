//! The server: where it listens, and its graceful end.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hoptax_session::machine::{self, ChildLimits};
use hoptax_session::targets::{AllowedTarget, AllowedTargets, is_loopback};
use hoptax_session::token::Token;
use hoptax_session::{Failure, Interrupt};
use tokio::runtime::Builder;
use tokio::time;

use crate::app::App;
use crate::connections::{self, MAX_CONNECTIONS};
use crate::gate::Gate;
use crate::history::{History, OnUpdate};
use crate::hosts::{AllowedHost, Hosts};
use crate::jobs::{Jobs, MOST_LOADS_AT_ONCE};
use crate::router;
use crate::wanted;

/// The time between two looks at what ends the server.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The time in which connections may receive the end of what they asked for, once the jobs have ended.
const GRACE: Duration = Duration::from_secs(5);
/// Threads for work that waits: the store and names.
const BLOCKING_THREADS: usize = 4;
/// The limits of each process of a job.
const LIMITS: ChildLimits = ChildLimits {
    // The output of a proxy is a file, and may have a line for each request.
    file_bytes: 1 << 30,
    // For more connections than a built-in study without root has, on both sides of a proxy.
    open_files: 16_384,
    // An idle Envoy takes 75 MB; one that takes all of the memory has the kernel end whatever it chooses.
    memory_bytes: 4 << 30,
};

/// A server, as it is asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address that it listens on.
    pub listen: SocketAddr,
    /// The token that requests show; none if everybody who reaches the server may use it.
    pub token: Option<Token>,
    /// The targets that loads may go to, besides loopback if the server listens there.
    pub targets: Vec<AllowedTarget>,
    /// The hosts that requests may name, besides the address that it listens on.
    pub hosts: Vec<AllowedHost>,
    /// True if configurations may be sent to be priced. Whoever sends one can do what the user of the server can, should the checks of
    /// configurations not know a way to it.
    pub allows_bills: bool,
    /// True if no Envoy is fetched.
    pub is_offline: bool,
    /// Loads that may run at the same time, 1 to 16. More than one disturb each other, which their results say.
    pub loads_at_once: u32,
    /// The store that the history is in.
    pub store: PathBuf,
    /// Called with updates about the store.
    pub on_update: OnUpdate,
}

impl Options {
    /// Refuses options with which strangers could send load to others, or with which more loads would run than a server follows.
    ///
    /// # Errors
    /// When others reach the server, and it has no token, or no list of targets; and when no load, or too many, may run at once.
    fn check(&self) -> Result<(), Failure> {
        if !(1..=MOST_LOADS_AT_ONCE).contains(&self.loads_at_once) {
            let problem = format!("`--loads-at-once` must be 1 to {MOST_LOADS_AT_ONCE}");
            return Err(Failure::bad_input(problem));
        }
        let needs = |what: &str| {
            Err(Failure::bad_input(format!("others can reach {}, so the server needs {what}", self.listen)))
        };
        if is_loopback(self.listen) {
            Ok(())
        } else if self.token.is_none() {
            needs("a token")
        } else if self.targets.is_empty() {
            needs("the targets that loads may go to: `--allow-target HOST:PORT`")
        } else {
            Ok(())
        }
    }

    fn app(self) -> Arc<App> {
        let gate = Gate::new(Hosts::new(self.listen.ip(), self.hosts), self.token);
        let targets = AllowedTargets::new(self.targets, self.listen);
        let history = History::new(self.store, self.on_update);
        let loads = self.loads_at_once;
        // Once and for all: a load would raise the limit for itself alone, and the server would have no files while it runs. Each of the
        // loads that run at once has its share.
        let most = wanted::MAX_CONNECTIONS as usize * loads as usize + MAX_CONNECTIONS;
        let allowed = machine::most_connections(most).saturating_sub(MAX_CONNECTIONS);
        let most_connections = allowed as u32 / loads;
        let (allows_bills, is_offline) = (self.allows_bills, self.is_offline);
        Arc::new(App::new(
            gate,
            targets,
            allows_bills,
            is_offline,
            history,
            Jobs::new(loads),
            most_connections,
        ))
    }
}

/// The routes of a server, for whoever serves them otherwise.
///
/// # Errors
/// When the options are not safe.
pub fn routes(options: Options) -> Result<Router, Failure> {
    options.check()?;
    Ok(router::router(&options.app()))
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
}

impl Server {
    /// Listens, and answers nobody yet.
    ///
    /// # Errors
    /// When the options are not safe, or the address cannot be listened on.
    pub fn bind(options: Options) -> Result<Self, Failure> {
        options.check()?;
        let failed = |error| Failure::cannot_listen(options.listen, error);
        let listener = TcpListener::bind(options.listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        // The port may be one that the system has chosen.
        let app = Options { listen: address, ..options }.app();
        Ok(Self { listener, address, app })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until it is interrupted. No job begins then, those that run are stopped, and what they measured is kept.
    ///
    /// # Errors
    /// When the system refuses what serving needs.
    pub fn run(self, interrupt: &Interrupt) -> Result<(), Failure> {
        machine::limit_processes(LIMITS);
        // One thread serves: loads have threads of their own, which should have the other processors.
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(BLOCKING_THREADS)
            .build()
            .map_err(Failure::environment)?;
        let served = runtime.block_on(self.serve(interrupt.clone()));
        // A lookup of a name may wait for longer than anybody who ends a server.
        runtime.shutdown_background();
        served.map_err(Failure::environment)
    }

    async fn serve(self, interrupt: Interrupt) -> std::io::Result<()> {
        let Self { listener, app, .. } = self;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let end = requested(interrupt.clone());
        let serving = connections::serve(listener, router::router(&app), Arc::clone(&app.places), end);
        let serving = tokio::spawn(serving);
        requested(interrupt).await;
        app.jobs.close();
        while app.jobs.running() > 0 {
            time::sleep(LOOK_EVERY).await;
        }
        // Event streams have ended with their jobs. Whoever reads slowly is cut off.
        let _ = time::timeout(GRACE, serving).await;
        Ok(())
    }
}

/// Waits for an interrupt, which a signal handler cannot tell of but by a flag.
async fn requested(interrupt: Interrupt) {
    while !interrupt.is_requested() {
        time::sleep(LOOK_EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(listen: &str) -> Options {
        Options {
            listen: listen.parse().unwrap(),
            token: None,
            targets: Vec::new(),
            hosts: Vec::new(),
            allows_bills: false,
            is_offline: true,
            loads_at_once: 1,
            store: "none".into(),
            on_update: |_| (),
        }
    }

    #[test]
    fn a_server_that_others_reach_needs_a_token_and_targets() {
        for listen in ["127.0.0.1:0", "[::1]:0", "[::ffff:127.0.0.1]:0"] {
            assert!(options(listen).check().is_ok(), "{listen}");
        }
        for listen in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
            let refused = options(listen).check().unwrap_err().to_string();
            assert!(refused.contains("needs a token"), "{refused}");
            assert!(routes(options(listen)).is_err() && Server::bind(options(listen)).is_err());
            let with_token = Options { token: Some(Token::generated()), ..options(listen) };
            let refused = with_token.check().unwrap_err().to_string();
            assert!(refused.contains("--allow-target"), "{refused}");
            let targets = vec!["192.0.2.2".parse().unwrap()];
            assert!(Options { targets, ..with_token }.check().is_ok(), "{listen}");
        }
    }

    #[test]
    fn one_to_sixteen_loads_may_run_at_once() {
        for (loads_at_once, is_allowed) in [(0, false), (1, true), (16, true), (17, false)] {
            let options = Options { loads_at_once, ..options("127.0.0.1:0") };
            assert_eq!(options.check().is_ok(), is_allowed, "{loads_at_once}");
        }
    }
}
