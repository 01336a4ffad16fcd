//! Several sittings as one result: every number combined, without the evidence by round.

use std::collections::{BTreeMap, BTreeSet};

use hoptax_result::{
    ArmLoad, ArmResult, Book, Capacity, Contrast, CostMeasure, CostShares, Finding, Measure, Number, Place,
    ProxyUse, Severity, Slices, StudyResult,
};

use super::stated::{Stated, combined};
use super::{Part, borrowed as borrowing, bounds, record};

/// One number of a study: its arm, true for a difference, its load, its measure, and its place among the numbers that
/// share these.
type Key = (String, bool, Option<String>, Measure, usize);

/// A number in one sitting.
#[derive(Clone, Copy, Debug)]
enum Found {
    Interval(Stated),
    Share(f64),
}

/// All sittings as one result, with each number combined as costs are in [`super::combine`]. Numbers without an interval are means. A
/// number that a sitting withholds is combined from the others; one that all withhold, or that a single one states while another bounds it,
/// has a bound ([`bounds::combine`]). Each number has the degrees of freedom of the sittings that state it, if these are known. Findings
/// come from the sittings and name their numbers: warnings, failures, and the reasons for numbers that no sitting has. The combined numbers
/// are not judged yet, and the verdict is that of the first sitting. `parts` are in chronological order, and the result describes the arms
/// of the first.
///
/// **Degenerate cases.** `None` without a sitting.
pub fn as_one(parts: &[Part]) -> Option<StudyResult> {
    let without_rounds = |part: &Part| {
        let mut result = part.result.clone();
        result.rounds.clear();
        result
    };
    let mut results: Vec<StudyResult> = parts.iter().map(without_rounds).collect();
    keep_shared_parts(&mut results);
    keep_common_shares(&mut results);
    let with_evidence = results.iter_mut().zip(parts);
    let found: Vec<BTreeMap<Key, Found>> =
        with_evidence.map(|(result, part)| numbers(result, &part.result)).collect();
    let mut one = results.first()?.clone();
    let mut key_of = Keys::default();
    one.for_each_number(&mut |place, number| {
        let key = key_of.next(place);
        let found = found.iter().filter_map(|numbers| numbers.get(&key).copied());
        match number {
            Number::Interval(interval) | Number::CostShare(interval) => {
                let stated: Vec<Stated> = found.filter_map(Found::interval).collect();
                *interval = combined(&stated);
            }
            Number::Share(share) => *share = mean(found.filter_map(Found::share)),
        }
    });
    if parts.len() > 1 {
        borrowing::apply(&mut one, &borrowing::costs(parts), &borrowing::shares(parts));
    }
    bounds::combine(&mut one, &results);
    let missing = missing(&mut one);
    for arm in &mut one.arms {
        join_arm(arm, &results);
    }
    // They are computed from the rounds of a single sitting.
    one.rule_costs.clear();
    for arm in &mut one.arms {
        arm.layers.clear();
        arm.frames.clear();
        arm.top_down.clear();
        arm.profiler_share = None;
    }
    one.sittings = parts.iter().map(record).collect();
    one.findings = findings(&results, &missing);
    let sum = |of: fn(&StudyResult) -> u32| results.iter().map(of).sum::<u32>();
    one.plan.rounds_planned = sum(|result| result.plan.rounds_planned);
    one.plan.rounds_completed = sum(|result| result.plan.rounds_completed);
    one.plan.wall_seconds = results.iter().map(|result| result.plan.wall_seconds).sum();
    one.plan.resumed_after_rounds = Vec::new();
    if results.len() > 1 {
        // These describe why one sitting ended. The intervals over sittings do not depend on them.
        (one.plan.ended_early, one.plan.budget_s, one.plan.sequential) = (None, None, None);
    }
    one.host.waited_s = results.iter().map(|result| result.host.waited_s).sum();
    one.host.steal_share = mean(results.iter().map(|result| result.host.steal_share)).unwrap_or_default();
    crate::summary::signs::judge(&mut one);
    Some(one)
}

impl Found {
    fn interval(self) -> Option<Stated> {
        if let Self::Interval(stated) = self { Some(stated) } else { None }
    }

