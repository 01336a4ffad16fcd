//! The rate of an open loop for an arm, for loads that state it and for those that are a share of a capacity.

use hoptax_plan::plan::{Load, Plan, Rate};
use hoptax_plan::record::Capacities;

/// Requests per second of a load for the arm with this index; 0 in a closed loop.
pub(super) fn planned(plan: &Plan, capacities: &Capacities, load: &Load, arm: usize) -> f64 {
    match load.open.as_ref().map(|open| open.rate) {
        None => 0.0,
        Some(Rate::PerSecond(rate)) => rate,
        // An arm that answered nothing gets the minimum rate.
        Some(Rate::Utilisation(share)) => {
            let of_arm = capacities.get(&plan.first_alike(load)).and_then(|of_arms| of_arms.get(&arm));
            of_arm.map_or(1.0, |capacity| (capacity.rate * share).max(1.0))
        }
        Some(Rate::OfSlowest(share)) => of_slowest(plan, load, capacities, share),
    }
}

/// The given share of the capacity of the slowest arm under `load`, in requests per second, rounded down to two digits.
/// At least 1, which is also the rate if no capacity is known.
fn of_slowest(plan: &Plan, load: &Load, capacities: &Capacities, share: f64) -> f64 {
    let arms = plan.arms.iter().enumerate().filter(|(_, arm)| arm.takes_part(load));
    let of_arms = capacities.get(&plan.first_alike(load));
    let under = arms.filter_map(|(number, _)| of_arms?.get(&number));
    // An arm that answers nothing does not limit the others.
    let under = under.map(|capacity| capacity.rate).filter(|rate| *rate > 0.0);
    let Some(slowest) = under.reduce(f64::min) else { return 1.0 };
    let rate = (slowest * share).max(1.0);
    let unit = 10_f64.powf(rate.log10().floor() - 1.0);
    ((rate / unit).floor() * unit).max(1.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hoptax_result::Capacity;

    use super::*;
    use crate::runner::fixture::plan_of;

    #[test]
    fn the_slowest_arm_under_a_load_sets_its_rate() {
        let plan = plan_of(
            "name: test\narms: [direct, baseline, lua]\nloads: [{name: a, loop: closed}, {name: b, loop: open}]\n",
        );
        let number = |id: &str| plan.arms.iter().position(|arm| arm.id == id).unwrap();
        let [direct, baseline, lua] = ["direct", "baseline", "lua"].map(number);
        let of_rate = |rate: f64| Capacity { rate, ..Capacity::default() };
        let capacities = [(direct, 5_000.0), (baseline, 40_000.0), (lua, 31_234.0)];
        let of_arms = capacities.into_iter().map(|(arm, rate)| (arm, of_rate(rate))).collect();
        let capacities = BTreeMap::from([(0, of_arms)]);
        let of =
            |load: usize, share: f64| of_slowest(&plan, &plan.loads[load], &capacities, share).round() as u64;
        // An arm without a proxy takes no part in closed loops, so it cannot be the slowest arm there.
        assert_eq!([of(0, 0.3), of(0, 0.5), of(1, 0.3), of(1, 1e-9)], [9_300, 15_000, 1_500, 1]);
        assert_eq!(of_slowest(&plan, &plan.loads[0], &BTreeMap::new(), 0.3).round() as u64, 1);
    }

    #[test]
    fn a_heavy_arm_with_a_load_of_its_own_leaves_the_others_their_rate() {
        let plan = plan_of(
            "name: test\narms: [baseline, same, lua, rbac]\nloads:\n  - {name: a, loop: open, except: b}\n  \
             - {name: b, loop: open, only: [lua]}\n",
        );
        let rate = |id: &str| if id == "lua" { 3_200.0 } else { 24_000.0 };
        let arms = plan.arms.iter().enumerate();
        let of_arms = arms
            .map(|(number, arm)| (number, Capacity { rate: rate(&arm.id), ..Capacity::default() }))
            .collect();
        let capacities = BTreeMap::from([(0, of_arms)]);
        let of = |load: usize| planned(&plan, &capacities, &plan.loads[load], 0).round() as u64;
        assert_eq!([of(0), of(1)], [12_000, 1_600]);
    }

    #[test]
    fn the_rate_of_new_connections_is_a_share_of_another_capacity_than_that_of_kept_ones() {
        let plan = plan_of(
            "name: test\narms: [baseline, lua]\nloads:\n  - {name: new, loop: open, requests_per_connection: 1}\n  \
             - {name: kept, loop: open}\n  - {name: kept-30, loop: open, utilisation: 30%}\n",
        );
        let of_arms = |rates: [f64; 2]| -> BTreeMap<usize, Capacity> {
            let capacities = rates.map(|rate| Capacity { rate, ..Capacity::default() });
            capacities.into_iter().enumerate().collect()
        };
        let capacities =
            BTreeMap::from([(0, of_arms([8_000.0, 5_000.0])), (1, of_arms([24_000.0, 20_000.0]))]);
        let of = |load: usize| planned(&plan, &capacities, &plan.loads[load], 0).round() as u64;
        assert_eq!([of(0), of(1), of(2)], [2_500, 10_000, 7_200]);
    }
}
