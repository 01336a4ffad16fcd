//! Errors of carried prices, from machines on which all costs were measured.
//!
//! This is a leave-one-out test: for each known machine, costs are carried to it from each of the others, through its own anchors,
//! with the stretch of the others. The costs measured there of functions other than the anchors are not used for that, and are
//! compared with the carried prices. Other lists of the same machine are left out.
//!
//! **Intervals.** Given `n` observed errors, the next error is below the `k`-th smallest with probability `k / (n + 1)`, for any
//! distribution (split conformal prediction; V. Vovk, A. Gammerman and G. Shafer, *Algorithmic Learning in a Random World*, 2005).
//! A function with a large error on one machine has large errors on others too, so each function counts once, with its largest
//! error. This is valid for other functions. The number of machines is small; for a machine unlike all of them, the interval is a
//! guess.

use std::collections::BTreeMap;

use hoptax_result::CarryError;
use hoptax_stats::quantile;

use super::line::ANCHORS;
use crate::prices::line::{Anchor, Line};
use crate::prices::list::{Cost, List};
use crate::prices::stretch::{KNOWN_WITHIN, Stretches, stretches};

/// Minimum cost of each class, as a share of plain proxying on the list. Functions below the last class are not carried.
pub const CLASSES: [f64; 2] = [0.12, 0.05];
/// Confidence level of the intervals.
const CONFIDENCE: f64 = 0.95;

/// The name of plain proxying among the anchors.
pub(crate) const PLAIN: &str = "plain proxying";

/// A price carried to a machine on which the true price is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The function.
    pub id: String,
    /// The class of its cost on the list.
    pub class: usize,
    /// The logarithm of the carried price over the true one.
    pub log_error: f64,
}

/// Carries the prices of all `lists` to the machine of each of them from each of the other machines.
pub fn trials(lists: &[List]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for truth in lists {
        let others = others(lists, truth);
        let stretches = stretches(&others);
        for list in others {
            trials.extend(of_pair(list, truth, &stretches));
        }
    }
    trials
}

/// The lists of other machines.
fn others<'a>(lists: &'a [List], truth: &List) -> Vec<&'a List> {
    lists.iter().filter(|list| list.machine != truth.machine).collect()
}

fn of_pair(list: &List, truth: &List, stretches: &Stretches) -> Vec<Trial> {
    let measured: Vec<(&str, Cost)> =
        ANCHORS.iter().filter_map(|id| Some((*id, *truth.costs.get(*id)?))).collect();
    let anchors: Vec<Anchor> =
        anchors(list, truth.plain_us, &measured, stretches).into_iter().map(|(_, anchor)| anchor).collect();
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

/// The anchors of the line, with their names: plain proxying, and the measured functions with known stretch and a precise cost on
/// both machines.
pub fn anchors(
    list: &List,
    plain_us: Option<f64>,
    measured: &[(&str, Cost)],
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

/// The class of a cost on the list, from 0; None if it is too small to be carried.
pub fn class_of(list: &List, listed_us: f64) -> Option<usize> {
    let plain_us = list.plain_us.filter(|us| *us > 0.0)?;
    CLASSES.iter().position(|from_share| listed_us / plain_us >= *from_share)
}

/// The errors of each class with trials, the most expensive class first.
pub fn summarise(trials: &[Trial]) -> Vec<CarryError> {
    let of_class = |(class, from_share): (usize, &f64)| -> Option<CarryError> {
        let of_its_class = || trials.iter().filter(|trial| trial.class == class);
        let shares: Vec<f64> = of_its_class().map(|trial| (trial.log_error.exp() - 1.0).abs()).collect();
        // The largest error of each function.
        let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
        for trial in of_its_class() {
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

/// An upper bound of the next error, and its confidence level: 95 %, or less with fewer than 19 errors. None without errors.
fn bound(mut sizes: Vec<f64>) -> Option<(f64, f64)> {
    sizes.sort_by(f64::total_cmp);
    let count = sizes.len() as f64;
    let rank = ((count + 1.0) * CONFIDENCE).ceil().min(count);
    Some((*sizes.get((rank as usize).checked_sub(1)?)?, (rank / (count + 1.0)).min(CONFIDENCE)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::known;

    #[test]
    fn the_bound_of_few_errors_is_the_largest_at_a_lower_confidence() {
        assert_eq!(bound(Vec::new()), None);
        let (largest, confidence) = bound(vec![0.1, 0.4, 0.2]).unwrap();
        assert!((largest - 0.4).abs() < 1e-12 && (confidence - 0.75).abs() < 1e-12);
        let many: Vec<f64> = (1..=39).map(f64::from).collect();
        assert_eq!(bound(many), Some((38.0, 0.95)));
    }

    #[test]
    fn lists_of_one_machine_are_not_carried_to_each_other() {
        let machines = known::machines();
        let of_other_machines = |truth: &List| others(&machines, truth);
        let is_other =
            |truth: &List| of_other_machines(truth).iter().all(|list| list.machine != truth.machine);
        assert!(machines.iter().all(is_other));
        assert!(machines.iter().any(|truth| of_other_machines(truth).len() + 1 < machines.len()));
    }

    #[test]
    fn classes_depend_on_the_share_of_plain_proxying() {
        let list = List { plain_us: Some(20.0), ..List::default() };
        let found = [20.0, 2.4, 2.3, 1.0, 0.9, -1.0].map(|us| class_of(&list, us));
        assert_eq!(found, [Some(0), Some(0), Some(1), Some(1), None, None]);
        assert_eq!(class_of(&List::default(), 20.0), None);
    }

    /// The interval of each function is derived without its own errors and must cover them.
    #[test]
    fn intervals_cover_functions_that_were_left_out() {
        let trials = trials(&known::machines());
        assert!(trials.len() >= 50, "{}", trials.len());
        let holds = |trial: &&Trial| {
            let others: Vec<Trial> = trials.iter().filter(|other| other.id != trial.id).cloned().collect();
            let errors = summarise(&others);
            let error = errors.iter().find(|error| CLASSES.get(trial.class) == Some(&error.from_share));
            error.is_some_and(|error| trial.log_error.abs() <= error.factor.ln() + 1e-12)
        };
        let held = trials.iter().filter(holds).count() as f64 / trials.len() as f64;
        // The coverage is at least the stated confidence.
        let stated = summarise(&trials).iter().map(|error| error.confidence).fold(1.0, f64::min);
        assert!(held >= stated && stated > 0.8, "{held} {stated}");
    }

    #[test]
    fn the_line_has_smaller_errors_than_a_single_factor() {
        let machines = known::machines();
        let with_line = summarise(&trials(&machines));
        let median = |errors: &[CarryError]| errors.first().map(|error| error.median_share).unwrap();
        // A single factor: all functions have the stretch 0.
        let mut level = Vec::new();
        for truth in &machines {
            for list in others(&machines, truth) {
                let functions = list.costs.keys().map(|id| (id.clone(), 0.0)).collect();
                level.extend(of_pair(list, truth, &Stretches { plain: 0.0, functions }));
            }
        }
        assert!(median(&with_line) < median(&summarise(&level)), "{with_line:?}");
    }
}