    fn share(self) -> Option<f64> {
        if let Self::Share(share) = self { Some(share) } else { None }
    }
}

/// Counts the numbers that share an address, so that each has its own key.
#[derive(Default)]
struct Keys(BTreeMap<(String, bool, Option<String>, Measure), usize>);

impl Keys {
    fn next(&mut self, place: &Place<'_>) -> Key {
        let address = (
            place.arm.to_owned(),
            place.compared_with.is_some(),
            place.load.map(str::to_owned),
            place.measure,
        );
        let count = self.0.entry(address.clone()).or_default();
        *count += 1;
        let (arm, is_cost, load, measure) = address;
        (arm, is_cost, load, measure, *count)
    }
}

/// The numbers that a sitting states; `evidence` is its result with rounds.
fn numbers(result: &mut StudyResult, evidence: &StudyResult) -> BTreeMap<Key, Found> {
    let confidence = evidence.plan.quantile_confidence();
    let (mut found, mut key_of) = (BTreeMap::new(), Keys::default());
    result.for_each_number(&mut |place, number| {
        let key = key_of.next(place);
        let one = match number {
            Number::Interval(interval) | Number::CostShare(interval) => interval.map(|interval| {
                let measure = with_costs(place.measure);
                let own = || f64::from(rounds_of(evidence, place, measure)) - 1.0;
                let freedom = interval.degrees_of_freedom.unwrap_or_else(own);
                // Intervals in other measures, such as events of a timeline, need not be Student's: these are assumed, and not known.
                let are_known = measure.is_some() && freedom > 0.0;
                let interval = if are_known { interval.with_freedom(freedom) } else { interval };
                Found::Interval(Stated::new(interval, freedom, confidence))
            }),
            Number::Share(share) => share.map(Found::Share),
        };
        found.extend(one.map(|one| (key, one)));
    });
    found
}

/// The measure of costs that has the rounds of a measure; none of a measure without costs.
fn with_costs(measure: Measure) -> Option<CostMeasure> {
    match measure {
        Measure::Cpu => Some(CostMeasure::CpuUs),
        // The rate of a load is counted in the same slices as the highest rate, that of the closed loop.
        Measure::Rate | Measure::MaxRate => Some(CostMeasure::MaxRate),
        Measure::ResponseP50 => Some(CostMeasure::ResponseP50Us),
        Measure::ResponseP90 => Some(CostMeasure::ResponseP90Us),
        Measure::ResponseP99 => Some(CostMeasure::ResponseP99Us),
        Measure::ResponseQuietP99 => Some(CostMeasure::ResponseQuietP99Us),
        Measure::OfRounds(measure) => Some(CostMeasure::OfRounds(measure)),
        Measure::OtherCpu
        | Measure::LinkBytes
        | Measure::Admitted
        | Measure::NewConnections
        | Measure::Timeline => None,
    }
}

/// Number of rounds behind the interval of a number, or of sittings if the sitting is itself combined from several. All rounds count
/// without a measure of costs, and if the slices of the arm do not show how many count.
fn rounds_of(evidence: &StudyResult, place: &Place<'_>, measure: Option<CostMeasure>) -> u32 {
    let completed = evidence.plan.rounds_completed;
    let Some(measure) = measure else { return completed };
    let contrast = Contrast { arm: place.arm, other: place.compared_with };
    let usable = evidence.replicates(contrast, measure, place.load);
    // An interval needs at least two rounds.
    if usable < 2 { completed } else { usable }
}

