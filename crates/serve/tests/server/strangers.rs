//! Results that strangers wrote: every text of a real result of every kind is markup, a formula, and a command of a terminal.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use hoptax_report::render::terminal;
use hoptax_report::{Style, documents};
use serde_json::{Value, json};

use crate::support::{Answer, Site};

/// A formula of spreadsheets, markup that would take over a page which inserts text as markup, what clears a terminal, and what reverses the
/// text behind it.
const EVIL: &str = "=1+1</script><script>alert(1)</script><img src=x onerror=alert(1)>'\"<!-- {{ document }}{{ title }}\
                    \u{1b}[2J\u{202e}";

/// Visits all values that are neither objects nor lists, each with its shape: its path without the places in lists.
fn visit<F: FnMut(&str, &mut Value)>(value: &mut Value, shape: &str, visitor: &mut F) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                visit(field, &format!("{shape}/{name}"), visitor);
            }
        }
        Value::Array(values) => {
            for one in values {
                visit(one, &format!("{shape}/*"), visitor);
            }
        }
        _ => visitor(shape, value),
    }
}

/// A result with [`EVIL`] before every text that may be any, and the number of shapes of such texts. What stands behind it keeps names
/// apart, and the same names the same.
fn with_evil_texts(result: &str) -> (String, usize) {
    let mut result: Value = serde_json::from_str(result).unwrap();
    let mut shapes = BTreeSet::new();
    visit(&mut result, "", &mut |shape: &str, value: &mut Value| {
        if value.is_string() {
            shapes.insert(shape.to_owned());
        }
    });
    let mut changed = 0;
    for of_text in shapes {
        let mut candidate = result.clone();
        visit(&mut candidate, "", &mut |shape: &str, value: &mut Value| {
            if let (true, Value::String(text)) = (shape == of_text, value) {
                text.insert_str(0, EVIL);
            }
        });
        // A word of hoptax, such as a verdict, can be no other text.
        if documents::of_text(&candidate.to_string(), |_| false).is_ok() {
            result = candidate;
            changed += 1;
        }
    }
    (result.to_string(), changed)
}

fn scripts(answer: &Answer) -> usize {
    answer.body.matches("<script").count()
}

#[test]
fn no_text_of_any_kind_of_result_is_markup_on_a_page_a_formula_in_a_table_or_a_command_of_a_terminal() {
    let site = Site::new();
    let clean = scripts(&site.get("/"));
    assert!(clean > 0, "a page has its own script");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/recorded");
    let (mut kinds, mut shown) = (0, 0);
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (text, changed) = with_evil_texts(&fs::read_to_string(&path).unwrap());
        assert!(changed > 0, "{name}");
        let run = site.store(&text);
        for path in [format!("/runs/{run}"), format!("/api/v1/runs/{run}/html")] {
            let page = site.get(&path);
            assert_eq!(page.status, 200, "{name}: {path}");
            assert_eq!(scripts(&page), clean, "{name}: {path}");
            for markup in ["<script>alert", "<img src=x", "<!-- {{"] {
                assert!(!page.body.contains(markup), "{name}: {path}: {markup}");
            }
        }
        let document = site.get(&format!("/api/v1/runs/{run}"));
        assert_eq!(document.status, 200, "{name}");
        shown += usize::from(document.body.contains("alert(1)"));
        let table = site.get(&format!("/api/v1/runs/{run}/csv"));
        assert_eq!(table.status, 200, "{name}");
        // A quotation mark within a text is doubled, so these begin a cell.
        assert!(!table.body.contains("\n\"=") && !table.body.contains(",\"="), "{name}: {}", table.body);
        let document = documents::of_text(&text, |_| false).unwrap();
        let style = Style { width: 100, colour: false };
        for screen in [terminal::screen(&document, style), terminal::details(&document, style)] {
            let commands = |c: char| c == '\u{202e}' || (c.is_control() && !matches!(c, '\n' | '\t'));
            assert!(!screen.contains(commands), "{name}: {}", screen.escape_debug());
        }
        kinds += 1;
    }
    assert!(kinds > 15 && shown > kinds / 2, "{shown} of {kinds} documents have a text of strangers");
    let history = site.get("/");
    assert_eq!((history.status, scripts(&history)), (200, clean));
    assert!(history.body.contains("alert(1)") && !history.body.contains("<script>alert"));
}

#[test]
fn a_page_that_says_why_there_is_none_has_no_markup_of_a_stranger() {
    let site = Site::new();
    let clean = scripts(&site.get("/"));
    for path in [
        "/runs/%3Cscript%3Ealert(1)%3C/script%3E",
        "/runs/%3Cscript%3E",
        "/compare?%3Cscript%3Ealert(1)%3C%2Fscript%3E=1",
        "/compare?runs=%3Cscript%3Ealert(1)%3C%2Fscript%3E",
    ] {
        let page = site.get_as_browser(path);
        assert!((400..500).contains(&page.status), "{path}: {}", page.status);
        assert_eq!(scripts(&page), clean, "{path}");
        assert!(!page.body.contains("<script>alert"), "{path}");
    }
}

#[test]
fn an_error_that_repeats_what_a_stranger_wrote_is_no_page() {
    let site = Site::new();
    let evil = "<script>alert(1)</script>";
    for answer in [
        site.post("/api/v1/loads", &json!({"target": format!("http://192.0.2.1:1/{evil}")})),
        site.post("/api/v1/loads", &json!({"target": evil})),
        site.post("/api/v1/loads", &json!({"target": "http://127.0.0.1:1/", "protocol": evil})),
        site.post("/api/v1/loads", &json!({"target": "http://127.0.0.1:1/", evil: 1})),
        site.get("/api/v1/runs?limit=%3Cscript%3E"),
        site.get("/api/v1/runs?%3Cscript%3E=1"),
        site.get("/runs/%3Cscript%3Ealert(1)%3C/script%3E"),
        site.get("/runs/%3Cscript%3E"),
        site.get("/api/v1/runs/1/%3Cscript%3E"),
        site.get("/api/v1/jobs/%3Cscript%3E"),
    ] {
        assert!((400..500).contains(&answer.status), "{answer:?}");
        assert_eq!(answer.headers["content-type"], "application/json", "{answer:?}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff", "{answer:?}");
        assert!(!answer.error().is_empty(), "{answer:?}");
    }
}
