//! The measures of a slice, one entry each, by their names in results.

use std::borrow::Cow;

use hoptax_plan::record::{RoundRecord, SliceRecord};
use hoptax_result::{Disturbance, Sample};

/// A measure of a slice.
#[derive(Clone, Debug)]
pub struct Measure {
    /// Its name, with its unit.
    pub id: Cow<'static, str>,
    source: Source,
    /// True if the measure is invalid when the proxy waited for its processor.
    is_timed: bool,
}

/// Source of a measure's value for a slice.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// This function, which returns None if the slice has no value.
    Slice(fn(&RoundRecord, &SliceRecord) -> Option<f64>),
    /// CPU time of the proxy with this index.
    Hop(usize),
}

/// CPU time of the proxies per answered request, us.
pub const CPU: Measure = counted("cpu_us_per_request", |_, slice| {
    let late_ns: u64 = slice.late_hops_cpu_ns.iter().sum();
    cpu_us_per_request(slice, slice.proxy_cpu_ns + late_ns)
});

/// CPU time of the origins per answered request, us.
pub const ORIGIN_CPU: Measure =
    counted("origin_cpu_us_per_request", |_, slice| cpu_us_per_request(slice, slice.origin_cpu_ns));

/// CPU time of the companion per answered request, us.
pub const COMPANION_CPU: Measure =
    counted("companion_cpu_us_per_request", |_, slice| cpu_us_per_request(slice, slice.companion_cpu_ns));

/// CPU time of proxies, origins and companion together.
pub const TOGETHER_CPU: Measure = counted("together_cpu_us_per_request", |round, slice| {
    [CPU, ORIGIN_CPU, COMPANION_CPU].into_iter().map(|part| part.value(round, slice)).sum()
});

/// Bytes on the link per answered request.
pub const LINK_BYTES: Measure =
    counted("link_bytes_per_request", |_, slice| per_request(slice, slice.link_bytes as f64));

/// Packets that arrived from callers where the proxies are, per answered request; none without a network.
pub const RECEIVED_PACKETS: Measure = counted("received_packets_per_request", |_, slice| {
    per_request(slice, slice.received_packets as f64).filter(|packets| *packets > 0.0)
});

/// CPU time of the generator's thread per answered request, us. The kernel does much of its work for a packet in the context of the sending
/// process.
pub const GENERATOR_CPU: Measure = counted("generator_cpu_us_per_request", |_, slice| {
    (slice.book.answered > 0).then(|| slice.generator_cpu_ns as f64 / 1e3 / slice.book.answered as f64)
});

/// CPU time of generator, proxies, origins and companion together per request, us.
pub const ALL_CPU: Measure = counted("all_cpu_us_per_request", |round, slice| {
    [GENERATOR_CPU, TOGETHER_CPU].into_iter().map(|part| part.value(round, slice)).sum()
});

/// Answered requests per second.
pub const RATE: Measure = timed("rate", |_, slice| per_second(slice, slice.book.answered));

/// Connections opened per second; none if connections are kept.
pub const CONNECTED: Measure = timed("connections_per_second", |_, slice| per_second(slice, slice.connected));

/// Full TLS handshakes per second; none without handshakes.
pub const FULL_HANDSHAKES: Measure =
    timed("full_handshakes_per_second", |_, slice| handshakes_per_second(slice, slice.full_handshakes));

/// Resumed TLS handshakes per second; none without handshakes.
pub const RESUMED_HANDSHAKES: Measure =
    timed("resumed_handshakes_per_second", |_, slice| handshakes_per_second(slice, slice.resumed_handshakes));

/// Planned requests per second of an open loop.
pub const PLANNED_RATE: Measure =
    counted("planned_rate", |_, slice| (slice.planned_rate > 0.0).then_some(slice.planned_rate));

/// Median response time, us.
pub const RESPONSE_P50: Measure = timed("response_p50_us", |_, slice| slice.response_p50_us);

/// Time between the readings of counters before and after the slice, seconds.
pub const WALL: Measure = counted("wall_s", |_, slice| Some(slice.wall_s));

/// Time during which requests were released and recorded, seconds.
pub const RECORDED: Measure = counted("recorded_s", |_, slice| Some(slice.recorded_s));

