//! Many requests in flight at once, which the server does not answer: how many arrive, wait and are refused.

use std::thread;
use std::time::{Duration, Instant};

use hoptax_listeners::check::{Answer, Course, Crowd, Seen, Variant};

use super::{Bench, CLEAR, POLL, head, micros, note, sent};
use crate::listeners::client::{Connection, Lost, Response};

/// Maximum number of requests of a crowd, including those that a traffic share sends elsewhere.
const MOST_OF_CROWD: u32 = 15_000;
/// How long a crowd is watched after the last change: if the expected numbers have arrived and were refused; the same with a traffic share,
/// which may send some elsewhere, where they are answered; and if some are still missing.
const SETTLES: Duration = Duration::from_millis(100);
const SETTLES_BY_SHARE: Duration = Duration::from_millis(700);
const MISSING: Duration = Duration::from_secs(2);

impl Bench<'_> {
    /// Sends requests that are in flight at once. Those that should arrive are sent one after the other: each waits briefly for its
    /// connection, and only a limited number may wait.
    pub(super) fn crowd(&self, course: &Course, crowd: &Crowd) -> Seen {
        let mut seen = Seen::default();
        let mark = self.mark(Some(&course.cluster), Answer::Silence);
        let request = head(course, &mark, "");
        let destination = self.destination(Variant::Patient, course);
        let began = Instant::now();
        let mut open: Vec<Connection> = Vec::new();
        let mut sent_in_all = 0;
        let mut send = |seen: &mut Seen| {
            sent_in_all += 1;
            let destination = destination.as_ref();
            let is_enough = sent_in_all > MOST_OF_CROWD || self.interrupt.is_requested();
            let sent = destination.map_err(Lost::clone).and_then(|one| sent(one, &request));
            let sent = sent.map_err(|lost| seen.response = Some(Err(lost.why)));
            sent.ok().filter(|_| !is_enough)
        };
        while open.len() < crowd.arriving as usize {
            let wanted = self.servers.arrived_so_far(&mark) + 1;
            let Some(mut connection) = send(&mut seen) else { break };
            match self.outcome(&mark, wanted, &mut connection) {
                Some(response) if is_elsewhere(course, &response) => {}
                Some(response) => {
                    note(&mut seen, response);
                    break;
                }
                None => {
                    open.push(connection);
                    if self.servers.arrived_so_far(&mark) < wanted {
                        break;
                    }
                }
            }
        }
        let mut before = None;
        let mut changed = Instant::now();
        while seen.response.is_none() && !self.interrupt.is_requested() {
            let refused: u32 = seen.statuses.values().sum();
            let missing = (crowd.all() as usize).saturating_sub(open.len() + refused as usize);
            // Replace requests that went elsewhere.
            open.extend((0..missing).map_while(|_| send(&mut seen)));
            sweep(course, &mut open, &mut seen);
            let arrived = self.servers.arrived_so_far(&mark);
            let now = Some((arrived, seen.statuses.values().sum::<u32>(), open.len()));
            if now != before {
                (before, changed) = (now, Instant::now());
            }
            let is_complete = refused >= crowd.refused && arrived >= crowd.arriving as usize;
            let settles = match course.share {
                _ if !is_complete => MISSING,
                100 => SETTLES,
                _ => SETTLES_BY_SHARE,
            };
            if changed.elapsed() > settles {
                break;
            }
            thread::sleep(50 * POLL);
        }
        seen.took_us = micros(began.elapsed());
        // Take the arrivals before the clients close: each closed connection lets a waiting request arrive.
        seen.arrivals = self.servers.arrived(&mark);
        drop(open);
        // The proxy ends the requests in flight now.
        thread::sleep(CLEAR);
        seen
    }
}

/// True if a response comes from another cluster, to which a traffic share sent the request. There, all requests are answered with 200.
fn is_elsewhere(course: &Course, response: &Result<Response, Lost>) -> bool {
    course.share < 100 && response.as_ref().is_ok_and(|response| response.status == 200)
}

/// Removes the requests of a crowd that have a response, and records the responses that did not come from elsewhere.
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
