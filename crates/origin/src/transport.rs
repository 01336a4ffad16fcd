//! The socket of a connection, with TLS if the client starts a handshake.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use hoptax_wire::tls::{ServerConfig, Tls, TlsError};
use rustix::io::Errno;
use rustix::net::SendFlags;

/// The first byte of every TLS connection: the record type `handshake`. No other protocol of the origin starts with it.
const TLS_HANDSHAKE: u8 = 0x16;

/// A socket with its TLS state and send buffer.
#[derive(Debug)]
pub(crate) struct Transport {
    pub(crate) socket: OwnedFd,
    tls: Option<Tls>,
    /// True if the first byte has been checked for TLS.
    is_detected: bool,
    /// Bytes to send.
    output: Vec<u8>,
    /// Bytes at the front of `output` that the socket has accepted.
    sent: usize,
    /// True if the socket may have unread bytes. Events are edge-triggered, so the state is kept here.
    pub(crate) readable: bool,
}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// Bytes were read. Under TLS they may contain no application data yet.
    Data,
    /// No bytes are available.
    WouldBlock,
    /// The peer closed the connection.
    End,
}

/// An error that ends a connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransportError {
    /// A socket error.
    #[error(transparent)]
    Socket(#[from] Errno),
    /// A TLS error.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl Transport {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self {
            socket,
            tls: None,
            is_detected: false,
            output: Vec::new(),
            sent: 0,
            // Bytes may have arrived before the socket was registered.
            readable: true,
        }
    }

    /// Queues bytes for sending and clears `bytes`.
    pub(crate) fn enqueue(&mut self, bytes: &mut Vec<u8>) -> Result<(), TransportError> {
        match &mut self.tls {
            Some(tls) => tls.send(bytes, &mut self.output)?,
            // Swapping the buffers avoids a copy in the usual case.
            None if self.output.is_empty() => std::mem::swap(&mut self.output, bytes),
            None => self.output.extend_from_slice(bytes),
        }
        bytes.clear();
        Ok(())
    }

    /// Returns true if the socket has accepted all bytes.
    pub(crate) fn is_sent(&self) -> bool {
        self.output.is_empty() && self.tls.as_ref().is_none_or(Tls::is_sent)
    }

    /// Sends queued bytes; false if the socket would block.
    pub(crate) fn send(&mut self) -> Result<bool, TransportError> {
        loop {
            while let Some(rest) = self.output.get(self.sent..).filter(|rest| !rest.is_empty()) {
                match rustix::net::send(&self.socket, rest, SendFlags::NOSIGNAL) {
                    Ok(count) => self.sent += count,
                    Err(Errno::AGAIN) => return Ok(false),
                    Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            self.output.clear();
            self.sent = 0;
            // TLS records that did not fit into the buffer.
            if let Some(tls) = &mut self.tls {
                tls.flush(&mut self.output)?;
            }
            if self.output.is_empty() {
                return Ok(true);
            }
        }
    }

    /// Reads once and appends the data, decrypted under TLS, to `input`.
    pub(crate) fn receive(
        &mut self,
        buffer: &mut [u8],
        config: Option<&Arc<ServerConfig>>,
        input: &mut Vec<u8>,
    ) -> Result<Received, TransportError> {
        while self.readable {
            match rustix::io::read(&self.socket, &mut *buffer) {
                Ok(0) => return Ok(Received::End),
                Ok(count) => {
                    // A short read has emptied the socket; an event reports later bytes.
                    self.readable = count == buffer.len();
                    let bytes = buffer.get(..count).unwrap_or_default();
                    return self.process(bytes, config, input);
                }
                Err(Errno::AGAIN) => self.readable = false,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Received::WouldBlock)
    }

    fn process(
        &mut self,
        bytes: &[u8],
        config: Option<&Arc<ServerConfig>>,
        input: &mut Vec<u8>,
    ) -> Result<Received, TransportError> {
        if !std::mem::replace(&mut self.is_detected, true)
            && bytes.first() == Some(&TLS_HANDSHAKE)
            && let Some(config) = config
        {
            self.tls = Some(Tls::server(config)?);
        }
        let Some(tls) = &mut self.tls else {
            input.extend_from_slice(bytes);
            return Ok(Received::Data);
        };
        match tls.receive(bytes, input, &mut self.output) {
            Ok(true) => Ok(Received::End),
            Ok(false) => Ok(Received::Data),
            Err(error) => {
                // Sends the alert. A send error takes precedence, as it ends the connection too.
                self.send().and(Err(error.into()))
            }
        }
    }

    /// Sends the TLS close alert and drains the socket. If false, the socket would block: call it again.
    pub(crate) fn close(&mut self, buffer: &mut [u8]) -> Result<bool, TransportError> {
        if let Some(tls) = &mut self.tls {
            tls.close(&mut self.output)?;
            if !self.send()? {
                return Ok(false);
            }
        }
        // Closing a socket with unread bytes resets the connection, and the peer would lose the response.
        while self.readable
            && rustix::io::read(&self.socket, &mut *buffer).is_ok_and(|count| count == buffer.len())
        {}
        Ok(true)
    }
}
