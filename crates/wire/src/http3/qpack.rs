//! QPACK (RFC 9204) without its dynamic table: header fields from the static table or as
//! literals.

use crate::http2::hpack::{BadBlock, ENTRY_BYTES, MAX_LIST_BYTES, integer, put_integer, put_string, string};

/// Names and values of the static table (RFC 9204, appendix A).
const STATIC: [(&str, &str); 99] = [
    (":authority", ""),
    (":path", "/"),
    ("age", "0"),
    ("content-disposition", ""),
    ("content-length", "0"),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("referer", ""),
    ("set-cookie", ""),
    (":method", "CONNECT"),
    (":method", "DELETE"),
    (":method", "GET"),
    (":method", "HEAD"),
    (":method", "OPTIONS"),
    (":method", "POST"),
    (":method", "PUT"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "103"),
    (":status", "200"),
    (":status", "304"),
    (":status", "404"),
    (":status", "503"),
    ("accept", "*/*"),
    ("accept", "application/dns-message"),
    ("accept-encoding", "gzip, deflate, br"),
    ("accept-ranges", "bytes"),
    ("access-control-allow-headers", "cache-control"),
    ("access-control-allow-headers", "content-type"),
    ("access-control-allow-origin", "*"),
    ("cache-control", "max-age=0"),
    ("cache-control", "max-age=2592000"),
    ("cache-control", "max-age=604800"),
    ("cache-control", "no-cache"),
    ("cache-control", "no-store"),
    ("cache-control", "public, max-age=31536000"),
    ("content-encoding", "br"),
    ("content-encoding", "gzip"),
    ("content-type", "application/dns-message"),
    ("content-type", "application/javascript"),
    ("content-type", "application/json"),
    ("content-type", "application/x-www-form-urlencoded"),
    ("content-type", "image/gif"),
    ("content-type", "image/jpeg"),
    ("content-type", "image/png"),
    ("content-type", "text/css"),
    ("content-type", "text/html; charset=utf-8"),
    ("content-type", "text/plain"),
    ("content-type", "text/plain;charset=utf-8"),
    ("range", "bytes=0-"),
    ("strict-transport-security", "max-age=31536000"),
    ("strict-transport-security", "max-age=31536000; includesubdomains"),
    ("strict-transport-security", "max-age=31536000; includesubdomains; preload"),
    ("vary", "accept-encoding"),
    ("vary", "origin"),
    ("x-content-type-options", "nosniff"),
    ("x-xss-protection", "1; mode=block"),
    (":status", "100"),
    (":status", "204"),
    (":status", "206"),
    (":status", "302"),
    (":status", "400"),
    (":status", "403"),
    (":status", "421"),
    (":status", "425"),
    (":status", "500"),
    ("accept-language", ""),
    ("access-control-allow-credentials", "FALSE"),
    ("access-control-allow-credentials", "TRUE"),
    ("access-control-allow-headers", "*"),
    ("access-control-allow-methods", "get"),
    ("access-control-allow-methods", "get, post, options"),
    ("access-control-allow-methods", "options"),
    ("access-control-expose-headers", "content-length"),
    ("access-control-request-headers", "content-type"),
    ("access-control-request-method", "get"),
    ("access-control-request-method", "post"),
    ("alt-svc", "clear"),
    ("authorization", ""),
    ("content-security-policy", "script-src 'none'; object-src 'none'; base-uri 'none'"),
    ("early-data", "1"),
    ("expect-ct", ""),
    ("forwarded", ""),
    ("if-range", ""),
    ("origin", ""),
    ("purpose", "prefetch"),
    ("server", ""),
    ("timing-allow-origin", "*"),
    ("upgrade-insecure-requests", "1"),
    ("user-agent", ""),
    ("x-forwarded-for", ""),
    ("x-frame-options", "deny"),
    ("x-frame-options", "sameorigin"),
];
/// Index of `cookie` in the static table.
const COOKIE_INDEX: usize = 5;
/// Appends a block of fields.
pub(super) fn put_block<'a>(output: &mut Vec<u8>, fields: impl Iterator<Item = (&'a str, &'a str)>) {
    // No dynamic entry is referenced, so required insert count and base are zero.
    output.extend_from_slice(&[0, 0]);
    for (name, value) in fields {
        if let Some(index) = STATIC.iter().position(|field| *field == (name, value)) {
            put_integer(output, 0xc0, 6, index);
            continue;
        }
        if let Some(index) = STATIC.iter().position(|field| field.0 == name) {
            put_integer(output, 0x50, 4, index);
        } else {
            put_integer(output, 0x20, 3, name.len());
            output.extend_from_slice(name.as_bytes());
        }
        put_string(output, value.as_bytes());
    }
}

