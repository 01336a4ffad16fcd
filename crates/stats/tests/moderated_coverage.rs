//! Coverage of intervals whose variances borrow from those of other costs, for the average arm and for the one that varies most.

use super::moderated_simulation::{Setting, Vary, simulate};

/// Numbers of arms, each with numbers of copies of their reference.
const SIZES: [(usize, usize); 8] = [(6, 1), (6, 2), (7, 3), (12, 3), (20, 1), (20, 4), (70, 1), (70, 8)];

fn hold(replicates: usize, widest: f64) {
    for (arms, copies) in SIZES {
        for vary in Vary::ALL {
            let setting = Setting { arms, copies, replicates, vary, last_replicate: 1.0 };
            let found = simulate(setting, 6_000);
            assert!(found.average >= 93.0 && found.last >= 93.0, "{setting:?}: {found:?}");
            assert!(vary != Vary::Alike || found.width < widest, "{setting:?}: {found:?}");
        }
    }
}

#[test]
fn two_replicates_cover_for_every_arm_at_three_fifths_of_students_width() {
    hold(2, 0.6);
}

#[test]
fn three_replicates_cover_for_every_arm_at_seven_eighths_of_the_width() {
    hold(3, 0.87);
}

/// Sittings that are combined so may differ by as much.
#[test]
fn three_replicates_of_which_one_varies_twice_as_much_cover_for_every_arm() {
    for (arms, copies) in SIZES {
        for vary in Vary::ALL {
            let setting = Setting { arms, copies, replicates: 3, vary, last_replicate: 2.0 };
            let found = simulate(setting, 6_000);
            assert!(found.average >= 93.0 && found.last >= 93.0, "{setting:?}: {found:?}");
        }
    }
}

#[test]
fn four_replicates_cover_for_every_arm_at_nine_tenths_of_the_width() {
    hold(4, 0.95);
}
