//! A request as bytes, encoded once and sent often.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::http2::Field;

/// Bytes that may hold a password: they are sent, and shown by nothing but their number.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Hidden(Arc<[u8]>);

impl From<Vec<u8>> for Hidden {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }
}

impl Deref for Hidden {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// A request as bytes.
#[derive(Clone)]
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

impl fmt::Debug for Encoded {
    /// Says how large it is: its headers may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoded")
            .field("bytes", &self.bytes.len())
            .field("is_head", &self.is_head)
            .finish_non_exhaustive()
    }
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
