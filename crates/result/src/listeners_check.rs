//! The result of a check of a listeners file: each promise of the file, and its outcome.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Body, Environment, Finding, Measured, Report, Severity};

/// Promises of a listeners file and their outcomes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListenersCheckBody {
    /// The file.
    pub file: String,
    /// The version of Envoy.
    pub envoy: String,
    /// The workers of Envoy: limits of connections are kept less exactly with several.
    pub workers: usize,
    /// The listeners, in the order of the file.
    pub listeners: Vec<CheckedListener>,
}

/// A listener.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckedListener {
    /// Its name.
    pub name: String,
    /// Its line in the file.
    pub line: u64,
    /// The time that its trials took, microseconds. Those of several listeners run at a time.
    pub took_us: u64,
    /// Its promises.
    pub promises: Vec<CheckedPromise>,
}

/// A promise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckedPromise {
    /// Its subject.
    pub about: PromiseKind,
    /// The cluster of the requests that it is about.
    pub cluster: String,
    /// The promise in words, from the file.
    pub said: String,
    /// Its outcome.
    pub outcome: PromiseOutcome,
    /// Observation, or the reason why it was not tried. The text before the first comma with a space is its short form.
    pub seen: String,
    /// Observations of the trials before the last one. A trial that a busy machine may have disturbed is repeated twice at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<String>,
}

/// Subject of a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromiseKind {
    /// The headers and the handshake that the upstream gets: the Host header, the name in the handshake, x-forwarded-proto.
    Arrival,
    /// The time after which a request without a response ends.
    Timeout,
    /// The number of tries of a request that fails.
    Tries,
    /// Refusal of an upstream whose certificate has another name.
    Certificate,
    /// Refusal of a client without a certificate.
    Client,
    /// The share of the requests that go elsewhere.
    Share,
    /// The limits of connections and requests to the upstream.
    CircuitBreaker,
    /// The time after which an idle connection to the upstream ends.
    Keepalive,
    /// The requests of a connection to the upstream.
    RequestsPerConnection,
    /// The time after which a connection to the upstream that does not open is given up.
    ConnectTimeout,
    /// The share of requests that may be retries at a time.
    RetryBudget,
    /// Ejection of a server that fails, for a time.
    OutlierDetection,
    /// The requests that a limit admits.
    RateLimit,
}

impl PromiseKind {
    /// All, in the order in which a table has them.
    pub const ALL: [Self; 13] = [
        Self::Arrival,
        Self::Timeout,
        Self::Tries,
        Self::Certificate,
        Self::Client,
        Self::Share,
        Self::CircuitBreaker,
        Self::Keepalive,
        Self::RequestsPerConnection,
        Self::ConnectTimeout,
        Self::RetryBudget,
        Self::OutlierDetection,
        Self::RateLimit,
    ];

    /// The heading of its column, and its words in a sentence.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Arrival => ("arrives", "what arrives"),
            Self::Timeout => ("timeout", "its timeout"),
            Self::Tries => ("tries", "its number of tries"),
            Self::Certificate => ("other name", "the name of a certificate"),
            Self::Client => ("stranger", "the certificates of its clients"),
            Self::Share => ("share", "the share of its split"),
            Self::CircuitBreaker => ("breaker", "its circuit breakers"),
            Self::Keepalive => ("idle", "its keepalive"),
            Self::RequestsPerConnection => ("reuse", "its max_requests_per_connection"),
            Self::ConnectTimeout => ("connect", "its connect_timeout"),
            Self::RetryBudget => ("budget", "its retry_budget"),
            Self::OutlierDetection => ("ejection", "its outlier_detection"),
            Self::RateLimit => ("limit", "its rate limit"),
        }
    }
}

/// Outcome of a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromiseOutcome {
    /// It is kept.
    Kept,
    /// It is broken.
    Broken,
    /// It could not be tried.
    Untried,
}

/// Its report.
pub type ListenersCheckResult = Report<ListenersCheckBody>;

impl Body for ListenersCheckBody {
    const FORMAT: &'static str = "hoptax.listeners-check/1";
    type Environment = Environment;

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        self.file.clone()
    }

    /// One if no promise was tried.
    fn own_findings(&self) -> Vec<Finding> {
        let untried = self.is_void().then(|| {
            let message = "no promise could be tried".to_owned();
            let advice = "each promise has the reason";
            let measured = Measured::count(0.0, 0.0, "");
            Finding::new("untried", Severity::Fail, measured, message, advice).keeping()
        });
        untried.into_iter().collect()
    }

    fn is_void(&self) -> bool {
        self.count(PromiseOutcome::Kept) + self.count(PromiseOutcome::Broken) == 0
    }
}

impl ListenersCheckBody {
    /// Every promise with its listener.
    pub fn promises(&self) -> impl Iterator<Item = (&CheckedListener, &CheckedPromise)> {
        self.listeners.iter().flat_map(|one| one.promises.iter().map(move |promise| (one, promise)))
    }

    /// Returns the number of promises with this outcome.
    pub fn count(&self, outcome: PromiseOutcome) -> usize {
        self.promises().filter(|(_, promise)| promise.outcome == outcome).count()
    }
}
