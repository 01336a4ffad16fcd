//! Costs of two to four sittings, and their shares of a level, with moderated variances, which borrow from each other: a sitting is a
//! replicate.

use std::collections::{BTreeMap, BTreeSet};

use hoptax_result::{ArmResult, Cost, CostMeasure, Interval, SittingEstimate, StudyResult};
use hoptax_stats::{Moderated, Replicates, moderated};

use hoptax_plan::plan::CONFIDENCE;

use super::{Part, estimate};
use crate::summary::{BORROWING, replace, replace_share};

/// Largest ratio of the standard errors of sittings that borrow. [`moderated`] takes the replicates of a cost for equally variable, and its
/// coverage is simulated for such. Sittings of less even precision are combined cost by cost, which needs no such assumption.
const MOST_UNEVEN: f64 = 2.0;

/// The name of a cost.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CostKey {
    /// The arm.
    pub(super) arm: String,
    /// The load; none for the usual one of the measure.
    pub(super) load: Option<String>,
    pub(super) measure: CostMeasure,
}

/// The costs that borrow.
pub(super) type Costs = BTreeMap<CostKey, Moderated>;

/// The costs of these sittings that borrow. Empty with one sitting, and where [`moderated`] has no result.
pub(super) fn costs(parts: &[Part]) -> Costs {
    borrowing(parts, Number::Cost)
}

/// The same costs as shares of the level of the arm compared with. That of CPU time is a cost of its own.
pub(super) fn shares(parts: &[Part]) -> Costs {
    borrowing(parts, Number::Share)
}

fn borrowing(parts: &[Part], number: Number) -> Costs {
    let Some(first) = parts.first().map(|part| &part.result) else { return Costs::new() };
    let references: BTreeSet<&str> =
        first.arms.iter().filter_map(|arm| arm.compared_with.as_deref()).collect();
    let mut all = Costs::new();
    for reference in references {
        for measure in BORROWING {
            let of_load = first.plan.loads.iter().map(|load| Source::Load(&load.name));
            let usual: BTreeSet<Option<&str>> =
                first.arms.iter().map(|arm| first.plan.usual_load_name(&arm.id, measure)).collect();
            for source in of_load.chain(usual.into_iter().map(Source::Usual)) {
                let load = match source {
                    Source::Load(load) => Some(load.to_owned()),
                    Source::Usual(_) => None,
                };
                let found = Group { parts, reference, source, measure, number }.moderated();
                let key = |arm: String| CostKey { arm, load: load.clone(), measure };
                all.extend(found.into_iter().map(|(id, one)| (key(id), one)));
            }
        }
    }
    all
}

/// Replaces the intervals of the costs and shares that borrow in `combined`, the sittings as one result.
pub(super) fn apply(combined: &mut StudyResult, costs: &Costs, shares: &Costs) {
    for arm in &mut combined.arms {
        let id = arm.id.clone();
        let of_loads = arm.loads.iter_mut().map(|under| (Some(under.load.clone()), &mut under.cost));
        for (load, cost) in std::iter::once((None, &mut arm.cost)).chain(of_loads) {
            for measure in BORROWING {
                let key = CostKey { arm: id.clone(), load: load.clone(), measure };
                if let Some(found) = costs.get(&key) {
                    replace(cost, measure, found, CONFIDENCE);
                }
                if let Some(found) = shares.get(&key) {
                    replace_share(cost, measure, found, CONFIDENCE);
                }
            }
        }
    }
}

/// The number of an arm that borrows.
#[derive(Clone, Copy, PartialEq)]
enum Number {
    /// Its cost in the unit of the measure.
    Cost,
    /// The cost as a share of the level of the arm compared with.
    Share,
}

impl Number {
    fn of(self, cost: &Cost, measure: CostMeasure) -> Option<Interval> {
        match self {
            Self::Cost => measure.interval(cost),
            Self::Share => Some(cost.shares.get(measure)?.share),
        }
    }
}

