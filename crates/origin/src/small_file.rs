//! Reads the files that a user names, up to a size: one that never ends, such as `/dev/zero`, would fill the memory.

use std::io;
use std::path::Path;

use hoptax_text::file::text_up_to;

/// Maximum size of a file, bytes.
const MOST_BYTES: u64 = 16 << 20;

/// The text of a file, which may be a pipe.
///
/// # Errors
/// When it cannot be read, has more than 16 MiB, or is not UTF-8.
pub fn read_small_file(file: &Path) -> io::Result<String> {
    text_up_to(file, MOST_BYTES)
}
