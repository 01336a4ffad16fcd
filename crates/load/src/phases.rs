//! The phases of requests over the record: how long each took, in each twentieth of it.

use std::collections::BTreeMap;

use hoptax_result::{Histogram, RequestPhase};

use crate::batches::Batches;
use crate::division::{Division, LastLookup};
use crate::encoded::encode;

/// The times of the phases that every answered request has, nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PhaseTimesNs {
    /// From the intended start to the first byte written.
    pub(crate) send_lag: u64,
    /// From there to the first byte read.
    pub(crate) first_byte: u64,
    /// From there to the last byte read.
    pub(crate) last_byte: u64,
}

/// The phases of the requests of one worker, or of all workers.
#[derive(Clone, Debug)]
pub(crate) struct Phases {
    record: Division,
    /// The last lookups: of intended starts, and of the ends of handshakes, which are later.
    intended: LastLookup,
    present: LastLookup,
    send_lag: Batches,
    connect: Batches,
    handshake: Batches,
    first_byte: Batches,
    last_byte: Batches,
}

impl Phases {
    /// The phases in a record, which is divided as the batches are.
    pub(crate) fn new(record: Division) -> Self {
        Self {
            record,
            intended: LastLookup::default(),
            present: LastLookup::default(),
            send_lag: Batches::new(),
            connect: Batches::new(),
            handshake: Batches::new(),
            first_byte: Batches::new(),
            last_byte: Batches::new(),
        }
    }

    /// Records an answered request, with its connect time if a connection was opened for it.
    #[inline]
    pub(crate) fn record(&mut self, intended_ns: u64, times: PhaseTimesNs, connect_ns: Option<u64>) {
        let batch = self.intended.number(intended_ns, self.record);
        self.send_lag.record(batch, times.send_lag);
        self.first_byte.record(batch, times.first_byte);
        self.last_byte.record(batch, times.last_byte);
        if let Some(connect_ns) = connect_ns {
            self.connect.record(batch, connect_ns);
        }
    }

    /// Records a handshake that ended at `now_ns`.
    pub(crate) fn record_handshake(&mut self, now_ns: u64, took_ns: u64) {
        let batch = self.present.number(now_ns, self.record);
        self.handshake.record(batch, took_ns);
    }

    /// Divides the record up to an expected end instead of the planned one. Called as the record begins, when at most its first moment is
    /// recorded.
    pub(crate) fn expect_end(&mut self, end_ns: u64) {
        self.record = self.record.ending(end_ns);
        (self.intended, self.present) = (LastLookup::default(), LastLookup::default());
    }

    /// Adds the phases of another worker over the same time.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.send_lag += &other.send_lag;
        self.connect += &other.connect;
        self.handshake += &other.handshake;
        self.first_byte += &other.first_byte;
        self.last_byte += &other.last_byte;
    }

    /// The phases in the complete batches, for a result. A phase that no request had is left out.
    pub(crate) fn encoded(&self, complete: usize) -> BTreeMap<RequestPhase, Vec<Option<Histogram>>> {
        let all = [
            (RequestPhase::SendLag, &self.send_lag),
            (RequestPhase::Connect, &self.connect),
            (RequestPhase::Handshake, &self.handshake),
            (RequestPhase::FirstByte, &self.first_byte),
            (RequestPhase::LastByte, &self.last_byte),
        ];
        let encoded = all.map(|(phase, times)| {
            let times: Vec<_> = times.histograms(complete).iter().map(encode).collect();
            (phase, times)
        });
        encoded.into_iter().filter(|(_, times)| times.iter().any(Option::is_some)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batches::BATCHES;
    use crate::encoded::decode;

    const MS: u64 = 1_000_000;

    fn times(send_lag: u64, first_byte: u64, last_byte: u64) -> PhaseTimesNs {
        PhaseTimesNs { send_lag, first_byte, last_byte }
    }

    /// The median of a phase in a batch, nanoseconds.
    fn median_ns(phases: &Phases, phase: RequestPhase, batch: usize) -> Option<u64> {
        let encoded = phases.encoded(BATCHES);
        let times = encoded.get(&phase)?.get(batch)?.as_ref()?;
        Some(decode::<u32>(times).unwrap().value_at_quantile(0.5))
    }

    fn is_near(ns: Option<u64>, expected_ns: u64) -> bool {
        ns.is_some_and(|ns| ns.abs_diff(expected_ns) * 100 <= expected_ns)
    }

    #[test]
    fn each_phase_is_in_the_batch_of_its_request_and_a_handshake_in_that_of_its_end() {
        let record = Division::new(0, 20_000 * MS, BATCHES);
        let (mut one, mut other) = (Phases::new(record), Phases::new(record));
        one.record(500 * MS, times(MS, 2 * MS, 3 * MS), None);
        other.record(1_500 * MS, times(4 * MS, 5 * MS, 6 * MS), Some(7 * MS));
        other.record_handshake(2_500 * MS, 8 * MS);
        one.merge(&other);
        for (phase, batch, expected_ns) in [
            (RequestPhase::SendLag, 0, MS),
            (RequestPhase::FirstByte, 0, 2 * MS),
            (RequestPhase::LastByte, 0, 3 * MS),
            (RequestPhase::SendLag, 1, 4 * MS),
            (RequestPhase::FirstByte, 1, 5 * MS),
            (RequestPhase::LastByte, 1, 6 * MS),
            (RequestPhase::Connect, 1, 7 * MS),
            (RequestPhase::Handshake, 2, 8 * MS),
        ] {
            let found = median_ns(&one, phase, batch);
            assert!(is_near(found, expected_ns), "{phase:?} in {batch}: {found:?}");
        }
        assert_eq!(median_ns(&one, RequestPhase::Connect, 0), None);
        assert_eq!(one.encoded(BATCHES)[&RequestPhase::SendLag].len(), BATCHES);
    }

    #[test]
    fn a_phase_that_no_request_had_is_left_out_and_incomplete_batches_are_too() {
        let mut phases = Phases::new(Division::new(0, 20_000 * MS, BATCHES));
        phases.record(1_500 * MS, times(MS, 2 * MS, 3 * MS), None);
        let named: Vec<RequestPhase> = phases.encoded(2).into_keys().collect();
        assert_eq!(named, [RequestPhase::SendLag, RequestPhase::FirstByte, RequestPhase::LastByte]);
        assert!(phases.encoded(1).is_empty());
    }
}
