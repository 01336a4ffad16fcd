//! Copies untrusted data, up to a size limit and until a stop is requested.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes that are copied at once.
const PIECE_BYTES: usize = 64 << 10;

/// Why a copy is not complete.
#[derive(Debug)]
pub(super) enum CopyError {
    /// The source cannot be read.
    Read(io::Error),
    /// The copy cannot be written.
    Write(io::Error),
    /// The source has more bytes than the limit.
    TooLarge,
    /// The caller requested a stop.
    Interrupted,
}

/// Copies all of `from`, which may have at most `most_bytes`.
///
/// # Errors
/// When `from` has more bytes, when reading or writing fails, and when `stop` is set.
pub(super) fn copy(
    from: &mut dyn Read,
    to: &mut dyn Write,
    most_bytes: u64,
    stop: &AtomicBool,
) -> Result<(), CopyError> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut left = most_bytes;
    loop {
        let read = from.read(&mut piece);
        // An error after a signal is a consequence of the signal.
        if stop.load(Ordering::Relaxed) {
            return Err(CopyError::Interrupted);
        }
        let count = match read {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Read(error)),
        };
        left = left.checked_sub(count as u64).ok_or(CopyError::TooLarge)?;
        to.write_all(piece.get(..count).unwrap_or_default()).map_err(CopyError::Write)?;
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    /// A source that fails after its first byte.
    struct Broken(bool);

    impl Read for Broken {
        fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
            let is_first = !std::mem::replace(&mut self.0, true);
            if is_first { (&b"x"[..]).read(piece) } else { Err(io::Error::other("broken")) }
        }
    }

    fn copied(from: &mut dyn Read, most_bytes: u64) -> Result<Vec<u8>, CopyError> {
        let mut to = Vec::new();
        copy(from, &mut to, most_bytes, &AtomicBool::new(false)).map(|()| to)
    }

    #[test]
    fn what_has_as_many_bytes_as_the_limit_is_copied_and_one_more_is_refused() {
        let bytes: Vec<u8> = (0..2 * PIECE_BYTES + 7).map(|number| (number % 251) as u8).collect();
        let count = bytes.len() as u64;
        assert_eq!(copied(&mut bytes.as_slice(), count).unwrap(), bytes);
        assert!(matches!(copied(&mut bytes.as_slice(), count - 1), Err(CopyError::TooLarge)));
        assert_eq!(copied(&mut io::empty(), 0).unwrap(), b"");
    }

    #[test]
    fn faults_of_the_source_are_told_from_those_of_the_copy() {
        assert!(matches!(copied(&mut Broken(false), 9), Err(CopyError::Read(_))));
        // A device without free space.
        let mut full = File::options().write(true).open("/dev/full").unwrap();
        let failed = copy(&mut &b"x"[..], &mut full, 9, &AtomicBool::new(false));
        match failed {
            Err(CopyError::Write(error)) => assert_eq!(error.kind(), io::ErrorKind::StorageFull),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_requested_stop_ends_it_also_when_the_source_fails_then() {
        for from in [&mut io::repeat(0) as &mut dyn Read, &mut Broken(true)] {
            let stopped = copy(from, &mut io::sink(), u64::MAX, &AtomicBool::new(true));
            assert!(matches!(stopped, Err(CopyError::Interrupted)), "{stopped:?}");
        }
    }
}
