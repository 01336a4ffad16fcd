//! An encoded request: encoded once, sent many times.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::field::Field;
use crate::request_flags::RequestFlags;

/// Bytes that may contain a password. `Debug` prints only their number.
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

/// An encoded request.
#[derive(Clone)]
pub struct Encoded {
    /// Its bytes as sent, or the parts that are assembled on each connection.
    pub bytes: Vec<u8>,
    /// Properties that affect the reading of its response and the connection.
    pub flags: RequestFlags,
    /// Its header fields, if each connection compresses them separately.
    pub(crate) fields: Vec<Field>,
    /// The offset of its body.
    pub(crate) body_from: usize,
}

impl fmt::Debug for Encoded {
    /// Prints only the size, since headers may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoded")
            .field("bytes", &self.bytes.len())
            .field("flags", &self.flags)
            .finish_non_exhaustive()
    }
}

impl Encoded {
    /// Bytes that are sent unchanged.
    pub fn plain(bytes: Vec<u8>, is_head: bool) -> Self {
        Self { bytes, flags: RequestFlags::head(is_head), fields: Vec::new(), body_from: 0 }
    }

    /// Heap memory, bytes.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.len() + self.fields.len() * size_of::<Field>()
    }
}
