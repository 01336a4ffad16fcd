//! The process of one Envoy: configuration, validation, start, readiness, statistics and end.

pub mod admin;
mod generation;
mod hot_restart;
mod validation;
mod watched;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hoptax_host::child::{Child, ChildSpec, ending};
use hoptax_host::command::CommandError;
use serde_json::Value;

use super::bootstrap::{self, INGRESS, MergeError, ProxyPlan};
use super::release::Envoy;
use watched::Watched;

pub use admin::Statistics;
pub use generation::Generation;
pub use hot_restart::{BASE_ID, PARENT_SHUTDOWN, shared_memory};
pub use validation::validate_file;

/// Time limit for Envoy to become live. With 10,000 listeners, this takes 13 s of CPU time, which may take much longer on a busy machine.
pub const START_TIMEOUT: Duration = Duration::from_mins(2);
/// Interval of polling for readiness.
const POLL: Duration = Duration::from_millis(4);
/// Time limit for Envoy to end when asked to.
const GRACE: Duration = Duration::from_secs(2);
/// Number of log lines in an error.
const LOG_LINES: usize = 8;

/// The specification of a proxy process.
#[derive(Clone, Debug)]
pub struct ProxySpec {
    /// The Envoy to run.
    pub envoy: Envoy,
    /// The directory of its configuration and its log.
    pub directory: PathBuf,
    /// Its configuration.
    pub source: Source,
    /// Environment variables, in addition to those of hoptax.
    pub environment: BTreeMap<String, String>,
    /// Flags of the command line, in addition to those that hoptax sets.
    pub flags: Vec<String>,
    /// Worker threads.
    pub workers: usize,
    /// The processors that it may use.
    pub processors: Vec<u32>,
    /// Its generation, if it can be replaced by hot restart.
    pub generation: Option<Generation>,
}

/// Source of the configuration of a proxy.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// It is generated. Ports of 0 are chosen by the kernel.
    Plan(Box<ProxyPlan>),
    /// It is given.
    Given {
        /// A bootstrap that was adapted to a lab.
        bootstrap: Value,
        /// The name of the listener to which requests are sent.
        listener: String,
    },
}

impl From<ProxyPlan> for Source {
    fn from(plan: ProxyPlan) -> Self {
        Self::Plan(Box::new(plan))
    }
}

impl Source {
    /// Returns the plan of a generated configuration; none for a given one.
    pub fn plan(&self) -> Option<&ProxyPlan> {
        match self {
            Self::Plan(plan) => Some(plan),
            Self::Given { .. } => None,
        }
    }

    /// The name of the listener to which requests are sent.
    fn listener(&self) -> &str {
        match self {
            Self::Plan(_) => INGRESS,
            Self::Given { listener, .. } => listener,
        }
    }
}

