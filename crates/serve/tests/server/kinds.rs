//! Searches, studies and bills: who may start them, what they may not have, and what becomes of a search. Studies and bills start the program
//! itself as their origin, so they are measured in the tests of the program.

use axum::body::Body;
use axum::http::Request;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use hoptax_result::{FindEnd, FindResult};
use hoptax_serve::Options;
use serde_json::{Value, json};

use crate::support::{Answer, Running, Site, TOKEN, load, open, posting};

/// A configuration that can be priced.
const PLAIN: &str = "static_resources: {listeners: [{name: a}]}";

/// A request of each kind, which would begin if it were let in.
fn kinds() -> [(&'static str, Value); 3] {
    [
        ("/api/v1/finds", json!({"target": "http://127.0.0.1:1/", "objectives": ["p99<5ms"]})),
        ("/api/v1/studies", json!({"study": "quick"})),
        ("/api/v1/bills", json!({"configuration": PLAIN})),
    ]
}

/// A server that was started to price configurations, too.
fn pricing() -> Site {
    Site::with(|options| Options { allows_bills: true, ..options })
}

#[test]
fn no_configuration_is_read_unless_the_server_was_started_for_it_and_the_page_says_so() {
    let site = Site::new();
    let large = "x".repeat(1 << 20);
    for body in [json!({"configuration": PLAIN}), json!({"configuration": large}), json!({"nothing": 1})] {
        let refused = site.post("/api/v1/bills", &body);
        assert_eq!(refused.status, 403, "{refused:?}");
        assert!(refused.error().contains("`hoptax serve --allow-bills`"), "{refused:?}");
    }
    assert_eq!(site.get("/api/v1/jobs").json(), json!([]));
    let is_told =
        |site: &Site| site.get("/").body.contains("<div id=\"page\" data-api=\"/api/v1\" data-bills=\"\">");
    assert!(!is_told(&site) && is_told(&pricing()));
    assert_eq!(pricing().post("/api/v1/bills", &json!({"configuration": "[]"})).status, 400, "it is read");
}

#[test]
fn nobody_starts_any_kind_without_the_token_or_from_another_page() {
    let others = Site::with(|options| Options { allows_bills: true, ..open(options) });
    let asked = |path: &str, body: &Value, token: Option<&str>| {
        let request = Request::builder().method("POST").uri(path).header(HOST, "192.0.2.1:8419");
        let request = request.header(CONTENT_TYPE, "application/json");
        let request = match token {
            Some(token) => request.header(AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        };
        others.answer(request.body(Body::from(body.to_string())).unwrap())
    };
    for (path, body) in kinds() {
        for token in [None, Some("0123456789abcdef0123456789abcdeF")] {
            assert_eq!(asked(path, &body, token).status, 401, "{path}");
        }
    }
    // With the token, a search on loopback is still none that was allowed.
    let (path, body) = &kinds()[0];
    let refused = asked(path, body, Some(TOKEN));
    assert!(refused.status == 403 && refused.error().contains("--allow-target"), "{refused:?}");
    let local = pricing();
    for (path, body) in kinds() {
        let foreign = posting(path, body.to_string());
        let (mut parts, body) = foreign.into_parts();
        parts.headers.insert(ORIGIN, "http://evil.test".parse().unwrap());
        assert_eq!(local.answer(Request::from_parts(parts, body)).status, 403, "{path}");
    }
    assert_eq!(local.get("/api/v1/jobs").json(), json!([]));
}

#[test]
fn no_kind_begins_while_a_job_runs() {
    let (site, origin) = (pricing(), Running::origin(""));
    assert_eq!(site.post("/api/v1/loads", &load(origin.address, "1h")).status, 202);
    for (path, body) in kinds() {
        let busy = site.post(path, &body);
        assert!(busy.status == 409 && busy.error().contains("POST /api/v1/jobs/1/stop"), "{path}: {busy:?}");
    }
    site.stop(1);
    assert_eq!(site.ended(1)["kind"], "load");
}

#[test]
fn what_is_not_valid_is_refused_by_its_field_before_anything_starts() {
    let site = pricing();
    let refused = |path: &str, body: &Value, status: u16, why: &str| {
        let answer: Answer = site.post(path, body);
        assert_eq!(answer.status, status, "{path} {body}: {answer:?}");
        assert!(answer.error().contains(why), "{path} {body}: {answer:?}");
    };
    let find = |target: &str| json!({"target": target, "objectives": ["p99<5ms"]});
    refused("/api/v1/finds", &find("http://192.0.2.1/"), 403, "--allow-target");
    refused("/api/v1/finds", &find("tcp://127.0.0.1:25"), 400, "`target`: ");
    refused(
        "/api/v1/finds",
        &json!({"target": "http://127.0.0.1/", "objectives": []}),
        400,
        "`objectives`: ",
    );
    refused("/api/v1/finds", &json!({"target": "http://127.0.0.1/"}), 422, "objectives");
    refused("/api/v1/studies", &json!({"study": "quikc"}), 400, "did you mean `quick`?");
    refused("/api/v1/studies", &json!({"study": "/etc/passwd"}), 400, "`study`: unknown study");
    refused("/api/v1/studies", &json!({"study": "quick", "envoy": "/bin/sh"}), 422, "envoy");
    refused("/api/v1/bills", &json!({"configuration": "[]"}), 400, "`configuration`: ");
    refused("/api/v1/bills", &json!({"configuration": PLAIN, "rate": 0.0}), 400, "`rate`: ");
    refused("/api/v1/bills", &json!({"configuration": PLAIN, "request": "/cart"}), 400, "`request`: ");
    assert_eq!(site.get("/api/v1/jobs").json(), json!([]));
}

#[test]
fn a_configuration_that_is_sent_names_no_file_and_brings_no_code() {
    let site = pricing();
    let secret = site.folder.path().join("secret.yaml");
    std::fs::write(&secret, "resources: []\nkey: hunter2\n").unwrap();
    let secret = secret.to_str().unwrap();
    for more in [
        format!("script: {{filename: '{secret}'}}"),
        format!("dynamic_resources: {{lds_config: {{path_config_source: {{path: '{secret}'}}}}}}"),
        format!("dynamic_resources: {{cds_config: {{path: '{secret}'}}}}"),
        "own: {name: x, typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua}}"
            .to_owned(),
    ] {
        let body = json!({"configuration": format!("{PLAIN}\n{more}"), "name": "mine.yaml"});
        let refused = site.post("/api/v1/bills", &body);
        assert_eq!(refused.status, 400, "{more}: {refused:?}");
        let why = refused.error();
        assert!(why.starts_with("`configuration`: mine.yaml"), "{why}");
        assert!(why.contains("`hoptax price FILE` on the machine itself"), "{why}");
        assert!(!why.contains("hunter2") && !why.contains("hoptax-serve-"), "{why}");
    }
    assert_eq!(site.get("/api/v1/jobs").json(), json!([]));
}

#[test]
fn a_configuration_may_be_larger_than_other_requests_and_has_a_limit() {
    let site = pricing();
    // It is read, and is none.
    let large = json!({"configuration": format!("# {}\n[]", "x".repeat(1 << 20))});
    assert_eq!(site.post("/api/v1/bills", &large).status, 400);
    let too_large = json!({"configuration": "x".repeat(9 << 20)});
    assert_eq!(site.post("/api/v1/bills", &too_large).status, 413);
    let other = json!({"study": "x".repeat(100 << 10)});
    assert_eq!(site.post("/api/v1/studies", &other).status, 413);
}

#[test]
fn the_problems_of_a_configuration_are_cut() {
    let taps = "- {filePerTap: {}}\n".repeat(10_000);
    let refused =
        pricing().post("/api/v1/bills", &json!({"configuration": format!("{PLAIN}\nown:\n{taps}")}));
    let why = refused.error();
    assert!(refused.status == 400 && why.len() < 5_000 && why.ends_with('\u{2026}'), "{refused:?}");
}

#[test]
fn the_studies_that_can_be_started_are_listed_with_their_questions_and_what_they_take() {
    let studies = Site::new().get("/api/v1/studies").json();
    let all = studies.as_array().unwrap();
    let has = |name: &str| all.iter().any(|study| study["study"] == name);
    assert!(has("quick") && all.len() > 5, "{studies}");
    assert!(all.iter().all(|study| study["question"].as_str().unwrap().ends_with('?')), "{studies}");
    assert!(all.iter().all(|study| study["takes"].as_str().unwrap().starts_with("about ")), "{studies}");
    assert!(all.iter().all(|study| study["needs"].is_array()), "{studies}");
    assert!(!has("cross-datacenter-php"), "it needs root");
}

#[test]
fn a_search_says_what_it_tries_and_keeps_what_it_found_when_it_is_stopped() {
    let (site, origin) = (Site::new(), Running::origin(""));
    let target = format!("http://{}/", origin.address);
    let wanted = json!({"target": target, "objectives": ["errors<50%"], "min_rate": 10.0, "max_rate": 200.0,
        "connections": 2});
    let started = site.post("/api/v1/finds", &wanted);
    assert_eq!((started.status, started.headers["location"].to_str().unwrap()), (202, "/api/v1/jobs/1"));
    let job = started.json();
    assert_eq!((job["kind"].as_str(), job["name"].as_str()), (Some("find"), Some(target.as_str())), "{job}");
    let has_tried = |job: &Value| {
        let notes = job["notes"].as_array().unwrap();
        notes.iter().any(|note| note.as_str().unwrap().contains("so far"))
    };
    let tried = site.job_when(1, |job| !job["ended_at"].is_null() || has_tried(job));
    assert!(has_tried(&tried), "{tried}");
    let curve = &tried["curves"][0];
    assert!(curve["objective"] == "errors<50%" && curve["limit"].is_number(), "{tried}");
    let first = &curve["trials"][0];
    assert!(first["rate"].as_f64() >= Some(10.0) && first["holds"].is_boolean(), "{tried}");
    assert_eq!(site.stop(1).status, 202);
    let ended = site.ended(1);
    // It may have been quicker than the stop.
    assert!(ended["state"] == "interrupted" || ended["state"] == "done", "{ended}");
    assert!(ended["verdict"].is_string() && ended["problem"].is_null(), "{ended}");
    let result = site.get(&format!("/api/v1/runs/{}/result", ended["run"])).body;
    let result: FindResult = serde_json::from_str(&result).unwrap();
    assert!(!result.trials.is_empty(), "{result:?}");
    assert_eq!(result.ended_by == FindEnd::Interrupt, ended["state"] == "interrupted");
    assert_eq!(site.get("/api/v1/runs").json()["runs"][0]["kind"], "find");
}
