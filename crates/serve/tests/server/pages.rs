//! Pages of the server know its API and may ask it; pages in files do not, and may not.

use std::fs;

use axum::http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use hoptax_result::sample;

use crate::support::{Answer, Site};

/// Permission to ask the server that a page comes from.
const CONNECT: &str = "connect-src 'self'";

/// The start tag of the element that a page is drawn in.
fn root(answer: &Answer) -> String {
    let (_, rest) = answer.body.split_once("<body>").unwrap_or_else(|| panic!("{}", answer.status));
    rest.split_once('>').unwrap().0.trim().to_owned()
}

fn header(answer: &Answer) -> &str {
    answer.headers[CONTENT_SECURITY_POLICY].to_str().unwrap()
}

/// The policy that a page has inside, which holds beside that of its response.
fn inside(answer: &Answer) -> &str {
    let (_, rest) = answer.body.split_once("http-equiv=\"Content-Security-Policy\" content=\"").unwrap();
    rest.split_once('"').unwrap().0
}

#[test]
fn pages_are_told_where_the_api_is_and_may_ask_their_own_server_alone() {
    let site = Site::new();
    let empty = site.get("/");
    site.store_load();
    let of_run = "<div id=\"page\" data-api=\"/api/v1\" data-run=\"1\" \
                  data-outputs=\"md=Markdown,html=HTML,csv=CSV,json=JSON\" data-exports=\"smp\"";
    for (answer, tag) in [
        (empty, "<div id=\"page\" data-api=\"/api/v1\""),
        (site.get("/"), "<div id=\"page\" data-api=\"/api/v1\" data-newest=\"1\""),
        (site.get("/runs/1"), of_run),
        (site.get("/runs/01"), of_run),
    ] {
        assert_eq!((answer.status, root(&answer).as_str()), (200, tag));
        for policy in [header(&answer), inside(&answer)] {
            assert_eq!(policy.matches(CONNECT).count(), 1, "{policy}");
            assert!(policy.starts_with("default-src 'none'; "), "{policy}");
        }
        assert!(header(&answer).starts_with(inside(&answer)), "{}", header(&answer));
        assert!(header(&answer).ends_with("frame-ancestors 'none'"), "{}", header(&answer));
    }
}

#[test]
fn the_page_of_a_study_is_told_the_run_of_it_before_on_the_same_machine() {
    let site = Site::new();
    let store = |name: &str, day: u32| {
        let study = sample::study(name, &format!("2026-11-0{day}T00:00:00Z"), 5.0);
        site.store(&serde_json::to_string(&study).unwrap())
    };
    let runs = [store("ours", 1), store("theirs", 2), store("ours", 3)];
    let told = runs.map(|run| {
        let page = root(&site.get(&format!("/runs/{run}")));
        page.split_once(" data-before=\"").map(|(_, rest)| rest.trim_end_matches('"').to_owned())
    });
    assert_eq!(told, [None, None, Some(format!("{} 2026-11-01T00:00:00Z", runs[0]))]);
    // What the page says of both is in their comparison.
    let document = site.get(&format!("/api/v1/compare?runs={},{}", runs[0], runs[2])).json();
    let change = document["changes"][0].as_str().unwrap();
    let said = format!("Run {} against run {}: {change}", runs[2], runs[0]);
    assert_eq!(document["answer"][0], said);
}

#[test]
fn a_page_to_keep_as_a_file_is_told_nothing_and_no_other_response_may_ask_anybody() {
    let site = Site::new();
    site.store_load();
    let kept = site.get("/api/v1/runs/1/html");
    assert_eq!(root(&kept), "<div id=\"page\"");
    assert!(!inside(&kept).contains("connect-src"), "{}", inside(&kept));
    for path in ["/api/v1/runs/1/html", "/api/v1/runs/1", "/metrics", "/runs/9", "/none"] {
        let answer = site.get(path);
        assert!(!header(&answer).contains("connect-src"), "{path}: {}", header(&answer));
    }
}

