//! The limits of strangers and their pages.

use std::io;

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, CACHE_CONTROL, CONNECTION,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, ORIGIN, REFERRER_POLICY, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, Request};
use futures_util::{StreamExt, stream};
use hoptax_serve::Options;
use serde_json::json;

use crate::support::{OWN, Running, Site, TOKEN, asking, load, open, posting};

/// Paths of every kind that exist once a run is stored.
const PATHS: [&str; 10] = [
    "/",
    "/runs/1",
    "/metrics",
    "/api/v1/openapi.json",
    "/api/v1/runs",
    "/api/v1/runs/1",
    "/api/v1/runs/1/result",
    "/api/v1/runs/1/csv",
    "/api/v1/runs/1/html",
    "/api/v1/jobs",
];

fn with_token(path: &str, authorization: Option<&str>) -> Request<Body> {
    let request = Request::builder().uri(path).header(HOST, "192.0.2.1:8419");
    let request = match authorization {
        Some(value) => request.header(AUTHORIZATION, value),
        None => request,
    };
    request.body(Body::empty()).unwrap()
}

#[test]
fn nothing_is_answered_without_the_token() {
    let site = Site::with(open);
    site.store_load();
    let wrong = format!("Bearer {}", TOKEN.replace('f', "e"));
    let short = format!("Bearer {}", &TOKEN[1..]);
    for path in PATHS.into_iter().chain(["/api/v1/jobs/1/events", "/none"]) {
        for shown in [None, Some(wrong.as_str()), Some(short.as_str()), Some("Bearer"), Some(TOKEN)] {
            let answer = site.answer(with_token(path, shown));
            assert_eq!(answer.status, 401, "{path} {shown:?}");
            assert!(answer.error().contains("token") && !answer.body.contains(TOKEN), "{path}");
            assert!(answer.headers[WWW_AUTHENTICATE].to_str().unwrap().starts_with("Basic "), "{path}");
            assert_eq!(answer.headers[CONNECTION], "close", "{path}");
        }
    }
    for path in PATHS {
        let right = format!("Bearer {TOKEN}");
        assert_eq!(site.answer(with_token(path, Some(&right))).status, 200, "{path}");
    }
    let text = site.answer(with_token("/metrics", Some(&format!("Bearer {TOKEN}")))).body;
    assert!(text.contains("hoptax_serve_refused_total{reason=\"token\"} 60"), "{text}");
}

#[test]
fn a_name_of_a_stranger_that_resolves_to_the_server_reads_nothing() {
    let site = Site::new();
    site.store_load();
    for path in PATHS {
        for host in ["evil.test:8419", "192.0.2.1:8419", "localhost.evil.test:8419"] {
            let request = Request::builder().uri(path).header(HOST, host).body(Body::empty()).unwrap();
            let answer = site.answer(request);
            assert_eq!(answer.status, 421, "{path} {host}");
        }
        let without = Request::builder().uri(path).body(Body::empty()).unwrap();
        assert_eq!(site.answer(without).status, 421, "{path}");
        assert_eq!(site.get(path).status, 200, "{path}");
    }
}

#[test]
fn a_server_behind_a_name_is_asked_by_that_name_and_by_no_other() {
    let site = Site::with(|options| Options { hosts: vec!["bench.test".parse().unwrap()], ..options });
    for (host, status) in [("bench.test", 200), ("BENCH.test:443", 200), (OWN, 200), ("a.bench.test", 421)] {
        let request = Request::builder().uri("/api/v1/runs").header(HOST, host).body(Body::empty()).unwrap();
        assert_eq!(site.answer(request).status, status, "{host}");
    }
    // Its pages may start loads, and those of others may not, also if they name it.
    for (origin, status) in
        [("https://bench.test", 400), ("http://bench.test", 400), ("https://evil.test", 403), ("null", 403)]
    {
        let request = Request::builder().method("POST").uri("/api/v1/loads").header(HOST, "bench.test");
        let request = request.header(ORIGIN, origin).header(CONTENT_TYPE, "application/json");
        let answer = site.answer(request.body(Body::from(json!({"target": "x"}).to_string())).unwrap());
        assert_eq!(answer.status, status, "{origin}: {answer:?}");
    }
}

