//! TLS below any protocol: rustls without I/O.

mod config;
mod sessions;
mod setup_error;
mod verify_once;

use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::{ClientConnection, Connection, HandshakeKind, ServerConnection};
use thiserror::Error;

pub use config::{
    ClientSecurity, Identity, ServerSecurity, Versions, certificates_from_pem, client_config, offering,
    server_config,
};
pub use rustls::pki_types::ServerName;
pub use rustls::{ClientConfig, ServerConfig};
pub use setup_error::SetupError;

/// Maximum size of encrypted output; the rest waits unencrypted.
const OUTPUT_BYTES: usize = 64 * 1024;

/// The TLS state of one connection.
///
/// Bytes pass through it in order and none is dropped. [`Tls::send`] encrypts as much as `output` has room for and
/// keeps the rest, [`Tls::flush`] continues once the socket has taken the output, and [`Tls::is_sent`] reports when
/// everything is encrypted. A body of any size thus needs a bounded buffer of encrypted bytes, and a writer that waits
/// for `is_sent` before it produces more is subject to the socket's backpressure, as without TLS.
#[derive(Debug)]
pub struct Tls {
    connection: Box<Connection>,
    /// Unencrypted bytes, and how many of them have been encrypted since.
    waiting: Vec<u8>,
    encrypted: usize,
}

/// The result of a handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// The version: `1.2` or `1.3`.
    pub version: &'static str,
    /// The cipher suite, by its registered name.
    pub cipher: String,
    /// The key exchange group, by its registered name; None if no keys were exchanged, as when a TLS 1.2 session is
    /// resumed, and if it is not known, as with QUIC.
    pub key_exchange_group: Option<String>,
    /// The negotiated ALPN protocol, if any.
    pub alpn: Option<Vec<u8>>,
    /// True if an earlier session was resumed.
    pub is_resumed: bool,
    /// True if the client had sent a key share of another group than the server's and had to retry, which adds a round trip.
    pub is_retried: bool,
}

/// What is said of a server whose certificate is not trusted, over TCP and QUIC. Here, it is not known which options were given.
pub(crate) const UNTRUSTED: &str =
    "no trusted authority signed the server's certificate; --ca names those to trust instead of the system's";
/// What is said of a server that refuses the client's certificate, or that there is none.
pub(crate) const REQUIRES_CLIENT_CERTIFICATE: &str =
    "the server requires a client certificate that it trusts; give one with --cert and --key";

/// An error of TLS.
#[derive(Debug, Error)]
pub enum TlsError {
    /// An error of the peer, a certificate, or the negotiation.
    #[error("{}", describe(.0))]
    Protocol(#[from] rustls::Error),
    /// A TLS buffer accepted or returned too few bytes.
    #[error("TLS buffer: {0}")]
    Buffer(#[from] io::Error),
}

impl TlsError {
    /// True if no trusted authority signed the certificate of the peer.
    pub fn is_untrusted(&self) -> bool {
        matches!(self, Self::Protocol(error) if is_untrusted(error))
    }
}

fn is_untrusted(error: &rustls::Error) -> bool {
    use rustls::{CertificateError as Bad, Error};
    matches!(error, Error::InvalidCertificate(Bad::UnknownIssuer | Bad::BadSignature))
}

fn describe(error: &rustls::Error) -> String {
    use rustls::{CertificateError as Bad, Error};
    let text = match error {
        Error::InvalidCertificate(Bad::Expired | Bad::ExpiredContext { .. }) => {
            "the server's certificate has expired"
        }
        error if is_untrusted(error) => UNTRUSTED,
        Error::InvalidCertificate(Bad::NotValidForName | Bad::NotValidForNameContext { .. }) => {
            "the server's certificate is for another name; --server-name sets the expected one"
        }
        Error::InvalidMessage(_) => "the server does not speak TLS",
        Error::NoApplicationProtocol
        | Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol) => {
            "the server does not speak the protocol (ALPN refused)"
        }
        Error::AlertReceived(
            rustls::AlertDescription::CertificateRequired
            | rustls::AlertDescription::BadCertificate
            | rustls::AlertDescription::UnknownCA
            | rustls::AlertDescription::DecryptError,
        ) => REQUIRES_CLIENT_CERTIFICATE,
        Error::AlertReceived(rustls::AlertDescription::ProtocolVersion) => {
            "the server supports none of the offered TLS versions"
        }
        Error::AlertReceived(rustls::AlertDescription::HandshakeFailure) => {
            "the server refused the handshake: no common cipher suite or version, or a missing client certificate"
        }
        error => return error.to_string(),
    };
    text.to_owned()
}

impl Tls {
    fn new(connection: Connection) -> Self {
        Self { connection: Box::new(connection), waiting: Vec::new(), encrypted: 0 }
    }

