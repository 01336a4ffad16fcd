//! Pages of the book that the program knows the content of: one for each function of the catalogue, each built-in study and each check, and
//! the guide of operators, which is made of the price list. They are kept in `docs/`, where readers of the repository find them too; a test
//! compares them with what is made here.

mod checks;
mod functions;
mod markdown;
mod operators;
mod picture;
mod results;
mod studies;
mod summary;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::failure::Failure;

/// The table of contents of the book, below the folder of the documents.
const SUMMARY: &str = "SUMMARY.md";
/// The list of the pages of a kind, below their folder.
const LIST: &str = "README.md";

/// The pages of one kind.
struct Chapter {
    /// Their folder, below that of the documents.
    folder: &'static str,
    /// Their list, a page too.
    list: String,
    /// The name of each page, and its text, in the order of the names.
    pages: Vec<(String, String)>,
}

/// All these pages, and the table of contents with a line for each, by their paths below `documents`. The other lines of the table of
/// contents are those that it has.
///
/// # Errors
/// When `documents` has no table of contents, or the catalogue or the price list cannot be read.
pub fn all(documents: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let path = documents.join(SUMMARY);
    let summary = fs::read_to_string(&path).map_err(|error| {
        Failure::bad_input(format!(
            "cannot read `{}`: {error}; name the folder `docs` of hoptax's repository",
            path.display()
        ))
    })?;
    let chapters = [functions::chapter(documents)?, studies::chapter(documents)?, checks::chapter()];
    let contents = summary::with_pages(&summary, &chapters);
    let mut all =
        BTreeMap::from([(SUMMARY.to_owned(), contents), (operators::PATH.to_owned(), operators::page()?)]);
    for Chapter { folder, list, pages } in chapters {
        all.insert(format!("{folder}/{LIST}"), list);
        let named =
            |(name, text): (String, String)| (format!("{folder}/{}", markdown::file_name(&name)), text);
        all.extend(pages.into_iter().map(named));
    }
    Ok(all)
}

/// Writes all of them, and returns their number. Pages of what is gone stay.
///
/// # Errors
/// As [`all`], and when a file cannot be written.
pub fn write(documents: &Path) -> Result<usize, Failure> {
    let pages = all(documents)?;
    for (name, text) in &pages {
        let path = documents.join(name);
        let folder = path.parent().unwrap_or(documents);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| Failure::environment(format!("cannot write `{}`: {error}", path.display())))?;
    }
    Ok(pages.len())
}