/// The numbers that the combined result lacks.
fn missing(combined: &mut StudyResult) -> Vec<Key> {
    let (mut missing, mut key_of) = (Vec::new(), Keys::default());
    combined.for_each_number(&mut |place, number| {
        let key = key_of.next(place);
        // A cost without a share is not missing.
        if !number.is_some() && !matches!(number, Number::CostShare(_)) {
            missing.push(key);
        }
    });
    missing
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Removes breakdowns of CPU time that some sitting lacks, because the numbering of their numbers would differ between sittings.
fn keep_shared_parts(results: &mut [StudyResult]) {
    let has = |load: &ArmLoad| (load.parts.is_some(), load.added_parts.is_some());
    let mut shared: BTreeMap<(String, String), (bool, bool)> = BTreeMap::new();
    for arm in results.iter().flat_map(|result| &result.arms) {
        for load in &arm.loads {
            let both = shared.entry((arm.id.clone(), load.load.clone())).or_insert((true, true));
            *both = (both.0 && has(load).0, both.1 && has(load).1);
        }
    }
    for arm in results.iter_mut().flat_map(|result| &mut result.arms) {
        for load in &mut arm.loads {
            let both = shared.get(&(arm.id.clone(), load.load.clone())).copied().unwrap_or_default();
            load.parts = load.parts.take().filter(|_| both.0);
            load.added_parts = load.added_parts.take().filter(|_| both.1);
        }
    }
}

/// Removes the shares of costs that some sitting states without one, as results of earlier versions do: a share that is combined from fewer
/// sittings than its cost is the share of another number.
fn keep_common_shares(results: &mut [StudyResult]) {
    let mut lacking: BTreeSet<(String, Option<String>, CostMeasure)> = BTreeSet::new();
    for arm in results.iter().flat_map(|result| &result.arms) {
        let of_loads = arm.loads.iter().map(|load| (Some(load.load.clone()), &load.cost));
        for (load, cost) in of_loads.chain([(None, &arm.cost)]) {
            let is_lacking =
                |measure: &CostMeasure| measure.interval(cost).is_some() && cost.share(*measure).is_none();
            let without = CostShares::measures().filter(is_lacking);
            lacking.extend(without.map(|measure| (arm.id.clone(), load.clone(), measure)));
        }
    }
    for arm in results.iter_mut().flat_map(|result| &mut result.arms) {
        let id = &arm.id;
        let of_loads = arm.loads.iter_mut().map(|load| (Some(&load.load), &mut load.cost));
        for (load, cost) in of_loads.chain([(None, &mut arm.cost)]) {
            for measure in CostShares::measures() {
                if lacking.contains(&(id.clone(), load.cloned(), measure)) {
                    cost.shares.set(measure, None);
                }
            }
        }
    }
}

/// Joins the values of an arm that have no address: counts are summed, shares averaged, and a share of responses is that of all responses.
fn join_arm(arm: &mut ArmResult, results: &[StudyResult]) {
    let all: Vec<&ArmResult> = results.iter().filter_map(|result| result.arm(&arm.id)).collect();
    arm.rounds = all.iter().map(|other| other.rounds).sum();
    arm.responses = all.iter().map(|other| other.responses).sum();
    arm.book = books(all.iter().map(|other| &other.book));
    arm.slices = slices(all.iter().map(|other| &other.slices));
    let unproven: BTreeSet<String> = all.iter().flat_map(|other| other.unproven.clone()).collect();
    arm.unproven = unproven.into_iter().collect();
    let core_share = mean(all.iter().filter_map(|other| Some(other.proxy_use?.core_share)));
    let processors_busy_share = mean(all.iter().filter_map(|other| other.proxy_use?.processors_busy_share));
    arm.proxy_use = core_share.map(|core_share| ProxyUse { core_share, processors_busy_share });
    let of =
        |of: fn(&Capacity) -> Option<f64>| mean(all.iter().filter_map(|other| of(other.capacity.as_ref()?)));
    arm.capacity =
        of(|one| Some(one.rate)).zip(of(|one| Some(one.closed_rate))).map(|(rate, closed_rate)| Capacity {
            rate,
            closed_rate,
            closed_busy_share: of(|one| one.closed_busy_share),
        });
    for load in &mut arm.loads {
        let under: Vec<&ArmLoad> = all.iter().filter_map(|other| other.under(&load.load)).collect();
        load.planned_rate = mean(under.iter().filter_map(|one| one.planned_rate));
        load.proxy_core_share = mean(under.iter().filter_map(|one| one.proxy_core_share));
        load.proxy_busy_share = mean(under.iter().filter_map(|one| one.proxy_busy_share));
        load.proxy_processors_busy_share =
            mean(under.iter().filter_map(|one| one.proxy_processors_busy_share));
        // The findings of the sittings name the numbers that the generator spoilt.
        load.generator = None;
        // These belong to the rounds of one sitting.
        (load.cost_p99_half_width_us, load.cost_quiet_p99_half_width_us) = (None, None);
        load.quiet_effective_responses = None;
        load.quiet_share = quiet_share(&under);
        load.responses = under.iter().map(|one| one.responses).sum();
        load.book = books(under.iter().map(|one| &one.book));
    }
}

/// The share of the responses of all sittings that are in quiet slices, so that the weight of a sitting is its number of responses. None if
/// no sitting classifies quiet slices.
fn quiet_share(under: &[&ArmLoad]) -> Option<f64> {
    let stated: Vec<(f64, f64)> =
        under.iter().filter_map(|one| Some((one.quiet_share?, one.responses as f64))).collect();
    let all: f64 = stated.iter().map(|(_, responses)| responses).sum();
    let quiet: f64 = stated.iter().map(|(share, responses)| share * responses).sum();
    (!stated.is_empty()).then(|| if all > 0.0 { quiet / all } else { 0.0 })
}

fn books<'a>(books: impl Iterator<Item = &'a Book>) -> Book {
    books.fold(Book::default(), |mut sum, book| {
        sum.add(book);
        sum
    })
}

