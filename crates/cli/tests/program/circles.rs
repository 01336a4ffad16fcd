//! Sibling modules, those with one parent, do not import each other in a circle: whoever reads one of them would have to know all.
//!
//! A module imports another if one of its paths leads there, also through a re-export of a module in between. Tests may import any
//! module. A module and its own children may import each other. Calls of methods are no paths: a method that a module adds to the
//! type of another, which calls it, is a circle that this does not see.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::iter::Peekable;
use std::path::Path;
use std::vec::IntoIter;

use crate::support::root;

/// The names from the root of a crate to a module, or to an item of one.
type Names = Vec<String>;

/// The words of a source file, without comments and literals.
type Words = Peekable<IntoIter<String>>;

/// Imports and paths of a module.
#[derive(Default)]
struct Module {
    /// The names that it imports, with the paths that they stand for.
    imports: BTreeMap<String, Names>,
    /// The paths in it.
    paths: BTreeSet<Names>,
}

/// The modules of a crate.
#[derive(Default)]
struct Modules {
    all: BTreeMap<Names, Module>,
    /// Modules of tests.
    tests: BTreeSet<Names>,
}

#[test]
fn no_sibling_modules_import_each_other_in_a_circle() {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        found.extend(circles(&folder.join("src")).into_iter().map(|circle| format!("{name}: {circle}")));
    }
    assert!(
        found.is_empty(),
        "move what they share to a module below them, or pass values instead:\n{}",
        found.join("\n")
    );
}

#[test]
fn a_circle_is_found_however_it_is_closed() {
    let direct = [("a.rs", "use crate::b::B;"), ("b.rs", "fn f() { super::a::f::<B>() }")];
    assert_eq!(found(&direct), ["a -> b (a: b::B), b -> a (b: a::f)"]);
    let exported = [
        ("lib.rs", "pub use b::{self as other, c::C as D};"),
        ("a.rs", "use crate::D;"),
        ("b.rs", ""),
        ("b/c.rs", "use crate::a::A;"),
    ];
    assert_eq!(found(&exported), ["a -> b (a: D), b -> a (b::c: a::A)"]);
    let of_three = [
        ("x.rs", ""),
        ("x/a.rs", "use super::{b::{B, C}, d};"),
        ("x/b.rs", "use crate::x::c;"),
        ("x/c.rs", "mod inner { use super::super::a::*; }"),
        ("x/d.rs", ""),
    ];
    let steps =
        ["x::a -> x::b (x::a: x::b::B)", "x::b -> x::c (x::b: x::c)", "x::c -> x::a (x::c::inner: x::a)"];
    assert_eq!(found(&of_three), [steps.join(", ")]);
}

#[test]
fn tests_texts_comments_and_children_close_no_circle() {
    let text = r##"
        // use crate::a::A;
        /* use crate::a::A; /* */ use crate::a::A; */
        const T: &str = "\"use crate::a::A;";
        const U: &str = r#""use crate::a::A;"#;
        fn f<'a>(x: &'a str) -> char { '"' }
        #[cfg(any(test, feature = "x"))]
        pub(crate) use crate::a::{A};
        #[cfg(test)]
        mod inner { use crate::a::A; }
        #[cfg(test)]
        mod probe;
    "##;
    let without = [
        ("lib.rs", "use a::A;"),
        ("a.rs", "use crate::b::B;\nuse another_crate::{b, c};\nmod child;"),
        ("a/child.rs", "use super::A;\nuse crate::c::C;"),
        ("b.rs", text),
        ("b/probe.rs", "use crate::a::A;"),
        ("c.rs", "use crate::A;"),
    ];
    let without_c = &without[..5];
    assert_eq!(found(without_c), [""; 0]);
    // The import of `c` leads to `a` through the root.
    assert_eq!(found(&without), ["a -> c (a::child: c::C), c -> a (c: A)"]);
    for [test, code] in
        [["#[cfg(test)]\n        mod probe", "mod probe"], ["#[cfg(test)]\n        mod inner", "mod inner"]]
    {
        let text = text.replace(test, code);
        let with =
            without_c.iter().map(|(name, of)| (*name, if *name == "b.rs" { text.as_str() } else { of }));
        let circles = found(&with.collect::<Vec<_>>());
        assert_eq!(circles.len(), 1, "{code}: {circles:?}");
    }
}

/// The circles of a crate with these files.
fn found(files: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    circles(folder.path())
}

