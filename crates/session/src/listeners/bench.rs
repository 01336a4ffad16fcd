//! Tries promises: sends the requests of each, makes the servers answer as it needs, and records the outcome.

mod crowd;
mod ejection;
mod retries;
mod series;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hoptax_listeners::check::{
    Answer, Arrival, Course, Judged, Limited, MARK, Procedure, Seen, Trial, Variant, judge,
};
use hoptax_result::PromiseKind;
use hoptax_wire::tls::ClientConfig;

use super::client::{Connection, Destination, Lost, Response};
use super::limits::{Limits, REFUSED};
use super::servers::Servers;
use crate::interrupt::Interrupt;

/// Time limit of a response beyond the promised time.
const PATIENCE: Duration = Duration::from_secs(20);
/// Maximum number of trials of a promise, if a trial is inconclusive or a busy machine may have broken the promise.
const MOST_TRIALS: usize = 3;
/// Maximum number of requests until one is routed to a traffic share. With a share of 1 %, all of them miss it with probability 10^-8.
const MOST_REQUESTS: u32 = 2000;
/// Polling interval of a wait for a server.
const POLL: Duration = Duration::from_micros(200);
/// How long an idle connection is watched beyond its idle timeout.
const LATE: Duration = Duration::from_secs(1);
/// Time limit for the arrival of one of several requests. If it does not arrive, later requests may meet other limits.
const ARRIVES: Duration = Duration::from_secs(5);
/// Time for the connections that a trial left open to end.
const CLEAR: Duration = Duration::from_millis(150);

/// The servers and listeners on which promises are tried.
pub(super) struct Bench<'a> {
    pub(super) servers: &'a Servers,
    pub(super) limits: &'a Limits,
    /// The addresses of the listeners of each proxy.
    pub(super) addresses: BTreeMap<Variant, BTreeMap<String, SocketAddr>>,
    /// TLS of a client with a certificate.
    pub(super) client: Arc<ClientConfig>,
    pub(super) anonymous_client: Arc<ClientConfig>,
    /// Reason why many requests cannot be in flight at a time, such as a limit of the machine; None if they can.
    pub(super) no_crowd: Option<String>,
    /// Reason why there is no address that ignores connection attempts; None if there is one.
    pub(super) no_full_backlog: Option<String>,
    /// The number of the next mark.
    pub(super) marks: AtomicU64,
    /// Held by a trial that keeps the processors busy.
    pub(super) busy: Mutex<()>,
    pub(super) interrupt: &'a Interrupt,
}

/// Outcomes of the promises of a course, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Tried {
    pub(super) outcomes: Vec<Outcome>,
    /// The time that its trials took.
    pub(super) took: Duration,
}

/// Outcome of a promise.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) judged: Judged,
    /// Observations of the trials before the last one.
    pub(super) earlier: Vec<String>,
}

impl Outcome {
    fn untried(why: impl Into<String>) -> Self {
        Self { judged: Judged::Untried(why.into()), earlier: Vec::new() }
    }
}

