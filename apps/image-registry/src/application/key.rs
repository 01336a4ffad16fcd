//! The key that signs tokens: 32 random bytes in a file that only the owner of the process can read.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hoptax_tasks::Key;

use super::StartError;

/// Length of the key, bytes: the length of the hash (RFC 7518, section 3.2).
const KEY_BYTES: usize = 32;

/// The key in a file, which is created with a random one if there is none.
pub(crate) fn load(path: &Path) -> Result<Key, StartError> {
    let text = read_or_create(path).map_err(|source| StartError::File { path: path.to_owned(), source })?;
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text.trim()).ok().filter(|bytes| bytes.len() == KEY_BYTES);
    Ok(Key::new(&bytes.ok_or_else(|| StartError::Key(path.to_owned()))?))
}

fn read_or_create(path: &Path) -> io::Result<String> {
    match File::options().write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => {
            let text = BASE64_URL_SAFE_NO_PAD.encode(rand::random::<[u8; KEY_BYTES]>());
            file.write_all(text.as_bytes())?;
            Ok(text)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => std::fs::read_to_string(path),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_created_once_and_for_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let token = load(&path).unwrap().sign(b"{}");
        assert!(load(&path).unwrap().claims(token.as_bytes()).is_some());
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let other = load(&folder.path().join("other")).unwrap();
        assert!(other.claims(token.as_bytes()).is_none());
    }

    #[test]
    fn a_file_without_a_key_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "short").unwrap();
        assert!(matches!(load(&path), Err(StartError::Key(_))));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "short");
    }
}
