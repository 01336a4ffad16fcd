//! Delay tables: measured delays, one per line, from which a request's delay is drawn.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a table cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// It cannot be read.
    #[error("cannot read the delay table `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line is no delay.
    #[error("delay table `{}`, line {line}: `{text}` is no delay; write one per line, as `5ms`", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// It holds no delay.
    #[error("the delay table `{}` holds no delay; write one per line, as `5ms`", .0.display())]
    Empty(PathBuf),
}

/// The tables that requests may name, by path and by file name.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    delays: Vec<Vec<Duration>>,
    numbers: BTreeMap<String, usize>,
}

impl Tables {
    /// Reads the tables: a duration per line, `#` begins a comment.
    ///
    /// # Errors
    /// At the first file that cannot be read or the first line that is no delay.
    pub fn load(paths: &[PathBuf]) -> Result<Self, TableError> {
        let mut tables = Self::default();
        for path in paths {
            let text =
                fs::read_to_string(path).map_err(|source| TableError::Read { path: path.clone(), source })?;
            let number = tables.delays.len();
            tables.delays.push(parse(path, &text)?);
            let name = path.file_name().and_then(|name| name.to_str());
            for name in path.to_str().into_iter().chain(name) {
                tables.numbers.insert(name.to_owned(), number);
            }
        }
        Ok(tables)
    }

    /// The number of the table that is called `name`.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// The delays of a table.
    pub(crate) fn delays(&self, number: usize) -> &[Duration] {
        self.delays.get(number).map_or(&[], Vec::as_slice)
    }
}

fn parse(path: &Path, text: &str) -> Result<Vec<Duration>, TableError> {
    let mut delays = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let entry = line.split('#').next().unwrap_or_default().trim();
        if entry.is_empty() {
            continue;
        }
        let delay = humantime::parse_duration(entry).map_err(|_| TableError::Line {
            path: path.to_owned(),
            line: index + 1,
            text: entry.to_owned(),
        })?;
        delays.push(delay);
    }
    if delays.is_empty() { Err(TableError::Empty(path.to_owned())) } else { Ok(delays) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_found_by_path_and_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("web.delays");
        fs::write(&path, "# measured\n1ms\n\n2500us # slow\n").unwrap();
        let tables = Tables::load(std::slice::from_ref(&path)).unwrap();
        assert_eq!(tables.find("web.delays"), tables.find(path.to_str().unwrap()));
        let number = tables.find("web.delays").unwrap();
        assert_eq!(tables.delays(number), [Duration::from_millis(1), Duration::from_micros(2500)]);
        assert_eq!(tables.find("/etc/passwd"), None);
    }

    #[test]
    fn a_bad_table_says_where() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bad");
        let error = |text: &str| {
            fs::write(&path, text).unwrap();
            Tables::load(std::slice::from_ref(&path)).unwrap_err().to_string()
        };
        assert!(error("1ms\nsoon\n").contains("line 2: `soon`"));
        assert!(error("# nothing\n").contains("holds no delay"));
        assert!(Tables::load(&[folder.path().join("missing")]).unwrap_err().to_string().contains("missing"));
    }
}