impl Bench<'_> {
    /// Tries the promises of a course. If no request arrives, the remaining promises cannot be tried.
    pub(super) fn try_course(&self, course: &Course) -> Tried {
        let mut obstacle = None;
        let mut tried = Tried::default();
        for promise in &course.promises {
            let outcome = match (&promise.trial, &obstacle) {
                (Err(why), _) => Outcome::untried(why),
                (_, Some(why)) => Outcome::untried(String::clone(why)),
                (Ok(_), None) if self.interrupt.is_requested() => {
                    Outcome::untried("the check was interrupted")
                }
                (Ok(trial), None) => {
                    let busy = trial.procedure().is_busy();
                    let turn = busy.then(|| self.busy.lock().unwrap_or_else(PoisonError::into_inner));
                    let began = Instant::now();
                    let (outcome, arrived) = self.try_promise(course, trial.as_ref());
                    tried.took += began.elapsed();
                    drop(turn);
                    if promise.about == PromiseKind::Arrival {
                        obstacle = match &outcome.judged {
                            _ if !arrived => Some("no request arrives".to_owned()),
                            Judged::Untried(why) => Some(why.clone()),
                            _ => None,
                        };
                    }
                    outcome
                }
            };
            tried.outcomes.push(outcome);
        }
        tried
    }

    /// Tries a promise, and repeats it if a busy machine may have broken it. Returns the outcome, and true if a request arrived.
    fn try_promise(&self, course: &Course, trial: &dyn Trial) -> (Outcome, bool) {
        let mut earlier = Vec::new();
        loop {
            let procedure = trial.procedure();
            let obstacle = match &procedure {
                Procedure::FullBacklog { .. } => &self.no_full_backlog,
                procedure if procedure.at_a_time() > 0 => &self.no_crowd,
                _ => &None,
            };
            if let Some(why) = obstacle {
                return (Outcome::untried(why), false);
            }
            let seen = self.seen(course, &procedure);
            let judged = judge(course, trial, &seen);
            let may_differ = matches!(judged, Judged::Broken { is_retryable: true, .. } | Judged::Untried(_));
            if !may_differ || earlier.len() + 1 >= MOST_TRIALS || self.interrupt.is_requested() {
                return (Outcome { judged, earlier }, !seen.arrivals.is_empty());
            }
            earlier.push(judged.words().to_owned());
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
            Procedure::AnonymousClient | Procedure::FullBacklog { .. } => {
                let mut seen = Seen::default();
                self.request(course, &Answer::Success, procedure, &mut seen);
                seen
            }
            Procedure::Idle { waits_us } => {
                let waits = Duration::from_micros(*waits_us);
                self.until_here(course, |seen| self.idle(course, waits, seen))
            }
            Procedure::Limited => self.limited(course),
            Procedure::Series(series) => self.series(course, series),
            Procedure::Crowd(crowd) => self.crowd(course, crowd),
            Procedure::Retries(retries) => self.retries(course, retries),
            Procedure::Ejection { failures, settles_us, waits_us } => {
                let (settles, waits) = (Duration::from_micros(*settles_us), Duration::from_micros(*waits_us));
                self.ejection(course, *failures, settles, waits)
            }
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

    /// A new mark. The server of `cluster`, or every server, gives `answer` to requests with this mark.
    fn mark(&self, cluster: Option<&str>, answer: Answer) -> String {
        let mark = self.marks.fetch_add(1, Ordering::Relaxed).to_string();
        self.servers.expect(&mark, cluster, answer);
        mark
    }

    /// Returns the address and the TLS of the listener of a course.
    fn destination(&self, variant: Variant, course: &Course) -> Result<Destination, Lost> {
        let address = self.addresses.get(&variant).and_then(|all| all.get(&course.listener)).copied();
        let address = address.ok_or_else(|| Lost::new("Envoy has no such listener"))?;
        let tls = course.is_tls.then(|| Arc::clone(&self.client));
        Ok(Destination { address, tls })
    }

    /// The response to a request, or why there is none. None if `wanted` of its tries arrive first, or if nothing happens in time.
    fn outcome(
        &self,
        mark: &str,
        wanted: usize,
        connection: &mut Connection,
    ) -> Option<Result<Response, Lost>> {
        let began = Instant::now();
        while began.elapsed() < ARRIVES && self.servers.arrived_so_far(mark) < wanted {
            let response = connection.response_now();
            if response.is_some() {
                return response;
            }
            thread::sleep(POLL);
        }
        None
    }

    /// Sends a request on its own connection, and records the response.
    fn exchange(
        &self,
        destination: Result<Destination, Lost>,
        request: &str,
        limit: Duration,
        seen: &mut Seen,
    ) {
        let began = Instant::now();
        let response = || {
            let mut connection = Connection::open(&destination?)?;
            let sent = connection.send(request);
            // A listener that no longer reads may have sent a response with the reason.
            connection.response(limit, self.interrupt.flag()).map_err(|lost| match sent {
                Err(error) if !lost.wants_certificate => error.into(),
                _ => lost,
            })
        };
        let response: Result<Response, Lost> = response();
        seen.took_us = micros(began.elapsed());
        seen.wants_certificate = response.as_ref().is_err_and(|lost| lost.wants_certificate);
        seen.response = Some(response.map_err(|lost| lost.why).map(|response| {
            seen.reason = response.reason;
            response.status
        }));
    }

    /// Sends a request to the proxy that the procedure needs, and records its arrivals.
    fn request(&self, course: &Course, answer: &Answer, procedure: &Procedure, seen: &mut Seen) {
        let mark = self.mark(Some(&course.cluster), answer.clone());
        let limit = Duration::from_micros(procedure.waits_us()) + PATIENCE;
        let destination = self.destination(procedure.variant(), course).map(|one| match procedure {
            Procedure::AnonymousClient if course.is_tls => {
                Destination { tls: Some(Arc::clone(&self.anonymous_client)), ..one }
            }
            _ => one,
        });
        self.exchange(destination, &single(course, &mark, ""), limit, seen);
        seen.arrivals = self.servers.arrived(&mark);
    }

    /// Sends a request, and then records when the idle connection to the server ends.
    fn idle(&self, course: &Course, waits: Duration, seen: &mut Seen) {
        let mark = self.mark(Some(&course.cluster), Answer::Kept);
        self.exchange(self.destination(Variant::Usual, course), &single(course, &mark, ""), PATIENCE, seen);
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
            // The server closes the connection now. Wait, so that no later request meets this.
            thread::sleep(CLEAR);
        }
    }

    /// Sends a request that the rate limit service admits, and one that it refuses.
    fn limited(&self, course: &Course) -> Seen {
        let mut limited = Limited::default();
        let mut arrivals = Vec::new();
        for (beginning, is_refused) in [("hoptax-admitted-", false), (REFUSED, true)] {
            let mark = self.mark(Some(&course.cluster), Answer::Success);
            let agent = format!("{beginning}{mark}");
            let more = format!("user-agent: {agent}\r\n");
            let mut seen = Seen::default();
            let destination = self.destination(Variant::Usual, course);
            self.exchange(destination, &single(course, &mark, &more), PATIENCE, &mut seen);
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
}

/// Sends a request on a new connection.
fn sent(destination: &Destination, request: &str) -> Result<Connection, Lost> {
    let mut connection = Connection::open(destination)?;
    connection.send(request)?;
    Ok(connection)
}

/// Records the response to one of several requests.
fn note(seen: &mut Seen, response: Result<Response, Lost>) {
    match response {
        Ok(response) => {
            *seen.statuses.entry(response.status).or_default() += 1;
            seen.overloaded += u32::from(response.is_overloaded);
        }
        Err(lost) => seen.response = Some(Err(lost.why)),
    }
}

/// The head of the only request of a connection.
fn single(course: &Course, mark: &str, more: &str) -> String {
    head(course, mark, &format!("{more}connection: close\r\n"))
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
