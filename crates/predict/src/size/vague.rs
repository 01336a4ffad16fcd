//! Withholds predicted times whose intervals are too wide to be useful.

use hoptax_checks::thresholds::Limits;
use hoptax_checks::vague::vague_level;
use hoptax_result::{Interval, PredictedTime, SizeLatency, WithheldTime};

/// Withholds each time whose interval is too wide by the rule for the levels of a study ([`vague_level`]), and records which times it
/// withheld.
pub(crate) fn withhold_vague(latency: &mut SizeLatency) {
    let limits = Limits::default();
    let mut withheld = Vec::new();
    let mut judge = |service: Option<&str>, time: PredictedTime, interval: &mut Option<Interval>| {
        if let Some(half_width_share) = interval.and_then(|interval| vague_level(&interval, &limits)) {
            *interval = None;
            withheld.push(WithheldTime { service: service.map(str::to_owned), time, half_width_share });
        }
    };
    judge(None, PredictedTime::MeanUs, &mut latency.added.mean_us);
    judge(None, PredictedTime::P99Us, &mut latency.added.p99_us);
    for proxy in &mut latency.proxies {
        let service = Some(proxy.service.as_str());
        judge(service, PredictedTime::MeanUs, &mut proxy.added.mean_us);
        judge(service, PredictedTime::P99Us, &mut proxy.added.p99_us);
        judge(service, PredictedTime::CriticalPathUs, &mut proxy.critical_path_us);
    }
    latency.withheld = withheld;
}

#[cfg(test)]
mod tests {
    use hoptax_result::{AddedTime, ProxyLatency};

    use super::*;

    #[test]
    fn only_times_with_wide_intervals_are_withheld() {
        let about = |half_width: f64| Some(Interval::around(100.0, half_width));
        let mut latency = SizeLatency {
            added: AddedTime { mean_us: about(20.0), p99_us: about(180.0) },
            is_extrapolated: false,
            proxies: vec![ProxyLatency {
                service: "front".to_owned(),
                busy_share: 0.3,
                added: AddedTime { mean_us: about(51.0), p99_us: None },
                critical_path_us: about(49.0),
                is_extrapolated: false,
            }],
            withheld: Vec::new(),
        };
        withhold_vague(&mut latency);
        assert_eq!((latency.added.mean_us, latency.added.p99_us), (about(20.0), None));
        let [front] = latency.proxies.as_slice() else { panic!("{latency:?}") };
        assert_eq!((front.added.mean_us, front.critical_path_us), (None, about(49.0)));
        let withheld: Vec<(Option<&str>, PredictedTime)> =
            latency.withheld.iter().map(|one| (one.service.as_deref(), one.time)).collect();
        assert_eq!(withheld, [(None, PredictedTime::P99Us), (Some("front"), PredictedTime::MeanUs)]);
        assert!((latency.withheld[0].half_width_share - 1.8).abs() < 1e-9, "{:?}", latency.withheld);
    }
}