#[test]
fn a_page_of_another_server_starts_and_stops_nothing() {
    let site = Site::new();
    let origin = Running::origin("");
    let started = site.post("/api/v1/loads", &load(origin.address, "1h"));
    assert_eq!(started.status, 202, "{started:?}");
    for foreign in ["http://evil.test", "null", "http://127.0.0.1:3000", "https://127.0.0.1"] {
        for (method, path) in
            [("POST", "/api/v1/loads"), ("POST", "/api/v1/jobs/1/stop"), ("OPTIONS", "/api/v1/loads")]
        {
            let request = asking(method, path)
                .header(ORIGIN, foreign)
                .header(ACCESS_CONTROL_REQUEST_METHOD, "POST")
                .header(CONTENT_TYPE, "application/json");
            let answer =
                site.answer(request.body(Body::from(load(origin.address, "1s").to_string())).unwrap());
            assert_eq!(answer.status, 403, "{method} {foreign}");
            assert!(!answer.headers.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN));
        }
        // A page that asks can tell that something answers.
        let asked = asking("GET", "/api/v1/runs").header(ORIGIN, foreign).body(Body::empty()).unwrap();
        let answer = site.answer(asked);
        assert_eq!(answer.status, 403, "{foreign}");
        assert!(!answer.headers.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN), "{foreign}");
        assert_eq!(answer.headers["cross-origin-resource-policy"], "same-origin");
    }
    assert_eq!(site.get("/api/v1/jobs/1").json()["state"], "running");
    assert_eq!(site.get("/api/v1/jobs").json().as_array().map(Vec::len), Some(1));
    // Images and event streams name no origin.
    for path in ["/", "/api/v1/runs", "/api/v1/jobs/1/events"] {
        let included = asking("GET", path).header("sec-fetch-site", "cross-site");
        let included = included.header("sec-fetch-mode", "no-cors").body(Body::empty()).unwrap();
        assert_eq!(site.answer(included).status, 403, "{path}");
    }
    let link = asking("GET", "/").header("sec-fetch-site", "cross-site").header("sec-fetch-mode", "navigate");
    assert_eq!(site.answer(link.body(Body::empty()).unwrap()).status, 200);
    // A form of another page can send text alone.
    let text = asking("POST", "/api/v1/loads").header(CONTENT_TYPE, "text/plain");
    assert_eq!(site.answer(text.body(Body::from("{}")).unwrap()).status, 415);
    let own = asking("POST", "/api/v1/jobs/1/stop").header(ORIGIN, format!("http://{OWN}"));
    assert_eq!(site.answer(own.body(Body::empty()).unwrap()).status, 202);
    assert_eq!(site.ended(1)["state"], "interrupted");
}

#[test]
fn a_server_without_a_token_is_not_for_those_who_come_by_a_proxy() {
    let site = Site::new();
    let forwarded = asking("GET", "/api/v1/runs").header("x-forwarded-for", "192.0.2.7");
    let answer = site.answer(forwarded.body(Body::empty()).unwrap());
    assert_eq!(answer.status, 403);
    assert!(answer.error().contains("--token-file"), "{answer:?}");
    assert!(site.get("/metrics").body.contains("hoptax_serve_refused_total{reason=\"proxy\"} 1"));
}

/// All spellings of targets are in the tests of those who decide about them.
#[test]
fn a_load_goes_to_no_target_that_is_not_allowed() {
    let local = Site::new();
    let hosts =
        ["192.0.2.1", "3221225985", "[::ffff:192.0.2.1]", "127.0.0.1:1@192.0.2.1", "127.1", "evil.test"];
    for host in hosts {
        let answer = local.post("/api/v1/loads", &json!({"target": format!("http://{host}:1/")}));
        assert_eq!(answer.status, 403, "{host}: {answer:?}");
        assert!(answer.error().contains("--allow-target"), "{answer:?}");
    }
    let count = format!("hoptax_serve_refused_total{{reason=\"target\"}} {}", hosts.len());
    assert!(local.get("/metrics").body.contains(&count), "{count}");
    let itself = local.post("/api/v1/loads", &json!({"target": format!("http://{OWN}/")}));
    assert!(itself.status == 403 && itself.error().contains("itself"), "{itself:?}");
    assert_eq!(local.get("/api/v1/jobs").json(), json!([]));

    // A server that others reach sends to none of its own addresses.
    let others = Site::with(open);
    for host in ["127.0.0.1", "localhost", "[::1]", "127.1", "192.0.2.1", "192.0.2.2:81"] {
        let wanted = json!({"target": format!("http://{host}/")}).to_string();
        let request = Request::builder().method("POST").uri("/api/v1/loads").header(HOST, "192.0.2.1");
        let request =
            request.header(CONTENT_TYPE, "application/json").header(AUTHORIZATION, format!("Bearer {TOKEN}"));
        let answer = others.answer(request.body(Body::from(wanted)).unwrap());
        assert_eq!(answer.status, 403, "{host}: {answer:?}");
    }
}

#[test]
fn a_load_does_not_follow_its_target_to_another_host() {
    let elsewhere = Running::origin("");
    let origin = Running::origin(&format!("status=302&header=location:http://{}/", elsewhere.address));
    let site = Site::new();
    assert_eq!(site.post("/api/v1/loads", &load(origin.address, "200ms")).status, 202);
    let job = site.ended(1);
    assert_eq!(job["state"], "done", "{job}");
    let result = site.get(&format!("/api/v1/runs/{}/result", job["run"])).json();
    assert!(result["statuses"]["302"].as_u64().is_some_and(|count| count > 0), "{}", result["statuses"]);
    assert_eq!(elsewhere.connections(), 0);
}

