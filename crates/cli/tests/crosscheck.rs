//! hoptax beside other generators, and on its own where there are none.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use support::{Guarded, checked, hoptax, is_alive, origin, ran, run, wait_until};

#[test]
fn a_crosscheck_of_hoptax_alone_finds_it_right() {
    let ran = run([
        "crosscheck",
        "--tools",
        "hoptax",
        "--rounds",
        "1",
        "-s",
        "2",
        "-q",
        "500",
        "--scenarios",
        "delay,freeze",
        "--json",
        "-",
    ]);
    let result = checked("crosscheck", &ran.stdout);
    assert_eq!(result["scenarios"].as_array().unwrap().len(), 2, "{result}");
    let run = &result["scenarios"][0]["tools"][0]["runs"][0];
    assert_eq!(run["connections"], 32, "{result}");
    assert_eq!(run["known"]["p50_us"], 1_000.0);
    let seen = run["seen"]["rate"].as_f64().unwrap();
    assert!((450.0..550.0).contains(&seen), "{seen}");
    // Who stops sending while the server stands still says a twentieth of what is known.
    let freeze = &result["scenarios"][1]["tools"][0]["runs"][0];
    let known_us = freeze["known"]["p99_us"].as_f64().unwrap();
    assert!(known_us > 100_000.0, "{freeze}");
    // A generator that was itself late withholds its report, as on a busy machine.
    if let Some(reported_us) = freeze["reported"]["p99_us"].as_f64() {
        assert!((0.9..1.5).contains(&(reported_us / known_us)), "{freeze}");
    }
    let cpu_us = run["cpu_us_per_request"].as_f64().unwrap();
    assert!(cpu_us > 0.0, "{cpu_us}");
}

#[test]
fn a_server_of_ones_own_is_seen_through_a_relay() {
    let (_origin, url) = origin(&["--default", "delay=2ms"]);
    let ran = run([
        "crosscheck",
        "--tools",
        "hoptax",
        "--rounds",
        "1",
        "-s",
        "2",
        "-q",
        "200",
        "-c",
        "4",
        "--json",
        "-",
        &url,
    ]);
    let result = checked("crosscheck", &ran.stdout);
    let run = &result["scenarios"][0]["tools"][0]["runs"][0];
    assert!(run["seen"]["p50_us"].as_f64().unwrap() >= 2_000.0, "{result}");
    assert!(run["known"].is_null(), "nobody knows what that server plans");
}

#[test]
fn a_second_ctrl_c_ends_a_tool_that_does_not_and_leaves_no_folder_behind() {
    let (tools, temporary) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let wrk = tools.path().join("wrk");
    // It starts something itself, and both are deaf to requests to end.
    let script = "#!/bin/sh\n[ \"$1\" = -v ] && echo 'wrk 4.2.0' && exit 1\ntrap '' TERM\nsleep 1000 &\necho $! $$ > \"$0.ids\"\n\
                  while :; do sleep 0.01; done\n";
    fs::write(&wrk, script).unwrap();
    fs::set_permissions(&wrk, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = hoptax();
    command.args(["crosscheck", "--tools", "wrk", "--closed", "-s", "600", "--scenarios", "plain"]);
    command.arg("--tools-dir").arg(tools.path()).env("TMPDIR", temporary.path());
    let mut running = Guarded(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let mut ids: Vec<u32> = Vec::new();
    wait_until("the tool", || {
        let text = fs::read_to_string(tools.path().join("wrk.ids")).unwrap_or_default();
        ids = text.split_whitespace().filter_map(|id| id.parse().ok()).collect();
        ids.len() == 2
    });
    let folders = || fs::read_dir(temporary.path()).unwrap().flatten().collect::<Vec<_>>();
    let [folder] = &folders()[..] else { panic!("{:?}", folders()) };
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700, "nobody else may enter it");
    running.signal("INT");
    // Two that come at once are one to the kernel.
    std::thread::sleep(std::time::Duration::from_millis(300));
    running.signal("INT");
    assert_eq!(running.0.wait().unwrap().code(), Some(130));
    assert_eq!(folders().len(), 0);
    wait_until("the end of the tool", || ids.iter().all(|id| !is_alive(*id)));
}

#[test]
fn what_cannot_be_crosschecked_is_told() {
    for (flags, code, expected) in [
        (vec!["--tools", "wkr"], 2, "there is no tool `wkr`"),
        (vec!["--tools", "wrk2", "--tools-dir", "/nonexistent"], 3, "make crosscheck-tools"),
        (vec!["--scenarios", "quick"], 2, "there is no scenario `quick`"),
        (vec!["https://127.0.0.1/"], 2, "for `http://` alone"),
        (vec!["http://127.0.0.1:x/"], 2, "not a URL"),
    ] {
        let ran = ran(hoptax().arg("crosscheck").args(&flags).env("PATH", "/nonexistent"));
        assert_eq!(ran.code, Some(code), "{flags:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{flags:?}: {}", ran.stderr);
    }
}

#[test]
fn the_output_of_another_tool_becomes_a_result_that_says_what_it_cannot_know() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wrk.txt");
    let said = "Running 2s test\n    Latency     1.01ms   13.51us   1.52ms   86.68%\n     50%    1.01ms\n     99%    1.05ms\n\
                \n  31456 requests in 2.00s, 4.56MB read\nRequests/sec:  15725.63\n";
    fs::write(&file, said).unwrap();
    let imported = run(["import", "wrk", file.to_str().unwrap(), "--json", "-"]);
    let result = checked("load", &imported.stdout);
    assert_eq!((&result["verdict"], &result["imported"]["tool"]), (&"caution".into(), &"wrk".into()));
    assert_eq!(result["latency"]["service"]["p99_us"], 1_050.0);
    assert!(result["latency"]["response"]["p99_us"].is_null());
    let wrong = run(["import", "fortio", file.to_str().unwrap()]);
    assert!(wrong.code == Some(2) && wrong.stderr.contains("no output of fortio"), "{}", wrong.stderr);
    assert_eq!(run(["import", "wrok", "x"]).code, Some(2));
}

#[test]
fn a_service_that_is_slow_when_crowded_is_tuned_to_its_fast_mode() {
    let (_origin, url) = origin(&["--default", "delay=5ms&crowded=8:50ms"]);
    let ran = run(["tune", "-d", "500ms", "--json", "-", &url]);
    let result = checked("tune", &ran.stdout);
    let rate = result["rate"].as_f64().unwrap();
    // Eight at once, 5 ms each, can be 1,600/s; as fast as possible, 32 of them get 580/s, all slow.
    assert!((100.0..1_700.0).contains(&rate), "{result}");
    let steps = result["steps"].as_array().unwrap();
    assert!(steps[0]["fastest_share"].as_f64().unwrap() < 0.5, "{result}");
    let at_rate = steps.iter().find(|step| step["rate"] == rate).unwrap();
    assert!(at_rate["fastest_share"].as_f64().unwrap() >= 0.95, "{result}");
}
