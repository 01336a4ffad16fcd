//! Early ends of `hoptax load`, and of a search: by an interrupt, by a backlog that cannot be sent, and by a number of requests.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::support::{Guarded, UNHURRIED, Watched, checked, hoptax, origin, run, server};

#[test]
fn an_interrupted_load_keeps_its_result() {
    let (_origin, url) = origin(&[]);
    let mut load = Watched::start(&["-q", "200", "-d", "1h", "--warmup", "0s", &url]);
    // Of fewer requests, a stall of the machine may make too much for Little's law.
    load.wait_for(|line| line["to_s"].as_f64() > Some(2.5));
    let result = load.interrupt();
    assert!(result["book"]["answered"].as_u64() > Some(0));
    assert_eq!(result["ended_by"], "interrupt");
    let ids: Vec<&str> =
        result["findings"].as_array().unwrap().iter().filter_map(|finding| finding["id"].as_str()).collect();
    assert!(ids.contains(&"interrupted") && !ids.contains(&"in-flight"), "{ids:?}");
}

#[test]
fn a_load_that_is_interrupted_in_its_warm_up_says_that_nothing_was_measured() {
    for pace in [&["-q", "100"][..], &[]] {
        let (report, answered) = mpsc::channel();
        let address = server(move |mut stream| {
            while stream.read(&mut [0; 4096]).is_ok_and(|bytes| bytes > 0) {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
                let _ = report.send(());
            }
        });
        let url = format!("http://{address}/");
        let mut load = hoptax();
        load.args(["load", "--warmup", "1h", "-d", "1h", &url]).args(pace).stdin(Stdio::null());
        let mut load = Guarded(load.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
        // It listens for signals before it sends a request.
        answered.recv().unwrap();
        load.signal("INT");
        let mut text = String::new();
        load.0.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(load.0.wait().unwrap().code(), Some(130), "{text}");
        let said = "The load was interrupted before the first measured request";
        assert!(text.contains(said), "{pace:?}: {text}");
        assert!(!text.contains("0 of 0"), "{pace:?}: {text}");
    }
}

#[test]
fn a_load_that_is_interrupted_twice_says_how_long_it_would_wait_and_that_it_has_no_result() {
    let (report, has_request) = mpsc::channel();
    let address = server(move |mut stream| {
        // It never answers.
        while stream.read(&mut [0; 4096]).is_ok_and(|bytes| bytes > 0) {
            let _ = report.send(());
        }
    });
    let mut load = hoptax();
    load.args(["load", "-c", "1", "--warmup", "0s"]).args(UNHURRIED).arg(format!("http://{address}/"));
    let load = load.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut load = Guarded(load.unwrap());
    has_request.recv().unwrap();
    load.signal("INT");
    let mut lines = BufReader::new(load.0.stderr.take().unwrap()).lines().map(Result::unwrap);
    let said = lines.find(|line| line.starts_with("interrupted: waiting")).unwrap();
    assert!(said.contains(" s more (their time limit is 10m); interrupt again"), "{said}");
    load.signal("INT");
    assert_eq!(lines.last().as_deref(), Some("hoptax: interrupted: no result"));
    let stdout = std::io::read_to_string(load.0.stdout.take().unwrap()).unwrap();
    assert_eq!((load.0.wait().unwrap().code(), stdout.as_str()), (Some(130), ""));
}

#[test]
fn a_search_that_is_interrupted_twice_says_how_long_it_would_wait_and_that_it_has_no_result() {
    let (report, has_request) = mpsc::channel();
    let address = server(move |mut stream| {
        // It never answers.
        while stream.read(&mut [0; 4096]).is_ok_and(|bytes| bytes > 0) {
            let _ = report.send(());
        }
    });
    let mut search = hoptax();
    search.args(["find", "--slo", "p99<1s", "--budget", "1h", "--timeout", "10m", "-c", "1"]);
    search.arg(format!("http://{address}/")).stdin(Stdio::null());
    let search = search.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut search = Guarded(search.unwrap());
    has_request.recv().unwrap();
    search.signal("INT");
    let mut lines = BufReader::new(search.0.stderr.take().unwrap()).lines().map(Result::unwrap);
    let said = lines.find(|line| line.starts_with("interrupted: waiting")).unwrap();
    assert!(said.contains(" s more (their time limit is 10m); interrupt again"), "{said}");
    search.signal("INT");
    assert_eq!(lines.last().as_deref(), Some("hoptax: interrupted: no result"));
    assert_eq!(search.0.wait().unwrap().code(), Some(130));
}

#[test]
fn an_interrupted_load_reports_only_the_stages_and_the_time_that_were_recorded() {
    let (_origin, url) = origin(&["--default", "delay=1s"]);
    let stages = "400@1s,100:1100@1h,500@5s";
    let mut load = Watched::start(&["--stages", stages, "-c", "500", &url]);
    load.wait_for(|line| line["to_s"].as_f64() > Some(2.5));
    let result = load.interrupt();
    // Responses in the second after the interrupt belong to earlier requests: the rate covers the time until the interrupt.
    let recorded_s = result["recorded_s"].as_f64().unwrap();
    let stages = result["stages"].as_array().unwrap();
    assert_eq!(stages.len(), 2, "{result:#}");
    assert!((stages[1]["duration_s"].as_f64().unwrap() - (recorded_s - 1.0)).abs() < 1e-6);
    let planned = stages[1]["book"]["planned"].as_f64().unwrap() / (recorded_s - 1.0);
    assert!((planned / stages[1]["rate"]["target"].as_f64().unwrap() - 1.0).abs() < 0.02, "{:#}", stages[1]);
    // The second stage ramps from 100/s to 1,100/s in an hour, so its first seconds are at 100/s.
    assert!((99.0..102.0).contains(&stages[1]["rate"]["target"].as_f64().unwrap()));
}

#[test]
fn an_unreachable_rate_ends_the_load_early_in_bounded_memory() {
    let (_origin, url) = origin(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.json");
    let load = |flags: &[&str]| {
        let mut load = hoptax();
        load.args(["load", "--warmup", "0s", "--json"]).arg(&file).args(flags).arg(&url);
        let mut load = Guarded(load.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let peak_bytes = peak_memory_bytes(load.0.id(), Duration::from_millis(1));
        let code = load.0.wait().unwrap().code();
        (peak_bytes, code, checked("load", &fs::read_to_string(&file).unwrap()))
    };
    let (usual_bytes, _, _) = load(&["-d", "500ms"]);
    // 100 million requests are planned; storing each would need 4 GB.
    let (peak_bytes, code, result) = load(&["-q", "1e7", "-d", "10s"]);
    assert_eq!((code, &result["ended_by"]), (Some(0), &"backlog".into()), "{result:#}");
    assert_eq!(result["findings"][0]["severity"], "fail");
    assert!(result["recorded_s"].as_f64().unwrap() < 10.0);
    // Less than a pointer for each request that waited.
    let waited = result["book"]["unsent"].as_u64().unwrap();
    assert!(waited > 1_000_000, "{result:#}");
    assert!(peak_bytes < usual_bytes + 8 * waited, "{peak_bytes} {usual_bytes} {waited}");
}

/// Peak resident memory of a child process, read at this pace until it exits.
pub(super) fn peak_memory_bytes(process_id: u32, pace: Duration) -> u64 {
    let mut peak_kb = 0;
    loop {
        let status = fs::read_to_string(format!("/proc/{process_id}/status")).unwrap();
        // A process that has exited has no memory.
        let Some(line) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")) else {
            return peak_kb * 1024;
        };
        peak_kb = line.trim().trim_end_matches(" kB").parse().unwrap();
        thread::sleep(pace);
    }
}

#[test]
fn a_number_of_requests_ends_an_open_loop_and_a_closed_one() {
    let (_origin, url) = origin(&[]);
    for more in
        [&["-q", "1000", "--arrivals", "poisson"][..], &["-w", "2"], &["-q", "2000", "--arrivals", "burst=8"]]
    {
        let flags = ["load", "-n", "500", "--warmup", "100ms", "--json", "-", &url];
        let result = checked("load", &run(flags.iter().chain(&UNHURRIED).chain(more).copied()).stdout);
        assert_eq!(
            (&result["book"]["planned"], &result["ended_by"]),
            (&500.into(), &"requests".into()),
            "{more:?}"
        );
        assert_eq!(result["plan"]["request_limit"], 500);
    }
}
