//! Tells the program which commit it is built from, as `HOPTAX_COMMIT`.
//!
//! A development build is told none: it is mostly of files that no commit has, and it would be linked anew after each commit. So
//! is a build without git, and one whose files another repository holds.

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
    // A commit changes the log of HEAD, and whatever makes a commit another one than its files is in the crates.
    println!("cargo::rerun-if-changed={}", root.join("crates").display());
    let log = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"]);
    if let Some(log) = log.filter(|log| Path::new(log).exists()) {
        println!("cargo::rerun-if-changed={log}");
    }
    if let Some(commit) = git(&["describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]) {
        println!("cargo::rustc-env=HOPTAX_COMMIT={commit}");
    }
}
