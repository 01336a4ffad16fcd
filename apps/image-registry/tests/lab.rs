//! The program `image-registry-lab`, as `make registry` starts it: it serves a page, and leaves no process behind however it ends.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

/// A lab that runs, with the lines that it printed so far.
struct Lab {
    process: Child,
    address: String,
    children: Vec<u32>,
    _folder: TempDir,
}

impl Lab {
    fn start(mechanism: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_image-registry-lab"))
            .args(["--mechanism", mechanism, "--listen", "127.0.0.1:0", "--folder"])
            .arg(folder.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines().map(Result::unwrap);
        let mut seen = Vec::new();
        let mut lines = lines.by_ref().inspect(|line| seen.push(line.clone()));
        let address = lines.find_map(|line| line.strip_prefix("image registry: http://").map(str::to_owned));
        let is_told = lines.any(|line| line.starts_with("Ctrl-C ends it"));
        assert!(is_told, "{seen:?}");
        let children = children(process.id());
        assert_eq!(children.len(), 2, "the application and Envoy: {seen:?}");
        Self { process, address: address.unwrap(), children, _folder: folder }
    }

    /// The page of the registry.
    fn page(&self) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost: registry\r\nconnection: close\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        page
    }

    /// Ends the lab by a signal, waits until its children have ended, and returns true if it ended well.
    fn end(mut self, signal: &str) -> bool {
        let status = Command::new("kill").args([signal, &self.process.id().to_string()]).status().unwrap();
        assert!(status.success());
        let is_well = self.process.wait().unwrap().success();
        while self.children.iter().any(|child| parent(*child).is_some()) {
            thread::sleep(Duration::from_millis(5));
        }
        is_well
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The parent of a process; none if it has ended.
fn parent(process_id: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process_id}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (state != "Z").then_some(parent)
}

fn children(process_id: u32) -> Vec<u32> {
    let all =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    all.filter(|child| parent(*child) == Some(process_id)).collect()
}

#[test]
fn the_lab_serves_its_page_with_either_mechanism_and_ends_on_ctrl_c() {
    for mechanism in ["wasm", "module"] {
        let lab = Lab::start(mechanism);
        let page = lab.page();
        assert!(page.starts_with("HTTP/1.1 200") && page.contains("<form"), "{mechanism}: {page}");
        assert!(lab.end("-INT"), "{mechanism}");
    }
}

#[test]
fn a_killed_lab_leaves_no_process() {
    let lab = Lab::start("module");
    assert!(!lab.end("-KILL"));
}
