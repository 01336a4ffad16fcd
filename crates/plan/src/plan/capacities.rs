//! The loads whose rate is a share of a capacity, and those under which the capacity of an arm is measured.
//!
//! A new connection can cost a proxy more than its request, so an arm has one capacity for requests on connections that stay open, and
//! another for requests that each open one.

use std::collections::{BTreeMap, BTreeSet};

use super::{Arm, Load, NumberedLoad, Plan, Rate};

impl Load {
    /// Returns true if its rate is a share of a capacity.
    fn is_share(&self) -> bool {
        self.open.as_ref().is_some_and(|open| !matches!(open.rate, Rate::PerSecond(_)))
    }
}

impl Plan {
    /// Returns true if the capacities of the arms must be measured.
    pub fn needs_capacities(&self) -> bool {
        self.loads.iter().any(Load::is_share)
    }

    /// The index of the first load under which connections are used as under `load`: each for as many requests, and new ones with or
    /// without an earlier TLS session. An arm has one capacity under all such loads, and records name it by this index.
    pub fn first_alike(&self, load: &Load) -> usize {
        let is_alike = |other: &Load| {
            other.requests_per_connection == load.requests_per_connection
                && self.resumes(other) == self.resumes(load)
        };
        self.loads.iter().position(is_alike).unwrap_or_default()
    }

    /// The loads under which the capacity of `arm` is measured, each by its [`Plan::first_alike`]: of its open loops that use connections
    /// alike, the first, if one of them has a share of a capacity. It may itself have a stated rate, as it has in a further sitting.
    pub fn capacity_loads(&self, arm: &Arm) -> BTreeMap<usize, NumberedLoad<'_>> {
        let is_open = |load: &NumberedLoad<'_>| load.open.is_some() && arm.takes_part(load);
        let open: Vec<NumberedLoad<'_>> = self.numbered_loads().filter(is_open).collect();
        let shares = open.iter().filter(|load| load.is_share());
        let needed: BTreeSet<usize> = shares.map(|load| self.first_alike(load)).collect();
        let mut first = BTreeMap::new();
        for load in open {
            let alike = self.first_alike(&load);
            if needed.contains(&alike) {
                first.entry(alike).or_insert(load);
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use hoptax_functions::Catalogue;

    use super::*;

    fn planned(loads: &str) -> Plan {
        let text = format!("name: test\narms: [baseline, tls/terminate]\nloads:\n{loads}");
        Plan::read("test.yaml", &text, Catalogue::load().unwrap()).unwrap()
    }

    /// The names of the loads under which the capacity of the last arm is measured, by the load that records name them by.
    fn measured(plan: &Plan) -> Vec<(usize, &str)> {
        let loads = plan.capacity_loads(plan.arms.last().unwrap());
        loads.into_iter().map(|(alike, load)| (alike, load.load.name.as_str())).collect()
    }

    #[test]
    fn an_arm_has_a_capacity_for_each_use_of_connections() {
        let new = "requests_per_connection: 1, resumption";
        let plan = planned(&format!(
            "  - {{name: saturation, loop: closed}}\n  - {{name: full, loop: open, {new}: false}}\n  \
             - {{name: resumed, loop: open, {new}: true}}\n  - {{name: stated, loop: open, rate: 100}}\n  \
             - {{name: kept, loop: open}}\n  - {{name: kept-30, loop: open, utilisation: 30%}}\n"
        ));
        assert_eq!(measured(&plan), [(0, "stated"), (1, "full"), (2, "resumed")]);
        let alike: Vec<usize> = plan.loads.iter().map(|load| plan.first_alike(load)).collect();
        assert_eq!(alike, [0, 1, 2, 0, 0, 0]);
        assert!(plan.needs_capacities());
    }

    #[test]
    fn loads_with_a_rate_and_loads_of_other_arms_need_no_capacity() {
        let stated = planned("  - {name: a, loop: open, rate: 100}\n  - {name: b, loop: closed}\n");
        assert!(measured(&stated).is_empty() && !stated.needs_capacities());
        let others =
            planned("  - {name: a, loop: open, only: [baseline]}\n  - {name: b, loop: open, rate: 100}\n");
        assert!(measured(&others).is_empty() && others.needs_capacities());
        assert_eq!(others.capacity_loads(&others.arms[0]).len(), 1);
    }
}