fn slices<'a>(all: impl Iterator<Item = &'a Slices>) -> Slices {
    all.fold(Slices::default(), |mut sum, one| {
        sum.used += one.used;
        sum.set_aside += one.set_aside;
        sum.lost += one.lost;
        sum.delayed += one.delayed;
        for (disturbance, count) in &one.set_aside_by {
            *sum.set_aside_by.entry(*disturbance).or_default() += count;
        }
        sum
    })
}

/// The findings of all sittings that warn or fail, and those that explain why the combined result lacks a number.
fn findings(results: &[StudyResult], missing: &[Key]) -> Vec<Finding> {
    let mut kept: Vec<Finding> = Vec::new();
    for (number, result) in (1..).zip(results) {
        let is_reason = |finding: &Finding| {
            // A finding that withholds nothing is the reason for a missing number if it names the number.
            let names_it = finding.arm.is_some() && !finding.measures.is_empty();
            (finding.withholds || names_it)
                && missing.iter().any(|(arm, is_cost, load, measure, _)| {
                    let of_arm = result.arm(arm);
                    let other = of_arm.and_then(|arm| arm.compared_with.as_deref()).filter(|_| *is_cost);
                    finding.concerns(&Place {
                        arm,
                        compared_with: other,
                        load: load.as_deref(),
                        measure: *measure,
                    })
                })
        };
        let stays = |finding: &&Finding| finding.severity > Severity::Info || is_reason(finding);
        let of_sitting = |finding: &Finding| Finding { sitting: Some(number), ..finding.clone() };
        kept.extend(result.findings.iter().filter(stays).map(of_sitting));
    }
    kept.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    kept
}

#[cfg(test)]
mod tests {
    use hoptax_plan::plan::CONFIDENCE;
    use hoptax_result::{CostShare, Interval, Phase, Timeline, sample};
    use hoptax_stats::{Sitting, random_effects, standard_error};

    use super::*;
    use crate::fixture;

    #[test]
    fn the_quiet_share_of_several_sittings_is_that_of_all_their_responses() {
        let of = |quiet_share: Option<f64>, responses: u64| ArmLoad {
            quiet_share,
            responses,
            ..ArmLoad::default()
        };
        let long = of(Some(0.9), 30_000);
        assert_eq!(quiet_share(&[&long, &of(Some(0.5), 10_000)]), Some(0.8));
        assert_eq!(quiet_share(&[&long, &of(None, 10_000)]), Some(0.9));
        assert_eq!(quiet_share(&[&of(Some(0.0), 0)]), Some(0.0));
        assert_eq!(quiet_share(&[&of(None, 10_000)]), None);
    }

