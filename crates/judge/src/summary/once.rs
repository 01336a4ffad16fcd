//! The numbers of measures that an arm has once per round, such as the memory of its proxies.

use hoptax_result::{ArmResult, Interval, RoundMeasure, RoundNumbers, StudyRound};
use hoptax_stats::{CostAtLevel, mean_over_rounds};

use super::samples::Rounds;

/// The cost of an arm in each measure: the total of its proxies minus the total of the arm that it is compared with. In simulations with
/// the memory of A/A arms from two real studies, the interval contains zero in 94.7 to 95.0 % of studies with one, four and nine copies of
/// the baseline. None if either arm has no value, and with too few rounds for an interval.
pub(super) fn costs(rounds: &Rounds<'_>, arm: &ArmResult) -> RoundNumbers {
    let cost = |measure: RoundMeasure| {
        let both = costs_at_levels(rounds, arm, measure);
        let differences: Vec<f64> = both.iter().map(|round| round.cost).collect();
        let interval = mean_over_rounds(&differences, rounds.confidence)?;
        Some(at_resolution(interval, rounds, &arm.id, measure))
    };
    RoundMeasure::ALL.into_iter().map(|measure| (measure, cost(measure))).collect()
}

/// The cost of an arm in a measure in each round in which both arms have a value, with the total of the arm that it is compared with.
pub(super) fn costs_at_levels(
    rounds: &Rounds<'_>,
    arm: &ArmResult,
    measure: RoundMeasure,
) -> Vec<CostAtLevel> {
    let total = |round: &StudyRound, arm: &str| (measure.definition().total)(round.arms.get(arm)?);
    let of_round = |round: &StudyRound| {
        let level = total(round, arm.compared_with.as_deref()?)?;
        Some(CostAtLevel { cost: total(round, &arm.id)? - level, level })
    };
    rounds.all.iter().filter_map(of_round).collect()
}

/// Returns the value of one proxy of an arm, by its index, in each measure. None for a measure without a value, and with too few rounds for
/// an interval.
pub(super) fn levels(rounds: &Rounds<'_>, arm: &str, proxy: usize) -> RoundNumbers {
    let level = |measure: RoundMeasure| {
        let value =
            |round: &StudyRound| (measure.definition().values)(round.arms.get(arm)?).get(proxy).copied();
        let values: Vec<f64> = rounds.all.iter().filter_map(value).collect();
        let interval = mean_over_rounds(&values, rounds.confidence)?;
        Some(at_resolution(interval, rounds, arm, measure))
    };
    RoundMeasure::ALL.into_iter().map(|measure| (measure, level(measure))).collect()
}

/// The interval, at least as wide as the resolution of the measure on each side.
fn at_resolution(interval: Interval, rounds: &Rounds<'_>, arm: &str, measure: RoundMeasure) -> Interval {
    let Some(resolution) = resolution(rounds.all, arm, measure) else { return interval };
    let (estimate, half_width) = (interval.estimate, interval.half_width().max(resolution));
    Interval::around(estimate, half_width)
}

