//! The course of a load: its events, its run, its stop, and the end of the server while it runs.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use hoptax_result::{EndedBy, LoadResult};
use hoptax_serve::Options;
use hoptax_session::store::{Filter, Store};
use serde_json::{Value, json};

use crate::support::{Running, Serving, Site, load, options, rest, sent};

/// The jobs in a text of server-sent events.
fn jobs(events: &str) -> Vec<Value> {
    let data = events.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

#[test]
fn a_load_is_followed_to_its_end_and_its_run_is_in_the_history() {
    let (site, origin) = (Site::new(), Running::origin(""));
    assert_eq!(site.get("/api/v1/runs").json()["runs"], Value::Array(Vec::new()));
    let started = site.post("/api/v1/loads", &load(origin.address, "1200ms"));
    assert_eq!((started.status, started.headers["location"].to_str().unwrap()), (202, "/api/v1/jobs/1"));
    assert_eq!(started.json()["state"], "running");
    // The stream ends with the job.
    let events = site.get("/api/v1/jobs/1/events");
    assert!(events.body.starts_with("event: job\ndata: "), "{events:?}");
    let seen = jobs(&events.body);
    let last = seen.last().unwrap();
    assert_eq!((last["state"].as_str(), last["run"].as_i64()), (Some("done"), Some(1)), "{last}");
    assert!(last["verdict"].is_string() && last["problem"].is_null(), "{last}");
    let rates = seen.iter().filter_map(|job| job["progress"]["rate"].as_f64());
    assert!(rates.clone().count() > 0 && rates.clone().all(|rate| rate >= 0.0), "{seen:?}");
    // Whoever comes later sees the end at once.
    assert_eq!(jobs(&site.get("/api/v1/jobs/1/events").body), std::slice::from_ref(last));
    assert_eq!(site.get("/api/v1/jobs/1").json(), *last);

    let runs = site.get("/api/v1/runs").json();
    assert_eq!(runs["runs"][0]["kind"], "load", "{runs}");
    assert_eq!(runs["runs"][0]["name"], format!("http://{}/", origin.address));
    let result: LoadResult = serde_json::from_str(&site.get("/api/v1/runs/1/result").body).unwrap();
    assert!(result.book.answered > 0 && result.ended_by == EndedBy::Plan, "{:?}", result.book);
    let document = site.get("/api/v1/runs/1").json();
    assert!(document["answer"][0].is_string(), "{document}");
    assert!(site.get("/").body.contains("/runs/1"), "the history leads to the run");
    let page = site.get("/runs/1").body;
    assert!(page.contains(&origin.address.to_string()));
    assert!(page.contains(" data-again=\"start=load&amp;target="), "it leads to the form with its settings");
    assert!(page.contains("&amp;duration=1s+200ms&amp;"), "{page}");
}

#[test]
fn a_second_load_waits_for_the_first_and_a_stopped_load_keeps_what_it_measured() {
    let (site, origin) = (Site::new(), Running::origin(""));
    assert_eq!(site.post("/api/v1/loads", &load(origin.address, "1h")).status, 202);
    let second = site.post("/api/v1/loads", &load(origin.address, "1s"));
    assert_eq!(second.status, 409);
    assert!(second.error().contains("job 1 runs") && second.error().contains("/api/v1/jobs/1"), "{second:?}");
    // It is refused before anything is looked up for it.
    let elsewhere = site.post("/api/v1/loads", &json!({"target": "http://gone.test/"}));
    assert_eq!(elsewhere.status, 409, "{elsewhere:?}");
    site.job_when(1, |job| job["progress"]["rate"].is_number());
    let stopped = site.stop(1);
    assert_eq!(stopped.status, 202);
    let job = site.ended(1);
    assert_eq!(job["state"], "interrupted", "{job}");
    let result = site.get(&format!("/api/v1/runs/{}/result", job["run"])).body;
    let result: LoadResult = serde_json::from_str(&result).unwrap();
    assert!(result.ended_by == EndedBy::Interrupt && result.book.answered > 0, "{:?}", result.book);
    assert_eq!(site.stop(1).json(), job, "it stays as it was");
    assert_eq!(site.stop(2).status, 404);
    assert_eq!(site.post("/api/v1/loads", &load(origin.address, "100ms")).status, 202);
    assert_eq!(site.ended(2)["state"], "done");
    let text = site.get("/metrics").body;
    for line in [
        "hoptax_serve_jobs_total{state=\"done\"} 1",
        "hoptax_serve_jobs_total{state=\"interrupted\"} 1",
        "hoptax_serve_refused_total{reason=\"busy\"} 2",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}

#[test]
fn two_loads_run_at_once_if_told_so_and_their_results_say_it() {
    let (site, origin) = (Site::with(|options| Options { loads_at_once: 2, ..options }), Running::origin(""));
    for _ in 0..2 {
        assert_eq!(site.post("/api/v1/loads", &load(origin.address, "1h")).status, 202);
    }
    let third = site.post("/api/v1/loads", &load(origin.address, "1s"));
    assert!(third.status == 409 && third.error().contains("job 1"), "{third:?}");
    assert_eq!(site.post("/api/v1/studies", &json!({"study": "quick"})).status, 409);
    for job in [1, 2] {
        site.job_when(job, |job| job["progress"]["rate"].is_number());
    }
    for job in [1, 2] {
        site.stop(job);
        let job = site.ended(job);
        let result = site.get(&format!("/api/v1/runs/{}/result", job["run"])).body;
        let result: LoadResult = serde_json::from_str(&result).unwrap();
        assert_eq!(result.loads_beside, Some(1));
        let says = |finding: &hoptax_result::Finding| finding.id == "other-loads";
        assert!(result.findings.iter().any(says), "{:?}", result.findings);
    }
}

#[test]
fn a_load_without_a_server_fails_and_says_why() {
    let site = Site::new();
    // Nobody listens on a port that was free a moment ago.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_eq!(site.post("/api/v1/loads", &load(address, "1s")).status, 202);
    let job = site.ended(1);
    assert_eq!((job["state"].as_str(), &job["run"]), (Some("failed"), &Value::Null), "{job}");
    assert!(job["problem"].as_str().unwrap().contains(&address.to_string()), "{job}");
    assert_eq!(site.get("/api/v1/runs").json()["runs"], Value::Array(Vec::new()));
}

#[test]
fn a_server_that_ends_stops_its_load_and_keeps_the_result() {
    let origin = Running::origin("");
    let folder = tempfile::tempdir().unwrap();
    let server = Serving::begin(&folder);
    let address = server.address;
    let started = rest(sent(address, "POST /api/v1/loads", &load(origin.address, "1h").to_string()));
    assert!(started.starts_with("HTTP/1.1 202 "), "{started}");
    let mut follower = sent(address, "GET /api/v1/jobs/1/events", "");
    follower.read_exact(&mut [0]).unwrap();
    while rest(sent(address, "GET /api/v1/jobs/1", "")).contains("\"progress\":null") {
        thread::sleep(Duration::from_millis(20));
    }
    // A connection that asks for nothing does not keep the server.
    let idle = TcpStream::connect(address).unwrap();
    server.end();
    drop(idle);
    let events = rest(follower);
    assert!(events.contains("\"state\":\"interrupted\""), "{events}");
    let store = Store::open(&options(&folder).store).unwrap();
    assert_eq!(store.list(&Filter::default()).unwrap().len(), 1);
    let result: LoadResult = serde_json::from_str(&store.result(1).unwrap().unwrap()).unwrap();
    assert_eq!(result.ended_by, EndedBy::Interrupt);
}
