//! Counters of the server, in the Prometheus text format.
//!
//! Format: <https://prometheus.io/docs/instrumenting/exposition_formats/>, version 0.0.4.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::job::State;

/// The media type of the text.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Reason for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The request named another server.
    Host,
    /// A page of another server sent the request.
    Origin,
    /// The request did not present the token.
    Token,
    /// The target of a load was not allowed.
    Target,
    /// A job was requested while another was running.
    Busy,
    /// There were too many event streams.
    Streams,
    /// A proxy forwarded the request to a server without a token.
    Proxy,
    /// Too many configurations were being received or waited to be read.
    Uploads,
}

/// All reasons, in the order of their counters.
const REFUSED: [(Refused, &str); 8] = [
    (Refused::Host, "host"),
    (Refused::Origin, "origin"),
    (Refused::Token, "token"),
    (Refused::Target, "target"),
    (Refused::Busy, "busy"),
    (Refused::Streams, "streams"),
    (Refused::Proxy, "proxy"),
    (Refused::Uploads, "uploads"),
];
/// The final states of jobs, in the order of their counters.
const ENDS: [(State, &str); 3] =
    [(State::Done, "done"), (State::Interrupted, "interrupted"), (State::Failed, "failed")];

/// The counters.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: AtomicU64,
    refused: [AtomicU64; REFUSED.len()],
    jobs: [AtomicU64; ENDS.len()],
    streams: AtomicU64,
}

/// Numbers that come from other parts of the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    /// Running jobs.
    pub(crate) running: usize,
    /// Open event streams.
    pub(crate) streams: usize,
    /// Open connections to the server.
    pub(crate) connections: usize,
}

impl Metrics {
    /// Counts a request.
    pub(crate) fn requested(&self) {
        add(&self.requests);
    }

    /// Counts a refusal.
    pub(crate) fn refused(&self, why: Refused) {
        let of = REFUSED.iter().zip(&self.refused).find(|((one, _), _)| *one == why);
        if let Some((_, counter)) = of {
            add(counter);
        }
    }

    /// Counts the end of a job.
    pub(crate) fn ended(&self, state: State) {
        let of = ENDS.iter().zip(&self.jobs).find(|((one, _), _)| *one == state);
        if let Some((_, counter)) = of {
            add(counter);
        }
    }

    /// Counts an event stream.
    pub(crate) fn streamed(&self) {
        add(&self.streams);
    }

    /// All counters as text.
    pub(crate) fn text(&self, now: Now) -> String {
        let mut text = String::new();
        family(&mut text, "requests_total", "counter", "Requests, including refused ones.");
        sample(&mut text, "requests_total", None, read(&self.requests));
        family(&mut text, "refused_total", "counter", "Requests, loads and event streams that were refused.");
        for (&(_, why), counter) in REFUSED.iter().zip(&self.refused) {
            sample(&mut text, "refused_total", Some(("reason", why)), read(counter));
        }
        family(&mut text, "jobs_total", "counter", "Jobs that ended.");
        for (&(_, state), counter) in ENDS.iter().zip(&self.jobs) {
            sample(&mut text, "jobs_total", Some(("state", state)), read(counter));
        }
        family(&mut text, "jobs_running", "gauge", "Jobs that run.");
        sample(&mut text, "jobs_running", None, now.running as u64);
        family(&mut text, "event_streams_total", "counter", "Event streams that began.");
        sample(&mut text, "event_streams_total", None, read(&self.streams));
        family(&mut text, "event_streams", "gauge", "Event streams that are open.");
        sample(&mut text, "event_streams", None, now.streams as u64);
        family(&mut text, "connections", "gauge", "Connections to the server that are open.");
        sample(&mut text, "connections", None, now.connections as u64);
        text
    }
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

fn family(text: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "# HELP hoptax_serve_{name} {help}\n# TYPE hoptax_serve_{name} {kind}");
}

fn sample(text: &mut String, name: &str, label: Option<(&str, &str)>, value: u64) {
    let label = label.map_or_else(String::new, |(label, of)| format!("{{{label}=\"{of}\"}}"));
    let _ = writeln!(text, "hoptax_serve_{name}{label} {value}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_is_counted_under_its_own_name() {
        let metrics = Metrics::default();
        metrics.requested();
        for (place, (why, _)) in REFUSED.iter().enumerate() {
            (0..=place).for_each(|_| metrics.refused(*why));
        }
        metrics.ended(State::Interrupted);
        metrics.streamed();
        let text = metrics.text(Now { running: 2, streams: 3, connections: 5 });
        for line in [
            "hoptax_serve_requests_total 1",
            "hoptax_serve_refused_total{reason=\"host\"} 1",
            "hoptax_serve_refused_total{reason=\"origin\"} 2",
            "hoptax_serve_refused_total{reason=\"token\"} 3",
            "hoptax_serve_refused_total{reason=\"target\"} 4",
            "hoptax_serve_refused_total{reason=\"busy\"} 5",
            "hoptax_serve_refused_total{reason=\"streams\"} 6",
            "hoptax_serve_refused_total{reason=\"proxy\"} 7",
            "hoptax_serve_refused_total{reason=\"uploads\"} 8",
            "hoptax_serve_jobs_total{state=\"done\"} 0",
            "hoptax_serve_jobs_total{state=\"interrupted\"} 1",
            "hoptax_serve_jobs_running 2",
            "hoptax_serve_event_streams_total 1",
            "hoptax_serve_event_streams 3",
            "hoptax_serve_connections 5",
            "# TYPE hoptax_serve_jobs_running gauge",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
