//! The reader of percentile distributions of `HdrHistogram`, with arbitrary text.

#![no_main]

use hoptax_tools::import_hgrm;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = import_hgrm(text);
});
