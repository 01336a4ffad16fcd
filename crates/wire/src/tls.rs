//! TLS under any protocol: rustls, fed with bytes.

mod config;
mod hints;
mod once;

use std::io::{Read, Write};
use std::sync::Arc;

pub use config::{
    ClientSecurity, Identity, ServerSecurity, SetupError, Versions, certificates_from_pem, client_config,
    server_config,
};
pub use rustls::pki_types::ServerName;
pub use rustls::{ClientConfig, ServerConfig};
use rustls::{ClientConnection, Connection, HandshakeKind, ServerConnection};
use thiserror::Error;

/// One connection's TLS.
#[derive(Debug)]
pub struct Tls {
    connection: Box<Connection>,
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
#[error("{}", describe(.0))]
pub struct TlsError(#[from] rustls::Error);

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
    /// The client's side of a new connection.
    ///
    /// # Errors
    /// When the configuration does not fit the name.
    pub fn client(config: &Arc<ClientConfig>, name: ServerName<'static>) -> Result<Self, TlsError> {
        let connection = ClientConnection::new(Arc::clone(config), name)?;
        Ok(Self { connection: Box::new(connection.into()) })
    }

    /// The server's side of a new connection.
    ///
    /// # Errors
    /// When the configuration is of no use.
    pub fn server(config: &Arc<ServerConfig>) -> Result<Self, TlsError> {
        let connection = ServerConnection::new(Arc::clone(config))?;
        Ok(Self { connection: Box::new(connection.into()) })
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
        let mut is_over = false;
        while !bytes.is_empty() && !is_over {
            // Reading from bytes cannot fail; it takes as many as there is room for.
            if self.connection.read_tls(&mut bytes).is_err() {
                break;
            }
            let state = match self.connection.process_new_packets() {
                Ok(state) => state,
                Err(error) => {
                    self.flush(output);
                    return Err(error.into());
                }
            };
            let ready = state.plaintext_bytes_to_read();
            if ready > 0 {
                let from = plain.len();
                plain.resize(from + ready, 0);
                let read = self.connection.reader().read(&mut plain[from..]).unwrap_or_default();
                plain.truncate(from + read);
            }
            is_over = state.peer_has_closed();
        }
        self.flush(output);
        Ok(is_over)
    }

    /// Encrypts `plain` and appends it to `output`. Before the handshake is over it waits for that.
    pub fn send(&mut self, plain: &[u8], output: &mut Vec<u8>) {
        // There is no limit on what it keeps, so all is taken.
        let _ = self.connection.writer().write_all(plain);
        self.flush(output);
    }

    /// Appends what is to be sent.
    pub fn flush(&mut self, output: &mut Vec<u8>) {
        while self.connection.wants_write() && self.connection.write_tls(output).is_ok() {}
    }

    /// Says that nothing more comes.
    pub fn close(&mut self, output: &mut Vec<u8>) {
        self.connection.send_close_notify();
        self.flush(output);
    }

    /// Takes away the limit on what it keeps while the handshake goes on.
    #[must_use]
    pub fn unlimited(mut self) -> Self {
        self.connection.set_buffer_limit(None);
        self
    }
}

#[cfg(test)]
mod tests;
