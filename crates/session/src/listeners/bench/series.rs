//! Sequential requests, as fast as they are answered or at a given pace.

use std::thread;
use std::time::{Duration, Instant};

use hoptax_listeners::check::{Answer, Course, Seen, Series, Variant};

use super::{Bench, CLEAR, PATIENCE, head, micros, note};
use crate::listeners::client::{Connection, Lost, Response};

impl Bench<'_> {
    /// Sends requests one after the other on one connection, and on a new one whenever it ends.
    pub(super) fn series(&self, course: &Course, series: &Series) -> Seen {
        let mut seen = Seen::default();
        thread::sleep(Duration::from_micros(series.pause_us));
        let mark = self.mark(None, Answer::Kept);
        let began = Instant::now();
        let request = head(course, &mark, "");
        let mut connection = None;
        for number in 0..series.requests {
            // Late requests are sent at once, so that a stall hardly changes their number.
            let due_us = u64::from(number) * series.pace_us;
            let wait_us = due_us.saturating_sub(micros(began.elapsed()));
            thread::sleep(Duration::from_micros(wait_us));
            if micros(began.elapsed()) > series.lasts_us || self.interrupt.is_requested() {
                break;
            }
            let response = self.next_response(course, &request, &mut connection);
            let is_lost = response.is_err();
            seen.response = response.as_ref().ok().map(|response| Ok(response.status));
            note(&mut seen, response);
            if is_lost {
                connection = None;
                if seen.statuses.is_empty() {
                    break;
                }
            }
        }
        seen.took_us = micros(began.elapsed());
        drop(connection);
        (seen.arrivals, seen.places) = self.servers.arrived_in_places(&mark);
        // Servers close the connections that they kept now. Wait, so that no later request meets this.
        thread::sleep(CLEAR);
        seen
    }

    fn next_response(
        &self,
        course: &Course,
        request: &str,
        connection: &mut Option<Connection>,
    ) -> Result<Response, Lost> {
        let connection = if let Some(connection) = connection {
            connection
        } else {
            connection.insert(Connection::open(&self.destination(Variant::Usual, course)?)?)
        };
        connection.send(request)?;
        connection.response(PATIENCE, self.interrupt.flag())
    }
}
