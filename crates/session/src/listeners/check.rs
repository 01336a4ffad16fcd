//! Runs Envoy on what a listeners file becomes, and tries each promise of the file with requests of its own.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use hoptax_certs::KeyKind;
use hoptax_listeners::check::{
    About, Course, Judged, Lab, MARK, Promise, Seen, Trial, certificate_names, courses, in_lab, judge,
};
use hoptax_listeners::{Plan, render};
use hoptax_report::documents::{
    CheckedListener, CheckedPromise, ListenersCheckBody, ListenersCheckResult, Outcome, PromiseKind,
};
use hoptax_result::Environment;
use hoptax_subject::envoy::process::{Proxy, ProxyError, ProxySpec, Source};
use hoptax_subject::envoy::release::Envoy;
use hoptax_subject::lab::{GENERATOR, Lab as Certificates, ORIGIN, PeerNames};
use hoptax_wire::tls::{
    ClientConfig, ClientSecurity, Identity, ServerConfig, ServerName, ServerSecurity, Versions,
    certificates_from_pem, client_config, server_config,
};
use serde_json::Value;

use super::client::{self, Response};
use super::plan;
use super::servers::{Security, Servers};
use crate::environment::here;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::update::{Say, Update};

/// The server of clusters that no request is for: collectors of spans and services of limits.
const OTHER: &str = "";
/// A name that no file asks for.
const WRONG_NAME: &str = "other-name.hoptax.invalid";
/// How long a response may take beyond what is promised.
const PATIENCE: Duration = Duration::from_secs(20);
/// The most trials of a promise that a busy machine may have broken.
const MOST_TRIALS: u32 = 3;
/// The most requests until one goes the way of a share. Of a share of 1 %, so many miss it once in 10^8.
const MOST_REQUESTS: u32 = 2000;
/// The clusters whose promises are tried at a time.
const MOST_AT_A_TIME: usize = 64;

/// What is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The listeners file.
    pub file: &'a Path,
    /// A file of services.
    pub services: Option<&'a Path>,
    /// The Envoy.
    pub envoy: Option<&'a str>,
}

/// What the servers and the client need of TLS.
struct LabTls {
    certificates: Certificates,
    client: Arc<ClientConfig>,
}

/// Where promises are tried.
struct Bench<'a> {
    servers: &'a Servers,
    addresses: BTreeMap<String, SocketAddr>,
    client: Arc<ClientConfig>,
    marks: AtomicU64,
    interrupt: &'a Interrupt,
}

