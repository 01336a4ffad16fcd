//! Observations of a trial, as numbers and as text.

use std::collections::BTreeMap;

/// A request as a server receives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The cluster that the server stands for.
    pub cluster: String,
    /// The Host header.
    pub host: String,
    /// The server name in the TLS handshake.
    pub server_name: Option<String>,
    /// The x-forwarded-proto header.
    pub scheme: String,
}

/// Observations of a trial. Fields that its procedure does not observe are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The status of the last response, or the reason why there was none.
    pub response: Option<Result<u16, String>>,
    /// The first line of its body. In a response of the proxy itself, it is the reason.
    pub reason: String,
    /// True if the proxy ended the handshake because the client has no certificate.
    pub wants_certificate: bool,
    /// The time until then, microseconds; for a series, the time of all requests.
    pub took_us: u64,
    /// The requests that servers received, in order.
    pub arrivals: Vec<Arrival>,
    /// Number of handshakes in which the server presented a certificate with another name.
    pub wrong_names: u64,
    /// How long a connection to the server was idle until the proxy closed it, microseconds.
    pub idle_us: Option<u64>,
    /// Number of responses by status, if there are several requests.
    pub statuses: BTreeMap<u16, u32>,
    /// Number of responses in which `x-envoy-overloaded` names a circuit breaker as the reason.
    pub overloaded: u32,
    /// The position of each request among those of its connection to the server, from 1, in the order of `arrivals`.
    pub places: Vec<u32>,
    /// Number of requests whose second try was in flight.
    pub again: u32,
    /// The ejection of the failing server.
    pub ejected: Option<Ejected>,
    /// The question to the rate limit service, and the outcomes of the requests.
    pub limited: Option<Limited>,
}

/// The question to the rate limit service, and the outcomes of the requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limited {
    /// The domain and the descriptor of the first question.
    pub asked: Option<(String, Vec<(String, String)>)>,
    /// The user agent of the request that it admits.
    pub admitted_agent: String,
    /// Its status, or the reason why there was no response, and true if a server received it.
    pub admitted: Option<(Result<u16, String>, bool)>,
    /// The same for the refused request.
    pub refused: Option<(Result<u16, String>, bool)>,
}

/// The ejection of the failing one of two servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ejected {
    /// Number of its failures before the ejection.
    pub failures: u32,
    /// The time from its last failure to its next request, microseconds; none if it got no request, or did not fail as often as required.
    pub again_us: Option<u64>,
}

/// Verdict on a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    /// The observations agree with the promise. The shortened text ends at the first comma followed by a space.
    Kept(String),
    /// The observations contradict the promise.
    Broken {
        /// The observations.
        seen: String,
        /// True if a busy machine may explain it, so that another trial may keep the promise.
        is_retryable: bool,
    },
    /// The observations are inconclusive, for this reason.
    Untried(String),
}

impl Judged {
    /// Returns the observations, or the reason why they are inconclusive.
    pub fn words(&self) -> &str {
        match self {
            Self::Kept(seen) | Self::Broken { seen, .. } => seen,
            Self::Untried(why) => why,
        }
    }

    /// Returns a broken promise that a busy machine cannot explain.
    pub(crate) fn broken(seen: impl Into<String>) -> Self {
        Self::Broken { seen: seen.into(), is_retryable: false }
    }

    /// Returns a broken promise that a busy machine may explain.
    pub(crate) fn retryable(seen: impl Into<String>) -> Self {
        Self::Broken { seen: seen.into(), is_retryable: true }
    }
}

impl Seen {
    /// The response as text.
    pub(crate) fn response(&self) -> String {
        response_in_words(self.response.as_ref())
    }
}

/// A response as text.
pub(crate) fn response_in_words(response: Option<&Result<u16, String>>) -> String {
    match response {
        Some(Ok(status)) => format!("status {status}"),
        Some(Err(why)) => format!("no response: {why}"),
        None => "no response".to_owned(),
    }
}

impl Arrival {
    /// Returns the arrival as text.
    pub(crate) fn in_words(&self) -> String {
        let name = self.server_name.as_ref().map_or_else(String::new, |name| format!(", SNI `{name}`"));
        format!("Host `{}`{name}, x-forwarded-proto `{}` at `{}`", self.host, self.scheme, self.cluster)
    }
}
