//! The truth is held out: of a server whose response time is known, beside tasks that keep every processor busy, the bounds of a load hold
//! it.

use std::fs;
use std::process::Command;
use std::thread;

use serde_json::Value;

use crate::support::{Guarded, checked, origin, run};

/// The server's response time, us: its delay, and the time that it and the kernel may add on a busy machine.
const TRUTH_US: [f64; 2] = [2_000.0, 2_500.0];

/// Lets the threads of a process run before all others, as real-time tasks. Returns false if this user may not do that.
fn prefer(process: u32) -> bool {
    let mut threads = fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    threads.all(|thread| {
        let thread = thread.file_name().into_string().unwrap();
        let changed = Command::new("chrt").args(["--fifo", "--pid", "10", &thread]).output();
        changed.is_ok_and(|changed| changed.status.success())
    })
}

/// The ends between which a result says that a quantile lies: bounds, or the interval of one that it states.
pub(super) fn ends(result: &Value, quantile: &str) -> (Option<f64>, Option<f64>) {
    let interval = &result["response_intervals"][quantile];
    if result["latency"]["response"][quantile].is_null() || interval.is_null() {
        let bounds = &result["bounds"]["response"][quantile];
        return (bounds["low_us"].as_f64(), bounds["high_us"].as_f64());
    }
    (interval["low"].as_f64(), interval["high"].as_f64())
}

#[test]
fn bounds_hold_the_response_time_of_a_server_however_busy_the_machine_is() {
    let processors = thread::available_parallelism().unwrap().get();
    let hog = || Guarded(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap());
    let (mut held, mut bounded, mut all) = (0, 0, 0);
    for (default, flags) in [
        ("delay=2ms", ["-q", "250", "-c", "16"].as_slice()),
        // A queue: requests that are sent in a bunch wait for each other.
        ("service=2ms", &["-q", "250", "-c", "16"]),
        // A closed loop.
        ("delay=2ms", &["-c", "8"]),
    ] {
        let (server, url) = origin(&["--default", default]);
        if !prefer(server.0.id()) {
            eprintln!(
                "not tested: this user may not raise the priority of a server, so its response time is not known"
            );
            return;
        }
        let hogs: Vec<Guarded> = (0..processors * 3).map(|_| hog()).collect();
        let load = ["load", "-d", "500ms", "--warmup", "100ms", "--json", "-"];
        let ran = run(load.into_iter().chain(flags.iter().copied()).chain([url.as_str()]));
        drop(hogs);
        let result = checked("load", &ran.stdout);
        assert!(result["rate"]["achieved"].is_f64() && ran.code == Some(0), "{default}: {}", ran.stderr);
        // The kernel delays single packets on a machine that is so busy, so the truth of the p99 is not known.
        for quantile in ["p50_us", "p90_us"] {
            let (low_us, high_us) = ends(&result, quantile);
            let holds =
                low_us.is_none_or(|us| us <= TRUTH_US[1]) && high_us.is_none_or(|us| us >= TRUTH_US[0]);
            eprintln!("{default} {flags:?}: {quantile} is {low_us:?} to {high_us:?} us");
            all += 1;
            held += usize::from(holds);
            bounded += usize::from(result["latency"]["response"][quantile].is_null());
        }
    }
    eprintln!("{held} of {all} hold the server's response time, of which {bounded} are bounds");
    assert_eq!(held, all);
    assert!(bounded > 0, "the machine was not busy");
}
