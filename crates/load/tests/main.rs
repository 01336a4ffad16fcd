//! Trials of the engine against servers of the test.
//!
//! All files of this folder are one program, because each program links the libraries again.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod by_request;
mod connections;
mod ends;
mod engine;
mod handed_back;
mod limits;
mod network;
mod phases;
mod recompute;
mod secure;
mod support;
mod traffic;

#[test]
fn every_file_of_this_folder_is_a_module_of_this_program() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let is_module = name == "main" || include_str!("main.rs").contains(&format!("\nmod {name};\n"));
        assert!(is_module, "{}", path.display());
    }
}
