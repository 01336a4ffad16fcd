//! Machines on which all costs were measured. The errors of converted prices are derived from them.
//!
//! Each file of `known/` has the costs in use of a study, one function per line, and a header that describes the machine. The files are
//! independent of the published list: when a new list replaces it, the known machines remain.

use crate::prices::list::List;

const FILES: [&str; 3] = [
    include_str!("../../known/epyc.tsv"),
    include_str!("../../known/epyc-halting.tsv"),
    include_str!("../../known/xeon.tsv"),
];

/// The lists of the known machines. A machine may have several.
pub fn machines() -> Vec<List> {
    FILES.iter().map(|text| List::parse(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::factor::ANCHORS;

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
