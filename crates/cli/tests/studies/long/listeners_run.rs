//! Fifty changes of a listeners file under load.
//!
//! What still guards them in `make test`: four changes (`listeners_run.rs`), and the rules of restarts over random courses
//! (`crates/supervisor/src/machine/tests.rs`).

use std::time::Duration;

use crate::listeners_run::{Change, under_load};

#[test]
#[ignore = "takes minutes: run by `make test-long`"]
fn no_request_is_lost_over_fifty_restarts_ten_broken_files_and_two_killed_envoys() {
    let mut changes = vec![Change::Sound; 48];
    for (number, after_ms) in [(16, 5), (32, 40)] {
        changes.insert(number, Change::Killed(Duration::from_millis(after_ms)));
    }
    for number in 0..10 {
        changes.insert(number * 6 + 3, Change::Broken);
    }
    assert_eq!(changes.iter().filter(|change| **change != Change::Broken).count(), 50);
    let result = under_load(&changes);
    println!("{:#}", result["book"]);
    println!("{:#}", result["percentiles"]);
}
