//! True response times, computed from the origin's records.

use std::collections::BTreeMap;

use hoptax_load::log::{Entry, Outcome};
use hoptax_origin::{Freeze, Queue, Served};

/// One request, in nanoseconds of the clock shared by generator and origin.
#[expect(clippy::struct_field_names, reason = "the unit belongs into the name")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// Its intended start.
    pub(crate) intended_ns: u64,
    /// Time at which its response should have arrived if only the planned delay or queue had taken time.
    pub(crate) due_ns: u64,
    /// Time at which its response arrived.
    pub(crate) back_ns: u64,
}

impl Request {
    /// The measured response time, us.
    pub(crate) fn measured_us(&self) -> f64 {
        (self.back_ns - self.intended_ns) as f64 / 1e3
    }

    /// The true response time, us.
    pub(crate) fn true_us(&self) -> f64 {
        (self.due_ns - self.intended_ns) as f64 / 1e3
    }

    /// The measured response time less the true one, us.
    pub(crate) fn error_us(&self) -> f64 {
        self.measured_us() - self.true_us()
    }
}

/// Joins the generator's log with the origin's records, and replays the origin's queue with every request arriving at
/// its planned time: `due = max(planned, due of the one before) + service` (Lindley's recursion). Late sends and delays
/// on the path then count as error. None when the two do not match: every request must have been answered, over
/// connections that were never reopened.
pub(crate) fn requests(
    entries: &[Entry],
    start_ns: u64,
    served: &[Served],
    freeze: Option<Freeze>,
) -> Option<Vec<Request>> {
    // A connection carries one request at a time, so both records of it are in the same order.
    let mut of_connection: BTreeMap<u64, Vec<&Served>> = BTreeMap::new();
    for one in served {
        of_connection.entry(one.connection).or_default().push(one);
    }
    let mut sent: Vec<(u64, &Entry)> = entries
        .iter()
        .map(|entry| {
            let is_answered = entry.outcome == Outcome::Answered;
            let written_ns = entry.written_ns.filter(|_| is_answered)?;
            Some((start_ns.checked_add_signed(entry.intended_ns)?.checked_add(written_ns)?, entry))
        })
        .collect::<Option<_>>()?;
    sent.sort_by_key(|(written_ns, _)| *written_ns);
    let mut next: BTreeMap<u32, usize> = BTreeMap::new();
    let mut joined = Vec::with_capacity(sent.len());
    for (_, entry) in sent {
        let number = next.entry(entry.connection).or_default();
        let served = **of_connection.get(&u64::from(entry.connection))?.get(*number)?;
        *number += 1;
        let intended_ns = start_ns.checked_add_signed(entry.intended_ns)?;
        joined.push(Joined { intended_ns, back_ns: intended_ns + entry.ended_ns?, served });
    }
    if joined.len() != served.len() {
        return None;
    }
    joined.sort_by_key(|one| one.intended_ns);
    let mut queue = Queue::default();
    let freeze = freeze.map(|freeze| from_first_planned(freeze, &joined));
    let request = |Joined { intended_ns, back_ns, served }: Joined| {
        let due_ns = match served.service_ns {
            Some(service_ns) => queue.take(intended_ns, service_ns, freeze),
            None => intended_ns + (served.departs_ns - served.arrived_ns),
        };
        Request { intended_ns, due_ns, back_ns }
    };
    Some(joined.into_iter().map(request).collect())
}

/// A request as both sides recorded it.
struct Joined {
    intended_ns: u64,
    /// Time at which its response was back.
    back_ns: u64,
    served: Served,
}

/// The freeze timed from the first planned time, because the origin times it from the first arrival. The two differ by milliseconds if the
/// first request is late, and by whole freezes if a request is planned in between.
fn from_first_planned(freeze: Freeze, joined: &[Joined]) -> Freeze {
    let first_planned_ns = joined.iter().map(|one| one.intended_ns).min();
    let first_arrived_ns = joined.iter().map(|one| one.served.arrived_ns).min();
    let late_ns = first_arrived_ns
        .zip(first_planned_ns)
        .map_or(0, |(arrived, planned)| arrived.saturating_sub(planned));
    Freeze { after_ns: freeze.after_ns + late_ns, ..freeze }
}

/// True response times at a constant service time, including requests that were never answered, computed from the plan
/// alone, us.
pub(crate) fn planned(entries: &[Entry], service_ns: u64, freeze: Option<Freeze>) -> Vec<f64> {
    let mut intended_ns: Vec<u64> =
        entries.iter().filter_map(|entry| u64::try_from(entry.intended_ns).ok()).collect();
    intended_ns.sort_unstable();
    let mut queue = Queue::default();
    let response_us = |at_ns: u64| (queue.take(at_ns, service_ns, freeze) - at_ns) as f64 / 1e3;
    intended_ns.into_iter().map(response_us).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(intended_ns: i64, written_ns: u64, last_byte_ns: u64, connection: u32) -> Entry {
        Entry {
            intended_ns,
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
    fn a_late_send_counts_as_error_even_if_the_origin_was_on_time() {
        // Planned at 1000, sent 500 late, delayed by 100 as requested, returned immediately.
        let requests =
            requests(&[entry(0, 500, 600, 0)], 1_000, &[served(0, 1_500, None, 1_600)], None).unwrap();
        assert_eq!(requests, [Request { intended_ns: 1_000, due_ns: 1_100, back_ns: 1_600 }]);
        assert!((requests[0].error_us() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn the_queue_is_replayed_from_the_planned_times() {
        // Both planned at 0 on two connections with a service time of 1000 each: the second waits for the first.
        let entries = [entry(0, 0, 1_000, 0), entry(0, 1, 2_000, 1)];
        let kept = [served(0, 0, Some(1_000), 1_000), served(1, 1, Some(1_000), 2_000)];
        let due: Vec<u64> =
            requests(&entries, 0, &kept, None).unwrap().iter().map(|request| request.due_ns).collect();
        assert_eq!(due, [1_000, 2_000]);
    }

    #[test]
    fn a_freeze_begins_later_if_the_first_request_arrives_late() {
        // The first request arrives 30 late, so the freeze lasts from 130 to 230. The second is served just before it.
        let entries = [entry(0, 30, 40, 0), entry(110, 0, 10, 1)];
        let kept = [served(0, 30, Some(10), 40), served(1, 110, Some(10), 120)];
        let freeze = Some(Freeze { after_ns: 100, length_ns: 100 });
        let found = requests(&entries, 0, &kept, freeze).unwrap();
        assert_eq!(found.iter().map(|request| request.due_ns).collect::<Vec<_>>(), [10, 120]);
        assert!(found.iter().all(|request| request.error_us() >= 0.0), "{found:?}");
    }

    #[test]
    fn records_that_do_not_match_are_not_joined() {
        let one = [entry(0, 0, 10, 0)];
        assert_eq!(requests(&one, 0, &[], None), None);
        assert_eq!(requests(&one, 0, &[served(1, 0, None, 5)], None), None);
        assert_eq!(requests(&one, 0, &[served(0, 0, None, 5), served(0, 6, None, 7)], None), None);
        let failed = [Entry { outcome: Outcome::TimedOut, ..one[0] }];
        assert_eq!(requests(&failed, 0, &[served(0, 0, None, 5)], None), None);
    }
}
