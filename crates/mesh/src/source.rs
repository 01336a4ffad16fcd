//! The source of CPU times, and the lengths of slices and quiet times that it requires.

use std::time::Duration;

use hoptax_agents::reader::TICK_S;
use hoptax_result::CpuTimeSource;

/// The requested source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CpuTime {
    /// Control groups, if readers start and find the containers. Otherwise the kubelets or, if those do not answer, a Prometheus if one is
    /// named.
    #[default]
    Auto,
    /// Only control groups.
    Cgroup,
    /// Only the kubelets.
    Kubelet,
    /// Only a Prometheus.
    Prometheus,
}

/// The name of each source.
pub const WORDS: [(&str, CpuTime); 4] = [
    ("auto", CpuTime::Auto),
    ("cgroup", CpuTime::Cgroup),
    ("kubelet", CpuTime::Kubelet),
    ("prometheus", CpuTime::Prometheus),
];

impl CpuTime {
    /// True if control groups are read where possible.
    pub fn has_readers(self) -> bool {
        matches!(self, Self::Auto | Self::Cgroup)
    }

    /// True if the source may be a Prometheus.
    pub fn has_prometheus(self) -> bool {
        matches!(self, Self::Auto | Self::Prometheus)
    }
}

/// Minimum length of a slice, in gaps between readings. If readings are a full gap apart, the slice contains three; if some are closer, the
/// first and the last are still at least a gap apart.
const GAPS_OF_SLICE: f64 = 3.0;
/// Gaps of the quiet time of a later round between readings of kubelets.
const GAPS_OF_QUIET: f64 = 2.0;
/// Gaps more from a Prometheus: the first reading that comes may have been taken before ([`used`](crate::used::used)).
const GAPS_OF_LATE: f64 = 1.0;
/// The rest of a time that has some gaps, in times between two questions: for one at each end, and the answers.
const QUESTIONS_BESIDE: f64 = 3.0;
/// The length of a slice that nobody asks for, and of the quiet time, between readings of control groups, at least, seconds: what proxies and
/// control planes do every 10 to 30 s, such as probes, scrapes of metrics and the push of a configuration, would be in a shorter one by chance.
pub(crate) const USUAL_S: f64 = 30.0;
/// The time before a quiet time, in which new pods are still starting and proxies are told about them.
pub const SETTLING: Duration = Duration::from_secs(10);
/// The longest slice that nobody asks for: the pods of the first round have a deadline before its length is known.
pub const LONGEST_SLICE: Duration = Duration::from_mins(6);
/// The longest time from a reading of a kubelet to the next one of the same container, seconds.
const KUBELET_READS_WITHIN_S: f64 = 20.0;
/// Tolerated error of a CPU time from control groups due to kernel ticks, as a share of a processor.
const TICK_SHARE: f64 = 0.002;

/// Polling interval. Kubelets and a Prometheus are polled more often than they read, to know when they have read.
pub fn every(source: CpuTimeSource) -> Duration {
    match source {
        CpuTimeSource::Cgroup => Duration::from_millis(250),
        CpuTimeSource::Kubelet => Duration::from_secs(2),
        CpuTimeSource::Prometheus => Duration::from_secs(5),
    }
}

/// Time limit for three readings of each container. A Prometheus may scrape only once a minute.
pub fn longest_wait(source: CpuTimeSource) -> Duration {
    match source {
        CpuTimeSource::Cgroup | CpuTimeSource::Kubelet => Duration::from_mins(2),
        CpuTimeSource::Prometheus => Duration::from_mins(5),
    }
}

/// The gap between readings that slices are as long as: with times of scrapes, the longest one in which the kubelet reads, since two scrapes
/// may have the same reading.
pub fn gap_of_readings_s(gap_s: f64, has_times_of_scrapes: bool) -> f64 {
    if has_times_of_scrapes { gap_s.max(KUBELET_READS_WITHIN_S) } else { gap_s }
}

/// The time in which so many gaps are seen between readings of kubelets, which a Prometheus may pass on, seconds.
fn gaps_s(source: CpuTimeSource, gaps: f64, gap_s: f64) -> f64 {
    let late = if source == CpuTimeSource::Prometheus { GAPS_OF_LATE } else { 0.0 };
    (gaps + late) * gap_s + QUESTIONS_BESIDE * every(source).as_secs_f64()
}

/// The length of the shortest slice for a maximum time between readings of `gap_s`, seconds.
pub fn slice_s(source: CpuTimeSource, gap_s: f64) -> f64 {
    let slice_s = match source {
        // Each of two counters lacks at most a tick, so their difference is wrong by one at most.
        CpuTimeSource::Cgroup => GAPS_OF_SLICE * gap_s + TICK_S / TICK_SHARE,
        CpuTimeSource::Kubelet | CpuTimeSource::Prometheus => gaps_s(source, GAPS_OF_SLICE, gap_s),
    };
    slice_s.ceil()
}

/// The default length of a slice, seconds.
pub fn usual_slice_s(source: CpuTimeSource, gap_s: f64) -> f64 {
    let shortest_s = slice_s(source, gap_s);
    match source {
        CpuTimeSource::Cgroup => shortest_s.max(USUAL_S),
        CpuTimeSource::Kubelet | CpuTimeSource::Prometheus => shortest_s,
    }
}

