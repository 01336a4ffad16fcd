//! Memory that an arm needs beyond the arm that it is compared with, and memory per connection.

use hoptax_result::{ArmResult, Interval, StudyRound};
use hoptax_stats::mean_over_rounds;

use super::samples::Rounds;

/// Resident memory of all proxies of an arm less that of the arm that it is compared with, at the end of each round,
/// bytes. None if either has no proxy, and with too few rounds for an interval.
pub(super) fn cost(rounds: &Rounds<'_>, arm: &ArmResult) -> Option<Interval> {
    let other = arm.compared_with.as_deref()?;
    let difference = |round: &StudyRound| Some(total(round, &arm.id)? - total(round, other)?);
    let differences: Vec<f64> = rounds.all.iter().filter_map(difference).collect();
    mean_over_rounds(&differences, rounds.confidence)
}

/// The difference between the two arms in memory of the first proxy per connection.
pub(super) fn cost_per_connection(rounds: &Rounds<'_>, arm: &ArmResult) -> Option<Interval> {
    let other = arm.compared_with.as_deref()?;
    let difference = |round: &StudyRound| Some(grown(round, &arm.id)? - grown(round, other)?);
    let differences: Vec<f64> = rounds.all.iter().filter_map(difference).collect();
    mean_over_rounds(&differences, rounds.confidence)
}

fn total(round: &StudyRound, arm: &str) -> Option<f64> {
    let proxies = &round.arms.get(arm)?.memory_bytes;
    (!proxies.is_empty()).then(|| proxies.iter().sum::<u64>() as f64)
}

/// Growth of the memory of an arm's first proxies, of all copies, per connection that the generator opened, bytes;
/// negative if the proxies released more memory meanwhile. None if no connection was opened, and with too few rounds for an interval.
pub(super) fn per_connection(rounds: &Rounds<'_>, arm: &str) -> Option<Interval> {
    let grown: Vec<f64> = rounds.all.iter().filter_map(|round| grown(round, arm)).collect();
    mean_over_rounds(&grown, rounds.confidence)
}

fn grown(round: &StudyRound, arm: &str) -> Option<f64> {
    let opened = round.arms.get(arm)?.opened.filter(|opened| opened.connections > 0)?;
    Some((opened.after_bytes as f64 - opened.before_bytes as f64) / opened.connections as f64)
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ArmRound, Opened};

    use super::*;

    /// Rounds in which the baseline has 60 MB and the arm `more`, 0.5 MB of which are for 50 connections.
    fn rounds(more: &[u64]) -> Vec<StudyRound> {
        let of = |more: &u64| {
            let opened = Opened { connections: 50, before_bytes: 59_000_000, after_bytes: 59_500_000 };
            let arm = |bytes, opened| ArmRound { memory_bytes: bytes, opened, ..ArmRound::default() };
            let arms = [
                ("direct", arm(Vec::new(), None)),
                ("baseline", arm(vec![60_000_000], Some(Opened { after_bytes: 59_300_000, ..opened }))),
                ("lua", arm(vec![50_000_000, 10_000_000 + more], Some(opened))),
            ];
            let arms = arms.into_iter().map(|(id, arm)| (id.to_owned(), arm)).collect();
            StudyRound { arms, ..StudyRound::default() }
        };
        more.iter().map(of).collect()
    }

    fn arm(id: &str) -> ArmResult {
        ArmResult { id: id.to_owned(), compared_with: Some("baseline".to_owned()), ..ArmResult::default() }
    }

    #[test]
    fn a_function_costs_the_memory_that_its_proxies_have_beyond_the_baseline() {
        let evidence = rounds(&[900_000, 1_000_000, 1_100_000]);
        let all = Rounds { all: &evidence, times: &[], confidence: 0.95 };
        let cost = cost(&all, &arm("lua")).unwrap();
        assert!((cost.estimate - 1_000_000.0).abs() < 1.0 && cost.half_width() > 1_000.0, "{cost:?}");
        assert_eq!(super::cost(&all, &arm("direct")), None);
    }

    #[test]
    fn memory_per_connection_is_the_growth_of_the_proxy() {
        let evidence = rounds(&[0, 0, 0]);
        let all = Rounds { all: &evidence, times: &[], confidence: 0.95 };
        let grown = per_connection(&all, "lua").unwrap();
        assert!((grown.estimate - 10_000.0).abs() < 1e-6, "{grown:?}");
        assert_eq!((per_connection(&all, "direct"), per_connection(&all, "nowhere")), (None, None));
        let more = cost_per_connection(&all, &arm("lua")).unwrap();
        assert!((more.estimate - 4_000.0).abs() < 1e-6, "{more:?}");
        assert_eq!(cost_per_connection(&all, &arm("direct")), None);
    }
}