/// The circles of a crate, each with its imports and an example of each.
fn circles(sources: &Path) -> Vec<String> {
    let mut modules = Modules::default();
    modules.read_folder(sources, &Vec::new());
    let mut circles = Vec::new();
    for (parent, imports) in modules.imports_of_siblings() {
        let reached: BTreeMap<&String, BTreeSet<&String>> =
            imports.keys().map(|name| (name, reached_from(name, &imports))).collect();
        let mut told: BTreeSet<&String> = BTreeSet::new();
        for (name, of_name) in &reached {
            let is_in = |other: &String| {
                of_name.contains(other) && reached.get(other).is_some_and(|of_other| of_other.contains(name))
            };
            if !is_in(name) || told.contains(name) {
                continue;
            }
            let here =
                |name: &str| parent.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join("::");
            let mut steps = Vec::new();
            for (from, to) in imports.iter().filter(|(from, _)| is_in(from)) {
                told.insert(from);
                let to = to.iter().filter(|(to, _)| is_in(to));
                steps.extend(to.map(|(to, example)| format!("{} -> {} ({example})", here(from), here(to))));
            }
            circles.push(steps.join(", "));
        }
    }
    circles
}

/// Imports between children by parent, with an example of each.
type Siblings = BTreeMap<Names, BTreeMap<String, BTreeMap<String, String>>>;

/// The siblings that a module imports, directly or through others.
fn reached_from<'a>(
    name: &String,
    imports: &'a BTreeMap<String, BTreeMap<String, String>>,
) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&String> = imports.get(name).into_iter().flat_map(BTreeMap::keys).collect();
    while let Some(name) = next.pop() {
        if reached.insert(name) {
            next.extend(imports.get(name).into_iter().flat_map(BTreeMap::keys));
        }
    }
    reached
}

impl Modules {
    /// Reads the files of a folder, whose modules are children of `parent`.
    fn read_folder(&mut self, folder: &Path, parent: &Names) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            let mut at = parent.clone();
            if !["lib", "main", "mod"].contains(&stem.as_str()) {
                at.push(stem);
            }
            if path.is_dir() {
                self.read_folder(&path, &at);
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                self.read_module(&mut words(&text).into_iter().peekable(), &at);
            }
        }
    }

    /// Reads the words of a module until it ends.
    fn read_module(&mut self, words: &mut Words, at: &Names) {
        let mut module = Module::default();
        let mut depth = 0;
        while let Some(word) = words.next() {
            match word.as_str() {
                "{" => depth += 1,
                "}" if depth == 0 => break,
                "}" => depth -= 1,
                "#" => self.read_attribute(words, at),
                "mod" => {
                    let name = words.next().unwrap_or_default();
                    if words.next_if_eq("{").is_some() {
                        self.read_module(words, &[at.as_slice(), &[name]].concat());
                    }
                }
                "use" => {
                    for (path, name) in tree(words, &Vec::new()) {
                        module.imports.insert(name, path.clone());
                        module.paths.insert(path);
                    }
                }
                "crate" | "self" | "super" => {
                    let mut path = vec![word];
                    while words.next_if_eq("::").is_some() {
                        path.extend(words.next_if(|word| is_name(word)));
                    }
                    module.paths.insert(path);
                }
                _ => {}
            }
        }
        let known = self.all.entry(at.clone()).or_default();
        known.imports.extend(module.imports);
        known.paths.extend(module.paths);
    }

    /// Reads an attribute, and skips its item if that is for tests.
    fn read_attribute(&mut self, words: &mut Words, at: &Names) {
        if words.next_if_eq("[").is_none() || words.next_if_eq("cfg").is_none() {
            return;
        }
        let condition: Vec<String> = words.by_ref().take_while(|word| word != "]").collect();
        if !condition.iter().any(|word| word == "test") || condition.iter().any(|word| word == "not") {
            return;
        }
        let mut depth = 0;
        // An item ends with its braces or with a semicolon, and a field with the braces around it.
        while let Some(word) = words.next_if(|word| depth > 0 || word != "}") {
            match word.as_str() {
                "mod" if depth == 0 => {
                    self.tests.extend(
                        words.peek().map(|name| [at.as_slice(), std::slice::from_ref(name)].concat()),
                    );
                }
                "{" => depth += 1,
                "}" if depth == 1 => break,
                "}" => depth -= 1,
                ";" if depth == 0 => break,
                _ => {}
            }
        }
    }

    /// The module that a path in `at` leads to; none outside of the crate.
    fn target(&self, at: &Names, path: &Names) -> Option<Names> {
        let mut full = self.absolute(at, path)?;
        let mut seen = BTreeSet::new();
        loop {
            let length = (0..=full.len()).rev().find(|length| self.all.contains_key(&full[..*length]))?;
            let (module, rest) = full.split_at(length);
            let import = rest.first().and_then(|name| self.all.get(module)?.imports.get(name));
            // An import from another crate is no module, and neither is an item.
            let next = import.and_then(|import| self.absolute(&module.to_vec(), import));
            match next {
                Some(next) if seen.insert(full.clone()) => full = [next.as_slice(), &rest[1..]].concat(),
                _ => return Some(module.to_vec()),
            }
        }
    }

    /// A path in `at` from the root of the crate; none of another crate.
    fn absolute(&self, at: &Names, path: &Names) -> Option<Names> {
        let mut from = at.clone();
        let mut rest = path.as_slice();
        match path.first()?.as_str() {
            "crate" => (from, rest) = (Vec::new(), &path[1..]),
            "self" => rest = &path[1..],
            "super" => {}
            // A child, by its name alone.
            name => {
                from.push(name.to_owned());
                return self.all.contains_key(&from).then(|| [at.as_slice(), path].concat());
            }
        }
        while rest.first().is_some_and(|name| name == "super") {
            from.pop()?;
            rest = &rest[1..];
        }
        Some([from.as_slice(), rest].concat())
    }

    /// Returns true if a module is one of tests, or in one. Some of the modules named `tests` have a path of their own.
    fn is_test(&self, at: &Names) -> bool {
        at.iter().any(|name| name == "tests")
            || (1..=at.len()).any(|length| self.tests.contains(&at[..length]))
    }

    /// Returns the imports between children of one parent.
    fn imports_of_siblings(&self) -> Siblings {
        let mut siblings = Siblings::new();
        for (at, module) in self.all.iter().filter(|(at, _)| !self.is_test(at)) {
            for path in &module.paths {
                let Some(target) = self.target(at, path) else { continue };
                let shared = at.iter().zip(&target).take_while(|(one, other)| one == other).count();
                if let (Some(from), Some(to)) = (at.get(shared), target.get(shared)) {
                    let shown = self.absolute(at, path).unwrap_or_default().join("::");
                    let example = format!("{}: {shown}", at.join("::"));
                    let of_parent = siblings.entry(at[..shared].to_vec()).or_default();
                    of_parent.entry(from.clone()).or_default().entry(to.clone()).or_insert(example);
                }
            }
        }
        siblings
    }
}

