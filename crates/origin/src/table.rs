//! Delay tables: files of measured delays, one per line, from which delays are sampled.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::small_file::read_small_file;

/// An error in a delay table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file cannot be read.
    #[error("cannot read the delay table `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the kernel.
        source: io::Error,
    },
    /// A line is not a duration.
    #[error("delay table `{}`, line {line}: invalid delay `{text}`; expected one per line, such as `5ms`", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The text of the line.
        text: String,
    },
    /// The table is empty.
    #[error("delay table `{}` is empty; expected one delay per line, such as `5ms`", .0.display())]
    Empty(PathBuf),
}

/// The tables that requests may name, by path or by file name.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    delays: Vec<Vec<Duration>>,
    numbers: BTreeMap<String, usize>,
}

impl Tables {
    /// Reads tables of one duration per line. `#` begins a comment.
    ///
    /// # Errors
    /// At the first file that is unreadable or larger than the files of users may be, invalid line or empty table.
    pub fn load(paths: &[PathBuf]) -> Result<Self, TableError> {
        let mut tables = Self::default();
        for path in paths {
            let text =
                read_small_file(path).map_err(|source| TableError::Read { path: path.clone(), source })?;
            let number = tables.delays.len();
            tables.delays.push(parse(path, &text)?);
            let name = path.file_name().and_then(|name| name.to_str());
            for name in path.to_str().into_iter().chain(name) {
                tables.numbers.insert(name.to_owned(), number);
            }
        }
        Ok(tables)
    }

    /// The number of the table with this path or file name.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// The delays of a table; empty for an unknown number.
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
    use std::fs;

    use super::*;

    #[test]
    fn a_table_without_an_end_is_refused() {
        let refused = Tables::load(&["/dev/zero".into()]).unwrap_err().to_string();
        assert!(refused.contains("`/dev/zero`: it has more than 16 MiB"), "{refused}");
    }

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
    fn an_invalid_table_is_reported_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bad");
        let error = |text: &str| {
            fs::write(&path, text).unwrap();
            Tables::load(std::slice::from_ref(&path)).unwrap_err().to_string()
        };
        assert!(error("1ms\nsoon\n").contains("line 2: invalid delay `soon`"));
        assert!(error("# nothing\n").contains("is empty"));
        assert!(Tables::load(&[folder.path().join("missing")]).unwrap_err().to_string().contains("missing"));
    }
}
