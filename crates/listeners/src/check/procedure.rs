//! Procedures that try promises: the requests, and the answers of the servers.

use super::lab::Variant;

/// Procedure that tries a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Procedure {
    /// A request.
    Request {
        /// The answer of the server to it.
        answer: Answer,
        /// The longest time that it takes if the promise is kept, microseconds; 0 if that is short.
        waits_us: u64,
    },
    /// A request, while the server has a certificate with another name.
    WrongName,
    /// A request of a client without a certificate.
    AnonymousClient,
    /// A request, and then none until the proxy ends its connection to the server.
    Idle {
        /// The longest time that it takes if the promise is kept, microseconds.
        waits_us: u64,
    },
    /// A request that the service of limits admits, and one that it refuses.
    Limited,
    /// Requests on one connection, one after the other.
    Series(Series),
    /// Requests at a time, of which the server answers none.
    Crowd(Crowd),
    /// Requests whose first tries fail, beside others.
    Retries(Retries),
    /// A request that opens no connection to a server.
    FullBacklog {
        /// The longest time that it takes if the promise is kept, microseconds.
        waits_us: u64,
    },
    /// Requests that one of two servers fails until it is left out, and then until it gets one again.
    Ejection {
        /// The failures after which it is to be left out.
        failures: u32,
        /// The time after the last of them in which requests may still go to it, microseconds.
        settles_us: u64,
        /// The longest time that it takes if the promise is kept, microseconds.
        waits_us: u64,
    },
}

/// Requests on one connection, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    /// The time before them, microseconds.
    pub pause_us: u64,
    /// The most requests.
    pub requests: u32,
    /// The time from when one is due to when the next is, microseconds; 0 for requests as fast as they are answered.
    pub pace_us: u64,
    /// The longest time, microseconds.
    pub lasts_us: u64,
}

/// Requests at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// Requests that the server is to get.
    pub arriving: u32,
    /// Requests that are to wait in the proxy.
    pub waiting: u32,
    /// Requests that the proxy is to refuse.
    pub refused: u32,
}

/// Requests whose first tries fail, and whose second tries are never answered, beside others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retries {
    /// The answer by which the first tries fail.
    pub failure: Answer,
    /// Other requests under way.
    pub beside: u32,
    /// Requests that the proxy is to retry.
    pub again: u32,
    /// Requests that it is not to retry.
    pub refused: u32,
}

impl Crowd {
    /// All.
    pub fn all(&self) -> u32 {
        self.arriving.saturating_add(self.waiting).saturating_add(self.refused)
    }
}

impl Procedure {
    /// Returns true if procedures of this kind run one at a time, because each keeps the processors busy.
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Series(_) | Self::Crowd(_) | Self::Retries(_))
    }

    /// The proxy that it needs.
    pub fn variant(&self) -> Variant {
        match self {
            Self::Crowd(_) | Self::Retries(_) => Variant::Patient,
            Self::FullBacklog { .. } => Variant::FullBacklog,
            Self::Ejection { .. } => Variant::Doubled,
            _ => Variant::Usual,
        }
    }

    /// The requests that it has under way at a time, if they are many.
    pub fn at_a_time(&self) -> u32 {
        match self {
            Self::Crowd(crowd) => crowd.all(),
            Self::Retries(Retries { beside, again, .. }) => beside.saturating_add(*again),
            _ => 0,
        }
    }

    /// The longest time that it takes if the promise is kept, microseconds; 0 if that is short.
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

/// Answer of a server of the lab to a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    /// It answers with status 200, and closes the connection.
    #[default]
    Success,
    /// It answers with status 200, and leaves the connection open.
    Kept,
    /// It answers with this status, and a header, and closes the connection.
    Failure(u16, Option<(&'static str, &'static str)>),
    /// It never answers.
    Silence,
    /// It closes the connection without an answer.
    Close,
    /// It does this with the first try, and never answers the next ones.
    Once(Box<Answer>),
}
