//! The parser of study files, with arbitrary text, and the writer, with the parsed file.
#![cfg_attr(feature = "run", no_main)]

use hoptax_functions::Catalogue;
use hoptax_fuzz::fuzz_target;
use hoptax_plan::file;
use hoptax_plan::plan::Plan;

fuzz_target!(|text: &str| {
    if let Ok((file, positions)) = file::read("fuzz.yaml", text) {
        let _ = Plan::new(&file, &positions, Catalogue::load().expect("the catalogue is sound"));
        // A list with two words for the same, such as `mtls` and `mutual`, has duplicates when it is written.
        if let Ok((text, _)) = file::write(&file) {
            assert_eq!(file::read("written.yaml", &text).expect("what is written can be read").0, file);
        }
    }
});
