//! `hoptax listeners run` as the first process of a container, and as a service of systemd.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hoptax_subject::envoy::release::Envoy;
use serde_json::{Value, json};

use crate::container::{self, Container};
use crate::support::{root, run, wait_at_pace};

/// The time between two questions to a container: each starts two processes in it.
const PACE: Duration = Duration::from_millis(200);

/// The Envoy of the tests.
fn envoy() -> PathBuf {
    Envoy::usual().unwrap().program
}

/// A listeners file with a port that only a privileged process can open.
fn file(timeout_s: u32) -> Value {
    json!({
        "admin": {"port": 9901},
        "restart": {"drain": "1s", "shutdown": "2s"},
        "listeners": [{
            "name": "a", "port": 80, "timeout": format!("{timeout_s}s"),
            "upstream": {"address": "127.0.0.1", "port": 1},
        }],
    })
}

/// Waits until the status in a container is so.
fn wait_for(container: &mut Container, what: &str, is_so: impl Fn(&Value) -> bool) {
    wait_at_pace(PACE, what, || {
        assert!(container.is_running(), "{}", container.log());
        let (_, text) = container.run(&["hoptax", "listeners", "status", "--json", "-"]);
        serde_json::from_str(&text).is_ok_and(|status| is_so(&status))
    });
}

/// The names of the files of the shared memory of Envoys.
fn memories(container: &Container) -> Vec<String> {
    let (_, text) = container.run(&["ls", "/dev/shm"]);
    text.lines().filter(|name| name.starts_with("envoy_shared_memory")).map(str::to_owned).collect()
}

#[test]
fn the_first_process_of_a_container_restarts_envoy_reaps_orphans_and_ends_on_sigterm() {
    if let Some(why) = container::missing() {
        eprintln!("not tested: {why}");
        return;
    }
    let arguments = ["hoptax", "listeners", "run", "/etc/listeners.yaml", "--envoy", "/usr/local/bin/envoy"];
    let mut container = Container::start(&arguments, &container::OF_DOCKER, &envoy(), |etc| {
        fs::write(etc.join("listeners.yaml"), file(1).to_string()).unwrap();
    });
    wait_for(&mut container, "an Envoy that serves", |status| status["state"] == "serving");
    // Files of a container are mounted, and not replaced.
    fs::write(container.etc("listeners.yaml"), file(2).to_string()).unwrap();
    wait_for(&mut container, "a restart", |status| status["serving"]["epoch"] == 1);
    container.signal("HUP");
    wait_for(&mut container, "another restart", |status| status["serving"]["epoch"] == 2);
    assert_eq!(memories(&container).len(), 1);
    // Two processes without parents, of which one ends.
    assert_eq!(
        container.run(&["sh", "-c", "(sleep 0.1 & sleep 1000 &) < /dev/null > /dev/null 2>&1"]).0,
        Some(0)
    );
    let sleeping = |container: &Container| {
        let (_, text) = container.run(&["sh", "-c", "grep -h . /proc/[0-9]*/stat"]);
        let lines: Vec<String> =
            text.lines().filter(|line| line.contains(" (sleep) ")).map(str::to_owned).collect();
        assert!(
            lines.iter().all(|line| line.contains(" (sleep) S 1 ") || line.contains(" (sleep) Z 1 ")),
            "{lines:?}"
        );
        lines
    };
    wait_at_pace(
        PACE,
        "the end of one",
        || matches!(sleeping(&container).as_slice(), [left] if left.contains(" S ")),
    );
    container.signal("TERM");
    assert_eq!(container.ended(), Some(0), "{}", container.log());
    let log = container.log();
    assert!(log.contains("ends when no connection is left") && !log.contains("is killed"), "{log}");
}

