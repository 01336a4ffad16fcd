//! The short form of every built-in study.
//!
//! `make test` guards it by other tests: every built-in study is planned (`crates/plan`), Envoy accepts every function and its proof moves
//! (`envoy.rs`, `composition.rs`), and a small study of each kind runs: chains, networks, links, timelines, applications, mechanisms (this
//! folder).

use std::collections::VecDeque;
use std::panic;
use std::sync::Mutex;
use std::thread;

use crate::smoke::{listed, outcome};

#[test]
#[ignore = "takes minutes: run by `make test-long`"]
fn every_built_in_study_comes_up_and_all_its_arms_answer() {
    let waiting: Mutex<VecDeque<String>> = Mutex::new(listed().keys().cloned().collect());
    assert!(waiting.lock().unwrap().len() > 30, "the list is read");
    let next = || waiting.lock().unwrap().pop_front();
    let failed: Mutex<Vec<String>> = Mutex::default();
    thread::scope(|scope| {
        // One waits for its slices while the other starts its processes.
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(study) = next() {
                    if panic::catch_unwind(|| outcome(&study)).is_err() {
                        failed.lock().unwrap().push(study);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{failed:?}: the reasons are above");
}
