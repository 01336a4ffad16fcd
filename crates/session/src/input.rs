//! Files of other programs that a user names, and problems with them.

use std::io::{self, Read};
use std::path::Path;

use hoptax_text::yaml::file;

use crate::failure::Failure;

/// Reads a file; `-` is stdin.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    let text = if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).and_then(|_| file::text(bytes))
    } else {
        file::read(path)
    };
    text.map_err(|error| Failure::cannot_read(path, error))
}

/// Problems of a file, each on a line with its name.
pub(crate) fn refused(path: &Path, problems: &[String]) -> Failure {
    let lines: Vec<String> =
        problems.iter().map(|problem| format!("`{}`: {problem}", path.display())).collect();
    Failure::bad_input(lines.join("\n"))
}