/// The smallest half-width of the intervals of a measure, however many rounds there are; none if there is no such limit.
pub(crate) fn resolution(rounds: &[StudyRound], arm: &str, measure: RoundMeasure) -> Option<f64> {
    rounds.iter().find_map(|round| (measure.definition().resolution)(round.arms.get(arm)?))
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ArmRound, Opened, ProxyTraffic};
    use rand::SeedableRng;
    use rand::distr::Distribution;
    use rand::distr::weighted::WeightedIndex;
    use rand::rngs::SmallRng;

    use super::*;

    /// Rounds in which the baseline has 60 MB and the arm `more` in its two proxies. For 50 connections, the first proxy of the
    /// baseline grows by 0.3 MB and that of the arm by 0.5 MB.
    fn rounds(more: &[u64]) -> Vec<StudyRound> {
        let of = |more: &u64| {
            let arm = |bytes, opened| ArmRound { memory_bytes: bytes, opened, ..ArmRound::default() };
            let opened = |grown| Opened { connections: 50, before_bytes: 0, after_bytes: grown };
            let arms = [
                ("direct", arm(Vec::new(), None)),
                ("baseline", arm(vec![60_000_000], Some(opened(300_000)))),
                ("lua", arm(vec![50_000_000, 10_000_000 + more], Some(opened(500_000)))),
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
    fn a_function_costs_what_its_proxies_have_beyond_the_baseline() {
        let evidence = rounds(&[900_000, 1_000_000, 1_100_000]);
        let all = Rounds { all: &evidence, times: &[], confidence: 0.95 };
        let lua = costs(&all, &arm("lua")).get(RoundMeasure::MEMORY).unwrap();
        assert!((lua.estimate - 1_000_000.0).abs() < 1.0 && lua.half_width() > 1_000.0, "{lua:?}");
        assert_eq!(costs(&all, &arm("direct")), RoundNumbers::default());
        assert_eq!(costs(&all, &ArmResult { compared_with: None, ..arm("lua") }), RoundNumbers::default());
    }

    #[test]
    fn clones_together_carry_the_bytes_of_the_proxy_before_them() {
        let traffic = |requests: u64| ProxyTraffic {
            requests,
            received_bytes: 500 * requests,
            sent_bytes: 900 * requests,
        };
        let arm_round = |traffic| ArmRound { traffic, ..ArmRound::default() };
        // A front proxy before one sidecar, and before ten clones of it.
        let mut cloned = vec![traffic(100); 10];
        cloned.insert(0, traffic(1_000));
        let arms = [
            ("baseline".to_owned(), arm_round(vec![traffic(1_000); 2])),
            ("lua".to_owned(), arm_round(cloned)),
        ];
        let evidence = vec![StudyRound { arms: arms.into(), ..StudyRound::default() }; 3];
        let all = Rounds { all: &evidence, times: &[], confidence: 0.95 };
        let (costs, level) = (costs(&all, &arm("lua")), levels(&all, "lua", 10));
        for (measure, bytes) in [(RoundMeasure::RECEIVED_BYTES, 500.0), (RoundMeasure::SENT_BYTES, 900.0)] {
            let (cost, level) = (costs.get(measure).unwrap(), level.get(measure).unwrap());
            assert!(cost.estimate.abs() < 1e-9, "{measure:?}: {cost:?}");
            assert!((level.estimate - bytes).abs() < 1e-9, "of its own requests: {level:?}");
        }
    }

    #[test]
    fn a_level_is_that_of_one_proxy() {
        let evidence = rounds(&[900_000, 1_000_000, 1_100_000]);
        let all = Rounds { all: &evidence, times: &[], confidence: 0.95 };
        let level = |proxy, measure| levels(&all, "lua", proxy).get(measure);
        assert!((level(0, RoundMeasure::MEMORY).unwrap().estimate - 50_000_000.0).abs() < 1.0);
        assert!((level(1, RoundMeasure::MEMORY).unwrap().estimate - 11_000_000.0).abs() < 1.0);
        assert_eq!((level(2, RoundMeasure::MEMORY), level(0, RoundMeasure::START_CPU)), (None, None));
        assert_eq!(level(1, RoundMeasure::MEMORY_PER_CONNECTION), None);
        assert_eq!(levels(&all, "direct", 0), RoundNumbers::default());
        assert_eq!(levels(&all, "nowhere", 0), RoundNumbers::default());
    }

    #[test]
    fn rounds_that_read_the_same_leave_an_interval_as_wide_as_the_resolution() {
        let evidence = rounds(&[0; 3]);
        let all = Rounds { all: &evidence, times: &[], confidence: 0.95 };
        let level = levels(&all, "lua", 0).get(RoundMeasure::MEMORY_PER_CONNECTION).unwrap();
        assert!((level.estimate - 10_000.0).abs() < 1e-6, "{level:?}");
        // Five pages of 4,096 bytes over 50 connections.
        assert!((level.half_width() - 409.6).abs() < 1e-6, "{level:?}");
        let cost = costs(&all, &arm("lua")).get(RoundMeasure::MEMORY_PER_CONNECTION).unwrap();
        assert!((cost.estimate - 4_000.0).abs() < 1e-6 && cost.half_width() > 409.0, "{cost:?}");
    }

    /// Growth per connection of identical proxies, and how often each value was read, in a real study of twenty A/A arms.
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
