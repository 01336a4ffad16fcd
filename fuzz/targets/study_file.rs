//! The parser of study files, with arbitrary text.
#![no_main]

use std::sync::LazyLock;

use hoptax_functions::Catalogue;
use hoptax_plan::file;
use hoptax_plan::plan::Plan;
use libfuzzer_sys::fuzz_target;

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::load().expect("the catalogue is sound"));

fuzz_target!(|text: &str| {
    if let Ok((file, positions)) = file::read("fuzz.yaml", text) {
        let _ = Plan::new(&file, &positions, &CATALOGUE);
    }
});
