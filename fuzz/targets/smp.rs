//! Files of Service Mesh Performance, with arbitrary text: as results, and as loads to run.

#![no_main]

use hoptax_tools::smp::{plan, read, restore};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(file) = read(text) else { return };
    let _ = restore(&file.documents);
    for test in file.documents.iter().filter_map(|document| document.test.as_ref()) {
        for load in plan(test).into_iter().flatten() {
            for argument in &load.arguments {
                // A header that begins with `@` would name a file to read.
                assert!(argument.starts_with("--") && !argument.starts_with("--header=@"), "{argument}");
            }
        }
    }
});
