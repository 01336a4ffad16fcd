//! The short form of every built-in study, on real Envoy: each part of each comes up and answers.
//!
//! The program lists the studies, so none is forgotten. If the machine does not meet the needs of a study, the study prints them before it
//! begins, and that is tested instead.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::panic;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use serde_json::Value;

use crate::support;
use crate::support::study::answered;
use crate::support::{Ran, assert_narrow, checked, hoptax, program, ran, root, run};

/// A user who is not root: `nobody` on every Linux.
const NOBODY: u32 = 65_534;

/// Held by every run of a study, and exclusively by one that failed beside another.
static LANES: RwLock<()> = RwLock::new(());

/// The result of a study, or its error if this machine does not meet one of its needs.
type Outcome = Result<Value, String>;

/// The built-in studies with their needs, as the program lists them. It plans all of them for that.
pub(crate) fn listed() -> &'static BTreeMap<String, String> {
    static LISTED: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    LISTED.get_or_init(|| {
        let list = run(["study", "list"]).succeeded();
        assert_narrow(&list.stdout);
        // Long lines go on below, further to the right.
        let unwrapped = list.stdout.replace("\n    ", " ");
        let (studies, _) = unwrapped.split_once("\n\nnext: hoptax study quick ").unwrap();
        let entries = studies.split("\n\n").map(|entry| entry.split_once('\n').unwrap());
        entries.map(|(name, about)| (name.to_owned(), about.to_owned())).collect()
    })
}

/// The short form of a study, as a command in the folder of the repository, below which the applications of `apps/` are built.
fn short(study: &str, out: &Path) -> Command {
    let mut command = hoptax();
    command.current_dir(root());
    command.args(["study", study, "--smoke", "--out"]).arg(out);
    command
}

/// Runs the short form of a study, once for all tests of this program, and checks the properties that all of them share.
pub(crate) fn outcome(study: &str) -> Outcome {
    static OUTCOMES: Mutex<BTreeMap<String, Arc<OnceLock<Outcome>>>> = Mutex::new(BTreeMap::new());
    let entry = {
        let mut all = OUTCOMES.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(study.to_owned()).or_default())
    };
    let outcome = || {
        let beside = {
            let _shared = LANES.read().unwrap_or_else(PoisonError::into_inner);
            panic::catch_unwind(|| checked_outcome(study))
        };
        // Arms that need milliseconds for a request may not answer within a short slice beside another study.
        beside.unwrap_or_else(|_| {
            let _alone = LANES.write().unwrap_or_else(PoisonError::into_inner);
            checked_outcome(study)
        })
    };
    entry.get_or_init(outcome).clone()
}

fn checked_outcome(study: &str) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let ran = support::ran(&mut short(study, &out));
    if let Some(missing) = missing(&listed()[study]) {
        assert_eq!(ran.code, Some(3), "{study}: {}", ran.stderr);
        assert!(missing.iter().all(|one| ran.stderr.contains(one)), "{study}: {missing:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("cannot begin") && !out.exists(), "{study}: {}", ran.stderr);
        eprintln!("not tested: {}", ran.stderr);
        return Err(ran.stderr);
    }
    Ok(answered_result(study, &ran, &out))
}

/// Checks the files that a short form leaves behind. However busy the machine is, it succeeds: its numbers are of no use anyway.
fn answered_result(study: &str, ran: &Ran, out: &Path) -> Value {
    assert_eq!(ran.code, Some(0), "{study}: {}", ran.stderr);
    for file in ["report.html", "report.md", "numbers.csv"] {
        assert!(out.join(file).exists(), "{study}: {file}");
    }
    let result = checked("study", &fs::read_to_string(out.join("result.json")).unwrap());
    assert_eq!(result["name"], format!("{study}-smoke"));
    assert_eq!(result["plan"]["rounds_completed"], 1, "{study}: {}", ran.stderr);
    assert_eq!(out.join("timeline.csv").exists(), result["timelines"].is_array(), "{study}");
    for arm in result["arms"].as_array().unwrap() {
        let id = &arm["id"];
        assert!(answered(&result, arm) > 0, "{study}: {id} answered no request: {}", ran.stderr);
        assert_eq!(arm["unproven"], serde_json::json!([]), "{study}: {id}");
    }
    result
}

