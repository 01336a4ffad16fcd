//! Measures that depend on connections, of arms with different connections.

use hoptax_result::{
    ArmResult, Finding, LoadSpec, Measure, Measured, RoundMeasure, Severity, StudyResult, count,
};

use crate::check::Check;

/// Two arms whose memory is compared must have had the same connections.
pub(super) const UNEQUAL: Check<StudyResult> = Check {
    id: "unequal-connections",
    protects_from: "the memory of connections that an arm did not have, reported as saved by its function",
    source: "own; plain proxying took 7 to 8 kB for an idle connection, and 32 connections in use less than plain proxying had hid \
             0.5 MiB of each function",
    judge: |result, _| {
        let found = result.arms.iter().filter_map(|arm| {
            let other = arm.compared_with.as_deref()?;
            let measures = compared(arm);
            if measures.is_empty() {
                return None;
            }
            let (difference, message) = of_rounds(result, &arm.id, other)
                .map(|(own, others)| {
                    let message = format!(
                        "its proxy had {} connections of the generator, that of `{other}` {}",
                        count(own),
                        count(others)
                    );
                    (own.abs_diff(others), message)
                })
                .or_else(|| of_other_callers(result, &arm.id, other))?;
            let advice = "give both arms the same connections: remove `only` and `except` of loads with another `caller`, or measure a \
                          study of an earlier version again, since this one opens the connections of all other loads to every arm";
            let measured = Measured::count(difference as f64, 0.0, "connections");
            Some(Finding {
                arm: Some(arm.id.clone()),
                measures,
                withholds: true,
                costs_alone: true,
                ..Finding::new("unequal-connections", Severity::Info, measured, message, advice)
            })
        });
        found.collect()
    },
    withhold: None,
};

/// The measures that depend on connections, of those that an arm has a cost in.
fn compared(arm: &ArmResult) -> Vec<Measure> {
    let all = RoundMeasure::ALL.into_iter().filter(|measure| measure.definition().depends_on_connections);
    all.filter(|measure| arm.cost.of_rounds.get(*measure).is_some()).map(Measure::OfRounds).collect()
}

/// The numbers of connections of two arms in the first round in which they differ. An arm whose proxies were started and that opened none
/// had none; those of a server that already ran are not counted.
fn of_rounds(result: &StudyResult, arm: &str, other: &str) -> Option<(u64, u64)> {
    result.rounds.iter().find_map(|round| {
        let opened = |id: &str| {
            let of_arm = round.arms.get(id)?;
            let none = (!of_arm.start_cpu_us.is_empty()).then_some(0);
            of_arm.opened.map(|opened| opened.connections).or(none)
        };
        let both = (opened(arm)?, opened(other)?);
        (both.0 != both.1).then_some(both)
    })
}

