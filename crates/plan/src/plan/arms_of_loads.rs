//! The arms that a load is for (`only` and `except` of a study file), those that are measured under it, and the load that the costs of an
//! arm are taken from.
//!
//! Without a stated rate, the slowest arm under a load sets the rate of all. A load of their own for a few heavy arms leaves the others a
//! rate at which the same time has more requests, so their intervals are narrower.

use std::collections::BTreeSet;

use hoptax_result::ArmKind;
use hoptax_text::nearest::hint;

use super::arms::name_of;
use super::{Arm, Load, NumberedLoad, Plan, Rate};
use crate::file::{LoadSection, Positions, Problem, StudyFile};

/// Sets the arms of the loads of a file that name them. Problems are added to `problems`.
pub(super) fn decide(
    file: &StudyFile,
    arms: &[Arm],
    loads: &mut [Load],
    positions: &Positions,
    problems: &mut Vec<Problem>,
) {
    // An arm that could not be planned has a problem of its own.
    let entries: Vec<String> =
        if problems.is_empty() { Vec::new() } else { file.arms.iter().map(name_of).collect() };
    let known = || arms.iter().map(|arm| arm.id.as_str()).chain(entries.iter().map(String::as_str));
    let earlier_problems = problems.len();
    for (index, section) in file.loads.iter().enumerate() {
        let mut problem = |key: &str, message: String| {
            problems.push(positions.problem(&format!("/loads/{index}/{key}"), message));
        };
        for (number, id) in section.only.iter().enumerate() {
            if !known().any(|one| one == id) {
                let hint = hint(id, known());
                problem(&format!("only/{number}"), format!("`only` names `{id}`, which is not an arm{hint}"));
            }
        }
        let selected = match (&section.except, section.only.as_slice()) {
            (None, []) => None,
            (None, only) => Some(arms.iter().filter(|arm| only.contains(&arm.id)).collect()),
            (Some(_), [_, ..]) => {
                problem(
                    "except",
                    format!("the load `{}` has both `only` and `except`: remove one", section.name),
                );
                None
            }
            (Some(other), []) => match named_in(file, other) {
                Ok(named) => Some(without(arms, named)),
                Err(message) => {
                    problem("except", message);
                    None
                }
            },
        };
        let Some(selected) = selected else { continue };
        let needed = with_needed(arms, selected);
        if needed.is_empty() && section.except.is_some() && !arms.is_empty() {
            problem("except", format!("no arm is left for the load `{}`: remove it", section.name));
        }
        if let Some(load) = loads.iter_mut().find(|load| load.name == section.name) {
            load.arms = Some(needed);
        }
    }
    // A load that could not be planned, or whose arms are not known, may be that of any arm.
    if problems.len() > earlier_problems || loads.len() < file.loads.len() {
        return;
    }
    for arm in arms.iter().filter(|arm| !loads.iter().any(|load| load.is_for(arm))) {
        let message = format!(
            "`{}` takes part in no load: name it in an `only`, or give a load `except` instead of `only`",
            arm.id
        );
        problems.push(positions.problem("/loads", message));
    }
}

/// The arms that a load of the file names with `only`, for another one without them.
fn named_in<'a>(file: &'a StudyFile, load: &str) -> Result<&'a [String], String> {
    let with_only = |section: &&LoadSection| !section.only.is_empty();
    let names = || file.loads.iter().filter(with_only).map(|section| section.name.as_str());
    let Some(section) = file.loads.iter().find(|section| section.name == load) else {
        return Err(format!("`except: {load}` names no load of this study{}", hint(load, names())));
    };
    if section.only.is_empty() {
        return Err(format!(
            "`except: {load}` leaves out no arm, since the load `{load}` has no `only`: remove it, or name the arms of `{load}`"
        ));
    }
    Ok(&section.only)
}

/// The arms without the named ones. A baseline and its A/A arms are left to the arms that are compared with it.
fn without<'a>(arms: &'a [Arm], named: &[String]) -> Vec<&'a Arm> {
    let is_of_functions = |place: usize| {
        arms.iter().any(|other| other.kind != ArmKind::Same && other.compared_with == Some(place))
    };
    let follows_others = |place: usize, arm: &Arm| match arm.kind {
        ArmKind::Baseline => is_of_functions(place),
        ArmKind::Same => arm.compared_with.is_some_and(|place| {
            is_of_functions(place) || arms.get(place).is_some_and(|other| other.kind != ArmKind::Baseline)
        }),
        _ => false,
    };
    let all = arms.iter().enumerate();
    all.filter(|(place, arm)| !named.contains(&arm.id) && !follows_others(*place, arm))
        .map(|(_, arm)| arm)
        .collect()
}

