//! The server: its listening address and its graceful shutdown.

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

/// Polling interval of the flag that ends the server.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Time for clients to receive the end of their responses after the jobs have ended.
const GRACE: Duration = Duration::from_secs(5);
/// Number of threads for blocking work: the store and name resolution.
const BLOCKING_THREADS: usize = 4;
/// The limits of each process of a job.
const LIMITS: ChildLimits = ChildLimits {
    // The output of a proxy is a file, which may contain a line for each request.
    file_bytes: 1 << 30,
    // Enough for the connections of any built-in study without root, on both sides of a proxy.
    open_files: 16_384,
    // An idle Envoy needs 75 MB. If one uses up all memory, the kernel may kill any process.
    memory_bytes: 4 << 30,
};

/// The requested options of a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address that it listens on.
    pub listen: SocketAddr,
    /// The token that requests must present; none if everybody who can reach the server may use it.
    pub token: Option<Token>,
    /// The targets of loads, in addition to loopback if the server listens there.
    pub targets: Vec<AllowedTarget>,
    /// The hosts that requests may name, in addition to the listening address.
    pub hosts: Vec<AllowedHost>,
    /// True if clients may send configurations to be priced. If the checks of configurations have a gap, such a client can do whatever the
    /// user of the server can.
    pub allows_bills: bool,
    /// True if Envoys must not be downloaded.
    pub is_offline: bool,
    /// Number of loads that may run at the same time, 1 to 16. Simultaneous loads disturb each other, which their results state.
    pub loads_at_once: u32,
    /// The store with the history.
    pub store: PathBuf,
    /// Reports events of the store.
    pub on_update: OnUpdate,
}

impl Options {
    /// Refuses options with which strangers could send load to third parties, or with too many simultaneous loads.
    ///
    /// # Errors
    /// When other machines can reach the server and it has no token or no list of targets, and when the number of simultaneous loads is out
    /// of range.
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
        // Raise the limit now: if each load raised it only for itself, the server would run out of files during the load. Each of the
        // simultaneous loads has a share.
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

/// The routes of a server, for callers that serve them in another way.
///
/// # Errors
/// When the options are unsafe.
pub fn routes(options: Options) -> Result<Router, Failure> {
    options.check()?;
    Ok(router::router(&options.app()))
}

/// A listening server.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
}

impl Server {
    /// Listens on the address without accepting connections.
    ///
    /// # Errors
    /// When the options are unsafe, results cannot be stored, or it cannot listen on the address.
    pub fn bind(options: Options) -> Result<Self, Failure> {
        options.check()?;
        History::new(options.store.clone(), options.on_update).check()?;
        let (listener, address) = machine::listen(options.listen)?;
        let app = Options { listen: address, ..options }.app();
        Ok(Self { listener, address, app })
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until it is interrupted. Then no more jobs begin, the running ones are stopped, and their measurements are stored.
    ///
    /// # Errors
    /// When the system refuses an operation.
    pub fn run(self, interrupt: &Interrupt) -> Result<(), Failure> {
        machine::limit_processes(LIMITS);
        // A single thread serves, because loads have their own threads, which should get the other processors.
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(BLOCKING_THREADS)
            .build()
            .map_err(Failure::environment)?;
        let served = runtime.block_on(self.serve(interrupt.clone()));
        // Do not wait for name lookups, which may take very long.
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
        // Event streams have ended with their jobs. Slow readers are disconnected.
        let _ = time::timeout(GRACE, serving).await;
        Ok(())
    }
}

/// Waits for an interrupt. It polls, because a signal handler can only set a flag.
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
    fn a_file_that_is_no_store_is_refused_at_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("passwd");
        let bound = || Server::bind(Options { store: store.clone(), ..options("127.0.0.1:0") });
        assert!(bound().is_ok(), "the first result creates it");
        std::fs::write(&store, "root:x:0:0:root:/root:/bin/sh\n".repeat(100)).unwrap();
        let refused = bound().unwrap_err();
        assert!(refused.to_string().contains("is not a store of hoptax"), "{refused}");
    }

    #[test]
    fn one_to_sixteen_loads_may_run_at_once() {
        for (loads_at_once, is_allowed) in [(0, false), (1, true), (16, true), (17, false)] {
            let options = Options { loads_at_once, ..options("127.0.0.1:0") };
            assert_eq!(options.check().is_ok(), is_allowed, "{loads_at_once}");
        }
    }
}
