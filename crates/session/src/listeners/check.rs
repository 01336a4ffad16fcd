//! Runs Envoy on the configuration rendered from a listeners file, and tries each promise of the file with its own requests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use hoptax_certs::KeyKind;
use hoptax_host::limits::{allow_files, raising_for_files};
use hoptax_listeners::check::{
    Course, Judged, LIMITS, Lab, Procedure, Promise, Variant, certificate_names, courses, in_lab,
};
use hoptax_listeners::{Plan, render};
use hoptax_result::{
    CheckedListener, CheckedPromise, Environment, ListenersCheckBody, ListenersCheckResult, PromiseOutcome,
};
use hoptax_subject::envoy::process::{Proxy, ProxyError, ProxySpec, Source};
use hoptax_subject::envoy::release::{Envoy, EnvoyChoice};
use hoptax_subject::lab::{GENERATOR, Lab as Certificates, ORIGIN, PeerNames};
use hoptax_wire::tls::{ClientConfig, Identity, ServerConfig, ServerSecurity, Versions, server_config};
use serde_json::Value;

use super::bench::{Bench, Outcome, Tried};
use super::full_backlog::FullBacklog;
use super::limits::Limits;
use super::plan;
use super::servers::{Security, Servers};
use crate::environment::current;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::tls::{ClientTls, IdentityFiles};
use crate::update::{Say, Update};

/// Name of the server for clusters that get no requests of the check, such as collectors of spans.
const OTHER: &str = "";
/// Suffix of the name of a cluster's second server.
const SECOND: &str = " (second)";
/// A name that no listeners file contains.
const WRONG_NAME: &str = "other-name.hoptax.invalid";
/// Number of Envoy's workers. With several, each may open a connection to an upstream, so limits of connections are enforced less exactly.
const WORKERS: usize = 1;
/// Maximum number of groups of clusters that are tried at the same time.
const MOST_AT_A_TIME: usize = 64;

/// Settings of a check.
#[derive(Clone, Copy, Debug)]
pub struct ListenersCheckSettings<'a> {
    /// The listeners file.
    pub file: &'a Path,
    /// A file of services.
    pub services: Option<&'a Path>,
    /// The Envoy.
    pub envoy: EnvoyChoice<'a>,
}

/// TLS of the servers and the client.
struct LabTls {
    certificates: Certificates,
    client: Arc<ClientConfig>,
    /// TLS of a client without a certificate.
    anonymous_client: Arc<ClientConfig>,
}

