//! Machines on which costs were measured: what stretch and errors of the model are known from.
//!
//! Each file of `known/` is what a study found, function by function, with a head that says on which machine. They are kept apart
//! from the published list, which is replaced when another one is measured: a machine that is known today stays known.

use crate::list::List;

const FILES: [&str; 3] = [
    include_str!("../known/epyc.tsv"),
    include_str!("../known/xeon-never-halted.tsv"),
    include_str!("../known/epyc-nested.tsv"),
];

/// The machines.
pub fn machines() -> Vec<List> {
    FILES.iter().map(|text| List::parse(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ANCHORS;

    #[test]
    fn every_machine_has_plain_proxying_and_all_anchors() {
        for machine in machines() {
            assert!(machine.plain_us.is_some_and(|us| us > 0.0));
            for anchor in ANCHORS {
                assert!(machine.costs.get(anchor).is_some_and(|cost| cost.us > 1.0), "{anchor}");
            }
        }
    }
}
