//! TLS under any protocol: rustls, fed with bytes.

mod config;
mod hints;
mod once;

use std::io::{self, Read, Write};
use std::sync::Arc;

pub use config::{
    ClientSecurity, Identity, ServerSecurity, SetupError, Versions, certificates_from_pem, client_config,
    server_config,
};
pub use rustls::pki_types::ServerName;
pub use rustls::{ClientConfig, ServerConfig};
use rustls::{ClientConnection, Connection, HandshakeKind, ServerConnection};
use thiserror::Error;

/// Encrypted bytes that are put up for the socket at once; what is behind them waits unencrypted.
const OUTPUT_BYTES: usize = 64 * 1024;

/// One connection's TLS.
///
/// Bytes go through it in order and none is dropped: [`Tls::send`] encrypts as much as there is room for in `output` and
/// keeps the rest, [`Tls::flush`] goes on with it once the socket has taken the output, and [`Tls::is_sent`] says when all
/// of it is put up. So a body of any size needs a bounded buffer of encrypted bytes, and a writer that waits for
/// `is_sent` before it makes more is held back by the socket, as it is without TLS.
#[derive(Debug)]
pub struct Tls {
    connection: Box<Connection>,
    /// What is not encrypted yet, and how much of it is.
    waiting: Vec<u8>,
    encrypted: usize,
}

/// What a handshake came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// The version: `1.2` or `1.3`.
    pub version: &'static str,
    /// The cipher suite, by its registered name.
    pub cipher: String,
    /// The group that keys were exchanged on, by its registered name; None where no keys were exchanged, as when a session of
    /// TLS 1.2 is taken up, and where it is not told, as by QUIC.
    pub key_exchange_group: Option<String>,
    /// The protocol that was agreed on, if one was.
    pub alpn: Option<Vec<u8>>,
    /// Whether an earlier session was taken up again.
    pub is_resumed: bool,
    /// Whether the client had sent a key for another group than the server's and was asked again, which takes a round trip.
    pub is_retried: bool,
}

/// Why TLS cannot go on.
#[derive(Debug, Error)]
pub enum TlsError {
    /// The other side, a certificate, or what was agreed on.
    #[error("{}", describe(.0))]
    Protocol(#[from] rustls::Error),
    /// A buffer took or gave less than it must.
    #[error("the buffers of TLS: {0}")]
    Buffer(#[from] io::Error),
}

fn describe(error: &rustls::Error) -> String {
    use rustls::CertificateError as Bad;
    use rustls::Error;
    let text = match error {
        Error::InvalidCertificate(Bad::Expired | Bad::ExpiredContext { .. }) => {
            "the server's certificate has expired"
        }
        Error::InvalidCertificate(Bad::UnknownIssuer | Bad::BadSignature) => {
            "the server's certificate is signed by nobody who is trusted here; name the authority with --ca"
        }
        Error::InvalidCertificate(Bad::NotValidForName | Bad::NotValidForNameContext { .. }) => {
            "the server's certificate is for another name; name the expected one with --server-name"
        }
        Error::InvalidMessage(_) => "the server does not speak TLS there",
        Error::NoApplicationProtocol
        | Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol) => {
            "the server does not speak the protocol (it refused it in the negotiation, ALPN)"
        }
        Error::AlertReceived(
            rustls::AlertDescription::CertificateRequired | rustls::AlertDescription::BadCertificate,
        ) => "the server wants a client certificate that it trusts; give one with --cert and --key",
        Error::AlertReceived(rustls::AlertDescription::ProtocolVersion) => {
            "the server speaks no version of TLS that is asked for"
        }
        Error::AlertReceived(rustls::AlertDescription::HandshakeFailure) => {
            "the server refused the handshake: no cipher suite or version in common, or a missing certificate"
        }
        error => return error.to_string(),
    };
    text.to_owned()
}

impl Tls {
    fn new(connection: Connection) -> Self {
        Self { connection: Box::new(connection), waiting: Vec::new(), encrypted: 0 }
    }

    /// The client's side of a new connection.
    ///
    /// # Errors
    /// When the configuration does not fit the name.
    pub fn client(config: &Arc<ClientConfig>, name: ServerName<'static>) -> Result<Self, TlsError> {
        let connection = ClientConnection::new(Arc::clone(config), name)?;
        Ok(Self::new(connection.into()))
    }

    /// The server's side of a new connection.
    ///
    /// # Errors
    /// When the configuration is of no use.
    pub fn server(config: &Arc<ServerConfig>) -> Result<Self, TlsError> {
        let connection = ServerConnection::new(Arc::clone(config))?;
        Ok(Self::new(connection.into()))
    }

