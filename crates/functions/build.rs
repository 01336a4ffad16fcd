//! Has the crate built again when a file of the catalogue comes, goes or changes.

fn main() {
    println!("cargo::rerun-if-changed=catalogue");
}
