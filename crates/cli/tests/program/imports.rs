//! `hoptax convert import` of outputs in which most requests failed, or that do not tell: the screen, the file, the exports and the stored
//! numbers of each.

use std::fs;

use serde_json::Value;

use crate::support::{checked, run};

/// A file of the crate `tools`.
fn failures(file: &str) -> String {
    format!("{}/../tools/failures/{file}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_different_length_is_no_failure() {
    let ran = run(["convert", "import", "ab", &failures("ab-2.4-non-2xx.txt")]).succeeded();
    assert!(ran.stdout.contains("19,850 requests were answered, 7,940/s; 150 failed."), "{}", ran.stdout);
}

#[test]
fn overlapping_counters_are_ranges_in_all_outputs() {
    let file = failures("wrk-4-statuses.txt");
    let ran = run(["convert", "import", "wrk", &file]);
    assert!(
        ran.stdout.contains("88 to 100 requests were answered, 9 to 10/s; 4,940 to 4,952 failed."),
        "{}",
        ran.stdout
    );
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("result.json").display().to_string();
    assert_eq!(run(["convert", "import", "wrk", &file, "--json", &json]).code, Some(0));
    let result = checked("load", &fs::read_to_string(&json).unwrap());
    assert_eq!(
        (&result["imported"]["answered"]["at_least"], &result["imported"]["answered"]["at_most"]),
        (&88.into(), &100.into())
    );
    for pointer in [
        "/book/answered",
        "/book/failed",
        "/book/planned",
        "/rate/achieved",
        "/rate/offered",
        "/plan/timeout_s",
    ] {
        assert_eq!(result.pointer(pointer), Some(&Value::Null), "{pointer}");
    }
    // No export states an unknown number as 0.
    let exported: Value =
        serde_json::from_str(&run(["convert", "export", &json, "--to", "k6"]).stdout).unwrap();
    assert!(exported["metrics"].get("http_reqs").is_none(), "{exported}");
    let exported: Value =
        serde_json::from_str(&run(["convert", "export", &json, "--to", "nighthawk"]).stdout).unwrap();
    assert_eq!(exported["results"][0]["counters"], Value::Null);
    let store = folder.path().join("store.db").display().to_string();
    run(["runs", "import", &json, "--store", &store]).succeeded();
    run(["runs", "merge", &json, &json]).fails(2, "was imported from wrk");
}

#[test]
fn what_a_file_does_not_state_is_printed_as_not_known() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("times.hgrm").display().to_string();
    fs::write(&file, "0.1 0.5 1\n1.0 1.0 2\n").unwrap();
    let ran = run(["convert", "import", "--details", "hgrm", &file]);
    assert!(ran.stdout.contains("a load that is not known\n"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("0 to 2 requests were answered; how many failed is not known."),
        "{}",
        ran.stdout
    );
}

#[test]
fn two_runs_in_one_text_are_refused_with_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wrk.txt").display().to_string();
    let one = fs::read_to_string(failures("wrk-4-statuses.txt")).unwrap();
    fs::write(&file, format!("$ wrk a\n{one}$ wrk b\n{one}")).unwrap();
    run(["convert", "import", "wrk", &file])
        .fails(2, "it has 2 runs, which begin in lines 2 and 18: keep one");
}

#[test]
fn a_text_in_utf_16_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wrk.txt").display().to_string();
    let text = fs::read_to_string(failures("wrk-4-statuses.txt")).unwrap();
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(&file, [&[0xff, 0xfe], utf16.as_slice()].concat()).unwrap();
    for arguments in [&["convert", "import", "wrk", &file][..], &["price", &file, "--dry-run"]] {
        let refused = run(arguments.iter().copied());
        let is_named =
            refused.stderr.contains("it is in UTF-16") && refused.stderr.contains("iconv -f UTF-16 -t UTF-8");
        assert!(refused.code == Some(2) && is_named, "{}", refused.stderr);
    }
}
