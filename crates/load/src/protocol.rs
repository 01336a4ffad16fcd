//! The protocols of a load, and their names.

use std::fmt;
use std::str::FromStr;

/// The protocol of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2.
    Http2,
    /// HTTP/3.
    #[cfg(feature = "http3")]
    Http3,
    /// gRPC: unary calls over HTTP/2.
    Grpc,
    /// TCP: echo of bytes.
    Tcp,
    /// WebSocket: echo of messages.
    WebSocket,
}

impl Protocol {
    /// Every protocol, for help texts and error messages.
    pub const ALL: &[Self] = &[
        Self::Http1,
        Self::Http2,
        #[cfg(feature = "http3")]
        Self::Http3,
        Self::Grpc,
        Self::Tcp,
        Self::WebSocket,
    ];

    /// Its name in flags and results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http1 => "http1",
            Self::Http2 => "http2",
            #[cfg(feature = "http3")]
            Self::Http3 => "http3",
            Self::Grpc => "grpc",
            Self::Tcp => "tcp",
            Self::WebSocket => "websocket",
        }
    }

    /// The protocols that a URL scheme allows, the default first, and whether it implies TLS.
    pub(crate) fn of_scheme(scheme: &str) -> Option<(&'static [Self], bool)> {
        Some(match scheme {
            "http" => (&[Self::Http1, Self::Http2, Self::Grpc], false),
            "https" => (
                &[
                    Self::Http1,
                    Self::Http2,
                    #[cfg(feature = "http3")]
                    Self::Http3,
                    Self::Grpc,
                ],
                true,
            ),
            "grpc" => (&[Self::Grpc], false),
            "grpcs" => (&[Self::Grpc], true),
            "tcp" => (&[Self::Tcp], false),
            "tls" => (&[Self::Tcp], true),
            "ws" => (&[Self::WebSocket], false),
            "wss" => (&[Self::WebSocket], true),
            _ => return None,
        })
    }

    /// Whether a connection multiplexes requests.
    pub fn has_streams(self) -> bool {
        !matches!(self, Self::Http1 | Self::Tcp | Self::WebSocket)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Protocol {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.iter().copied().find(|one| one.as_str() == text).ok_or_else(|| {
            let words: Vec<_> = Self::ALL.iter().map(|one| format!("`{one}`")).collect();
            let more = if cfg!(feature = "http3") { "" } else { "; `http3` needs a build with that feature" };
            format!("`{text}` is not a protocol; use one of {}{more}", words.join(", "))
        })
    }
}
