//! Effects of SIGHUP, which comes when the terminal is closed.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::mpsc;

use crate::support::{
    Guarded, Watched, checked, is_alive, name_of, origin, program, server, signal, wait_until,
};

/// A command that becomes another one for which SIGHUP has its usual effect, even if the tests run under `nohup`.
const USUAL: [&str; 2] = ["env", "--default-signal=HUP"];

/// The program behind `words`, a command that becomes it.
fn hoptax_as(words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(program()).env("XDG_STATE_HOME", "/nonexistent");
    command
}

#[test]
fn a_hangup_interrupts_a_load_and_another_one_does_not_cut_its_end_short() {
    // The load waits for responses, and the second signal comes meanwhile.
    let (_origin, url) = origin(&["--default", "delay=1s"]);
    let load = ["-q", "200", "-c", "400", "-d", "1h", "--warmup", "0s", &url];
    let mut load = Watched::start_as(hoptax_as(&USUAL), &load);
    load.wait_for(|line| line["answered"].as_u64() > Some(0));
    load.load.signal("HUP");
    let result = load.interrupt_with("HUP");
    assert_eq!(result["ended_by"], "interrupt");
    assert!(result["book"]["answered"].as_u64() > Some(0));
}

#[test]
fn a_load_under_nohup_outlives_its_terminal() {
    let (_origin, url) = origin(&[]);
    let load = ["-q", "200", "-d", "1h", "--warmup", "0s", &url];
    let mut load = Watched::start_as(hoptax_as(&["nohup"]), &load);
    load.wait_for(|line| line["answered"].as_u64() > Some(0));
    load.load.signal("HUP");
    for _ in 0..10 {
        load.wait_for(|line| line["verdict"].is_null());
    }
    let result = load.interrupt();
    assert!(result["recorded_s"].as_f64() > Some(1.0), "{result:#}");
}

#[test]
fn a_hangup_ends_an_origin_that_has_no_file_to_read_again() {
    let mut command = hoptax_as(&USUAL);
    command.args(["lab", "origin", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut ends = Guarded(command.spawn().unwrap());
    // It listens for signals before it prints its address.
    assert!(ends.0.stdout.as_mut().unwrap().read(&mut [0; 256]).unwrap() > 0);
    ends.signal("HUP");
    assert_eq!(ends.0.wait().unwrap().code(), Some(0));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("default");
    fs::write(&file, "status=200").unwrap();
    let (reads_again, url) = origin(&["--default-file", file.to_str().unwrap()]);
    fs::write(&file, "status=404").unwrap();
    reads_again.signal("HUP");
    wait_until("the new default response", || {
        let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost: origin\r\n\r\n").unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        head == *b"HTTP/1.1 404"
    });
}

/// A server that answers every request, and reports each.
fn reporting() -> (String, mpsc::Receiver<()>) {
    let (report, answered) = mpsc::channel();
    let address = server(move |mut stream| {
        while stream.read(&mut [0; 4096]).is_ok_and(|bytes| bytes > 0) {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
            let _ = report.send(());
        }
    });
    (format!("http://{address}/"), answered)
}

/// A process that is not a child of this one; killed when dropped, so that none is left if the test fails.
struct KillOnDrop(u32);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if name_of(self.0) == "hoptax" && is_alive(self.0) {
            signal(self.0, "KILL");
        }
    }
}

#[test]
fn a_load_whose_terminal_is_closed_keeps_its_result() {
    let (url, answered) = reporting();
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("result.json");
    // `script` runs the load in a terminal, which is closed when it dies.
    let load = format!(
        "exec {} '{}' load -q 200 -c 1 -d 1h --warmup 0s --json '{}' '{url}'",
        USUAL.join(" "),
        program().display(),
        json.display()
    );
    let mut script = Command::new("script");
    script.args(["--quiet", "--command", &load, "/dev/null"]).env("SHELL", "/bin/sh");
    script.env("XDG_STATE_HOME", "/nonexistent");
    let script = script.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut script = Guarded(script.unwrap());
    for _ in 0..20 {
        answered.recv().unwrap();
    }
    let load = script.children().into_iter().find(|child| name_of(*child) == "hoptax");
    let load = KillOnDrop(load.unwrap());
    script.signal("KILL");
    script.0.wait().unwrap();
    wait_until("the end of the load", || !is_alive(load.0));
    let result = checked("load", &fs::read_to_string(json).unwrap());
    assert_eq!(result["ended_by"], "interrupt");
    assert!(result["book"]["answered"].as_u64() > Some(0));
}
