//! Every file of the tests of a crate is a module of a program that Cargo builds: one that is forgotten would be compiled by nobody, and its
//! tests would pass.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::root;

/// A source file, and the folder of the modules that it names.
type Source = (PathBuf, PathBuf);

#[test]
fn every_file_of_tests_is_a_module_of_a_program() {
    let forgotten = forgotten(&root().join("crates"));
    assert_eq!(forgotten, [""; 0], "name each in the file above it: `mod NAME;`");
}

#[test]
fn a_file_that_no_module_names_is_found_in_every_kind_of_program() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("found/Cargo.toml", ""),
        ("found/src/lib.rs", "#[cfg(test)]\n#[path = \"../tests/unit/mod.rs\"]\nmod unit;\n"),
        ("found/tests/unit/mod.rs", "mod inner;\n"),
        ("found/tests/unit/inner.rs", ""),
        ("found/tests/unit/forgotten.rs", ""),
        ("found/tests/alone.rs", "mod folder;\n"),
        ("found/tests/folder/mod.rs", ""),
        ("found/tests/program/main.rs", "#[path = \"../support/mod.rs\"]\nmod x;\n\nmod one;\n// mod two;\n"),
        ("found/tests/program/one.rs", "mod part;\n"),
        ("found/tests/program/one/part.rs", ""),
        ("found/tests/program/one/forgotten.rs", ""),
        ("found/tests/program/two.rs", ""),
        ("found/tests/support/mod.rs", "pub(crate) mod study;\n"),
        ("found/tests/support/study.rs", ""),
        ("stated/Cargo.toml", "autotests = false\n[[test]]\nname = \"all\"\npath = \"tests/main.rs\"\n"),
        ("stated/tests/main.rs", "mod named;\n"),
        ("stated/tests/named.rs", ""),
        ("stated/tests/forgotten.rs", ""),
        ("stated/tests/data.json", ""),
    ] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    assert_eq!(
        forgotten(folder.path()),
        [
            "found/tests/program/one/forgotten.rs",
            "found/tests/program/two.rs",
            "found/tests/unit/forgotten.rs",
            "stated/tests/forgotten.rs",
        ]
    );
}

/// The files of the tests of all crates in a folder that are no modules of a program.
fn forgotten(crates: &Path) -> Vec<String> {
    let crates = crates.canonicalize().unwrap();
    let (mut all, mut next) = (BTreeSet::new(), Vec::new());
    for of_crate in entries(&crates) {
        all.extend(sources(&of_crate.join("tests")));
        next.extend(programs(&of_crate));
    }
    let mut reached = BTreeSet::new();
    while let Some((file, folder)) = next.pop() {
        if !reached.contains(&file) {
            next.extend(modules(&file, &folder));
            reached.insert(file);
        }
    }
    let forgotten = all.difference(&reached);
    forgotten.map(|path| path.strip_prefix(&crates).unwrap().display().to_string()).collect()
}

/// The tests of a crate that Cargo builds, and those that are modules of its unit tests.
fn programs(of_crate: &Path) -> Vec<Source> {
    let manifest = fs::read_to_string(of_crate.join("Cargo.toml")).unwrap();
    let tests = of_crate.join("tests");
    let files: Vec<PathBuf> = if manifest.contains("autotests = false") {
        let stated = manifest.lines().filter_map(|line| line.strip_prefix("path = \"")?.strip_suffix('"'));
        stated.map(|path| of_crate.join(path)).collect()
    } else {
        let program = |path: PathBuf| if path.is_dir() { path.join("main.rs") } else { path };
        entries(&tests).into_iter().map(program).filter(|path| path.is_file()).collect()
    };
    let of_units = modules(&of_crate.join("src/lib.rs"), &of_crate.join("src"));
    let programs = files.into_iter().map(|file| (file.clone(), file.parent().unwrap().to_owned()));
    programs.chain(of_units).filter(|(file, _)| file.starts_with(&tests)).collect()
}

/// The modules that a source file names, whose files are in `folder` unless it states their paths.
fn modules(file: &Path, folder: &Path) -> Vec<Source> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut stated = None;
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("#[path = \"").and_then(|rest| rest.strip_suffix("\"]")) {
            stated = Some(path);
        }
        // Other attributes of a module may follow its path.
        if line.starts_with("#[") {
            continue;
        }
        let path = stated.take();
        let module = line.strip_prefix("pub(crate) ").unwrap_or(line);
        let name = module.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';'));
        let Some(name) = name else { continue };
        let own = folder.join(name);
        let candidates = match path.map(|path| file.parent().unwrap().join(path)) {
            Some(path) => vec![(path.clone(), path.parent().unwrap().to_owned())],
            None => vec![(folder.join(format!("{name}.rs")), own.clone()), (own.join("mod.rs"), own)],
        };
        found.extend(candidates.into_iter().filter_map(|(file, of_children)| {
            // A path is compared with those of others.
            Some((file.canonicalize().ok()?, of_children))
        }));
    }
    found
}

/// The source files in a folder and below it.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let below = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    let is_source = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "rs");
    entries(folder).into_iter().flat_map(below).filter(is_source).collect()
}

/// The files and folders in a folder; none if it does not exist.
fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}
