//! The parser of study files, with arbitrary text.
#![cfg_attr(feature = "run", no_main)]

use hoptax_functions::Catalogue;
use hoptax_fuzz::fuzz_target;
use hoptax_plan::file;
use hoptax_plan::plan::Plan;

fuzz_target!(|text: &str| {
    if let Ok((file, positions)) = file::read("fuzz.yaml", text) {
        let _ = Plan::new(&file, &positions, Catalogue::load().expect("the catalogue is sound"));
    }
});
