//! The status of a supervisor as JSON, as text, as a web page and as Prometheus metrics.

mod html;
mod metrics;
mod page;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

use crate::timed::Timed;

/// The name and version of the format.
pub(crate) const FORMAT: &str = "hoptax.listeners-status/1";

/// Requests the status at an address.
///
/// # Errors
/// When nothing answers there, or something other than a supervisor: what to do.
pub fn ask(address: SocketAddr) -> Result<Status, String> {
    answer(address).map_err(|error| {
        format!("no status at {address}: {error}; `hoptax listeners run` serves it, and its log says where")
    })
}

fn answer(address: SocketAddr) -> io::Result<Status> {
    let until = Instant::now() + TIMEOUT;
    let stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    let mut stream = Timed { stream: &stream, until };
    stream.write_all(
        format!("GET /status.json HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").as_bytes(),
    )?;
    let mut text = String::new();
    stream.take(LARGEST).read_to_string(&mut text)?;
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
    serde_json::from_str(body)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("it is not a status: {error}")))
}

/// Time limit for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The largest status, bytes. One with 10,000 upstreams has 5 MB.
const LARGEST: u64 = 64 << 20;

/// The JSON Schema of the status.
pub fn schema() -> Schema {
    schema_for!(Status)
}

/// The status of a supervisor. Times are in UTC, RFC 3339.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// Name and version of this format.
    #[schemars(extend("const" = FORMAT))]
    pub format: String,
    /// The version of hoptax.
    pub version: String,
    /// The listeners file.
    pub file: String,
    /// State of the supervisor.
    pub state: State,
    /// The Envoy that serves; null if none does.
    pub serving: Option<Serving>,
    /// Outcome of the file at the last reading.
    pub last: Last,
    /// The process ids of Envoys that were replaced and finish their requests.
    pub leaving: Vec<u32>,
    /// Events since the supervisor began.
    pub counts: Counts,
    /// The upstreams that had requests, by name.
    pub upstreams: Vec<Upstream>,
    /// Reason why the times of upstreams are currently unknown; null if they are known.
    pub unknown_times: Option<String>,
}

/// State of a supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// No Envoy serves; one is starting or is about to start.
    Starting,
    /// An Envoy serves.
    Serving,
    /// It ends.
    Stopping,
}

/// An Envoy that serves.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Serving {
    /// Its version.
    pub envoy: String,
    /// Its process id.
    pub process_id: u32,
    /// Number of Envoys before it that hot restarts replaced.
    pub epoch: u32,
    /// Time at which it became live.
    pub since: String,
    /// The number of its listeners.
    pub listeners: usize,
    /// The number of warnings that `hoptax lint` has for the file.
    pub warnings: usize,
}

/// Outcome of the file at the last reading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Last {
    /// Time of the last change of the outcome.
    pub at: String,
    /// The outcome.
    pub outcome: Outcome,
    /// Reason why it is not served; null if it is.
    pub reason: Option<String>,
}

/// Outcome of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is being read.
    Reading,
    /// It was refused; the previous file stays in use.
    Refused,
    /// It waits until the Envoy before the last one has ended, or until the next attempt.
    Waiting,
    /// Envoy did not start on it, and is not tried again; the previous file stays in use.
    NotStarted,
    /// It is served.
    Served,
}

/// Events since a supervisor began.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Hot restarts.
    pub restarts: u64,
    /// Files that were refused.
    pub refused: u64,
    /// Envoys that did not start.
    pub not_started: u64,
    /// Envoys that served and ended on their own.
    pub lost: u64,
}

/// An upstream, in the last seconds in which it had fifty requests.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Upstream {
    /// The name of its cluster.
    pub name: String,
    /// Its requests per second.
    pub requests_per_second: f64,
    /// The share of them without a response in time.
    pub unanswered_share: f64,
    /// The median time until a request is sent to it: filters, and waiting for a connection; null if none was.
    pub wait_p50_us: Option<f64>,
    /// The median time from the end of a request to the first byte of its response; null if fewer than half had one.
    pub first_byte_p50_us: Option<f64>,
    /// The 90th percentile of the same time; null if fewer than nine tenths had one.
    pub first_byte_p90_us: Option<f64>,
    /// The median time from the first byte to the end of the response; null if none had one.
    pub rest_p50_us: Option<f64>,
    /// Its slowness; null if it is not slow.
    pub slow: Option<Slow>,
}

