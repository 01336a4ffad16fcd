//! Tries promises: sends the requests of each, has the servers answer them as it needs, and notes what came of them.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hoptax_listeners::check::{
    Answer, Arrival, Course, Crowd, Judged, Limited, MARK, Procedure, Seen, Series, Trial, judge,
};
use hoptax_result::PromiseKind;
use hoptax_wire::tls::ClientConfig;

use super::client::{Connection, Destination};
use super::limits::{Limits, REFUSED};
use super::servers::Servers;
use crate::interrupt::Interrupt;

/// How long a response may take beyond what is promised.
const PATIENCE: Duration = Duration::from_secs(20);
/// The most trials of a promise that a busy machine may have broken.
const MOST_TRIALS: u32 = 3;
/// The most requests until one goes the way of a share. Of a share of 1 %, so many miss it once in 10^8.
const MOST_REQUESTS: u32 = 2000;
/// The most requests of a crowd, with those of a share that go elsewhere.
const MOST_OF_CROWD: u32 = 15_000;
/// How often a wait for a server looks.
const POLL: Duration = Duration::from_micros(200);
/// How long an idle connection is watched beyond its time, and how long the last requests of a crowd may take to be refused.
const LATE: Duration = Duration::from_secs(1);
/// How long a request of a crowd may take to arrive. Those behind one that does not are sent at once, and may then meet other limits.
const ARRIVES: Duration = Duration::from_secs(5);
/// How long a crowd is watched after its last request was refused.
const SETTLE: Duration = Duration::from_millis(100);
/// How long the end of connections takes that a trial left open.
const CLEAR: Duration = Duration::from_millis(150);

/// Where promises are tried.
pub(super) struct Bench<'a> {
    pub(super) servers: &'a Servers,
    pub(super) limits: &'a Limits,
    /// The addresses of the listeners.
    pub(super) addresses: BTreeMap<String, SocketAddr>,
    /// Those of a proxy with more time for requests.
    pub(super) patient: BTreeMap<String, SocketAddr>,
    /// TLS of clients, with a certificate and without.
    pub(super) client: Arc<ClientConfig>,
    pub(super) stranger: Arc<ClientConfig>,
    /// Why no crowd can be sent, such as a limit of the machine.
    pub(super) no_crowd: Option<String>,
    /// The number of the next mark.
    pub(super) marks: AtomicU64,
    /// Held by a trial that keeps the processors busy.
    pub(super) busy: Mutex<()>,
    pub(super) interrupt: &'a Interrupt,
}

/// What became of the promises of a course, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Tried {
    pub(super) judged: Vec<Judged>,
    /// The time that its trials took.
    pub(super) took: Duration,
}

