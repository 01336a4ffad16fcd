//! `hoptax serve` as a process: its address, its token, and its end by a signal. Its answers are tested in `crates/serve`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use hoptax_result::{EndedBy, LoadResult, sample};
use serde_json::{Value, json};

use crate::support::{Guarded, Lab, hoptax, origin, ran, run, serve, wait_until};

#[test]
fn the_history_is_a_page_at_the_printed_address_until_a_signal_ends_the_server() {
    let lab = Lab::new();
    fs::write(lab.path("load.json"), serde_json::to_string(&sample::load()).unwrap()).unwrap();
    let store = lab.file("store.sqlite");
    assert_eq!(run(["runs", "import", "--store", &store, &lab.file("load.json")]).code, Some(0));
    let (mut server, url) = serve(&store, &[]);
    let page = ureq::get(&url).call().unwrap().into_body().read_to_string().unwrap();
    assert!(page.contains("/runs/1") && page.contains("Content-Security-Policy"), "{page}");
    let schema = ureq::get(format!("{url}api/v1/openapi.json")).call().unwrap();
    let schema = schema.into_body().read_to_string().unwrap();
    let served: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let printed: serde_json::Value =
        serde_json::from_str(&run(["generate", "schema", "openapi"]).stdout).unwrap();
    assert_eq!(served, printed);
    server.signal("TERM");
    assert_eq!(server.0.wait().unwrap().code(), Some(0));
}

#[test]
fn a_signal_stops_the_load_that_runs_and_its_result_is_in_the_store() {
    for signal in ["TERM", "INT"] {
        let (_origin, target) = origin(&[]);
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store.sqlite").display().to_string();
        let (mut server, url) = serve(&store, &[]);
        let load = json!({"target": format!("{target}/"), "rate": 200.0, "duration": "1h", "warmup": "0s"});
        let started = ureq::post(format!("{url}api/v1/loads"))
            .header("Content-Type", "application/json")
            .send(load.to_string())
            .unwrap();
        assert_eq!(started.status(), 202);
        wait_until("progress of the load", || {
            let job = ureq::get(format!("{url}api/v1/jobs/1")).call().unwrap();
            let job: Value = serde_json::from_str(&job.into_body().read_to_string().unwrap()).unwrap();
            job["progress"]["rate"].as_f64() > Some(0.0)
        });
        server.signal(signal);
        assert_eq!(server.0.wait().unwrap().code(), Some(0), "{signal}");
        let shown = run(["runs", "show", "1", "--json", "--store", &store]);
        let result: LoadResult = serde_json::from_str(&shown.stdout).unwrap();
        assert_eq!(result.ended_by, EndedBy::Interrupt, "{signal}");
        assert!(result.book.answered > 0, "{signal}: {:?}", result.book);
    }
}

#[test]
fn a_server_that_others_reach_prints_its_token_once_and_answers_nobody_without_it() {
    let lab = Lab::new();
    let mut command = hoptax();
    command.args(["serve", "--listen", "0.0.0.0:0", "--allow-target", "192.0.2.1", "--store"]);
    command.arg(lab.file("store.sqlite")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = Guarded(command.spawn().unwrap());
    let url = server.address();
    let port = url.trim_end_matches('/').rsplit(':').next().unwrap();
    let mut token = String::new();
    BufReader::new(server.0.stderr.take().unwrap()).read_line(&mut token).unwrap();
    let token = token.trim();
    let token = token.strip_prefix("token: ").unwrap_or_else(|| panic!("{token}"));
    let url = format!("http://127.0.0.1:{port}/api/v1/runs");
    let refused = ureq::get(&url).call().unwrap_err().to_string();
    assert!(refused.contains("401"), "{refused}");
    let answer = ureq::get(&url).header("Authorization", format!("Bearer {token}")).call().unwrap();
    assert_eq!(answer.status(), 200);
}

#[test]
fn unsafe_and_impossible_servers_are_refused_with_what_they_lack() {
    let lab = Lab::new();
    fs::write(lab.path("short"), "secret\n").unwrap();
    let store = lab.file("store.sqlite");
    let short = lab.file("short");
    fs::write(lab.path("long"), "x".repeat(4_097)).unwrap();
    let long = lab.file("long");
    fs::write(lab.path("passwd"), "root:x:0:0:root:/root:/bin/sh\n".repeat(100)).unwrap();
    let passwd = lab.file("passwd");
    fs::create_dir(lab.path("folder")).unwrap();
    let folder = lab.file("folder");
    for (arguments, code, why) in [
        (vec!["--listen", "0.0.0.0:0"], 2, "--allow-target"),
        (
            vec!["--token-file", short.as_str()],
            2,
            "has 6 characters, and the minimum is 16; make a new one with",
        ),
        (vec!["--token-file", "/nonexistent"], 2, "`/nonexistent`: there is no such file; make one with"),
        (vec!["--token-file", long.as_str()], 2, "more than 4096 bytes"),
        (vec!["--token-file", "/dev/zero"], 2, "not a regular file"),
        (vec!["--allow-target", "http://shop.test"], 2, "`HOST:PORT`"),
        (vec!["--allow-host", "bench.test:443"], 2, "without a port"),
        (vec!["--store", "/nonexistent/store.sqlite"], 2, "there is no folder `/nonexistent` for the store"),
        (vec!["--store", &passwd], 2, "is not a store of hoptax"),
        (vec!["--store", &folder], 2, "is a folder: name a file, such as `"),
        // Nobody can create a file there.
        (vec!["--store", "/proc/store.sqlite"], 3, "cannot create a file in `/proc`"),
        (
            vec!["--listen", "192.0.2.1:8419", "--allow-target", "192.0.2.1"],
            3,
            "cannot listen on 192.0.2.1:8419",
        ),
    ] {
        let usual: &[&str] = if arguments.contains(&"--store") { &[] } else { &["--store", &store] };
        let refused = ran(hoptax().arg("serve").args(usual).args(&arguments));
        assert_eq!(refused.code, Some(code), "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(why), "{arguments:?}: {}", refused.stderr);
    }
    for refused in ["passwd.lock", "folder.lock"] {
        assert!(!lab.path(refused).exists(), "{refused}");
    }
}

#[test]
fn a_token_that_others_on_the_machine_can_read_is_noted() {
    let lab = Lab::new();
    let (store, token) = (lab.file("store.sqlite"), lab.file("token"));
    for (length, mode, is_noted) in
        [(32, 0o600, false), (4_096, 0o600, false), (32, 0o640, true), (32, 0o604, true)]
    {
        fs::write(&token, "x".repeat(length)).unwrap();
        fs::set_permissions(&token, fs::Permissions::from_mode(mode)).unwrap();
        let mut serve = hoptax();
        serve.args(["serve", "--store", &store, "--token-file", &token]);
        // An address that cannot be listened on ends it.
        serve.args(["--listen", "192.0.2.1:8419", "--allow-target", "192.0.2.1"]);
        let ended = ran(&mut serve);
        assert_eq!(ended.code, Some(3), "{}", ended.stderr);
        assert_eq!(ended.stderr.contains("chmod 600"), is_noted, "{mode:o}: {}", ended.stderr);
        assert!(!ended.stderr.contains("xxxx"), "{}", ended.stderr);
    }
}
