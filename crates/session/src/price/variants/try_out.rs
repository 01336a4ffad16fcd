//! Tries a variant out: starts one Envoy on a bootstrap, sends requests through a listener, and reads which statistics moved. The requests
//! are those of a whole `hoptax load`, which runs as a child process and whose JSON is read.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hoptax_bootstrap::request::DerivedRequest;
use hoptax_host::child::last_lines_of;
use hoptax_host::command::{self, CommandError};
use hoptax_result::{Answer, LoadResult};
use hoptax_subject::envoy::process::{ProxyError, ProxySpec, Source};
use hoptax_subject::envoy::release::Envoy;
use hoptax_subject::origin::{OriginError, OriginProcess};
use serde_json::Value;

/// Time limit for the requests.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Number of log lines in an error.
const LOG_LINES: usize = 8;
/// Number of requests. Rate limits of single digits per second are usual in examples, so that more would mostly be refused.
const REQUESTS: u64 = 10;

/// The servers behind the proxy.
#[derive(Debug)]
pub(crate) struct Stubs {
    /// The server that stands for every cluster.
    pub(crate) origin: OriginProcess,
    /// The server that stands for every external service.
    pub(crate) companion: OriginProcess,
}

impl Stubs {
    /// Starts both servers. `program` is hoptax, and `certificates` is the folder of [`crate::price::variants::write_files`]. If the proxy
    /// `presents_certificate`, both servers request it.
    ///
    /// # Errors
    /// When one of them does not start.
    pub(crate) fn start(
        program: &Path,
        certificates: &Path,
        presents_certificate: bool,
        folder: &Path,
    ) -> Result<Self, OriginError> {
        let start = |name: &str, flags: &[OsString]| {
            let log = folder.join(format!("{name}.log"));
            OriginProcess::start(program, IpAddr::V4(Ipv4Addr::LOCALHOST), flags, &log, &[])
        };
        Ok(Self {
            origin: start("origin", &tls_flags(certificates, presents_certificate))?,
            companion: start("companion", &tls_flags(certificates, presents_certificate))?,
        })
    }
}

/// The flags of a server with TLS, which requests certificates of its clients if `requests_certificates`.
fn tls_flags(certificates: &Path, requests_certificates: bool) -> Vec<OsString> {
    let file = |name: &str| certificates.join(name).into();
    let mut flags: Vec<OsString> =
        vec!["--cert".into(), file("origin.pem"), "--key".into(), file("origin.key")];
    if requests_certificates {
        flags.extend(["--client-ca".into(), file("ca.pem"), "--accept-anonymous-clients".into()]);
    }
    flags
}

/// One variant of the configuration.
#[derive(Debug)]
pub(crate) struct TryOut<'a> {
    /// The Envoy to run.
    pub(crate) envoy: &'a Envoy,
    /// hoptax, which sends the requests.
    pub(crate) program: &'a Path,
    /// The folder of the bootstrap and the log of this variant.
    pub(crate) folder: PathBuf,
    /// The folder of the certificates.
    pub(crate) certificates: &'a Path,
    /// The server that stands for every cluster.
    pub(crate) origin: SocketAddr,
}

/// Responses to the requests of a try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answers {
    /// The responses, and how far the statistics moved.
    pub(crate) answer: Answer,
    /// Failed requests by kind.
    pub(crate) failures: BTreeMap<String, u64>,
}

/// Reason why a variant cannot be tried.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TryOutError {
    /// Envoy refuses it, or does not serve.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// A program cannot be run.
    #[error("cannot run `{}`: {source}", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// The cause.
        source: CommandError,
    },
    /// The load that sends the requests did not run.
    #[error("the requests were not sent:\n{0}")]
    NotSent(String),
}

/// The headers of the requests in a file, as long as this value lives. They may be the user's credentials, and everybody on the
/// machine can read the arguments of a process.
struct HeadersFile(PathBuf);

impl HeadersFile {
    fn write(path: PathBuf, request: &DerivedRequest) -> io::Result<Self> {
        let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        let headers = Self(path);
        writeln!(file, "host: {}", request.host)?;
        for (name, value) in &request.headers {
            writeln!(file, "{name}: {value}")?;
        }
        Ok(headers)
    }
}

impl Drop for HeadersFile {
    fn drop(&mut self) {
        // Nothing can be done about a file that is gone already.
        let _ = fs::remove_file(&self.0);
    }
}