#[test]
fn systemd_starts_reloads_restarts_and_stops_the_unit() {
    let systemd = ["/usr/lib/systemd/systemd", "/lib/systemd/systemd"]
        .into_iter()
        .find(|path| Path::new(path).exists());
    let (None, Some(systemd)) = (container::missing(), systemd) else {
        eprintln!("not tested: this needs systemd, and {:?}", container::missing());
        return;
    };
    let unit = fs::read_to_string(root().join("docs/guide/hoptax-listeners.service")).unwrap();
    let version = Command::new("systemctl").arg("--version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let version: u32 = version.split([' ', '.', '~']).nth(1).unwrap().parse().unwrap();
    // As its comment says.
    let unit = if version < 253 {
        unit.replace("Type=notify-reload", "Type=notify\nExecReload=kill -HUP $MAINPID")
    } else {
        unit
    };
    let arguments = [systemd, "--unit=hoptax-listeners.service", "--log-target=console", "--show-status=no"];
    let capabilities = [container::OF_DOCKER.as_slice(), &[container::OF_SYSTEMD]].concat();
    let mut container = Container::start(&arguments, &capabilities, &envoy(), |etc| {
        let units = etc.join("systemd/system");
        fs::create_dir_all(&units).unwrap();
        fs::create_dir(etc.join("envoy")).unwrap();
        fs::write(units.join("hoptax-listeners.service"), &unit).unwrap();
        fs::write(etc.join("envoy/listeners.yaml"), file(1).to_string()).unwrap();
        fs::write(etc.join("machine-id"), "0123456789abcdef0123456789abcdef\n").unwrap();
        fs::write(etc.join("passwd"), "root:x:0:0::/:/bin/sh\nenvoy:x:1000:1000::/:/bin/sh\n").unwrap();
        fs::write(etc.join("group"), "root:x:0:\nenvoy:x:1000:\n").unwrap();
    });
    let service = "hoptax-listeners.service";
    let shown = |container: &Container, property: &str| {
        let (_, text) = container.run(&["systemctl", "show", "--value", "--property", property, service]);
        text.trim().to_owned()
    };
    wait_for(&mut container, "an Envoy that serves", |status| status["state"] == "serving");
    wait_at_pace(PACE, "an active service", || shown(&container, "ActiveState") == "active");
    let verified =
        container.run(&["systemd-analyze", "verify", "/etc/systemd/system/hoptax-listeners.service"]);
    assert_eq!(verified, (Some(0), String::new()));
    assert!(shown(&container, "StatusText").starts_with("Envoy 1."), "{}", shown(&container, "StatusText"));

    assert_eq!(container.run(&["systemctl", "reload", service]), (Some(0), String::new()));
    wait_for(&mut container, "a restart", |status| status["serving"]["epoch"] == 1);
    fs::write(container.etc("envoy/listeners.yaml"), "listeners: [").unwrap();
    wait_at_pace(PACE, "a refusal", || shown(&container, "StatusText").contains("is not served"));
    wait_at_pace(PACE, "the end of the reload", || shown(&container, "ActiveState") == "active");
    fs::write(container.etc("envoy/listeners.yaml"), file(1).to_string()).unwrap();
    wait_for(&mut container, "the file", |status| status["last"]["outcome"] == "served");

    // A supervisor that is killed takes its Envoys with it, and the next one starts.
    assert_eq!(
        container.run(&["systemctl", "kill", "--kill-whom=main", "--signal=KILL", service]).0,
        Some(0)
    );
    wait_at_pace(PACE, "another start", || {
        shown(&container, "NRestarts") == "1" && shown(&container, "ActiveState") == "active"
    });
    wait_for(&mut container, "an Envoy that serves", |status| status["serving"]["epoch"] == 0);
    assert_eq!(memories(&container).len(), 1, "the memory of those before is left");

    assert_eq!(container.run(&["systemctl", "stop", service]), (Some(0), String::new()));
    assert_eq!(shown(&container, "Result"), "success");
    assert!(memories(&container).is_empty());
    let (_, processes) = container.run(&["sh", "-c", "cat /proc/[0-9]*/comm"]);
    assert!(!processes.contains("envoy") && !processes.contains("hoptax"), "{processes}");
}

#[test]
fn the_unit_of_systemd_has_a_command_line_that_is_understood() {
    let unit = fs::read_to_string(root().join("docs/guide/hoptax-listeners.service")).unwrap();
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/hoptax ")).unwrap();
    run(line.split(' ').chain(["--help"])).succeeded();
    let ran = run(line.split(' ').chain(["--nonsense", "--help"]));
    assert_eq!(ran.code, Some(2), "{ran:?}");
}
