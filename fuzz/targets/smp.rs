//! Files of Service Mesh Performance, with arbitrary text: as results, and as loads to run.

#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_tools::smp::{plan, read, restore};

fuzz_target!(|text: &str| {
    let Ok(file) = read(text) else { return };
    let _ = restore(&file.documents);
    for test in file.documents.iter().filter_map(|document| document.test.as_ref()) {
        for load in plan(test).into_iter().flatten() {
            // Headers in the file cannot set any other part of a request.
            for (name, value) in &load.headers {
                assert!(!format!("{name}{value}").chars().any(char::is_control), "{name}: {value}");
            }
            assert!(load.rate.is_none_or(|rate| rate <= hoptax_load::MAX_RATE) && load.connections > 0);
        }
    }
});