#[test]
fn a_browser_that_asks_for_no_page_gets_the_runs_that_there_are_and_a_program_json() {
    let site = Site::new();
    site.store_load();
    for (path, status, why) in [
        ("/runs/9", 404, "There is no run 9"),
        ("/runs/x", 404, "A run is named by its number"),
        ("/none", 404, "There is no such page"),
        ("/compare?runs=1", 400, "`runs`"),
    ] {
        let page = site.get_as_browser(path);
        assert_eq!(
            (page.status, page.headers[CONTENT_TYPE].to_str().unwrap()),
            (status, "text/html; charset=utf-8")
        );
        let (_, words) = page.body.split_once("<noscript>").unwrap();
        assert!(words.contains(why), "{path}: {}", words.split_once("</noscript>").unwrap().0);
        assert!(page.body.contains("\"/runs/1\""), "{path}: it leads to the run that there is");
        assert_eq!(root(&page), "<div id=\"page\" data-api=\"/api/v1\" data-newest=\"1\"", "{path}");
        assert!(header(&page).contains(CONNECT), "{path}");
        assert_eq!(site.get(path).headers[CONTENT_TYPE], "application/json", "{path}");
    }
    for path in ["/api/v1/runs/9", "/api/v1/none", "/api"] {
        assert_eq!(site.get_as_browser(path).headers[CONTENT_TYPE], "application/json", "{path}");
    }
    assert_eq!(site.get_as_browser("/runs/1").status, 200);
}

#[test]
fn every_download_that_the_page_of_a_run_links_to_exists() {
    let site = Site::new();
    site.store_load();
    let document = site.get("/api/v1/openapi.json").json();
    let outputs = &document["paths"]["/api/v1/runs/{run}/{output}"]["get"]["parameters"][1]["schema"]["enum"];
    let outputs: Vec<&str> =
        outputs.as_array().unwrap().iter().map(|output| output.as_str().unwrap()).collect();
    let page = root(&site.get("/runs/1"));
    let (_, told) = page.split_once(" data-outputs=\"").unwrap();
    let (told, _) = told.split_once('"').unwrap();
    let linked: Vec<Vec<&str>> = told.split(',').map(|one| one.split('=').collect()).collect();
    assert!(linked.iter().all(|one| one.len() == 2 && !one[1].is_empty()), "{told}");
    assert_eq!(linked.iter().map(|one| one[0]).collect::<Vec<_>>(), outputs);
    for output in outputs.into_iter().chain(["result"]) {
        let answer = site.get(&format!("/api/v1/runs/1/{output}"));
        assert_eq!(answer.status, 200, "{output}");
        assert!(answer.headers.contains_key(CONTENT_TYPE) && !answer.body.is_empty(), "{output}");
    }
}

#[test]
fn every_format_of_another_tool_that_the_page_of_a_run_links_to_exists_and_no_other() {
    let site = Site::new();
    let recorded = |name: &str| {
        let file = format!("{}/../report/recorded/{name}.json", env!("CARGO_MANIFEST_DIR"));
        site.store(&fs::read_to_string(file).unwrap())
    };
    let document = site.get("/api/v1/openapi.json").json();
    let formats =
        &document["paths"]["/api/v1/runs/{run}/exports/{format}"]["get"]["parameters"][1]["schema"]["enum"];
    let formats: Vec<&str> =
        formats.as_array().unwrap().iter().map(|format| format.as_str().unwrap()).collect();
    assert_eq!(formats, ["fortio", "hgrm", "hlog", "smp"]);
    for (kind, expected) in [("load", formats.as_slice()), ("study", &["smp"]), ("find", &[])] {
        let run = recorded(kind);
        let page = root(&site.get(&format!("/runs/{run}")));
        let linked = page.split_once(" data-exports=\"").map(|(_, rest)| rest.trim_end_matches('"'));
        let linked: Vec<&str> = linked.map(|names| names.split(' ').collect()).unwrap_or_default();
        assert_eq!(linked, expected, "{kind}: {page}");
        for format in &formats {
            let answer = site.get(&format!("/api/v1/runs/{run}/exports/{format}"));
            if linked.contains(format) {
                let name = answer.headers[CONTENT_DISPOSITION].to_str().unwrap();
                assert!(answer.status == 200 && name.contains(&format!("run-{run}.{format}")), "{answer:?}");
            } else {
                assert_eq!(answer.status, 404, "{kind} as {format}");
                assert!(answer.error().contains("cannot be converted"), "{answer:?}");
            }
        }
    }
    let unknown = site.get("/api/v1/runs/1/exports/parquet");
    assert!(unknown.status == 404 && unknown.error().contains("fortio, hgrm, hlog, smp"), "{unknown:?}");
}

#[test]
fn an_error_names_the_field_of_the_load_that_it_is_about() {
    let site = Site::new();
    for (target, status) in [("http://192.0.2.1:1/", 403), ("x", 400), ("", 400)] {
        let refused = site.post("/api/v1/loads", &serde_json::json!({"target": target}));
        assert_eq!(refused.status, status, "{target}");
        assert!(refused.error().starts_with("`target`: "), "{refused:?}");
    }
}
