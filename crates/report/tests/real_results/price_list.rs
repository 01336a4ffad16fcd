//! All outputs of a real result, the price list of the documentation with its sittings. They are written to `target/tmp` for
//! inspection; `HOPTAX_RESULT` selects another result.

use std::path::Path;
use std::sync::LazyLock;
use std::{env, fs};

use hoptax_report::render::{html, markdown, terminal};
use hoptax_report::{Style, documents};
use hoptax_result::{ArmKind, SittingsResult, StudyResult};
use serde::de::DeserializeOwned;

/// The published result, which takes long to read.
static PUBLISHED: LazyLock<StudyResult> = LazyLock::new(|| read(&published("result.json")));

fn written(name: &str, text: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tmp");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), text).unwrap();
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
    let given: Option<StudyResult> = env::var("HOPTAX_RESULT").ok().map(|path| read(&path));
    let result = given.as_ref().unwrap_or_else(|| LazyLock::force(&PUBLISHED));
    let document = documents::named_study(result, true);
    let outputs = [
        ("report.html", html::page(&document).unwrap()),
        ("report.md", markdown::text(&document)),
        ("report.txt", terminal::details(&document, Style { width: 100, colour: false })),
    ];
    for (name, text) in &outputs {
        written(name, text);
        assert_complete(result, name, text);
    }
}

#[test]
fn every_function_of_the_price_list_is_in_the_outputs_of_its_sittings() {
    let sittings: SittingsResult = read(&published("sittings.json"));
    let document = documents::sittings(&sittings, &PUBLISHED, true);
    let outputs =
        [("sittings.html", html::page(&document).unwrap()), ("sittings.md", markdown::text(&document))];
    for (name, text) in &outputs {
        written(name, text);
        assert_complete(&PUBLISHED, name, text);
    }
}
