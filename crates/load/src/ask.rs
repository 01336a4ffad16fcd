//! A single blocking gRPC call, for example for server reflection before a load.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use hoptax_wire::http2::{Http2, Settings};
use hoptax_wire::tls::{ClientConfig, Tls, TlsError};
use hoptax_wire::{Event, ProtocolError, Response};
use thiserror::Error;

use crate::target::Target;

/// Why a call failed.
#[derive(Debug, Error)]
pub enum AskError {
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
    #[error("the server did not answer in time")]
    Late,
    /// The server closed the connection or reset the stream.
    #[error("the server closed the connection or reset the stream")]
    Lost,
    /// The server answered, but not with gRPC status 0.
    #[error("the server answered with HTTP status {status} and {}", grpc_text(*.grpc_status))]
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
pub fn ask(
    target: &Target,
    security: Option<&Arc<ClientConfig>>,
    timeout: Duration,
) -> Result<Vec<u8>, AskError> {
    let socket = TcpStream::connect_timeout(&target.address, timeout)?;
    socket.set_read_timeout(Some(timeout))?;
    socket.set_write_timeout(Some(timeout))?;
    let tls = match (security, &target.server_name) {
        (Some(config), Some(name)) => Some(Tls::client(config, name.clone())?),
        _ => None,
    };
    let client = Http2::new(Settings::of_streams(1), None).keeping_bodies();
    let mut plain = Vec::new();
    client.open(&mut plain);
    let mut call = Call { socket, tls, client };
    call.client.send(0, &target.request, &target.request.bytes, &mut plain);
    call.put(&plain)?;
    let answer = call.answer()?;
    match answer.grpc_status {
        Some(0) => Ok(call.client.kept().to_vec()),
        grpc_status => Err(AskError::Refused { status: answer.status, grpc_status }),
    }
}

struct Call {
    socket: TcpStream,
    tls: Option<Tls>,
    client: Http2,
}

impl Call {
    fn put(&mut self, plain: &[u8]) -> Result<(), AskError> {
        let Some(tls) = &mut self.tls else { return Ok(self.socket.write_all(plain)?) };
        let mut output = Vec::new();
        tls.send(plain, &mut output)?;
        self.transmit(output)
    }

    /// Writes TLS output, including what exceeded its buffer.
    fn transmit(&mut self, mut output: Vec<u8>) -> Result<(), AskError> {
        while !output.is_empty() {
            self.socket.write_all(&output)?;
            output.clear();
            if let Some(tls) = &mut self.tls {
                tls.flush(&mut output)?;
            }
        }
        Ok(())
    }

    fn answer(&mut self) -> Result<Response, AskError> {
        let (mut buffer, mut decrypted, mut events) = (vec![0; 16 * 1024], Vec::new(), Vec::new());
        loop {
            let read = match self.socket.read(&mut buffer) {
                Ok(0) => return Err(AskError::Lost),
                Ok(read) => read,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Err(AskError::Late);
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
            self.put(&replies)?;
            for event in events.drain(..) {
                match event {
                    Event::Answered { answer, .. } => return Ok(answer),
                    Event::Lost { .. } => return Err(AskError::Lost),
                    Event::Begun { .. } | Event::Message { .. } | Event::Retired { .. } => {}
                }
            }
        }
    }
}