/// Appends a header field with the cookies of a connection, which is never indexed. It may follow any block.
pub(super) fn put_cookies(cookies: &[u8], output: &mut Vec<u8>) {
    put_integer(output, 0x70, 4, COOKIE_INDEX);
    put_string(output, cookies);
}

/// Calls `each` with name and value of every field of a block.
///
/// # Errors
/// When the block is invalid, or refers to the dynamic table, which we disabled.
pub(super) fn decode(mut block: &[u8], mut each: impl FnMut(&[u8], &[u8])) -> Result<(), BadBlock> {
    if integer(&mut block, 8)? != 0 {
        return Err(BadBlock::Invalid);
    }
    integer(&mut block, 7)?;
    let (mut name_buffer, mut value_buffer, mut list_bytes) = (Vec::new(), Vec::new(), 0);
    while let Some(&first) = block.first() {
        let (name, value) = if first & 0x80 != 0 {
            let (name, value) = fixed(first & 0x40 != 0, integer(&mut block, 6)?)?;
            (name.as_bytes(), value.as_bytes())
        } else {
            let name = if first & 0x40 != 0 {
                fixed(first & 0x10 != 0, integer(&mut block, 4)?)?.0.as_bytes()
            } else if first & 0x20 != 0 {
                string(&mut block, 3, &mut name_buffer)?
            } else {
                return Err(BadBlock::Invalid);
            };
            (name, string(&mut block, 7, &mut value_buffer)?)
        };
        list_bytes += name.len() + value.len() + ENTRY_BYTES;
        if list_bytes > MAX_LIST_BYTES {
            return Err(BadBlock::TooLarge);
        }
        each(name, value);
    }
    Ok(())
}

fn fixed(is_static: bool, index: usize) -> Result<(&'static str, &'static str), BadBlock> {
    STATIC.get(index).copied().filter(|_| is_static).ok_or(BadBlock::Invalid)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(block: &[u8]) -> Result<Vec<(String, String)>, BadBlock> {
        let mut fields = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        decode(block, |name, value| fields.push((text(name), text(value))))?;
        Ok(fields)
    }

    #[test]
    fn the_example_of_the_rfc() {
        // RFC 9204, appendix B.1: a path with the name from the static table.
        let block = b"\x00\x00\x51\x0b/index.html";
        assert_eq!(decoded(block).unwrap(), [(":path".to_owned(), "/index.html".to_owned())]);
        let mut put = Vec::new();
        put_block(&mut put, [(":path", "/index.html")].into_iter());
        assert_eq!(put, block);
        put.clear();
        put_block(&mut put, [(":method", "GET"), (":status", "200")].into_iter());
        assert_eq!(put, [0, 0, 0xc0 | 0x11, 0xc0 | 0x19]);
    }

    #[test]
    fn the_dynamic_table_is_refused() {
        for block in [&b"\x03\x81\x10"[..], b"\x00\x00\x80", b"\x00\x00\x41\x00", b"\x00\x00\x10", b"\x00"] {
            assert_eq!(decoded(block), Err(BadBlock::Invalid), "{block:x?}");
        }
    }

    proptest! {
        // Each case has many fields; a fuzz target reads them, too.
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn what_is_put_is_read(fields in prop::collection::vec(("[a-z-]{1,40}", "[ -~]{0,300}"), 0..20)) {
            let mut block = Vec::new();
            put_block(&mut block, fields.iter().map(|(name, value)| (name.as_str(), value.as_str())));
            prop_assert_eq!(decoded(&block).unwrap(), fields);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decoded(&bytes);
        }
    }
}
