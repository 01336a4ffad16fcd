//! Kinds and reasons of failed requests.

use hoptax_wire::{Loss, Malformed, ProtocolError, QuicError, STREAM_RESETS};
use rustix::io::Errno;

use crate::connection_error::ConnectionError;

/// Maximum number of times that a request is sent again. A lane's oldest request is written first, so every connection answers some of the
/// requests that a server hands back together. If each answers ten, all of a hundred requests are answered in the end.
pub(crate) const MAX_SENT_AGAIN: u8 = 10;

/// Kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// A local error: out of ports, files or memory, or missing permission.
    Generator,
    /// The connection was refused, or the server is unreachable.
    Refused,
    /// The connection was reset.
    Reset,
    /// The connection was closed before the first byte of the response.
    Closed,
    /// The connection was closed within the response.
    Truncated,
    /// The response violates the protocol.
    Malformed,
    /// The server switched to another protocol, which the request did not ask for.
    Switched,
    /// The TLS handshake failed.
    Tls,
    /// The server does not support the protocol, or refused the upgrade.
    Protocol,
    /// The server reset the stream with this HTTP/2 error code.
    StreamReset(u8),
    /// The server closed the connection without processing the request.
    Unprocessed,
    /// The gRPC status is missing or not 0.
    GrpcStatus,
    /// An external caller reported a failure without its kind.
    Unknown,
    /// The status is 400 to 499.
    Status4xx,
    /// The status is 500 or higher.
    Status5xx,
    /// The response violates a condition.
    Mismatch,
}

/// A response that counts as a failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FailedResponse {
    pub(crate) failure: Failure,
    /// None if the failure itself, or the status, shows it.
    pub(crate) reason: Option<&'static str>,
}

impl Failure {
    /// A stream that was reset with this code. All codes without a name count as one.
    pub(crate) fn reset(code: u32) -> Self {
        let known = u8::try_from(code).ok().filter(|code| usize::from(*code) < STREAM_RESETS.len());
        Self::StreamReset(known.unwrap_or(u8::MAX))
    }

    /// Its name in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Generator => "generator",
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::Closed => "closed",
            Self::Truncated => "truncated",
            Self::Malformed => "malformed",
            Self::Switched => "switched",
            Self::Tls => "tls",
            Self::Protocol => "protocol",
            // Unknown codes count as one: see `reset`.
            Self::StreamReset(code) => {
                STREAM_RESETS.get(usize::from(code)).copied().unwrap_or("stream-reset-unknown")
            }
            Self::Unprocessed => "unprocessed",
            Self::GrpcStatus => "grpc-status",
            Self::Unknown => "unknown",
            Self::Status4xx => "status-4xx",
            Self::Status5xx => "status-5xx",
            Self::Mismatch => "mismatch",
        }
    }

    /// The failure of requests whose connection failed with `error`.
    pub(crate) fn from_error(error: &ConnectionError) -> Self {
        match error {
            ConnectionError::Socket(error) => Self::from_errno(*error),
            ConnectionError::Tls(_)
            | ConnectionError::Protocol(ProtocolError::Quic(QuicError::Untrusted | QuicError::Alert(_))) => {
                Self::Tls
            }
            ConnectionError::Alpn(_)
            | ConnectionError::Protocol(
                ProtocolError::NotHttp2
                | ProtocolError::NotUpgraded(_)
                | ProtocolError::UpgradeHead(_)
                | ProtocolError::BadUpgrade,
            ) => Self::Protocol,
            ConnectionError::Closed | ConnectionError::Protocol(ProtocolError::Quic(_)) => Self::Closed,
            ConnectionError::Protocol(ProtocolError::Http1(Malformed::Switched)) => Self::Switched,
            ConnectionError::Protocol(_) => Self::Malformed,
        }
    }

    fn from_errno(error: Errno) -> Self {
        match error {
            // The last two: a Unix socket with a full backlog, and no socket at that path.
            Errno::CONNREFUSED
            | Errno::HOSTUNREACH
            | Errno::NETUNREACH
            | Errno::TIMEDOUT
            | Errno::AGAIN
            | Errno::NOENT => Self::Refused,
            // Local resources and permissions, independent of the server.
            Errno::ADDRNOTAVAIL
            | Errno::ADDRINUSE
            | Errno::AFNOSUPPORT
            | Errno::MFILE
            | Errno::NFILE
            | Errno::NOBUFS
            | Errno::NOMEM
            | Errno::NOSPC
            | Errno::ACCESS
            | Errno::PERM => Self::Generator,
            _ => Self::Reset,
        }
    }
}

/// Kind and reason of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(crate) failure: Failure,
    pub(crate) reason: Reason,
}

impl From<Failure> for Cause {
    fn from(failure: Failure) -> Self {
        Self { failure, reason: Reason::default() }
    }
}

impl Cause {
    /// A response arrived for which no request is in flight.
    pub(crate) const UNSOLICITED: Self = Self { failure: Failure::Malformed, reason: Reason(1) };

    /// Every connection that was opened for a request ended before it was ready, and the request was sent again too often.
    pub(crate) const NEVER_READY: Self = Self { failure: Failure::Unprocessed, reason: Reason(2) };
}

/// The reason of a failure, among those that a worker has seen; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reason(u8);

/// The texts of the reasons that a worker has seen. They come from this program, the system and TLS. None comes from a server, so none
/// holds a secret.
#[derive(Clone, Debug)]
pub(crate) struct ReasonTexts(Vec<String>);

