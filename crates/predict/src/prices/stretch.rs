//! Stretch: how much more the cost of a function grows than those of others on a slower machine.
//!
//! For two known machines, it is the logarithm of the ratio of a function's costs, standardized over functions: minus the mean and
//! divided by the standard deviation. For more than two machines, it is the mean over all machines but the first, each compared
//! with the first and weighted by the precision of its ratio. Further lists of the first machine are left out. It has no unit; the fit of the line determines its scale on each
//! machine.

use std::collections::BTreeMap;

use crate::prices::list::{Cost, List};

/// Largest relative uncertainty of a cost that is used for stretch. It excludes functions whose ratios are mostly noise.
pub(crate) const KNOWN_WITHIN: f64 = 0.3;
/// Minimum cost of functions that determine the mean and the standard deviation, microseconds.
const FROM_US: f64 = 3.0;
/// Ratio of half the width of a 95 % interval to its standard error.
const HALF_WIDTHS: f64 = 1.96;

/// The stretch of functions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stretches {
    /// Stretch of plain proxying.
    pub plain: f64,
    /// Stretch of functions, by arm id.
    pub functions: BTreeMap<String, f64>,
}

/// The stretch of all functions with precise costs on the first and another of `machines`. With fewer than two machines, or if all
/// functions have the same ratio, the map is empty and the stretch of plain proxying is 0.
pub fn stretches(machines: &[&List]) -> Stretches {
    let Some((first, others)) = machines.split_first() else { return Stretches::default() };
    let mut sums: BTreeMap<&String, (f64, f64)> = BTreeMap::new();
    let (mut plain, mut machines_compared) = (0.0, 0.0);
    for other in others.iter().filter(|other| other.machine != first.machine) {
        let ratios: Vec<(&String, Ratio)> = first
            .costs
            .iter()
            .filter_map(|(id, cost)| Some((id, Ratio::new(cost, other.costs.get(id)?)?)))
            .collect();
        let reference_logs: Vec<f64> =
            ratios.iter().filter(|(_, ratio)| ratio.is_reference).map(|(_, ratio)| ratio.log).collect();
        let Some((mean, deviation)) = spread(&reference_logs) else { continue };
        for (id, ratio) in &ratios {
            let weight = 1.0 / (ratio.variance / (deviation * deviation) + 1.0 / 9.0);
            let sum = sums.entry(id).or_default();
            sum.0 += weight * (ratio.log - mean) / deviation;
            sum.1 += weight;
        }
        if let (Some(from), Some(to)) = (first.plain_us, other.plain_us) {
            plain += ((to / from).ln() - mean) / deviation;
            machines_compared += 1.0;
        }
    }
    Stretches {
        plain: if machines_compared > 0.0 { plain / machines_compared } else { 0.0 },
        functions: sums.into_iter().map(|(id, (sum, weight))| (id.clone(), sum / weight)).collect(),
    }
}

/// The ratio of the costs of a function on two machines.
struct Ratio {
    /// The logarithm of the ratio.
    log: f64,
    /// The variance of `log`, from the intervals of both costs.
    variance: f64,
    /// Whether the cost determines mean and standard deviation.
    is_reference: bool,
}

impl Ratio {
    /// None if either cost is too uncertain.
    fn new(from: &Cost, to: &Cost) -> Option<Self> {
        let is_known = |cost: &Cost| cost.relative() <= KNOWN_WITHIN;
        let share = |cost: &Cost| cost.relative() / HALF_WIDTHS;
        (is_known(from) && is_known(to)).then(|| Self {
            log: (to.us / from.us).ln(),
            variance: share(from).powi(2) + share(to).powi(2),
            is_reference: from.us >= FROM_US,
        })
    }
}

/// Mean and standard deviation; None with fewer than two values or if all are equal.
fn spread(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (values.len() > 1 && variance > 1e-12).then(|| (mean, variance.sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(machine: &str, costs: &[(&str, f64)]) -> List {
        let cost = |(id, us): &(&str, f64)| ((*id).to_owned(), Cost { us: *us, half_width_us: us * 0.01 });
        let costs = costs.iter().map(cost).collect();
        List { machine: machine.to_owned(), plain_us: Some(20.0), costs }
    }

    #[test]
    fn a_function_whose_cost_grows_more_has_more_stretch() {
        let from = list("one", &[("loop", 10.0), ("message", 10.0), ("both", 10.0)]);
        let to = list("another", &[("loop", 15.0), ("message", 40.0), ("both", 24.0)]);
        let found = stretches(&[&from, &to]).functions;
        assert!(found["loop"] < found["both"] && found["both"] < found["message"], "{found:?}");
        let later = List { machine: "one".to_owned(), ..to.clone() };
        assert!(stretches(&[&from, &later]).functions.is_empty(), "another list of the same machine");
        // Standardized, so the sum is 0.
        assert!(found.values().sum::<f64>().abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_uniformly_slower_machine_gives_no_stretch() {
        let from = list("one", &[("loop", 10.0), ("message", 8.0)]);
        let to = list("another", &[("loop", 20.0), ("message", 16.0)]);
        assert!(stretches(&[&from, &to]).functions.is_empty());
        assert_eq!(stretches(&[&from]), Stretches::default());
        assert_eq!(stretches(&[]), Stretches::default());
    }

    #[test]
    fn an_uncertain_cost_has_no_stretch() {
        let mut from = list("one", &[("loop", 10.0), ("message", 10.0), ("small", 0.2)]);
        let to = list("another", &[("loop", 15.0), ("message", 40.0), ("small", 0.9)]);
        from.costs.get_mut("small").unwrap().half_width_us = 0.1;
        assert!(!stretches(&[&from, &to]).functions.contains_key("small"));
    }
}