/// The ids of these arms and of those that their costs need: the arms that they are compared with, the A/A arms of these, which show
/// whether their costs can be told from nothing, and the arms that known costs in CPU time are measured against.
fn with_needed<'a>(arms: &'a [Arm], mut open: Vec<&'a Arm>) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    while let Some(arm) = open.pop() {
        if !ids.insert(arm.id.clone()) {
            continue;
        }
        open.extend(arm.compared_with.and_then(|place| arms.get(place)));
        let is_compared_with_it = |other: &Arm| {
            other.compared_with.and_then(|place| arms.get(place)).is_some_and(|one| one.id == arm.id)
        };
        open.extend(arms.iter().filter(|other| other.kind == ArmKind::Same && is_compared_with_it(other)));
        open.extend(arms.iter().filter(|other| is_empty_of(other, arm)));
    }
    ids
}

/// Returns true if an arm burns no CPU time with the function by which the other one burns a known one, in the same surroundings.
fn is_empty_of(other: &Arm, arm: &Arm) -> bool {
    let known_us = |arm: &Arm| {
        let only = arm.functions.only()?;
        // Functions of the catalogue were rendered when it was loaded.
        only.function.known_cpu_us(&only.knobs).ok().flatten()
    };
    let function = |arm: &Arm| arm.functions.only().map(|only| only.function.id.clone());
    other.compared_with == arm.compared_with
        && function(other) == function(arm)
        && known_us(other).is_some_and(|us| us <= 0.0)
        && known_us(arm).is_some_and(|us| us > 0.0)
}

impl Load {
    /// Returns true if the load is for an arm, which may have no number under it nevertheless: [`Arm::takes_part`].
    fn is_for(&self, arm: &Arm) -> bool {
        self.arms.as_ref().is_none_or(|ids| ids.contains(&arm.id))
    }
}

impl Arm {
    /// Returns true if the arm is measured under `load`. An arm without a proxy has neither CPU time nor a maximum rate of a proxy,
    /// so it is left out of closed loops.
    pub fn takes_part(&self, load: &Load) -> bool {
        load.is_for(self) && (self.kind != ArmKind::Direct || load.open.is_some())
    }

    /// Returns true if the arm has connections under `load`, even if it takes no part in it: the memory of a proxy grows with its
    /// connections, so an arm with fewer than the one that it is compared with would seem to save memory. Callers other than hoptax have
    /// connections to the arms that take part alone.
    pub fn has_connections(&self, load: &Load) -> bool {
        self.takes_part(load) || (self.kind != ArmKind::Direct && load.caller.is_none())
    }
}

impl Plan {
    /// The load that costs in CPU time are taken from by default: the first open loop at one rate for all its arms, or else the
    /// first closed loop, or else the first load. `StudyPlan::cpu_load` of the result chooses the same.
    pub fn cpu_load(&self) -> Option<NumberedLoad<'_>> {
        of_cpu_time(self.numbered_loads())
    }

    /// The load that the costs of an arm in CPU time are taken from: the same of those that are for the arm. `StudyPlan::cpu_load_of` of
    /// the result chooses the same.
    pub fn cpu_load_of(&self, arm: &Arm) -> Option<NumberedLoad<'_>> {
        of_cpu_time(self.numbered_loads().filter(|load| load.is_for(arm)))
    }
}

fn of_cpu_time<'a>(loads: impl Iterator<Item = NumberedLoad<'a>>) -> Option<NumberedLoad<'a>> {
    // The first of those that come first.
    loads.min_by_key(|load| match &load.open {
        Some(open) if !matches!(open.rate, Rate::Utilisation(_)) => 0,
        None => 1,
        Some(_) => 2,
    })
}

#[cfg(test)]
mod tests {
    use hoptax_functions::Catalogue;

    use super::*;

    fn planned(arms: &str, loads: &str) -> Result<Plan, String> {
        let text = format!("name: test\narms: [{arms}]\nloads:\n{loads}");
        Plan::read("test.yaml", &text, Catalogue::load().unwrap()).map_err(|problems| problems.to_string())
    }