/// Checks a listeners file.
///
/// # Errors
/// All problems of the file, Envoy's reason to refuse what it becomes, and when something that the check needs is missing.
pub fn check(
    wanted: &Wanted<'_>,
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<ListenersCheckResult, Failure> {
    let plan = plan(wanted.file, wanted.services)?;
    let bootstrap = render(&plan).map_err(Failure::bad_input)?.bootstrap();
    let courses = courses(&plan);
    let envoy =
        Envoy::find(wanted.envoy, &mut |text| say(Update::Note(text))).map_err(Failure::environment)?;
    interrupt.check()?;
    let folder = interrupt.temporary_folder("listeners")?;
    let tls = LabTls::create(folder.path())?;
    let servers = tls.servers(&plan, &courses)?;
    let proxy = started(&envoy, bootstrap, &servers, &tls, &courses, folder.path(), interrupt)?;
    let addresses = proxy.listeners().map_err(Failure::environment)?;
    let client = Arc::clone(&tls.client);
    let bench = Bench { servers: &servers, addresses, client, marks: AtomicU64::new(0), interrupt };
    let waits = longest_wait_s(&courses);
    if waits > 5 {
        say(Update::Note(&format!("the check waits for every timeout: {waits} s")));
    }
    let judged = bench.try_all(&courses);
    interrupt.check()?;
    proxy.end().map_err(Failure::environment)?;
    let environment = Environment { proxy_version: Some(envoy.version.clone()), ..here(false) };
    let file = wanted.file.display().to_string();
    Ok(ListenersCheckResult::new(environment, body(file, envoy.version, &courses, judged)))
}

impl LabTls {
    fn create(folder: &Path) -> Result<Self, Failure> {
        let certificates = Certificates::create(&folder.join("certificates"), [], &PeerNames::default())
            .map_err(Failure::environment)?;
        let read = |path: PathBuf| {
            fs::read(&path)
                .map_err(|error| Failure::environment(format!("cannot read `{}`: {error}", path.display())))
        };
        let authority = read(certificates.authority())?;
        let (certificate, key) =
            (read(certificates.certificate(GENERATOR))?, read(certificates.key(GENERATOR))?);
        let client = client_config(ClientSecurity {
            authorities: certificates_from_pem(&authority).map_err(Failure::environment)?,
            identity: Some(Identity::from_pem(&certificate, &key).map_err(Failure::environment)?),
            ..ClientSecurity::default()
        })
        .map_err(Failure::environment)?;
        Ok(Self { certificates, client })
    }

    /// A server for each cluster, and one for all other clusters.
    fn servers(&self, plan: &Plan, courses: &[Course]) -> Result<Servers, Failure> {
        let names = certificate_names(plan);
        let mut all = vec![(OTHER.to_owned(), None)];
        let mut clusters: Vec<&str> = courses.iter().map(|course| course.cluster.as_str()).collect();
        clusters.sort_unstable();
        clusters.dedup();
        let wrong = (!names.is_empty()).then(|| self.server(WRONG_NAME)).transpose()?;
        for cluster in clusters {
            let security = match (names.get(cluster), &wrong) {
                (Some(name), Some(wrong)) => {
                    Some(Security { right: self.server(name)?, wrong: Arc::clone(wrong) })
                }
                _ => None,
            };
            all.push((cluster.to_owned(), security));
        }
        Servers::start(all).map_err(|error| Failure::environment(format!("cannot start a server: {error}")))
    }

    fn server(&self, name: &str) -> Result<Arc<ServerConfig>, Failure> {
        let signed = self.certificates.certificates().sign(&[name.to_owned()].into(), KeyKind::P256);
        let signed = signed.map_err(Failure::environment)?;
        let identity = Identity::from_pem(signed.certificate.as_bytes(), signed.key.as_bytes());
        server_config(ServerSecurity {
            identity: identity.map_err(Failure::environment)?,
            client_authorities: Vec::new(),
            accepts_anonymous_clients: true,
            versions: Versions::Both,
            // A resumed session would show no certificate.
            resumes: false,
            alpn: Vec::new(),
        })
        .map_err(Failure::environment)
    }
}

/// Envoy on the bootstrap, in the lab.
fn started(
    envoy: &Envoy,
    bootstrap: Value,
    servers: &Servers,
    tls: &LabTls,
    courses: &[Course],
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<Proxy, Failure> {
    let mut addresses = servers.addresses();
    let other =
        addresses.remove(OTHER).ok_or_else(|| Failure::environment("no server for other clusters"))?;
    let lab = Lab {
        servers: addresses,
        other,
        authority: tls.certificates.authority(),
        certificate: tls.certificates.certificate(ORIGIN),
        key: tls.certificates.key(ORIGIN),
        access_log: folder.join("access.log"),
    };
    let listener = courses.first().map(|course| course.listener.clone()).unwrap_or_default();
    let spec = ProxySpec {
        envoy: envoy.clone(),
        directory: folder.join("envoy"),
        source: Source::Given { bootstrap: in_lab(bootstrap, &lab), listener },
        environment: BTreeMap::new(),
        flags: Vec::new(),
        workers: 1,
        processors: Vec::new(),
        generation: None,
    };
    let stop = interrupt.flag();
    let start = || {
        spec.configure()?;
        spec.validate(stop)?;
        spec.start()?.wait_unless(stop).map_err(|error| spec.explained(error, stop))
    };
    start().map_err(|error| match &error {
        _ if interrupt.is_requested() => Failure::interrupted(),
        ProxyError::Refused { reason, .. } => {
            Failure::bad_input(format!("Envoy {} refuses what the file becomes:\n{reason}", envoy.version))
        }
        _ => Failure::environment(error),
    })
}

/// The time that all trials wait, seconds: those of a cluster wait one after the other.
fn longest_wait_s(courses: &[Course]) -> u64 {
    let mut waits: BTreeMap<&str, u64> = BTreeMap::new();
    for course in courses {
        let trials = course.promises.iter().filter_map(|promise| promise.trial.as_ref().ok());
        *waits.entry(&course.cluster).or_default() += trials.filter_map(Trial::wait_us).sum::<u64>();
    }
    waits.into_values().max().unwrap_or_default() / 1_000_000
}

impl Bench<'_> {
    /// Tries all promises. Those of a cluster are tried one after the other, because its limits hold for all of its requests.
    fn try_all(&self, courses: &[Course]) -> Vec<Vec<Judged>> {
        let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, course) in courses.iter().enumerate() {
            groups.entry(&course.cluster).or_default().push(index);
        }
        let groups: Vec<Vec<usize>> = groups.into_values().collect();
        let next = AtomicUsize::new(0);
        let all = Mutex::new(vec![Vec::new(); courses.len()]);
        thread::scope(|scope| {
            for _ in 0..groups.len().min(MOST_AT_A_TIME) {
                scope.spawn(|| {
                    while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                        for index in group {
                            let Some(course) = courses.get(*index) else { continue };
                            let judged = self.try_course(course);
                            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                            if let Some(place) = all.get_mut(*index) {
                                *place = judged;
                            }
                        }
                    }
                });
            }
        });
        all.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tries the promises of a course; without an arrival the others cannot be.
    fn try_course(&self, course: &Course) -> Vec<Judged> {
        let mut obstacle = None;
        let mut judged = Vec::with_capacity(course.promises.len());
        for promise in &course.promises {
            judged.push(match (&promise.trial, &obstacle) {
                (Err(why), _) => Judged::Untried(why.clone()),
                (_, Some(why)) => Judged::Untried(String::clone(why)),
                (Ok(trial), None) => {
                    let (one, arrived) = self.try_promise(course, trial);
                    if promise.about == About::Arrival && !arrived {
                        obstacle = Some("no request arrives".to_owned());
                    }
                    one
                }
            });
        }
        judged
    }

    /// Tries a promise, again if a busy machine may have broken it. What came of it, and whether a request arrived.
    fn try_promise(&self, course: &Course, trial: &Trial) -> (Judged, bool) {
        let mut trials = 1;
        loop {
            let seen = self.seen(course, trial);
            let judged = judge(course, trial, &seen);
            let may_differ = matches!(judged, Judged::Broken { is_excusable: true, .. });
            if !may_differ || trials == MOST_TRIALS || self.interrupt.is_requested() {
                return (judged, !seen.arrivals.is_empty());
            }
            trials += 1;
        }
    }

    /// Sends requests until one goes to the cluster of a course.
    fn seen(&self, course: &Course, trial: &Trial) -> Seen {
        let is_wrong = *trial == Trial::WrongName;
        self.servers.set_wrong(&course.cluster, is_wrong);
        let wrong_before = self.servers.wrong_names(&course.cluster);
        let mut requests = 1;
        let seen = loop {
            let mut seen = self.request(course, trial);
            seen.wrong_names = self.servers.wrong_names(&course.cluster) - wrong_before;
            let is_here =
                seen.wrong_names > 0 || seen.arrivals.iter().any(|arrival| arrival.cluster == course.cluster);
            if !course.is_shared || is_here || requests == MOST_REQUESTS || self.interrupt.is_requested() {
                break seen;
            }
            requests += 1;
        };
        self.servers.set_wrong(&course.cluster, false);
        seen
    }

    fn request(&self, course: &Course, trial: &Trial) -> Seen {
        let Some(address) = self.addresses.get(&course.listener) else {
            let response = Err("Envoy has no such listener".to_owned());
            return Seen { response, took_us: 0, arrivals: Vec::new(), wrong_names: 0 };
        };
        let mark = format!("{}", self.marks.fetch_add(1, Ordering::Relaxed));
        self.servers.expect(&mark, &course.cluster, trial.answer());
        let request = format!(
            "GET {} HTTP/1.1\r\nhost: {}\r\n{MARK}: {mark}\r\nconnection: close\r\n\r\n",
            course.path, course.host
        );
        let limit = Duration::from_micros(trial.wait_us().unwrap_or_default()) + PATIENCE;
        let name = ServerName::try_from("localhost").ok().filter(|_| course.is_tls);
        let tls = name.map(|name| (&self.client, name));
        let Response { status, took } = client::send(*address, tls, &request, limit, self.interrupt.flag());
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        Seen { response: status, took_us, arrivals: self.servers.arrived(&mark), wrong_names: 0 }
    }
}

