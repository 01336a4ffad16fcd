//! Errors of carried prices, from machines on which all costs were measured.
//!
//! For each known machine, costs are carried to it from each of the others by its own anchors. The costs measured there of functions
//! other than the anchors are not used for that, and are compared with the carried prices. Other lists of the same machine are left
//! out.
//!
//! **Intervals.** Given `n` observed errors, the next error is below the `k`-th smallest with probability `k / (n + 1)`, for any
//! distribution (split conformal prediction; V. Vovk, A. Gammerman and G. Shafer, *Algorithmic Learning in a Random World*, 2005).
//! A function with a large error on one machine has large errors on others too, so each function counts once, with its largest
//! error. This is valid for other functions. The number of machines is small; for a machine unlike all of them, the interval is a
//! guess.

use std::collections::BTreeMap;

use hoptax_result::CarryError;
use hoptax_stats::quantile;

use crate::prices::factor::{ANCHORS, anchors, factor};
use crate::prices::list::{Cost, KNOWN_WITHIN, List};

/// Confidence level of the intervals.
const CONFIDENCE: f64 = 0.95;

/// A price carried to a machine on which the true price is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The function.
    pub id: String,
    /// The logarithm of the carried price over the true one.
    pub log_error: f64,
}

/// Carries the prices of all `lists` to the machine of each of them from each of the other machines.
pub fn trials(lists: &[List]) -> Vec<Trial> {
    let to = |truth| others(lists, truth).into_iter().flat_map(move |list| of_pair(list, truth));
    lists.iter().flat_map(to).collect()
}

/// The lists of other machines.
fn others<'a>(lists: &'a [List], truth: &List) -> Vec<&'a List> {
    lists.iter().filter(|list| list.machine != truth.machine).collect()
}

fn of_pair(list: &List, truth: &List) -> Vec<Trial> {
    let measured: Vec<(&str, Cost)> =
        ANCHORS.iter().filter_map(|id| Some((*id, *truth.costs.get(*id)?))).collect();
    let Some(factor) = factor(&anchors(list, truth.plain_us, &measured)) else { return Vec::new() };
    let is_known = |cost: &&Cost| cost.relative() <= KNOWN_WITHIN;
    let others = list.costs.iter().filter(|(id, listed)| {
        !ANCHORS.contains(&id.as_str()) && is_known(listed) && list.is_carried(listed)
    });
    let trial = |(id, listed): (&String, &Cost)| {
        let truth = truth.costs.get(id).filter(is_known)?;
        Some(Trial { id: id.clone(), log_error: (listed.us * factor / truth.us).ln() })
    };
    others.filter_map(trial).collect()
}

/// The errors of all trials. None without any.
pub fn summarise(trials: &[Trial]) -> Option<CarryError> {
    let shares: Vec<f64> = trials.iter().map(|trial| (trial.log_error.exp() - 1.0).abs()).collect();
    // The largest error of each function.
    let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
    for trial in trials {
        let size = sizes.entry(&trial.id).or_default();
        *size = size.max(trial.log_error.abs());
    }
    let functions = sizes.len();
    let (log_error, confidence) = bound(sizes.into_values().collect())?;
    Some(CarryError {
        count: shares.len() as u32,
        functions: functions as u32,
        median_share: quantile(&shares, 0.5)?,
        p90_share: quantile(&shares, 0.9)?,
        factor: log_error.exp(),
        confidence,
    })
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
    use std::collections::BTreeSet;

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
        let twice: Vec<List> = machines.iter().chain(&machines).cloned().collect();
        assert!(twice.iter().all(|truth| others(&twice, truth).len() + 2 == twice.len()));
    }

    /// The interval of each function is derived without its own errors and must cover them as often as it states.
    #[test]
    fn intervals_cover_functions_that_were_left_out() {
        let trials = trials(&known::machines());
        let stated = summarise(&trials).unwrap();
        let functions: BTreeSet<&str> = trials.iter().map(|trial| trial.id.as_str()).collect();
        assert!(functions.len() >= 5, "{functions:?}");
        let is_covered = |id: &&&str| {
            let others: Vec<Trial> = trials.iter().filter(|other| other.id != **id).cloned().collect();
            let bound = summarise(&others).map_or(0.0, |error| error.factor.ln());
            trials.iter().filter(|trial| trial.id == **id).all(|trial| trial.log_error.abs() <= bound)
        };
        let covered = functions.iter().filter(is_covered).count() as f64 / functions.len() as f64;
        // With one function left out, the statement is about one function fewer.
        let count = functions.len() as f64;
        assert!(covered >= (count - 1.0) / count - 1e-12 && stated.confidence > 0.8, "{covered} {stated:?}");
    }
}
