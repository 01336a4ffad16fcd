//! Measures that an arm has once per round: their names.

use std::fs;
use std::path::{Path, PathBuf};

use hoptax_result::RoundMeasure;

#[test]
fn names_of_measures_differ() {
    for (index, measure) in RoundMeasure::ALL.into_iter().enumerate() {
        for other in RoundMeasure::ALL.into_iter().skip(index + 1) {
            let (one, other) = (measure.definition(), other.definition());
            assert_ne!(
                (one.id, one.field, one.heading, one.short_heading),
                (other.id, other.field, other.heading, other.short_heading)
            );
            assert!(one.id != other.id && one.field != other.field, "{one:?} {other:?}");
        }
        assert!(measure.definition().unit > 0.0);
    }
    assert!(RoundMeasure::MEMORY < RoundMeasure::START_CPU);
}

#[test]
fn measures_are_known_by_their_names_in_findings() {
    let all = serde_json::to_string(&RoundMeasure::ALL).unwrap();
    assert_eq!(serde_json::from_str::<Vec<RoundMeasure>>(&all).unwrap(), RoundMeasure::ALL);
    let error = serde_json::from_str::<RoundMeasure>("\"weight\"").unwrap_err();
    assert!(error.to_string().contains("no measure `weight`"), "{error}");
}

/// Every file of source or template below `folder`, tests excluded.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !["tests", "snapshots", "fixture", "target"].contains(&name.as_str()) {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|kind| kind == "html" || kind == "rs")
            && !name.starts_with("fixture")
        {
            found.push(path);
        }
    }
}

#[test]
fn a_measure_is_named_in_one_file_and_in_the_list() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    sources(crates, &mut files);
    let names = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let text = text.split("#[cfg(test)]").next().unwrap_or_default().to_lowercase();
        ["memory_per_connection", "memoryperconnection", "memory-per-connection", "memory per connection"]
            .iter()
            .any(|name| text.contains(name))
    };
    let mut found: Vec<PathBuf> = files.into_iter().filter(names).collect();
    found.sort();
    let mut expected = vec![
        // The text of `hoptax gate --help`.
        crates.join("cli/src/command/gate.rs"),
        crates.join("result/src/measures.rs"),
        crates.join("result/src/measures/memory_per_connection.rs"),
        // A graph states connections, and this measure is the memory of each.
        crates.join("predict/src/size/memory.rs"),
    ];
    expected.sort();
    assert_eq!(found, expected, "other code loops over `RoundMeasure::ALL`");
}
