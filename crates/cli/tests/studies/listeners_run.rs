//! `hoptax listeners run` on real Envoy: no request is lost over restarts, broken files and killed Envoys, and no process is left.

use std::collections::BTreeSet;
use std::fs;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Guarded, Ran, Watched, checked, hoptax, origin, run, signal, wait_at_pace, wait_until};

/// A port of loopback that is free for TCP and UDP, and that no other test of this program was given.
pub(crate) fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        if UdpSocket::bind(("127.0.0.1", port)).is_ok() && GIVEN.lock().unwrap().insert(port) {
            return port;
        }
    }
}

/// The port of the URL of an origin.
pub(crate) fn port_of(url: &str) -> u16 {
    url.trim_end_matches('/').rsplit_once(':').unwrap().1.parse().unwrap()
}

/// An Envoy that was seen.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Seen {
    id: u32,
    base: u64,
    epoch: u64,
}

impl Seen {
    /// The Envoy of a process; none if it is another one, or one that validates.
    fn new(id: u32) -> Option<Self> {
        let line = fs::read_to_string(format!("/proc/{id}/cmdline")).ok()?;
        let words: Vec<&str> = line.split('\0').collect();
        let value = |flag: &str| {
            let at = words.iter().position(|word| *word == flag)?;
            words.get(at + 1)?.parse::<u64>().ok()
        };
        Some(Self { id, base: value("--base-id")?, epoch: value("--restart-epoch")? })
    }

    /// Returns true if it still runs. Another process may have its id meanwhile.
    fn is_there(self) -> bool {
        Self::new(self.id) == Some(self)
    }

    fn memory(self) -> PathBuf {
        PathBuf::from(format!("/dev/shm/envoy_shared_memory_{}", self.base * 10))
    }
}

/// A supervisor of a file.
pub(crate) struct Supervised {
    hoptax: Guarded,
    folder: tempfile::TempDir,
    /// Address of its status.
    pub(crate) status: SocketAddr,
    /// Envoys that were seen.
    seen: Vec<Seen>,
}

impl Supervised {
    /// Starts it, and waits until it serves.
    pub(crate) fn start(file: &Value) -> Self {
        let mut supervised = Self::begin(&file.to_string(), &[]);
        supervised.serves();
        supervised
    }

    /// Waits until it serves.
    fn serves(&mut self) {
        wait_at_pace(Duration::from_millis(25), "an Envoy that serves", || {
            assert!(self.hoptax.0.try_wait().unwrap().is_none(), "{}", self.log());
            self.status().is_some_and(|status| status["state"] == "serving")
        });
    }