    /// Whether the handshake is still going on.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// What the handshake came to, once it is over.
    pub fn handshake(&self) -> Option<Handshake> {
        let cipher = self.connection.negotiated_cipher_suite()?;
        let version = match self.connection.protocol_version()? {
            rustls::ProtocolVersion::TLSv1_2 => "1.2",
            _ => "1.3",
        };
        let kind = self.connection.handshake_kind();
        Some(Handshake {
            version,
            cipher: format!("{:?}", cipher.suite()),
            key_exchange_group: self.connection.negotiated_key_exchange_group().map(config::registered),
            alpn: self.connection.alpn_protocol().map(<[u8]>::to_vec),
            is_resumed: kind == Some(HandshakeKind::Resumed),
            is_retried: kind == Some(HandshakeKind::FullWithHelloRetryRequest),
        })
    }

    /// Takes bytes off the wire and appends what they carry to `plain`; what must be sent in turn is appended to `output`.
    /// True when the other side has said that nothing more comes.
    ///
    /// # Errors
    /// When they are no TLS, or the other side refused; what is left to say to it is in `output`.
    pub fn receive(
        &mut self,
        mut bytes: &[u8],
        plain: &mut Vec<u8>,
        output: &mut Vec<u8>,
    ) -> Result<bool, TlsError> {
        match self.decrypt(&mut bytes, plain) {
            Ok(is_over) => self.flush(output).map(|()| is_over),
            Err(error) => {
                // The alert that says why.
                self.put_up(output)?;
                Err(error)
            }
        }
    }

    fn decrypt(&mut self, bytes: &mut &[u8], plain: &mut Vec<u8>) -> Result<bool, TlsError> {
        while !bytes.is_empty() {
            self.connection.read_tls(bytes)?;
            let state = self.connection.process_new_packets()?;
            let from = plain.len();
            plain.resize(from + state.plaintext_bytes_to_read(), 0);
            self.connection.reader().read_exact(&mut plain[from..])?;
            if state.peer_has_closed() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Encrypts `plain` behind what was sent before and appends to `output` what there is room for. What is left, and what
    /// comes before the handshake is over, waits for [`Self::flush`].
    ///
    /// # Errors
    /// When a buffer fails, which is a fault of this program.
    pub fn send(&mut self, plain: &[u8], output: &mut Vec<u8>) -> Result<(), TlsError> {
        self.flush(output)?;
        // In the usual case all of it is encrypted from where it is.
        let taken = if self.is_sent() { self.encrypt(plain, output)? } else { 0 };
        self.waiting.extend_from_slice(plain.get(taken..).unwrap_or_default());
        Ok(())
    }

    /// Appends what is to be sent: what TLS itself has to say, and what was waiting for room in `output`.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn flush(&mut self, output: &mut Vec<u8>) -> Result<(), TlsError> {
        self.put_up(output)?;
        if self.is_sent() {
            return Ok(());
        }
        let waiting = std::mem::take(&mut self.waiting);
        let taken = self.encrypt(waiting.get(self.encrypted..).unwrap_or_default(), output);
        self.waiting = waiting;
        self.encrypted += taken?;
        if self.is_sent() {
            self.waiting.clear();
            self.encrypted = 0;
        }
        Ok(())
    }

    /// Whether all that was to be sent has been appended to an output.
    pub fn is_sent(&self) -> bool {
        self.encrypted == self.waiting.len()
    }

    /// Encrypts bytes while the handshake is over and `output` has room; how many.
    fn encrypt(&mut self, plain: &[u8], output: &mut Vec<u8>) -> Result<usize, TlsError> {
        let mut taken = 0;
        while taken < plain.len() && output.len() < OUTPUT_BYTES && !self.connection.is_handshaking() {
            let rest = plain.get(taken..).unwrap_or_default();
            let room = OUTPUT_BYTES - output.len();
            let written = self.connection.writer().write(rest.get(..room).unwrap_or(rest))?;
            if written == 0 {
                return Err(io::Error::from(io::ErrorKind::WriteZero).into());
            }
            taken += written;
            self.put_up(output)?;
        }
        Ok(taken)
    }

    /// Appends the records that are encrypted.
    fn put_up(&mut self, output: &mut Vec<u8>) -> Result<(), TlsError> {
        while self.connection.wants_write() {
            self.connection.write_tls(output)?;
        }
        Ok(())
    }

    /// Says that nothing more comes. What was not appended to an output until now is given up.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn close(&mut self, output: &mut Vec<u8>) -> Result<(), TlsError> {
        self.waiting.clear();
        self.encrypted = 0;
        self.connection.send_close_notify();
        self.put_up(output)
    }
}

#[cfg(test)]
mod tests;
