//! The upgrade: what is asked, and the proof that it was understood.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

/// The key of every upgrade. It is to be drawn where caches stand between that may confuse connections; here it only has
/// to be one.
pub(super) const KEY: &str = "aG9wdGF4LWxvYWQta2V5IQ==";

/// The proof that a server understood an upgrade with this key (section 4.2.2).
pub fn accept_key(key: &str) -> String {
    let mut hash = Sha1::new();
    hash.update(key.trim().as_bytes());
    hash.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    STANDARD.encode(hash.finalize())
}

/// The bytes that ask for an upgrade.
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
