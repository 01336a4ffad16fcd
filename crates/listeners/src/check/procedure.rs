//! Procedures that try promises: the requests, and the answers of the servers.

use super::lab::Variant;

/// Procedure that tries a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Procedure {
    /// A single request.
    Request {
        /// The server's answer to it.
        answer: Answer,
        /// The longest time that it takes if the promise is kept, microseconds; 0 for a short time.
        waits_us: u64,
    },
    /// A request while the server has a certificate with another name.
    WrongName,
    /// A request from a client without a certificate.
    AnonymousClient,
    /// A request, followed by a wait until the proxy closes its idle connection to the server.
    Idle {
        /// The longest time that it takes if the promise is kept, microseconds.
        waits_us: u64,
    },
    /// A request that the rate limit service admits, and one that it refuses.
    Limited,
    /// Sequential requests on one connection.
    Series(Series),
    /// Simultaneous requests that the server does not answer.
    Crowd(Crowd),
    /// Requests whose first tries fail, beside others in flight.
    Retries(Retries),
    /// A request while the servers ignore connection attempts.
    FullBacklog {
        /// The longest time that it takes if the promise is kept, microseconds.
        waits_us: u64,
    },
    /// Requests that one of two servers fails until it is ejected, followed by requests until it gets one again.
    Ejection {
        /// The number of failures after which it should be ejected.
        failures: u32,
        /// The time after the last failure in which it may still get requests, microseconds.
        settles_us: u64,
        /// The longest time that it takes if the promise is kept, microseconds.
        waits_us: u64,
    },
}

/// Sequential requests on one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    /// The pause before them, microseconds.
    pub pause_us: u64,
    /// Maximum number of requests.
    pub requests: u32,
    /// The interval between the due times of requests, microseconds; 0 to send each after the response to the previous one.
    pub pace_us: u64,
    /// Maximum total time, microseconds.
    pub lasts_us: u64,
}

/// Simultaneous requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// Requests that the server should receive.
    pub arriving: u32,
    /// Requests that should wait in the proxy.
    pub waiting: u32,
    /// Requests that the proxy should refuse.
    pub refused: u32,
}

/// Requests whose first tries fail and whose second tries are never answered, beside others in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retries {
    /// The answer that makes the first tries fail.
    pub failure: Answer,
    /// Other requests in flight.
    pub beside: u32,
    /// Requests that the proxy should retry.
    pub again: u32,
    /// Requests that it should not retry.
    pub refused: u32,
}

impl Crowd {
    /// Number of all requests.
    pub fn all(&self) -> u32 {
        self.arriving.saturating_add(self.waiting).saturating_add(self.refused)
    }
}

impl Procedure {
    /// Returns true if procedures of this kind run one at a time, because they keep the processors busy.
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Series(_) | Self::Crowd(_) | Self::Retries(_))
    }

    /// The proxy variant that it needs.
    pub fn variant(&self) -> Variant {
        match self {
            Self::Crowd(_) | Self::Retries(_) => Variant::Patient,
            Self::FullBacklog { .. } => Variant::FullBacklog,
            Self::Ejection { .. } => Variant::Doubled,
            _ => Variant::Usual,
        }
    }

    /// Maximum number of requests in flight; 0 if there are few.
    pub fn at_a_time(&self) -> u32 {
        match self {
            Self::Crowd(crowd) => crowd.all(),
            Self::Retries(Retries { beside, again, .. }) => beside.saturating_add(*again),
            _ => 0,
        }
    }

    /// The longest time that it takes if the promise is kept, microseconds; 0 for a short time.
    pub fn waits_us(&self) -> u64 {
        match self {
            Self::Request { waits_us, .. }
            | Self::Idle { waits_us }
            | Self::FullBacklog { waits_us }
            | Self::Ejection { waits_us, .. } => *waits_us,
            _ => 0,
        }
    }
}

/// A lab server's answer to a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    /// Status 200; then it closes the connection.
    #[default]
    Success,
    /// Status 200; the connection stays open.
    Kept,
    /// This status with a header; then it closes the connection.
    Failure(u16, Option<(&'static str, &'static str)>),
    /// No answer.
    Silence,
    /// It closes the connection without an answer.
    Close,
    /// This answer to the first try, and none to later ones.
    Once(Box<Answer>),
}
