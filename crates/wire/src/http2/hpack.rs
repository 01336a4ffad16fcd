//! Header compression (HPACK, RFC 7541): decoding of header blocks, and encoding of
//! integers, strings and fields.

use std::collections::VecDeque;

use super::huffman;
use crate::http1::{MAX_FIELDS, MAX_HEAD_BYTES};

/// The static table (RFC 7541, appendix A); indexes start at 1.
#[rustfmt::skip]
pub(crate) const STATIC: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// Overhead of an entry in the dynamic table, in addition to its bytes (RFC 7541,
/// section 4.1).
pub(crate) const ENTRY_BYTES: usize = 32;
/// The default size of the dynamic table.
pub const TABLE_BYTES: usize = 4096;
/// Maximum size of all fields of a block together, each with the overhead of an entry: the limits of HTTP/1.1.
pub(crate) const MAX_LIST_BYTES: usize = MAX_HEAD_BYTES + MAX_FIELDS * ENTRY_BYTES;

/// Name and value.
type Entry = (Box<[u8]>, Box<[u8]>);

/// A block that cannot be read; the connection's compression state is lost with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadBlock {
    /// It is invalid.
    Invalid,
    /// Its fields exceed [`MAX_LIST_BYTES`].
    TooLarge,
}

impl BadBlock {
    /// Returns the problem as a noun phrase, for errors.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "a header block that cannot be read",
            Self::TooLarge => "a header block larger than 300 KiB",
        }
    }
}

/// The decoder of one direction of a connection.
#[derive(Debug)]
pub(crate) struct Decoder {
    /// Names and values, the newest first.
    dynamic: VecDeque<Entry>,
    /// Their size, and the current maximum size.
    bytes: usize,
    max_bytes: usize,
    /// Buffers of Huffman-coded strings.
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            dynamic: VecDeque::new(),
            bytes: 0,
            max_bytes: TABLE_BYTES,
            name: Vec::new(),
            value: Vec::new(),
        }
    }
}

impl Decoder {
    /// Calls `each` with name and value of every field of a block. Returns true if the block changed the dynamic table: the
    /// same block may then have other fields.
    ///
    /// # Errors
    /// When the block is invalid.
    pub(crate) fn decode(
        &mut self,
        mut block: &[u8],
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<bool, BadBlock> {
        let mut changes_table = false;
        let mut list_bytes = 0;
        let mut may_resize = true;
        while let Some(&first) = block.first() {
            if first & 0x80 != 0 {
                let index = integer(&mut block, 7)?;
                let (name, value) = field(&self.dynamic, index)?;
                list_bytes += name.len() + value.len() + ENTRY_BYTES;
                each(name, value);
            } else if first & 0xe0 == 0x20 {
                let max_bytes = integer(&mut block, 5)?;
                if !may_resize || max_bytes > TABLE_BYTES {
                    return Err(BadBlock::Invalid);
                }
                self.max_bytes = max_bytes;
                self.evict(0);
                changes_table = true;
                continue;
            } else {
                let is_indexed = first & 0x40 != 0;
                let index = integer(&mut block, if is_indexed { 6 } else { 4 })?;
                let name = match index {
                    0 => string(&mut block, 7, &mut self.name)?,
                    index => field(&self.dynamic, index)?.0,
                };
                let value = string(&mut block, 7, &mut self.value)?;
                list_bytes += name.len() + value.len() + ENTRY_BYTES;
                each(name, value);
                if is_indexed {
                    let entry = (name.into(), value.into());
                    self.insert(entry);
                    changes_table = true;
                }
            }
            may_resize = false;
            if list_bytes > MAX_LIST_BYTES {
                return Err(BadBlock::TooLarge);
            }
        }
        Ok(changes_table)
    }

    fn insert(&mut self, entry: Entry) {
        let bytes = entry.0.len() + entry.1.len() + ENTRY_BYTES;
        self.evict(bytes);
        // An entry larger than the table only empties it.
        if bytes <= self.max_bytes {
            self.bytes += bytes;
            self.dynamic.push_front(entry);
        }
    }

    /// Evicts entries to make room for `bytes`.
    fn evict(&mut self, bytes: usize) {
        while self.bytes + bytes > self.max_bytes
            && let Some((name, value)) = self.dynamic.pop_back()
        {
            self.bytes -= name.len() + value.len() + ENTRY_BYTES;
        }
    }
}

/// The field at an index of the static table, or of the dynamic table behind it.
fn field(dynamic: &VecDeque<Entry>, index: usize) -> Result<(&[u8], &[u8]), BadBlock> {
    let index = index.checked_sub(1).ok_or(BadBlock::Invalid)?;
    if let Some((name, value)) = STATIC.get(index) {
        return Ok((name.as_bytes(), value.as_bytes()));
    }
    dynamic.get(index - STATIC.len()).map(|(name, value)| (&**name, &**value)).ok_or(BadBlock::Invalid)
}

/// Decodes an integer with a prefix of this many bits (RFC 7541, section 5.1).
pub(crate) fn integer(block: &mut &[u8], prefix: u8) -> Result<usize, BadBlock> {
    let (&first, mut rest) = block.split_first().ok_or(BadBlock::Invalid)?;
    let max_prefix = (1_usize << prefix) - 1;
    let mut value = usize::from(first) & max_prefix;
    if value == max_prefix {
        let mut shift = 0;
        loop {
            let (&next, behind) = rest.split_first().ok_or(BadBlock::Invalid)?;
            rest = behind;
            value += usize::from(next & 0x7f) << shift;
            shift += 7;
            if next & 0x80 == 0 {
                break;
            }
            if shift > 21 {
                return Err(BadBlock::Invalid);
            }
        }
    }
    *block = rest;
    Ok(value)
}

/// Decodes a string whose length has a prefix of this many bits. A plain string is a part of the block, a Huffman-coded one
/// is decoded into `buffer`.
pub(crate) fn string<'a, 'b: 'a>(
    block: &mut &'b [u8],
    prefix: u8,
    buffer: &'a mut Vec<u8>,
) -> Result<&'a [u8], BadBlock> {
    let is_coded = block.first().ok_or(BadBlock::Invalid)? >> prefix & 1 != 0;
    let length = integer(block, prefix)?;
    let (bytes, rest) = block.split_at_checked(length).ok_or(BadBlock::Invalid)?;
    *block = rest;
    if !is_coded {
        return Ok(bytes);
    }
    buffer.clear();
    if huffman::decode(bytes, buffer) { Ok(buffer) } else { Err(BadBlock::Invalid) }
}

