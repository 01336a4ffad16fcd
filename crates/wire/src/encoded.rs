//! A request as bytes, encoded once and sent often.

use crate::http2::Field;

/// A request as bytes.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// All that is sent of it, or the parts from which that is put together.
    pub bytes: Vec<u8>,
    /// Whether it is a `HEAD`, whose answer has no body.
    pub is_head: bool,
    /// Its header fields, where each connection compresses them for itself.
    pub(crate) fields: Vec<Field>,
    /// Where its body begins.
    pub(crate) body_from: usize,
}

impl Encoded {
    /// Bytes that are sent as they are.
    pub fn plain(bytes: Vec<u8>, is_head: bool) -> Self {
        Self { bytes, is_head, fields: Vec::new(), body_from: 0 }
    }

    /// A request of HTTP/3, which is the same on every connection.
    #[cfg(feature = "http3")]
    pub fn http3(fields: &[(String, String)], body: &[u8], is_head: bool) -> Self {
        Self::plain(crate::http3::request(fields, body), is_head)
    }
}