    fn taking<'a>(plan: &'a Plan, load: &str) -> Vec<&'a str> {
        let load = plan.loads.iter().find(|one| one.name == load).unwrap();
        plan.arms.iter().filter(|arm| arm.takes_part(load)).map(|arm| arm.id.as_str()).collect()
    }

    const TWO: &str = "  - {name: in-use, loop: open, except: slow}\n  - {name: slow, loop: open, only: [compress/gzip, lua]}\n  \
                       - {name: full, loop: closed}\n";

    #[test]
    fn a_load_is_for_the_arms_that_it_names_and_those_that_their_costs_need() {
        let plan = planned("direct, baseline, same, rbac, lua, compress/gzip", TWO).unwrap();
        let compressed =
            plan.reference(plan.arms.iter().find(|arm| arm.id == "compress/gzip").unwrap()).unwrap();
        assert_ne!(compressed.id, "baseline");
        // A baseline that only arms of another load are compared with is left to them.
        assert_eq!(taking(&plan, "in-use"), ["baseline", "direct", "same", "rbac"]);
        assert_eq!(
            taking(&plan, "slow"),
            ["baseline", "same", "lua", compressed.id.as_str(), "compress/gzip"]
        );
        assert_eq!(taking(&plan, "full").len(), plan.arms.len() - 1, "all but the arm without a proxy");
        let load = |id: &str| {
            let arm = plan.arms.iter().find(|arm| arm.id == id).unwrap();
            plan.cpu_load_of(arm).unwrap().load.name.as_str()
        };
        assert_eq!(["baseline", "same", "rbac", "lua"].map(load), ["in-use", "in-use", "in-use", "slow"]);
        assert_eq!(plan.cpu_load().unwrap().name, "in-use");
        assert!(plan.outline().contains(", 4 of 7 arms\n"), "{}", plan.outline());
        // Memory is compared between proxies with the same connections.
        let has_all = |arm: &Arm| plan.loads.iter().all(|load| arm.has_connections(load));
        assert!(plan.arms.iter().filter(|arm| arm.has_proxy()).all(has_all));
        let direct = plan.arms.iter().find(|arm| arm.kind == ArmKind::Direct).unwrap();
        assert_eq!([0, 1, 2].map(|load| direct.has_connections(&plan.loads[load])), [true, false, false]);
        // 16 blocks of each load, in which the baseline of four arms has two copies.
        assert_eq!(plan.slices_per_round(), 16 * (4 + 5 + 6 + 3));
    }

    #[test]
    fn points_and_arms_under_conditions_of_their_own_can_be_named() {
        let text = "name: test\npoints: true\narms: [baseline, rbac, {function: lua, at: {protocol: [http1, http2]}}]\nloads:\n  \
                    - {name: a, loop: open, except: b}\n  - {name: b, loop: open, only: ['rbac{rules=500}', 'lua @ http2']}\n";
        let plan = Plan::read("test.yaml", text, Catalogue::load().unwrap()).unwrap();
        assert_eq!(taking(&plan, "b"), ["baseline", "rbac{rules=500}", "baseline @ http2", "lua @ http2"]);
        assert!(!taking(&plan, "a").contains(&"lua @ http2") && taking(&plan, "a").contains(&"lua"));
    }

    #[test]
    fn a_known_cost_brings_the_arm_that_it_is_measured_against() {
        let arms = "baseline, 'control/burn{us=0}', 'control/burn{us=20}', 'control/burn{us=80}', rbac";
        let loads = "  - {name: a, loop: open, except: b}\n  - {name: b, loop: open, only: ['control/burn{us=80}']}\n";
        let plan = planned(arms, loads).unwrap();
        assert_eq!(taking(&plan, "a"), ["baseline", "control/burn{us=0}", "control/burn{us=20}", "rbac"]);
        assert_eq!(taking(&plan, "b"), ["baseline", "control/burn{us=0}", "control/burn{us=80}"]);
    }

    #[test]
    fn an_arm_that_others_are_compared_with_stays_under_their_load() {
        let loads =
            "  - {name: a, loop: open, except: b}\n  - {name: b, loop: open, only: [baseline, lua]}\n";
        let plan = planned("baseline, rbac, lua", loads).unwrap();
        assert_eq!(taking(&plan, "a"), ["baseline", "rbac"]);
    }

    #[test]
    fn every_problem_with_named_arms_is_reported_at_its_key() {
        let problems = planned(
            "baseline, lua, rbac",
            "  - {name: a, loop: open, only: [luaa]}\n  - {name: b, loop: open, except: aa}\n  \
             - {name: c, loop: open, except: d}\n  - {name: d, loop: open}\n  - {name: e, loop: open, only: [lua], except: a}\n",
        )
        .unwrap_err();
        for expected in [
            "test.yaml:4:34: `only` names `luaa`, which is not an arm; did you mean `lua`?",
            "test.yaml:5:",
            "`except: aa` names no load of this study",
            "`except: d` leaves out no arm, since the load `d` has no `only`",
            "the load `e` has both `only` and `except`",
        ] {
            assert!(problems.contains(expected), "{expected}\n{problems}");
        }
        assert_eq!(problems.lines().count(), 4, "{problems}");
        let empty = planned("baseline, lua", "  - {name: a, loop: open, only: []}\n").unwrap_err();
        assert!(empty.contains("test.yaml:4:"), "{empty}");
        let all = "  - {name: a, loop: open, except: b}\n  - {name: b, loop: open, only: [baseline, lua]}\n";
        let none_left = planned("baseline, lua", all).unwrap_err();
        assert!(none_left.contains("no arm is left for the load `a`"), "{none_left}");
        let unmeasured =
            planned("baseline, lua, rbac", "  - {name: a, loop: open, only: [lua]}\n").unwrap_err();
        assert!(unmeasured.contains("`rbac` takes part in no load"), "{unmeasured}");
    }

    #[test]
    fn each_arm_of_the_price_list_has_a_load_in_use_and_heavy_ones_slow_no_other() {
        let text = include_str!("../../../../studies/price-list.yaml");
        let plan = Plan::read("price-list.yaml", text, Catalogue::load().unwrap()).unwrap();
        for arm in &plan.arms {
            let load = plan.cpu_load_of(arm).unwrap();
            let rate = load.open.as_ref().map(|open| open.rate);
            assert!(matches!(rate, Some(Rate::OfSlowest(_))) && arm.takes_part(&load), "{}", arm.id);
        }
        let (fast, slow) = (taking(&plan, "in-use"), taking(&plan, "in-use-slow"));
        for both in ["baseline", "same", "control/burn{us=0}"] {
            assert!(fast.contains(&both) && slow.contains(&both), "{both}");
        }
        for (id, is_slow) in [("ext-proc{parts=bodies}", true), ("control/burn{us=20}", true), ("lua", false)]
        {
            assert_eq!((slow.contains(&id), fast.contains(&id)), (is_slow, !is_slow), "{id}");
        }
    }

    #[test]
    fn a_timeline_has_every_arm_under_every_load() {
        let text = "name: test\nobserve: timeline\narms: [baseline, lua]\nloads:\n  \
                    - {name: a, loop: open, rate: 100, slice: 1s, only: [lua]}\n";
        let refused = Plan::read("test.yaml", text, Catalogue::load().unwrap()).unwrap_err().to_string();
        assert!(refused.contains("remove `only`"), "{refused}");
    }

    #[test]
    fn each_arm_has_a_load_in_use_and_its_reference_shares_it() {
        let all = ["lua", "rbac", "cors", "compress/gzip", "'control/burn{us=20}'", "same"];
        // Each choice of some of them, but not of all.
        for chosen in 1_u32..(1 << all.len()) - 1 {
            let is_chosen = |(place, _): &(usize, &str)| (chosen >> place) & 1 == 1;
            let only: Vec<&str> = all.into_iter().enumerate().filter(is_chosen).map(|(_, arm)| arm).collect();
            let loads = format!(
                "  - {{name: a, loop: open, except: b}}\n  - {{name: b, loop: open, only: [{}]}}\n",
                only.join(", ")
            );
            let arms = format!("direct, baseline, 'control/burn{{us=0}}', {}", all.join(", "));
            let plan = planned(&arms, &loads).unwrap();
            for arm in &plan.arms {
                let load = plan.cpu_load_of(arm).unwrap();
                assert!(arm.takes_part(&load), "{} {} {only:?}", arm.id, load.name);
                if let Some(other) = plan.reference(arm) {
                    assert!(other.takes_part(&load), "{} {} {only:?}", arm.id, load.name);
                }
            }
        }
    }
}
