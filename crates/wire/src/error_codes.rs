//! Error codes of HTTP/2. Resets of HTTP/3 are counted under the same names.

/// The error code `NO_ERROR`.
pub(crate) const NO_ERROR: u32 = 0;
/// The error code `REFUSED_STREAM`.
pub(crate) const REFUSED_STREAM: u32 = 7;
/// The error code `PROTOCOL_ERROR`.
pub(crate) const PROTOCOL_ERROR: u32 = 1;
/// The error code CANCEL.
pub(crate) const CANCEL: u32 = 8;

/// Defines both lists from one, as `concat!` takes only literals.
macro_rules! error_codes {
    ($($name:literal,)*) => {
        /// The names of error codes (RFC 9113, section 7), as in results.
        pub const ERROR_CODES: &[&str] = &[$($name),*];
        /// The names of stream resets by error code, as failures are named in results.
        pub const STREAM_RESETS: &[&str] = &[$(concat!("stream-reset-", $name)),*];
    };
}

error_codes! {
    "no-error",
    "protocol-error",
    "internal-error",
    "flow-control-error",
    "settings-timeout",
    "stream-closed",
    "frame-size-error",
    "refused-stream",
    "cancel",
    "compression-error",
    "connect-error",
    "enhance-your-calm",
    "inadequate-security",
    "http-1-1-required",
}
