//! The header blocks of responses: decodes the fields that decide about a response, and remembers blocks that repeat.

use std::sync::Arc;

use super::hpack::Decoder;
use crate::cookies::Cookies;
use crate::fields::Fields;
use crate::response::{ExpectedHeader, ProtocolError};

/// Maximum size of a block that is remembered.
const MAX_KNOWN_BYTES: usize = 1024;

/// Reads the header blocks of a connection.
#[derive(Debug)]
pub(super) struct FieldReader {
    decoder: Decoder,
    expected: Option<Arc<[ExpectedHeader]>>,
    /// Present if cookies are sent.
    cookies: Option<Box<Cookies>>,
    /// The last block that does not end its stream, and the last one that does, as trailers do. Most responses of a connection have the
    /// same ones, and comparing bytes is faster than decoding them.
    known: [Option<Known>; 2],
}

/// A block that does not change the dynamic table, and its fields. They are the same until another block changes the table.
#[derive(Debug)]
struct Known {
    block: Vec<u8>,
    fields: Fields,
}

impl FieldReader {
    pub(super) fn new(expected: Option<Arc<[ExpectedHeader]>>) -> Self {
        Self { decoder: Decoder::default(), expected, cookies: None, known: [None, None] }
    }

    /// Stores cookies that responses set.
    pub(super) fn keep_cookies(&mut self) {
        self.cookies.get_or_insert_default();
        self.known = [None, None];
    }

    /// The value of the `cookie` header of the next request; None without cookies.
    pub(super) fn cookies(&self) -> Option<&[u8]> {
        self.cookies.as_ref()?.header()
    }

    /// Bit set of all expected headers.
    pub(super) fn all_expected(&self) -> u64 {
        self.expected.as_ref().map_or(0, |expected| (1_u64 << expected.len().min(63)) - 1)
    }

    /// Returns the fields of a block; `end` is true if it ends its stream.
    pub(super) fn read(&mut self, block: &[u8], end: bool) -> Result<Fields, ProtocolError> {
        match &self.known[usize::from(end)] {
            Some(known) if known.block == block => Ok(known.fields),
            _ => self.decode(block, end),
        }
    }

    fn decode(&mut self, block: &[u8], end: bool) -> Result<Fields, ProtocolError> {
        let mut fields = Fields::default();
        let expected = self.expected.as_deref().unwrap_or_default();
        let mut cookies = self.cookies.as_deref_mut();
        let each = |name: &[u8], value: &[u8]| {
            if let Some(cookies) = &mut cookies
                && name == b"set-cookie"
            {
                cookies.set(value);
            }
            fields.take(name, value, expected);
        };
        let decoded = self.decoder.decode(block, each);
        let changes_table = decoded.map_err(|bad| ProtocolError::Http2(bad.as_str()))?;
        if changes_table {
            self.known = [None, None];
        } else if self.cookies.is_none() && block.len() <= MAX_KNOWN_BYTES {
            let known = self.known[usize::from(end)].get_or_insert(Known { block: Vec::new(), fields });
            known.block.clear();
            known.block.extend_from_slice(block);
            known.fields = fields;
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::hpack::{put_field, put_integer, put_string};
    use super::*;

    /// One field of a block. Numbers select values, so that blocks repeat.
    #[derive(Clone, Debug)]
    enum Part {
        Status(usize),
        Length(u8),
        /// A field that enters the dynamic table.
        Indexed(u8),
        /// A reference to the dynamic table, which may not have the entry.
        Reference(usize),
        /// A new size of the table, valid only at the start of a block.
        Resize(usize),
    }

    fn blocks() -> impl Strategy<Value = Vec<(Vec<u8>, bool)>> {
        let part = prop_oneof![
            4 => (0..3_usize).prop_map(Part::Status),
            4 => (0..3_u8).prop_map(Part::Length),
            1 => (0..3_u8).prop_map(Part::Indexed),
            2 => (0..4_usize).prop_map(Part::Reference),
            1 => prop::sample::select(vec![0, 50, 4096]).prop_map(Part::Resize),
        ];
        let block = prop::collection::vec(part, 0..4).prop_map(|parts| {
            let mut block = Vec::new();
            for part in parts {
                match part {
                    Part::Status(number) => put_field(&mut block, ":status", ["200", "204", "x"][number]),
                    Part::Length(length) => put_field(&mut block, "content-length", &length.to_string()),
                    Part::Indexed(status) => {
                        block.push(0x40);
                        put_string(&mut block, b"grpc-status");
                        put_string(&mut block, status.to_string().as_bytes());
                    }
                    Part::Reference(number) => put_integer(&mut block, 0x80, 7, 62 + number),
                    Part::Resize(bytes) => put_integer(&mut block, 0x20, 5, bytes),
                }
            }
            block
        });
        // Few different blocks, each several times.
        prop::collection::vec(block, 1..4)
            .prop_flat_map(|few| prop::collection::vec((prop::sample::select(few), any::<bool>()), 1..30))
    }

    proptest! {
        #[test]
        fn a_block_is_read_as_if_none_were_remembered(blocks in blocks()) {
            let mut reader = FieldReader::new(None);
            let mut forgetful = FieldReader::new(None);
            for (block, end) in blocks {
                forgetful.known = [None, None];
                let expected = forgetful.read(&block, end);
                prop_assert_eq!(&reader.read(&block, end), &expected);
                if expected.is_err() {
                    // The connection is unusable.
                    break;
                }
            }
        }
    }

    #[test]
    fn a_status_that_is_too_large_is_not_cut_to_a_small_one() {
        let mut block = Vec::new();
        put_field(&mut block, ":status", "65736");
        put_field(&mut block, "grpc-status", "65536");
        let fields = FieldReader::new(None).read(&block, true).unwrap();
        assert_eq!((fields.status, fields.grpc_status), (0, Some(u16::MAX)));
    }

    #[test]
    fn a_block_that_repeats_is_remembered_and_one_that_changes_the_table_is_not() {
        let mut reader = FieldReader::new(None);
        let mut same = Vec::new();
        put_field(&mut same, ":status", "200");
        reader.read(&same, false).unwrap();
        assert_eq!(reader.known[0].as_ref().map(|known| known.block.as_slice()), Some(same.as_slice()));
        let mut indexed = same.clone();
        indexed.push(0x40);
        put_string(&mut indexed, b"date");
        put_string(&mut indexed, b"today");
        reader.read(&indexed, true).unwrap();
        assert!(reader.known.iter().all(Option::is_none));
    }
}
