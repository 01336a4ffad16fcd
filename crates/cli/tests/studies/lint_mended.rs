//! Files that `hoptax lint --fix` changes: Envoy accepts each of them.

use std::fs;
use std::path::PathBuf;

use hoptax_bootstrap::read_partly;
use hoptax_lint::{ALL, Finding, lint, mend};

use crate::support::proxied::refusal;
use crate::support::root;

/// The files that trigger rules: `fires.yaml` of each rule, and others whose names begin alike.
fn files_that_trigger() -> Vec<PathBuf> {
    let rules = root().join("crates/lint/tests/rules");
    let of_rule = |id: &str| fs::read_dir(rules.join(id)).unwrap().map(|entry| entry.unwrap().path());
    let files = ALL.iter().flat_map(|rule| of_rule(rule.id));
    files.filter(|file| file.file_name().unwrap().to_string_lossy().starts_with("fires")).collect()
}

#[test]
fn envoy_accepts_every_file_that_was_mended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("envoy.yaml");
    let mut checked = 0;
    for file in files_that_trigger() {
        let text = fs::read_to_string(&file).unwrap();
        let read = read_partly("envoy.yaml", &text, None, &|_| Err(String::new())).unwrap();
        let linted = lint(&read);
        // All findings at once, those of severity info too.
        let findings: Vec<&Finding> =
            linted.findings.iter().filter(|finding| !finding.found.fix.is_empty()).collect();
        if findings.is_empty() {
            continue;
        }
        let is_accepted = |text: &str| {
            fs::write(&path, text).unwrap();
            refusal(&path).is_none()
        };
        for one in mend(&read.configuration, &findings).0 {
            if is_accepted(&one.changed) {
                checked += 1;
            } else {
                // Envoy refuses some of these files for what no fix changes.
                assert!(!is_accepted(&text), "{}:\n{}", file.display(), one.changed);
            }
        }
    }
    assert!(checked > 30, "{checked}");
}
