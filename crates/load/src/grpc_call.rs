//! A single blocking gRPC call, for example for server reflection before a load.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use hoptax_wire::http2::{Http2, Settings};
use hoptax_wire::tls::{ClientConfig, Tls, TlsError};
use hoptax_wire::{Encoded, Event, ProtocolError, Response};
use thiserror::Error;

use crate::dial::Dial;
use crate::target::Target;

/// An error of a call.
#[derive(Debug, Error)]
pub enum GrpcCallError {
    /// A socket error.
    #[error("{0}")]
    Socket(#[from] std::io::Error),
    /// A TLS error.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// An HTTP/2 error.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The call timed out.
    #[error("the call timed out")]
    TimedOut,
    /// The server closed the connection or reset the stream.
    #[error("the server closed the connection or reset the stream")]
    Closed,
    /// The server responded, but not with gRPC status 0.
    #[error("the server responded with HTTP status {status} and {}", grpc_text(*.grpc_status))]
    Refused {
        /// HTTP status.
        status: u16,
        /// gRPC status, if the response has one.
        grpc_status: Option<u16>,
    },
}

fn grpc_text(status: Option<u16>) -> String {
    status.map_or_else(|| "no gRPC status".to_owned(), |status| format!("gRPC status {status}"))
}

/// Calls `target` on a new connection. Returns the messages of the response, length-prefixed.
///
/// # Errors
/// When a step takes longer than `timeout`, or the call fails.
pub fn grpc_call(
    target: &Target,
    dial: &Dial,
    security: Option<&Arc<ClientConfig>>,
    timeout: Duration,
) -> Result<Vec<u8>, GrpcCallError> {
    let socket = dial.connected(target.address, timeout)?;
    let tls = match (security, &target.server_name) {
        (Some(config), Some(name)) => Some(Tls::client(config, name.clone())?),
        _ => None,
    };
    let client = Http2::new(Settings::with_streams(1), None).keeping_bodies();
    let mut plain = Vec::new();
    client.open(&mut plain);
    let mut call = Call { socket, tls, client };
    call.send(&plain)?;
    let response = call.response(&target.request)?;
    match response.grpc_status {
        Some(0) => Ok(call.client.kept().to_vec()),
        grpc_status => Err(GrpcCallError::Refused { status: response.status, grpc_status }),
    }
}

struct Call {
    socket: File,
    tls: Option<Tls>,
    client: Http2,
}

impl Call {
    fn send(&mut self, plain: &[u8]) -> Result<(), GrpcCallError> {
        let Some(tls) = &mut self.tls else { return Ok(self.socket.write_all(plain)?) };
        let mut output = Vec::new();
        tls.send(plain, &mut output)?;
        self.transmit(output)
    }

    /// Writes TLS output, including the bytes that exceeded its buffer.
    fn transmit(&mut self, mut output: Vec<u8>) -> Result<(), GrpcCallError> {
        while !output.is_empty() {
            self.socket.write_all(&output)?;
            output.clear();
            if let Some(tls) = &mut self.tls {
                tls.flush(&mut output)?;
            }
        }
        Ok(())
    }

    /// Sends the request as soon as the server allows one, and reads the response.
    fn response(&mut self, request: &Encoded) -> Result<Response, GrpcCallError> {
        let mut is_sent = false;
        let (mut buffer, mut decrypted, mut events) = (vec![0; 16 * 1024], Vec::new(), Vec::new());
        loop {
            let read = match self.socket.read(&mut buffer) {
                Ok(0) => return Err(GrpcCallError::Closed),
                Ok(read) => read,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Err(GrpcCallError::TimedOut);
                }
                Err(error) => return Err(error.into()),
            };
            let mut bytes = buffer.get(..read).unwrap_or_default();
            if let Some(tls) = &mut self.tls {
                decrypted.clear();
                let mut output = Vec::new();
                let received = tls.receive(bytes, &mut decrypted, &mut output);
                self.transmit(output)?;
                received?;
                bytes = &decrypted;
            }
            let mut replies = Vec::new();
            self.client.feed(bytes, &mut replies, &mut events)?;
            if !is_sent && self.client.settings_received() && self.client.max_streams() > 0 {
                self.client.send(0, request, &request.bytes, &mut replies);
                is_sent = true;
            }
            self.send(&replies)?;
            for event in events.drain(..) {
                match event {
                    Event::Answered { response, .. } => return Ok(response),
                    Event::Lost { .. } => return Err(GrpcCallError::Closed),
                    Event::FirstByte { .. }
                    | Event::Message { .. }
                    | Event::Draining { .. }
                    | Event::Limit { .. } => {}
                }
            }
        }
    }
}