/// Reason why a proxy is not running.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The function does not fit the plain proxy.
    #[error(transparent)]
    Bootstrap(#[from] MergeError),
    /// Its files cannot be written or read.
    #[error("cannot use `{}`: {source}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// It cannot be executed.
    #[error("cannot run `{}`: {source}", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Its program is not installed.
    #[error("`{program}` is not installed: install the package {package}")]
    Missing {
        /// The program.
        program: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// The address that it should listen on cannot be bound.
    #[error("cannot bind `{address}` for a proxy: {source}")]
    Address {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// It rejects its configuration.
    #[error("Envoy rejects the configuration `{}`:\n{reason}", config.display())]
    Refused {
        /// The configuration.
        config: PathBuf,
        /// Envoy's message.
        reason: String,
    },
    /// It does not finish validating its configuration.
    #[error("`{}` cannot validate the configuration `{}`: {source}", program.display(), config.display())]
    Unchecked {
        /// The program.
        program: PathBuf,
        /// The configuration.
        config: PathBuf,
        /// The cause.
        source: CommandError,
    },
    /// It accepts a configuration that must be invalid.
    #[error("Envoy accepts the configuration `{}`, which is invalid on purpose; this is a bug in hoptax", config.display())]
    Unbroken {
        /// The configuration.
        config: PathBuf,
    },
    /// It exited on its own.
    #[error("the proxy exited ({}); its log `{}` ends with:\n{last_lines}", ending(*status), log.display())]
    Ended {
        /// Its exit status.
        status: ExitStatus,
        /// Its log.
        log: PathBuf,
        /// The last lines of the log.
        last_lines: String,
    },
    /// Its admin interface does not respond.
    #[error("cannot read Envoy's statistics ({cause}); its log `{}` ends with:\n{last_lines}", log.display())]
    NoStatistics {
        /// The cause.
        cause: String,
        /// Its log.
        log: PathBuf,
        /// The last lines of the log.
        last_lines: String,
    },
    /// It does not reach a state within its time limit: it is not live, does not listen, does not load a configuration, or does not end.
    #[error("{problem}; its log `{}` ends with:\n{last_lines}", log.display())]
    Stuck {
        /// The state, and the time limit.
        problem: String,
        /// Its log.
        log: PathBuf,
        /// The last lines of the log.
        last_lines: String,
    },
}

impl ProxySpec {
    /// Path of the configuration.
    pub fn config(&self) -> PathBuf {
        self.directory.join("bootstrap.json")
    }

    /// Path of the log.
    pub fn log(&self) -> PathBuf {
        self.directory.join("envoy.log")
    }

    /// Arguments of every invocation. They always include the number of workers: without it, Envoy starts one per
    /// hardware thread and, since 1.40, at most as many as the limit of its control group.
    fn common_arguments(&self) -> Vec<OsString> {
        let own = [
            "--config-path".into(),
            self.config().into(),
            "--concurrency".into(),
            self.workers.to_string().into(),
        ];
        own.into_iter().chain(self.flags.iter().map(Into::into)).collect()
    }

    fn admin_address_file(&self) -> PathBuf {
        self.directory.join("admin-address")
    }

    /// Writes the configuration, and the files that it needs.
    ///
    /// # Errors
    /// When the function does not fit, or a file cannot be written.
    pub fn configure(&self) -> Result<(), ProxyError> {
        let text = match &self.source {
            Source::Plan(plan) => {
                let bootstrap = bootstrap::bootstrap(plan)?;
                self.write_watched(plan, [Watched::Clusters, Watched::Listeners])?;
                write_files(plan)?;
                serde_json::to_string_pretty(&bootstrap)
            }
            Source::Given { bootstrap, .. } => serde_json::to_string_pretty(bootstrap),
        };
        let path = self.config();
        let write = || -> io::Result<()> {
            fs::create_dir_all(&self.directory)?;
            fs::write(&path, text?)
        };
        write().map_err(|source| ProxyError::File { path: path.clone(), source })
    }

    /// Starts Envoy with the written configuration, without waiting.
    ///
    /// # Errors
    /// When it cannot be executed, or a file of its folder cannot be written.
    pub fn start(&self) -> Result<StartingProxy, ProxyError> {
        let admin_address_file = self.admin_address_file();
        match fs::remove_file(&admin_address_file) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(ProxyError::File { path: admin_address_file, source });
            }
            _ => {}
        }
        let mut arguments = self.common_arguments();
        arguments.extend(self.generation_arguments()?);
        arguments.extend([
            "--admin-address-path".into(),
            admin_address_file.clone().into(),
            "--log-level".into(),
            "warning".into(),
        ]);
        let spec = ChildSpec {
            program: self.envoy.program.clone(),
            arguments,
            environment: self.environment.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            log: self.log(),
            processors: self.processors.clone(),
        };
        let child = Child::start(&spec)
            .map_err(|source| ProxyError::Run { program: self.envoy.program.clone(), source })?;
        let listener = self.source.listener().to_owned();
        Ok(StartingProxy { child, admin_address_file, listener, began: Instant::now() })
    }
}

/// An Envoy that was started and may not be live yet.
#[derive(Debug)]
pub struct StartingProxy {
    child: Child,
    admin_address_file: PathBuf,
    /// The name of the listener to which requests are sent.
    listener: String,
    began: Instant,
}

/// A live proxy; ended when dropped.
#[derive(Debug)]
pub struct Proxy {
    child: Child,
    /// The address of its listener.
    pub address: SocketAddr,
    /// The address of its admin interface, if it is an Envoy.
    pub admin: Option<SocketAddr>,
}

impl StartingProxy {
    /// Waits until the admin interface reports LIVE and the listener has its port.
    ///
    /// # Errors
    /// When Envoy exits before, or is not live within two minutes of its start.
    pub fn wait(self) -> Result<Proxy, ProxyError> {
        self.wait_unless(&AtomicBool::new(false))
    }

    /// Like [`Self::wait`], unless `stop` is set meanwhile.
    ///
    /// # Errors
    /// As for [`Self::wait`], and when it is not live when `stop` is set.
    pub fn wait_unless(mut self, stop: &AtomicBool) -> Result<Proxy, ProxyError> {
        loop {
            check(&mut self.child)?;
            let cause = match self.probe() {
                Ok((admin, address)) => return Ok(Proxy { child: self.child, address, admin: Some(admin) }),
                Err(cause) => cause,
            };
            if self.began.elapsed() > START_TIMEOUT || stop.load(Ordering::Relaxed) {
                let seconds = self.began.elapsed().as_secs();
                let problem = format!("Envoy is not live after {seconds} s ({cause})");
                return Err(stuck(problem, &self.child));
            }
            std::thread::sleep(POLL);
        }
    }

    /// The addresses of admin interface and listener, or the part that is still missing.
    fn probe(&self) -> Result<(SocketAddr, SocketAddr), String> {
        let text = fs::read_to_string(&self.admin_address_file)
            .map_err(|_| "its admin interface is not open".to_owned())?;
        let admin: SocketAddr =
            text.trim().parse().map_err(|_| format!("`{}` is not an address", text.trim()))?;
        let address = admin::listener_when_live(admin, &self.listener)?;
        Ok((admin, address))
    }
}

