//! Loads that are disturbed on purpose: the check for each disturbance must fire.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::thread;
use std::time::Duration;

use hoptax_result::CalibrationResult;
use serde_json::Value;
use support::{Guarded, checked, hoptax, origin, ran, run, signal};

/// Held by every test, and exclusively by the one that keeps all processors busy.
static PROCESSORS: RwLock<()> = RwLock::new(());

/// The right to use the processors beside other tests: they wait for most of the time.
fn beside() -> RwLockReadGuard<'static, ()> {
    PROCESSORS.read().unwrap_or_else(PoisonError::into_inner)
}

/// The checks that fired and their severities, for a load with these arguments on an origin with this default response.
fn fired(default: &str, flags: &[&str]) -> (Vec<(String, String)>, Value) {
    let (_origin, url) = origin(&["--default", default]);
    let ran = ran(hoptax().arg("load").args(flags).args(["--json", "-", &url]));
    assert!(!ran.stdout.is_empty(), "{:?}: {}", ran.code, ran.stderr);
    findings(&ran.stdout)
}

fn findings(json: &str) -> (Vec<(String, String)>, Value) {
    let result = checked("load", json);
    let word = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
    let found = result["findings"].as_array().unwrap().iter();
    (found.map(|one| (word(one, "id"), word(one, "severity"))).collect(), result)
}

#[track_caller]
fn has(found: &[(String, String)], id: &str) {
    assert!(found.iter().any(|(fired, _)| fired == id), "`{id}` did not fire: {found:?}");
}

