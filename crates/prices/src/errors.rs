//! How far carried prices are off, found where the truth is known.
//!
//! Each known machine is taken for one that is not: its costs are carried to it from each of the others, through its own anchors,
//! with the stretch that the others give. What was measured there of the other functions has no say in that, and is what the
//! prices are held against.
//!
//! **Intervals.** Of `n` errors that were seen, another of the same kind is below the `k`-th smallest in `k / (n + 1)` of all cases,
//! whatever their distribution (split conformal prediction; V. Vovk, A. Gammerman and G. Shafer, *Algorithmic Learning in a Random
//! World*, 2005). A function that is missed on one machine is missed on others as well, so each function counts once, with the
//! largest of its errors. That holds for other functions; the machines are few, and for one unlike all of them it is a guess.

use std::collections::BTreeMap;

use hoptax_result::CarryError;
use hoptax_stats::quantile;

use crate::ANCHORS;
use crate::line::{Anchor, Line};
use crate::list::{Cost, List};
use crate::stretch::{KNOWN_WITHIN, Stretches, stretches};

/// The least cost of each class on the list, as a share of plain proxying there. What costs less than the last is not carried.
pub const CLASSES: [f64; 2] = [0.12, 0.05];
/// Share of the truths that an interval is to hold.
const CONFIDENCE: f64 = 0.95;

/// What plain proxying is called among anchors.
const PLAIN: &str = "plain proxying";

/// A price that was carried to a machine where the truth is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The function.
    pub id: String,
    /// The class of its cost on the list.
    pub class: usize,
    /// The logarithm of the carried price over the true one.
    pub log_error: f64,
}

/// All prices of `machines`, carried to each of them from each of the others.
pub fn trials(machines: &[List]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (target, truth) in machines.iter().enumerate() {
        let others: Vec<&List> =
            machines.iter().enumerate().filter(|(index, _)| *index != target).map(|(_, one)| one).collect();
        let stretches = stretches(&others);
        for list in others {
            trials.extend(of_pair(list, truth, &stretches));
        }
    }
    trials
}

fn of_pair(list: &List, truth: &List, stretches: &Stretches) -> Vec<Trial> {
    let measured: Vec<(&str, Cost)> =
        ANCHORS.iter().filter_map(|id| Some((*id, *truth.costs.get(*id)?))).collect();
    let anchors: Vec<Anchor> =
        anchors(list, (truth.plain_us, &measured), stretches).into_iter().map(|(_, anchor)| anchor).collect();
    let Some(line) = Line::through(&anchors) else { return Vec::new() };
    let others = list.costs.iter().filter(|(id, _)| !ANCHORS.contains(&id.as_str()));
    let trial = |(id, listed): (&String, &Cost)| {
        let stretch = *stretches.functions.get(id)?;
        let truth = truth.costs.get(id).filter(|truth| truth.relative() <= KNOWN_WITHIN)?;
        let class = class_of(list, listed.us)?;
        let log_error = (listed.us * line.factor(stretch) / truth.us).ln();
        Some(Trial { id: id.clone(), class, log_error })
    };
    others.filter_map(trial).collect()
}

/// What a line is drawn through, by name: plain proxying, and the functions that were measured, whose stretch is known, and whose
/// cost is known well on both machines.
pub fn anchors(
    list: &List,
    (plain_us, measured): (Option<f64>, &[(&str, Cost)]),
    stretches: &Stretches,
) -> Vec<(String, Anchor)> {
    let plain = list.plain_us.zip(plain_us).filter(|(from, to)| *from > 0.0 && *to > 0.0);
    let plain = plain.map(|(from, to)| {
        (PLAIN.to_owned(), Anchor { stretch: stretches.plain, log_factor: (to / from).ln() })
    });
    let is_known = |cost: &Cost| cost.relative() <= KNOWN_WITHIN;
    let anchor = |(id, cost): &(&str, Cost)| {
        let listed = list.costs.get(*id).filter(|listed| is_known(listed) && is_known(cost))?;
        class_of(list, listed.us)?;
        let stretch = *stretches.functions.get(*id)?;
        Some(((*id).to_owned(), Anchor { stretch, log_factor: (cost.us / listed.us).ln() }))
    };
    plain.into_iter().chain(measured.iter().filter_map(anchor)).collect()
}