impl TryOut<'_> {
    fn spec(&self, bootstrap: Value, listener: &str) -> ProxySpec {
        ProxySpec {
            envoy: self.envoy.clone(),
            directory: self.folder.clone(),
            source: Source::Given { bootstrap, listener: listener.to_owned() },
            environment: BTreeMap::new(),
            flags: Vec::new(),
            workers: 1,
            processors: Vec::new(),
            generation: None,
        }
    }

    /// Has Envoy validate a bootstrap.
    ///
    /// # Errors
    /// When Envoy refuses it, with its reason.
    pub(crate) fn validate(&self, bootstrap: Value, stop: &AtomicBool) -> Result<(), TryOutError> {
        let spec = self.spec(bootstrap, "");
        spec.configure()?;
        Ok(spec.validate(stop)?)
    }

    /// Starts Envoy with a bootstrap, sends ten requests through the listener of this name, and ends Envoy.
    ///
    /// # Errors
    /// When Envoy refuses the bootstrap or does not become live, or the requests cannot be sent.
    pub(crate) fn run(
        &self,
        bootstrap: Value,
        listener: &str,
        request: &DerivedRequest,
        stop: &AtomicBool,
    ) -> Result<Answers, TryOutError> {
        let spec = self.spec(bootstrap, listener);
        spec.configure()?;
        let proxy = spec.start()?.wait_unless(stop).map_err(|error| spec.explained(error, stop))?;
        let before = proxy.all_statistics()?.unwrap_or_default();
        let result = self.send(proxy.address, request, stop)?.body;
        let answer = Answer {
            statuses: result.statuses,
            body_bytes: result.body_bytes,
            // Only these requests have gone through the proxy.
            reached_origin: proxy.requests_to(&[self.origin])?,
            statistics: proxy.all_statistics()?.unwrap_or_default().grown_since(&before),
        };
        proxy.end()?;
        Ok(Answers { answer, failures: result.failures })
    }

    fn send(
        &self,
        address: SocketAddr,
        request: &DerivedRequest,
        stop: &AtomicBool,
    ) -> Result<LoadResult, TryOutError> {
        let file = self.folder.join("answers.json");
        let headers = HeadersFile::write(self.folder.join("headers"), request)
            .map_err(|error| TryOutError::NotSent(format!("cannot write their headers: {error}")))?;
        let scheme = if request.tls.is_some() { "https" } else { "http" };
        let mut command = Command::new(self.program);
        command.arg("load").arg("--json").arg(&file);
        command.args([
            "--count",
            &REQUESTS.to_string(),
            "--connections",
            "1",
            "--never-halt",
            "never",
            "--warmup",
            "0s",
        ]);
        command.args([
            "--method",
            &request.method,
            "--protocol",
            if request.is_http2() { "http2" } else { "auto" },
        ]);
        let mut from_file = OsString::from("@");
        from_file.push(&headers.0);
        command.arg("--header").arg(from_file);
        if let Some(tls) = &request.tls {
            command.arg("--ca").arg(self.certificates.join("ca.pem"));
            if let Some(name) = &tls.server_name {
                command.args(["--server-name", name]);
            }
            if tls.presents_certificate {
                command.arg("--cert").arg(self.certificates.join("generator.pem"));
                command.arg("--key").arg(self.certificates.join("generator.key"));
            }
        }
        command.arg(format!("{scheme}://{address}{}", request.path));
        let output = command::run(command, TIMEOUT, stop)
            .map_err(|source| TryOutError::Run { program: self.program.to_owned(), source })?;
        let text = fs::read_to_string(&file);
        let result = text.ok().and_then(|text| serde_json::from_str(&text).ok());
        result.ok_or_else(|| TryOutError::NotSent(last_lines_of(&output.text, LOG_LINES)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_requested_of_proxies_that_have_one() {
        for requests in [true, false] {
            let flags = tls_flags(Path::new("/lab"), requests);
            let has = |flag: &str| flags.iter().any(|other| other == flag);
            assert!(has("/lab/origin.pem") && has("/lab/origin.key"), "{flags:?}");
            assert_eq!(
                (has("/lab/ca.pem"), has("--accept-anonymous-clients")),
                (requests, requests),
                "{flags:?}"
            );
        }
    }
}