/// Starts a load in the background, disturbs it, and returns the checks that fired.
fn disturbed(flags: &[&str], url: &str, disturb: impl FnOnce(u32)) -> (Vec<(String, String)>, Value) {
    let mut command = hoptax();
    command.arg("load").args(flags).args(["--json", "-", url]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = Guarded(command.stderr(Stdio::null()).spawn().unwrap());
    disturb(child.0.id());
    let mut json = String::new();
    std::io::Read::read_to_string(&mut child.0.stdout.take().unwrap(), &mut json).unwrap();
    findings(&json)
}

#[test]
fn a_stopped_generator_is_detected() {
    let _beside = beside();
    let (_origin, url) = origin(&[]);
    let flags = ["-q", "1000", "-d", "2s", "--warmup", "0s", "-c", "8"];
    let (found, result) = disturbed(&flags, &url, |id| {
        thread::sleep(Duration::from_millis(800));
        signal(id, "STOP");
        thread::sleep(Duration::from_millis(500));
        signal(id, "CONT");
    });
    has(&found, "send-lag");
    has(&found, "load-constant");
    // Counts and rates are true however late the requests were, and times are within bounds: every request waited for at most 500 ms and
    // a little, and the origin answers in less than that.
    assert_eq!((&result["verdict"], result["rate"]["achieved"].is_f64()), (&"caution".into(), true));
    assert!(result["latency"]["response"]["p99_us"].is_null());
    let (low_us, high_us) = (
        result["bounds"]["response"]["p90_us"]["low_us"].as_f64().unwrap(),
        result["bounds"]["response"]["p90_us"]["high_us"].as_f64(),
    );
    assert!(low_us < 250_000.0 && high_us.is_none_or(|high_us| high_us > 250_000.0), "{low_us} {high_us:?}");
    // Late requests then waited for connections; the pool must not be blamed for that.
    for id in ["send-lag", "load-constant"] {
        assert!(found.contains(&(id.to_owned(), "fail".to_owned())), "{id}: {found:?}");
    }
}

#[test]
fn a_hog_on_the_generators_core_is_detected() {
    let _alone = PROCESSORS.write().unwrap_or_else(PoisonError::into_inner);
    let (_origin, url) = origin(&[]);
    let processors = thread::available_parallelism().unwrap().get();
    let hog = || Guarded(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap());
    let hogs: Vec<Guarded> = (0..processors * 3).map(|_| hog()).collect();
    // A closed loop: the scheduler prefers a generator that mostly sleeps to a hog.
    let (found, _) = disturbed(&["-d", "1s", "--warmup", "200ms", "-c", "8"], &url, |_| {});
    drop(hogs);
    has(&found, "run-delay");
}

#[test]
fn timers_with_millisecond_resolution_are_detected() {
    let _beside = beside();
    let (_origin, url) = origin(&[]);
    let mut was_set = false;
    let flags = ["-q", "500", "-d", "2s", "--warmup", "500ms", "-c", "8"];
    let (found, _) = disturbed(&flags, &url, |id| {
        thread::sleep(Duration::from_millis(300));
        for task in fs::read_dir(format!("/proc/{id}/task")).unwrap().flatten() {
            let task = task.file_name().into_string().unwrap();
            let file = fs::OpenOptions::new().write(true).open(format!("/proc/{task}/timerslack_ns"));
            was_set |= file.and_then(|mut file| file.write_all(b"1000000")).is_ok();
        }
    });
    // Setting the timer slack of another process requires the privilege to change its priority.
    if was_set {
        has(&found, "send-lag");
    } else {
        eprintln!("this user may not change timers: nothing was disturbed");
    }
}

#[test]
fn a_freeze_of_the_server_is_in_the_response_times() {
    let _beside = beside();
    let flags = ["-q", "500", "-d", "3s", "--warmup", "0s", "-c", "8"];
    let (found, result) = fired("service=200us&freeze=1s@1s", &flags);
    has(&found, "connections-busy");
    has(&found, "load-constant");
    has(&found, "correlated-samples");
    // A third of the requests arrived during the freeze or before the server had caught up; their wait is recorded.
    let windows = result["windows"].as_array().unwrap().iter();
    let slow = windows.filter(|window| window["median_response_us"].as_f64().unwrap() > 300_000.0).count();
    assert!((15..=40).contains(&slow), "{slow} of 100");
}

#[test]
fn a_freeze_until_the_end_makes_quantiles_lower_bounds() {
    let _beside = beside();
    let flags = "-q 500 -d 2s --warmup 0s -c 1024 --timeout 300ms --max-error-share 1";
    let flags: Vec<&str> = flags.split(' ').collect();
    let (found, result) = fired("service=200us&freeze=9s@1s", &flags);
    has(&found, "unfinished");
    let response = &result["latency"]["response"];
    let bound_us = response["at_least"]["p99_us"].as_f64();
    // On a busy machine, other checks may also withhold the bound.
    let is_bound = bound_us.map_or(result["verdict"] == "void", |bound_us| bound_us > 200_000.0);
    assert!(response["p99_us"].is_null() && is_bound, "{result}");
    // The table shows it as a bound.
    let (_origin, url) = origin(&["--default", "service=200us&freeze=9s@1s"]);
    let ran = ran(hoptax().arg("load").args(flags).arg(&url));
    assert!(
        ran.stdout.contains("≥ ") || ran.code == Some(4),
        "{:?}: {} {}",
        ran.code,
        ran.stdout,
        ran.stderr
    );
}

#[test]
fn a_rate_above_the_servers_capacity_is_detected() {
    let _beside = beside();
    let (found, result) = fired("service=10ms", &["-q", "500", "-d", "1s", "--warmup", "0s", "-c", "4"]);
    has(&found, "offered");
    has(&found, "connections-busy");
    // 4 connections carry 400 requests per second, and the others of the plan would have waited ever longer.
    assert_eq!((&result["verdict"], result["rate"]["achieved"].is_f64()), (&"caution".into(), true));
    let p50 = &result["bounds"]["response"]["p50_us"];
    assert!(result["latency"]["response"]["p50_us"].is_null() && p50["high_us"].is_null(), "{p50}");
}

#[test]
fn requests_that_may_not_wait_are_skipped_with_a_caution() {
    let _beside = beside();
    let flags = ["-q", "500", "-d", "1s", "--warmup", "0s", "-c", "4", "--when-busy", "skip"];
    let (found, result) = fired("delay=20ms", &flags);
    assert!(found.contains(&("offered".to_owned(), "warn".to_owned())), "{found:?}");
    assert!(result["unsent"]["busy"].as_u64().unwrap() > 100);
}

#[test]
fn a_run_that_is_too_short_is_detected() {
    let _beside = beside();
    let (found, result) = fired("delay=1ms", &["-q", "100", "-d", "500ms", "--warmup", "0s"]);
    has(&found, "too-few-samples");
    assert!(result["latency"]["response"]["p50_us"].is_null());
}

#[test]
fn a_response_of_the_wrong_size_or_without_its_header_fails() {
    let _beside = beside();
    let (found, _) = fired("size=10", &["-q", "200", "-d", "500ms", "--warmup", "0s", "--expect", "size=11"]);
    has(&found, "wrong-answers");
    let (found, _) =
        fired("size=10", &["-q", "200", "-d", "500ms", "--warmup", "0s", "--expect", "header=x-served-by"]);
    has(&found, "wrong-answers");
    let (found, _) = fired(
        "header=X-Served-By:origin",
        &["-q", "200", "-d", "500ms", "--warmup", "0s", "--expect", "header=x-served-by"],
    );
    assert!(!found.iter().any(|(id, _)| id == "wrong-answers"), "{found:?}");
}

#[test]
fn a_tenth_of_the_responses_at_forty_milliseconds_is_detected() {
    let _beside = beside();
    let (found, _) = fired("delay=1ms:90,40ms:10", &["-q", "1000", "-d", "2s", "-c", "64"]);
    has(&found, "delayed-acknowledgement");
}

#[test]
fn requests_that_queue_behind_each_other_are_detected() {
    let _beside = beside();
    let (found, _) =
        fired("service=exp:1ms", &["-q", "800", "-d", "2s", "-c", "64", "--arrivals", "poisson"]);
    has(&found, "correlated-samples");
}

#[test]
fn a_calibration_with_a_high_floor_and_a_low_ceiling_is_respected() {
    let _beside = beside();
    let (_origin, url) = origin(&["--default", "delay=1ms"]);
    let here =
        ran(hoptax().args(["load", "-q", "200", "-d", "300ms", "--warmup", "0s", "--json", "-", &url]));
    let here = checked("load", &here.stdout);
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("hoptax");
    fs::create_dir(&kept).unwrap();
    let calibration = serde_json::json!({
        "format": CalibrationResult::FORMAT,
        "program": here["program"],
        "verdict": "sound",
        "findings": [],
        "floor": { "min_us": 500.0, "p50_us": 900.0, "p99_us": 1_000.0 },
        "floors": [{ "rate": 500.0, "connections": 64, "p50_us": 900.0, "p99_us": 1_000.0 }],
        "recorder": { "values": 1, "most_above_share": 0.0, "most_below_share": 0.0, "merges_exactly": true },
        "experiments": [],
        "ceiling": { "rate": 250.0, "send_lag_p99_us": 50.0 },
        "environment": here["environment"],
    });
    fs::write(kept.join("calibration.json"), calibration.to_string()).unwrap();
    let ran = ran(hoptax()
        .env("XDG_STATE_HOME", folder.path())
        .args(["load", "-q", "500", "-d", "1s", "--warmup", "0s", "--json", "-", &url]));
    let (found, result) = findings(&ran.stdout);
    has(&found, "floor");
    has(&found, "ceiling");
    assert_eq!(result["environment"]["calibration"]["floor_p50_us"], 900.0);
}

#[test]
fn a_threshold_that_was_loosened_is_printed_with_the_verdict() {
    let _beside = beside();
    let (_origin, url) = origin(&[]);
    let flags =
        ["load", "-q", "100", "-d", "300ms", "--threshold", "steal=0.9", "--threshold", "drift-share=0.001"];
    let ran = ran(hoptax().args(flags).arg(&url));
    assert!(ran.stdout.contains("with a loosened threshold: steal 0.9 instead of 0.005"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("loosened threshold: drift"), "{}", ran.stdout);
    run(["load", "-q", "100", "--threshold", "speed=1", &url]).fails(2, "no threshold `speed`");
}
