//! All outputs of a real result, the price list of the documentation with its sittings. They are written to the temporary
//! folder of tests for inspection; `HOPTAX_RESULT` selects another result.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::{env, fs};

use hoptax_report::render::{html, markdown, terminal};
use hoptax_report::{Style, documents};
use hoptax_result::{ArmKind, SittingsResult, StudyResult};
use serde::de::DeserializeOwned;

fn written(name: &str, text: &str) {
    fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name), text).unwrap();
}

fn published(name: &str) -> String {
    format!("{}/../../docs/results/price-list/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn read<T: DeserializeOwned>(path: &str) -> T {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Every function of the result is in the output.
fn assert_complete(result: &StudyResult, name: &str, text: &str) {
    for arm in result.arms.iter().filter(|arm| arm.kind == ArmKind::Function) {
        assert!(text.contains(&arm.id), "{name}: {}", arm.id);
    }
}

#[test]
fn every_function_of_the_price_list_is_in_every_output() {
    let path = env::var("HOPTAX_RESULT").unwrap_or_else(|_| published("result.json"));
    let result: StudyResult = read(&path);
    let document = documents::study(&result);
    let outputs = [
        ("report.html", html::page(&document).unwrap()),
        ("report.md", markdown::text(&document)),
        ("report.txt", terminal::details(&document, Style { width: 100, colour: false })),
    ];
    for (name, text) in &outputs {
        written(name, text);
        assert_complete(&result, name, text);
    }
}

#[test]
fn every_function_of_the_price_list_is_in_the_outputs_of_its_sittings() {
    let one: StudyResult = read(&published("result.json"));
    let sittings: SittingsResult = read(&published("sittings.json"));
    let document = documents::sittings(&sittings, &one);
    let outputs =
        [("sittings.html", html::page(&document).unwrap()), ("sittings.md", markdown::text(&document))];
    for (name, text) in &outputs {
        written(name, text);
        assert_complete(&one, name, text);
    }
}
