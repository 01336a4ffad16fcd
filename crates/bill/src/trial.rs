//! Starts one Envoy on a bootstrap, sends requests through a listener, and reads which statistics moved.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use hoptax_bootstrap::request::DerivedRequest;
use hoptax_host::child::{Child, ChildSpec, last_lines_of};
use hoptax_host::command::{self, CommandError};
use hoptax_result::LoadResult;
use hoptax_subject::envoy::release::Envoy;
use hoptax_subject::origin::{OriginError, OriginProcess};
use serde_json::Value;

/// Time limit for Envoy to validate a configuration, to become live, and for the requests.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Interval of polling for readiness.
const POLL: Duration = Duration::from_millis(10);
/// Time limit for Envoy to end when asked to.
const GRACE: Duration = Duration::from_secs(2);
/// Number of log lines in an error.
const LOG_LINES: usize = 8;
/// Number of requests. Rate limits of single digits per second are usual in examples, so that more would mostly be refused.
const REQUESTS: u64 = 10;

/// The servers behind the proxy.
#[derive(Debug)]
pub struct Stubs {
    /// The server that stands for every cluster.
    pub origin: OriginProcess,
    /// The server that stands for every external service.
    pub companion: OriginProcess,
}

impl Stubs {
    /// Starts both. `program` is hoptax; certificates are those of [`crate::write_files`].
    ///
    /// # Errors
    /// When one does not start.
    pub fn start(program: &Path, certificates: &Path, folder: &Path) -> Result<Self, OriginError> {
        let tls: Vec<OsString> = vec![
            "--cert".into(),
            certificates.join("origin.pem").into(),
            "--key".into(),
            certificates.join("origin.key").into(),
        ];
        let start = |name: &str| {
            let log = folder.join(format!("{name}.log"));
            OriginProcess::start(program, IpAddr::V4(Ipv4Addr::LOCALHOST), &tls, &log, &[])
        };
        Ok(Self { origin: start("origin")?, companion: start("companion")? })
    }
}

/// One variant of the configuration.
#[derive(Debug)]
pub struct Trial<'a> {
    /// The Envoy to run.
    pub envoy: &'a Envoy,
    /// hoptax, which sends the requests.
    pub program: &'a Path,
    /// The folder of the bootstrap and the log of this variant.
    pub folder: PathBuf,
    /// The folder of the certificates.
    pub certificates: &'a Path,
}

/// What the requests got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answers {
    /// Responses by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Failed requests by kind.
    pub failures: BTreeMap<String, u64>,
    /// How far the statistics moved, by name; only those that did.
    pub moved: BTreeMap<String, u64>,
}

/// Why a variant cannot be tried.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// Envoy refuses it.
    #[error("Envoy refuses the configuration `{}`:\n{message}", config.display())]
    Refused {
        /// The bootstrap.
        config: PathBuf,
        /// Envoy's message.
        message: String,
    },
    /// A file cannot be used.
    #[error("cannot use `{}`: {source}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A program cannot be run.
    #[error("cannot run `{}`: {source}", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// The cause.
        source: CommandError,
    },
    /// Envoy does not serve.
    #[error("Envoy does not serve ({cause}); its log `{}` ends with:\n{last_lines}", log.display())]
    NotLive {
        /// What is missing.
        cause: String,
        /// Its log.
        log: PathBuf,
        /// The last lines of the log.
        last_lines: String,
    },
    /// The load that sends the requests did not run.
    #[error("the requests were not sent:\n{0}")]
    NotSent(String),
}