/// The number of connections of other callers to one of two arms alone, under the first load that only this arm takes part in. hoptax itself
/// opens connections also to arms which take no part in a load.
fn of_other_callers(result: &StudyResult, arm: &str, other: &str) -> Option<(u64, String)> {
    let is_of_one = |load: &&LoadSpec| !load.is_sent_by_hoptax() && load.is_for(arm) != load.is_for(other);
    let of_one = result.plan.loads.iter().find(is_of_one)?;
    let (with, without) = if of_one.is_for(arm) { (arm, other) } else { (other, arm) };
    let name = &of_one.name;
    let message =
        format!("the callers of the load `{name}` open connections to `{with}`, and none to `{without}`");
    Some((u64::from(of_one.connections), message))
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ArmRound, Interval, Opened, RoundNumbers, StudyRound};

    use super::*;
    use crate::study::tests::{fired, withheld};

    /// Sets the memory of all arms, and the connections to each in every round.
    fn with_memory(connections: [u64; 3]) -> impl Fn(&mut StudyResult) {
        move |result| {
            let of = |(arm, connections): (&ArmResult, u64)| {
                let opened = Opened { connections, before_bytes: 60_000_000, after_bytes: 61_000_000 };
                let memory_bytes = vec![62_000_000];
                let round = ArmRound { memory_bytes, opened: Some(opened), ..ArmRound::default() };
                (arm.id.clone(), round)
            };
            let arms = result.arms.iter().zip(connections).map(of).collect();
            result.rounds = vec![StudyRound { arms, ..StudyRound::default() }; 3];
            for arm in result.arms.iter_mut().filter(|arm| arm.compared_with.is_some()) {
                for measure in RoundMeasure::ALL {
                    arm.cost.of_rounds.set(measure, Some(Interval::around(9e6, 1e4)));
                }
            }
        }
    }

    /// What is withheld of `lua`, with its measures by their ids.
    fn places() -> Vec<String> {
        let all = RoundMeasure::ALL.into_iter().filter(|one| one.definition().depends_on_connections);
        let mut places: Vec<String> = all.map(|one| format!("+lua - {:?}", Measure::OfRounds(one))).collect();
        places.sort();
        places
    }

    #[test]
    fn memory_of_arms_with_different_connections_is_not_compared_and_the_same_connections_keep_it() {
        let id = "unequal-connections";
        assert_eq!(fired(id, with_memory([176, 176, 176])).0, None);
        assert!(withheld(with_memory([176, 176, 176])).is_empty());
        let (severity, result) = fired(id, with_memory([176, 176, 80]));
        assert_eq!(severity, Some(Severity::Info));
        let found = result.findings.iter().find(|found| found.id == id).unwrap();
        assert_eq!((found.arm.as_deref(), found.value), (Some("lua"), 96.0));
        assert_eq!(found.message, "its proxy had 80 connections of the generator, that of `baseline` 176");
        // Its CPU time at the start, its bytes per request and its levels stay, and so does the cost of the A/A arm.
        assert!(places().contains(&format!("+lua - {:?}", Measure::OfRounds(RoundMeasure::MEMORY))));
        assert_eq!(withheld(with_memory([176, 176, 80])), places());
        // Both arms that are compared with it.
        let all = withheld(with_memory([144, 176, 176]));
        assert_eq!(all.len(), 2 * places().len(), "{all:?}");
        assert!(all.iter().any(|place| place.starts_with("+same ")), "{all:?}");
    }

    #[test]
    fn an_arm_that_opened_no_connection_had_none_unless_it_is_a_server_that_already_ran() {
        let without = |start_cpu_us: &'static [u64]| {
            move |result: &mut StudyResult| {
                with_memory([176; 3])(result);
                for of_lua in result.rounds.iter_mut().filter_map(|round| round.arms.get_mut("lua")) {
                    of_lua.opened = None;
                    of_lua.start_cpu_us = start_cpu_us.to_vec();
                }
            }
        };
        let id = "unequal-connections";
        let (severity, result) = fired(id, without(&[90_000]));
        assert_eq!(severity, Some(Severity::Info));
        let found = result.findings.iter().find(|found| found.id == id).unwrap();
        assert_eq!(found.message, "its proxy had 0 connections of the generator, that of `baseline` 176");
        assert_eq!(fired(id, without(&[])).0, None);
    }

    #[test]
    fn memory_after_connections_of_other_callers_to_one_of_two_arms_is_not_compared() {
        let called = |caller: &'static str, arms: &'static [&'static str]| {
            move |result: &mut StudyResult| {
                with_memory([16; 3])(result);
                let load = &mut result.plan.loads[1];
                load.caller = caller.to_owned();
                load.arms = arms.iter().map(|id| (*id).to_owned()).collect();
            }
        };
        let id = "unequal-connections";
        let (severity, result) = fired(id, called("php", &["baseline", "same"]));
        assert_eq!(severity, Some(Severity::Info));
        let found = result.findings.iter().find(|found| found.id == id).unwrap();
        assert_eq!(
            found.message,
            "the callers of the load `fixed-rate` open connections to `baseline`, and none to `lua`"
        );
        assert_eq!(fired(id, called("php", &[])).0, None);
        assert_eq!(fired(id, called("hoptax", &["baseline", "same"])).0, None);
    }

    #[test]
    fn arms_without_memory_are_not_named() {
        let without = |result: &mut StudyResult| {
            with_memory([176, 176, 80])(result);
            result.arms[2].cost.of_rounds = RoundNumbers::default();
        };
        assert_eq!(fired("unequal-connections", without).0, None);
    }
}
