//! `hoptax listeners check` on real Envoy: what is rendered keeps the promises of its file, and each promise that a changed configuration
//! breaks is named.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use hoptax_subject::envoy::release::Envoy;
use serde_json::Value;

use crate::support::{Ran, run};

const FILE: &str = "\
listeners:
  - {name: plain, port: 6001, timeout: 1s, upstream: {address: plain.example, port: 80}}
  - name: tried
    port: 6002
    timeout: 1500ms
    upstream: {address: tried.example, port: 80}
    retry: {retry_on: 5xx, num_retries: 2, retry_back_off: {base_interval: 1ms}}
  - name: named
    port: 6003
    timeout: 300ms
    xfp: https
    sets_sni: true
    upstream: {address: named.example, port: 443, encryption: true}
    splits:
      - {name: tests, host_regex: '(www\\.)?test[0-9]*\\.example', upstream: {address: tests.example, port: 80}}
  - name: divided
    port: 6004
    timeout: 300ms
    http_host: divided.example
    upstream: {address: 192.0.2.1, port: 80}
    split: {percentage: 20, upstream: {address: south.example, port: 443, encryption: true}}
  - {name: slow, port: 6005, timeout: 600s, upstream: {address: slow.example, port: 80}}
  - name: edge
    port: 6006
    listen: 0.0.0.0
    timeout: 300ms
    tls: {certificate: /absent/edge.pem, key: /absent/edge.key, client_ca: /absent/ca.pem}
    routes:
      - {hosts: ['*.shop.example'], prefix: /cart, upstream: {address: cart.example, port: 80}}
      - {upstream: {address: rest.example, port: 80}}
";

/// A folder with a listeners file, and with programs that change Envoy's configuration before they run Envoy.
struct Lab {
    folder: tempfile::TempDir,
    envoy: Envoy,
}

impl Lab {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), envoy: Envoy::find(None, &mut |_| {}).unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, text: &str) -> String {
        let path = self.path("listeners.yaml");
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// A program that runs Envoy on its configuration as `sed` changes it.
    fn sabotaged(&self, edit: &str) -> String {
        let path = self.path("envoy");
        let script = format!(
            "#!/bin/sh\nfor one in \"$@\"; do\n  case \"$one\" in */bootstrap.json) sed -i '{edit}' \"$one\";; esac\ndone\nexec '{}' \"$@\"\n",
            self.envoy.program.display()
        );
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }
}

/// The promises that have an outcome: their listener and what they are about.
fn promises(ran: &Ran, outcome: &str) -> Vec<(String, String)> {
    let result: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let listeners = result["listeners"].as_array().unwrap();
    let of = |listener: &Value| {
        let name = listener["name"].as_str().unwrap().to_owned();
        let all = listener["promises"].as_array().unwrap().clone();
        let chosen = all.into_iter().filter(|promise| promise["outcome"] == outcome);
        chosen
            .map(|promise| (name.clone(), promise["about"].as_str().unwrap().to_owned()))
            .collect::<Vec<_>>()
    };
    listeners.iter().flat_map(of).collect()
}

#[test]
fn what_is_rendered_keeps_the_promises_of_its_file() {
    let lab = Lab::new();
    let ran = run(["listeners", "check", &lab.file(FILE), "--json", "-"]);
    assert_eq!((ran.code, promises(&ran, "broken")), (Some(0), Vec::new()), "{ran:?}");
    let untried = [("slow".to_owned(), "timeout".to_owned())];
    assert_eq!(promises(&ran, "untried"), untried, "{ran:?}");
    // Nine routes, two of them to encrypted upstreams, less the timeout.
    assert_eq!(promises(&ran, "kept").len(), 9 * 3 + 2 - 1, "{ran:?}");
}

#[test]
fn each_promise_that_a_configuration_breaks_is_named() {
    let lab = Lab::new();
    let file = lab.file(FILE);
    let cases = [
        ("s/\"timeout\": \"1s\"/\"timeout\": \"2s\"/", "plain", "timeout"),
        ("s/\"timeout\": \"1s\"/\"timeout\": \"0.8s\"/", "plain", "timeout"),
        ("s/\"num_retries\": 2/\"num_retries\": 3/", "tried", "tries"),
        ("s/\"num_retries\": 2/\"num_retries\": 1/", "tried", "tries"),
        ("s/\"sni\": \"named.example\"/\"sni\": \"other.example\"/", "named", "arrival"),
        ("s/\"auto_host_rewrite\": true/\"auto_host_rewrite\": false/", "named", "arrival"),
        ("s/\"value\": \"https\"/\"value\": \"http\"/", "named", "arrival"),
        ("s/\"exact\": \"named.example\"/\"contains\": \".\"/", "named", "certificate"),
        (
            "s/\"host_rewrite_literal\": \"divided.example\"/\"auto_host_rewrite\": true/",
            "divided",
            "arrival",
        ),
        ("s/\"prefix\": \"\\/cart\"/\"prefix\": \"\\/other\"/", "edge", "arrival"),
    ];
    for (edit, listener, about) in cases {
        let ran = run(["listeners", "check", &file, "--envoy", &lab.sabotaged(edit), "--json", "-"]);
        let broken = promises(&ran, "broken");
        assert_eq!(ran.code, Some(1), "{edit}: {ran:?}");
        assert!(broken.contains(&(listener.to_owned(), about.to_owned())), "{edit}: {broken:?}\n{ran:?}");
        assert!(broken.iter().all(|(name, _)| name == listener), "{edit}: {broken:?}");
    }
}

#[test]
fn the_first_screen_names_the_promise_and_a_wrong_file_or_a_missing_envoy_has_its_code() {
    let lab = Lab::new();
    let text =
        "listeners: [{name: a, port: 6001, timeout: 500ms, upstream: {address: a.example, port: 80}}]\n";
    let file = lab.file(text);
    let ran = run(["listeners", "check", &file]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("1 listener keeps 3 promises"), "{ran:?}");
    let late = lab.sabotaged("s/\"timeout\": \"0.5s\"/\"timeout\": \"1.5s\"/");
    let ran = run(["listeners", "check", &file, "--envoy", &late]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("Listener `a` breaks its timeout: a request ends after 0.5s"), "{ran:?}");
    let refused = lab.sabotaged("s/\"timeout\": \"0.5s\"/\"timeout\": \"never\"/");
    let ran = run(["listeners", "check", &file, "--envoy", &refused]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("refuses what the file becomes"), "{ran:?}");
    let ran = run(["listeners", "check", &file, "--envoy", "/absent/envoy"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let ran = run(["listeners", "check", &lab.file(&text.replace("timeout", "tiemout"))]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("did you mean `timeout`?"), "{ran:?}");
}
