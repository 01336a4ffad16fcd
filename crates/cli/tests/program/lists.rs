//! The first screens of commands that list what the program knows: they depend on no machine and on no result.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::support::{assert_narrow, root, run};

/// Lines of a screen. The lists are longer, because each names everything that it is about: a reader looks for one name, which has its
/// place by the headings and by the alphabet.
const LINES: usize = 40;

/// The first screen of a list.
fn screen(list: &str) -> String {
    list.lines().take(LINES).collect::<Vec<&str>>().join("\n")
}

/// The names below each heading of a list, and nothing before the first heading.
fn names(list: &str) -> Vec<(&str, Vec<&str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in list.lines().filter(|line| !line.is_empty()) {
        if let Some(heading) = line.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
            groups.push((heading, Vec::new()));
            continue;
        }
        let group = groups.last_mut().unwrap_or_else(|| panic!("before the first heading: {line}"));
        let entry = line.strip_prefix("  ").unwrap_or_else(|| panic!("below no heading: {line}"));
        // What continues an entry is further to the right.
        group.1.extend(entry.split(' ').next().filter(|name| !name.is_empty()));
    }
    groups
}

/// Asserts that a list fits, that it has these headings in this order, names in the order of the alphabet below each, and each of `all` once.
fn assert_list(list: &str, headings: &[&str], all: &BTreeSet<String>) {
    assert_narrow(list);
    let groups = names(list);
    let found: Vec<&str> = groups.iter().map(|(heading, _)| *heading).collect();
    assert_eq!(found, headings, "{list}");
    for (heading, names) in &groups {
        assert!(!names.is_empty() && names.is_sorted(), "{heading}: {names:?}");
    }
    let listed: Vec<String> =
        groups.iter().flat_map(|(_, names)| names).map(|name| (*name).to_owned()).collect();
    assert_eq!(listed.len(), all.len(), "{list}");
    assert_eq!(&listed.into_iter().collect::<BTreeSet<String>>(), all);
}

/// The ids of all entries of a list as JSON.
fn ids(json: &str) -> BTreeSet<String> {
    let json: Value = serde_json::from_str(json).unwrap();
    json.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn functions_are_listed_by_family() {
    let list = run(["functions"]).stdout;
    let families = [
        "routing",
        "traffic shaping",
        "security",
        "transformation",
        "observability",
        "resilience",
        "extension",
        "server",
        "control",
    ];
    assert_list(&list, &families, &ids(&run(["functions", "--json"]).stdout));
    insta::assert_snapshot!("functions", screen(&list));
}

#[test]
fn checks_are_listed_by_what_they_judge() {
    let list = run(["trust", "checks"]).stdout;
    let judged = [
        "every load",
        "every load and every study",
        "every load and every study and every timeline",
        "every set of sittings",
        "every study",
        "every study and every timeline",
        "every timeline",
    ];
    assert_list(&list, &judged, &ids(&run(["trust", "checks", "--json"]).stdout));
    insta::assert_snapshot!("checks", screen(&list));
}

#[test]
fn rules_are_listed_by_severity() {
    let list = run(["lint", "rules"]).stdout;
    let page = fs::read_to_string(root().join("docs/reference/lint-rules.md")).unwrap();
    let all = page.lines().filter_map(|line| line.strip_prefix("### ")).map(str::to_owned).collect();
    assert_list(&list, &["error", "warning", "info"], &all);
    insta::assert_snapshot!("rules", screen(&list));
}
