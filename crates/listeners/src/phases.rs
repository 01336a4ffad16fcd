//! Histograms of request phases by upstream, in microseconds. `hoptax listeners run` adds them to the rendered configuration, because
//! Envoy's own histograms of times have a resolution of milliseconds.

use serde_json::{Value, json};

use crate::render::Rendered;

/// Prefix of the names of these histograms.
pub const PREFIX: &str = "hoptax_phases";
/// Separator between the phase and the upstream in a name.
const TAG: &str = "upstream";

/// A phase of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// From the first byte of the client to the first byte for the upstream: filters, and waiting for a connection.
    Wait,
    /// From the last byte for the upstream to the first byte of its response.
    FirstByte,
    /// From the first byte of the response to the last byte for the client.
    Rest,
}

impl Phase {
    /// All phases, in order.
    pub const ALL: [Self; 3] = [Self::Wait, Self::FirstByte, Self::Rest];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait_us",
            Self::FirstByte => "first_byte_us",
            Self::Rest => "rest_us",
        }
    }

    /// Returns Envoy's command operator for the phase: the time between two of its time points.
    fn duration(self) -> &'static str {
        match self {
            Self::Wait => "%COMMON_DURATION(DS_RX_BEG:US_TX_BEG:us)%",
            Self::FirstByte => "%COMMON_DURATION(US_TX_END:US_RX_BEG:us)%",
            Self::Rest => "%COMMON_DURATION(US_RX_BEG:DS_TX_END:us)%",
        }
    }
}

/// Adds the histograms to all listeners.
pub fn add(rendered: &mut Rendered) {
    let histogram = |phase: Phase| {
        json!({
            "stat": {"name": phase.name(), "tags": [{"name": TAG, "value_format": "%UPSTREAM_CLUSTER%"}]},
            "unit": "Microseconds",
            "value_format": phase.duration(),
        })
    };
    let logger = json!({
        "name": "envoy.access_loggers.stats",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.access_loggers.stats.v3.Config",
            "stat_prefix": PREFIX,
            "histograms": Phase::ALL.map(histogram),
        },
    });
    for listener in &mut rendered.listeners {
        // A rendered listener has one chain, whose last filter is the connection manager.
        let filters = listener.message.pointer_mut("/filter_chains/0/filters");
        let manager = filters.and_then(Value::as_array_mut).and_then(|filters| filters.last_mut());
        let loggers = manager.and_then(|manager| manager.pointer_mut("/typed_config/access_log"));
        if let Some(Value::Array(loggers)) = loggers {
            loggers.push(logger.clone());
        }
    }
}

/// The phase and the upstream in a histogram's name; none for other histograms.
pub fn of_name(name: &str) -> Option<(Phase, &str)> {
    let (_, name) = name.split_once(PREFIX)?;
    let (phase, rest) = name.strip_prefix('.')?.split_once('.')?;
    let phase = Phase::ALL.into_iter().find(|one| one.name() == phase)?;
    let upstream = rest.strip_prefix(TAG)?.strip_prefix('.')?;
    Some((phase, upstream))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Source, read, render};

    #[test]
    fn every_listener_gets_a_histogram_for_each_phase_beside_its_log() {
        let text = "listeners:\n  - {name: a, port: 1, timeout: 1s, upstream: {address: a, port: 1}}\n  - {name: b, port: 2, timeout: 1s, \
                    upstream: {address: b, port: 1}}\n";
        let mut rendered = render(&read(Source { name: "x", text }, None).unwrap()).unwrap();
        add(&mut rendered);
        for listener in &rendered.listeners {
            let text = listener.message.to_string();
            let names = Phase::ALL.map(|phase| text.matches(&format!("\"{}\"", phase.name())).count());
            assert_eq!(names, [1; 3], "{text}");
            assert!(text.contains("envoy.access_loggers.file"), "{text}");
        }
    }

    #[test]
    fn names_of_histograms_have_phase_and_upstream() {
        let of = |rest: &str| format!("{PREFIX}.{rest}");
        assert_eq!(of_name(&of("first_byte_us.upstream.a.b:1")), Some((Phase::FirstByte, "a.b:1")));
        assert_eq!(of_name(&of("other_us.upstream.a")), None);
        assert_eq!(of_name("cluster.a.upstream_cx_connect_ms"), None);
    }
}