/// Share of `wall_s` that the proxies spent on a processor, summed over threads. The settling time of 0.5 ms after a slice
/// is part of `wall_s`, so a saturated proxy stays slightly below its number of processors.
pub const PROXY_CORE: Measure =
    counted("proxy_core_share", |_, slice| share_of_wall(slice, slice.proxy_cpu_ns));

/// CPU time of the proxies under load, as a share of the processors that they may use.
pub const PROXY_BUSY: Measure = counted("proxy_busy_share", |_, slice| slice.busy_share);

/// Busy share under load of the processors that the proxies may use.
pub const PROXY_PROCESSORS: Measure =
    counted("proxy_processors_busy_share", |_, slice| slice.processors_share);

/// Share of `wall_s` that the proxy waited for a processor.
pub const PROXY_RUN_DELAY: Measure =
    counted("proxy_run_delay_share", |_, slice| share_of_wall(slice, slice.proxy_run_delay_ns));

/// Share of the recorded time that the generator's thread was on a processor.
pub const GENERATOR_CORE: Measure =
    counted("generator_core_share", |_, slice| share(slice.generator_cpu_ns as f64 / 1e9, slice.recorded_s));

/// Share of the recorded time that the generator's thread waited for a processor.
pub const GENERATOR_RUN_DELAY: Measure = counted("generator_run_delay_share", |_, slice| {
    share(slice.generator_run_delay_ns as f64 / 1e9, slice.recorded_s)
});

/// Busy share of the processors of generator and origin.
pub const PROCESSORS_BUSY: Measure =
    counted("processors_busy_share", |_, slice| share(slice.busy_ticks, slice.total_ticks));

/// Stolen ticks of 10 ms on a processor in use.
pub const STEAL: Measure = counted("steal_ticks", |_, slice| Some(slice.steal_ticks as f64));

/// Round trip of a cache line between the processors of generator and proxy, nanoseconds.
pub const HANDOVER: Measure = counted("handover_ns", |_, slice| slice.handover_ns);

/// Requests that a limit admitted, divided by the number that it should have admitted. It depends on earlier
/// slices, since a token bucket carries over, so `summary::limits` computes it, and it is not in [`ALL`].
pub const ADMITTED: Measure = timed("admitted_ratio", |_, _| None);

/// CPU time of each of `hops` proxies per answered request, us, in the order in which a request passes them.
pub fn hop_cpus(hops: usize) -> impl Iterator<Item = Measure> {
    (0..hops).map(hop_cpu)
}

/// CPU time of the proxy with index `hop` per answered request, us.
pub fn hop_cpu(hop: usize) -> Measure {
    let id = format!("hop_{}_cpu_us_per_request", hop + 1);
    Measure { id: id.into(), source: Source::Hop(hop), is_timed: false }
}

/// All measures of a slice except those of single proxies ([`hop_cpus`]).
pub const ALL: &[Measure] = &[
    CPU,
    ORIGIN_CPU,
    COMPANION_CPU,
    TOGETHER_CPU,
    LINK_BYTES,
    RECEIVED_PACKETS,
    GENERATOR_CPU,
    ALL_CPU,
    RATE,
    CONNECTED,
    FULL_HANDSHAKES,
    RESUMED_HANDSHAKES,
    PLANNED_RATE,
    RESPONSE_P50,
    WALL,
    RECORDED,
    PROXY_CORE,
    PROXY_BUSY,
    PROXY_PROCESSORS,
    PROXY_RUN_DELAY,
    GENERATOR_CORE,
    GENERATOR_RUN_DELAY,
    PROCESSORS_BUSY,
    STEAL,
    HANDOVER,
];

impl Measure {
    /// Its value in a slice, whether or not the slice was disturbed; none if the slice has none.
    pub fn value(&self, round: &RoundRecord, slice: &SliceRecord) -> Option<f64> {
        match self.source {
            Source::Slice(value) => value(round, slice),
            Source::Hop(hop) => {
                let late_ns = slice.late_hops_cpu_ns.get(hop).copied().unwrap_or(0);
                let cpu_ns = slice.hops_cpu_ns.get(hop)? + late_ns;
                // Records of earlier versions contain a zero for each proxy that the arm lacks.
                cpu_us_per_request(slice, cpu_ns).filter(|_| cpu_ns > 0)
            }
        }
    }

