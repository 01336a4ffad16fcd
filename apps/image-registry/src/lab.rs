//! Starts the registry behind Envoy, which enforces the plans. `image-registry-lab` and the tests use it.

use std::fs::{self, DirBuilder};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use hoptax_functions::{CodeFile, Fragment};
use hoptax_host::child::{Child, ChildSpec};
use hoptax_subject::envoy::bootstrap::ProxyPlan;
use hoptax_subject::envoy::process::{ProxyError, ProxySpec};
use hoptax_subject::envoy::release::{Envoy, ReleaseError};
use serde_json::{Value, json};

use crate::application::{self, LISTENING, USAGE};

/// Time limit for the application to listen.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval at which the lab polls for the application to listen.
const POLL: Duration = Duration::from_millis(2);
/// Number of log lines in an error.
const LOG_LINES: usize = 8;
/// The cluster with the address that states the pulls of accounts.
const USAGE_CLUSTER: &str = "usage";

/// The mechanism that enforces the plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mechanism {
    /// A WebAssembly filter in Envoy.
    Wasm,
    /// A dynamic module in Envoy.
    Module,
}

impl Mechanism {
    /// All mechanisms.
    pub const ALL: [Self; 2] = [Self::Wasm, Self::Module];
}

/// An error that prevents the lab from running.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A file cannot be used.
    #[error("cannot use `{}`: {source}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The application exited.
    #[error("the application exited ({status}); its log `{}` ends with:\n{last_lines}", log.display())]
    Ended {
        /// Its exit status.
        status: ExitStatus,
        /// Its log.
        log: PathBuf,
        /// The last lines of the log.
        last_lines: String,
    },
    /// The application does not report that it listens.
    #[error("the application does not listen after {} s; its log is `{}`", START_TIMEOUT.as_secs(), .0.display())]
    NotListening(PathBuf),
    /// No Envoy is available.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// Envoy does not run.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
}

fn file_error(path: &Path) -> impl FnOnce(io::Error) -> LabError + '_ {
    move |source| LabError::File { path: path.to_owned(), source }
}

/// The running application; ended when dropped.
#[derive(Debug)]
pub struct ApplicationProcess {
    child: Child,
    folder: PathBuf,
    /// Its address for clients.
    pub address: SocketAddr,
    /// Its address for the data plane.
    pub usage_address: SocketAddr,
}

