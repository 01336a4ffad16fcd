//! Pages of results that the pages of studies and functions link to.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the pages of results, relative to that of the documents.
const RESULTS: &str = "results";

/// A page of results.
pub(super) struct ResultPage {
    /// Its path relative to the folder of the documents.
    path: String,
    /// Its text.
    pub(super) text: String,
}

impl ResultPage {
    /// A link to it from a generated page.
    pub(super) fn link(&self) -> String {
        let title = self.text.lines().next().unwrap_or_default().trim_start_matches('#').trim();
        format!("[{title}](../{})", self.path)
    }
}

/// The pages of results, sorted by path. If there are none, the generated pages have no links to them.
pub(super) fn all(documents: &Path) -> Vec<ResultPage> {
    let mut pages: Vec<ResultPage> = files_below(&documents.join(RESULTS))
        .into_iter()
        .filter_map(|file| {
            let path = file.strip_prefix(documents).ok()?.to_str()?.to_owned();
            Some(ResultPage { path, text: fs::read_to_string(&file).ok()? })
        })
        .collect();
    pages.sort_by(|a, b| a.path.cmp(&b.path));
    pages
}

/// The Markdown files below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let below = paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] });
    below.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}