impl Bench<'_> {
    /// Tries the promises of a course; without an arrival the others cannot be tried.
    pub(super) fn try_course(&self, course: &Course) -> Tried {
        let mut obstacle = None;
        let mut tried = Tried::default();
        for promise in &course.promises {
            let judged = match (&promise.trial, &obstacle) {
                (Err(why), _) => Judged::Untried(why.clone()),
                (_, Some(why)) => Judged::Untried(String::clone(why)),
                (Ok(_), None) if self.interrupt.is_requested() => {
                    Judged::Untried("the check was interrupted".to_owned())
                }
                (Ok(trial), None) => {
                    let busy = trial.procedure().is_busy();
                    let turn = busy.then(|| self.busy.lock().unwrap_or_else(PoisonError::into_inner));
                    let began = Instant::now();
                    let (judged, arrived) = self.try_promise(course, trial.as_ref());
                    tried.took += began.elapsed();
                    drop(turn);
                    if promise.about == PromiseKind::Arrival && !arrived {
                        obstacle = Some("no request arrives".to_owned());
                    }
                    judged
                }
            };
            tried.judged.push(judged);
        }
        tried
    }

    /// Tries a promise, again if a busy machine or chance may have broken it. What came of it, and whether a request arrived.
    fn try_promise(&self, course: &Course, trial: &dyn Trial) -> (Judged, bool) {
        let mut trials = 1;
        loop {
            let seen = match (trial.procedure(), &self.no_crowd) {
                (Procedure::Crowd(_), Some(why)) => return (Judged::Untried(why.clone()), false),
                (procedure, _) => self.seen(course, &procedure),
            };
            let judged = judge(course, trial, &seen);
            let may_differ = matches!(judged, Judged::Broken { is_excusable: true, .. } | Judged::Untried(_));
            if !may_differ || trials == MOST_TRIALS || self.interrupt.is_requested() {
                return (judged, !seen.arrivals.is_empty());
            }
            trials += 1;
        }
    }

    fn seen(&self, course: &Course, procedure: &Procedure) -> Seen {
        match procedure {
            Procedure::Request { answer, .. } => {
                self.until_here(course, |seen| self.request(course, answer, procedure, seen))
            }
            Procedure::WrongName => {
                self.servers.set_wrong(&course.cluster, true);
                let before = self.servers.wrong_names(&course.cluster);
                let seen = self.until_here(course, |seen| {
                    self.request(course, &Answer::Success, procedure, seen);
                    seen.wrong_names = self.servers.wrong_names(&course.cluster) - before;
                });
                self.servers.set_wrong(&course.cluster, false);
                seen
            }
            Procedure::Stranger => {
                let mut seen = Seen::default();
                let config = course.is_tls.then(|| Arc::clone(&self.stranger));
                let mark = self.mark(Some(&course.cluster), Answer::Success);
                self.exchange(course, config, &mark, "", PATIENCE, &mut seen);
                seen.arrivals = self.servers.arrived(&mark);
                seen
            }
            Procedure::Idle { waits_us } => {
                let waits = Duration::from_micros(*waits_us);
                self.until_here(course, |seen| self.idle(course, waits, seen))
            }
            Procedure::Limited => self.limited(course),
            Procedure::Series(series) => self.series(course, series),
            Procedure::Crowd(crowd) => self.crowd(course, crowd),
        }
    }

    /// Sends requests until one goes to the cluster of a course.
    fn until_here(&self, course: &Course, request: impl Fn(&mut Seen)) -> Seen {
        let mut requests = 1;
        loop {
            let mut seen = Seen::default();
            request(&mut seen);
            let is_here = seen.wrong_names > 0 || is_here(course, &seen.arrivals);
            if course.share == 100 || is_here || requests == MOST_REQUESTS || self.interrupt.is_requested() {
                return seen;
            }
            requests += 1;
        }
    }

    /// A new mark, of requests that the server of a cluster, or every server, answers so.
    fn mark(&self, cluster: Option<&str>, answer: Answer) -> String {
        let mark = self.marks.fetch_add(1, Ordering::Relaxed).to_string();
        self.servers.expect(&mark, cluster, answer);
        mark
    }

    fn usual_tls(&self, course: &Course) -> Option<Arc<ClientConfig>> {
        course.is_tls.then(|| Arc::clone(&self.client))
    }

    /// Sends a request on a connection of its own, and notes the response.
    fn exchange(
        &self,
        course: &Course,
        tls: Option<Arc<ClientConfig>>,
        mark: &str,
        more: &str,
        limit: Duration,
        seen: &mut Seen,
    ) {
        let request = head(course, mark, &format!("{more}connection: close\r\n"));
        let began = Instant::now();
        let sent =
            destination(&self.addresses, course, tls).and_then(|destination| sent(&destination, &request));
        seen.response = Some(sent.and_then(|mut connection| {
            let response = connection.response(limit, self.interrupt.flag());
            seen.reason = connection.reason();
            response
        }));
        seen.took_us = micros(began.elapsed());
    }

    fn request(&self, course: &Course, answer: &Answer, procedure: &Procedure, seen: &mut Seen) {
        let mark = self.mark(Some(&course.cluster), answer.clone());
        let limit = Duration::from_micros(procedure.waits_us()) + PATIENCE;
        self.exchange(course, self.usual_tls(course), &mark, "", limit, seen);
        seen.arrivals = self.servers.arrived(&mark);
    }

    /// A request, and then the end of the idle connection to the server.
    fn idle(&self, course: &Course, waits: Duration, seen: &mut Seen) {
        let mark = self.mark(Some(&course.cluster), Answer::Kept);
        self.exchange(course, self.usual_tls(course), &mark, "", PATIENCE, seen);
        let began = Instant::now();
        let is_here = self.servers.arrived_so_far(&mark) > 0;
        while is_here && began.elapsed() < waits + waits / 10 + LATE && !self.interrupt.is_requested() {
            if let Some(idle) = self.servers.idle(&mark) {
                seen.idle_us = Some(micros(idle));
                break;
            }
            thread::sleep(10 * POLL);
        }
        seen.took_us = micros(began.elapsed());
        seen.arrivals = self.servers.arrived(&mark);
        if is_here && seen.idle_us.is_none() {
            // The server now closes it; a request must not meet that.
            thread::sleep(CLEAR);
        }
    }

    /// A request that the service of limits admits, and one that it refuses.
    fn limited(&self, course: &Course) -> Seen {
        let mut limited = Limited::default();
        let mut arrivals = Vec::new();
        for (beginning, is_refused) in [("hoptax-admitted-", false), (REFUSED, true)] {
            let mark = self.mark(Some(&course.cluster), Answer::Success);
            let agent = format!("{beginning}{mark}");
            let more = format!("user-agent: {agent}\r\n");
            let mut seen = Seen::default();
            self.exchange(course, self.usual_tls(course), &mark, &more, PATIENCE, &mut seen);
            let arrived = self.servers.arrived(&mark);
            let outcome = seen.response.map(|response| (response, !arrived.is_empty()));
            arrivals.extend(arrived);
            let asked = self.limits.asked(&agent);
            if is_refused {
                limited.refused = outcome;
            } else {
                limited.asked = asked;
                limited.admitted_agent = agent;
                limited.admitted = outcome;
            }
        }
        Seen { arrivals, limited: Some(limited), ..Seen::default() }
    }

    /// Requests one after the other on one connection, or on the next if it ends.
    fn series(&self, course: &Course, series: &Series) -> Seen {
        let mut seen = Seen::default();
        thread::sleep(Duration::from_micros(series.pause_us));
        let mark = self.mark(None, Answer::Kept);
        let began = Instant::now();
        let request = head(course, &mark, "");
        let mut connection = None;
        for _ in 0..series.requests {
            if micros(began.elapsed()) > series.lasts_us || self.interrupt.is_requested() {
                break;
            }
            let response = self.next_response(course, &request, &mut connection);
            if let Ok(status) = &response {
                *seen.statuses.entry(*status).or_default() += 1;
            } else {
                connection = None;
            }
            let is_lost = response.is_err();
            seen.response = Some(response);
            if is_lost && seen.statuses.is_empty() {
                break;
            }
        }
        seen.took_us = micros(began.elapsed());
        drop(connection);
        seen.arrivals = self.servers.arrived(&mark);
        // Servers now close what they kept open; a request must not meet that.
        thread::sleep(CLEAR);
        seen
    }

    fn next_response(
        &self,
        course: &Course,
        request: &str,
        connection: &mut Option<Connection>,
    ) -> Result<u16, String> {
        let in_words = |error: io::Error| error.to_string();
        let connection = if let Some(connection) = connection {
            connection
        } else {
            let destination = destination(&self.addresses, course, self.usual_tls(course))?;
            connection.insert(Connection::open(&destination).map_err(in_words)?)
        };
        connection.send(request).map_err(in_words)?;
        connection.response(PATIENCE, self.interrupt.flag())
    }

    /// Requests at a time. Those that are to arrive are sent one after the other, because each waits for its connection for a moment, and
    /// only so many may wait.
    fn crowd(&self, course: &Course, crowd: &Crowd) -> Seen {
        let mut seen = Seen::default();
        let mark = self.mark(Some(&course.cluster), Answer::Silence);
        let request = head(course, &mark, "");
        let destination = destination(&self.patient, course, self.usual_tls(course));
        let began = Instant::now();
        let mut open: Vec<Connection> = Vec::new();
        let mut sent_in_all = 0;
        let mut send = |seen: &mut Seen| {
            sent_in_all += 1;
            let destination = destination.as_ref().map_err(String::clone);
            let is_enough = sent_in_all > MOST_OF_CROWD || self.interrupt.is_requested();
            let sent =
                destination.and_then(|one| sent(one, &request)).map_err(|why| seen.response = Some(Err(why)));
            sent.ok().filter(|_| !is_enough)
        };
        while open.len() < crowd.arriving as usize {
            // Read first: it may arrive before anything else is done here.
            let before = self.servers.arrived_so_far(&mark);
            let Some(mut connection) = send(&mut seen) else { break };
            match self.outcome(&mark, before, &mut connection) {
                Some(response) if is_elsewhere(course, &response) => {}
                Some(response) => {
                    note(&mut seen, response);
                    break;
                }
                None => {
                    open.push(connection);
                    if self.servers.arrived_so_far(&mark) == before {
                        break;
                    }
                }
            }
        }
        while seen.response.is_none() {
            let refused: u32 = seen.statuses.values().sum();
            let missing = (crowd.all() as usize).saturating_sub(open.len() + refused as usize);
            let more: Vec<Connection> = (0..missing).map_while(|_| send(&mut seen)).collect();
            if more.is_empty() {
                break;
            }
            open.extend(more);
            if course.share < 100 {
                thread::sleep(CLEAR);
                sweep(course, &mut open, &mut seen);
            }
        }
        self.settle(&mark, course, crowd, &mut open, &mut seen);
        seen.took_us = micros(began.elapsed());
        // Before their clients end: each end lets one that waits arrive.
        seen.arrivals = self.servers.arrived(&mark);
        drop(open);
        // The proxy now ends what is under way.
        thread::sleep(CLEAR);
        seen
    }

    /// The response to the last request of a crowd; none if it arrives, or nothing happens in time.
    fn outcome(&self, mark: &str, before: usize, connection: &mut Connection) -> Option<Result<u16, String>> {
        let began = Instant::now();
        while began.elapsed() < ARRIVES && self.servers.arrived_so_far(mark) == before {
            let response = connection.response_now();
            if response.is_some() {
                return response;
            }
            thread::sleep(POLL);
        }
        None
    }

    /// Waits until as many requests have arrived and were refused as are to, and a moment more for those that should not have.
    fn settle(
        &self,
        mark: &str,
        course: &Course,
        crowd: &Crowd,
        open: &mut Vec<Connection>,
        seen: &mut Seen,
    ) {
        let began = Instant::now();
        while began.elapsed() < LATE && !self.interrupt.is_requested() {
            sweep(course, open, seen);
            let refused: u32 = seen.statuses.values().sum();
            if refused >= crowd.refused && self.servers.arrived_so_far(mark) >= crowd.arriving as usize {
                break;
            }
            thread::sleep(50 * POLL);
        }
        thread::sleep(SETTLE);
        sweep(course, open, seen);
    }
}

