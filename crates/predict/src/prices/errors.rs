//! Errors of converted prices, from machines on which all costs were measured.
//!
//! For each known machine, costs are converted to it from each of the other machines, with the anchors measured on it. The converted prices
//! are then compared with its measured costs of the other functions, which were not used. Other lists of the same machine are left out.
//! Prices that are converted to a machine whose processors halt, from one whose processors were kept from that, have far larger errors, so
//! errors are those of machines that differ likewise.
//!
//! **Intervals.** Given `n` observed errors, the next error is below the `k`-th smallest with probability `k / (n + 1)`, for any
//! distribution (split conformal prediction; V. Vovk, A. Gammerman and G. Shafer, *Algorithmic Learning in a Random World*, 2005). A
//! function with a large error on one machine has large errors on others too, so each function counts once, with its largest error. This is
//! valid for other functions. The number of machines is small, so the interval is a guess for a machine unlike all of them.

use std::collections::{BTreeMap, BTreeSet};

use hoptax_result::ConversionError;
use hoptax_stats::quantile;

use crate::prices::factor::{ANCHORS, anchors, factor};
use crate::prices::list::{Cost, KNOWN_WITHIN, List};

/// Confidence level of the intervals.
const CONFIDENCE: f64 = 0.95;

/// A price converted to a machine on which the true price is known.
struct Trial {
    /// The function.
    id: String,
    /// The logarithm of the converted price over the true one.
    log_error: f64,
}

/// The errors of prices converted to the machine of each of these lists from each of the other machines, where processors halt
/// `differently`, or alike. None without such prices.
pub fn known_errors(lists: &[List], differently: bool) -> Option<ConversionError> {
    let of = |truth| {
        let others = others(lists, truth).into_iter();
        let alike = others.filter(move |list| (list.halts != truth.halts) == differently);
        alike.map(move |list| (list.machine.as_str(), of_pair(list, truth)))
    };
    let of_machines: Vec<(&str, Vec<Trial>)> = lists.iter().flat_map(of).collect();
    let machines: BTreeSet<&str> = of_machines.iter().map(|(machine, _)| *machine).collect();
    let trials = of_machines.iter().flat_map(|(_, trials)| trials);
    // Converting in the opposite direction between two machines has the same error, and a function has large errors on all machines or on
    // none.
    let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
    for trial in trials {
        let size = sizes.entry(&trial.id).or_default();
        *size = size.max(trial.log_error.abs());
    }
    let sizes: Vec<f64> = sizes.into_values().collect();
    let median = quantile(&sizes, 0.5)?;
    let functions = sizes.len() as u32;
    let (log_error, confidence) = bound(sizes)?;
    Some(ConversionError {
        functions,
        machines: machines.len() as u32,
        median_share: median.exp() - 1.0,
        factor: log_error.exp(),
        confidence,
    })
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
        !ANCHORS.contains(&id.as_str()) && is_known(listed) && list.is_converted(id, listed)
    });
    let trial = |(id, listed): (&String, &Cost)| {
        let truth = truth.costs.get(id).filter(is_known)?;
        Some(Trial { id: id.clone(), log_error: (listed.us * factor / truth.us).ln() })
    };
    others.filter_map(trial).collect()
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
    use rand::SeedableRng;
    use rand::rngs::SmallRng;
    use rand_distr::{Distribution, LogNormal};

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
    fn lists_of_one_machine_are_not_converted_to_each_other() {
        let machines = known::machines();
        let of_other_machines = |truth: &List| others(&machines, truth);
        let is_other =
            |truth: &List| of_other_machines(truth).iter().all(|list| list.machine != truth.machine);
        assert!(machines.iter().all(is_other));
        let twice: Vec<List> = machines.iter().chain(&machines).cloned().collect();
        assert!(twice.iter().all(|truth| others(&twice, truth).len() + 2 == twice.len()));
    }

    #[test]
    fn the_next_error_is_below_the_bound_as_often_as_stated() {
        let mut random = SmallRng::seed_from_u64(7);
        // The rule holds for any distribution. This one has a long tail.
        let errors = LogNormal::new(0.0, 1.5).unwrap();
        for count in [5, 12, 39] {
            let mut held = 0;
            let mut stated = 0.0;
            for _ in 0..20_000 {
                let (limit, confidence) =
                    bound((0..count).map(|_| errors.sample(&mut random)).collect()).unwrap();
                stated = confidence;
                held += u32::from(errors.sample(&mut random) <= limit);
            }
            let held = f64::from(held) / 20_000.0;
            assert!((held - stated).abs() < 0.01, "{count}: {held} of {stated}");
        }
    }

    #[test]
    fn a_function_counts_once_with_its_largest_error() {
        let list = |machine: &str, costs: &[(&str, f64)]| {
            let cost =
                |(id, us): &(&str, f64)| ((*id).to_owned(), Cost { us: *us, half_width_us: us * 0.01 });
            let costs = costs.iter().map(cost).collect();
            List { machine: machine.to_owned(), plain_us: Some(10.0), costs, ..List::default() }
        };
        let anchors = ANCHORS.map(|id| (id, 10.0));
        let with = |functions: &[(&'static str, f64)]| [&anchors[..], functions].concat();
        let (one, other) = (with(&[("lua", 4.0), ("cors", 4.0)]), with(&[("lua", 5.0), ("cors", 4.0)]));
        let error = known_errors(&[list("one", &one), list("other", &other)], false).unwrap();
        assert_eq!((error.functions, error.machines), (2, 2));
        assert!(
            (error.factor - 1.25).abs() < 1e-9 && (error.confidence - 2.0 / 3.0).abs() < 1e-9,
            "{error:?}"
        );
        assert_eq!(known_errors(&[list("one", &one), list("one", &other)], false), None, "one machine");
        let halting = List { halts: true, ..list("other", &other) };
        assert_eq!(known_errors(&[list("one", &one), halting.clone()], false), None, "they differ");
        assert_eq!(known_errors(&[list("one", &one), halting], true), Some(error));
    }

    #[test]
    fn the_errors_between_the_known_machines_are_those_of_the_documentation() {
        let page = include_str!("../../../../docs/design/prices.md");
        for (differently, halting) in [(false, "alike"), (true, "differently")] {
            let error = known_errors(&known::machines(), differently).unwrap();
            let row = format!(
                "| {halting} | {} | {} | {:.0} % | {:.2} | {:.0} % |",
                error.machines,
                error.functions,
                100.0 * error.median_share,
                error.factor,
                100.0 * error.confidence
            );
            assert!(page.contains(&row), "{row}");
        }
    }
}
