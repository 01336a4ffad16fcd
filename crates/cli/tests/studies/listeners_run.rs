//! `hoptax listeners run` on real Envoy: no request is lost over restarts, broken files and killed Envoys, no process is left, and the
//! slow upstream among ten is named.

use std::fs;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{
    Guarded, Ran, Watched, checked, hoptax, is_alive, name_of, origin, program, root, run, signal, wait_until,
};

/// A port of loopback that is free for TCP and UDP.
fn free_port() -> u16 {
    loop {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        if UdpSocket::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// The port of the URL of an origin.
fn port_of(url: &str) -> u16 {
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

    /// Whether it is there. Another process may have its id meanwhile.
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
    status: SocketAddr,
    /// Envoys that were seen.
    seen: Vec<Seen>,
}

impl Supervised {
    /// Starts it, and waits until it serves.
    pub(crate) fn start(file: &Value) -> Self {
        let mut supervised = Self::begin(&file.to_string(), &[]);
        wait_until("an Envoy that serves", || {
            assert!(supervised.hoptax.0.try_wait().unwrap().is_none(), "{}", supervised.log());
            supervised.status().is_some_and(|status| status["state"] == "serving")
        });
        supervised
    }

    /// Starts it with a file of this text, and environment variables.
    fn begin(text: &str, environment: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let status = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let file = folder.path().join("listeners.yaml");
        fs::write(&file, text).unwrap();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let mut command = hoptax();
        command.args(["listeners", "run"]).arg(&file).args(["--status-address", &status.to_string()]);
        let requests = fs::File::create(folder.path().join("requests")).unwrap();
        command.stdin(Stdio::null()).stdout(requests).stderr(log);
        command.envs(environment.iter().copied());
        Self { hoptax: Guarded(command.spawn().unwrap()), folder, status, seen: Vec::new() }
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
        for _ in 0..2_000 {
            self.look();
            status = self.status().unwrap_or_default();
            if is_so(&status) {
                return status;
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
    pub(crate) fn end(mut self) -> Option<i32> {
        self.look();
        self.hoptax.signal("TERM");
        let code = self.hoptax.0.wait().unwrap().code();
        assert!(!self.seen.is_empty());
        for one in &self.seen {
            assert!(!one.is_there(), "process {} is left: {}", one.id, self.log());
            assert!(!one.memory().exists(), "{} is left", one.memory().display());
        }
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
            // On a busy machine Envoy itself may look at a new connection only after the usual 250 ms.
            "upstream": {"address": "127.0.0.1", "port": port_of(origin)}, "connect_timeout": "10s",
        }],
    })
}

/// What happens while the load goes on.
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
fn a_planted_slow_upstream_among_ten_is_named_with_the_time_since_when() {
    let (_nine, fast) = origin(&["--default", "delay=1ms"]);
    let folder = tempfile::tempdir().unwrap();
    let default = folder.path().join("default");
    fs::write(&default, "delay=1ms").unwrap();
    let (planted, slow) = origin(&["--default-file", default.to_str().unwrap()]);
    let port = free_port();
    let route = |number: u32| {
        let origin = if number == 7 { &slow } else { &fast };
        json!({
            "prefix": format!("/{number}/"), "cluster": format!("up.{number}"),
            "upstream": {"address": "127.0.0.1", "port": port_of(origin)},
        })
    };
    let file = json!({
        "admin": {"port": free_port()},
        "restart": {"drain": "1s", "shutdown": "2s"},
        "listeners": [{"name": "a", "port": port, "timeout": "10s", "routes": (0..10).map(route).collect::<Value>()}],
    });
    let mut supervised = Supervised::start(&file);
    let urls: Vec<String> = (0..10).map(|number| format!("http://127.0.0.1:{port}/{number}/")).collect();
    let load = |url: &String| {
        let mut load = hoptax();
        load.args(["load", "-q", "40", "-c", "8", "-d", "1h", url]);
        Guarded(load.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    };
    let _loads: Vec<Guarded> = urls.iter().map(load).collect();
    let times = |status: &Value| status["upstreams"].as_array().is_some_and(|all| all.len() == 10);
    supervised.wait("ten upstreams", times);
    // What is usual needs some windows.
    thread::sleep(Duration::from_secs(11));
    let sound = supervised.wait("ten upstreams", times);
    assert!(sound["upstreams"].as_array().unwrap().iter().all(|one| one["slow"].is_null()), "{sound:#}");
    fs::write(&default, "delay=50ms").unwrap();
    planted.signal("HUP");
    let status = supervised.wait("a slow upstream", |status| {
        status["upstreams"].as_array().unwrap().iter().any(|one| !one["slow"].is_null())
    });
    let slow: Vec<&Value> =
        status["upstreams"].as_array().unwrap().iter().filter(|one| !one["slow"].is_null()).collect();
    assert_eq!(slow.len(), 1, "{status:#}");
    assert_eq!(slow[0]["name"], "up.7");
    assert!(slow[0]["first_byte_p90_us"].as_f64() > Some(50_000.0), "{status:#}");
    let usual = slow[0]["slow"]["usual_us"].as_f64().unwrap();
    assert!((1_000.0..25_000.0).contains(&usual), "{usual}");
    let printed = run(["listeners", "status", &supervised.status.to_string()]);
    assert_eq!(printed.code, Some(1), "{printed:?}");
    assert!(printed.stdout.contains("`up.7` is SLOW since "), "{printed:?}");
    assert_eq!(supervised.end(), Some(0));
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
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("`timeuot`; did you mean `timeout`?"), "{ran:?}");
    let ran = refused(&folder.path().join("none"));
    assert!(ran.code == Some(2) && ran.stderr.contains("cannot read"), "{ran:?}");
    // The address of the admin interface is in use.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    fs::write(&file, one_listener(free_port(), port, "http://127.0.0.1:1/", 0).to_string()).unwrap();
    let ran = refused(&file);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("Address already in use"), "{ran:?}");
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
        // Nobody could remove it.
        let _ = fs::remove_file(one.memory());
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
    supervised.hoptax.signal("TERM");
    assert!(told().starts_with("STOPPING=1"));
    assert_eq!(supervised.end(), Some(0));
}

/// The first process of a container inherits those whose parents have ended.
#[test]
fn the_first_process_of_a_namespace_waits_for_processes_that_others_left() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("not tested: a namespace of processes needs root");
        return;
    }
    let (_origin, origin) = origin(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("listeners.yaml");
    fs::write(&file, one_listener(free_port(), free_port(), &origin, 0).to_string()).unwrap();
    let status = format!("127.0.0.1:{}", free_port());
    let script = format!(
        "(sleep 0.1 & sleep 1000 &); exec {} listeners run {} --status-address {status}",
        program().display(),
        file.display()
    );
    let mut unshare = Command::new("unshare");
    unshare.args(["--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", &script]);
    unshare.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut outer = Guarded(unshare.spawn().unwrap());
    wait_until("the status", || ureq::get(format!("http://{status}/")).call().is_ok());
    let first = outer.children()[0];
    let children = || {
        let list = fs::read_to_string(format!("/proc/{first}/task/{first}/children")).unwrap();
        list.split_whitespace().map(|id| id.parse::<u32>().unwrap()).collect::<Vec<u32>>()
    };
    let names = |ids: &[u32]| ids.iter().map(|id| name_of(*id)).collect::<Vec<String>>();
    wait_until("the end of one of two", || {
        names(&children()).iter().filter(|name| *name == "sleep").count() == 1
    });
    assert!(children().into_iter().all(is_alive), "a process that ended is waited for");
    let all = children();
    signal(first, "TERM");
    assert_eq!(outer.0.wait().unwrap().code(), Some(0));
    assert!(!all.into_iter().any(is_alive));
}

#[test]
fn the_unit_of_systemd_has_a_command_line_that_is_understood() {
    let unit = fs::read_to_string(root().join("docs/guide/hoptax-listeners.service")).unwrap();
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/hoptax ")).unwrap();
    let ran = run(line.split(' ').chain(["--help"]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = run(line.split(' ').chain(["--nonsense", "--help"]));
    assert_eq!(ran.code, Some(2), "{ran:?}");
}
