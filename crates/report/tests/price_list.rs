//! All outputs of a real result, the price list of the documentation. They are written to the temporary folder of tests
//! for inspection; `HOPTAX_RESULT` selects another result.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::{env, fs};

use hoptax_report::{Style, html, markdown, terminal};
use hoptax_result::{ArmKind, StudyResult};

fn written(name: &str, text: &str) {
    fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name), text).unwrap();
}

#[test]
fn every_function_of_the_price_list_is_in_every_output() {
    let usual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/price-list/result.json");
    let path = env::var("HOPTAX_RESULT").unwrap_or_else(|_| usual.to_owned());
    let result: StudyResult = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let page = html::study(&result).unwrap();
    let outputs = [
        ("report.html", page.clone()),
        ("report.md", markdown::study(&result)),
        ("report.txt", terminal::study(&result, Style { width: 120, colour: false })),
    ];
    for (name, text) in &outputs {
        written(name, text);
        for arm in result.arms.iter().filter(|arm| arm.kind == ArmKind::Function) {
            assert!(
                text.contains(&arm.id.replace('/', if *name == "report.html" { "&#x2f;" } else { "/" })),
                "{name}: {}",
                arm.id
            );
        }
    }
    // Nearly all costs have a point on the axis of the first plot.
    let plot = page.split("</svg>").next().unwrap();
    let costs = result.arms.iter().filter(|arm| arm.cost.cpu_us_per_request.is_some()).count();
    let points = plot.matches("class=\"point\"").count();
    assert!(points + 2 >= costs && points <= costs, "{points} of {costs}");
}
