//! Untrusted result files: judges them and converts them to foreign formats.

#![cfg_attr(feature = "run", no_main)]

use hoptax_checks::thresholds::Limits;
use hoptax_checks::{judge_load, judge_study};
use hoptax_fuzz::fuzz_target;
use hoptax_result::{LoadResult, StudyResult};
use hoptax_tools::smp::{of_load, of_study};

fuzz_target!(|text: &str| {
    if let Ok(mut result) = serde_json::from_str::<LoadResult>(text) {
        let _ = of_load(&result);
        judge_load(&mut result, &Limits::default());
    }
    if let Ok(mut study) = serde_json::from_str::<StudyResult>(text) {
        let _ = of_study(&study);
        hoptax_judge::summary::fill(&mut study);
        judge_study(&mut study, &Limits::default());
    }
});
