//! A short form of `moderated_coverage.rs`, which takes minutes without optimization.

use super::moderated_simulation::{Setting, Vary, simulate};

#[test]
fn seven_parts_over_two_rounds_are_covered_at_little_more_than_half_the_width() {
    for vary in Vary::ALL {
        let found = simulate(Setting { arms: 7, copies: 3, replicates: 2, vary, last_replicate: 1.0 }, 1_000);
        assert!(found.average >= 93.0 && found.last >= 93.0, "{vary:?}: {found:?}");
        assert!(vary != Vary::Alike || found.width < 0.65, "{found:?}");
    }
}