/// Checks a listeners file.
///
/// # Errors
/// All problems of the file, Envoy's reason to refuse its configuration, and missing requirements of the check.
pub fn check(
    settings: &ListenersCheckSettings<'_>,
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<ListenersCheckResult, Failure> {
    let plan = plan(settings.file, settings.services)?;
    let bootstrap = render(&plan).map_err(Failure::bad_input)?.bootstrap();
    let courses = courses(&plan);
    let envoy = Envoy::find(settings.envoy, interrupt.flag(), &mut |text| say(Update::Note(text)))?;
    interrupt.check()?;
    let folder = interrupt.temporary_folder("listeners")?;
    let tls = LabTls::create(folder.path())?;
    let servers = tls.servers(&plan, &courses)?;
    let limits = Limits::start().map_err(cannot_start)?;
    let full_backlog =
        FullBacklog::start().map_err(|error| format!("cannot fill the queue of a listening socket: {error}"));
    // The proxy has the limit of the program that starts it.
    let no_crowd = room_for_crowds(&courses);
    let lab = lab(&servers, &limits, full_backlog.as_ref().ok(), &tls, folder.path())?;
    let mut proxies = BTreeMap::new();
    for variant in variants(&courses) {
        let bootstrap = in_lab(bootstrap.clone(), &lab, variant);
        let directory = folder.path().join(format!("{variant:?}").to_lowercase());
        proxies.insert(variant, started(&envoy, bootstrap, &courses, directory, interrupt)?);
    }
    let listeners = |(variant, proxy): (&Variant, &Proxy)| Ok((*variant, proxy.listeners()?));
    let addresses = proxies.iter().map(listeners).collect::<Result<_, ProxyError>>();
    let bench = Bench {
        servers: &servers,
        limits: &limits,
        addresses: addresses.map_err(Failure::environment)?,
        client: Arc::clone(&tls.client),
        anonymous_client: Arc::clone(&tls.anonymous_client),
        no_crowd,
        no_full_backlog: full_backlog.as_ref().err().cloned(),
        marks: AtomicU64::new(0),
        busy: Mutex::new(()),
        interrupt,
    };
    let groups = groups(&courses);
    let waits = longest_wait_s(&groups);
    if waits > 5 {
        say(Update::Note(&format!("the check waits for every timeout and for idle connections: {waits} s")));
    }
    let tried = try_all(&bench, &groups);
    interrupt.check()?;
    for proxy in proxies.into_values() {
        proxy.end().map_err(Failure::environment)?;
    }
    let environment = Environment {
        proxy_version: Some(envoy.version.clone()),
        proxy_build: envoy.build.clone(),
        ..current(false)
    };
    let file = settings.file.display().to_string();
    Ok(ListenersCheckResult::new(environment, body(file, envoy.version, &courses, tried)))
}

impl LabTls {
    fn create(folder: &Path) -> Result<Self, Failure> {
        let certificates = Certificates::create(&folder.join("certificates"), [], &PeerNames::default())
            .map_err(Failure::environment)?;
        let client = |identity| {
            let authorities = Some(certificates.authority());
            ClientTls { authorities, identity, resumes: Some(false), ..ClientTls::default() }.config(None)
        };
        let identity = IdentityFiles {
            certificate: certificates.certificate(GENERATOR),
            key: certificates.key(GENERATOR),
        };
        let (client, anonymous_client) = (client(Some(identity))?, client(None)?);
        Ok(Self { certificates, client, anonymous_client })
    }

    /// Starts a server for each cluster whose promises are tried, and one for all others.
    fn servers(&self, plan: &Plan, courses: &[Course]) -> Result<Servers, Failure> {
        let names = certificate_names(plan);
        let mut all = vec![(OTHER.to_owned(), None)];
        let mut clusters: Vec<&str> = courses.iter().map(|course| course.cluster.as_str()).collect();
        clusters.sort_unstable();
        clusters.dedup();
        let wrong = (!names.is_empty()).then(|| self.server(WRONG_NAME)).transpose()?;
        let of_ejections = trials(courses).filter(|(_, one)| one.variant() == Variant::Doubled);
        let doubled: BTreeSet<&str> = of_ejections.map(|(course, _)| course.cluster.as_str()).collect();
        for cluster in clusters {
            let security = match (names.get(cluster), &wrong) {
                (Some(name), Some(wrong)) => {
                    Some(Security { right: self.server(name)?, wrong: Arc::clone(wrong) })
                }
                _ => None,
            };
            if doubled.contains(cluster) {
                all.push((format!("{cluster}{SECOND}"), security.clone()));
            }
            all.push((cluster.to_owned(), security));
        }
        Servers::start(all).map_err(cannot_start)
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
            // In a resumed session, a server presents no certificate.
            resumes: false,
            alpn: Vec::new(),
        })
        .map_err(Failure::environment)
    }
}

#[allow(clippy::needless_pass_by_value, reason = "errors are mapped by value")]
fn cannot_start(error: std::io::Error) -> Failure {
    Failure::environment(format!("cannot start a server: {error}"))
}

