//! A request in Envoy, as a filter sees it during a hook.

use std::borrow::Cow;
use std::ffi::c_void;

use hoptax_tasks::plans::Refusal;

use crate::abi::{self, BUFFERED_BODY, Buffer, Header, RECEIVED_BODY, REQUEST_HEADERS};

/// A request during a hook.
pub(crate) struct Request {
    envoy: *mut c_void,
}

impl Request {
    /// The request of a hook.
    ///
    /// # Safety
    /// `envoy` must be the pointer that Envoy passed to the hook, and the request must not outlive the hook.
    pub(crate) unsafe fn new(envoy: *mut c_void) -> Self {
        Self { envoy }
    }

    /// The first value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        let mut value = Buffer::EMPTY;
        let name = Buffer::new(name.as_bytes());
        // SAFETY: The pointers are valid during the call. Envoy accepts a null count.
        let exists = unsafe {
            abi::get_header(self.envoy, REQUEST_HEADERS, name, &raw mut value, 0, std::ptr::null_mut())
        };
        // SAFETY: The value is valid until a header is changed, which needs a unique reference.
        exists.then(|| unsafe { value.bytes() })
    }

    /// Adds a header.
    pub(crate) fn add_header(&mut self, name: &str, value: &[u8]) {
        let (name, value) = (Buffer::new(name.as_bytes()), Buffer::new(value));
        // SAFETY: The buffers are valid during the call, and Envoy copies them.
        unsafe { abi::add_header(self.envoy, REQUEST_HEADERS, name, value) };
    }

    /// Answers the request with a status.
    pub(crate) fn respond(&mut self, status: u32) {
        self.respond_with(status, &[], b"");
    }

    /// Answers the request with a refusal.
    pub(crate) fn refuse(&mut self, refusal: &Refusal) {
        let header = |(name, value): &(&'static str, String)| Header {
            name: Buffer::new(name.as_bytes()),
            value: Buffer::new(value.as_bytes()),
        };
        let headers: Vec<Header> = refusal.headers.iter().map(header).collect();
        self.respond_with(refusal.status.into(), &headers, refusal.body.as_bytes());
    }

    fn respond_with(&mut self, status: u32, headers: &[Header], body: &[u8]) {
        let (start, count) = (headers.as_ptr(), headers.len());
        // SAFETY: The headers, what they point to, and the body are valid during the call, and Envoy copies them.
        unsafe { abi::send_response(self.envoy, status, start, count, Buffer::new(body), Buffer::EMPTY) };
    }

    /// The body, in the hook for its last part.
    pub(crate) fn body(&self) -> Cow<'_, [u8]> {
        // SAFETY: The pointer is valid.
        let is_buffered = unsafe { abi::received_is_buffered(self.envoy) };
        let mut chunks = if is_buffered { Vec::new() } else { self.chunks(BUFFERED_BODY) };
        chunks.extend(self.chunks(RECEIVED_BODY));
        // SAFETY: The pieces are valid until the body is changed, which needs a unique reference.
        let mut chunks = chunks.into_iter().map(|chunk| unsafe { chunk.bytes() });
        match (chunks.next(), chunks.next()) {
            (None, _) => Cow::Borrowed(&[]),
            (Some(only), None) => Cow::Borrowed(only),
            (Some(first), Some(second)) => {
                Cow::Owned([first, second].into_iter().chain(chunks).flatten().copied().collect())
            }
        }
    }

    fn chunks(&self, part: u32) -> Vec<Buffer> {
        // SAFETY: The pointer is valid.
        let count = unsafe { abi::get_body_chunks_size(self.envoy, part) };
        let mut chunks = vec![Buffer::EMPTY; count];
        // SAFETY: There is room for all pieces.
        let exists = count > 0 && unsafe { abi::get_body_chunks(self.envoy, part, chunks.as_mut_ptr()) };
        if exists { chunks } else { Vec::new() }
    }

    /// Replaces the body, in the hook for its last part, and states its length in the header.
    pub(crate) fn replace_body(&mut self, body: &[u8]) {
        // SAFETY: The buffers are valid during the calls, and Envoy copies them. It accepts any length to drain.
        unsafe {
            if !abi::received_is_buffered(self.envoy) {
                abi::drain_body(self.envoy, BUFFERED_BODY, usize::MAX);
            }
            abi::drain_body(self.envoy, RECEIVED_BODY, usize::MAX);
            abi::append_body(self.envoy, RECEIVED_BODY, Buffer::new(body));
            let (name, length) = (Buffer::new(b"content-length"), body.len().to_string());
            abi::set_header(self.envoy, REQUEST_HEADERS, name, Buffer::new(length.as_bytes()));
        }
    }

    /// Adds to a counter, by its id.
    pub(crate) fn count(&mut self, counter: usize, value: u64) {
        // SAFETY: The pointer is valid, and no labels are given. For an unknown counter, Envoy returns an error.
        unsafe { abi::increment_counter(self.envoy, counter, std::ptr::null(), 0, value) };
    }
}