    /// The client side of a new connection.
    ///
    /// # Errors
    /// When the configuration does not fit the name.
    pub fn client(config: &Arc<ClientConfig>, name: ServerName<'static>) -> Result<Self, TlsError> {
        let connection = ClientConnection::new(Arc::clone(config), name)?;
        Ok(Self::new(connection.into()))
    }

    /// The server side of a new connection.
    ///
    /// # Errors
    /// When the configuration is invalid.
    pub fn server(config: &Arc<ServerConfig>) -> Result<Self, TlsError> {
        let connection = ServerConnection::new(Arc::clone(config))?;
        Ok(Self::new(connection.into()))
    }

    /// True if the handshake is in progress.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// The result of the handshake, once complete.
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
            key_exchange_group: self.connection.negotiated_key_exchange_group().map(setup_error::registered),
            alpn: self.connection.alpn_protocol().map(<[u8]>::to_vec),
            is_resumed: kind == Some(HandshakeKind::Resumed),
            is_retried: kind == Some(HandshakeKind::FullWithHelloRetryRequest),
        })
    }

    /// Decrypts received bytes and appends the plaintext to `plain`. Replies are appended to `output`. True when the
    /// peer has closed its side (`close_notify`).
    ///
    /// # Errors
    /// When the bytes are not TLS, or the peer sent an alert; a final alert to it is in `output`.
    pub fn receive(
        &mut self,
        mut bytes: &[u8],
        plain: &mut Vec<u8>,
        output: &mut Vec<u8>,
    ) -> Result<bool, TlsError> {
        match self.decrypt(&mut bytes, plain) {
            Ok(is_over) => self.flush(output).map(|()| is_over),
            Err(error) => {
                // The alert with the reason.
                self.write_records(output)?;
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

    /// Encrypts `plain` after earlier bytes, and appends as much as there is room for to `output`. The rest, and
    /// everything before the handshake is complete, waits for [`Self::flush`].
    ///
    /// # Errors
    /// When a buffer fails, which is a bug in this program.
    pub fn send(&mut self, plain: &[u8], output: &mut Vec<u8>) -> Result<(), TlsError> {
        self.flush(output)?;
        // Usually all of it is encrypted without copying.
        let taken = if self.is_sent() { self.encrypt(plain, output)? } else { 0 };
        self.waiting.extend_from_slice(plain.get(taken..).unwrap_or_default());
        Ok(())
    }

    /// Appends pending TLS messages, and data that was waiting for room in `output`.
    ///
    /// # Errors
    /// As for [`Self::send`].
    pub fn flush(&mut self, output: &mut Vec<u8>) -> Result<(), TlsError> {
        self.write_records(output)?;
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

    /// True if all bytes have been appended to an output.
    pub fn is_sent(&self) -> bool {
        self.encrypted == self.waiting.len()
    }

    /// Encrypts bytes while `output` has room, if the handshake is complete. Returns their number.
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
            self.write_records(output)?;
        }
        Ok(taken)
    }

    /// Appends the encrypted records.
    fn write_records(&mut self, output: &mut Vec<u8>) -> Result<(), TlsError> {
        while self.connection.wants_write() {
            self.connection.write_tls(output)?;
        }
        Ok(())
    }

    /// Sends `close_notify`. Data not yet appended to an output is discarded.
    ///
    /// # Errors
    /// As for [`Self::send`].
    pub fn close(&mut self, output: &mut Vec<u8>) -> Result<(), TlsError> {
        self.waiting.clear();
        self.encrypted = 0;
        self.connection.send_close_notify();
        self.write_records(output)
    }
}

#[cfg(test)]
pub(crate) mod tests;
