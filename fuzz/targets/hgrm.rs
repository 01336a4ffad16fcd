//! The reader of percentile distributions of `HdrHistogram`, with arbitrary text.

#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_tools::import_hgrm;

fuzz_target!(|text: &str| {
    let _ = import_hgrm(text);
});
