//! Factor between the costs of functions on two machines: one for all functions.

use crate::prices::list::{Cost, KNOWN_WITHIN, List};

/// The functions to measure on a machine to convert a list to it: functions that compute, functions that exchange messages, and one
/// in between. All of them are expensive. They are the arms of the study `anchors`.
pub const ANCHORS: [&str; 4] = ["ext-authz/http", "jwt", "route/path{routes=1000}", "tracing/opentelemetry"];

/// The name of plain proxying among the anchors.
pub(crate) const PLAIN: &str = "plain proxying";

/// A function, or plain proxying, with known costs on both machines.
#[derive(Clone, Debug, PartialEq)]
pub struct Anchor {
    /// The id of the function, or [`PLAIN`].
    pub name: String,
    /// The logarithm of the ratio of its cost here to its cost on the list.
    pub log_factor: f64,
}

/// The anchors of a list: plain proxying, and the measured functions whose costs are precise on both machines and not small.
pub fn anchors(list: &List, plain_us: Option<f64>, measured: &[(&str, Cost)]) -> Vec<Anchor> {
    let plain = list.plain_us.zip(plain_us).filter(|(from, to)| *from > 0.0 && *to > 0.0);
    let plain = plain.map(|(from, to)| Anchor { name: PLAIN.to_owned(), log_factor: (to / from).ln() });
    let is_known = |cost: &Cost| cost.relative() <= KNOWN_WITHIN;
    let anchor = |(id, cost): &(&str, Cost)| {
        let listed = list.costs.get(*id).filter(|listed| is_known(listed) && is_known(cost))?;
        list.is_converted(id, listed)
            .then(|| Anchor { name: (*id).to_owned(), log_factor: (cost.us / listed.us).ln() })
    };
    plain.into_iter().chain(measured.iter().filter_map(anchor)).collect()
}

/// The geometric mean of the anchors' factors. None without anchors.
pub fn factor(anchors: &[Anchor]) -> Option<f64> {
    let sum: f64 = anchors.iter().map(|anchor| anchor.log_factor).sum();
    (!anchors.is_empty()).then(|| (sum / anchors.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_is_the_geometric_mean_of_the_anchors() {
        let anchor = |log_factor: f64| Anchor { name: PLAIN.to_owned(), log_factor };
        let of_two = factor(&[anchor(2.0_f64.ln()), anchor(8.0_f64.ln())]).unwrap();
        assert!((of_two - 4.0).abs() < 1e-12, "{of_two}");
        assert_eq!(factor(&[]), None);
    }

    #[test]
    fn small_and_vague_costs_are_no_anchors() {
        let cost = |us: f64, half_width_us: f64| Cost { us, half_width_us };
        let costs = [("jwt", cost(10.0, 1.0)), ("lua", cost(10.0, 4.0)), ("cors", cost(0.9, 0.1))];
        let list = List {
            plain_us: Some(20.0),
            costs: costs.iter().map(|(id, cost)| ((*id).to_owned(), *cost)).collect(),
            ..List::default()
        };
        let names = |measured: &[(&str, Cost)]| -> Vec<String> {
            anchors(&list, Some(40.0), measured).into_iter().map(|anchor| anchor.name).collect()
        };
        assert_eq!(names(&costs), [PLAIN, "jwt"]);
        assert_eq!(names(&[("jwt", cost(20.0, 9.0)), ("absent", cost(9.0, 1.0))]), [PLAIN]);
    }
}
