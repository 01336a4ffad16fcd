//! Pages of the book that the program generates: one for each function of the catalogue, each built-in study and each check, and the guide
//! for operators from the price list. They are kept in `docs/`, so that readers of the repository find them there. A test compares them
//! with the generated text.

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

/// The table of contents of the book, relative to the folder of the documents.
const SUMMARY: &str = "SUMMARY.md";
/// The list of the pages of a kind, relative to their folder.
const LIST: &str = "README.md";

/// The pages of one kind.
struct Chapter {
    /// Their folder, relative to that of the documents.
    folder: &'static str,
    /// The page that lists them.
    list: String,
    /// The name of each page, and its text, in the order of the names.
    pages: Vec<(String, String)>,
}

/// All generated pages, and the table of contents with a line for each, by their paths relative to `documents`. The other lines of the
/// table of contents stay as they are.
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

/// Writes all pages, and returns their number. Does not remove pages whose subject no longer exists.
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
            .map_err(|error| Failure::cannot_write(&path, error))?;
    }
    Ok(pages.len())
}
