//! Request encoding: header fields are encoded once, and each connection indexes them in its dynamic table.

use std::collections::HashMap;

use super::hpack::{ENTRY_BYTES, TABLE_BYTES, put_integer, put_string, static_index};
use crate::encoded::Encoded;
use crate::field::Field;
use crate::request_flags::RequestFlags;

/// Index of `cookie` in the static table (RFC 7541, appendix A).
const COOKIE_INDEX: usize = 32;

/// Appends a header field with the cookies of a connection, which is never indexed.
pub(super) fn put_cookies(cookies: &[u8], output: &mut Vec<u8>) {
    put_integer(output, 0x10, 4, COOKIE_INDEX);
    put_string(output, cookies);
}

impl Encoded {
    /// An HTTP/2 request. Names of `fields` are in lower case, with pseudo-header fields first.
    pub fn http2<T: AsRef<str>>(fields: &[(T, T)], body: &[u8]) -> Self {
        let mut bytes = Vec::new();
        let fields_of = |(name, value): (&str, &str)| {
            let (whole, named) = static_index(name, value);
            let from = bytes.len();
            if named.is_none() {
                put_string(&mut bytes, name.as_bytes());
            }
            put_string(&mut bytes, value.as_bytes());
            Field {
                whole,
                named: named.unwrap_or_default(),
                rest: from..bytes.len(),
                number: None,
                table_bytes: name.len() + value.len() + ENTRY_BYTES,
            }
        };
        let fields = fields.iter().map(|(name, value)| (name.as_ref(), value.as_ref()));
        let is_head = fields.clone().any(|field| field == (":method", "HEAD"));
        let fields = fields.map(fields_of).collect();
        let body_from = bytes.len();
        bytes.extend_from_slice(body);
        Self { bytes, flags: RequestFlags::head(is_head), fields, body_from }
    }

    /// Numbers the fields of all requests of a load, so that connections can index those that requests share. Fields
    /// for whose bytes `varies` is true differ in each request and are not indexed.
    pub fn number_fields<'a>(requests: impl Iterator<Item = &'a mut Self>, varies: impl Fn(&[u8]) -> bool) {
        // Keyed by the index of the name and the rest of the field: a load may have very many requests.
        let mut known: HashMap<(usize, Vec<u8>), usize> = HashMap::new();
        for request in requests {
            for field in &mut request.fields {
                let rest = request.bytes.get(field.rest.clone()).unwrap_or_default();
                let next = known.len();
                field.number =
                    (!varies(rest)).then(|| *known.entry((field.named, rest.to_vec())).or_insert(next));
            }
        }
    }
}

/// The server's dynamic table, as filled by this connection.
#[derive(Debug)]
pub(crate) struct FieldTable {
    /// For the number of each field, the insertion count at which it was added, from 1; 0 if not added.
    positions: Vec<u32>,
    inserted: u32,
    bytes: usize,
    /// The maximum size in use.
    max_bytes: usize,
    /// True if a size update to zero must still be sent to the server.
    owes_size: bool,
}

impl Default for FieldTable {
    fn default() -> Self {
        Self { positions: Vec::new(), inserted: 0, bytes: 0, max_bytes: TABLE_BYTES, owes_size: false }
    }
}

impl FieldTable {
    /// Applies the server's setting. A table smaller than the default is not used at all.
    pub(crate) fn limit(&mut self, bytes: usize) {
        if bytes < TABLE_BYTES && self.max_bytes > 0 {
            (self.max_bytes, self.owes_size) = (0, true);
            self.positions.clear();
        }
    }

    /// Appends the header block of a request, whose bytes are `bytes`.
    pub(crate) fn put(&mut self, request: &Encoded, bytes: &[u8], output: &mut Vec<u8>) {
        if std::mem::take(&mut self.owes_size) {
            put_integer(output, 0x20, 5, 0);
        }
        for field in &request.fields {
            if let Some(index) = field.whole {
                put_integer(output, 0x80, 7, index);
                continue;
            }
            let rest = bytes.get(field.rest.clone()).unwrap_or_default();
            let fits = self.bytes + field.table_bytes <= self.max_bytes;
            let Some(number) = field.number.filter(|_| self.max_bytes > 0) else {
                put_integer(output, 0, 4, field.named);
                output.extend_from_slice(rest);
                continue;
            };
            match self.positions.get(number) {
                Some(&position) if position > 0 => {
                    // The newest entry follows the 61 of the static table.
                    put_integer(output, 0x80, 7, 62 + (self.inserted - position) as usize);
                }
                _ if fits => {
                    put_integer(output, 0x40, 6, field.named);
                    output.extend_from_slice(rest);
                    self.inserted += 1;
                    self.bytes += field.table_bytes;
                    if self.positions.len() <= number {
                        self.positions.resize(number + 1, 0);
                    }
                    if let Some(position) = self.positions.get_mut(number) {
                        *position = self.inserted;
                    }
                }
                // Nothing is ever evicted, so positions stay valid.
                _ => {
                    put_integer(output, 0, 4, field.named);
                    output.extend_from_slice(rest);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::hpack::Decoder;
    use super::super::hpack::tests::decoded;
    use super::*;

    fn request(path: &str) -> Encoded {
        let fields = [(":method", "GET"), (":scheme", "http"), (":path", path), ("x-a", "b")];
        Encoded::http2(&fields, b"body")
    }

    #[test]
    fn repeated_fields_are_sent_as_indexes() {
        let mut requests = [request("/one"), request("/two"), request("/{n}")];
        Encoded::number_fields(requests.iter_mut(), |bytes| bytes.contains(&b'{'));
        let (mut table, mut decoder) = (FieldTable::default(), Decoder::default());
        let mut lengths = Vec::new();
        for number in [0, 1, 2, 0, 1, 2] {
            let (request, mut block) = (&requests[number], Vec::new());
            table.put(request, &request.bytes, &mut block);
            let path = [":path: /one", ":path: /two", ":path: /{n}"][number];
            let fields = decoded(&mut decoder, &block).unwrap();
            assert_eq!(fields, [":method: GET", ":scheme: http", path, "x-a: b"]);
            lengths.push(block.len());
        }
        assert_eq!(lengths, [15, 9, 9, 4, 4, 9]);
        assert_eq!(&requests[0].bytes[requests[0].body_from..], b"body");
    }

    #[test]
    fn a_server_without_a_table_gets_everything_each_time() {
        let mut requests = [request("/one")];
        Encoded::number_fields(requests.iter_mut(), |_| false);
        let (mut table, mut decoder) = (FieldTable::default(), Decoder::default());
        let mut send = |table: &mut FieldTable| {
            let mut block = Vec::new();
            table.put(&requests[0], &requests[0].bytes, &mut block);
            assert_eq!(decoded(&mut decoder, &block).unwrap().len(), 4);
            block.len()
        };
        send(&mut table);
        assert_eq!(send(&mut table), 4);
        table.limit(0);
        assert_eq!((send(&mut table), send(&mut table)), (16, 15));
    }

    #[test]
    fn a_full_table_is_not_pushed_out_of() {
        let mut requests: Vec<Encoded> = (0..100).map(|number| request(&format!("/{number:060}"))).collect();
        Encoded::number_fields(requests.iter_mut(), |_| false);
        let (mut table, mut decoder) = (FieldTable::default(), Decoder::default());
        for _ in 0..2 {
            for request in &requests {
                let mut block = Vec::new();
                table.put(request, &request.bytes, &mut block);
                assert_eq!(decoded(&mut decoder, &block).unwrap().len(), 4);
            }
        }
        assert!(table.bytes <= TABLE_BYTES);
    }
}
