//! Files of other programs that a user names, and problems with them.

use std::io;
use std::path::Path;

use hoptax_text::file;

use crate::failure::Failure;

/// The most bytes of such a file.
const MOST_BYTES: u64 = 1 << 30;

/// Reads a file; `-` is stdin.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    let text = if path == Path::new("-") {
        file::bytes_of(io::stdin().lock(), MOST_BYTES).and_then(file::text)
    } else {
        file::text_up_to(path, MOST_BYTES)
    };
    text.map_err(|error| Failure::cannot_read(path, error))
}

/// Problems of a file, each on a line with its name.
pub(crate) fn refused(path: &Path, problems: &[String]) -> Failure {
    let lines: Vec<String> =
        problems.iter().map(|problem| format!("`{}`: {problem}", path.display())).collect();
    Failure::bad_input(lines.join("\n"))
}