impl Default for ReasonTexts {
    fn default() -> Self {
        let fixed =
            ["an unsolicited response", "11 connections in turn ended with GOAWAY before they were ready"];
        Self(fixed.map(str::to_owned).into())
    }
}

impl ReasonTexts {
    /// Maximum size of a text, bytes.
    const MAX_BYTES: usize = 200;

    /// The cause of the failure of a connection.
    pub(crate) fn cause(&mut self, error: &ConnectionError) -> Cause {
        let text = match error {
            ConnectionError::Socket(error) => of_system(*error),
            ConnectionError::Protocol(
                ProtocolError::Http2(what) | ProtocolError::Http3(what) | ProtocolError::WebSocket(what),
            ) => (*what).to_owned(),
            error => error.to_string(),
        };
        self.with(Failure::from_error(error), &text)
    }

    /// The cause of failure of a request that will get no response. A request that is handed back only fails with it if no other connection
    /// processes it.
    pub(crate) fn of_loss(&mut self, loss: Loss, is_handed_back: bool) -> Cause {
        let (failure, text) = match loss {
            Loss::Reset { code, stated } => (Failure::reset(code), format!("error code {stated}")),
            Loss::Unprocessed(code) => (Failure::Unprocessed, format!("GOAWAY with error code {code}")),
            Loss::Malformed(what) => return self.with(Failure::Malformed, what),
            Loss::Fields(what) => return self.with(Failure::Malformed, &what.to_string()),
            Loss::Switched => return self.with(Failure::Switched, &Malformed::Switched.to_string()),
        };
        if is_handed_back {
            return self.with(failure, &format!("{text}, sent {} times", u32::from(MAX_SENT_AGAIN) + 1));
        }
        self.with(failure, &text)
    }

    /// A failure with its reason. Once the table of reasons is full, new reasons count as none.
    pub(crate) fn with(&mut self, failure: Failure, text: &str) -> Cause {
        let text = text.get(..text.floor_char_boundary(Self::MAX_BYTES)).unwrap_or(text);
        let known = self.0.iter().position(|known| known == text);
        let index = known.unwrap_or_else(|| {
            if self.0.len() < usize::from(u8::MAX) {
                self.0.push(text.to_owned());
            }
            self.0.len() - 1
        });
        let is_it = self.0.get(index).is_some_and(|known| known == text);
        let reason = if is_it { u8::try_from(index + 1).map(Reason).unwrap_or_default() } else { Reason(0) };
        Cause { failure, reason }
    }

    /// The text of a reason.
    pub(crate) fn text(&self, reason: Reason) -> Option<&str> {
        self.0.get(usize::from(reason.0).checked_sub(1)?).map(String::as_str)
    }
}

/// The text of a system error, without its number.
fn of_system(error: Errno) -> String {
    let text = std::io::Error::from(error).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use hoptax_wire::Truncated;

    use super::*;

    #[test]
    fn local_resource_limits_are_not_failures_of_the_server() {
        for error in [Errno::ADDRNOTAVAIL, Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
            assert_eq!(Failure::from_error(&error.into()), Failure::Generator, "{error}");
        }
        for error in [Errno::CONNREFUSED, Errno::AGAIN, Errno::NOENT] {
            assert_eq!(Failure::from_error(&error.into()), Failure::Refused, "{error}");
        }
        assert_eq!(Failure::from_error(&Errno::CONNRESET.into()), Failure::Reset);
    }

    #[test]
    fn each_error_has_its_reason() {
        let mut texts = ReasonTexts::default();
        let mut reason = |error: ConnectionError| {
            let cause = texts.cause(&error);
            (cause.failure, texts.text(cause.reason).unwrap().to_owned())
        };
        let of = |error: ProtocolError| ConnectionError::Protocol(error);
        assert_eq!(reason(Errno::CONNRESET.into()), (Failure::Reset, "Connection reset by peer".to_owned()));
        assert_eq!(reason(Errno::MFILE.into()), (Failure::Generator, "Too many open files".to_owned()));
        let lengths = of(Malformed::TwoLengths.into());
        assert_eq!(reason(lengths), (Failure::Malformed, "two different lengths".to_owned()));
        let violation = of(ProtocolError::Http2("data before headers"));
        assert_eq!(reason(violation), (Failure::Malformed, "data before headers".to_owned()));
        let switched = reason(of(Malformed::Switched.into()));
        assert!(switched.0 == Failure::Switched && switched.1.starts_with("101 "), "{switched:?}");
        assert_eq!(reason(of(Truncated::Head.into())).1, "closed within the head of the response");
        assert_eq!(reason(of(ProtocolError::NotUpgraded(403))).0, Failure::Protocol);
    }

    #[test]
    fn as_many_reasons_are_told_apart_as_have_numbers_and_long_ones_are_cut() {
        let mut texts = ReasonTexts::default();
        for number in 0..1_000 {
            let text = format!("reason {number}");
            let cause = texts.with(Failure::Reset, &text);
            let expected = (number < 253).then_some(text.as_str());
            assert_eq!(texts.text(cause.reason), expected);
            assert_eq!(texts.with(Failure::Closed, &text).reason, cause.reason);
        }
        assert_eq!(texts.text(Cause::from(Failure::Reset).reason), None);
        assert_eq!(texts.text(Cause::UNSOLICITED.reason), Some("an unsolicited response"));
        let mut texts = ReasonTexts::default();
        let cause = texts.with(Failure::Tls, &"ä".repeat(200));
        assert_eq!(texts.text(cause.reason), Some("ä".repeat(100).as_str()));
    }
}