/// Slowness of an upstream: the 90th percentile of its time to the first byte is far above the level that it is compared with.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Slow {
    /// The time at which it became slow.
    pub since: String,
    /// The usual 90th percentile before; null if the upstream always was slow, or had no responses.
    pub usual_us: Option<f64>,
    /// The 90th percentile of the other upstreams if the upstream always was slow; else null.
    pub others_us: Option<f64>,
}

impl Status {
    /// Returns true if somebody should look: no Envoy is serving, Envoy does not serve the current file, or an upstream is slow.
    pub fn needs_attention(&self) -> bool {
        self.serving.is_none()
            || matches!(self.last.outcome, Outcome::Refused | Outcome::NotStarted)
            || self.upstreams.iter().any(|upstream| upstream.slow.is_some())
    }
}

#[cfg(test)]
pub(crate) use tests::sample;

#[cfg(test)]
mod tests {
    use super::*;

    /// A status in which everything is wrong.
    pub(crate) fn sample() -> Status {
        let at = |minute: u32| format!("2026-11-28T14:{minute:02}:00Z");
        let upstream = |name: &str, first_byte_us: Option<f64>, slow: Option<Slow>| Upstream {
            name: name.to_owned(),
            requests_per_second: 99.96,
            unanswered_share: if first_byte_us.is_none() { 0.25 } else { 0.0 },
            wait_p50_us: Some(82.0),
            first_byte_p50_us: Some(first_byte_us.unwrap_or(900.0) * 0.9),
            first_byte_p90_us: first_byte_us,
            rest_p50_us: Some(12.0),
            slow,
        };
        let became = Slow { since: at(2), usual_us: Some(1105.0), others_us: None };
        let always = Slow { since: at(1), usual_us: None, others_us: Some(1105.0) };
        Status {
            format: FORMAT.to_owned(),
            version: "0.1.0".to_owned(),
            file: "listeners.yaml".to_owned(),
            state: State::Serving,
            serving: Some(Serving {
                envoy: "1.40.0".to_owned(),
                process_id: 321,
                epoch: 4,
                since: at(1),
                listeners: 40,
                warnings: 2,
            }),
            last: Last {
                at: at(3),
                outcome: Outcome::Refused,
                reason: Some(
                    "listeners.yaml:3:5: unknown key `prot`; did you mean `port`?\nand more".to_owned(),
                ),
            },
            leaving: vec![320],
            counts: Counts { restarts: 4, refused: 1, not_started: 0, lost: 0 },
            upstreams: vec![
                upstream("a \"quoted\"", Some(1200.0), None),
                upstream("orders", Some(51_240.0), Some(became.clone())),
                upstream("silent", None, Some(became)),
                upstream("reports", Some(20_000.0), Some(always)),
            ],
            unknown_times: None,
        }
    }

    #[test]
    fn the_status_is_read_as_it_was_written() {
        let text = serde_json::to_string(&sample()).unwrap();
        let again: Status = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), text);
    }

    #[test]
    fn attention_is_needed_for_each_reason_alone() {
        let mut sound = sample();
        sound.last = Last { outcome: Outcome::Served, reason: None, ..sound.last };
        sound.upstreams.retain(|upstream| upstream.slow.is_none());
        assert!(!sound.needs_attention());
        let with = |change: &dyn Fn(&mut Status)| {
            let mut status = sound.clone();
            change(&mut status);
            status.needs_attention()
        };
        assert!(with(&|status| status.serving = None));
        assert!(with(&|status| status.last.outcome = Outcome::NotStarted));
        assert!(with(&|status| status.upstreams = sample().upstreams));
        assert!(!with(&|status| status.last.outcome = Outcome::Waiting));
    }
}
