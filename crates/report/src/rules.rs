//! The table of the cost of an additional firewall rule.

use hoptax_result::{RuleCost, StudyResult};

use crate::numbers::{difference, or_dash};
use crate::table::Table;

/// A row for each series of arms and each load; none without a series.
pub(crate) fn table(result: &StudyResult) -> Option<Table> {
    let row = |cost: &RuleCost| {
        let established = if cost.accept_established { "yes" } else { "no" };
        let cells = vec![
            cost.matching.clone(),
            established.to_owned(),
            cost.load.clone(),
            difference(&cost.cpu_ns_per_rule),
            or_dash(cost.cpu_ns_per_rule_and_packet.as_ref().map(difference)),
            cost.shape.as_str().to_owned(),
        ];
        (cost.firewall.clone(), cells)
    };
    let rows: Vec<_> = result.rule_costs.iter().map(row).collect();
    let headings =
        ["firewall", "match", "established first", "load", "ns per rule", "ns per rule and packet", "shape"];
    let title = "CPU time of one more firewall rule, per request and per packet that arrives, of all processes together; \
                 linear: straight within a tenth of its rise";
    (!rows.is_empty()).then(|| Table::of_words(title, headings, rows))
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Interval, Shape};

    use super::*;
    use crate::fixture;

    #[test]
    fn every_series_has_a_row_for_each_load() {
        let mut result = fixture::study();
        assert!(table(&result).is_none());
        let about = |estimate: f64| Interval::around(estimate, 0.5);
        result.rule_costs = vec![RuleCost {
            firewall: "iptables".to_owned(),
            matching: "last".to_owned(),
            accept_established: false,
            load: "saturation".to_owned(),
            arms: vec!["a".to_owned(), "b".to_owned()],
            compared_with: "none".to_owned(),
            rules: vec![10, 1_000],
            cpu_ns_per_rule: about(9.0),
            cpu_ns_per_rule_and_packet: None,
            sag_ns: about(0.0),
            shape: Shape::Linear,
        }];
        let table = table(&result).unwrap();
        assert_eq!(table.rows.len(), 1);
        assert_eq!(table.texts_of("iptables"), ["last", "no", "saturation", "+9.00 ±0.50", "-", "linear"]);
    }
}