/// The class of a cost on the list, from 0; none where it is too small to be carried.
pub fn class_of(list: &List, listed_us: f64) -> Option<usize> {
    let plain_us = list.plain_us.filter(|us| *us > 0.0)?;
    CLASSES.iter().position(|from_share| listed_us / plain_us >= *from_share)
}

/// The errors of each class that has any, dearest first.
pub fn summarise(trials: &[Trial]) -> Vec<CarryError> {
    let of_class = |(class, from_share): (usize, &f64)| -> Option<CarryError> {
        let of_it = || trials.iter().filter(|trial| trial.class == class);
        let shares: Vec<f64> = of_it().map(|trial| (trial.log_error.exp() - 1.0).abs()).collect();
        // The largest of each function.
        let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
        for trial in of_it() {
            let size = sizes.entry(&trial.id).or_default();
            *size = size.max(trial.log_error.abs());
        }
        let functions = sizes.len();
        let (log_error, confidence) = bound(sizes.into_values().collect())?;
        Some(CarryError {
            from_share: *from_share,
            count: shares.len() as u32,
            functions: functions as u32,
            median_share: quantile(&shares, 0.5)?,
            p90_share: quantile(&shares, 0.9)?,
            factor: log_error.exp(),
            confidence,
        })
    };
    CLASSES.iter().enumerate().filter_map(of_class).collect()
}

/// What the size of another error stays below, and in which share of all cases: 95 %, or less where there are fewer than 19
/// errors. None without any.
fn bound(mut sizes: Vec<f64>) -> Option<(f64, f64)> {
    sizes.sort_by(f64::total_cmp);
    let count = sizes.len() as f64;
    let rank = ((count + 1.0) * CONFIDENCE).ceil().min(count);
    Some((*sizes.get((rank as usize).checked_sub(1)?)?, (rank / (count + 1.0)).min(CONFIDENCE)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known;

    #[test]
    fn the_bound_of_few_errors_is_the_largest_and_says_less() {
        assert_eq!(bound(Vec::new()), None);
        let (largest, confidence) = bound(vec![0.1, 0.4, 0.2]).unwrap();
        assert!((largest - 0.4).abs() < 1e-12 && (confidence - 0.75).abs() < 1e-12);
        let many: Vec<f64> = (1..=39).map(f64::from).collect();
        assert_eq!(bound(many), Some((38.0, 0.95)));
    }

    #[test]
    fn a_function_is_in_the_class_of_its_cost() {
        let list = List { plain_us: Some(20.0), ..List::default() };
        let found = [20.0, 2.4, 2.3, 1.0, 0.9, -1.0].map(|us| class_of(&list, us));
        assert_eq!(found, [Some(0), Some(0), Some(1), Some(1), None, None]);
        assert_eq!(class_of(&List::default(), 20.0), None);
    }

    /// The interval of each function, made without its own errors, is to hold them.
    #[test]
    fn intervals_hold_functions_that_had_no_say_in_them() {
        let trials = trials(&known::machines());
        assert!(trials.len() >= 50, "{}", trials.len());
        let holds = |trial: &&Trial| {
            let others: Vec<Trial> = trials.iter().filter(|other| other.id != trial.id).cloned().collect();
            let errors = summarise(&others);
            let error = errors.iter().find(|error| CLASSES.get(trial.class) == Some(&error.from_share));
            error.is_some_and(|error| trial.log_error.abs() <= error.factor.ln() + 1e-12)
        };
        let held = trials.iter().filter(holds).count() as f64 / trials.len() as f64;
        // As often as is said of them.
        let said = summarise(&trials).iter().map(|error| error.confidence).fold(1.0, f64::min);
        assert!(held >= said && said > 0.8, "{held} {said}");
    }

    #[test]
    fn the_line_is_nearer_to_the_truth_than_one_factor_for_all() {
        let machines = known::machines();
        let with_line = summarise(&trials(&machines));
        let dear = |errors: &[CarryError]| errors.first().map(|error| error.median_share).unwrap();
        // One factor for all: nothing has any stretch.
        let mut level = Vec::new();
        for truth in &machines {
            for list in machines.iter().filter(|list| *list != truth) {
                let functions = list.costs.keys().map(|id| (id.clone(), 0.0)).collect();
                level.extend(of_pair(list, truth, &Stretches { plain: 0.0, functions }));
            }
        }
        assert!(dear(&with_line) < dear(&summarise(&level)), "{with_line:?}");
    }
}
