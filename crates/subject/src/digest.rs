//! SHA-256 of programs, and of the inputs and the records of a study, in hexadecimal or as bytes.

use std::io::{self, Read};

use aws_lc_rs::digest::{Context, Digest, SHA256, digest};

/// Bytes that are read at once.
const PIECE_BYTES: usize = 1 << 20;

/// The SHA-256 digest of these bytes.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&digest(&SHA256, bytes))
}

/// The SHA-256 digest of these bytes, as bytes.
pub fn sha256_bytes(bytes: &[u8]) -> Vec<u8> {
    digest(&SHA256, bytes).as_ref().to_vec()
}

/// The SHA-256 digest of everything in `source`, which is read in pieces because programs are large.
///
/// # Errors
/// When reading fails.
pub fn sha256_of_reader(mut source: impl Read) -> io::Result<String> {
    let mut context = Context::new(&SHA256);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match source.read(&mut piece)? {
            0 => return Ok(hexadecimal(&context.finish())),
            count => context.update(piece.get(..count).unwrap_or_default()),
        }
    }
}

fn hexadecimal(digest: &Digest) -> String {
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_that_of_the_standard() {
        // FIPS 180-2, appendix B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), expected);
    }

    #[test]
    fn what_is_read_in_several_pieces_has_the_hash_of_its_bytes() {
        let bytes: Vec<u8> = (0..2 * PIECE_BYTES + 7).map(|number| (number % 251) as u8).collect();
        assert_eq!(sha256_of_reader(bytes.as_slice()).unwrap(), sha256(&bytes));
    }
}
