//! A container of runc for `hoptax listeners run`: namespaces and control groups of its own, the programs of this machine to read, and a
//! loopback interface that nobody else has.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Guarded, program};

/// The capabilities that Docker gives.
pub(crate) const OF_DOCKER: [&str; 14] = [
    "CAP_AUDIT_WRITE",
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_MKNOD",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_RAW",
    "CAP_SETFCAP",
    "CAP_SETGID",
    "CAP_SETPCAP",
    "CAP_SETUID",
    "CAP_SYS_CHROOT",
];
/// Capability that systemd needs besides, to mount file systems.
pub(crate) const OF_SYSTEMD: &str = "CAP_SYS_ADMIN";
/// Folders of this machine with its programs.
const PROGRAMS: [&str; 5] = ["/usr", "/lib", "/lib64", "/bin", "/sbin"];
/// The files of a container, in its folder, and where they are in it.
const FILES: [(&str, &str); 2] = [("etc", "/etc"), ("local", "/usr/local")];

/// A container, removed when dropped.
pub(crate) struct Container {
    folder: tempfile::TempDir,
    id: String,
    runc: Guarded,
}

/// Returns the reason why there is none.
pub(crate) fn missing() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        return Some("a container needs root");
    }
    let found = Command::new("runc").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    (!found.is_ok_and(|status| status.success())).then_some("runc is missing")
}

impl Container {
    /// Starts one with a first process, and `/etc` as `fill` makes it. `/usr/local/bin` has hoptax and the given Envoy.
    pub(crate) fn start(
        arguments: &[&str],
        capabilities: &[&str],
        envoy: &Path,
        fill: impl FnOnce(&Path),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["root", "etc", "local/bin"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        for name in ["hoptax", "envoy"] {
            File::create(path("local/bin").join(name)).unwrap();
        }
        fill(&path("etc"));
        let configuration = configuration(folder.path(), arguments, capabilities, envoy);
        fs::write(path("config.json"), configuration.to_string()).unwrap();
        let id = format!("hoptax-test-{}", folder.path().file_name().unwrap().display()).replace('.', "");
        let mut runc = runc(folder.path());
        runc.arg("run").arg("--bundle").arg(folder.path()).arg(&id);
        runc.stdin(Stdio::null()).stdout(File::create(path("output")).unwrap());
        runc.stderr(File::create(path("log")).unwrap());
        let runc = Guarded(runc.spawn().unwrap());
        Self { folder, id, runc }
    }

    /// Returns its output so far.
    pub(crate) fn log(&self) -> String {
        ["output", "log"].map(|name| fs::read_to_string(self.folder.path().join(name)).unwrap()).join("\n")
    }

    /// A file of its `/etc`.
    pub(crate) fn etc(&self, name: &str) -> PathBuf {
        self.folder.path().join("etc").join(name)
    }

    /// Runs a command in it. Returns its exit code and its output.
    pub(crate) fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = runc(self.folder.path()).arg("exec").arg(&self.id).args(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    }

    /// Sends a signal to its first process.
    pub(crate) fn signal(&self, name: &str) {
        assert!(runc(self.folder.path()).args(["kill", &self.id, name]).status().unwrap().success());
    }

    /// Waits for its end; the exit code of its first process.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        self.runc.0.wait().unwrap().code()
    }

    /// Returns true if it runs.
    pub(crate) fn is_running(&mut self) -> bool {
        self.runc.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // It is gone already if it has ended.
        let mut delete = runc(self.folder.path());
        delete.args(["delete", "--force", &self.id]);
        let _ = delete.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// runc, with its state in the folder of the container.
fn runc(folder: &Path) -> Command {
    let mut runc = Command::new("runc");
    runc.arg("--root").arg(folder.join("state"));
    runc
}

fn configuration(folder: &Path, arguments: &[&str], capabilities: &[&str], envoy: &Path) -> Value {
    let bind = |source: &Path, destination: &str| json!({"destination": destination, "type": "bind", "source": source, "options": ["rbind", "ro"]});
    let fresh = |destination: &str, kind: &str, options: &[&str]| json!({"destination": destination, "type": kind, "source": kind, "options": options});
    let mut mounts = vec![
        fresh("/proc", "proc", &[]),
        fresh("/dev", "tmpfs", &["nosuid", "mode=755"]),
        fresh("/dev/pts", "devpts", &["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"]),
        fresh("/dev/shm", "tmpfs", &["nosuid", "nodev", "mode=1777"]),
        fresh("/sys", "sysfs", &["nosuid", "noexec", "nodev", "ro"]),
        fresh("/sys/fs/cgroup", "cgroup", &["nosuid", "noexec", "nodev", "rw"]),
        fresh("/tmp", "tmpfs", &["mode=1777"]),
        fresh("/run", "tmpfs", &["mode=755"]),
    ];
    mounts.extend(
        PROGRAMS.iter().filter(|path| Path::new(path).exists()).map(|path| bind(Path::new(path), path)),
    );
    mounts.extend(FILES.iter().map(|(name, place)| bind(&folder.join(name), place)));
    mounts.extend([bind(program(), "/usr/local/bin/hoptax"), bind(envoy, "/usr/local/bin/envoy")]);
    let sets: serde_json::Map<String, Value> = ["bounding", "effective", "permitted"]
        .map(|set| (set.to_owned(), json!(capabilities)))
        .into_iter()
        .collect();
    let namespaces: Value = ["pid", "network", "ipc", "uts", "mount", "cgroup"]
        .map(|kind| json!({"type": kind}))
        .into_iter()
        .collect();
    json!({
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": 0, "gid": 0}, "cwd": "/", "args": arguments, "capabilities": sets,
            "env": ["PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "container=oci"],
        },
        "root": {"path": "root"},
        "hostname": "hoptax",
        "mounts": mounts,
        "linux": {"namespaces": namespaces},
    })
}