/// The listener of a course among those of a proxy.
fn destination(
    addresses: &BTreeMap<String, SocketAddr>,
    course: &Course,
    tls: Option<Arc<ClientConfig>>,
) -> Result<Destination, String> {
    let address = addresses.get(&course.listener).copied();
    let address = address.ok_or_else(|| "Envoy has no such listener".to_owned())?;
    Ok(Destination { address, tls })
}

/// Sends a request on a new connection.
fn sent(destination: &Destination, request: &str) -> Result<Connection, String> {
    let open = || {
        let mut connection = Connection::open(destination)?;
        connection.send(request)?;
        Ok(connection)
    };
    open().map_err(|error: io::Error| error.to_string())
}

/// Whether a response is that of a request of a share that went elsewhere, where it is answered.
fn is_elsewhere(course: &Course, response: &Result<u16, String>) -> bool {
    course.share < 100 && *response == Ok(200)
}

/// Takes the requests of a crowd that have a response, and notes those that did not go elsewhere.
fn sweep(course: &Course, open: &mut Vec<Connection>, seen: &mut Seen) {
    open.retain_mut(|connection| match connection.response_now() {
        None => true,
        Some(response) if is_elsewhere(course, &response) => false,
        Some(response) => {
            note(seen, response);
            false
        }
    });
}

/// Notes a response of several requests.
fn note(seen: &mut Seen, response: Result<u16, String>) {
    match response {
        Ok(status) => *seen.statuses.entry(status).or_default() += 1,
        Err(_) => seen.response = Some(response),
    }
}

fn head(course: &Course, mark: &str, more: &str) -> String {
    format!("GET {} HTTP/1.1\r\nhost: {}\r\n{MARK}: {mark}\r\n{more}\r\n", course.path, course.host)
}

fn is_here(course: &Course, arrivals: &[Arrival]) -> bool {
    arrivals.iter().any(|arrival| arrival.cluster == course.cluster)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