/// Appends an integer with a prefix of this many bits; the remaining upper bits are
/// `flags`.
#[inline]
pub(crate) fn put_integer(output: &mut Vec<u8>, flags: u8, prefix: u8, value: usize) {
    let max_prefix = (1_usize << prefix) - 1;
    if value < max_prefix {
        output.push(flags | value as u8);
        return;
    }
    output.push(flags | max_prefix as u8);
    let mut rest = value - max_prefix;
    while rest >= 0x80 {
        output.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    output.push(rest as u8);
}

/// Appends a string without Huffman coding.
pub(crate) fn put_string(output: &mut Vec<u8>, bytes: &[u8]) {
    put_integer(output, 0, 7, bytes.len());
    output.extend_from_slice(bytes);
}

/// The index of a field in the static table, and that of its name.
pub(crate) fn static_index(name: &str, value: &str) -> (Option<usize>, Option<usize>) {
    let whole = STATIC.iter().position(|field| *field == (name, value));
    let named = STATIC.iter().position(|field| field.0 == name);
    (whole.map(|index| index + 1), named.map(|index| index + 1))
}

/// Appends a field without indexing.
pub(crate) fn put_field(output: &mut Vec<u8>, name: &str, value: &str) {
    match static_index(name, value) {
        (Some(index), _) => put_integer(output, 0x80, 7, index),
        (None, named) => {
            put_integer(output, 0, 4, named.unwrap_or_default());
            if named.is_none() {
                put_string(output, name.as_bytes());
            }
            put_string(output, value.as_bytes());
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The fields of a block, each in a line.
    pub(crate) fn decoded(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<String>, BadBlock> {
        let mut fields = Vec::new();
        decoder.decode(block, |name, value| {
            fields.push(format!("{}: {}", String::from_utf8_lossy(name), String::from_utf8_lossy(value)));
        })?;
        Ok(fields)
    }

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits
            .chunks(2)
            .map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap())
            .collect()
    }

    #[test]
    fn requests_of_the_rfc_with_a_table_that_grows() {
        // RFC 7541, C.4: three requests on one connection, Huffman-coded.
        let mut decoder = Decoder::default();
        let first = decoded(&mut decoder, &hex("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff")).unwrap();
        assert_eq!(first, [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"]);
        let second = decoded(&mut decoder, &hex("8286 84be 5886 a8eb 1064 9cbf")).unwrap();
        assert_eq!(second[3..], [":authority: www.example.com", "cache-control: no-cache"]);
        let third =
            decoded(&mut decoder, &hex("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf"))
                .unwrap();
        assert_eq!(
            third[2..],
            [":path: /index.html", ":authority: www.example.com", "custom-key: custom-value"]
        );
    }

    #[test]
    fn a_small_table_forgets() {
        let mut decoder = Decoder::default();
        // A table of 64 bytes holds one of these fields.
        let mut block = Vec::new();
        put_integer(&mut block, 0x20, 5, 64);
        for value in ["a", "b"] {
            block.push(0x40);
            put_string(&mut block, b"name");
            put_string(&mut block, value.as_bytes());
        }
        assert_eq!(decoded(&mut decoder, &block).unwrap().len(), 2);
        assert_eq!(decoded(&mut decoder, &[0xbe]).unwrap(), ["name: b"]);
        assert_eq!(decoded(&mut decoder, &[0xbf]), Err(BadBlock::Invalid));
    }

    #[test]
    fn invalid_blocks_are_rejected() {
        for block in ["80", "ff", "ffffffffffff", "40", "4082", "0001ff", "3fe21f", "823f00"] {
            assert_eq!(decoded(&mut Decoder::default(), &hex(block)), Err(BadBlock::Invalid), "{block}");
        }
    }

    proptest! {
        // Each case has many fields; a fuzz target reads them, too.
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn what_is_put_is_read(fields in prop::collection::vec(("[a-z-]{1,40}", "[ -~]{0,300}"), 0..20)) {
            let mut block = Vec::new();
            for (name, value) in &fields {
                put_field(&mut block, name, value);
            }
            let expected: Vec<String> = fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            prop_assert_eq!(decoded(&mut Decoder::default(), &block).unwrap(), expected);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut decoder = Decoder::default();
            let _ = decoded(&mut decoder, &bytes);
            let _ = decoded(&mut decoder, &bytes);
        }
    }
}
