//! The socket of a connection, with TLS if its client begins so.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use hoptax_wire::tls::{ServerConfig, Tls, TlsError};
use rustix::io::Errno;
use rustix::net::SendFlags;

/// The first byte of every connection over TLS, and of none that is not.
const TLS_HANDSHAKE: u8 = 0x16;

/// A socket and what goes over it.
#[derive(Debug)]
pub(crate) struct Transport {
    pub(crate) socket: OwnedFd,
    tls: Option<Tls>,
    /// Whether it is known if there is TLS.
    is_decided: bool,
    /// What the socket has not taken yet, and how much of it it has.
    output: Vec<u8>,
    sent: usize,
    /// Whether the socket may have bytes for us: it is edge-triggered and tells only once.
    pub(crate) readable: bool,
}

/// What a read came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// Something, which may be nothing to the protocol yet.
    Something,
    /// Nothing for now.
    WouldBlock,
    /// Nothing more ever.
    End,
}

/// A connection that cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Gone {
    /// The socket fails.
    #[error(transparent)]
    Socket(#[from] Errno),
    /// TLS fails.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl Transport {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self {
            socket,
            tls: None,
            is_decided: false,
            output: Vec::new(),
            sent: 0,
            // Bytes may have come before it was watched.
            readable: true,
        }
    }

    /// Puts bytes up for sending; `bytes` is empty afterwards.
    pub(crate) fn put(&mut self, bytes: &mut Vec<u8>) -> Result<(), Gone> {
        match &mut self.tls {
            Some(tls) => tls.send(bytes, &mut self.output)?,
            // The buffers change places, so that nothing is copied in the usual case.
            None if self.output.is_empty() => std::mem::swap(&mut self.output, bytes),
            None => self.output.extend_from_slice(bytes),
        }
        bytes.clear();
        Ok(())
    }

    /// Whether everything is sent.
    pub(crate) fn is_sent(&self) -> bool {
        self.output.is_empty() && self.tls.as_ref().is_none_or(Tls::is_sent)
    }

    /// Sends what is put up; false when the socket takes no more for now.
    pub(crate) fn send(&mut self) -> Result<bool, Gone> {
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
            // What there was no room for.
            if let Some(tls) = &mut self.tls {
                tls.flush(&mut self.output)?;
            }
            if self.output.is_empty() {
                return Ok(true);
            }
        }
    }

    /// Reads once and appends what the bytes carry to `input`.
    pub(crate) fn receive(
        &mut self,
        buffer: &mut [u8],
        config: Option<&Arc<ServerConfig>>,
        input: &mut Vec<u8>,
    ) -> Result<Received, Gone> {
        while self.readable {
            match rustix::io::read(&self.socket, &mut *buffer) {
                Ok(0) => return Ok(Received::End),
                Ok(count) => {
                    // A short read has emptied the socket; what comes later is told by an event.
                    self.readable = count == buffer.len();
                    let bytes = buffer.get(..count).unwrap_or_default();
                    return self.take(bytes, config, input);
                }
                Err(Errno::AGAIN) => self.readable = false,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Received::WouldBlock)
    }

    fn take(
        &mut self,
        bytes: &[u8],
        config: Option<&Arc<ServerConfig>>,
        input: &mut Vec<u8>,
    ) -> Result<Received, Gone> {
        if !std::mem::replace(&mut self.is_decided, true)
            && bytes.first() == Some(&TLS_HANDSHAKE)
            && let Some(config) = config
        {
            self.tls = Some(Tls::server(config)?);
        }
        let Some(tls) = &mut self.tls else {
            input.extend_from_slice(bytes);
            return Ok(Received::Something);
        };
        match tls.receive(bytes, input, &mut self.output) {
            Ok(true) => Ok(Received::End),
            Ok(false) => Ok(Received::Something),
            Err(error) => {
                // The alert that says why. Either is the end of the connection, and the first is its cause.
                self.send().and(Err(error.into()))
            }
        }
    }

    /// Says that nothing more comes; false when the socket takes no more for now, and it is to be called again.
    pub(crate) fn close(&mut self, buffer: &mut [u8]) -> Result<bool, Gone> {
        if let Some(tls) = &mut self.tls {
            tls.close(&mut self.output)?;
            if !self.send()? {
                return Ok(false);
            }
        }
        // A socket that is closed with unread bytes resets the connection, and the other side loses the answer.
        while self.readable
            && rustix::io::read(&self.socket, &mut *buffer).is_ok_and(|count| count == buffer.len())
        {}
        Ok(true)
    }
}