/// Returns the addresses, certificates and paths that replace those of the bootstrap.
fn lab(
    servers: &Servers,
    limits: &Limits,
    full_backlog: Option<&FullBacklog>,
    tls: &LabTls,
    folder: &Path,
) -> Result<Lab, Failure> {
    let mut servers = servers.addresses();
    let other = servers.remove(OTHER).ok_or_else(|| Failure::environment("no server for other clusters"))?;
    let seconds = servers.iter().filter_map(|(name, address)| Some((name.strip_suffix(SECOND)?, *address)));
    let seconds = seconds.map(|(name, address)| (name.to_owned(), address)).collect();
    servers.insert(LIMITS.to_owned(), limits.address());
    Ok(Lab {
        servers,
        seconds,
        full_backlog: full_backlog.map_or(other, |full_backlog| full_backlog.address),
        other,
        authority: tls.certificates.authority(),
        certificate: tls.certificates.certificate(ORIGIN),
        key: tls.certificates.key(ORIGIN),
        access_log: folder.join("access.log"),
    })
}

/// Returns the procedure of each promise that can be tried, with the promise's course.
fn trials(courses: &[Course]) -> impl Iterator<Item = (&Course, Procedure)> {
    courses.iter().flat_map(|course| {
        let trials = course.promises.iter().filter_map(|promise| promise.trial.as_ref().ok());
        trials.map(move |trial| (course, trial.procedure()))
    })
}

/// The proxies that are needed.
fn variants(courses: &[Course]) -> BTreeSet<Variant> {
    trials(courses).map(|(_, procedure)| procedure.variant()).chain([Variant::Usual]).collect()
}

/// Starts Envoy on a bootstrap.
fn started(
    envoy: &Envoy,
    bootstrap: Value,
    courses: &[Course],
    directory: PathBuf,
    interrupt: &Interrupt,
) -> Result<Proxy, Failure> {
    let listener = courses.first().map(|course| course.listener.clone()).unwrap_or_default();
    let spec = ProxySpec {
        envoy: envoy.clone(),
        directory,
        source: Source::Given { bootstrap, listener },
        environment: BTreeMap::new(),
        flags: Vec::new(),
        workers: WORKERS,
        processors: Vec::new(),
        generation: None,
    };
    let stop = interrupt.flag();
    let start = || {
        spec.configure()?;
        // An Envoy that refuses the bootstrap ends. Validating the bootstrap then gives the reason.
        spec.start()?.wait_unless(stop).map_err(|error| spec.explained(error, stop))
    };
    start().map_err(|error| match &error {
        _ if interrupt.is_requested() => Failure::interrupted(),
        ProxyError::Refused { reason, .. } => {
            Failure::bad_input(format!("Envoy {} refuses the rendered file:\n{reason}", envoy.version))
        }
        _ => Failure::environment(error),
    })
}

/// Courses whose promises are tried one after the other, with their indexes.
type Group<'a> = Vec<(usize, &'a Course)>;

/// Groups the courses whose promises must be tried one after the other: courses to the same cluster, because its limits hold for all of its
/// requests, and courses to the clusters of one traffic split, because a request may go to any of them.
fn groups(courses: &[Course]) -> Vec<Group<'_>> {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, course) in courses.iter().enumerate() {
        numbers.entry(&course.cluster).or_insert(number);
    }
    let number_of = |numbers: &BTreeMap<&str, usize>, cluster: &str| numbers[cluster];
    let mut of_splits: BTreeMap<&str, &str> = BTreeMap::new();
    for course in courses.iter().filter(|course| course.share < 100) {
        let first = *of_splits.entry(&course.listener).or_insert(&course.cluster);
        let (own, first) = (number_of(&numbers, &course.cluster), number_of(&numbers, first));
        numbers.values_mut().filter(|number| **number == own).for_each(|number| *number = first);
    }
    let mut groups: BTreeMap<usize, Group<'_>> = BTreeMap::new();
    for (index, course) in courses.iter().enumerate() {
        groups.entry(number_of(&numbers, &course.cluster)).or_default().push((index, course));
    }
    groups.into_values().collect()
}

/// The longest time that the trials of one group wait, seconds.
fn longest_wait_s(groups: &[Group<'_>]) -> u64 {
    let wait_us = |group: &Group<'_>| {
        let promises = group.iter().flat_map(|(_, course)| &course.promises);
        let trials = promises.filter_map(|promise| promise.trial.as_ref().ok());
        trials.map(|trial| trial.procedure().waits_us()).sum::<u64>()
    };
    groups.iter().map(wait_us).max().unwrap_or_default() / 1_000_000
}

