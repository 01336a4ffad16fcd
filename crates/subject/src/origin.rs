//! The servers behind the proxies as separate processes. The origin is this program, run as `hoptax lab origin`.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use hoptax_host::child::{Child, ChildSpec};
use hoptax_host::reload;

/// Time limit for an origin to listen.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval of polling for it.
const POLL: Duration = Duration::from_millis(2);
/// Time limit for it to end when asked to.
const GRACE: Duration = Duration::from_secs(2);
/// The prefix of the URL in its first line of output, `http://ADDRESS` or `tcp://ADDRESS`.
pub const LISTENING: &str = "listening on ";

/// Reason why an origin is not running.
#[derive(Debug, thiserror::Error)]
pub enum OriginError {
    /// It cannot be executed.
    #[error("cannot run the server behind the proxies, `{}`: {source}", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The program of an application is missing.
    #[error("missing application `{program}`: {remedy}")]
    NoProgram {
        /// Its name.
        program: String,
        /// Its source.
        remedy: &'static str,
    },
    /// It exited on its own.
    #[error("the server behind the proxies exited ({status}); its log `{}` ends with:\n{last_lines}", log.display())]
    Ended {
        /// Its exit status.
        status: ExitStatus,
        /// Its log.
        log: PathBuf,
        /// The last lines of the log.
        last_lines: String,
    },
    /// Its default response cannot be replaced.
    #[error("cannot replace the default response of the origin in `{}`: {source}", file.display())]
    Default {
        /// The file with the default response.
        file: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// It does not become ready.
    #[error("the server behind the proxies is not ready after {seconds} s; its log is `{}`", log.display())]
    NotListening {
        /// The time limit.
        seconds: u64,
        /// Its log.
        log: PathBuf,
    },
}

/// A running origin or application; ended when dropped.
#[derive(Debug)]
pub struct OriginProcess {
    child: Child,
    program: PathBuf,
    /// Its address.
    pub address: SocketAddr,
}

impl OriginProcess {
    /// Starts `program lab origin` with `more` arguments on `listen` and a port chosen by the kernel, and waits until it
    /// listens. Its log is truncated.
    ///
    /// # Errors
    /// When it cannot be executed or does not listen.
    pub fn start(
        program: &Path,
        listen: IpAddr,
        more: &[OsString],
        log: &Path,
        processors: &[u32],
    ) -> Result<Self, OriginError> {
        let first =
            ["lab", "origin", "--listen", &SocketAddr::new(listen, 0).to_string()].map(OsString::from);
        let arguments = first.into_iter().chain(more.iter().cloned()).collect();
        let run_error = |source| OriginError::Run { program: program.to_owned(), source };
        // The address is read from the log, so the log must not contain the address of an earlier start.
        fs::write(log, "").map_err(run_error)?;
        let spec = ChildSpec {
            program: program.to_owned(),
            arguments,
            environment: Vec::new(),
            log: log.to_owned(),
            processors: processors.to_vec(),
        };
        let mut child = Child::start(&spec).map_err(run_error)?;
        let began = Instant::now();
        loop {
            check(&mut child)?;
            let text = fs::read_to_string(log).map_err(run_error)?;
            if let Some(address) = listening(&text) {
                return Ok(Self { child, program: program.to_owned(), address });
            }
            if began.elapsed() > START_TIMEOUT {
                return Err(OriginError::NotListening {
                    seconds: START_TIMEOUT.as_secs(),
                    log: log.to_owned(),
                });
            }
            std::thread::sleep(POLL);
        }
    }

    /// A server that was started at an address.
    pub(crate) fn new(child: Child, program: PathBuf, address: SocketAddr) -> Self {
        Self { child, program, address }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns an error with the last lines of its log if it has ended.
    ///
    /// # Errors
    /// When it has ended.
    pub fn check(&mut self) -> Result<(), OriginError> {
        check(&mut self.child)
    }

    /// Replaces the default response of an origin that was started with `--default-file FILE`. Later requests get a response with these
    /// parameters, in query syntax. This does not wait until the origin has read them.
    ///
    /// # Errors
    /// When the file cannot be written, or the origin has ended.
    pub fn set_default(&self, file: &Path, query: &str) -> Result<(), OriginError> {
        let set = || fs::write(file, query).and_then(|()| reload::ask(self.id()));
        set().map_err(|source| OriginError::Default { file: file.to_owned(), source })
    }

    /// Asks all processes to end, and waits for all of them at once.
    ///
    /// # Errors
    /// When the kernel does not report the exit status of one.
    pub fn end_all(mut all: Vec<Self>) -> Result<(), OriginError> {
        for Self { child, program, .. } in &mut all {
            child.terminate().map_err(|source| OriginError::Run { program: program.clone(), source })?;
        }
        all.into_iter().try_for_each(Self::end)
    }

    /// Asks it to end and waits until it has.
    ///
    /// # Errors
    /// When the kernel does not report its exit status.
    pub fn end(mut self) -> Result<(), OriginError> {
        let program = self.program;
        self.child.end(GRACE).map(drop).map_err(|source| OriginError::Run { program, source })
    }
}

fn check(child: &mut Child) -> Result<(), OriginError> {
    let log = child.log().to_owned();
    match child.ended() {
        Ok(None) => Ok(()),
        Ok(Some(status)) => {
            let last_lines = child.last_lines(8);
            Err(OriginError::Ended { status, log, last_lines })
        }
        Err(source) => Err(OriginError::Run { program: log, source }),
    }
}

/// The address in the output, once its line is complete.
fn listening(log: &str) -> Option<SocketAddr> {
    let (_, rest) = log.split_once(LISTENING)?;
    let (url, _) = rest.split_once('\n')?;
    let (_, address) = url.split_once("://")?;
    address.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_written_line_has_no_address_yet() {
        assert_eq!(listening("listening on http://127.0.0.1:80"), None);
        for scheme in ["http", "tcp"] {
            let line = format!("listening on {scheme}://127.0.0.1:8080\n");
            assert_eq!(listening(&line), Some(([127, 0, 0, 1], 8080).into()));
        }
    }

    #[test]
    fn an_origin_that_exits_at_once_reports_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, "#!/bin/sh\necho out of luck; exit 7\n").unwrap();
        let mut permissions = fs::metadata(&program).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
        fs::set_permissions(&program, permissions).unwrap();
        let error =
            OriginProcess::start(&program, [127, 0, 0, 1].into(), &[], &folder.path().join("log"), &[])
                .unwrap_err()
                .to_string();
        assert!(error.contains("out of luck") && error.contains('7'), "{error}");
    }
}
