//! The list of the linter's rules, which is a text: its first screen is kept, and all of it is read.

use std::collections::BTreeSet;
use std::fs;

use crate::support::{assert_narrow, root, run};

/// Lines of a screen. The list is longer, because it names everything that it is about: a reader looks for one name, which has its place
/// by the headings and by the alphabet.
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

#[test]
fn rules_are_listed_by_severity() {
    let list = run(["lint", "rules"]).stdout;
    let page = fs::read_to_string(root().join("docs/reference/lint-rules.md")).unwrap();
    let all = page.lines().filter_map(|line| line.strip_prefix("### ")).map(str::to_owned).collect();
    assert_list(&list, &["error", "warning", "info"], &all);
    insta::assert_snapshot!("rules", screen(&list));
}
