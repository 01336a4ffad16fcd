//! The breakdown of the proxies' CPU time per request, from the counts of each round.

use hoptax_result::{Interval, PartCounts, Parts, Sample};
use hoptax_stats::mean_over_rounds;

use super::samples::Rounds;

/// The numbers of [`Parts`], in their order.
type Numbers = [Option<f64>; 9];

/// The activity of an arm's proxies per request under a load; none if no round has it.
pub(super) fn level(rounds: &Rounds<'_>, arm: &str, load: &str) -> Option<Parts> {
    let by_round = by_round(rounds, arm, load);
    parts(by_round.into_iter().flatten(), rounds.confidence)
}

/// The activity of an arm's proxies less that of another arm's proxies, as a difference in each round.
pub(super) fn added(rounds: &Rounds<'_>, arm: &str, other: &str, load: &str) -> Option<Parts> {
    let both = by_round(rounds, arm, load).into_iter().zip(by_round(rounds, other, load));
    let difference = |(own, other): (Option<Numbers>, Option<Numbers>)| -> Option<Numbers> {
        let (own, other) = (own?, other?);
        Some(std::array::from_fn(|number| Some(own[number]? - other[number]?)))
    };
    parts(both.filter_map(difference), rounds.confidence)
}

fn by_round(rounds: &Rounds<'_>, arm: &str, load: &str) -> Vec<Option<Numbers>> {
    let of_sample = |sample: &Sample| {
        sample.parts.filter(|counts| counts.requests > 0).map(|counts| per_request(&counts))
    };
    rounds.by_round(arm, load).map(|sample| sample.and_then(of_sample)).collect()
}

fn per_request(counts: &PartCounts) -> Numbers {
    let requests = counts.requests as f64;
    let ticks_ns = counts.user_ns + counts.kernel_ns;
    // The CPU time is exact; its split between user and kernel is not.
    let share_us =
        |ns: u64| (ticks_ns > 0).then(|| ns as f64 / ticks_ns as f64 * counts.cpu_ns as f64 / 1e3 / requests);
    let per_request = |count: u64| Some(count as f64 / requests);
    [
        share_us(counts.user_ns),
        share_us(counts.kernel_ns),
        per_request(counts.reads),
        per_request(counts.writes),
        per_request(counts.read_bytes),
        per_request(counts.written_bytes),
        per_request(counts.voluntary_switches),
        per_request(counts.involuntary_switches),
        per_request(counts.minor_faults),
    ]
}

/// The mean of each number over the rounds that have it.
fn parts(by_round: impl Iterator<Item = Numbers>, confidence: f64) -> Option<Parts> {
    let by_round: Vec<Numbers> = by_round.collect();
    let mean = |number: usize| -> Option<Interval> {
        let values: Vec<f64> = by_round.iter().filter_map(|round| round[number]).collect();
        mean_over_rounds(&values, confidence)
    };
    let mut parts = Parts::default();
    for (number, part) in parts.all_mut().into_iter().enumerate() {
        *part = mean(number);
    }
    (parts != Parts::default()).then_some(parts)
}

#[cfg(test)]
mod tests {
    use hoptax_result::StudyRound;

    use super::*;

    /// A round in which each arm answered 1,000 requests, with this CPU time in us and number of reads.
    fn round(arms: &[(&str, u64, u64)]) -> StudyRound {
        let sample = |(arm, cpu_us, reads): &(&str, u64, u64)| Sample {
            arm: (*arm).to_owned(),
            load: "saturation".to_owned(),
            parts: Some(PartCounts {
                requests: 1_000,
                cpu_ns: cpu_us * 1_000_000,
                user_ns: 30_000_000,
                kernel_ns: 10_000_000,
                reads: reads * 1_000,
                ..PartCounts::default()
            }),
            ..Sample::default()
        };
        StudyRound { samples: arms.iter().map(sample).collect(), ..StudyRound::default() }
    }

    fn estimate(interval: Option<Interval>) -> f64 {
        interval.unwrap().estimate
    }

    #[test]
    fn the_exact_cpu_time_is_divided_as_ticks_fell() {
        let all = [round(&[("baseline", 20, 4)]), round(&[("baseline", 24, 4)])];
        let rounds = Rounds { all: &all, times: &[], confidence: 0.95 };
        let parts = level(&rounds, "baseline", "saturation").unwrap();
        assert!(
            (estimate(parts.user_us) - 16.5).abs() < 1e-9 && (estimate(parts.kernel_us) - 5.5).abs() < 1e-9
        );
        assert!((estimate(parts.reads) - 4.0).abs() < 1e-9, "{parts:?}");
        assert_eq!(level(&rounds, "baseline", "fixed-rate"), None);
    }

    #[test]
    fn an_added_part_is_the_difference_in_each_round() {
        let of = |lua: u64, baseline: u64| round(&[("lua", lua, 6), ("baseline", baseline, 4)]);
        let mut all = vec![of(28, 20), of(48, 40)];
        // A round that has only one of the two arms contributes nothing.
        all.push(round(&[("lua", 400, 9)]));
        let rounds = Rounds { all: &all, times: &[], confidence: 0.95 };
        let parts = added(&rounds, "lua", "baseline", "saturation").unwrap();
        let user_us = parts.user_us.unwrap();
        assert!((user_us.estimate - 6.0).abs() < 1e-9 && user_us.half_width() < 1e-9, "{parts:?}");
        assert!((estimate(parts.reads) - 2.0).abs() < 1e-9, "{parts:?}");
        assert_eq!(added(&rounds, "lua", "nowhere", "saturation"), None);
    }

    #[test]
    fn an_arm_without_kernel_counters_has_no_parts() {
        let mut all = [round(&[("baseline", 20, 4)]), round(&[("baseline", 20, 4)])];
        for sample in all.iter_mut().flat_map(|round| &mut round.samples) {
            sample.parts = None;
        }
        let rounds = Rounds { all: &all, times: &[], confidence: 0.95 };
        assert_eq!(level(&rounds, "baseline", "saturation"), None);
    }
}
