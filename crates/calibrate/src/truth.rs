//! What response times should have been, by the origin's own account.

use std::collections::BTreeMap;

use hoptax_load::log::{Entry, Outcome};
use hoptax_origin::{Freeze, Queue, Served};

/// One request, in nanoseconds of the one clock that generator and origin share.
#[expect(clippy::struct_field_names, reason = "the unit belongs into the name")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// When it was planned to leave.
    pub(crate) planned_ns: u64,
    /// When its answer should have been back, had nothing but the planned delay or queue taken time.
    pub(crate) due_ns: u64,
    /// When its answer was back.
    pub(crate) back_ns: u64,
}

impl Request {
    /// The response time that was measured, microseconds.
    pub(crate) fn measured_us(&self) -> f64 {
        (self.back_ns - self.planned_ns) as f64 / 1e3
    }

    /// The response time that it should have had, microseconds.
    pub(crate) fn true_us(&self) -> f64 {
        (self.due_ns - self.planned_ns) as f64 / 1e3
    }

    /// How much longer it took, microseconds.
    pub(crate) fn error_us(&self) -> f64 {
        self.measured_us() - self.true_us()
    }
}

/// Puts what the generator logged and what the origin kept together, and plays the origin's queue again with every
/// request arriving when it was planned: `due = max(planned, due of the one before) + service` (Lindley's recursion).
/// Sends that were late, and everything on the way, then show as error. None when the two do not fit: every request
/// must have been answered, over connections that were never opened anew.
pub(crate) fn requests(
    entries: &[Entry],
    start_ns: u64,
    served: &[Served],
    freeze: Option<Freeze>,
) -> Option<Vec<Request>> {
    // A connection carries one request at a time, so the two accounts of it are in the same order.
    let mut of_connection: BTreeMap<u64, Vec<&Served>> = BTreeMap::new();
    for one in served {
        of_connection.entry(one.connection).or_default().push(one);
    }
    let mut sent: Vec<(u64, &Entry)> = entries
        .iter()
        .map(|entry| {
            let is_answered = entry.outcome == Outcome::Answered;
            let written_ns = entry.written_ns.filter(|_| is_answered)?;
            Some((start_ns.checked_add_signed(entry.planned_ns)?.checked_add(written_ns)?, entry))
        })
        .collect::<Option<_>>()?;
    sent.sort_by_key(|(written_ns, _)| *written_ns);
    let mut next: BTreeMap<u32, usize> = BTreeMap::new();
    let mut joined = Vec::with_capacity(sent.len());
    for (_, entry) in sent {
        let number = next.entry(entry.connection).or_default();
        let served = **of_connection.get(&u64::from(entry.connection))?.get(*number)?;
        *number += 1;
        let planned_ns = start_ns.checked_add_signed(entry.planned_ns)?;
        joined.push((planned_ns, planned_ns + entry.ended_ns?, served));
    }
    if joined.len() != served.len() {
        return None;
    }
    joined.sort_by_key(|(planned_ns, _, _)| *planned_ns);
    let mut queue = Queue::default();
    // The freeze is timed from the first arrival; the first planned time is within microseconds of it.
    let request = |(planned_ns, back_ns, served): (u64, u64, Served)| {
        let due_ns = match served.service_ns {
            Some(service_ns) => queue.take(planned_ns, service_ns, freeze),
            None => planned_ns + (served.departs_ns - served.arrived_ns),
        };
        Request { planned_ns, due_ns, back_ns }
    };
    Some(joined.into_iter().map(request).collect())
}

/// What response times should have been of a constant service time and even of requests that were never answered, by the
/// plan alone, microseconds.
pub(crate) fn planned(entries: &[Entry], service_ns: u64, freeze: Option<Freeze>) -> Vec<f64> {
    let mut planned_ns: Vec<u64> =
        entries.iter().filter_map(|entry| u64::try_from(entry.planned_ns).ok()).collect();
    planned_ns.sort_unstable();
    let mut queue = Queue::default();
    let response_us = |at_ns: u64| (queue.take(at_ns, service_ns, freeze) - at_ns) as f64 / 1e3;
    planned_ns.into_iter().map(response_us).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(planned_ns: i64, written_ns: u64, last_byte_ns: u64, connection: u32) -> Entry {
        Entry {
            planned_ns,
            offered_ns: Some(written_ns),
            started_ns: Some(written_ns),
            connected_ns: None,
            written_ns: Some(written_ns),
            first_byte_ns: Some(last_byte_ns),
            ended_ns: Some(last_byte_ns),
            connection,
            status: 200,
            outcome: Outcome::Answered,
            blocked: false,
            connected: false,
        }
    }

    fn served(connection: u64, arrived_ns: u64, service_ns: Option<u64>, departs_ns: u64) -> Served {
        Served { connection, arrived_ns, service_ns, departs_ns, written_ns: departs_ns }
    }

    #[test]
    fn a_late_send_is_an_error_although_the_origin_kept_its_word() {
        // Planned at 1000, sent 500 late, delayed by 100 as told, back at once.
        let requests =
            requests(&[entry(0, 500, 600, 0)], 1_000, &[served(0, 1_500, None, 1_600)], None).unwrap();
        assert_eq!(requests, [Request { planned_ns: 1_000, due_ns: 1_100, back_ns: 1_600 }]);
        assert!((requests[0].error_us() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn the_queue_is_played_again_from_the_planned_times() {
        // Both planned at once on two connections, 1000 of service each: the second waits for the first.
        let entries = [entry(0, 0, 1_000, 0), entry(0, 1, 2_000, 1)];
        let kept = [served(0, 0, Some(1_000), 1_000), served(1, 1, Some(1_000), 2_000)];
        let due: Vec<u64> =
            requests(&entries, 0, &kept, None).unwrap().iter().map(|request| request.due_ns).collect();
        assert_eq!(due, [1_000, 2_000]);
    }

    #[test]
    fn accounts_that_do_not_fit_are_not_joined() {
        let one = [entry(0, 0, 10, 0)];
        assert_eq!(requests(&one, 0, &[], None), None);
        assert_eq!(requests(&one, 0, &[served(1, 0, None, 5)], None), None);
        assert_eq!(requests(&one, 0, &[served(0, 0, None, 5), served(0, 6, None, 7)], None), None);
        let failed = [Entry { outcome: Outcome::TimedOut, ..one[0] }];
        assert_eq!(requests(&failed, 0, &[served(0, 0, None, 5)], None), None);
    }
}
