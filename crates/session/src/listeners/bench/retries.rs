//! Requests whose first tries fail, beside others that get no answer: how many are retried.

use std::thread;
use std::time::Instant;

use hoptax_listeners::check::{Answer, Course, Retries, Seen, Variant};

use super::{Bench, CLEAR, head, micros, note, sent};
use crate::listeners::client::Connection;

impl Bench<'_> {
    /// Sends requests one after the other. Each ends, or waits for the response to its retry, before the next is sent.
    pub(super) fn retries(&self, course: &Course, retries: &Retries) -> Seen {
        let mut seen = Seen::default();
        let began = Instant::now();
        let beside = (0..retries.beside).map(|_| (Answer::Silence, 1));
        let others = (0..retries.again + retries.refused)
            .map(|_| (Answer::Once(Box::new(retries.failure.clone())), 2));
        let mut open: Vec<(String, Connection)> = Vec::new();
        for (answer, tries) in beside.chain(others) {
            if self.interrupt.is_requested() {
                break;
            }
            let mark = self.mark(Some(&course.cluster), answer);
            let connection = self
                .destination(Variant::Patient, course)
                .and_then(|one| sent(&one, &head(course, &mark, "")));
            let mut connection = match connection {
                Ok(connection) => connection,
                Err(lost) => {
                    seen.response = Some(Err(lost.why));
                    break;
                }
            };
            if let Some(response) = self.outcome(&mark, tries, &mut connection) {
                note(&mut seen, response);
            } else if self.servers.arrived_so_far(&mark) < tries {
                seen.response = Some(Err("a request does not arrive".to_owned()));
            } else if tries > 1 {
                seen.again += 1;
            }
            open.push((mark, connection));
            if seen.response.is_some() {
                break;
            }
        }
        seen.took_us = micros(began.elapsed());
        for (mark, _) in &open {
            seen.arrivals.extend(self.servers.arrived(mark));
        }
        drop(open);
        // The proxy ends the requests in flight now.
        thread::sleep(CLEAR);
        seen
    }
}