/// The paths of a `use` with the names that they get, up to its end.
fn tree(words: &mut Words, prefix: &Names) -> Vec<(Names, String)> {
    let (mut path, mut alias, mut found) = (prefix.clone(), None, Vec::new());
    let mut is_group = false;
    while let Some(word) = words.next_if(|word| word != "}") {
        match word.as_str() {
            "," | ";" => break,
            "::" => {}
            "as" => alias = words.next(),
            "{" => {
                is_group = true;
                while words.peek().is_some_and(|word| word != "}") {
                    found.extend(tree(words, &path));
                }
                words.next();
            }
            _ => path.push(word),
        }
    }
    // Of `a::*` and `a::self`, it is `a`.
    if path.len() > 1 && path.last().is_some_and(|last| last == "*" || last == "self") {
        path.pop();
    }
    if !is_group {
        let name = alias.or_else(|| path.last().cloned()).unwrap_or_default();
        found.push((path, name));
    }
    found
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The words and signs of a source file, without comments and literals.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            rest = rest.trim_start();
            continue;
        }
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.split_once('\n').map_or("", |(_, behind)| behind);
            continue;
        }
        // Nothing else begins a comment or a literal.
        let may_begin = matches!(first, '/' | '"' | '\'' | 'b' | 'c' | 'r');
        let behind = may_begin.then(|| behind_comment(rest).or_else(|| behind_literal(rest)));
        if let Some(behind) = behind.flatten() {
            rest = behind;
            continue;
        }
        let length = if is_name(rest) {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (word, behind) = rest.split_at(length);
        words.push(word.to_owned());
        rest = behind;
    }
    words
}

/// Returns the text behind a comment in `/*`, which may hold others.
fn behind_comment(text: &str) -> Option<&str> {
    let mut rest = text.strip_prefix("/*")?;
    let mut depth = 1;
    while depth > 0 {
        let next = rest.find("/*").into_iter().chain(rest.find("*/")).min()?;
        depth = if rest[next..].starts_with("/*") { depth + 1 } else { depth - 1 };
        rest = &rest[next + 2..];
    }
    Some(rest)
}

/// Returns the text behind a string or a character; none for a lifetime.
fn behind_literal(text: &str) -> Option<&str> {
    let start = text.trim_start_matches(['b', 'c', 'r']);
    let is_raw = text[..text.len() - start.len()].contains('r');
    if is_raw {
        let body = start.trim_start_matches('#');
        let end = format!("\"{}", "#".repeat(start.len() - body.len()));
        return Some(body.strip_prefix('"')?.split_once(&end).map_or("", |(_, behind)| behind));
    }
    if let Some(body) = start.strip_prefix('\'') {
        let escaped =
            body.strip_prefix('\\').map_or(0, |escaped| 1 + escaped.chars().next().map_or(0, char::len_utf8));
        let length =
            if escaped > 0 { body[escaped..].find('\'')? + escaped } else { body.chars().next()?.len_utf8() };
        return body[length..].strip_prefix('\'');
    }
    let body = start.strip_prefix('"')?;
    let mut is_escaped = false;
    let end = body.find(|c: char| {
        let is_end = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    });
    Some(end.map_or("", |end| &body[end + 1..]))
}