impl Trial<'_> {
    /// Path of the bootstrap.
    pub fn config(&self) -> PathBuf {
        self.folder.join("bootstrap.json")
    }

    /// Writes a bootstrap and has Envoy validate it.
    ///
    /// # Errors
    /// When Envoy refuses it, with its reason.
    pub fn validate(&self, bootstrap: &Value, stop: &AtomicBool) -> Result<(), TrialError> {
        let config = self.config();
        let file = |source| TrialError::File { path: config.clone(), source };
        fs::create_dir_all(&self.folder).map_err(file)?;
        fs::write(&config, format!("{bootstrap:#}")).map_err(file)?;
        let mut command = Command::new(&self.envoy.program);
        command.args(["--mode", "validate", "--log-level", "critical"]).args(self.arguments());
        let output = command::run(command, TIMEOUT, stop)
            .map_err(|source| TrialError::Run { program: self.envoy.program.clone(), source })?;
        if output.status.success() {
            return Ok(());
        }
        // The reason comes first; what follows is the message that was refused.
        let message = output.text.lines().take(LOG_LINES).collect::<Vec<_>>().join("\n");
        Err(TrialError::Refused { config, message })
    }

    fn arguments(&self) -> Vec<OsString> {
        let config = self.config();
        vec![
            "--config-path".into(),
            config.into(),
            "--concurrency".into(),
            "1".into(),
            "--disable-hot-restart".into(),
        ]
    }

    /// Starts Envoy on the validated bootstrap, sends ten requests through the listener of this name, and ends Envoy.
    ///
    /// # Errors
    /// When Envoy does not become live, or the requests cannot be sent.
    pub fn run(
        &self,
        listener: &str,
        request: &DerivedRequest,
        stop: &AtomicBool,
    ) -> Result<Answers, TrialError> {
        let (mut child, admin) = self.start()?;
        let result = self.send_through(&mut child, &admin, listener, request, stop);
        // An Envoy that does not end is killed when dropped.
        let _ = child.end(GRACE);
        result
    }

    fn start(&self) -> Result<(Child, PathBuf), TrialError> {
        let admin = self.folder.join("admin-address");
        // A file of an earlier start would name its port.
        let _ = fs::remove_file(&admin);
        let mut arguments = self.arguments();
        arguments.extend([
            "--admin-address-path".into(),
            admin.clone().into(),
            "--log-level".into(),
            "warning".into(),
        ]);
        let spec = ChildSpec {
            program: self.envoy.program.clone(),
            arguments,
            environment: Vec::new(),
            log: self.folder.join("envoy.log"),
            processors: Vec::new(),
        };
        let child = Child::start(&spec).map_err(|source| TrialError::Run {
            program: spec.program,
            source: CommandError::Start(source),
        })?;
        Ok((child, admin))
    }

    fn send_through(
        &self,
        child: &mut Child,
        admin: &Path,
        listener: &str,
        request: &DerivedRequest,
        stop: &AtomicBool,
    ) -> Result<Answers, TrialError> {
        let began = Instant::now();
        let (admin, address) = loop {
            let cause = match addresses(admin, listener) {
                Ok(found) => break found,
                Err(cause) => cause,
            };
            let ended = child.ended().ok().flatten();
            if ended.is_some() || began.elapsed() > TIMEOUT {
                let cause = ended.map_or(cause, |status| status.to_string());
                return Err(not_live(child, cause));
            }
            std::thread::sleep(POLL);
        };
        let before = statistics(admin).map_err(|cause| not_live(child, cause))?;
        let result = self.send(address, request, stop)?;
        let after = statistics(admin).map_err(|cause| not_live(child, cause))?;
        let moved = after.into_iter().filter_map(|(name, value)| {
            let by = value.saturating_sub(before.get(&name).copied().unwrap_or(0));
            (by > 0).then_some((name, by))
        });
        Ok(Answers { statuses: result.statuses, failures: result.failures, moved: moved.collect() })
    }

    fn send(
        &self,
        address: SocketAddr,
        request: &DerivedRequest,
        stop: &AtomicBool,
    ) -> Result<LoadResult, TrialError> {
        let file = self.folder.join("answers.json");
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
        command.arg("--header").arg(format!("host: {}", request.host));
        for (name, value) in &request.headers {
            command.arg("--header").arg(format!("{name}: {value}"));
        }
        if let Some(tls) = &request.tls {
            command.arg("--ca").arg(self.certificates.join("ca.pem"));
            if let Some(name) = &tls.server_name {
                command.args(["--server-name", name]);
            }
            if tls.presents_certificate {
                command.arg("--cert").arg(self.certificates.join("client.pem"));
                command.arg("--key").arg(self.certificates.join("client.key"));
            }
        }
        command.arg(format!("{scheme}://{address}{}", request.path));
        let output = command::run(command, TIMEOUT, stop)
            .map_err(|source| TrialError::Run { program: self.program.to_owned(), source })?;
        let text = fs::read_to_string(&file);
        let result = text.ok().and_then(|text| serde_json::from_str(&text).ok());
        result.ok_or_else(|| TrialError::NotSent(last_lines_of(&output.text, LOG_LINES)))
    }
}

fn not_live(child: &Child, cause: String) -> TrialError {
    TrialError::NotLive { cause, log: child.log().to_owned(), last_lines: child.last_lines(LOG_LINES) }
}

/// The addresses of the admin interface and of a listener, or what is still missing.
fn addresses(admin: &Path, listener: &str) -> Result<(SocketAddr, SocketAddr), String> {
    let text = fs::read_to_string(admin).map_err(|_| "its admin interface is not open".to_owned())?;
    let admin: SocketAddr = text.trim().parse().map_err(|_| "its admin interface is not open".to_owned())?;
    let state = get(admin, "/ready")?;
    if state.trim() != "LIVE" {
        return Err(format!("its admin interface reports {}", state.trim()));
    }
    let listeners: Value = serde_json::from_str(&get(admin, "/listeners?format=json")?).unwrap_or_default();
    let found =
        listeners["listener_statuses"].as_array().into_iter().flatten().find(|one| one["name"] == listener);
    let address = found.map(|one| &one["local_address"]["socket_address"]).and_then(|address| {
        let port = address["port_value"].as_u64().filter(|port| *port != 0)?;
        Some(SocketAddr::new(address["address"].as_str()?.parse().ok()?, u16::try_from(port).ok()?))
    });
    Ok((admin, address.ok_or_else(|| format!("its listener `{listener}` has no port yet"))?))
}

/// Counters and gauges by name.
fn statistics(admin: SocketAddr) -> Result<BTreeMap<String, u64>, String> {
    let text = get(admin, "/stats?usedonly")?;
    let of = |line: &str| {
        let (name, value) = line.split_once(": ")?;
        Some((name.to_owned(), value.trim().parse().ok()?))
    };
    Ok(text.lines().filter_map(of).collect())
}

fn get(admin: SocketAddr, path: &str) -> Result<String, String> {
    // Readiness has a status of its own while Envoy starts.
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(Duration::from_secs(5)))
        .http_status_as_error(false)
        .build()
        .into();
    let failure = |error: ureq::Error| format!("its admin interface does not respond: {error}");
    let mut response = agent.get(format!("http://{admin}{path}")).call().map_err(failure)?;
    response.body_mut().read_to_string().map_err(failure)
}
