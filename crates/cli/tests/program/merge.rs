//! `hoptax runs merge` and `hoptax convert export`, as run by users and scripts.

use std::fs;

use hoptax_result::StudyResult;
use serde_json::{Value, json};

use crate::support::{TOLERANT, UNHURRIED, checked, origin, run};

#[test]
fn results_of_two_generators_are_one_and_a_missing_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (a, b, c, all) = (path("a.json"), path("b.json"), path("c.json"), path("all.json"));
    let (_origin, url) = origin(&[]);
    let load = ["load", "-n", "400", "-c", "2", "--warmup", "0s", "--json", &a, &url];
    run(load.into_iter().chain(UNHURRIED).chain(TOLERANT)).succeeded();
    let one = checked("load", &fs::read_to_string(&a).unwrap());
    // The result of a second generator with the same response times.
    let mut other = one.clone();
    other["plan"]["seed"] = json!(2);
    fs::write(&b, other.to_string()).unwrap();

    let ran = run(["runs", "merge", "--details", &a, &b, &c, "--json", &all]).succeeded();
    assert!(ran.stdout.contains("merged from 2 runs") && ran.stdout.contains("left out"), "{}", ran.stdout);
    let merged = checked("load", &fs::read_to_string(&all).unwrap());
    assert_eq!((&merged["verdict"], &merged["book"]["answered"]), (&json!("caution"), &json!(800)));
    assert_eq!(merged["latency"]["response"]["p50_us"], one["latency"]["response"]["p50_us"]);
    assert_eq!(merged["plan"]["connections"], 4);
    let left_out = merged["findings"].as_array().unwrap().iter().find(|one| one["id"] == "runs-left-out");
    let message = left_out.unwrap()["message"].as_str().unwrap();
    assert!(
        message.contains("c.json`, 1 of 3 runs, is not in the result: the file does not exist"),
        "{message}"
    );

    let hgrm = run(["convert", "export", &all, "--to", "hgrm"]).stdout;
    assert!(hgrm.contains("Total count    =          800]") && hgrm.contains("# verdict: caution"), "{hgrm}");
    let fortio = path("fortio.json");
    fs::write(&fortio, run(["convert", "export", &all, "--to", "fortio"]).stdout).unwrap();
    let imported = checked("load", &run(["convert", "import", "fortio", &fortio, "--json", "-"]).stdout);
    assert_eq!(imported["book"]["answered"], 800);
}

#[test]
fn files_that_cannot_be_added_are_listed_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (study, damaged, list) = (path("study.json"), path("damaged.json"), path("list.json"));
    fs::write(&study, json!({"format": StudyResult::FORMAT}).to_string()).unwrap();
    fs::write(&damaged, "{\"format\": \"hoptax.lo").unwrap();
    fs::write(&list, Value::Array(Vec::new()).to_string()).unwrap();
    let ran = run(["runs", "merge", &study, &damaged, &list]);
    assert_eq!(ran.code, Some(2));
    for expected in [
        &format!("study.json` is `{}`, not a result of `hoptax load --json`", StudyResult::FORMAT),
        "list.json` is another JSON file, not a result",
        "damaged.json`: its end is missing: EOF",
        "no run is left to merge",
    ] {
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
    }
    assert_eq!(run(["runs", "merge", &study]).code, Some(2));
    run(["convert", "export", &study, "--to", "hgrm"]).fails(2, &format!("it is `{}`", StudyResult::FORMAT));
}
