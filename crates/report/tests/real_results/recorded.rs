//! The first screen of each kind of result, of results that were measured or predicted: they are in `recorded`, and
//! `tools/recorded-results` makes them again.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use hoptax_report::documents::{self, KINDS};
use hoptax_report::render::terminal;
use hoptax_report::{Style, documents::kind_of_text};

const STYLE: Style = Style { width: 100, colour: false };

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("recorded")
}

/// The recorded results with their names, in the order of these.
fn recorded() -> Vec<(String, String)> {
    let files = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
    let mut all: Vec<(String, String)> = files
        .map(|path| {
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap())
        })
        .collect();
    all.sort();
    all
}

#[test]
fn the_first_screen_of_each_recorded_result() {
    let screens = recorded().into_iter().map(|(name, text)| {
        let screen = terminal::screen(&documents::of_text(&text).unwrap(), STYLE);
        format!("==== {name}\n{screen}")
    });
    insta::assert_snapshot!(screens.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_first_screen_begins_with_a_sentence_and_fits_a_terminal() {
    for (name, text) in recorded() {
        let screen = terminal::screen(&documents::of_text(&text).unwrap(), STYLE);
        let first = screen.trim_start().lines().next().unwrap();
        assert!(first.chars().count() > 20 && first.contains(' '), "{name}: {first}");
        assert!(screen.lines().count() <= 40, "{name} has {} lines", screen.lines().count());
        for line in screen.lines().filter(|line| !line.starts_with("next: ")) {
            assert!(line.chars().count() <= 100, "{name}: {line}");
        }
    }
}

#[test]
fn every_kind_of_result_is_recorded() {
    let found: BTreeSet<&str> = recorded().iter().map(|(_, text)| kind_of_text(text).unwrap().name).collect();
    let all: BTreeSet<&str> = KINDS.iter().map(|kind| kind.name).collect();
    assert_eq!(found, all);
}