/// Tries all promises, several groups at a time. The outcomes are in the order of the courses, each of which belongs to one group.
fn try_all(bench: &Bench<'_>, groups: &[Group<'_>]) -> Vec<Tried> {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..groups.len().min(MOST_AT_A_TIME) {
            scope.spawn(|| {
                while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                    for (index, course) in group {
                        let tried = bench.try_course(course);
                        all.lock().unwrap_or_else(PoisonError::into_inner).insert(*index, tried);
                    }
                }
            });
        }
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

/// Raises the limit on open files for the largest crowd. Returns the reason if that is impossible.
fn room_for_crowds(courses: &[Course]) -> Option<String> {
    // Each request uses a socket of the client and one of the server. The proxy uses two sockets as well.
    let most = trials(courses).map(|(_, procedure)| procedure.at_a_time()).max().filter(|most| *most > 0)?;
    let needed = u64::from(most) * 2 + courses.len() as u64;
    let limit = allow_files(needed).err()?;
    Some(format!("{needed} open files are needed, and the limit is {limit}: {}", raising_for_files(needed)))
}

fn body(file: String, envoy: String, courses: &[Course], tried: Vec<Tried>) -> ListenersCheckBody {
    let mut listeners: Vec<CheckedListener> = Vec::new();
    for (course, tried) in courses.iter().zip(tried) {
        if listeners.last().is_none_or(|last| last.name != course.listener) {
            let (name, line) = (course.listener.clone(), course.line);
            listeners.push(CheckedListener { name, line, took_us: 0, promises: Vec::new() });
        }
        let promises = course.promises.iter().zip(tried.outcomes);
        let promises = promises.map(|(promise, outcome)| checked(course, promise, outcome));
        if let Some(last) = listeners.last_mut() {
            last.promises.extend(promises);
            last.took_us += u64::try_from(tried.took.as_micros()).unwrap_or(u64::MAX);
        }
    }
    ListenersCheckBody { file, envoy, workers: WORKERS, listeners }
}

fn checked(course: &Course, promise: &Promise, outcome: Outcome) -> CheckedPromise {
    let Outcome { judged, earlier } = outcome;
    let seen = judged.words().to_owned();
    let outcome = match judged {
        Judged::Kept(_) => PromiseOutcome::Kept,
        Judged::Broken { .. } => PromiseOutcome::Broken,
        Judged::Untried(_) => PromiseOutcome::Untried,
    };
    let (about, cluster, said) = (promise.about, course.cluster.clone(), promise.said.clone());
    CheckedPromise { about, cluster, said, outcome, seen, earlier }
}

#[cfg(test)]
mod tests {
    use hoptax_listeners::{Source as Text, read};

    use super::*;

    #[test]
    fn what_shares_an_upstream_or_a_split_is_tried_in_turn() {
        let text = "listeners:\n  - {name: a, port: 6001, timeout: 2s, upstream: {address: a.example, port: 80}}\n  \
            - {name: b, port: 6002, timeout: 3s, upstream: {address: a.example, port: 80}}\n  \
            - {name: c, port: 6003, timeout: 4s, upstream: {address: c.example, port: 80}}\n  \
            - name: d\n    port: 6004\n    timeout: 5s\n    upstream: {address: c.example, port: 80}\n    \
              split: {percentage: 5, upstream: {address: d.example, port: 80}}\n";
        let courses = courses(&read(Text { name: "a.yaml", text }, None).unwrap());
        let groups = groups(&courses);
        let indexes = |group: &Group<'_>| group.iter().map(|(index, _)| *index).collect::<Vec<usize>>();
        let indexes: Vec<Vec<usize>> = groups.iter().map(indexes).collect();
        assert_eq!(indexes, [vec![0, 1], vec![2, 3, 4]]);
        // Each cluster has one idle connection that ends after 4.5 s.
        assert_eq!(longest_wait_s(&groups), 4 + 2 * 5 + 9);
    }
}
