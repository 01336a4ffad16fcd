//! Runs: their pages, their downloads, and errors about them.

use std::fs;
use std::sync::Mutex;

use axum::body::Body;
use axum::http::header::{ALLOW, CONTENT_DISPOSITION, CONTENT_TYPE};
use hoptax_result::sample;
use hoptax_serve::Options;
use hoptax_session::Update;
use serde_json::Value;

use crate::support::{Answer, Site, asking};

/// The numbers of the runs in a list.
fn numbers(answer: &Answer) -> Vec<i64> {
    let list = answer.json();
    let runs = list["runs"].as_array().unwrap_or_else(|| panic!("{answer:?}"));
    runs.iter().map(|run| run["run"].as_i64().unwrap()).collect()
}

#[test]
fn runs_come_in_pages() {
    let site = Site::new();
    for day in 1..=5 {
        let study = sample::study("ours", &format!("2026-11-0{day}T00:00:00Z"), 1.0);
        site.store(&serde_json::to_string(&study).unwrap());
    }
    let list = |query: &str| site.get(&format!("/api/v1/runs{query}"));
    assert_eq!(numbers(&list("")), [5, 4, 3, 2, 1]);
    assert_eq!(list("").headers[CONTENT_TYPE], "application/json");
    assert_eq!(numbers(&list("?limit=2")), [5, 4]);
    assert_eq!(numbers(&list("?limit=2&before=4")), [3, 2]);
    assert_eq!(numbers(&list("?before=2")), [1]);
    assert_eq!(numbers(&list("?before=1")), [0_i64; 0]);
    for query in ["?limit=0", "?limit=501", "?limit=x", "?before=-1", "?page=2"] {
        let refused = list(query);
        assert_eq!(refused.status, 400, "{query}");
        assert!(refused.error().contains("`limit`") || refused.error().contains("`before`"), "{refused:?}");
    }
}

#[test]
fn a_download_is_a_file_with_a_name_and_its_media_type() {
    let site = Site::new();
    let run = site.store_load();
    for (path, name, media_type) in [
        ("result", "run-1.result.json", "application/json"),
        ("csv", "run-1.csv", "text/csv; charset=utf-8"),
        ("html", "run-1.html", "text/html; charset=utf-8"),
        ("md", "run-1.md", "text/markdown; charset=utf-8"),
        ("json", "run-1.json", "application/json"),
    ] {
        let answer = site.get(&format!("/api/v1/runs/{run}/{path}"));
        // Where markup of a stranger stays as it was, no browser takes it for a page.
        assert_eq!(answer.headers[CONTENT_TYPE], media_type, "{path}");
        let disposition = answer.headers[CONTENT_DISPOSITION].to_str().unwrap();
        assert_eq!(disposition, format!("attachment; filename=\"{name}\""));
    }
    let shown: Value = site.get("/api/v1/runs/1").json();
    assert_eq!(site.get("/api/v1/runs/1/json").json(), shown);
    assert!(!site.get("/api/v1/runs/1").headers.contains_key(CONTENT_DISPOSITION));
}

#[test]
fn every_error_is_json_with_a_sentence() {
    let site = Site::new();
    for (method, path, allowed) in [
        ("PUT", "/", "GET"),
        ("DELETE", "/api/v1/runs", "GET"),
        ("GET", "/api/v1/loads", "POST"),
        ("DELETE", "/api/v1/jobs/1", "GET"),
        ("GET", "/api/v1/jobs/1/stop", "POST"),
        ("POST", "/metrics", "GET"),
    ] {
        let answer = site.answer(asking(method, path).body(Body::empty()).unwrap());
        assert_eq!(answer.status, 405, "{method} {path}");
        assert!(answer.error().contains("method"), "{answer:?}");
        assert!(answer.headers[ALLOW].to_str().unwrap().contains(allowed), "{answer:?}");
    }
    for path in
        ["/runs/%FF", "/api/v1/runs/%FF", "/api/v1/runs/%FF/result", "/api/v1/runs/1/%FF", "/api/v1/jobs/%FF"]
    {
        let answer = site.get(path);
        assert_eq!(answer.status, 400, "{path}");
        assert!(!answer.error().is_empty(), "{answer:?}");
    }
    // Numbers of runs are those of SQLite.
    for (number, why) in
        [("9223372036854775807", "no run 9223372036854775807"), ("9223372036854775808", "its number")]
    {
        let answer = site.get(&format!("/api/v1/runs/{number}"));
        assert_eq!(answer.status, 404, "{number}");
        assert!(answer.error().contains(why), "{answer:?}");
    }
}

/// Sentences that whoever started a server was told.
static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

#[test]
fn the_place_of_a_store_that_cannot_be_read_is_told_to_its_owner_alone() {
    let site = Site::with(|options| Options {
        on_update: |update| {
            if let Update::Problem(text) = update {
                TOLD.lock().unwrap().push(text.to_owned());
            }
        },
        ..options
    });
    let store = site.folder.path().join("store.sqlite");
    fs::write(&store, "this is no store, and longer than the head of one would be".repeat(10)).unwrap();
    let place = site.folder.path().to_str().unwrap();
    for path in
        ["/", "/runs/1", "/api/v1/runs", "/api/v1/runs/1", "/api/v1/runs/1/result", "/api/v1/runs/1/csv"]
    {
        TOLD.lock().unwrap().clear();
        let answer = site.get(path);
        assert_eq!(answer.status, 500, "{path}: {answer:?}");
        assert!(answer.error().contains("store") && !answer.body.contains(place), "{answer:?}");
        let told = TOLD.lock().unwrap().join("\n");
        assert!(told.contains(place), "{path}: {told}");
    }
}
