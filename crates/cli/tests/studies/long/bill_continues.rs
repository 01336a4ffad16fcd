//! A bill of two parts that is interrupted in its second study, and continued.
//!
//! `make test` guards it by other tests: a bill in its files, without its secrets (`price_secrets.rs`), and studies that are killed and
//! resumed (`resume.rs`).

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::price_secrets::{OWN, TOLERANT, configuration, holds_no_secret, with};
use crate::support::{Guarded, Ran, checked, hoptax, ran};

/// Runs of a bill of which one must have a second study: other work on the machine can spoil the numbers of the first.
const ATTEMPTS: usize = 3;
/// Runs the command, and interrupts it when `is_due`. Returns its stderr.
fn interrupted(mut command: Command, log: &Path, is_due: impl Fn() -> bool) -> Ran {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(fs::File::create(log).unwrap());
    let mut running = Guarded(command.spawn().unwrap());
    while running.0.try_wait().unwrap().is_none() && !is_due() {
        thread::sleep(Duration::from_millis(1));
    }
    if running.0.try_wait().unwrap().is_none() {
        running.signal("INT");
    }
    let code = running.0.wait().unwrap().code();
    Ran { code, stdout: String::new(), stderr: fs::read_to_string(log).unwrap() }
}

fn bill_in(out: &Path) -> Value {
    checked("bill", &fs::read_to_string(out.join("bill.json")).unwrap())
}

/// Returns the part of the bill from its first study. The servers that stand in for the user's have other ports each time.
fn by_first_study(mut bill: Value) -> Value {
    for name in ["second_study", "replacements"] {
        bill.as_object_mut().unwrap().remove(name).unwrap();
    }
    bill
}

/// The bill has two parts, of which one calculates for each request that the other passes on, so a second study measures both again.
#[test]
#[ignore = "takes minutes: run by `make test-long`"]
fn a_bill_continues_in_its_second_study_and_writes_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let config = configuration(folder.path());
    let header = format!("x-session-token: {OWN}");
    let bill = |flag: &str, out: &Path| {
        let mut command = hoptax();
        command.args(["price", &config, "--without", "jwt", "--without", "script", "--rounds", "2"]);
        command.args(TOLERANT.iter().flat_map(|threshold| ["--threshold", *threshold]));
        command.args(["--header", &header, flag]).arg(out);
        command
    };
    let log = folder.path().join("log");
    let says = |text: &str| fs::read_to_string(&log).is_ok_and(|log| log.contains(text));

    // Between the last try and the first study, nothing runs that the interrupt could end.
    let out = folder.path().join("tried");
    let tried = interrupted(bill("--out", &out), &log, || says("Activity of the parts"));
    assert_eq!(tried.code, Some(130), "{}", tried.stderr);
    assert!(!out.join("rounds/0.json").exists() && !out.join("bill.json").exists(), "{}", tried.stderr);

    let stopped = |attempt: usize| {
        let out = folder.path().join(attempt.to_string());
        let has_second_round = || out.join("second-study/rounds/0.json").exists();
        let stopped = interrupted(bill("--out", &out), &log, has_second_round);
        (stopped, out.clone())
    };
    let mut attempts = (0..ATTEMPTS).map(stopped);
    let (stopped, out) = attempts.find(|(ran, _)| ran.code == Some(130)).expect("a second study");
    let continues = format!(" --resume {}` continues it", out.display());
    for text in ["the parts do not add up", "the bill of the first study is in", &continues] {
        assert!(stopped.stderr.contains(text), "{text}: {}", stopped.stderr);
    }
    let first = bill_in(&out);
    assert_eq!((first["parts"].as_array().unwrap().len(), &first["second_study"]), (2, &Value::Null));
    assert!(out.join("bill.html").exists());

    let resumed = ran(&mut bill("--resume", &out));
    assert!(matches!(resumed.code, Some(0 | 4)), "{}", resumed.stderr);
    assert!(resumed.stderr.contains("the study is complete with 2 rounds"), "{}", resumed.stderr);
    assert!(resumed.stderr.contains("resumed after round 1"), "{}", resumed.stderr);
    let whole = bill_in(&out);
    assert_eq!((&whole["second_study"]["rounds"], &whole["second_study"]["pairs"]), (&json!(2), &json!([])));
    assert_eq!(by_first_study(whole.clone()), by_first_study(first));
    // Removing either part saves the calculation.
    let interaction_us = whole["sum"]["interaction_us"]["estimate"].as_f64();
    assert!(interaction_us > Some(50.0), "{whole:#}");
    assert_eq!(whole["parts"][0]["activity"]["state"], "exercised", "{whole}");

    for ran in [&stopped, &resumed] {
        holds_no_secret(ran, &out);
        assert!(!ran.stdout.contains(OWN) && !ran.stderr.contains(OWN), "{}\n{}", ran.stdout, ran.stderr);
    }
    // A header that is sent again with --resume is kept, for its owner only.
    let kept = with(&out, OWN);
    let names: BTreeSet<_> =
        kept.iter().map(|path| path.strip_prefix(&out).unwrap().to_str().unwrap()).collect();
    assert_eq!(names, BTreeSet::from(["second-study/study.yaml", "study.yaml"]));
    for path in &kept {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600, "{}", path.display());
    }
}