#[test]
fn no_address_of_a_run_names_a_file() {
    let site = Site::new();
    site.store_load();
    for path in [
        "/runs/..%2f..%2f..%2fetc%2fpasswd",
        "/runs/%2e%2e",
        "/runs/1%2f..%2f..",
        "/runs/store.sqlite",
        "/api/v1/runs/..%2f..%2fetc%2fpasswd",
        "/api/v1/runs/%2fetc%2fpasswd/result",
        "/api/v1/runs/../../etc/passwd",
        "/api/v1/runs/1/..%2f..%2fstore.sqlite",
        "/api/v1/runs/1/%2e%2e%2fresult",
        "/api/v1/runs/1/sqlite",
        "/api/v1/runs/1/exports/..%2fresult",
        "/api/v1/runs/1/exports/sqlite",
        "/api/v1/runs/1/CSV",
        "/api/v1/runs/1%00/result",
        "/api/v1/runs/-1/result",
        "/api/v1/runs/+1/result",
        "/api/v1/runs/1'/result",
        "/api/v1/runs/1%20OR%201=1/result",
        "/api/v1/runs/99999999999999999999/result",
        "/api/v1/runs/2/result",
        "/api/v1/jobs/..%2f1",
    ] {
        let answer = site.get(path);
        assert_eq!(answer.status, 404, "{path}: {answer:?}");
        assert!(!answer.body.contains("root:") && !answer.body.contains("SQLite"), "{path}: {answer:?}");
    }
}

#[test]
fn bodies_that_are_too_large_or_no_load_are_refused() {
    let site = Site::new();
    let large = format!("{{\"target\": \"http://127.0.0.1/{}\"}}", "a".repeat(64 * 1024));
    let answer = site.answer(posting("/api/v1/loads", large));
    assert_eq!(answer.status, 413, "{answer:?}");
    // One that states no length is not read to its end.
    let pieces = stream::repeat_with(|| Ok::<_, io::Error>(vec![b' '; 1024])).take(1024);
    let answer = site.answer(posting("/api/v1/loads", Body::from_stream(pieces)));
    assert_eq!(answer.status, 413, "{answer:?}");
    for (body, status) in [("{", 400), ("[]", 422), ("{\"target\": 1}", 422), ("{\"target\": \"x\"}", 400)] {
        assert_eq!(site.answer(posting("/api/v1/loads", body)).status, status, "{body}");
    }
    let answer =
        site.post("/api/v1/loads", &json!({"target": "http://127.0.0.1:1/", "connections": 1_000_000}));
    assert_eq!(answer.status, 400);
    assert!(answer.error().contains("`connections`"), "{answer:?}");
    // Nothing but a load: neither files of the machine, nor other addresses.
    for field in ["data", "log", "body_file", "resolve", "unix_socket", "proto"] {
        let answer =
            site.post("/api/v1/loads", &json!({"target": "http://127.0.0.1:1/", field: "/etc/passwd"}));
        assert_eq!(answer.status, 422, "{field}: {answer:?}");
    }
    assert_eq!(site.get("/api/v1/jobs").json(), json!([]));
}

#[test]
fn a_thousand_event_streams_are_sixty_four() {
    let site = Site::new();
    let origin = Running::origin("");
    assert_eq!(site.post("/api/v1/loads", &load(origin.address, "1h")).status, 202);
    let follow = || site.response(asking("GET", "/api/v1/jobs/1/events").body(Body::empty()).unwrap());
    let (open, refused): (Vec<_>, Vec<_>) =
        (0..1_000).map(|_| follow()).partition(|stream| stream.status() == 200);
    assert_eq!((open.len(), refused.len()), (64, 936));
    assert!(refused.iter().all(|stream| stream.status() == 429 && stream.headers()["retry-after"] == "5"));
    let text = site.get("/metrics").body;
    for line in [
        "hoptax_serve_event_streams 64",
        "hoptax_serve_event_streams_total 64",
        "hoptax_serve_refused_total{reason=\"streams\"} 936",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    // Whoever leaves makes room.
    drop(open);
    assert_eq!(follow().status(), 200);
    site.stop(1);
    assert_eq!(site.ended(1)["state"], "interrupted");
}

#[test]
fn every_response_has_the_headers_that_protect_it() {
    let site = Site::new();
    site.store_load();
    let foreign = Request::builder().uri("/").header(HOST, "evil.test").body(Body::empty()).unwrap();
    let answers = PATHS.map(|path| site.get(path)).into_iter().chain([
        site.get("/none"),
        site.get("/runs/99"),
        site.post("/api/v1/loads", &json!({})),
        site.answer(asking("PUT", "/").body(Body::empty()).unwrap()),
        site.answer(foreign),
    ]);
    for answer in answers {
        let header = |name: HeaderName| answer.headers[name].to_str().unwrap().to_owned();
        assert_eq!(header(X_CONTENT_TYPE_OPTIONS), "nosniff");
        assert_eq!(header(REFERRER_POLICY), "no-referrer");
        assert_eq!(header(CACHE_CONTROL), "no-store");
        let policy = header(CONTENT_SECURITY_POLICY);
        assert!(
            policy.starts_with("default-src 'none'; ") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        let (_, scripts) = policy.split_once("script-src ").unwrap();
        let scripts = scripts.split(';').next().unwrap();
        assert!(scripts.starts_with("'sha256-") && !scripts.contains(' '), "{scripts}");
    }
}
