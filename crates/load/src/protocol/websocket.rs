//! WebSocket: URL and headers belong to the upgrade, which starts each connection.

use hoptax_wire::http1::Request;
use hoptax_wire::websocket::upgrade_request;
use hoptax_wire::{ClientProtocol, Encoded, Hidden};

use super::{Content, Definition, EncodeError, Scheme, Unencoded};

pub(super) static WEBSOCKET: Definition = Definition {
    name: "websocket",
    title: "WebSocket",
    schemes: &[Scheme { name: "ws", is_secure: false }, Scheme { name: "wss", is_secure: true }],
    content: Content::Messages,
    calls: None,
    has_streams: false,
    uses_quic: false,
    encode,
    // Each connection gets the upgrade of its host when it is opened.
    connection: |_| ClientProtocol::WebSocket { upgrade: Hidden::default() },
};

fn encode(unencoded: &Unencoded) -> Result<(Encoded, Hidden), EncodeError> {
    let Request { method, target, host, headers, body } = unencoded.request.clone();
    let message = Encoded::websocket(&body);
    let head = Request { method, target, host, headers, body: Vec::new() };
    head.encode()?;
    Ok((message, upgrade_request(&head.target, &head.host, &head.headers).into()))
}