    #[test]
    fn a_share_is_combined_if_every_sitting_that_has_the_cost_has_it() {
        const RATE: CostMeasure = CostMeasure::MaxRate;
        let part = |cost: Option<f64>, share: Option<f64>| {
            let mut result = fixture::study();
            let lua = fixture::arm(&mut result, "lua");
            lua.cost.max_rate = cost.map(|cost| Interval::around(cost, 100.0));
            let of = |share| {
                let share = Interval::around(share, 0.01).with_freedom(20.0);
                CostShare { measure: RATE, share }
            };
            lua.cost.shares = share.map(of).into_iter().collect();
            Part { folder: String::new(), result }
        };
        let share = |parts: &[Part]| as_one(parts).unwrap().arm("lua").unwrap().cost.share(RATE);
        let known = || part(Some(-2_000.0), Some(-0.1));
        let both = share(&[known(), part(Some(-2_000.0), Some(-0.12))]).unwrap();
        assert!((both.estimate + 0.11).abs() < 1e-9 && both.half_width() > 0.05, "{both:?}");
        assert_eq!(both.degrees_of_freedom, Some(1.0), "those of one sitting are not those of two");
        assert_eq!(share(&[known(), part(Some(-2_000.0), None)]), None, "an earlier version");
        let only = share(&[known(), part(None, None)]).unwrap();
        let of_sitting = Interval::around(-0.1, 0.01).with_freedom(20.0);
        assert_eq!(only, of_sitting, "the other withholds the cost, too");
    }

    #[test]
    fn degrees_of_freedom_are_stated_in_measures_with_costs_and_only_where_there_are_any() {
        let number = Some(Interval::around(5.0, 0.5));
        let stated = |rounds: u32| {
            let mut result = fixture::study();
            result.plan.rounds_completed = rounds;
            let lua = fixture::arm(&mut result, "lua");
            lua.cpu_us_per_request = number;
            let load = "saturation".to_owned();
            lua.loads = vec![ArmLoad { load, link_bytes_per_request: number, ..ArmLoad::default() }];
            let whole = Phase { failed_per_million: number, hurt_s: number, ..Phase::default() };
            result.timelines = vec![Timeline { arm: "lua".to_owned(), whole, ..Timeline::default() }];
            let one = as_one(&[Part { folder: String::new(), result }]).unwrap();
            let (lua, whole) = (one.arm("lua").unwrap(), &one.timelines[0].whole);
            let link_bytes = lua.loads[0].link_bytes_per_request;
            [lua.cpu_us_per_request, link_bytes, whole.failed_per_million, whole.hurt_s]
                .map(|one| one.unwrap().degrees_of_freedom)
        };
        assert_eq!(stated(10), [Some(9.0), None, None, None]);
        assert_eq!([1, 0].map(stated), [[None; 4]; 2]);
    }

    #[test]
    fn a_number_that_lost_rounds_has_the_standard_error_of_those_that_are_left() {
        let part = |rate: f64, usable: usize| {
            let loads = vec![sample::closed_loop("full", 16)];
            let arms = [sample::arm("baseline"), sample::arm("lua")];
            let mut result = sample::study_of_rates(&arms, loads, 12, |_, _, _| rate);
            for round in result.rounds.iter_mut().skip(usable) {
                fixture::lose(round, "lua");
            }
            Part { folder: String::new(), result }
        };
        // So close that their standard errors decide the width.
        let parts = [part(1_000.0, 12), part(1_000.5, 3)];
        let one = as_one(&parts).unwrap();
        let rate = |result: &StudyResult, arm: usize| result.arms[arm].loads[0].rate.unwrap();
        let expected = |arm: usize, rounds: [u32; 2]| {
            let of_part = |(part, rounds): (&Part, u32)| {
                let interval = rate(&part.result, arm);
                let standard_error = standard_error(&interval, f64::from(rounds) - 1.0, 0.95).unwrap();
                Sitting { estimate: interval.estimate, standard_error }
            };
            let sittings: Vec<Sitting> = parts.iter().zip(rounds).map(of_part).collect();
            random_effects(&sittings, CONFIDENCE).unwrap().cost
        };
        assert_eq!(rate(&one, 1), expected(1, [12, 3]));
        assert_ne!(rate(&one, 1), expected(1, [12, 12]));
        assert_eq!(rate(&one, 0), expected(0, [12, 12]), "the other arm lost none");
    }
}
