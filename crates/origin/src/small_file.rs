//! Reads the files that a user names, up to a size: one that never ends, such as `/dev/zero`, would fill the memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Maximum size of a file, bytes.
const MOST_BYTES: u64 = 16 << 20;

/// The text of a file, which may be a pipe.
///
/// # Errors
/// When it cannot be read, has more than 16 MiB, or is not UTF-8.
pub fn read_small_file(file: &Path) -> io::Result<String> {
    let mut text = Vec::new();
    File::open(file)?.take(MOST_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(io::Error::other(format!("it has more than {} MiB", MOST_BYTES >> 20)));
    }
    String::from_utf8(text).map_err(io::Error::other)
}