impl Proxy {
    /// A live proxy without an admin interface.
    pub(crate) fn new(child: Child, address: SocketAddr) -> Self {
        Self { child, address, admin: None }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its log.
    pub fn log(&self) -> &Path {
        self.child.log()
    }

    /// The error if it does not reach a state.
    pub(crate) fn stuck(&self, problem: String) -> ProxyError {
        stuck(problem, &self.child)
    }

    /// Returns an error with the last lines of its log if it has ended.
    ///
    /// # Errors
    /// When it has ended.
    pub fn check(&mut self) -> Result<(), ProxyError> {
        check(&mut self.child)
    }

    /// The values of its statistics by pattern, in which `*` is a wildcard: the sum over all names that match. None for
    /// a proxy without an admin interface.
    ///
    /// # Errors
    /// When its admin interface does not respond.
    pub fn statistics(&self, patterns: &[String]) -> Result<Option<Vec<u64>>, ProxyError> {
        let Some(statistics) = self.all_statistics()? else { return Ok(None) };
        Ok(Some(patterns.iter().map(|pattern| statistics.sum(pattern)).collect()))
    }

    /// All its statistics that were used; none for a proxy without an admin interface.
    ///
    /// # Errors
    /// When its admin interface does not respond.
    pub fn all_statistics(&self) -> Result<Option<Statistics>, ProxyError> {
        self.ask(admin::statistics)
    }

    /// The values of its statistics whose names match a pattern, in which `*` is a wildcard, including statistics that were never used;
    /// none for a proxy without an admin interface.
    ///
    /// # Errors
    /// When its admin interface does not respond.
    pub fn matching(&self, pattern: &str) -> Result<BTreeMap<String, u64>, ProxyError> {
        self.ask(|admin| admin::matching(admin, pattern)).map(Option::unwrap_or_default)
    }

    /// The addresses of all its listeners by name; none for a proxy without an admin interface.
    ///
    /// # Errors
    /// When its admin interface does not respond.
    pub fn listeners(&self) -> Result<BTreeMap<String, SocketAddr>, ProxyError> {
        self.ask(admin::listeners).map(Option::unwrap_or_default)
    }

    /// Requests that it sent to endpoints with these addresses, retries included; none if it has no such endpoint or no admin interface.
    ///
    /// # Errors
    /// When its admin interface does not respond.
    pub fn requests_to(&self, addresses: &[SocketAddr]) -> Result<Option<u64>, ProxyError> {
        self.ask(|admin| admin::requests_to(admin, addresses)).map(Option::flatten)
    }

    /// Asks its admin interface; none for a proxy without one.
    fn ask<T>(
        &self,
        question: impl FnOnce(SocketAddr) -> Result<T, String>,
    ) -> Result<Option<T>, ProxyError> {
        self.admin.map(question).transpose().map_err(|cause| ProxyError::NoStatistics {
            cause,
            log: self.child.log().to_owned(),
            last_lines: self.child.last_lines(LOG_LINES),
        })
    }

    /// Asks all proxies to end, and waits for all of them at once.
    ///
    /// # Errors
    /// When the kernel does not report whether one is still running, or its exit status.
    pub fn end_all(mut all: Vec<Self>) -> Result<(), ProxyError> {
        for Self { child, .. } in &mut all {
            let path = child.log().to_owned();
            child.terminate().map_err(|source| ProxyError::File { path, source })?;
        }
        all.into_iter().try_for_each(Self::end)
    }

    /// Asks it to end and waits until it has.
    ///
    /// # Errors
    /// When the kernel does not report its exit status.
    pub fn end(mut self) -> Result<(), ProxyError> {
        let program = self.child.log().to_owned();
        self.child.end(GRACE).map(drop).map_err(|source| ProxyError::Run { program, source })
    }
}

/// Writes the files that functions need.
fn write_files(plan: &ProxyPlan) -> Result<(), ProxyError> {
    for (path, bytes) in plan.fragment.iter().flat_map(|fragment| &fragment.files) {
        let write = || path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, bytes));
        write().map_err(|source| ProxyError::File { path: path.clone(), source })?;
    }
    Ok(())
}

/// The error of a process that does not reach a state.
fn stuck(problem: String, child: &Child) -> ProxyError {
    ProxyError::Stuck { problem, log: child.log().to_owned(), last_lines: child.last_lines(LOG_LINES) }
}

fn check(child: &mut Child) -> Result<(), ProxyError> {
    match child.ended() {
        Ok(None) => Ok(()),
        Ok(Some(status)) => Err(ProxyError::Ended {
            status,
            log: child.log().to_owned(),
            last_lines: child.last_lines(LOG_LINES),
        }),
        Err(source) => Err(ProxyError::File { path: child.log().to_owned(), source }),
    }
}

#[cfg(test)]
mod tests;
