//! `hoptax listeners run` and `listeners status` on real Envoy: the slow upstream among ten is named, and no other.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::listeners_run::{Supervised, free_port, port_of};
use crate::support::{Guarded, hoptax, origin, run, wait_at_pace};

/// Ten upstreams, of which the seventh is an origin of its own with a delay in a file, under load.
pub(crate) struct Ten {
    pub(crate) supervised: Supervised,
    default: PathBuf,
    planted: Guarded,
    _folder: tempfile::TempDir,
    _others: [Guarded; 2],
}

impl Ten {
    /// The seventh has this delay.
    pub(crate) fn start(delay: &str) -> Self {
        let (nine, fast) = origin(&["--default", "delay=1ms"]);
        let folder = tempfile::tempdir().unwrap();
        let default = folder.path().join("default");
        fs::write(&default, delay).unwrap();
        let (planted, slow) = origin(&["--default-file", default.to_str().unwrap()]);
        let port = free_port();
        let route = |number: u32| {
            let origin = if number == 7 { &slow } else { &fast };
            json!({
                "prefix": format!("/{number}/"), "cluster": format!("up.{number}"),
                "upstream": {"address": "127.0.0.1", "port": port_of(origin)},
            })
        };
        let routes: Value = (0..10).map(route).collect();
        let file = json!({
            "admin": {"port": free_port()},
            "restart": {"drain": "1s", "shutdown": "2s"},
            "listeners": [{"name": "a", "port": port, "timeout": "10s", "routes": routes}],
        });
        let supervised = Supervised::start(&file);
        let requests = folder.path().join("requests");
        fs::write(&requests, (0..10).map(|number| format!("/{number}/\n")).collect::<String>()).unwrap();
        let mut load = hoptax();
        // In turn: a window of five seconds has 75 requests to each, of which 50 are enough.
        load.args(["load", "-q", "150", "-c", "40", "-d", "1h", "--requests", requests.to_str().unwrap()]);
        load.arg(format!("http://127.0.0.1:{port}/"));
        let load = load.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Self { supervised, default, planted, _folder: folder, _others: [nine, Guarded(load.unwrap())] }
    }

    /// Changes the delay of the seventh.
    pub(crate) fn change(&self, delay: &str) {
        fs::write(&self.default, delay).unwrap();
        self.planted.signal("HUP");
    }

    /// Waits until one is slow, which is the seventh; the status.
    pub(crate) fn slow(&mut self) -> Value {
        let is_slow = |one: &&Value| !one["slow"].is_null();
        let mut status = Value::Null;
        // It takes half a minute.
        wait_at_pace(Duration::from_secs(1), "a slow upstream", || {
            status = self.supervised.status().unwrap();
            status["upstreams"].as_array().unwrap().iter().any(|one| is_slow(&one))
        });
        let slow: Vec<&Value> = status["upstreams"].as_array().unwrap().iter().filter(is_slow).collect();
        assert_eq!(slow.len(), 1, "{status:#}");
        assert_eq!(slow[0]["name"], "up.7");
        assert!(slow[0]["first_byte_p90_us"].as_f64() > Some(50_000.0), "{status:#}");
        let printed = run(["listeners", "status", &self.supervised.status.to_string()]);
        assert_eq!(printed.code, Some(1), "{printed:?}");
        assert!(printed.stdout.contains("`up.7` is SLOW since "), "{printed:?}");
        slow[0].clone()
    }
}

#[test]
fn a_slow_upstream_among_ten_is_named_with_what_the_others_have() {
    let mut ten = Ten::start("delay=50ms");
    let slow = ten.slow();
    let others = slow["slow"]["others_us"].as_f64().unwrap();
    assert!((1_000.0..10_000.0).contains(&others), "{others}");
    assert_eq!(ten.supervised.end(), Some(0));
}