/// Returns the unmet needs of a study on this machine, in words of its error; none if it can begin.
fn missing(about: &str) -> Option<Vec<String>> {
    let path = env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = env::split_paths(&path).chain([root().join(".tools/bin")]).collect();
    // Without the programs, the rights are not tried.
    let without_root = || {
        let is_missing = needs_root(about) && !rustix::process::geteuid().is_root();
        is_missing.then(|| vec!["needs root".to_owned()])
    };
    absent(about, &places).or_else(without_root)
}

/// The programs that a study with these needs does not find in `places`: the package or the target of `make` of each, which the list has
/// in brackets. None if it finds all.
fn absent(about: &str, places: &[PathBuf]) -> Option<Vec<String>> {
    let needs =
        about.lines().filter_map(|line| line.trim().strip_prefix("needs ")).flat_map(|all| all.split("; "));
    let programs =
        needs.filter_map(|need| need.split_once(" (")).filter(|(name, _)| !name.starts_with("Envoy"));
    let is_absent = |name: &str| !places.iter().any(|place| place.join(name).is_file());
    let absent: Vec<String> = programs
        .filter(|(name, _)| is_absent(name) || *name == "php" && !php_has_curl())
        .map(|(_, source)| source.trim_start_matches("package ").trim_end_matches(')').to_owned())
        .collect();
    (!absent.is_empty()).then_some(absent)
}

fn php_has_curl() -> bool {
    Command::new("php").args(["-r", "exit(extension_loaded('curl') ? 0 : 1);"]).status().unwrap().success()
}

/// Returns true if users other than root may sample the kernel.
fn may_sample() -> bool {
    let is = |name: &str, allowed: &[&str]| {
        let setting = fs::read_to_string(Path::new("/proc/sys/kernel").join(name)).unwrap_or_default();
        allowed.contains(&setting.trim())
    };
    is("perf_event_paranoid", &["-1", "0", "1"]) && is("kptr_restrict", &["0"])
}

/// Returns true if a study with these needs cannot begin for users other than root.
fn needs_root(about: &str) -> bool {
    about.contains("root, for") && !(about.contains("or `sysctl") && may_sample())
}

/// A test of its own for `make registry-check`, which builds the application.
#[test]
fn a_plan_is_enforced_at_every_place() {
    let _ = outcome("image-registry");
}

#[test]
fn a_study_that_needs_root_tells_other_users_before_it_begins() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("not tested: only root can become another user");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    // Other users may not enter the folder of the build.
    let copy = folder.path().join("hoptax");
    fs::copy(program(), &copy).unwrap();
    let studies = listed().iter().filter(|(_, about)| needs_root(about) && missing(about).is_none());
    for (study, _) in studies {
        let out = folder.path().join("out");
        let mut command = Command::new(&copy);
        command.args(["study", study, "--smoke", "--out"]).arg(&out).current_dir(folder.path());
        let ran = ran(command.env("HOME", folder.path()).uid(NOBODY).gid(NOBODY));
        assert_eq!(ran.code, Some(3), "{study}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("cannot begin") && ran.stderr.contains("needs root"),
            "{study}: {}",
            ran.stderr
        );
        assert!(!ran.stderr.contains("this machine:"), "{study}: the machine was probed: {}", ran.stderr);
        assert!(!out.exists(), "{study}");
    }
}

#[test]
fn a_study_without_its_programs_names_the_packages_before_it_begins() {
    let folder = tempfile::tempdir().unwrap();
    for (study, about) in listed() {
        let Some(needed) = absent(about, &[]) else { continue };
        let out = folder.path().join("out");
        let mut command = hoptax();
        command.args(["study", study, "--smoke", "--out"]).arg(&out).current_dir(folder.path());
        let ran = ran(command.env("PATH", folder.path()));
        assert_eq!(ran.code, Some(3), "{study}: {}", ran.stderr);
        assert!(needed.iter().all(|one| ran.stderr.contains(one)), "{study}: {needed:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("this machine:") && !out.exists(), "{study}: {}", ran.stderr);
    }
}

#[test]
fn a_dry_run_prints_the_plan_and_names_what_the_machine_lacks_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let planned = ran(hoptax().args(["study", "firewall-rules", "--dry-run"]).env("PATH", folder.path()));
    planned.fails(3, "`ipset` of the package ipset");
    assert!(planned.stdout.contains("no-rules-again"), "{planned:?}");
}