    /// Starts it with a file of this text, and environment variables.
    fn begin(text: &str, environment: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("temporary")).unwrap();
        fs::write(folder.path().join("listeners.yaml"), text).unwrap();
        let status = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let hoptax = Self::spawn(folder.path(), status, environment);
        Self { hoptax, folder, status, seen: Vec::new() }
    }

    fn spawn(folder: &Path, status: SocketAddr, environment: &[(&str, &str)]) -> Guarded {
        let output =
            |name: &str| fs::File::options().create(true).append(true).open(folder.join(name)).unwrap();
        let mut command = hoptax();
        command.args(["listeners", "run"]).arg(folder.join("listeners.yaml"));
        command.args(["--status-address", &status.to_string()]);
        command.stdin(Stdio::null()).stdout(output("requests")).stderr(output("log"));
        command.env("TMPDIR", folder.join("temporary")).envs(environment.iter().copied());
        Guarded(command.spawn().unwrap())
    }

    /// The temporary folders of it.
    fn temporary(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder.path().join("temporary")).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// The requests that failed, by Envoy's access log.
    fn failed_requests(&self) -> String {
        fs::read_to_string(self.folder.path().join("requests")).unwrap()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// Replaces the file, as editors do.
    pub(crate) fn write(&self, text: &str) {
        let (new, file) = (self.folder.path().join("new"), self.folder.path().join("listeners.yaml"));
        fs::write(&new, text).unwrap();
        fs::rename(new, file).unwrap();
    }

    fn get(&self, path: &str) -> Option<String> {
        ureq::get(format!("http://{}{path}", self.status)).call().ok()?.into_body().read_to_string().ok()
    }

    /// The status; none if it is not served.
    pub(crate) fn status(&self) -> Option<Value> {
        self.get("/status.json").map(|text| checked("listeners-status", &text))
    }

    /// Waits until the status is so, and returns it.
    pub(crate) fn wait(&mut self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let mut status = Value::Null;
        // The log says more than that it did not come.
        for number in 0_u32..6_000 {
            self.look();
            // To make a status and to check it takes longer than to look for processes.
            if number.is_multiple_of(5) {
                status = self.status().unwrap_or_default();
                if is_so(&status) {
                    return status;
                }
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("{what} did not come: {status:#}\n{}", self.log());
    }

    /// The Envoys that run, but for those that validate; it remembers them.
    fn look(&mut self) -> Vec<Seen> {
        let found: Vec<Seen> = self.hoptax.children().into_iter().filter_map(Seen::new).collect();
        let new = found.iter().filter(|one| !self.seen.contains(one)).copied().collect::<Vec<_>>();
        self.seen.extend(new);
        found
    }

    /// Waits until an Envoy of an epoch is there, and kills it: at once, or when it has marked the memory that it shares with the one before.
    pub(crate) fn kill(&mut self, epoch: u64, is_marked: bool) {
        loop {
            if let Some(one) = self.look().into_iter().find(|one| one.epoch == epoch) {
                let memory = one.memory();
                // The mark is its last number.
                while is_marked && fs::read(&memory).unwrap().last_chunk::<8>() != Some(&1_u64.to_ne_bytes())
                {
                    assert!(one.is_there(), "{}", self.log());
                }
                signal(one.id, "KILL");
                return;
            }
            assert!(self.hoptax.0.try_wait().unwrap().is_none(), "{}", self.log());
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Asks it to end, and waits; its exit code. Nothing is left.
    pub(crate) fn end(&mut self) -> Option<i32> {
        self.look();
        self.hoptax.signal("TERM");
        let code = self.hoptax.0.wait().unwrap().code();
        assert!(!self.seen.is_empty());
        for one in &self.seen {
            assert!(!one.is_there(), "process {} is left: {}", one.id, self.log());
            assert!(!one.memory().exists(), "{} is left", one.memory().display());
        }
        assert!(self.temporary().is_empty(), "{:?}", self.temporary());
        code
    }
}

/// A file with one listener, on a port, to an origin; the number makes it another one.
pub(crate) fn one_listener(port: u16, admin: u16, origin: &str, number: u64) -> Value {
    json!({
        "admin": {"port": admin},
        "access_log": {"path": "/dev/stdout"},
        "restart": {"drain": "1s", "shutdown": "2s"},
        "listeners": [{
            "name": "a", "port": port, "timeout": format!("{}s", 10 + number),
            "upstream": {"address": "127.0.0.1", "port": port_of(origin)},
        }],
    })
}

/// A change of the file while the load goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A file that is sound.
    Sound,
    /// A file that is broken.
    Broken,
    /// A sound one, whose Envoy is killed as soon as it is seen.
    Killed,
    /// A sound one, whose Envoy is killed while it reads its configuration, and leaves a mark that keeps others from starting.
    KilledMarked,
}

/// Makes changes under a load of 1,000 requests/s, of which none may be lost. Returns the result of the load.
pub(crate) fn under_load(changes: &[Change]) -> Value {
    let (_origin, origin) = origin(&["--default", "delay=2ms"]);
    let (port, admin) = (free_port(), free_port());
    let mut supervised = Supervised::start(&one_listener(port, admin, &origin, 0));
    let url = format!("http://127.0.0.1:{port}/");
    let mut load =
        Watched::start(&["-q", "1000", "-c", "64", "-d", "1h", "--warmup", "0s", "--timeout", "10m", &url]);
    load.wait_for(|line| line["answered"].as_u64() > Some(50));
    let (mut epoch, mut refused, mut failed) = (0, 0, 0);
    for (number, change) in (1..).zip(changes) {
        let mut file = one_listener(port, admin, &origin, number);
        if *change == Change::Broken {
            supervised.write(&file.to_string().replace("timeout", "timeuot"));
            refused += 1;
            let status = supervised.wait("a refusal", |status| {
                status["last"]["outcome"] == "refused" && status["counts"]["refused"] == refused
            });
            assert_eq!(status["serving"]["epoch"], epoch, "{status:#}");
            assert!(
                status["last"]["reason"].as_str().unwrap().contains("`timeuot`; did you mean `timeout`?")
            );
            assert!(supervised.get("/metrics").unwrap().contains("\nhoptax_listeners_file_refused 1\n"));
            continue;
        }
        epoch += 1;
        if *change == Change::KilledMarked {
            // It takes a while to read.
            let route = |number: u32| json!({"prefix": format!("/{number}/"), "cluster": format!("c{number}"), "upstream": {"address": "127.0.0.1", "port": 1}});
            file["listeners"][0]["routes"] = (0..300).map(route).collect();
        }
        supervised.write(&file.to_string());
        if matches!(change, Change::Killed | Change::KilledMarked) {
            supervised.kill(epoch, *change == Change::KilledMarked);
            failed += 1;
        }
        supervised.wait("the next epoch", |status| {
            status["serving"]["epoch"] == epoch && status["last"]["outcome"] == "served"
        });
    }
    let status = supervised.status().unwrap();
    let counts = json!({"restarts": epoch, "refused": refused, "not_started": failed, "lost": 0});
    assert_eq!(status["counts"], counts, "{}", supervised.log());
    // Requests that are under way when a load is interrupted have their responses.
    let result = load.interrupt();
    assert_eq!(result["failures"], json!({}), "{}", supervised.failed_requests());
    assert_eq!(supervised.end(), Some(0));
    let book = &result["book"];
    assert_eq!(book["sent"], book["answered"], "{book:#}");
    result
}

#[test]
fn no_request_is_lost_over_restarts_a_broken_file_and_a_killed_envoy() {
    under_load(&[Change::Sound, Change::Broken, Change::KilledMarked, Change::Sound]);
}

#[test]
fn a_first_file_that_is_refused_ends_the_command_with_its_problems() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("listeners.yaml");
    fs::write(&file, "listeners: [{name: a, port: 1, timeuot: 1s}]").unwrap();
    let refused = |path: &Path| -> Ran {
        run(["listeners", "run", path.to_str().unwrap(), "--status-address", "127.0.0.1:0"])
    };
    let ran = refused(&file);
    ran.fails(2, "`timeuot`; did you mean `timeout`?");
    assert!(!ran.stderr.contains("the status is at"), "{ran:?}");
    refused(&folder.path().join("none")).fails(2, "cannot read");
    let large = folder.path().join("large.yaml");
    fs::File::create(&large).unwrap().set_len((80 << 20) + 1).unwrap();
    refused(&large).fails(2, "more than 80 MiB");
    // The address of the admin interface is in use.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    fs::write(&file, one_listener(free_port(), port, "http://127.0.0.1:1/", 0).to_string()).unwrap();
    refused(&file).fails(3, "Address already in use");
}

#[test]
fn a_lost_envoy_is_replaced_and_a_killed_supervisor_leaves_none() {
    let (_origin, origin) = origin(&[]);
    let port = free_port();
    let mut supervised = Supervised::start(&one_listener(port, free_port(), &origin, 0));
    supervised.kill(0, false);
    let status = supervised
        .wait("another Envoy", |status| status["counts"]["lost"] == 1 && status["state"] == "serving");
    assert_eq!((&status["serving"]["epoch"], &status["counts"]["restarts"]), (&json!(0), &json!(0)));
    assert!(ureq::get(format!("http://127.0.0.1:{port}/")).call().is_ok());
    supervised.look();
    supervised.hoptax.signal("KILL");
    supervised.hoptax.0.wait().unwrap();
    for one in &supervised.seen {
        wait_until("the end of Envoy", || !one.is_there());
    }
    let left = supervised.temporary();
    let last = supervised.seen.last().unwrap().memory();
    assert!(left.len() == 1 && last.exists(), "nobody could remove them: {left:?}");
    // The next one does.
    supervised.hoptax = Supervised::spawn(supervised.folder.path(), supervised.status, &[]);
    supervised.serves();
    assert!(!last.exists() && !left[0].exists(), "{}", supervised.log());
    assert!(supervised.log().contains("which a killed supervisor left"), "{}", supervised.log());
    assert_eq!(supervised.end(), Some(0));
}

#[test]
fn a_secret_of_a_refused_file_is_not_in_the_log_and_the_status() {
    let (_origin, origin) = origin(&[]);
    let mut supervised = Supervised::start(&one_listener(free_port(), free_port(), &origin, 0));
    let mut file = one_listener(free_port(), free_port(), &origin, 0);
    file["listeners"][0]["upstream"]["address"] = "http://joe:hunter2-a@host".into();
    file["listeners"][0]["tls"] = json!({
        "certificate": "/none", "key": "-----BEGIN PRIVATE KEY-----hunter2b",
    });
    supervised.write(&file.to_string());
    let status = supervised.wait("a refusal", |status| status["last"]["outcome"] == "refused");
    let reason = status["last"]["reason"].as_str().unwrap();
    assert!(reason.contains("xxxx"), "{reason}");
    for text in [status.to_string(), supervised.get("/").unwrap(), supervised.log()] {
        assert!(!text.contains("hunter2"), "{text}");
    }
    assert_eq!(supervised.end(), Some(0));
}

#[test]
fn a_secret_of_the_file_or_of_a_request_is_not_in_what_envoy_writes() {
    let (_origin, origin) = origin(&[]);
    let (port, admin) = (free_port(), free_port());
    let mut file = one_listener(port, admin, &origin, 0);
    file["access_log"]["min_status"] = 0.into();
    let prefix = "/hook/token=hunter2-path1/";
    let upstream = file["listeners"][0]["upstream"].clone();
    file["listeners"][0]["routes"] = json!([{"prefix": prefix, "upstream": upstream}]);
    let mut supervised = Supervised::start(&file);
    // The log then has all headers of requests.
    ureq::post(format!("http://127.0.0.1:{admin}/logging?level=debug")).send_empty().unwrap();
    let request = ureq::get(format!("http://127.0.0.1:{port}{prefix}a"));
    assert!(request.header("authorization", "Bearer hunter2-sent").call().is_ok());
    wait_until("the log of a request", || {
        let headers = supervised.log().matches("'authorization', 'Bearer xxxx").count();
        headers > 0 && supervised.failed_requests().contains("/hook/token=xxxx")
    });
    ureq::post(format!("http://127.0.0.1:{admin}/logging?level=warning")).send_empty().unwrap();
    assert_eq!(supervised.end(), Some(0));
    for text in [supervised.log(), supervised.failed_requests()] {
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[test]
fn a_hangup_restarts_envoy_on_the_same_file_and_systemd_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let told = || {
        let mut bytes = [0; 4096];
        let count = socket.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    };
    let (_origin, origin) = origin(&[]);
    let file = one_listener(free_port(), free_port(), &origin, 0);
    let mut supervised = Supervised::begin(&file.to_string(), &[("NOTIFY_SOCKET", path.to_str().unwrap())]);
    let ready = told();
    assert!(ready.starts_with("READY=1\nSTATUS=Envoy 1."), "{ready}");
    supervised.hoptax.signal("HUP");
    let reloading = told();
    assert!(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{reloading}");
    assert!(told().starts_with("READY=1\n"));
    supervised.wait("a restart", |status| status["counts"]["restarts"] == 1);
    // A file that is written again as it was changes nothing.
    supervised.write(&file.to_string());
    assert!(told().starts_with("RELOADING=1"));
    assert!(told().starts_with("READY=1\n"));
    assert_eq!(supervised.status().unwrap()["counts"]["restarts"], 1);
    supervised.write("listeners: [");
    assert!(told().starts_with("RELOADING=1"));
    let refused = told();
    assert!(
        refused.starts_with("READY=1\nSTATUS=the file of ") && refused.contains("is not served"),
        "{refused}"
    );
    supervised.write(&file.to_string());
    assert!(told().starts_with("RELOADING=1"));
    assert!(told().starts_with("READY=1\n"));
    // It is stopped while Envoy validates the file, of which it says no more then.
    supervised.hoptax.signal("HUP");
    assert!(told().starts_with("RELOADING=1"));
    supervised.hoptax.signal("TERM");
    while !told().starts_with("STOPPING=1") {}
    assert_eq!(supervised.end(), Some(0));
    assert_eq!(supervised.log().matches("is refused").count(), 1, "{}", supervised.log());
    socket.set_nonblocking(true).unwrap();
    assert!(socket.recv(&mut [0; 4096]).is_err(), "something follows the end");
}
