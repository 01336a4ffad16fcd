//! Files of users, up to a size, and as text, with an error that has a remedy if their encoding is another one.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The most bytes of a configuration. Its tree takes many times as much memory; the configuration that is rendered from ten thousand
/// listeners has half of these bytes.
pub const LARGEST_BYTES: usize = 80 << 20;

/// The bytes of a file, which may be a pipe. One that never ends, such as `/dev/zero`, would fill the memory, so no more than `most` bytes
/// are read, a number of whole MiB.
///
/// # Errors
/// When the file cannot be read, or is larger.
pub fn bytes_up_to(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    bytes_of(File::open(path)?, most)
}

/// As [`bytes_up_to`], of what is read from `input`.
///
/// # Errors
/// When it cannot be read, or has more bytes.
pub fn bytes_of(input: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let problem = format!("it has more than {} MiB", most >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    Ok(bytes)
}

/// The text of a file, as [`bytes_up_to`].
///
/// # Errors
/// When the file cannot be read, is not in UTF-8, or is larger.
pub fn text_up_to(path: &Path, most: u64) -> io::Result<String> {
    text(bytes_up_to(path, most)?)
}

/// The text of a configuration, of which no more than [`LARGEST_BYTES`] are read.
///
/// # Errors
/// When the file cannot be read, is not in UTF-8, or is larger.
pub fn configuration(path: &Path) -> io::Result<String> {
    text_up_to(path, LARGEST_BYTES as u64)
}

/// The text of a file with these bytes.
///
/// # Errors
/// When it is not in UTF-8.
pub fn text(bytes: Vec<u8>) -> io::Result<String> {
    let other = |problem: &str| Err(io::Error::new(io::ErrorKind::InvalidData, problem.to_owned()));
    // With the mark of its order of bytes, or without it and the first characters in ASCII.
    if matches!(
        *bytes.as_slice(),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, 1..0x80, 0, 1..0x80, ..] | [1..0x80, 0, 1..0x80, 0, ..]
    ) {
        return other(
            "it is in UTF-16, as PowerShell writes it; convert it: `iconv -f UTF-16 -t UTF-8 FILE`",
        );
    }
    String::from_utf8(bytes).or_else(|error| {
        let before = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let line = before.split(|byte| *byte == b'\n').count();
        other(&format!("it is not UTF-8 text: line {line} has other bytes"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf_16_is_named_with_what_to_do() {
        let big: Vec<u8> = "a: é\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
        let little: Vec<u8> = "a: é\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let marked = |mark: [u8; 2], bytes: &[u8]| [&mark[..], bytes].concat();
        for bytes in [marked([0xff, 0xfe], &little), marked([0xfe, 0xff], &big), little, big] {
            let problem = text(bytes).unwrap_err().to_string();
            assert!(problem.starts_with("it is in UTF-16") && problem.contains("iconv"), "{problem}");
        }
    }

    #[test]
    fn a_configuration_has_a_largest_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        let file = File::create(&path).unwrap();
        file.set_len(LARGEST_BYTES as u64).unwrap();
        assert_eq!(configuration(&path).unwrap().len(), LARGEST_BYTES);
        file.set_len(LARGEST_BYTES as u64 + 1).unwrap();
        assert!(configuration(&path).unwrap_err().to_string().contains("more than 80 MiB"));
        assert_eq!(bytes_up_to(&path, 81 << 20).unwrap().len(), LARGEST_BYTES + 1);
    }

    #[test]
    fn a_file_that_never_ends_is_read_up_to_its_limit() {
        let endless = Path::new("/dev/zero");
        for problem in [bytes_up_to(endless, 1 << 20).map(drop), text_up_to(endless, 1 << 20).map(drop)] {
            assert_eq!(problem.unwrap_err().to_string(), "it has more than 1 MiB");
        }
        assert_eq!(bytes_of(&b"abc"[..], 3).unwrap(), b"abc");
        assert!(bytes_of(&b"abcd"[..], 3).is_err());
    }

    #[test]
    fn other_bytes_are_text_or_no_text() {
        for expected in ["", "a", "\0\0\0\u{1}", "\u{feff}a: é\n"] {
            assert_eq!(text(expected.as_bytes().to_vec()).unwrap(), expected);
        }
        let problem = text(b"a\n\nb\xe9c\n".to_vec()).unwrap_err().to_string();
        assert_eq!(problem, "it is not UTF-8 text: line 3 has other bytes");
        assert_eq!(configuration(Path::new("nowhere")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
