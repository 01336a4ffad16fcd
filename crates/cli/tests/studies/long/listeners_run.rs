//! Fifty changes of a listeners file under load, and an upstream that becomes slow after minutes.
//!
//! `make test` guards them by other tests: four changes (`listeners_run.rs`), an upstream that is slow from the beginning
//! (`listeners_slow.rs`), and the rules of restarts and of slow upstreams over simulated courses (`machine/tests.rs` and `slow/tests.rs` of
//! `crates/supervisor/src`).

use std::thread;
use std::time::{Duration, Instant};

use crate::listeners_run::{Change, under_load};
use crate::listeners_slow::Ten;

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

#[test]
#[ignore = "takes minutes: run by `make test-long`"]
fn a_planted_slow_upstream_among_ten_is_named_with_the_time_since_when() {
    let mut ten = Ten::start("delay=1ms");
    // The usual times of an upstream are known after twelve windows of five seconds.
    thread::sleep(Duration::from_secs(75));
    let sound = ten.supervised.status().unwrap();
    let upstreams = sound["upstreams"].as_array().unwrap();
    assert!(upstreams.len() == 10 && upstreams.iter().all(|one| one["slow"].is_null()), "{sound:#}");
    let began = Instant::now();
    ten.change("delay=50ms");
    let slow = ten.slow();
    eprintln!("named after {:.1} s", began.elapsed().as_secs_f64());
    let usual = slow["slow"]["usual_us"].as_f64().unwrap();
    assert!((1_000.0..25_000.0).contains(&usual), "{usual}");
    assert_eq!(ten.supervised.end(), Some(0));
}