/// The costs of a group.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// Those under a load.
    Load(&'a str),
    /// The costs of the arms themselves, if their numbers are taken from this load. They also borrow from the costs of the other arms under
    /// it.
    Usual(Option<&'a str>),
}

/// The costs in a measure against one arm under one load.
struct Group<'a> {
    parts: &'a [Part],
    reference: &'a str,
    source: Source<'a>,
    measure: CostMeasure,
    number: Number,
}

/// The costs of an arm in all sittings.
struct ArmCosts {
    id: String,
    estimates: Vec<SittingEstimate>,
    replicates: Replicates,
}

/// The level of an arm.
struct Level {
    /// Its mean over sittings.
    mean: f64,
    /// The root of the arm's number of copies.
    root_of_copies: f64,
}

impl Group<'_> {
    fn moderated(&self) -> Vec<(String, Moderated)> {
        let Some(first) = self.parts.first().filter(|_| self.parts.len() > 1) else { return Vec::new() };
        let compared = first
            .result
            .arms
            .iter()
            .filter(|arm| arm.compared_with.as_deref() == Some(self.reference) && !arm.hops.is_empty());
        let found = compared.filter_map(|arm| {
            let (estimates, replicates) = (self.estimates(&arm.id)?, self.replicates(&arm.id)?);
            Some(ArmCosts { id: arm.id.clone(), estimates, replicates })
        });
        let found: Vec<ArmCosts> = found.collect();
        if !self.are_even(&found) {
            return Vec::new();
        }
        let costs: Vec<Replicates> = found.iter().map(|arm| arm.replicates.clone()).collect();
        let ids = found.into_iter().map(|arm| arm.id);
        let is_own = |id: &str| match self.source {
            Source::Load(_) => true,
            Source::Usual(load) => first.result.plan.usual_load_name(id, self.measure) == load,
        };
        ids.zip(moderated(&costs).unwrap_or_default()).filter(|(id, _)| is_own(id)).collect()
    }

    /// The load under which an arm has the number of the group; none for the number of the arm itself.
    fn load_of(&self, id: &str) -> Option<&str> {
        match self.source {
            Source::Load(load) => Some(load),
            Source::Usual(load) => {
                let plan = self.parts.first().map(|part| &part.result.plan);
                load.filter(|_| plan.and_then(|plan| plan.usual_load_name(id, self.measure)) != load)
            }
        }
    }

    /// Returns true if the sittings are about equally precise, by the medians of their standard errors.
    fn are_even(&self, found: &[ArmCosts]) -> bool {
        let median = |sitting: usize| {
            let mut errors: Vec<f64> =
                found.iter().filter_map(|arm| Some(arm.estimates.get(sitting)?.standard_error)).collect();
            errors.sort_by(f64::total_cmp);
            errors.get(errors.len() / 2).copied()
        };
        let medians: Option<Vec<f64>> = (0..self.parts.len()).map(median).collect();
        medians.is_some_and(|medians| {
            let most = medians.iter().copied().fold(0.0, f64::max);
            medians.iter().all(|one| most <= MOST_UNEVEN * one)
        })
    }

    /// The number of an arm in each sitting; none if one of them lacks it.
    fn estimates(&self, id: &str) -> Option<Vec<SittingEstimate>> {
        let (measure, load) = (self.measure, self.load_of(id));
        let of = |cost: &Cost| self.number.of(cost, measure);
        self.parts.iter().map(|part| estimate(&part.result, id, measure, load, of)).collect()
    }

    fn replicates(&self, id: &str) -> Option<Replicates> {
        let values = self.estimates(id)?.iter().map(|one| one.interval.estimate).collect();
        let (own, other) = (self.level(id)?, self.level(self.reference)?);
        // The share of the reference's level varies with both levels in proportion to itself.
        let is_share = self.measure == CostMeasure::CpuShare || self.number == Number::Share;
        let share = own.mean / other.mean;
        let (own_level, shared) = if is_share { (share, share) } else { (own.mean, other.mean) };
        Some(Replicates {
            values,
            own: own_level / own.root_of_copies,
            shared: shared / other.root_of_copies,
        })
    }

    fn level(&self, id: &str) -> Option<Level> {
        let arms = self.parts.iter().map(|part| part.result.arm(id));
        let arms: Vec<&ArmResult> = arms.collect::<Option<_>>()?;
        let levels = arms.iter().map(|arm| Some(arm.level_under(self.load_of(id), self.measure)?.estimate));
        let levels: Vec<f64> = levels.collect::<Option<_>>()?;
        let copies = arms.first()?.copies.max(1);
        Some(Level {
            mean: levels.iter().sum::<f64>() / levels.len() as f64,
            root_of_copies: f64::from(copies).sqrt(),
        })
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ArmKind, ArmLoad, CostShares, LoadSpec, Loop, SittingCost, SittingsResult, sample};
    use hoptax_stats::{Sitting, random_effects};

    use super::*;
    use crate::sittings::{as_one, combine, sitting};

    /// A sitting with functions of which the first costs 10 us and each further one 1 us more, plus the error of the sitting for each,
    /// us. Intervals are of ten rounds.
    fn part(day: u32, off_us: &[f64], half_width_us: f64) -> Part {
        let mut result = sample::study("x", &format!("2026-01-0{day}T00:00:00Z"), 10.0);
        result.rounds.clear();
        (result.plan.rounds_completed, result.plan.confidence, result.plan.sequential) = (10, 0.95, None);
        let level = |us: f64| Some(Interval::around(us, 1.0));
        let baseline =
            ArmResult { kind: ArmKind::Baseline, cpu_us_per_request: level(50.0), ..sample::arm("baseline") };
        let arm = |(place, off_us): (usize, &f64)| {
            let cost_us = 10.0 + place as f64 + off_us;
            ArmResult {
                compared_with: Some("baseline".to_owned()),
                cpu_us_per_request: level(50.0 + cost_us),
                // As if this sitting already had moderated variances.
                cost: Cost {
                    cpu_us_per_request: Some(Interval::around(cost_us, half_width_us).with_freedom(9.0)),
                    ..Cost::default()
                },
                ..sample::arm(&format!("function-{place}"))
            }
        };
        result.arms = std::iter::once(baseline).chain(off_us.iter().enumerate().map(arm)).collect();
        Part { folder: String::new(), result }
    }

    /// Three sittings of this many functions, whose costs are off by about half a microsecond without a pattern.
    fn parts(functions: usize, half_widths_us: [f64; 3]) -> Vec<Part> {
        let off_us = |day: usize| -> Vec<f64> {
            (0..functions)
                .map(|place| ((7 * place + 13 * day + 5 * place * day) % 11) as f64 / 10.0 - 0.5)
                .collect()
        };
        let days = half_widths_us.iter().enumerate();
        days.map(|(day, half_width_us)| part(day as u32 + 1, &off_us(day), *half_width_us)).collect()
    }

    /// The sittings with maximum rates as well: a microsecond of CPU time lowers 10,000 requests per second by a hundredth.
    fn with_rates(mut parts: Vec<Part>) -> Vec<Part> {
        for arm in parts.iter_mut().flat_map(|part| &mut part.result.arms) {
            let cost_us = arm.cost.cpu_us_per_request;
            let level = 10_000.0 - cost_us.map_or(0.0, |cost_us| 100.0 * cost_us.estimate);
            arm.max_rate = Some(Interval::around(level, 50.0));
            arm.cost.max_rate = cost_us.map(|cost_us| cost_us.times(-100.0));
            arm.cost.shares.set(CostMeasure::MaxRate, cost_us.map(|cost_us| cost_us.times(-0.01)));
        }
        parts
    }

    /// The cost of an arm in rate as a share of the level of the baseline.
    fn share_of_rate(arm: &ArmResult) -> Interval {
        arm.cost.share(CostMeasure::MaxRate).unwrap()
    }

    fn costs_of(result: &SittingsResult) -> Vec<&SittingCost> {
        result.arms.iter().flat_map(|arm| &arm.costs).filter(|cost| cost.load.is_none()).collect()
    }

    fn by_random_effects(cost: &SittingCost) -> Interval {
        let sittings: Vec<Sitting> = cost.estimates.iter().flatten().map(sitting).collect();
        random_effects(&sittings, CONFIDENCE).unwrap().cost
    }

    /// True if a number of three sittings has more than their two degrees of freedom: borrowed ones.
    fn borrows(number: &Interval) -> bool {
        number.degrees_of_freedom.is_some_and(|freedom| freedom > 2.0 && freedom.is_finite())
    }

    fn cpu(arm: &ArmResult) -> Interval {
        arm.cost.cpu_us_per_request.unwrap()
    }

    #[test]
    fn nine_costs_of_three_sittings_borrow_and_are_narrower() {
        let parts = parts(9, [0.4; 3]);
        let (combined, one) = (combine(&parts).unwrap(), as_one(&parts).unwrap());
        let (mut borrowed, mut alone_us, mut degrees) = (0.0, 0.0, 0.0);
        for (cost, arm) in costs_of(&combined).into_iter().zip(&one.arms[1..]) {
            let (found, alone) = (cost.combined.unwrap(), by_random_effects(cost));
            assert!((found.estimate - alone.estimate).abs() < 0.2, "{found:?} {alone:?}");
            let another = cost.another_sitting.unwrap();
            assert!((another.half_width() - 2.0 * found.half_width()).abs() < 1e-9, "one of four: {cost:?}");
            borrowed += found.half_width();
            alone_us += alone.half_width();
            // All sittings as one study have the same interval, with the same degrees of freedom.
            assert_eq!(cpu(arm), found);
            assert!(borrows(&found), "{found:?}");
            degrees += found.degrees_of_freedom.unwrap() / 9.0;
        }
        assert!(borrowed < alone_us && degrees > 2.5 && degrees < 9.0, "{borrowed} {alone_us} {degrees}");
    }

    #[test]
    fn few_costs_and_sittings_of_unlike_precision_are_combined_one_by_one() {
        for (parts, guarded) in
            [(parts(5, [0.4; 3]), 1), (parts(9, [0.4, 0.4, 1.0]), 3), (parts(9, [1.0, 0.4, 0.4]), 3)]
        {
            let (combined, one) = (combine(&parts).unwrap(), as_one(&parts).unwrap());
            let mut normal = 0;
            for (cost, arm) in costs_of(&combined).into_iter().zip(&one.arms[1..]) {
                let found = by_random_effects(cost);
                // The degrees of freedom of one sitting do not apply to all sittings together: those are two, or infinitely many where
                // sittings differ by less than their errors explain.
                assert_eq!((cost.combined, cpu(arm)), (Some(found), found));
                assert!(!borrows(&found), "{found:?}");
                normal += u32::from(found.degrees_of_freedom == Some(f64::INFINITY));
            }
            assert_eq!(normal, guarded);
        }
        let even = as_one(&parts(9, [0.4, 0.4, 0.7])).unwrap();
        assert!(even.arms[1..].iter().all(|arm| borrows(&cpu(arm))));
    }

    #[test]
    fn shares_borrow_as_their_costs_do_and_are_narrower() {
        const RATE: CostMeasure = CostMeasure::MaxRate;
        let mut parts = with_rates(parts(9, [0.4; 3]));
        let one = as_one(&parts).unwrap();
        let (mut borrowed, mut alone, mut degrees) = (0.0, 0.0, 0.0);
        for arm in &one.arms[1..] {
            let found = share_of_rate(arm);
            let share = |cost: &Cost| Number::Share.of(cost, RATE);
            let of_part = |part: &Part| sitting(&estimate(&part.result, &arm.id, RATE, None, share).unwrap());
            let sittings: Vec<Sitting> = parts.iter().map(of_part).collect();
            assert!((sittings[0].standard_error - 0.004 / 2.262_157).abs() < 1e-6, "{sittings:?}");
            let by_random_effects = random_effects(&sittings, CONFIDENCE).unwrap().cost;
            assert!((found.estimate - by_random_effects.estimate).abs() < 1e-9, "{found:?}");
            borrowed += found.half_width();
            alone += by_random_effects.half_width();
            degrees += found.degrees_of_freedom.unwrap() / 9.0;
        }
        assert!(borrowed < alone && degrees > 2.5, "{borrowed} {alone} {degrees}");
        // As a result of an earlier version, which has no shares.
        parts[1].result.arms[1].cost.shares = CostShares::default();
        let one = as_one(&parts).unwrap();
        assert!(one.arms[1].cost.shares.is_empty() && borrows(&cpu(&one.arms[1])));
        assert!(one.arms[2..].iter().all(|arm| borrows(&share_of_rate(arm))));
    }

    #[test]
    fn shares_whose_costs_do_not_borrow_have_the_degrees_of_freedom_of_sittings() {
        for parts in [parts(5, [0.4; 3]), parts(9, [0.4, 0.4, 1.0])] {
            let one = as_one(&with_rates(parts)).unwrap();
            for arm in &one.arms[1..] {
                // The shares differ between sittings as the costs in CPU time do.
                assert_eq!(share_of_rate(arm).degrees_of_freedom, cpu(arm).degrees_of_freedom);
                assert!(!borrows(&cpu(arm)), "{arm:?}");
            }
        }
    }

    #[test]
    fn a_cost_that_a_sitting_lacks_is_combined_from_the_others_and_the_rest_borrow() {
        let mut parts = parts(9, [0.4; 3]);
        parts[1].result.arms[1].cost.cpu_us_per_request = None;
        let (combined, one) = (combine(&parts).unwrap(), as_one(&parts).unwrap());
        let costs = costs_of(&combined);
        assert_eq!(costs[0].combined, Some(by_random_effects(costs[0])));
        assert!(cpu(&one.arms[1]) == by_random_effects(costs[0]) && !borrows(&cpu(&one.arms[1])));
        assert!(one.arms[2..].iter().all(|arm| borrows(&cpu(arm))));
    }

    #[test]
    fn costs_of_arms_borrow_under_their_own_load_alone() {
        let mut parts = parts(18, [0.4; 3]);
        let ids: Vec<String> = parts[0].result.arms.iter().map(|arm| arm.id.clone()).collect();
        let (fast, slow) = ids.split_at(10);
        let slow: Vec<String> = std::iter::once(&ids[0]).chain(slow).cloned().collect();
        let load = |name: &str, arms: &[String]| LoadSpec {
            loop_: Loop::Open,
            rate: Some(1_000.0),
            arms: arms.to_vec(),
            ..sample::closed_loop(name, 16)
        };
        let loads = vec![load("in-use", fast), load("slow", &slow)];
        for part in &mut parts {
            part.result.plan.loads.clone_from(&loads);
            let level = Some(Interval::around(60.0, 1.0));
            let under = ArmLoad { load: "slow".to_owned(), cpu_us_per_request: level, ..ArmLoad::default() };
            part.result.arms[0].loads = vec![under];
        }
        let found = |parts: &[Part]| costs(parts).len();
        let of = |count: usize| (0..count).map(|place| format!("function-{place}")).collect::<Vec<_>>();
        let key = |arm: String| CostKey { arm, load: None, measure: CostMeasure::CpuUs };
        assert!(of(18).into_iter().all(|id| costs(&parts).contains_key(&key(id))));
        // Without its level under the load of the others, they cannot borrow, whatever its own load says.
        let all = found(&parts);
        for part in &mut parts {
            part.result.arms[0].loads.clear();
        }
        assert_eq!((all, found(&parts)), (18, 9));
    }

    #[test]
    fn a_single_sitting_keeps_its_intervals_and_their_degrees_of_freedom() {
        let parts = parts(9, [0.4; 3]);
        let one = as_one(&parts[..1]).unwrap();
        assert_eq!(one.arms[1].cost, parts[0].result.arms[1].cost);
        assert!(costs(&parts[..1]).is_empty());
    }
}
