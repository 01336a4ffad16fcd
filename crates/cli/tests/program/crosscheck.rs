//! `hoptax trust crosscheck` and `hoptax convert import`, with hoptax alone or with fake tools.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::support::{Guarded, checked, hoptax, install, is_alive, origin, ran, run, wait_until};

#[test]
fn a_crosscheck_of_hoptax_alone_agrees_with_the_server() {
    let words = "trust crosscheck --tools hoptax --rounds 1 -s 2 -q 500 --scenarios delay,freeze --json -";
    let ran = run(words.split(' '));
    let result = checked("crosscheck", &ran.stdout);
    assert_eq!(result["scenarios"].as_array().unwrap().len(), 2, "{result}");
    let run = &result["scenarios"][0]["tools"][0]["runs"][0];
    assert_eq!(run["connections"], 32, "{result}");
    assert_eq!(run["known"]["p50_us"], 1_000.0);
    let seen = run["seen"]["rate"].as_f64().unwrap();
    assert!((450.0..550.0).contains(&seen), "{seen}");
    // A generator that stops sending during the freeze would report a twentieth of the known value.
    let freeze = &result["scenarios"][1]["tools"][0]["runs"][0];
    let known_us = freeze["known"]["p99_us"].as_f64().unwrap();
    assert!(known_us > 100_000.0, "{freeze}");
    // On a busy machine, a late generator withholds its report.
    if let Some(reported_us) = freeze["reported"]["p99_us"].as_f64() {
        assert!((0.9..1.5).contains(&(reported_us / known_us)), "{freeze}");
    }
    let cpu_us = run["cpu_us_per_request"].as_f64().unwrap();
    assert!(cpu_us > 0.0, "{cpu_us}");
}

#[test]
fn a_given_server_is_observed_through_a_relay() {
    let (_origin, url) = origin(&["--default", "delay=2ms"]);
    let words = "trust crosscheck --tools hoptax --rounds 1 -s 2 -q 200 -c 4 --json -";
    let ran = run(words.split(' ').chain([url.as_str()]));
    let result = checked("crosscheck", &ran.stdout);
    let run = &result["scenarios"][0]["tools"][0]["runs"][0];
    assert!(run["seen"]["p50_us"].as_f64().unwrap() >= 2_000.0, "{result}");
    assert!(run["known"].is_null(), "nobody knows what that server plans");
}

#[test]
fn a_second_ctrl_c_kills_a_tool_that_ignores_the_first_and_removes_the_folder() {
    let (tools, temporary) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let wrk = tools.path().join("wrk");
    // The tool starts a child, and both ignore SIGINT and SIGTERM.
    let script = "[ \"$1\" = -v ] && echo 'wrk 4.2.0' && exit 1\ntrap '' TERM\nsleep 1000 &\necho $! $$ > \"$0.ids\"\n\
                  while :; do sleep 0.01; done";
    install(&wrk, script);
    let mut command = hoptax();
    command.args(["trust", "crosscheck", "--tools", "wrk", "--closed", "-s", "600", "--scenarios", "plain"]);
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
    // The kernel merges two pending signals into one.
    std::thread::sleep(std::time::Duration::from_millis(300));
    running.signal("INT");
    assert_eq!(running.0.wait().unwrap().code(), Some(130));
    assert_eq!(folders().len(), 0);
    wait_until("the end of the tool", || ids.iter().all(|id| !is_alive(*id)));
}

#[test]
fn invalid_arguments_of_a_crosscheck_are_rejected() {
    for (flags, code, expected) in [
        (vec!["--tools", "wkr"], 2, "unknown tool `wkr`"),
        (vec!["--tools", "wrk2", "--tools-dir", "/nonexistent"], 3, "make crosscheck-tools"),
        (vec!["--scenarios", "quick"], 2, "unknown scenario `quick`"),
        (vec!["https://127.0.0.1/"], 2, "only `http://`"),
        (vec!["http://127.0.0.1:x/"], 2, "not a URL"),
    ] {
        let ran = ran(hoptax().args(["trust", "crosscheck"]).args(&flags).env("PATH", "/nonexistent"));
        assert_eq!(ran.code, Some(code), "{flags:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{flags:?}: {}", ran.stderr);
    }
}

#[test]
fn an_imported_result_states_what_the_tool_does_not_report() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wrk.txt");
    let output = "Running 2s test\n    Latency     1.01ms   13.51us   1.52ms   86.68%\n     50%    1.01ms\n     99%    1.05ms\n\
                \n  31456 requests in 2.00s, 4.56MB read\nRequests/sec:  15725.63\n";
    fs::write(&file, output).unwrap();
    let imported = run(["convert", "import", "wrk", file.to_str().unwrap(), "--json", "-"]);
    let result = checked("load", &imported.stdout);
    assert_eq!((&result["verdict"], &result["imported"]["tool"]), (&"caution".into(), &"wrk".into()));
    assert_eq!(result["latency"]["service"]["p99_us"], 1_050.0);
    assert!(result["latency"]["response"]["p99_us"].is_null());
    run(["convert", "import", "fortio", file.to_str().unwrap()])
        .fails(2, "cannot be read as output of fortio");
    assert_eq!(run(["convert", "import", "wrok", "x"]).code, Some(2));
}
