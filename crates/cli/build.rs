//! Sets `HOPTAX_COMMIT` to the commit that a release build is made from.
//!
//! Development builds have no commit: they mostly contain uncommitted changes, and each commit would cause a new link. Builds
//! without git, or inside another repository, have none either.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(&root).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
        Some(text.trim().to_owned())
    };
    let is_own = || {
        let top = git(&["rev-parse", "--show-toplevel"])?;
        Some(Path::new(&top).canonicalize().ok()? == root.canonicalize().ok()?)
    };
    if env::var("PROFILE").as_deref() != Ok("release") || is_own() != Some(true) {
        return;
    }
    // A commit changes the log of HEAD. All files that make the tree dirty are in the crates.
    println!("cargo::rerun-if-changed={}", root.join("crates").display());
    let log = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"]);
    if let Some(log) = log.filter(|log| Path::new(log).exists()) {
        println!("cargo::rerun-if-changed={log}");
    }
    if let Some(commit) = git(&["describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]) {
        println!("cargo::rustc-env=HOPTAX_COMMIT={commit}");
    }
}
