//! Properties of the statistics, and simulations of their coverage and error rates.
//!
//! All files of this folder are one program, because each program links the libraries again.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bound_coverage;
mod coverage;
mod decision_errors;
mod independent_coverage;
mod knee_coverage;
mod limit_errors;
mod line_coverage;
mod order_statistics_coverage;
mod properties;
mod scalability_coverage;
mod search_properties;
mod search_ratio_coverage;
mod search_subjects;
mod sittings_coverage;
mod stopping_coverage;
mod stored_reference_coverage;
mod tail_coverage;
mod tail_properties;
mod timeline_coverage;
mod whole_study;

#[test]
fn every_file_of_this_folder_is_a_module_of_this_program() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let is_code = path.is_dir() || path.extension().is_some_and(|ending| ending == "rs");
        let is_module = name == "main" || include_str!("main.rs").contains(&format!("\nmod {name};\n"));
        assert!(is_module || !is_code, "{}", path.display());
    }
}
