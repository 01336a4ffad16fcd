//! Fifty changes of a listeners file under load.
//!
//! What still guards them in `make test`: four changes (`listeners_run.rs`), and the rules of restarts over random courses
//! (`crates/supervisor/src/machine/tests.rs`).

use crate::listeners_run::{Change, under_load};

#[test]
#[ignore = "takes minutes: run by `make test-long`"]
fn no_request_is_lost_over_fifty_restarts_ten_broken_files_and_two_killed_envoys() {
    let mut changes = vec![Change::Sound; 48];
    changes.insert(16, Change::Killed);
    changes.insert(32, Change::KilledMarked);
    for number in 0..10 {
        changes.insert(number * 6 + 3, Change::Broken);
    }
    assert_eq!(changes.iter().filter(|change| **change != Change::Broken).count(), 50);
    let result = under_load(&changes);
    eprintln!("{:#}", result["book"]);
    eprintln!("{:#}", result["percentiles"]);
}