/// The maximum error due to kernel ticks of a CPU time from two readings this far apart, as a share of a processor.
pub fn tick_share(apart_s: f64) -> f64 {
    TICK_S / apart_s
}

/// The maximum relative error of a CPU time from two readings this far apart whose times are those of scrapes: a node may have taken either
/// of them up to its reading interval earlier.
pub fn scrape_share(apart_s: f64) -> f64 {
    KUBELET_READS_WITHIN_S / apart_s
}

/// The time without load at the start of a round in which readings are needed, seconds. In the first round, it determines the gap, from
/// three readings of each container.
pub fn quiet_s(source: CpuTimeSource, gap_s: f64, round: u32, has_shared: bool) -> f64 {
    match source {
        // In later rounds, only shared proxies need it; a kubelet has read often enough in the first round.
        _ if round > 0 && !has_shared => 0.0,
        CpuTimeSource::Kubelet if round == 0 => 0.0,
        // For another one than the first that came.
        CpuTimeSource::Prometheus if round == 0 => gaps_s(source, 0.0, gap_s),
        CpuTimeSource::Kubelet | CpuTimeSource::Prometheus => gaps_s(source, GAPS_OF_QUIET, gap_s),
        CpuTimeSource::Cgroup => usual_slice_s(source, gap_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_between_readings_of_control_groups_last_seconds_and_between_those_of_kubelets_a_minute() {
        assert_eq!([0.3, 2.0].map(|gap_s| slice_s(CpuTimeSource::Cgroup, gap_s) as u32), [6, 11]);
        assert_eq!([10.0, 20.0].map(|gap_s| slice_s(CpuTimeSource::Kubelet, gap_s) as u32), [36, 66]);
        // The first and the last reading of the shortest slice are three gaps less apart, at worst.
        for gap_s in [0.25, 0.3, 1.0] {
            let apart_s = slice_s(CpuTimeSource::Cgroup, gap_s) - GAPS_OF_SLICE * gap_s;
            assert!(tick_share(apart_s) <= TICK_SHARE + 1e-12, "{gap_s}");
        }
        assert!(every(CpuTimeSource::Cgroup) < every(CpuTimeSource::Kubelet));
    }

    #[test]
    fn slices_and_quiet_times_are_long_enough_for_what_is_done_now_and_then_unless_shorter_ones_are_asked_for()
     {
        let (cgroup, kubelet) = (CpuTimeSource::Cgroup, CpuTimeSource::Kubelet);
        assert_eq!([0.3, 2.0, 20.0].map(|gap_s| usual_slice_s(cgroup, gap_s) as u32), [30, 30, 65]);
        assert_eq!([10.0, 20.0].map(|gap_s| usual_slice_s(kubelet, gap_s) as u32), [36, 66]);
        assert_eq!([0, 1].map(|round| quiet_s(cgroup, 0.3, round, true) as u32), [30, 30]);
        assert!(slice_s(cgroup, 0.3) < usual_slice_s(cgroup, 0.3));
    }

    #[test]
    fn slices_by_scrapes_have_one_more_of_them_and_one_a_minute_is_often_enough() {
        let prometheus = CpuTimeSource::Prometheus;
        assert_eq!([10.0, 30.0, 60.0].map(|gap_s| slice_s(prometheus, gap_s) as u32), [55, 135, 255]);
        for gap_s in [10.0, 30.0, 60.0] {
            let rest_s = slice_s(prometheus, gap_s) - 2.0 * every(prometheus).as_secs_f64();
            assert!(rest_s >= 4.0 * gap_s, "four come between two questions at each end: {rest_s} s");
            assert!(slice_s(prometheus, gap_s) > slice_s(CpuTimeSource::Kubelet, gap_s));
        }
        let minute_s = usual_slice_s(prometheus, 75.0);
        assert!(minute_s <= LONGEST_SLICE.as_secs_f64(), "{minute_s} s");
        assert!(longest_wait(prometheus).as_secs_f64() >= 4.0 * 60.0);
        assert_eq!([0, 1].map(|round| quiet_s(prometheus, 30.0, round, true) as u32), [45, 105]);
    }

    #[test]
    fn slices_by_times_of_scrapes_are_as_long_as_those_between_the_rarest_readings_of_a_kubelet() {
        let slice_s = |gap_s, by_scrapes| {
            slice_s(CpuTimeSource::Prometheus, gap_of_readings_s(gap_s, by_scrapes)) as u32
        };
        assert_eq!([5.0, 20.0, 30.0].map(|gap_s| slice_s(gap_s, true)), [95, 95, 135]);
        assert_eq!(slice_s(5.0, false), 35);
        assert!((scrape_share(80.0) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn later_rounds_are_quiet_only_for_what_others_use_too() {
        let quiet_s = |source, round, has_shared| quiet_s(source, 10.0, round, has_shared) as u32;
        let (cgroup, kubelet) = (CpuTimeSource::Cgroup, CpuTimeSource::Kubelet);
        assert_eq!([false, true].map(|shared| quiet_s(kubelet, 0, shared)), [0, 0]);
        assert_eq!([false, true].map(|shared| quiet_s(kubelet, 1, shared)), [0, 26]);
        assert_eq!([false, true].map(|shared| quiet_s(cgroup, 0, shared)), [35, 35]);
        assert_eq!([false, true].map(|shared| quiet_s(cgroup, 1, shared)), [0, 35]);
    }
}
