//! A load as the API states it, with the names of the flags of `hoptax load`.

use std::time::Duration;

use hoptax_load::{MAX_RATE, Pace, Protocol, StaticAddress, without_user};
use hoptax_session::load::{Connections, GivenUrl, Load, Requests, Schedule, Sending, Servers};
use schemars::JsonSchema;
use serde::Deserialize;

/// The most connections of a load. Each takes a file descriptor and memory of a machine that others use.
const MAX_CONNECTIONS: u32 = 10_000;
/// The longest load. Nobody may be left to stop a longer one.
const LONGEST: Duration = Duration::from_hours(1);

/// A load to be sent.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WantedLoad {
    /// The URL that requests go to, as `http://127.0.0.1:8080/`.
    pub(crate) target: String,
    /// Requests per second, above 0 and at most 10,000,000; without a rate, a closed loop sends as fast as possible.
    pub(crate) rate: Option<f64>,
    /// Number of connections, 1 to 10,000; 16 if absent.
    pub(crate) connections: Option<u32>,
    /// Length of the recording, such as `30s`, at most an hour; 10 s if absent.
    pub(crate) duration: Option<String>,
    /// Length of the warm-up, which is not recorded, such as `0s`; 1 s if absent.
    pub(crate) warmup: Option<String>,
    /// Protocol: `auto`, `http1`, `http2`, `http3`, `grpc` or `grpc-http3`; `auto` if absent.
    pub(crate) protocol: Option<String>,
}

impl WantedLoad {
    /// The target without its user information, for people.
    pub(crate) fn shown_target(&self) -> String {
        without_user(&self.target)
    }

    /// The load, which connects to these addresses alone.
    ///
    /// # Errors
    /// All values that are out of their bounds.
    pub(crate) fn sending(self, addresses: Vec<StaticAddress>) -> Result<Sending<'static>, String> {
        let mut problems = Vec::new();
        let mut problem = |name: &str, why: String| problems.push(format!("`{name}`: {why}"));
        if self.rate.is_some_and(|rate| !(rate > 0.0 && rate <= MAX_RATE)) {
            problem("rate", format!("it must be above 0 and at most {MAX_RATE}"));
        }
        let number = self.connections.unwrap_or(Connections::default().number);
        if !(1..=MAX_CONNECTIONS).contains(&number) {
            problem("connections", format!("it must be at least 1 and at most {MAX_CONNECTIONS}"));
        }
        let mut time = |name: &str, text: Option<String>, shortest: Duration| {
            let length = humantime::parse_duration(&text?);
            match length {
                Ok(length) if (shortest..=LONGEST).contains(&length) => return Some(length),
                Ok(_) => {
                    let least = if shortest.is_zero() { "" } else { "longer than 0s and " };
                    problem(name, format!("it must be {least}at most 1h"));
                }
                Err(error) => problem(name, format!("{error}; write it as `10s` or `500ms`")),
            }
            None
        };
        let duration = time("duration", self.duration, Duration::from_nanos(1));
        let warmup = time("warmup", self.warmup, Duration::ZERO);
        let protocol = match self.protocol.as_deref() {
            None | Some("auto") => None,
            Some(name) => name
                .parse::<Protocol>()
                .map_err(|error| problem("protocol", format!("{error}, or `auto`")))
                .ok(),
        };
        if !problems.is_empty() {
            return Err(problems.join("\n"));
        }
        let requests = Requests { urls: vec![GivenUrl::from(self.target)], protocol, ..Requests::default() };
        let servers = Servers { resolve: addresses, ..Servers::default() };
        let connections = Connections { number, ..Connections::default() };
        Ok(Sending {
            load: Load { requests, servers, connections, ..Load::default() },
            schedule: Schedule {
                pace: self.rate.map(Pace::Constant),
                duration,
                warmup,
                ..Schedule::default()
            },
            ..Sending::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn sending(wanted: Value) -> Result<Sending<'static>, String> {
        serde_json::from_value::<WantedLoad>(wanted).map_err(|error| error.to_string())?.sending(Vec::new())
    }

    #[test]
    fn a_load_has_what_was_stated_and_else_the_defaults_of_the_command() {
        let of =
            sending(json!({"target": "http://127.0.0.1/", "rate": 100.0, "connections": 4, "duration": "2s",
            "warmup": "0s", "protocol": "http2"}))
            .unwrap();
        assert_eq!(of.load.connections.number, 4);
        assert_eq!(of.load.requests.protocol, Some(Protocol::Http2));
        assert_eq!(
            (of.schedule.duration, of.schedule.warmup),
            (Some(Duration::from_secs(2)), Some(Duration::ZERO))
        );
        assert_eq!(of.schedule.pace, Some(Pace::Constant(100.0)));
        let default = sending(json!({"target": "http://127.0.0.1/"})).unwrap();
        assert_eq!(format!("{:?}", default.schedule), format!("{:?}", Schedule::default()));
        assert_eq!(default.load.connections.number, 16);
        assert_eq!(default.load.requests.protocol, None);
    }

    #[test]
    fn values_out_of_their_bounds_are_named_all_together() {
        let refused =
            sending(json!({"target": "http://127.0.0.1/", "rate": 0.0, "connections": 0, "duration": "0s",
            "warmup": "2h", "protocol": "http4"}));
        let why = refused.unwrap_err();
        for name in ["rate", "connections", "duration", "warmup", "protocol"] {
            assert!(why.contains(&format!("`{name}`: ")), "{name}: {why}");
        }
        for (name, value) in [
            ("rate", json!(-1.0)),
            ("rate", json!(1e8)),
            ("connections", json!(10_001)),
            ("duration", json!("10")),
            ("duration", json!("2h")),
            ("protocol", json!("")),
            // No file, no credentials, nothing else that a flag could say.
            ("log", json!("/etc/passwd")),
            ("data", json!("/etc/passwd")),
            ("resolve", json!("a:1:192.0.2.1")),
        ] {
            let why = sending(json!({"target": "http://127.0.0.1/", name: value})).unwrap_err();
            assert!(why.contains(name), "{name}: {why}");
        }
        assert!(sending(json!({"rate": 1.0})).is_err());
    }

    #[test]
    fn a_target_is_shown_without_its_user_information() {
        let wanted: WantedLoad =
            serde_json::from_value(json!({"target": "http://joe:secret@127.0.0.1/"})).unwrap();
        assert_eq!(wanted.shown_target(), "http://127.0.0.1/");
    }
}
