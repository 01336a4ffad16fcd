//! The upgrade: its request, and the accept key of the response.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

/// The key of every upgrade. It should be random if caches in between may confuse connections; here any value is fine.
pub(super) const KEY: &str = "aG9wdGF4LWxvYWQta2V5IQ==";

/// The accept key for this key (RFC 6455, section 4.2.2).
pub fn accept_key(key: &str) -> String {
    let mut hash = Sha1::new();
    hash.update(key.trim().as_bytes());
    hash.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    STANDARD.encode(hash.finalize())
}

/// The upgrade request.
pub fn upgrade_request(target: &str, host: &str, headers: &[(String, String)]) -> Vec<u8> {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!(
        "GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n{headers}\r\n"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_example_of_the_rfc() {
        assert_eq!(super::accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
