//! Labels of runs, which a client changes.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use hoptax_result::sample;
use serde_json::{Value, json};

use crate::support::{Answer, Site, asking};

fn labelled(site: &Site, run: &str, change: &Value) -> Answer {
    let request = asking("PATCH", &format!("/api/v1/runs/{run}")).header(CONTENT_TYPE, "application/json");
    site.answer(request.body(Body::from(change.to_string())).unwrap())
}

fn labels(site: &Site, run: usize) -> Value {
    let runs = site.get("/api/v1/runs").json();
    let all = runs["runs"].as_array().unwrap();
    all.iter().find(|one| one["run"] == json!(run)).unwrap()["labels"].clone()
}

#[test]
fn a_run_gets_labels_and_is_set_as_the_only_reference() {
    let site = Site::new();
    site.store_load();
    let mut other = sample::load();
    "http://127.0.0.1:2/".clone_into(&mut other.plan.url);
    assert_eq!(site.store(&serde_json::to_string(&other).unwrap()), 2);
    let answer = labelled(&site, "1", &json!({"add": ["nightly", "reference"]}));
    assert_eq!((answer.status, &answer.json()["labels"]), (200, &json!(["nightly", "reference"])));
    let answer = labelled(&site, "2", &json!({"add": ["reference"], "is_only": true}));
    assert_eq!((answer.status, &answer.json()["run"]), (200, &json!(2)));
    assert_eq!((labels(&site, 1), labels(&site, 2)), (json!(["nightly"]), json!(["reference"])));
    assert_eq!(labelled(&site, "1", &json!({"remove": ["nightly", "other"]})).json()["labels"], json!([]));
    assert_eq!(labelled(&site, "2", &json!({})).json()["labels"], json!(["reference"]), "nothing changed");
}

#[test]
fn a_run_has_at_most_a_hundred_labels() {
    let site = Site::new();
    site.store_load();
    for part in 0..6 {
        let add: Vec<String> = (0..20).map(|number| format!("a{}", part * 20 + number)).collect();
        let answer = labelled(&site, "1", &json!({"add": add}));
        assert_eq!(answer.status, if part < 5 { 200 } else { 400 }, "{answer:?}");
    }
    assert_eq!(labels(&site, 1).as_array().unwrap().len(), 100);
}

#[test]
fn labels_that_are_none_and_runs_that_are_none_change_nothing() {
    let site = Site::new();
    assert_eq!(labelled(&site, "1", &json!({"add": ["a"]})).status, 404, "without a store");
    site.store_load();
    assert_eq!(labelled(&site, "2", &json!({"add": ["a"]})).status, 404);
    assert_eq!(labelled(&site, "x", &json!({"add": ["a"]})).status, 404);
    for (change, status) in [
        (json!({"add": ["12"]}), 400),
        (json!({"add": ["a b"]}), 400),
        (json!({"add": ["a"], "remove": [""]}), 400),
        (json!({"add": "a"}), 422),
        (json!({"source": "a"}), 422),
    ] {
        let answer = labelled(&site, "1", &change);
        assert_eq!(answer.status, status, "{change}: {answer:?}");
    }
    assert_eq!(labels(&site, 1), json!([]));
}
