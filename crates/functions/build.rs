//! Has the crate built again when a file of the catalogue comes, goes or changes, and builds the dynamic module that Envoy loads
//! for some functions.
//!
//! The module is code for the machine that Envoy runs on, so it is built from source with everything else and no binary of it is
//! kept. It is optimized, as its cost is measured; not for tests, to which that cost is indifferent. Cargo builds it in a target
//! directory of its own, because the cargo that waits for this build has locked the usual one. All profiles, and the image registry,
//! share that directory.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// Inputs of the build of the module, relative to this crate.
const SOURCES: [&str; 4] = ["../../modules", "../tasks/src", "../tasks/Cargo.toml", "../../Cargo.lock"];

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-changed=catalogue");
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
    }
    let variable = |name: &str| env::var(name).map_err(|error| format!("cargo did not set {name}: {error}"));
    // Envoy is a program for glibc, which loads no library for another one: a program for musl brings the module for glibc.
    let (out, target) = (PathBuf::from(variable("OUT_DIR")?), variable("TARGET")?.replace("-musl", "-gnu"));
    // `OUT_DIR` is PROFILE/build/PACKAGE/out in the usual one.
    let built = out
        .ancestors()
        .nth(4)
        .ok_or_else(|| format!("no target directory above {}", out.display()))?
        .join("module");
    let mut cargo = Command::new(variable("CARGO")?);
    cargo
        .args(["build", "--quiet", "--locked", "--package", "hoptax-module", "--profile", "module"])
        .args(["--manifest-path", "../../Cargo.toml", "--target", &target, "--target-dir"])
        .arg(&built)
        // Lints are for the build that asked for them, and so are a list of dependencies, and flags but for those that make builds
        // reproducible: a shared library cannot be linked without shared libraries, nor with the flags of fuzzers.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env(
            "CARGO_ENCODED_RUSTFLAGS",
            flags_of_paths(&env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default()),
        );
    if variable("PROFILE")? == "debug" {
        // Tests check that it answers, and that its cost is measured, whatever it is: it waits for a clock. Few parts take less time in
        // all, and the crates of the program are compiled beside them.
        cargo
            .env("CARGO_PROFILE_MODULE_LTO", "off")
            .env("CARGO_PROFILE_MODULE_CODEGEN_UNITS", "2")
            .env("CARGO_PROFILE_MODULE_BUILD_OVERRIDE_CODEGEN_UNITS", "2")
            .env("CARGO_PROFILE_MODULE_OPT_LEVEL", "0");
    }
    let status = cargo.status().map_err(|error| format!("cannot run {cargo:?}: {error}"))?;
    // For a target without shared libraries, the build succeeds and writes nothing.
    let library = built.join(&target).join("module").join("libhoptax_module.so");
    if !status.success() || !library.is_file() {
        return Err(format!("{cargo:?} did not make the dynamic module: {status}"));
    }
    let kept = out.join("hoptax_module.so");
    std::fs::copy(&library, &kept)
        .map_err(|error| format!("cannot copy {} to {}: {error}", library.display(), kept.display()))?;
    Ok(())
}

/// The flags among encoded ones that replace paths in what is built. Cargo separates flags by a control character.
fn flags_of_paths(encoded: &str) -> String {
    let kept: Vec<&str> =
        encoded.split('\x1f').filter(|flag| flag.starts_with("--remap-path-prefix=")).collect();
    kept.join("\x1f")
}
