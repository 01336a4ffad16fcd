//! The state that all requests share.

use std::sync::Arc;
use std::time::SystemTime;

use hoptax_session::targets::AllowedTargets;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::connections::MAX_CONNECTIONS;
use crate::gate::Gate;
use crate::history::History;
use crate::jobs::Jobs;
use crate::metrics::{Metrics, Now};
use crate::problem::Problem;

/// Maximum number of simultaneous event streams. Each keeps a connection open.
pub(crate) const MAX_STREAMS: usize = 64;
/// Maximum number of configurations that are being received or wait to be read. Each is in memory in the meantime.
pub(crate) const MAX_UPLOADS: usize = 4;

/// The state of a server.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) gate: Gate,
    pub(crate) targets: AllowedTargets,
    pub(crate) history: History,
    pub(crate) jobs: Jobs,
    pub(crate) metrics: Metrics,
    /// True if clients may send configurations to be priced.
    pub(crate) allows_bills: bool,
    /// True if Envoys must not be downloaded.
    pub(crate) is_offline: bool,
    /// Maximum number of connections of a load within the limit on open files.
    pub(crate) most_connections: u32,
    /// Permits for connections to this server.
    pub(crate) places: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    uploads: Arc<Semaphore>,
    turns: Arc<Semaphore>,
    comparisons: Arc<Semaphore>,
}

/// The turn of a request, released when dropped. Requests get turns in the order of their arrival.
#[derive(Debug)]
pub(crate) struct Turn {
    _permit: Option<OwnedSemaphorePermit>,
}

impl Turn {
    async fn take(turns: &Arc<Semaphore>) -> Self {
        // The semaphore is never closed.
        Self { _permit: Arc::clone(turns).acquire_owned().await.ok() }
    }
}

impl App {
    pub(crate) fn new(
        gate: Gate,
        targets: AllowedTargets,
        allows_bills: bool,
        is_offline: bool,
        history: History,
        jobs: Jobs,
        most_connections: u32,
    ) -> Self {
        Self {
            gate,
            targets,
            history,
            jobs,
            metrics: Metrics::default(),
            allows_bills,
            is_offline,
            most_connections,
            places: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            uploads: Arc::new(Semaphore::new(MAX_UPLOADS)),
            turns: Arc::new(Semaphore::new(1)),
            comparisons: Arc::new(Semaphore::new(1)),
        }
    }

    /// A permit for one event stream, released when dropped; none if there are too many.
    pub(crate) fn stream(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.streams).try_acquire_owned().ok()
    }

    /// A permit to send a configuration, released when dropped; none if there are too many.
    pub(crate) fn upload(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.uploads).try_acquire_owned().ok()
    }

    /// The turn to look up names, to read a configuration, and to begin a job. Only one request has it at a time: a slow resolver or a
    /// large configuration would occupy the threads that the history needs, and reading would disturb a job that begins in the meantime.
    pub(crate) async fn turn(&self) -> Turn {
        Turn::take(&self.turns).await
    }

    /// The turn to compare runs. Only one request has it at a time, because the results of all of its runs are in memory.
    pub(crate) async fn comparison(&self) -> Turn {
        Turn::take(&self.comparisons).await
    }

    /// The metrics as text.
    pub(crate) fn metrics_text(&self) -> String {
        let streams = MAX_STREAMS - self.streams.available_permits();
        let connections = MAX_CONNECTIONS - self.places.available_permits();
        self.metrics.text(Now { running: self.jobs.running(), streams, connections })
    }
}

/// The current time, RFC 3339 in UTC.
pub(crate) fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// Runs work that waits for a disk or for name resolution outside the serving thread.
///
/// # Errors
/// When the work fails.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Problem::internal("this is a bug in hoptax: a request panicked")))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};

    use super::*;
    use crate::hosts::Hosts;

    /// The address that the server of [`app`] listens on.
    pub(crate) const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8419);

    /// A server on loopback that allows bills, with a history.
    pub(crate) fn app(history: History) -> Arc<App> {
        let gate = Gate::new(Hosts::new(LISTEN.ip(), Vec::new()), None);
        let targets = AllowedTargets::new(Vec::new(), LISTEN);
        Arc::new(App::new(gate, targets, true, true, history, Jobs::new(1), 100))
    }

    /// A history without a store.
    pub(crate) fn no_history() -> History {
        History::new("/nonexistent/store.sqlite".into(), |_| ())
    }
}
