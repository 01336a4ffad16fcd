//! Numbers are rounded in one place, `crates/result/src/digits.rs`: a precision in a format string elsewhere would be a second rule for
//! thousands, signs and percentages.

use std::fs;
use std::path::Path;

use crate::support::root;

/// Files that round by a precision of their own, and why.
const EXCEPTIONS: [(&str, &str); 6] = [
    ("result/src/digits.rs", "it is the place"),
    ("load/src/hdr.rs", "the columns of that format have fixed widths"),
    (
        "report/src/environment/differences.rs",
        "it drops the error of binary fractions, and reads the number back",
    ),
    ("report/src/chart.rs", "it rounds a number to significant digits, and reads it back"),
    ("stats/src/scalability.rs", "the crate knows no results"),
    ("subject/src/envoy/release/fetch.rs", "the crate knows no results"),
];

#[test]
fn numbers_are_rounded_in_one_place() {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        read_folder(&folder.join("src"), &format!("{name}/src"), &mut found);
    }
    let is_in = |file: &str, place: &str| place.starts_with(&format!("{file}:"));
    let elsewhere: Vec<&String> =
        found.iter().filter(|place| !EXCEPTIONS.iter().any(|(file, _)| is_in(file, place))).collect();
    assert!(elsewhere.is_empty(), "use `grouped`, `percent` or `signed` of hoptax_result: {elsewhere:#?}");
    for (file, why) in EXCEPTIONS {
        assert!(found.iter().any(|place| is_in(file, place)) && !why.is_empty(), "{file} is no exception");
    }
}

#[test]
fn a_precision_is_told_from_what_looks_like_one() {
    for line in [
        "{:.0} %",
        "a {rate:+.1}/s",
        "{us:>9.2}",
        "{0:.0}",
        "{value:.decimals$}",
        "{value:.*e}",
        "{a} {b:.3}",
    ] {
        assert!(has_precision(line), "{line}");
    }
    for line in [
        "{rate}/s",
        "{:>10}",
        "{value:?}",
        "- {name: old, envoy: 1.39.3}",
        "{address: 0.0.0.0}",
        "{ low, .. }",
        "{a::b(0.5)}",
        "// {:.0}",
    ] {
        assert!(!has_precision(line), "{line}");
    }
}

/// Adds the lines of a folder with a precision, each with its file and its number. Tests may round as they like.
fn read_folder(folder: &Path, name: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let name = format!("{name}/{file}");
        if path.is_dir() {
            if file != "tests" {
                read_folder(&path, &name, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") && file != "tests.rs" {
            let text = fs::read_to_string(&path).unwrap();
            let lines = text.lines().zip(1..).take_while(|(line, _)| *line != "mod tests {");
            let of_numbers = lines.filter(|(line, _)| has_precision(line));
            found.extend(of_numbers.map(|(line, number)| format!("{name}:{number}: {}", line.trim())));
        }
    }
}

/// Returns true if a line of code has a place of a format string with a precision: `{:.1}`, `{share:+.2}`.
fn has_precision(line: &str) -> bool {
    !line.trim_start().starts_with("//")
        && line.split('{').skip(1).filter_map(|part| part.split_once('}')).any(|(place, _)| {
            let Some((argument, form)) = place.split_once(':') else { return false };
            let width = form.trim_start_matches(|c: char| "<>^+#".contains(c) || c.is_ascii_digit());
            argument.chars().all(|c| c.is_alphanumeric() || c == '_')
                && width.strip_prefix('.').is_some_and(|precision| !precision.is_empty())
        })
}
