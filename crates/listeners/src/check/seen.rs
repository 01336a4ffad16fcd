//! Observations of a trial, in numbers and in words.

use std::collections::BTreeMap;

/// Request as a server receives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The cluster that the server stands for.
    pub cluster: String,
    /// The Host header.
    pub host: String,
    /// The name in the handshake.
    pub server_name: Option<String>,
    /// The x-forwarded-proto header.
    pub scheme: String,
}

/// Observations of a trial. A field that its procedure does not observe is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The status of the last response, or why there was none.
    pub response: Option<Result<u16, String>>,
    /// The first line of its body: why the proxy answered itself.
    pub reason: String,
    /// True if the proxy ended the handshake because the client has no certificate.
    pub wants_certificate: bool,
    /// The time until then, of a series that of all requests, microseconds.
    pub took_us: u64,
    /// The requests that servers got, in their order.
    pub arrivals: Vec<Arrival>,
    /// The handshakes in which the server showed a certificate with another name.
    pub wrong_names: u64,
    /// The time for which a connection to the server was idle until the proxy ended it, microseconds.
    pub idle_us: Option<u64>,
    /// Responses by status, of several requests.
    pub statuses: BTreeMap<u16, u32>,
    /// Number of responses that name a circuit breaker as the reason by `x-envoy-overloaded`.
    pub overloaded: u32,
    /// The place of each request among those of its connection to the server, from 1, in the order of `arrivals`.
    pub places: Vec<u32>,
    /// The requests that were under way in their second try.
    pub again: u32,
    /// The ejection of the server that failed.
    pub ejected: Option<Ejected>,
    /// The question to the service of limits, and the outcomes of the requests.
    pub limited: Option<Limited>,
}

/// Question to the service of limits, and the outcomes of the requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limited {
    /// The domain and the descriptor of the first question.
    pub asked: Option<(String, Vec<(String, String)>)>,
    /// The user agent of the request that it admits.
    pub admitted_agent: String,
    /// Its status, or the reason why there was no response, and true if a server got it.
    pub admitted: Option<(Result<u16, String>, bool)>,
    /// The same of the request that it refuses.
    pub refused: Option<(Result<u16, String>, bool)>,
}

/// Ejection of one of two servers, which failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ejected {
    /// Its failures until then.
    pub failures: u32,
    /// The time after the last of them at which it got a request again, microseconds; none if it got none, or has not failed as often as it
    /// is to.
    pub again_us: Option<u64>,
}

/// Verdict on a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    /// The observations are as promised; the shortest form of the text ends at the first comma with a space.
    Kept(String),
    /// The observations contradict the promise.
    Broken {
        /// The observations.
        seen: String,
        /// True if a busy machine explains it, so that another trial may keep the promise.
        is_retryable: bool,
    },
    /// The observations tell nothing about the promise, for this reason.
    Untried(String),
}

impl Judged {
    /// Returns the observations, or the reason why they tell nothing.
    pub fn words(&self) -> &str {
        match self {
            Self::Kept(seen) | Self::Broken { seen, .. } => seen,
            Self::Untried(why) => why,
        }
    }

    /// Returns a broken promise that a busy machine does not explain.
    pub(crate) fn broken(seen: impl Into<String>) -> Self {
        Self::Broken { seen: seen.into(), is_retryable: false }
    }

    /// Returns a broken promise that a busy machine explains.
    pub(crate) fn retryable(seen: impl Into<String>) -> Self {
        Self::Broken { seen: seen.into(), is_retryable: true }
    }
}

impl Seen {
    /// The response, in words.
    pub(crate) fn response(&self) -> String {
        response_in_words(self.response.as_ref())
    }
}

/// A response, in words.
pub(crate) fn response_in_words(response: Option<&Result<u16, String>>) -> String {
    match response {
        Some(Ok(status)) => format!("status {status}"),
        Some(Err(why)) => format!("no response: {why}"),
        None => "no response".to_owned(),
    }
}

impl Arrival {
    /// Returns it in words.
    pub(crate) fn in_words(&self) -> String {
        let name = self.server_name.as_ref().map_or_else(String::new, |name| format!(", SNI `{name}`"));
        format!("Host `{}`{name}, x-forwarded-proto `{}` at `{}`", self.host, self.scheme, self.cluster)
    }
}
