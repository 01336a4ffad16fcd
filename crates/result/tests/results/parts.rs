//! Kernel counters.

use hoptax_result::PartCounts;

#[test]
fn a_difference_saturates_at_zero() {
    let earlier = PartCounts { voluntary_switches: 9, reads: 1, ..PartCounts::default() };
    let later = PartCounts { voluntary_switches: 4, reads: 3, ..PartCounts::default() };
    assert_eq!(later - earlier, PartCounts { reads: 2, ..PartCounts::default() });
}
