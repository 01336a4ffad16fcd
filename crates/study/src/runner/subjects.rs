//! All subjects of a round: the origins, the proxies and the generator's connections to them.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hoptax_functions::{Context, Fragment, REQUEST_PATH};
use hoptax_load::{Target, Worker, WorkerSpec};
use hoptax_subject::envoy::bootstrap::ProxyPlan;
use hoptax_subject::envoy::process::{Proxy, ProxySpec, StartingProxy};
use hoptax_subject::origin::OriginProcess;

use super::{ArmError, RunError, Setting};
use crate::plan::{self, Arm, Plan};

/// Time after which a connection or a request has failed.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The folder of an arm in which its function writes.
const FILES: &str = "files";

/// What is alive in a round.
pub(super) struct Subjects {
    pub(super) arms: Vec<Subject>,
    origins: Vec<OriginProcess>,
    /// Folders in which functions write, emptied when the round is over: an access log grows fast.
    files: Vec<PathBuf>,
}

/// One arm, alive.
pub(super) struct Subject {
    /// None without a proxy.
    pub(super) proxy: Option<Proxy>,
    /// The connections under each load; none where the arm takes no part.
    pub(super) workers: Vec<Option<Worker>>,
}

impl Subjects {
    /// Starts everything, in the random order of the round, and waits until all of it is ready.
    pub(super) fn bring_up(
        plan: &Plan,
        setting: &Setting<'_>,
        round: u32,
        stop: &AtomicBool,
    ) -> Result<Self, RunError> {
        let origins = start_origins(plan, setting)?;
        let addresses: Vec<SocketAddr> = origins.iter().map(|origin| origin.address).collect();
        let mut files = Vec::new();
        let mut starting: Vec<(usize, StartingProxy)> = Vec::new();
        for index in plan::shuffled(plan, round) {
            let Some(arm) = plan.arms.get(index).filter(|arm| needs_proxy(arm)) else { continue };
            if stop.load(Ordering::Relaxed) {
                return Ok(Self { arms: Vec::new(), origins, files });
            }
            let spec = proxy_spec(arm, setting, &addresses).map_err(of(arm))?;
            let start = || {
                spec.configure()?;
                if round == 0 {
                    // Later rounds differ in the origins' ports alone.
                    spec.validate()?;
                }
                Ok(spec.start()?)
            };
            starting.push((index, start().map_err(of(arm))?));
            files.push(spec.directory.join(FILES));
        }
        let mut proxies: Vec<Option<Proxy>> = plan.arms.iter().map(|_| None).collect();
        for (index, one) in starting {
            if let (Some(place), Some(arm)) = (proxies.get_mut(index), plan.arms.get(index)) {
                *place = Some(one.wait().map_err(|error| of(arm)(error.into()))?);
            }
        }
        let mut arms = Vec::with_capacity(plan.arms.len());
        for (arm, proxy) in plan.arms.iter().zip(proxies) {
            let address = proxy.as_ref().map(|proxy| proxy.address).or(addresses.first().copied());
            let workers = match address {
                Some(address) => connect(plan, arm, address).map_err(of(arm))?,
                None => Vec::new(),
            };
            arms.push(Subject { proxy, workers });
        }
        Ok(Self { arms, origins, files })
    }

    /// An error when an origin or the proxy of one of `arms` has ended.
    pub(super) fn check(&mut self, plan: &Plan, arms: &[usize]) -> Result<(), RunError> {
        for origin in &mut self.origins {
            origin.check()?;
        }
        for &index in arms {
            let proxy = self.arms.get_mut(index).and_then(|subject| subject.proxy.as_mut());
            if let (Some(proxy), Some(arm)) = (proxy, plan.arms.get(index)) {
                proxy.check().map_err(|error| of(arm)(error.into()))?;
            }
        }
        Ok(())
    }

    /// Ends everything: connections, then proxies, then origins.
    pub(super) fn end(mut self) -> Result<(), RunError> {
        let mut proxies: Vec<Proxy> =
            std::mem::take(&mut self.arms).into_iter().filter_map(|subject| subject.proxy).collect();
        for proxy in &mut proxies {
            proxy.ask_to_end().map_err(|error| RunError::System(io::Error::other(error)))?;
        }
        for proxy in proxies {
            proxy.end().map_err(|error| RunError::System(io::Error::other(error)))?;
        }
        for origin in std::mem::take(&mut self.origins) {
            origin.end()?;
        }
        Ok(())
    }
}

impl Drop for Subjects {
    fn drop(&mut self) {
        // Whoever writes there goes first.
        self.arms.clear();
        for folder in &self.files {
            // They are in the way of nothing: a folder that cannot be removed is no reason to fail.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

fn of(arm: &Arm) -> impl Fn(ArmError) -> RunError + '_ {
    |cause| RunError::Arm { arm: arm.id.clone(), cause }
}

fn needs_proxy(arm: &Arm) -> bool {
    arm.kind != hoptax_result::ArmKind::Direct
}

/// As many origins as the arm that needs most of them; the others use the first of these.
fn start_origins(plan: &Plan, setting: &Setting<'_>) -> Result<Vec<OriginProcess>, RunError> {
    let count = plan.arms.iter().map(|arm| arm.upstreams).max().unwrap_or(1);
    (1..=count)
        .map(|number| {
            let log = setting.directory.join(format!("origin-{number}.log"));
            Ok(OriginProcess::start(setting.program, &log, &setting.placement.generator)?)
        })
        .collect()
}

fn proxy_spec(arm: &Arm, setting: &Setting<'_>, origins: &[SocketAddr]) -> Result<ProxySpec, ArmError> {
    let directory = setting.directory.join("arms").join(arm.folder());
    let files = directory.join(FILES);
    fs::create_dir_all(&files)
        .map_err(|source| hoptax_subject::envoy::process::ProxyError::File { path: files.clone(), source })?;
    let fragment: Option<Fragment> = match &arm.function {
        Some((function, knobs)) => Some(function.render(knobs, &Context { directory: &files })?),
        None => None,
    };
    let origins = origins.iter().take(arm.upstreams).copied().collect();
    Ok(ProxySpec {
        envoy: setting.envoy.clone(),
        directory,
        plan: ProxyPlan { admin_port: 0, listen_port: 0, origins, fragment },
        environment: arm.conditions.environment.clone(),
        workers: setting.placement.proxy.len(),
        processors: setting.placement.proxy.clone(),
    })
}

/// The connections under each load.
fn connect(plan: &Plan, arm: &Arm, address: SocketAddr) -> Result<Vec<Option<Worker>>, ArmError> {
    let query = arm.conditions.query.as_ref().map_or_else(String::new, |query| format!("?{query}"));
    let url = format!("http://{address}{REQUEST_PATH}{query}");
    let headers = plan.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let target = Target::new(&url, "GET", headers, Vec::new())?;
    plan.loads
        .iter()
        .map(|load| {
            if !arm.takes_part(load) {
                return Ok(None);
            }
            let spec = WorkerSpec::alone(target.clone(), arm.connections(load), TIMEOUT, plan.seed);
            Ok(Some(Worker::connect(&spec)?))
        })
        .collect()
}
