//! A token in a file, for commands that need one: a server, agents and their controller.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hoptax_text::command_line::path_word;

use super::Token;
use crate::failure::Failure;
use crate::update::{Say, Update};

/// Maximum size of a token file, bytes. A larger file holds something else.
const MAX_TOKEN_BYTES: u64 = 4_096;
/// The permission bits that let users other than the owner read a file.
const READ_BY_OTHERS: u32 = 0o044;

/// The command that creates a token file.
fn making(file: &Path) -> String {
    format!("`(umask 077; head -c 24 /dev/urandom | base64 > {})`", path_word(file))
}

impl Token {
    /// Reads a token. A note warns if other users of this machine can read it.
    ///
    /// # Errors
    /// When the file cannot be read, or holds no token.
    pub fn of_file(file: &Path, say: Say<'_>) -> Result<Self, Failure> {
        let refused =
            |why: &str| Failure::bad_input(format!("cannot read the token file `{}`: {why}", file.display()));
        let unreadable = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => {
                refused(&format!("there is no such file; make one with {}", making(file)))
            }
            _ => refused(&error.to_string()),
        };
        let about = fs::metadata(file).map_err(unreadable)?;
        if !about.is_file() {
            return Err(refused("it is not a regular file"));
        }
        let mut text = String::new();
        let opened = File::open(file).map_err(unreadable)?;
        opened.take(MAX_TOKEN_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
        if text.len() as u64 > MAX_TOKEN_BYTES {
            return Err(refused(&format!("it has more than {MAX_TOKEN_BYTES} bytes")));
        }
        let shown = file.display();
        let token = Self::of_text(&text).map_err(|why| {
            Failure::bad_input(format!("the token in `{shown}` {why}; make a new one with {}", making(file)))
        })?;
        if about.permissions().mode() & READ_BY_OTHERS != 0 {
            let named = path_word(file);
            say(Update::Note(&format!("others on this machine can read the token: `chmod 600 {named}`")));
        }
        Ok(token)
    }
}
