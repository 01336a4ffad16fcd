//! `hoptax price` on real Envoy: tokens, interrupts, and secrets of a configuration and of its user, which must not be anywhere afterwards.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::compare::DELAY;
use crate::support::{Ran, checked, hoptax, ran, root, run};

/// Text in every secret of the configuration.
const MARK: &str = "hunter2";
/// The user's own header, which the user has sent.
pub(crate) const OWN: &str = "own-credential-of-the-user-77";

/// The configuration with the files that it names.
pub(crate) fn configuration(folder: &Path) -> String {
    let path = folder.join("envoy.yaml");
    fs::copy(root().join("crates/cli/tests/fixtures/secrets.yaml"), &path).unwrap();
    fs::copy(root().join("filters/hoptax_filters.wasm"), folder.join("hoptax_filters.wasm")).unwrap();
    let script = format!("local password = \"{MARK}-file\"\nfunction envoy_on_request(handle) end\n");
    fs::write(folder.join("script.lua"), script).unwrap();
    path.to_str().unwrap().to_owned()
}

/// All files in a folder and below it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

/// The files that hold a text. Sockets are left out. The folders have filters of WebAssembly, which a test without optimization searches
/// slowly.
pub(crate) fn with(folder: &Path, text: &str) -> Vec<PathBuf> {
    let mut grep = Command::new("grep");
    grep.args(["--recursive", "--files-with-matches", "--fixed-strings", "--regexp", text]).arg(folder);
    let ran = ran(grep.env("LC_ALL", "C"));
    assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
    ran.stdout.lines().map(PathBuf::from).collect()
}

pub(crate) fn holds_no_secret(ran: &Ran, out: &Path) {
    assert!(!ran.stdout.contains(MARK) && !ran.stderr.contains(MARK), "{}\n{}", ran.stdout, ran.stderr);
    assert!(files(out).len() > 10, "{:?}", files(out));
    assert_eq!(with(out, MARK), Vec::<PathBuf>::new());
    let encoded = "aHVudGVyM";
    assert_eq!(with(out, encoded), Vec::<PathBuf>::new());
}

#[test]
fn a_required_token_is_presented_and_without_it_the_filter_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let config = configuration(folder.path());
    assert!(fs::read_to_string(&config).unwrap().matches(MARK).count() > 15, "the fixture has secrets");
    let out = folder.path().join("out");
    let tried = |more: &[&str]| {
        let fixed = ["price", &config, "--try", "--out", out.to_str().unwrap()];
        run(fixed.into_iter().chain(more.iter().copied()))
    };
    // Each arm compiles the filter of WebAssembly. These parts have secrets, or are asserted below.
    let parts = ["jwt", "script", "code", "from-file", "inspector"];
    let ran = tried(&parts.map(|part| ["--without", part]).concat()).succeeded();
    let line = |text: &str, name: &str| {
        let found = text.lines().rfind(|line| line.contains(name));
        found.map_or_else(|| panic!("no {name} in:\n{text}"), str::to_owned)
    };
    assert!(line(&ran.stdout, "  whole  ").ends_with("10 of status 200"), "{}", ran.stdout);
    assert!(ran.stdout.contains("(ECDSA P-256; symmetric, 7 bytes)"), "{}", ran.stdout);
    let activity = ran.stdout.split_once("Activity of the parts").unwrap().1;
    assert!(line(activity, "  jwt  ").contains("jwt_authn.allowed +10"), "{activity}");
    assert!(line(activity, "  inspector  ").contains("http_inspector.http11_found +"), "{activity}");
    assert!(line(activity, "  code  ").contains("no statistic of its own; exercised by"), "{activity}");
    holds_no_secret(&ran, &out);
    let refused = tried(&["--without", "jwt", "--header", "authorization: Bearer none"]);
    assert!(line(&refused.stdout, "  whole  ").ends_with("10 of status 401"), "{}", refused.stdout);
}

/// Thresholds that other work on the machine does not exceed: the properties under test show in spite of it.
pub(crate) const TOLERANT: [&str; 7] = [
    "interval-fail-share=1e9",
    "unequally-busy-fail=99",
    "set-aside-fail=99",
    "same-cost-fail-share=1e9",
    "steal-fail=99",
    "run-delay-fail=99",
    "delayed-slices-fail=99",
];

/// The bill of one part: its files and its pages hold no secret, its first screen has the part, and its result names it.
#[test]
fn a_bill_is_in_its_files_and_on_the_first_screen_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let config = configuration(folder.path());
    // Requests that wait leave the processors to other tests: no cost is read.
    let first = "                  - name: jwt\n";
    let delayed = fs::read_to_string(&config).unwrap().replacen(first, &format!("{DELAY}{first}"), 1);
    assert!(delayed.contains(DELAY));
    fs::write(&config, delayed).unwrap();
    let out = folder.path().join("out");
    let mut command = hoptax();
    command.args(["price", &config, "--without", "script", "--rounds", "2", "--json", "bill.json"]);
    command.args(TOLERANT.iter().flat_map(|threshold| ["--threshold", *threshold]));
    command.args(["--header", &format!("x-session-token: {OWN}"), "--out"]).arg(&out);
    let ran = ran(command.current_dir(folder.path()));
    assert!(matches!(ran.code, Some(0 | 4)), "{}", ran.stderr);
    assert!(!ran.stderr.contains("chosen for this machine"), "the user chose the rounds: {}", ran.stderr);
    let text = fs::read_to_string(folder.path().join("bill.json")).unwrap();
    let bill = checked("bill", &text);
    assert_eq!(
        bill,
        serde_json::from_str::<Value>(&fs::read_to_string(out.join("bill.json")).unwrap()).unwrap()
    );
    let parts = bill["parts"].as_array().unwrap();
    assert_eq!((parts.len(), &parts[0]["name"], &bill["second_study"]), (1, &json!("script"), &Value::Null));
    assert!(ran.stdout.contains("script"), "{}", ran.stdout);
    // The page has a script of its own, but no other part.
    for (page, part) in [("bill.html", "\"name\":\"script\""), ("bill.md", "script")] {
        assert!(fs::read_to_string(out.join(page)).unwrap().contains(part), "{page}");
    }
    holds_no_secret(&ran, &out);
    assert!(!ran.stdout.contains(OWN) && !ran.stderr.contains(OWN), "{}\n{}", ran.stdout, ran.stderr);
    // A header that is sent again with --resume is kept, for its owner only.
    let kept = with(&out, OWN);
    let names: Vec<_> = kept.iter().map(|path| path.strip_prefix(&out).unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["study.yaml"]);
    assert_eq!(fs::metadata(&kept[0]).unwrap().permissions().mode() & 0o777, 0o600);
}