impl ApplicationProcess {
    /// Starts `program`, which is `image-registry`, with its data in `folder` and these further `flags`, on ports that the kernel chooses.
    /// Waits until it listens.
    ///
    /// # Errors
    /// It cannot be executed, exits, or does not listen.
    pub fn start(program: &Path, folder: &Path, flags: &[&str]) -> Result<Self, LabError> {
        // Only the owner of this process may read the key and the configuration of the proxy, which contains it.
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(file_error(folder))?;
        let log = folder.join("application.log");
        // The log must not contain the addresses of an earlier start, because the new ones are read from it.
        fs::write(&log, "").map_err(file_error(&log))?;
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).to_string();
        let first = ["--listen", &any, "--usage-listen", &any, "--folder"];
        let arguments = first.map(Into::into).into_iter().chain([folder.into()]);
        let spec = ChildSpec {
            program: program.to_owned(),
            arguments: arguments.chain(flags.iter().map(Into::into)).collect(),
            environment: Vec::new(),
            log: log.clone(),
            processors: Vec::new(),
        };
        let mut child = Child::start(&spec).map_err(file_error(program))?;
        let began = Instant::now();
        loop {
            check(&mut child)?;
            let text = fs::read_to_string(&log).map_err(file_error(&log))?;
            if let (Some(address), Some(usage_address)) = (listed(&text, LISTENING), listed(&text, USAGE)) {
                return Ok(Self { child, folder: folder.to_owned(), address, usage_address });
            }
            if began.elapsed() > START_TIMEOUT {
                return Err(LabError::NotListening(log));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Returns an error with the last lines of its log if it has ended.
    ///
    /// # Errors
    /// When it has ended.
    pub fn check(&mut self) -> Result<(), LabError> {
        check(&mut self.child)
    }

    /// An Envoy in front of the application on `listen`, with this number of worker threads, that enforces the plans. Its files are in the
    /// folder `proxy` next to the application's; an Envoy that is restarted there continues with the counts of its predecessor.
    ///
    /// # Errors
    /// The key cannot be read, or no Envoy is available.
    pub fn behind(
        &self,
        mechanism: Mechanism,
        listen: SocketAddr,
        workers: usize,
    ) -> Result<ProxySpec, LabError> {
        let key_file = self.folder.join(application::KEY_FILE);
        let key = application::key_text(&self.folder).map_err(file_error(&key_file))?;
        let directory = std::path::absolute(&self.folder).map_err(file_error(&self.folder))?.join("proxy");
        fs::create_dir_all(&directory).map_err(file_error(&directory))?;
        let fragment = Some(fragment(mechanism, &key, &directory, self.usage_address));
        let plan = ProxyPlan { fragment, ..ProxyPlan::plain(listen, vec![self.address]) };
        Ok(ProxySpec {
            envoy: Envoy::usual()?,
            directory,
            source: plan.into(),
            environment: [].into(),
            flags: Vec::new(),
            generation: None,
            workers,
            processors: Vec::new(),
        })
    }
}

fn check(child: &mut Child) -> Result<(), LabError> {
    match child.ended().map_err(file_error(child.log()))? {
        None => Ok(()),
        Some(status) => Err(LabError::Ended {
            status,
            log: child.log().to_owned(),
            last_lines: child.last_lines(LOG_LINES),
        }),
    }
}

/// The address in the line of a log that has this prefix.
fn listed(log: &str, prefix: &str) -> Option<SocketAddr> {
    // A line without a newline may be incomplete.
    let complete = &log[..=log.rfind('\n')?];
    complete.lines().find_map(|line| line.strip_prefix(prefix))?.parse().ok()
}

/// The part of Envoy's configuration that enforces the plans.
fn fragment(mechanism: Mechanism, key: &str, directory: &Path, usage: SocketAddr) -> Fragment {
    let code = match mechanism {
        Mechanism::Wasm => CodeFile::WasmFilters,
        Mechanism::Module => CodeFile::Module,
    };
    let path = code.path(directory);
    let (filter, clusters) = match mechanism {
        Mechanism::Wasm => {
            let settings = json!({"key": key, "usage_cluster": USAGE_CLUSTER});
            (wasm_filter(&path, &format!("plans {settings}")), vec![usage_cluster(usage)])
        }
        Mechanism::Module => {
            let settings = json!({"key": key, "counts": directory.join("counts")});
            (module_filter(&path, &settings.to_string()), Vec::new())
        }
    };
    let map = |value: Value| if let Value::Object(map) = value { map } else { serde_json::Map::new() };
    Fragment {
        http_filters: vec![map(filter)],
        clusters: clusters.into_iter().map(map).collect(),
        files: vec![(path, code.bytes())],
        ..Fragment::default()
    }
}

fn text(value: &str) -> Value {
    json!({"@type": "type.googleapis.com/google.protobuf.StringValue", "value": value})
}

fn wasm_filter(path: &Path, settings: &str) -> Value {
    json!({
        "name": "envoy.filters.http.wasm",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
            "config": {
                "name": "plans",
                "root_id": "plans",
                "configuration": text(settings),
                "vm_config": {"runtime": "envoy.wasm.runtime.v8", "code": {"local": {"filename": path}}},
            },
        },
    })
}

fn module_filter(path: &Path, settings: &str) -> Value {
    json!({
        "name": "envoy.filters.http.dynamic_modules",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.dynamic_modules.v3.DynamicModuleFilter",
            "dynamic_module_config": {
                "module": {"local": {"filename": path}},
                "metrics_namespace": "hoptax",
            },
            "filter_name": "plans",
            "filter_config": text(settings),
        },
    })
}

fn usage_cluster(address: SocketAddr) -> Value {
    let address = json!({"address": address.ip(), "port_value": address.port()});
    json!({
        "name": USAGE_CLUSTER,
        "type": "STATIC",
        "connect_timeout": "1s",
        "load_assignment": {
            "cluster_name": USAGE_CLUSTER,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": {"socket_address": address}}}]}],
        },
    })
}
