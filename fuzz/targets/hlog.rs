//! The reader of interval logs of `HdrHistogram`, with arbitrary text.

#![no_main]

use hoptax_tools::import_hlog;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = import_hlog(text, None);
});
