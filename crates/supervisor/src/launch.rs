//! An Envoy as a process: its start, its state, and the numbers of its admin interface.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use hoptax_host::service::{Change, OnLine, Service, Stream};
use hoptax_host::usable::usable_processors;
use hoptax_listeners::phases;
use hoptax_subject::envoy::process::admin;
use hoptax_subject::envoy::shared_memory::BaseId;

use crate::machine::Process;
use crate::observed::{self, Observed};
use crate::prepare::Prepared;

/// Polling interval until an Envoy is live.
const POLL: Duration = Duration::from_millis(10);

/// A process, with the means to query it.
#[derive(Debug)]
pub(crate) struct Running {
    /// The process as the state machine knows it.
    pub(crate) process: Process,
    /// The process itself.
    pub(crate) service: Service,
    /// File to which Envoy writes the address of its admin interface.
    admin_file: PathBuf,
    /// Set to stop waiting for it to become live.
    pub(crate) is_unwanted: Arc<AtomicBool>,
}

/// Settings that all processes share.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    /// The program.
    pub(crate) program: PathBuf,
    /// Folder of files.
    pub(crate) folder: PathBuf,
    /// Number of worker threads, which must not change: a successor with fewer workers would abandon connections waiting to be accepted.
    pub(crate) workers: usize,
}

impl Common {
    /// Starts a process.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(
        &self,
        process: Process,
        base: BaseId,
        prepared: &Prepared,
        on_line: &OnLine,
    ) -> io::Result<Running> {
        let admin_file = self.folder.join(format!("admin-{}", process.number));
        let mut command = Command::new(&self.program);
        command.arg("--config-path").arg(&prepared.config).arg("--admin-address-path").arg(&admin_file);
        for (flag, value) in [
            ("--restart-epoch", u64::from(process.epoch)),
            ("--base-id", u64::from(base.number())),
            ("--drain-time-s", u64::from(prepared.restart.drain_s)),
            ("--parent-shutdown-time-s", u64::from(prepared.restart.shutdown_s)),
            ("--concurrency", self.workers as u64),
        ] {
            command.arg(flag).arg(value.to_string());
        }
        // Without this, the phase histograms log an error for each request that never reached an upstream.
        command.args(["--log-level", "warning", "--component-log-level", "misc:critical"]);
        let masked = |stream| -> Change {
            let mut mask = prepared.mask.clone();
            match stream {
                Stream::Output => Box::new(move |line| mask.access_line(line)),
                Stream::Error => Box::new(move |line| mask.log_line(line)),
            }
        };
        let service = Service::start(command, &masked, on_line)?;
        Ok(Running { process, service, admin_file, is_unwanted: Arc::default() })
    }
}

impl Running {
    /// The address of its admin interface, once it is open.
    pub(crate) fn admin(&self) -> Option<SocketAddr> {
        admin_of(&self.admin_file)
    }

    /// Calls `then` on another thread when it is live.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn on_live(&self, callback: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let (file, is_unwanted) = (self.admin_file.clone(), Arc::clone(&self.is_unwanted));
        let wait = move || {
            while !is_unwanted.load(Ordering::Relaxed) {
                if admin_of(&file).is_some_and(|admin| admin::live(admin).is_ok()) {
                    callback();
                    return;
                }
                thread::sleep(POLL);
            }
        };
        thread::Builder::new().name("live".to_owned()).spawn(wait).map(drop)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.is_unwanted.store(true, Ordering::Relaxed);
        // The file may be gone with the folder.
        let _ = fs::remove_file(&self.admin_file);
    }
}

fn admin_of(file: &Path) -> Option<SocketAddr> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Reads the histograms of a process.
///
/// # Errors
/// When its admin interface does not answer as expected.
pub(crate) fn observe(admin: SocketAddr) -> Result<Observed, String> {
    let query = format!(
        "/stats?format=json&type=Histograms&usedonly&histogram_buckets=detailed&filter={}",
        phases::PREFIX
    );
    let histograms = admin::get(admin, &query)?;
    let timeouts = admin::get(admin, "/stats?usedonly&type=Counters&filter=upstream_rq_.*timeout")?;
    observed::read(&histograms, &timeouts)
}

/// The number of client connections of a process.
///
/// # Errors
/// When its admin interface does not respond.
pub(crate) fn connections(admin: SocketAddr) -> Result<u64, String> {
    let text = admin::get(admin, "/stats?type=Gauges&filter=listener.*downstream_cx_active")?;
    Ok(connections_in(&text))
}

fn connections_in(text: &str) -> u64 {
    let of = |line: &str| {
        let (name, value) = line.split_once(": ")?;
        let is_meant = name.starts_with("listener.") && !name.starts_with("listener.admin.");
        // Counters by worker would count connections twice.
        is_meant.then(|| value.trim().parse::<u64>().ok()).flatten()
    };
    text.lines().filter_map(of).sum()
}

/// Asks a process to accept no new connections, and to close existing ones after their current requests.
///
/// # Errors
/// When its admin interface does not respond.
pub(crate) fn drain(admin: SocketAddr) -> Result<(), String> {
    admin::post(admin, "/drain_listeners?graceful&skip_exit").map(drop)
}

/// The number of worker threads: one per processor that this process may use.
pub(crate) fn workers() -> usize {
    let usable = usable_processors(&BTreeSet::from([std::process::id()]));
    usable.map_or(1, |usable| usable.floor().max(1.0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_to_the_admin_interface_are_not_counted() {
        let text = "listener.127.0.0.1_1.downstream_cx_active: 3\nlistener.admin.downstream_cx_active: 1\n\
                    listener.127.0.0.1_1.worker_0.downstream_cx_active: 3\nother.downstream_cx_active: 7\n";
        assert_eq!(connections_in(text), 6);
        assert_eq!(connections_in(""), 0);
    }
}
