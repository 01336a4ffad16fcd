//! Types and callbacks of Envoy 1.40's C interface for dynamic modules
//! (`source/extensions/dynamic_modules/abi/abi.h` in its sources, version v0.2.0).
//!
//! All unsafe code of the module relies on two guarantees of Envoy: pointers that it passes are valid during the call, and a
//! configuration is destroyed after the last filter created from it.

use std::ffi::{CStr, c_void};

/// The version of the interface.
pub(crate) const VERSION: &CStr = c"v0.2.0";

/// The result of a successful callback that concerns counters.
pub(crate) const SUCCESS: u32 = 0;

/// The type of request headers.
pub(crate) const REQUEST_HEADERS: u32 = 0;

/// The part of the body of the request that arrived last.
pub(crate) const RECEIVED_BODY: u32 = 0;
/// The part of the body of the request that arrived earlier.
pub(crate) const BUFFERED_BODY: u32 = 1;

/// The status with which a request continues through the filter chain.
pub(crate) const CONTINUE: u32 = 0;
/// The status of headers that wait for the body or were answered.
pub(crate) const STOP_HEADERS: u32 = 1;
/// The status of a part of a body that waits for the rest.
pub(crate) const BUFFER_BODY: u32 = 1;
/// The status of a body that was answered.
pub(crate) const DISCARD_BODY: u32 = 3;

/// Borrowed bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Buffer {
    start: *const u8,
    length: usize,
}

impl Buffer {
    /// No bytes.
    pub(crate) const EMPTY: Self = Self { start: std::ptr::null(), length: 0 };

    /// Bytes that Envoy reads during a call.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self { start: bytes.as_ptr(), length: bytes.len() }
    }

    /// The bytes.
    ///
    /// # Safety
    /// If `length` is not 0, `length` bytes must be readable from `start` while the slice is in use.
    pub(crate) unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.length == 0 {
            // `start` may be null.
            return &[];
        }
        // SAFETY: Guaranteed by the caller.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

/// A header of a response.
#[repr(C)]
pub(crate) struct Header {
    /// Its name, in lower case.
    pub name: Buffer,
    /// Its value.
    pub value: Buffer,
}

macro_rules! callbacks {
    ($($(#[$about:meta])* $short:ident = $long:ident ( $($name:ident: $type:ty),* ) $(-> $result:ty)?;)*) => {
        unsafe extern "C" {
            $(
                $(#[$about])*
                #[link_name = concat!("envoy_dynamic_module_callback_http_", stringify!($long))]
                pub(crate) fn $short($($name: $type),*) $(-> $result)?;
            )*
        }
    };
}

callbacks! {
    /// Defines a counter and writes its id to `id`.
    define_counter = filter_config_define_counter(
        envoy: *mut c_void, name: Buffer, labels: *const Buffer, labels_length: usize, id: *mut usize
    ) -> u32;
    /// Adds `value` to a counter.
    increment_counter = filter_increment_counter(
        envoy: *mut c_void, id: usize, labels: *const Buffer, labels_length: usize, value: u64
    ) -> u32;
    /// Writes the value of the header with this name and index to `value`; false if there is none.
    get_header = get_header(
        envoy: *mut c_void, headers: u32, name: Buffer, value: *mut Buffer, index: usize, count: *mut usize
    ) -> bool;
    /// Adds a header.
    add_header = add_header(envoy: *mut c_void, headers: u32, name: Buffer, value: Buffer) -> bool;
    /// Sets a header, in place of all headers of this name.
    set_header = set_header(envoy: *mut c_void, headers: u32, name: Buffer, value: Buffer) -> bool;
    /// Answers the request.
    send_response = send_response(
        envoy: *mut c_void, status: u32, headers: *const Header, headers_length: usize, body: Buffer, details: Buffer
    );
    /// The number of pieces of a part of a body.
    get_body_chunks_size = get_body_chunks_size(envoy: *mut c_void, part: u32) -> usize;
    /// Writes the pieces of a part of a body to `chunks`, which must have room for all; false if there is none.
    get_body_chunks = get_body_chunks(envoy: *mut c_void, part: u32, chunks: *mut Buffer) -> bool;
    /// Appends bytes to a part of a body.
    append_body = append_body(envoy: *mut c_void, part: u32, bytes: Buffer) -> bool;
    /// Removes bytes from the start of a part of a body.
    drain_body = drain_body(envoy: *mut c_void, part: u32, length: usize) -> bool;
    /// True if an earlier filter buffered the body, so that the received part is the buffered part.
    received_is_buffered = received_buffered_request_body(envoy: *mut c_void) -> bool;
}
