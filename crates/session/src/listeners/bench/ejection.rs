//! Requests to a cluster of two servers: one fails requests until Envoy ejects it, and then requests follow until it gets one again.

use std::thread;
use std::time::{Duration, Instant};

use hoptax_listeners::check::{Answer, Course, Ejected, Seen, Variant};

use super::{Bench, LATE, PATIENCE, is_here, micros, single};

/// Number of consecutive requests that the other server must get for the first to count as ejected.
const IN_A_ROW: u32 = 20;
/// Time between requests while the server is ejected.
const PACE: Duration = Duration::from_millis(10);

impl Bench<'_> {
    /// Sends requests until the server has failed `failures` of them or is ejected, and then until it gets one again.
    pub(super) fn ejection(
        &self,
        course: &Course,
        failures: u32,
        settles: Duration,
        waits: Duration,
    ) -> Seen {
        let mut seen = Seen::default();
        let mut failed = 0;
        let mut elsewhere = 0;
        let mut since = Instant::now();
        while failed < failures && elsewhere < IN_A_ROW && !self.interrupt.is_requested() {
            // Taken before the request, because Envoy's clock starts after it.
            let sent = Instant::now();
            if self.goes_here(course, &Answer::Failure(503, None), &mut seen) {
                since = sent;
                failed += 1;
                elsewhere = 0;
            } else {
                elsewhere += 1;
            }
        }
        if failed == 0 {
            return seen;
        }
        let mut again_us = None;
        if failed == failures {
            thread::sleep(settles);
            while since.elapsed() < waits + waits / 2 + LATE && !self.interrupt.is_requested() {
                if self.goes_here(course, &Answer::Success, &mut seen) {
                    again_us = Some(micros(since.elapsed()));
                    break;
                }
                thread::sleep(PACE);
            }
        }
        seen.took_us = micros(since.elapsed());
        seen.ejected = Some(Ejected { failures: failed, again_us });
        seen
    }

    /// Sends a request that the first server of a cluster answers with `answer`. Returns true if that server receives it, not the second
    /// one.
    fn goes_here(&self, course: &Course, answer: &Answer, seen: &mut Seen) -> bool {
        let mark = self.mark(Some(&course.cluster), answer.clone());
        let destination = self.destination(Variant::Doubled, course);
        self.exchange(destination, &single(course, &mark, ""), PATIENCE, seen);
        let arrivals = self.servers.arrived(&mark);
        let is_here = is_here(course, &arrivals);
        seen.arrivals.extend(arrivals);
        is_here
    }
}
