//! Stretch: by how much more a function gains than others when it moves to a slower machine.
//!
//! Of two known machines it is the logarithm of the ratio of a function's costs, less its mean over functions, in units of its
//! standard deviation. Of more than two machines it is the mean over all but the first, each held against the first, weighted by
//! how well its ratio is known. So it has no unit, and the line that is drawn over it finds its scale anew on each machine.

use std::collections::BTreeMap;

use crate::list::{Cost, List};

/// Costs that are known to within this share say something of stretch: functions whose ratios are mostly noise are left out by it.
pub(crate) const KNOWN_WITHIN: f64 = 0.3;
/// The least cost whose ratio has a say in the mean and the standard deviation, microseconds.
const FROM_US: f64 = 3.0;
/// Half the width of a 95 % interval over its standard error.
const HALF_WIDTHS: f64 = 1.96;

/// The stretch of functions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stretches {
    /// That of plain proxying.
    pub plain: f64,
    /// By the id of their arm.
    pub functions: BTreeMap<String, f64>,
}

/// The stretch of all functions that two of `machines` know well. With fewer than two machines, and where all functions gain
/// alike, nothing has any, and plain proxying has none.
pub fn stretches(machines: &[&List]) -> Stretches {
    let Some((first, others)) = machines.split_first() else { return Stretches::default() };
    let mut sums: BTreeMap<&String, (f64, f64)> = BTreeMap::new();
    let (mut plain, mut columns) = (0.0, 0.0);
    for other in others {
        let ratios: Vec<(&String, Ratio)> = first
            .costs
            .iter()
            .filter_map(|(id, cost)| Some((id, Ratio::of(cost, other.costs.get(id)?)?)))
            .collect();
        let of_dear: Vec<f64> =
            ratios.iter().filter(|(_, ratio)| ratio.is_dear).map(|(_, ratio)| ratio.log).collect();
        let Some((mean, deviation)) = spread(&of_dear) else { continue };
        for (id, ratio) in &ratios {
            let weight = 1.0 / (ratio.variance / (deviation * deviation) + 1.0 / 9.0);
            let sum = sums.entry(id).or_default();
            sum.0 += weight * (ratio.log - mean) / deviation;
            sum.1 += weight;
        }
        if let (Some(from), Some(to)) = (first.plain_us, other.plain_us) {
            plain += ((to / from).ln() - mean) / deviation;
            columns += 1.0;
        }
    }
    Stretches {
        plain: if columns > 0.0 { plain / columns } else { 0.0 },
        functions: sums.into_iter().map(|(id, (sum, weight))| (id.clone(), sum / weight)).collect(),
    }
}

/// What a function costs on one machine over what it costs on another.
struct Ratio {
    log: f64,
    /// The variance of `log`, from the intervals of both costs.
    variance: f64,
    is_dear: bool,
}

impl Ratio {
    /// None where either cost is not known well.
    fn of(from: &Cost, to: &Cost) -> Option<Self> {
        let is_known = |cost: &Cost| cost.relative() <= KNOWN_WITHIN;
        let share = |cost: &Cost| cost.relative() / HALF_WIDTHS;
        (is_known(from) && is_known(to)).then(|| Self {
            log: (to.us / from.us).ln(),
            variance: share(from).powi(2) + share(to).powi(2),
            is_dear: from.us >= FROM_US,
        })
    }
}

/// Mean and standard deviation; none of fewer than two values, and of values that are all the same.
fn spread(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (values.len() > 1 && variance > 1e-12).then(|| (mean, variance.sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(costs: &[(&str, f64)]) -> List {
        let cost = |(id, us): &(&str, f64)| ((*id).to_owned(), Cost { us: *us, half_width_us: us * 0.01 });
        List { plain_us: Some(20.0), costs: costs.iter().map(cost).collect() }
    }

    #[test]
    fn what_gains_more_than_others_has_more_stretch() {
        let from = list(&[("loop", 10.0), ("message", 10.0), ("both", 10.0)]);
        let to = list(&[("loop", 15.0), ("message", 40.0), ("both", 24.0)]);
        let found = stretches(&[&from, &to]).functions;
        assert!(found["loop"] < found["both"] && found["both"] < found["message"], "{found:?}");
        // In units of the standard deviation, about the mean.
        assert!(found.values().sum::<f64>().abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_machine_that_is_slower_in_everything_stretches_nothing() {
        let from = list(&[("loop", 10.0), ("message", 8.0)]);
        let to = list(&[("loop", 20.0), ("message", 16.0)]);
        assert!(stretches(&[&from, &to]).functions.is_empty());
        assert_eq!(stretches(&[&from]), Stretches::default());
        assert_eq!(stretches(&[]), Stretches::default());
    }

    #[test]
    fn a_cost_that_is_mostly_noise_has_no_stretch() {
        let mut from = list(&[("loop", 10.0), ("message", 10.0), ("small", 0.2)]);
        let to = list(&[("loop", 15.0), ("message", 40.0), ("small", 0.9)]);
        from.costs.get_mut("small").unwrap().half_width_us = 0.1;
        assert!(!stretches(&[&from, &to]).functions.contains_key("small"));
    }
}
