//! Has the crate built again when a file of the catalogue comes, goes or changes, and compiles the dynamic module that
//! `control/burn` has Envoy load.
//!
//! The module is code for the machine that Envoy runs on, so it is built from source with everything else and no binary of it is
//! kept. It needs nothing but the standard library: rustc is called directly, which takes a fraction of a second and
//! cannot wait for a cargo that waits for this build.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// The sources of the module, from this crate.
const MODULE: &str = "../../modules/src";

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-changed=catalogue");
    println!("cargo::rerun-if-changed={MODULE}");
    let variable = |name: &str| env::var(name).map_err(|error| format!("cargo did not set {name}: {error}"));
    let module = PathBuf::from(variable("OUT_DIR")?).join("hoptax_burn.so");
    let mut compiler = Command::new(variable("RUSTC")?);
    compiler
        .args(["--edition", "2024", "--crate-name", "hoptax_burn", "--crate-type", "cdylib"])
        .args(["-C", "opt-level=3", "-C", "codegen-units=1", "-C", "panic=abort", "-C", "strip=symbols"])
        .args(["--target", &variable("TARGET")?])
        .arg(format!("--remap-path-prefix={MODULE}=modules"))
        .arg("-o")
        .arg(&module)
        .arg(format!("{MODULE}/lib.rs"));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        compiler.arg("-C").arg(format!("linker={linker}"));
    }
    let status = compiler.status().map_err(|error| format!("cannot run {compiler:?}: {error}"))?;
    // For a target without shared libraries, such as musl, rustc succeeds and writes nothing.
    if !status.success() || !module.is_file() {
        return Err(format!("{compiler:?} did not make the dynamic module: {status}"));
    }
    Ok(())
}
