//! A list of costs on one machine, from a study or a text.

use std::collections::BTreeMap;

use hoptax_result::{ArmKind, CostMeasure, Interval, StudyResult};

/// Largest relative uncertainty of a cost that prices are converted from, or compared with. Ratios of less precise costs are mostly noise.
pub(crate) const KNOWN_WITHIN: f64 = 0.3;
/// Smallest cost that is converted, as a share of plain proxying on the list. The errors of smaller costs are not known.
pub const CONVERTED_FROM: f64 = 0.05;

/// A cost with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// CPU time that it adds to a request, microseconds.
    pub us: f64,
    /// Half the width of its 95 % interval, microseconds.
    pub half_width_us: f64,
}

impl Cost {
    /// The cost of an estimate with its interval.
    pub fn new(interval: &Interval) -> Self {
        Self { us: interval.estimate, half_width_us: interval.half_width() }
    }

    /// Half the width of the interval relative to the cost; infinite if the cost is not positive.
    pub fn relative(&self) -> f64 {
        if self.us > 0.0 { self.half_width_us / self.us } else { f64::INFINITY }
    }
}

/// The costs of functions on one machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct List {
    /// The name of a known machine; empty for a study. Lists of the same machine show nothing about converting to another machine.
    pub machine: String,
    /// True if its processors halted when idle, false if they were kept from that.
    pub halts: bool,
    /// CPU time of plain proxying per request, microseconds.
    pub plain_us: Option<f64>,
    /// CPU time of plain proxying under the load of an arm, by the id of the arm, if that load differs.
    pub plain_beside_us: BTreeMap<String, f64>,
    /// Costs by arm id.
    pub costs: BTreeMap<String, Cost>,
}

impl List {
    /// The costs of a study. Arms with withheld costs are omitted.
    pub fn new(result: &StudyResult) -> Self {
        let functions = result.arms.iter().filter(|arm| arm.kind == ArmKind::Function);
        let cost = |arm: &hoptax_result::ArmResult| {
            Some((arm.id.clone(), Cost::new(arm.cost.cpu_us_per_request.as_ref()?)))
        };
        let plain = result.arm(&result.plan.baseline);
        let plain_us = plain.and_then(|arm| arm.cpu_us_per_request).map(|us| us.estimate);
        let beside = |arm: &hoptax_result::ArmResult| {
            let us = result.level_of_reference(arm, plain?, CostMeasure::CpuUs)?.estimate;
            (Some(us) != plain_us).then(|| (arm.id.clone(), us))
        };
        Self {
            machine: String::new(),
            halts: !result.plan.never_halted,
            plain_us,
            plain_beside_us: functions.clone().filter_map(beside).collect(),
            costs: functions.filter_map(cost).collect(),
        }
    }

    /// Returns true if the cost of an arm is large enough, relative to plain proxying under the same load, to be converted to another
    /// machine.
    pub(crate) fn is_converted(&self, id: &str, cost: &Cost) -> bool {
        let plain_us = self.plain_beside_us.get(id).copied().or(self.plain_us);
        plain_us.is_some_and(|plain_us| plain_us > 0.0 && cost.us / plain_us >= CONVERTED_FROM)
    }

    /// Parses tab-separated lines of an id, a cost and half the width of its interval, both in microseconds. The line `plain` has
    /// the CPU time of plain proxying. The line `# machine: NAME` names the machine, and `# processors: halt` says that they halted when
    /// idle; other lines that begin with `#` are comments. Invalid lines are skipped.
    pub(crate) fn parse(text: &str) -> Self {
        let machine = text.lines().find_map(|line| line.strip_prefix("# machine: ")).unwrap_or_default();
        let halts = text.lines().any(|line| line == "# processors: halt");
        let mut list = Self { machine: machine.to_owned(), halts, ..Self::default() };
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut fields = line.split('\t');
            let (Some(id), Some(Ok(us))) = (fields.next(), fields.next().map(str::parse::<f64>)) else {
                continue;
            };
            let half_width_us = fields.next().and_then(|field| field.parse().ok());
            match half_width_us {
                _ if id == "plain" => list.plain_us = Some(us),
                Some(half_width_us) => {
                    list.costs.insert(id.to_owned(), Cost { us, half_width_us });
                }
                None => {}
            }
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_parsed_and_invalid_ones_skipped() {
        let list = List::parse(
            "# machine: one\n# of a machine\nplain\t22.5\t0.6\njwt\t19.8\t0.2\nf{a=1,b=2}\t15.8\t0.15\n\nx\ty\t1\nz\t1\n",
        );
        assert_eq!((list.machine.as_str(), list.plain_us, list.halts), ("one", Some(22.5), false));
        assert!(List::parse("# machine: two\n# processors: halt\nplain\t22.5\t0.6\n").halts);
        assert_eq!(list.costs.keys().collect::<Vec<_>>(), ["f{a=1,b=2}", "jwt"]);
        assert_eq!(list.costs["jwt"], Cost { us: 19.8, half_width_us: 0.2 });
    }

    #[test]
    fn costs_are_converted_from_a_twentieth_of_plain_proxying() {
        let beside = [("slow".to_owned(), 30.0)].into();
        let list = List { plain_us: Some(20.0), plain_beside_us: beside, ..List::default() };
        let cost = |us: f64| Cost { us, half_width_us: 0.1 };
        assert_eq!(
            [20.0, 1.0, 0.9, -1.0].map(|us| list.is_converted("lua", &cost(us))),
            [true, true, false, false]
        );
        let under_its_own_load = [1.4, 1.5].map(|us| list.is_converted("slow", &cost(us)));
        assert_eq!(under_its_own_load, [false, true], "beside plain proxying under that load");
        assert!(!List::default().is_converted("lua", &cost(20.0)), "without plain proxying");
    }

    #[test]
    fn a_cost_that_is_not_positive_has_infinite_relative_uncertainty() {
        assert!(Cost { us: -0.1, half_width_us: 0.1 }.relative().is_infinite());
        assert!((Cost { us: 2.0, half_width_us: 0.5 }.relative() - 0.25).abs() < 1e-12);
    }
}
