//! The measures of a slice, one entry each, by their names in results.

use hoptax_result::Disturbance;

use crate::record::{MAX_HOPS, RoundRecord, SliceRecord};

/// A measure of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Its name, with its unit.
    pub id: &'static str,
    /// Its value in a slice; none if the slice has none.
    of: fn(&RoundRecord, &SliceRecord) -> Option<f64>,
    /// Whether time that the proxy waited for its processor invalidates it.
    is_timed: bool,
}

/// CPU time of the proxies per answered request, us.
pub const CPU: Measure = counted("cpu_us_per_request", |_, slice| {
    let late_ns: u64 = slice.late_hops_cpu_ns.iter().sum();
    per_request(slice, (slice.proxy_cpu_ns + late_ns) as f64 / 1e3)
});

/// CPU time of each proxy, in the order in which a request passes them.
pub const HOP_CPU: [Measure; MAX_HOPS] = [
    counted("hop_1_cpu_us_per_request", hop::<0>),
    counted("hop_2_cpu_us_per_request", hop::<1>),
    counted("hop_3_cpu_us_per_request", hop::<2>),
];

/// CPU time of the origins per answered request, us.
pub const ORIGIN_CPU: Measure =
    counted("origin_cpu_us_per_request", |_, slice| per_request(slice, slice.origin_cpu_ns as f64 / 1e3));

/// CPU time of the companion per answered request, us.
pub const COMPANION_CPU: Measure = counted("companion_cpu_us_per_request", |_, slice| {
    per_request(slice, slice.companion_cpu_ns as f64 / 1e3)
});

/// CPU time of proxies, origins and companion together.
pub const TOGETHER_CPU: Measure = counted("together_cpu_us_per_request", |round, slice| {
    [CPU, ORIGIN_CPU, COMPANION_CPU].into_iter().map(|part| part.of(round, slice)).sum()
});

/// Bytes on the link per answered request.
pub const LINK_BYTES: Measure =
    counted("link_bytes_per_request", |_, slice| per_request(slice, slice.link_bytes as f64));

/// Answered requests per second.
pub const RATE: Measure = timed("rate", |_, slice| per_second(slice, slice.book.answered));

/// Connections opened per second; none if connections are kept.
pub const CONNECTED: Measure = timed("connections_per_second", |_, slice| per_second(slice, slice.connected));

/// Full TLS handshakes per second.
pub const FULL_HANDSHAKES: Measure =
    timed("full_handshakes_per_second", |_, slice| per_second(slice, slice.full_handshakes));

/// Resumed TLS handshakes per second.
pub const RESUMED_HANDSHAKES: Measure =
    timed("resumed_handshakes_per_second", |_, slice| per_second(slice, slice.resumed_handshakes));

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
    counted("proxy_core_share", |_, slice| share(slice.proxy_cpu_ns as f64 / 1e9, slice.wall_s));

/// Share of `wall_s` that the proxy waited for a processor.
pub const PROXY_RUN_DELAY: Measure =
    counted("proxy_run_delay_share", |_, slice| share(slice.proxy_run_delay_ns as f64 / 1e9, slice.wall_s));

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

/// Requests that a limit admitted, divided by what it should have admitted. It depends on earlier slices, since a
/// token bucket carries over, so `summary::limits` computes it, and it is not in [`ALL`].
pub const ADMITTED: Measure = timed("admitted_ratio", |_, _| None);

/// All measures of a slice.
pub const ALL: &[Measure] = &[
    CPU,
    HOP_CPU[0],
    HOP_CPU[1],
    HOP_CPU[2],
    ORIGIN_CPU,
    COMPANION_CPU,
    TOGETHER_CPU,
    LINK_BYTES,
    RATE,
    CONNECTED,
    FULL_HANDSHAKES,
    RESUMED_HANDSHAKES,
    PLANNED_RATE,
    RESPONSE_P50,
    WALL,
    RECORDED,
    PROXY_CORE,
    PROXY_RUN_DELAY,
    GENERATOR_CORE,
    GENERATOR_RUN_DELAY,
    PROCESSORS_BUSY,
    STEAL,
    HANDOVER,
];

impl Measure {
    /// Its value in a slice, whether or not the slice was disturbed; none if the slice has none.
    pub fn of(&self, round: &RoundRecord, slice: &SliceRecord) -> Option<f64> {
        (self.of)(round, slice)
    }

    /// Whether these disturbances invalidate it.
    pub fn is_invalidated_by(&self, disturbances: &[Disturbance]) -> bool {
        disturbances.iter().any(|disturbance| self.is_timed || disturbance.invalidates_cpu_time())
    }
}

/// A measure of resources spent. A proxy that waits for its processor spends nothing meanwhile, so waiting does
/// not invalidate it.
const fn counted(id: &'static str, of: fn(&RoundRecord, &SliceRecord) -> Option<f64>) -> Measure {
    Measure { id, of, is_timed: false }
}

/// A measure of time or rate.
const fn timed(id: &'static str, of: fn(&RoundRecord, &SliceRecord) -> Option<f64>) -> Measure {
    Measure { id, of, is_timed: true }
}

fn per_request(slice: &SliceRecord, value: f64) -> Option<f64> {
    (slice.answered > 0).then(|| value / slice.answered as f64)
}

fn per_second(slice: &SliceRecord, count: u64) -> Option<f64> {
    (count > 0 && slice.recorded_s > 0.0).then(|| count as f64 / slice.recorded_s)
}

fn hop<const NUMBER: usize>(_: &RoundRecord, slice: &SliceRecord) -> Option<f64> {
    let cpu_ns = slice.hops_cpu_ns.get(NUMBER)? + slice.late_hops_cpu_ns.get(NUMBER)?;
    if cpu_ns == 0 { None } else { per_request(slice, cpu_ns as f64 / 1e3) }
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_measure_has_a_unique_name() {
        let names: BTreeSet<&str> = ALL.iter().map(|measure| measure.id).collect();
        assert_eq!(names.len(), ALL.len());
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
        let share = |measure: Measure| measure.of(&RoundRecord::default(), &slice).unwrap();
        let is = |measure: Measure, expected: f64| (share(measure) - expected).abs() < 1e-12;
        assert!(is(PROXY_CORE, 0.4) && is(PROXY_RUN_DELAY, 0.1), "counted over `wall_s`");
        assert!(is(GENERATOR_CORE, 0.5) && is(GENERATOR_RUN_DELAY, 0.05), "counted over `recorded_s`");
        assert_eq!(PROXY_CORE.of(&RoundRecord::default(), &SliceRecord::default()), None);
        assert_eq!(GENERATOR_CORE.of(&RoundRecord::default(), &SliceRecord::default()), None);
    }

    #[test]
    fn cpu_time_is_that_of_all_responses_over_the_same_time() {
        let slice = SliceRecord {
            wall_s: 0.22,
            recorded_s: 0.2,
            answered: 880,
            book: hoptax_result::Book { answered: 800, ..Default::default() },
            proxy_cpu_ns: 880 * 19_000,
            late_hops_cpu_ns: [880 * 1_000, 0, 0],
            ..SliceRecord::default()
        };
        let round = RoundRecord::default();
        assert_eq!(CPU.of(&round, &slice), Some(20.0));
        assert_eq!(RATE.of(&round, &slice), Some(4000.0));
        assert_eq!(CPU.of(&round, &SliceRecord::default()), None);
    }
}
