//! Runs beside each other: their document, their page, and what is refused.

use axum::http::header::CONTENT_TYPE;
use hoptax_result::sample;
use serde_json::json;

use crate::support::Site;

/// A site with two studies, runs 1 and 2, and a load, run 3.
fn site() -> Site {
    let site = Site::new();
    for (day, cost_us) in [(1, 5.0), (2, 8.0)] {
        let study = sample::study("ours", &format!("2026-11-0{day}T00:00:00Z"), cost_us);
        site.store(&serde_json::to_string(&study).unwrap());
    }
    site.store_load();
    site
}

#[test]
fn two_studies_are_one_document_with_the_decisions_about_their_costs() {
    let site = site();
    let answer = site.get("/api/v1/compare?runs=1,2");
    assert_eq!((answer.status, &answer.headers[CONTENT_TYPE]), (200, &"application/json".parse().unwrap()));
    let document = answer.json();
    assert_eq!(document["subject"], "runs compare 1 2");
    let overlay = &document["plots"][0]["blocks"][0]["chart"]["overlay"];
    let runs = json!([{"name": "run 1", "tone": "other"}, {"name": "run 2", "tone": "own"}]);
    assert_eq!(overlay["runs"], runs);
    let lua = &overlay["views"][0]["rows"][0];
    assert_eq!((&lua["name"], &lua["differences"][1]["outcome"]), (&json!("lua"), &json!("different")));
    assert_eq!(lua["differences"][0], json!(null), "the reference");
    // The other way round, the other one is the reference.
    let back = site.get("/api/v1/compare?runs=2,1").json();
    let estimate = |document: &serde_json::Value| {
        let row = &document["plots"][0]["blocks"][0]["chart"]["overlay"]["views"][0]["rows"][0];
        row["differences"][1]["value"]["estimate"].as_f64().unwrap()
    };
    assert!((estimate(&document) - 3.0).abs() < 1e-9 && (estimate(&back) + 3.0).abs() < 1e-9, "{back}");
}

#[test]
fn runs_of_several_kinds_have_their_answers_and_environments_side_by_side() {
    let document = site().get("/api/v1/compare?runs=3,1").json();
    assert!(document["answer"][0].as_str().unwrap().starts_with("Run 3: "), "{document}");
    assert_eq!(document["sections"][0]["title"], "Environment differences");
    assert_eq!(document["plots"], json!([]));
}

#[test]
fn the_page_of_compared_runs_has_their_document_and_is_told_which_they_are() {
    let site = site();
    let page = site.get("/compare?runs=1,2");
    assert_eq!(page.status, 200);
    let tag = "<div id=\"page\" data-api=\"/api/v1\" data-compared=\"1,2\">";
    assert_eq!(page.body.matches(tag).count(), 1);
    let document = site.get("/api/v1/compare?runs=1,2").json();
    let (_, inside) = page.body.split_once("id=\"document\">").unwrap();
    let inside: serde_json::Value = serde_json::from_str(inside.split_once("</script>").unwrap().0).unwrap();
    assert_eq!(inside, document);
}

#[test]
fn results_that_would_fill_the_memory_are_not_read() {
    let site = Site::new();
    for day in [1, 2] {
        let study = sample::study("ours", &format!("2026-11-0{day}T00:00:00Z"), 5.0);
        // Each may be shown; together they have more than 32 MiB.
        site.store(&format!("{}{}", serde_json::to_string(&study).unwrap(), " ".repeat(17 << 20)));
    }
    assert_eq!(site.get("/api/v1/runs/1").status, 200);
    for path in ["/compare?runs=1,2", "/api/v1/compare?runs=1,2"] {
        let answer = site.get(path);
        assert_eq!(answer.status, 400, "{path}: {}", answer.body.len());
        let why = answer.error();
        assert!(why.contains("at most 33554432 are read here") && why.contains("runs compare 1 2"), "{why}");
    }
    assert_eq!(site.get("/api/v1/compare?runs=1,9").status, 404, "a run that is not there has no bytes");
}

#[test]
fn only_numbers_of_runs_of_the_store_are_compared() {
    let site = site();
    for (query, status, why) in [
        ("", 400, "`runs`"),
        ("?runs=1", 400, "2 to 5"),
        ("?runs=1,1", 400, "different"),
        ("?runs=1,2&format=csv", 400, "`runs`"),
        ("?runs=1,..%2F..%2Fetc%2Fpasswd", 400, "`runs`"),
        ("?runs=1,9", 404, "no run 9"),
    ] {
        for path in ["/compare", "/api/v1/compare"] {
            let answer = site.get(&format!("{path}{query}"));
            assert_eq!(answer.status, status, "{path}{query}: {answer:?}");
            assert!(answer.error().contains(why), "{path}{query}: {answer:?}");
        }
    }
}
