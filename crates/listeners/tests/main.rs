//! Listeners files, their problems, and the configurations that they become.
//!
//! All files of this folder are modules of the unit tests, because each program links the libraries again.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod catalogue;
mod functions;
mod names;
mod problems;

#[test]
fn every_file_of_this_folder_is_a_module_of_this_program() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for path in paths.filter(|path| path.extension().is_some_and(|kind| kind == "rs")) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let is_module = name == "main" || include_str!("main.rs").contains(&format!("\nmod {name};\n"));
        assert!(is_module, "{}", path.display());
    }
}
