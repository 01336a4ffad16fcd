//! `hoptax convert export --to fortio` in the report page of Fortio 1.66. `make fortio-check` installs Fortio and runs this test.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::proxied::get;
use crate::support::{Guarded, TOLERANT, UNHURRIED, origin, root, run, wait_until};

#[test]
#[ignore = "needs Fortio: run `make fortio-check`"]
fn the_report_page_of_fortio_lists_a_result_and_serves_it_to_its_chart() {
    let program = root().join(".tools/bin/fortio");
    assert!(program.exists(), "there is no {}: run `make fortio-check`", program.display());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("load.json").display().to_string();
    let (_origin, url) = origin(&[]);
    let arguments = ["load", "-n", "400", "--warmup", "0s", "--json", &file, &url];
    run(arguments.into_iter().chain(UNHURRIED).chain(TOLERANT)).succeeded();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    let exported = run(["convert", "export", &file, "--to", "fortio"]).stdout;
    fs::write(data.join("ours.json"), &exported).unwrap();
    let log = folder.path().join("log");
    let fortio = Command::new(program)
        .args(["report", "-http-port", "127.0.0.1:0", "-redirect-port", "disabled", "-data-dir"])
        .arg(&data)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&log).unwrap())
        .spawn();
    let _fortio = Guarded(fortio.unwrap());
    wait_until("the address of Fortio", || listens_on(&log).is_some());
    let address = listens_on(&log).unwrap();
    let page = get(address, "/?url=ours.json", &BTreeMap::new());
    assert!(page.contains("200 OK") && page.contains("ours.json"), "{page}");
    let served = get(address, "/data/ours.json", &BTreeMap::new());
    let (_, body) = served.split_once("\r\n\r\n").unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(body).unwrap(),
        serde_json::from_str::<Value>(&exported).unwrap()
    );
}

/// The address in the log of Fortio, when it is there.
fn listens_on(log: &Path) -> Option<SocketAddr> {
    let text = fs::read_to_string(log).unwrap();
    let (_, rest) = text.split_once("report server listening on tcp ")?;
    rest.split_once('"')?.0.parse().ok()
}