fn body(file: String, envoy: String, courses: &[Course], judged: Vec<Vec<Judged>>) -> ListenersCheckBody {
    let mut listeners: Vec<CheckedListener> = Vec::new();
    for (course, judged) in courses.iter().zip(judged) {
        if listeners.last().is_none_or(|last| last.name != course.listener) {
            listeners.push(CheckedListener { name: course.listener.clone(), promises: Vec::new() });
        }
        let promises =
            course.promises.iter().zip(judged).map(|(promise, judged)| checked(course, promise, judged));
        if let Some(last) = listeners.last_mut() {
            last.promises.extend(promises);
        }
    }
    ListenersCheckBody { file, envoy, listeners }
}

fn checked(course: &Course, promise: &Promise, judged: Judged) -> CheckedPromise {
    let (outcome, seen) = match judged {
        Judged::Kept(seen) => (Outcome::Kept, seen),
        Judged::Broken { seen, .. } => (Outcome::Broken, seen),
        Judged::Untried(why) => (Outcome::Untried, why),
    };
    let about = match promise.about {
        About::Arrival => PromiseKind::Arrival,
        About::Timeout => PromiseKind::Timeout,
        About::Tries => PromiseKind::Tries,
        About::Certificate => PromiseKind::Certificate,
    };
    CheckedPromise { about, cluster: course.cluster.clone(), said: promise.said.clone(), outcome, seen }
}
