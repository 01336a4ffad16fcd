//! Memory per connection.

use hoptax_result::{ArmResult, Interval, StudyRound};
use hoptax_stats::mean_over_rounds;

use super::samples::Rounds;

/// Size of a page of memory on x86-64, bytes.
const PAGE_BYTES: f64 = 4096.0;

/// The difference between the two arms in memory of the first proxy per connection.
///
/// Memory grows by whole pages: nearly always by the same number, and now and then by a few more. One copy of the baseline
/// is compared with the arm, although it has several: the difference of two single proxies is symmetric, while that to a
/// mean of four is skewed, and Student's interval then misses zero too often.
pub(super) fn cost_per_connection(rounds: &Rounds<'_>, arm: &ArmResult) -> Option<Interval> {
    let other = arm.compared_with.as_deref()?;
    let difference = |round: &StudyRound| Some(grown(round, &arm.id)? - grown(round, other)?);
    let differences: Vec<f64> = rounds.all.iter().filter_map(difference).collect();
    at_resolution(mean_over_rounds(&differences, rounds.confidence)?, rounds, &arm.id)
}

/// Growth of the memory of an arm's first proxy per connection that the generator opened, bytes; negative if the proxy
/// released more memory meanwhile. None if no connection was opened, and with too few rounds for an interval.
pub(super) fn per_connection(rounds: &Rounds<'_>, arm: &str) -> Option<Interval> {
    let grown: Vec<f64> = rounds.all.iter().filter_map(|round| grown(round, arm)).collect();
    at_resolution(mean_over_rounds(&grown, rounds.confidence)?, rounds, arm)
}

/// The interval, at least one page of memory divided by the number of connections to each side: memory grows by whole
/// pages, so all rounds may read the same, and a smaller cost stays unseen.
fn at_resolution(interval: Interval, rounds: &Rounds<'_>, arm: &str) -> Option<Interval> {
    let connections = |round: &StudyRound| Some(round.arms.get(arm)?.opened?.connections);
    let connections = rounds.all.iter().find_map(connections).filter(|connections| *connections > 0)?;
    Some(at_least(PAGE_BYTES / connections as f64, interval))
}

/// The interval of a difference in memory, at least one page to each side. The kernel counts pages, and a server that is never
/// restarted may read the same in all rounds: its interval would have no width, and no decision.
pub(super) fn at_least_one_page(interval: Interval) -> Interval {
    at_least(PAGE_BYTES, interval)
}

/// The interval, with at least this half-width.
fn at_least(half_width: f64, interval: Interval) -> Interval {
    let half_width = interval.half_width().max(half_width);
    let estimate = interval.estimate;
    Interval { estimate, low: estimate - half_width, high: estimate + half_width }
}

fn grown(round: &StudyRound, arm: &str) -> Option<f64> {
    let opened = round.arms.get(arm)?.opened.filter(|opened| opened.connections > 0)?;
    Some((opened.after_bytes as f64 - opened.before_bytes as f64) / opened.connections as f64)
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ArmRound, Opened};
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use rand::distr::Distribution;
    use rand::distr::weighted::WeightedIndex;

    use super::*;

    /// Rounds in which the baseline's memory grows by 0.3 MB and the arm's by 0.5 MB for 50 connections.
    fn rounds(number: usize) -> Vec<StudyRound> {
        let opened = Opened { connections: 50, before_bytes: 59_000_000, after_bytes: 59_500_000 };
        let arm = |opened| ArmRound { opened, ..ArmRound::default() };
        let arms = [
            ("direct", arm(None)),
            ("baseline", arm(Some(Opened { after_bytes: 59_300_000, ..opened }))),
            ("lua", arm(Some(opened))),
        ];
        let arms = arms.into_iter().map(|(id, arm)| (id.to_owned(), arm)).collect();
        vec![StudyRound { arms, ..StudyRound::default() }; number]
    }

    fn arm(id: &str) -> ArmResult {
        ArmResult { id: id.to_owned(), compared_with: Some("baseline".to_owned()), ..ArmResult::default() }
    }

    #[test]
    fn memory_per_connection_is_the_growth_of_the_proxy() {
        let evidence = rounds(3);
        let all = Rounds { all: &evidence, times: &[], confidence: 0.95 };
        let grown = per_connection(&all, "lua").unwrap();
        assert!((grown.estimate - 10_000.0).abs() < 1e-6, "{grown:?}");
        // All rounds read the same, which pages of 4,096 bytes over 50 connections explain.
        assert!((grown.half_width() - 81.92).abs() < 1e-6, "{grown:?}");
        assert_eq!((per_connection(&all, "direct"), per_connection(&all, "nowhere")), (None, None));
        let more = cost_per_connection(&all, &arm("lua")).unwrap();
        assert!((more.estimate - 4_000.0).abs() < 1e-6, "{more:?}");
        assert_eq!(cost_per_connection(&all, &arm("direct")), None);
    }

    #[test]
    fn memory_that_never_changes_is_known_to_a_page() {
        let of = |half_width: f64| Interval { estimate: 5.0, low: 5.0 - half_width, high: 5.0 + half_width };
        assert_eq!(at_least_one_page(of(0.0)), of(4096.0));
        assert_eq!(at_least_one_page(of(10_000.0)), of(10_000.0));
    }

    /// Growth per connection of identical proxies and how often it was read, in a real study of twenty A/A arms.
    const GROWN: [(u64, u32); 7] =
        [(7_424, 201), (7_475, 13), (7_526, 6), (7_578, 3), (7_629, 13), (7_680, 2), (7_731, 2)];

    /// Share of simulated studies of twelve rounds whose interval contains the true difference, zero.
    fn coverage(copies: usize) -> f64 {
        const STUDIES: u32 = 4_000;
        let mut rng = SmallRng::seed_from_u64(1);
        let draw = WeightedIndex::new(GROWN.map(|(_, count)| count)).unwrap();
        let mut grown = || GROWN[draw.sample(&mut rng)].0 as f64;
        let mut contains_zero = || {
            let mut difference = || grown() - (0..copies).map(|_| grown()).sum::<f64>() / copies as f64;
            let differences: Vec<f64> = (0..12).map(|_| difference()).collect();
            mean_over_rounds(&differences, 0.95).unwrap().contains(0.0)
        };
        let covered = (0..STUDIES).filter(|_| contains_zero()).count();
        covered as f64 / f64::from(STUDIES)
    }

    #[test]
    fn growth_compared_with_one_copy_covers_zero_and_with_a_mean_of_copies_does_not() {
        let (one, four) = (coverage(1), coverage(4));
        assert!(one >= 0.93 && four < 0.93, "{one} {four}");
    }
}