    /// Returns true if these disturbances invalidate it.
    pub fn is_invalidated_by(&self, disturbances: &[Disturbance]) -> bool {
        disturbances.iter().any(|disturbance| self.is_timed || disturbance.invalidates_cpu_time())
    }
}

/// A measure of resources spent. A proxy that waits for its processor spends nothing meanwhile, so waiting does not invalidate such a
/// measure.
const fn counted(id: &'static str, value: fn(&RoundRecord, &SliceRecord) -> Option<f64>) -> Measure {
    Measure { id: Cow::Borrowed(id), source: Source::Slice(value), is_timed: false }
}

/// A measure of time or rate.
const fn timed(id: &'static str, value: fn(&RoundRecord, &SliceRecord) -> Option<f64>) -> Measure {
    Measure { id: Cow::Borrowed(id), source: Source::Slice(value), is_timed: true }
}

fn per_request(slice: &SliceRecord, value: f64) -> Option<f64> {
    (slice.answered > 0).then(|| value / slice.answered as f64)
}

/// CPU time per request, us; none where the CPU time is unknown.
fn cpu_us_per_request(slice: &SliceRecord, cpu_ns: u64) -> Option<f64> {
    per_request(slice, cpu_ns as f64 / 1e3).filter(|_| !slice.is_incomplete)
}

fn per_second(slice: &SliceRecord, count: u64) -> Option<f64> {
    (count > 0 && slice.recorded_s > 0.0).then(|| count as f64 / slice.recorded_s)
}

/// Handshakes of one kind per second: the connections per second times the share of this kind in all handshakes. The count of handshakes
/// includes the lead-in; that of connections does not.
fn handshakes_per_second(slice: &SliceRecord, of_kind: u64) -> Option<f64> {
    let of_kind = share(of_kind as f64, (slice.full_handshakes + slice.resumed_handshakes) as f64)?;
    per_second(slice, slice.connected).map(|connections| connections * of_kind)
}

/// Share of `wall_s` that the proxies spent; none where that is unknown.
fn share_of_wall(slice: &SliceRecord, spent_ns: u64) -> Option<f64> {
    share(spent_ns as f64 / 1e9, slice.wall_s).filter(|_| !slice.is_incomplete)
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// The column of a measure; empty if the sample has none.
pub(super) fn column<'a>(
    sample: &'a Sample,
    measure: &Measure,
) -> impl Iterator<Item = Option<f64>> + use<'a> {
    let values = sample.values.get(measure.id.as_ref()).map_or([].as_slice(), Vec::as_slice);
    (0..sample.block.len()).map(|place| values.get(place).copied().flatten())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_measure_has_a_unique_name() {
        let all: Vec<Measure> = ALL.iter().cloned().chain(hop_cpus(12)).collect();
        let names: BTreeSet<&str> = all.iter().map(|measure| measure.id.as_ref()).collect();
        assert_eq!(names.len(), ALL.len() + 12);
    }

    #[test]
    fn every_proxy_of_a_chain_has_its_cpu_time() {
        let slice = SliceRecord {
            answered: 1_000,
            proxy_cpu_ns: 60_000_000,
            hops_cpu_ns: vec![10_000_000, 20_000_000, 0, 14_000_000, 16_000_000],
            late_hops_cpu_ns: vec![0, 0, 0, 1_000_000],
            ..SliceRecord::default()
        };
        let of = |hop: usize| hop_cpu(hop).value(&RoundRecord::default(), &slice);
        assert_eq!([0, 1, 3, 4].map(of), [Some(10.0), Some(20.0), Some(15.0), Some(16.0)]);
        assert_eq!((of(2), of(5)), (None, None), "a proxy that it does not have");
        assert_eq!(hop_cpu(3).id, "hop_4_cpu_us_per_request");
        assert_eq!(CPU.value(&RoundRecord::default(), &slice), Some(61.0));
    }

    #[test]
    fn unknown_cpu_time_is_neither_zero_nor_a_number() {
        let slice = SliceRecord {
            answered: 100,
            wall_s: 0.2,
            recorded_s: 0.2,
            book: hoptax_result::Book { answered: 100, ..Default::default() },
            proxy_cpu_ns: 1_000_000,
            hops_cpu_ns: vec![1_000_000],
            origin_cpu_ns: 1_000_000,
            ..SliceRecord::default()
        };
        let measures =
            [CPU, hop_cpu(0), ORIGIN_CPU, COMPANION_CPU, TOGETHER_CPU, PROXY_CORE, PROXY_RUN_DELAY];
        let round = RoundRecord::default();
        let of =
            |slice: &SliceRecord| measures.iter().filter(|one| one.value(&round, slice).is_some()).count();
        assert_eq!(of(&slice), measures.len());
        let incomplete = SliceRecord { is_incomplete: true, ..slice };
        assert_eq!(of(&incomplete), 0);
        assert_eq!(RATE.value(&round, &incomplete), Some(500.0), "responses are counted by the generator");
    }

    #[test]
    fn run_delay_of_the_proxy_does_not_invalidate_cpu_time() {
        let by = [Disturbance::RunDelay];
        assert!(
            !CPU.is_invalidated_by(&by) && RATE.is_invalidated_by(&by) && RESPONSE_P50.is_invalidated_by(&by)
        );
        assert!(
            CPU.is_invalidated_by(&[Disturbance::Steal]) && CPU.is_invalidated_by(&[Disturbance::Handover])
        );
        assert!(!RATE.is_invalidated_by(&[]));
    }

    #[test]
    fn shares_are_taken_of_the_time_over_which_they_were_counted() {
        // The lead-in of an open loop makes `wall_s` longer than `recorded_s`.
        let slice = SliceRecord {
            wall_s: 0.25,
            recorded_s: 0.2,
            proxy_cpu_ns: 100_000_000,
            proxy_run_delay_ns: 25_000_000,
            generator_cpu_ns: 100_000_000,
            generator_run_delay_ns: 10_000_000,
            ..SliceRecord::default()
        };
        let share = |measure: Measure| measure.value(&RoundRecord::default(), &slice).unwrap();
        let is = |measure: Measure, expected: f64| (share(measure) - expected).abs() < 1e-12;
        assert!(is(PROXY_CORE, 0.4) && is(PROXY_RUN_DELAY, 0.1), "counted over `wall_s`");
        assert!(is(GENERATOR_CORE, 0.5) && is(GENERATOR_RUN_DELAY, 0.05), "counted over `recorded_s`");
        assert_eq!(PROXY_CORE.value(&RoundRecord::default(), &SliceRecord::default()), None);
        assert_eq!(GENERATOR_CORE.value(&RoundRecord::default(), &SliceRecord::default()), None);
    }

    #[test]
    fn handshakes_of_the_lead_in_do_not_add_to_the_rate() {
        let slice = SliceRecord {
            wall_s: 0.52,
            recorded_s: 0.5,
            connected: 100,
            full_handshakes: 26,
            resumed_handshakes: 78,
            ..SliceRecord::default()
        };
        let of = |measure: &Measure, slice: &SliceRecord| measure.value(&RoundRecord::default(), slice);
        assert_eq!(
            [&FULL_HANDSHAKES, &RESUMED_HANDSHAKES].map(|one| of(one, &slice)),
            [Some(50.0), Some(150.0)]
        );
        let all_resumed = SliceRecord { full_handshakes: 0, ..slice.clone() };
        assert_eq!(of(&FULL_HANDSHAKES, &all_resumed), Some(0.0), "a slice without full handshakes counts");
        let plain = SliceRecord { full_handshakes: 0, resumed_handshakes: 0, ..slice };
        assert_eq!(of(&FULL_HANDSHAKES, &plain), None);
    }

    #[test]
    fn cpu_time_is_that_of_all_responses_over_the_same_time() {
        let slice = SliceRecord {
            wall_s: 0.22,
            recorded_s: 0.2,
            answered: 880,
            book: hoptax_result::Book { answered: 800, ..Default::default() },
            proxy_cpu_ns: 880 * 19_000,
            late_hops_cpu_ns: vec![880 * 1_000],
            ..SliceRecord::default()
        };
        let round = RoundRecord::default();
        assert_eq!(CPU.value(&round, &slice), Some(20.0));
        assert_eq!(RATE.value(&round, &slice), Some(4000.0));
        assert_eq!(CPU.value(&round, &SliceRecord::default()), None);
    }
}
