//! Loads, searches, studies and bills as the API states them, with field names equal to the flags of the commands. This file has the load.

mod bill;
mod find;
mod study;

use std::borrow::Cow;
use std::time::Duration;

use hoptax_load::{MAX_RATE, Pace, Protocol, StaticAddress, without_user};
use hoptax_result::{count, grouped};
use hoptax_session::load::{Condition, Connections, GivenUrl, Load, Requests, Schedule, Sending, Servers};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

pub(crate) use bill::{MAX_CONFIGURATION_BYTES, WantedBill};
pub(crate) use find::WantedFind;
pub(crate) use study::{BuiltInStudy, WantedStudy, startable};

/// Maximum number of connections of a load. Each needs a file descriptor and memory on a shared machine.
pub(crate) const MAX_CONNECTIONS: u32 = 10_000;
/// Maximum length of a load including its warm-up. For a longer one, there may be nobody left to stop it.
const LONGEST: Duration = Duration::from_hours(1);
/// Maximum length of a target, in characters. It is part of every event of a job.
const MAX_TARGET: usize = 2_048;
/// Maximum number of conditions of a load, and of objectives of a search.
const MAX_CONDITIONS: usize = 10;
/// The schemes that a load may use. The other schemes of `hoptax load` reach servers that do not speak HTTP.
const SCHEMES: [&str; 4] = ["http", "https", "grpc", "grpcs"];

/// A load to be sent.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WantedLoad {
    /// The URL that requests go to, as `http://127.0.0.1:8080/`: `http`, `https`, `grpc` or `grpcs`.
    #[schemars(length(max = MAX_TARGET))]
    pub(crate) target: String,
    /// Requests per second, above 0 and at most 10,000,000; without a rate, a closed loop sends as fast as possible.
    pub(crate) rate: Option<f64>,
    /// Number of connections, 1 to 10,000; 16 if absent.
    pub(crate) connections: Option<u32>,
    /// Length of the recording, such as `30s`, at most an hour with the warm-up; 10 s if absent.
    pub(crate) duration: Option<String>,
    /// Length of the warm-up, which is not recorded, such as `0s`; 1 s if absent.
    pub(crate) warmup: Option<String>,
    /// Protocol; `auto` if absent.
    #[schemars(with = "Option<ProtocolName>")]
    pub(crate) protocol: Option<String>,
    /// Conditions that must not hold, such as `p99>5ms` or `errors>0.1%`; at most ten.
    #[serde(default)]
    #[schemars(length(max = MAX_CONDITIONS))]
    pub(crate) fail_on: Vec<String>,
}

/// `auto`, or a protocol for the URL's scheme.
enum ProtocolName {}

/// The word for the negotiated protocol.
const AUTO: &str = "auto";

impl JsonSchema for ProtocolName {
    fn schema_name() -> Cow<'static, str> {
        "ProtocolName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let known = protocols().map(Protocol::as_str);
        let words = [AUTO].into_iter().chain(known).collect::<Vec<_>>();
        let description = "A protocol; `auto` is the one that client and server agree on.";
        json_schema!({"description": description, "type": "string", "enum": words})
    }
}

/// The protocols of the allowed schemes.
fn protocols() -> impl Iterator<Item = Protocol> {
    let is_allowed = |protocol: &Protocol| SCHEMES.iter().any(|scheme| protocol.has_scheme(scheme));
    Protocol::ALL.iter().copied().filter(is_allowed)
}

/// A validated load whose target has not been admitted yet.
#[derive(Debug)]
pub(crate) struct BoundedLoad {
    target: GivenUrl,
    connections: u32,
    protocol: Option<Protocol>,
    schedule: Schedule,
    fail_on: Vec<Condition>,
}

impl WantedLoad {
    /// Validates the load, and checks that this machine allows its number of connections.
    ///
    /// # Errors
    /// All invalid values.
    pub(crate) fn bounded(self, most_connections: u32) -> Result<BoundedLoad, String> {
        let mut problems = Vec::new();
        let mut problem = |name: &str, why: String| problems.push(format!("`{name}`: {why}"));
        let length = self.target.chars().count();
        if length > MAX_TARGET {
            problem("target", format!("it has {length} characters, and may have {MAX_TARGET}"));
        }
        let scheme = self.target.split_once("://").map_or("", |(scheme, _)| scheme);
        if !SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) {
            problem(
                "target",
                format!("write a URL with {}, such as `http://HOST:PORT/PATH`", listed(&SCHEMES)),
            );
        }
        if self.rate.is_some_and(|rate| !(rate > 0.0 && rate <= MAX_RATE)) {
            problem("rate", format!("it must be above 0 and at most {}", grouped(MAX_RATE, 0)));
        }
        let connections = self.connections.unwrap_or(Connections::default().number);
        let most = most_connections.min(MAX_CONNECTIONS);
        if !(1..=most).contains(&connections) {
            let by = if most < MAX_CONNECTIONS { ", by the limit on open files of the server" } else { "" };
            problem("connections", format!("it must be at least 1 and at most {}{by}", count(most.into())));
        }
        let mut time = |name: &str, text: Option<String>, shortest: Duration| {
            let length = humantime::parse_duration(&text?);
            match length {
                Ok(length) if (shortest..=LONGEST).contains(&length) => return Some(length),
                Ok(_) => {
                    let least = if shortest.is_zero() { "" } else { "longer than 0s and " };
                    problem(name, format!("it must be {least}at most 1h"));
                }
                Err(_) => problem(name, "it is not a duration, such as `10s` or `500ms`".to_owned()),
            }
            None
        };
        let duration = time("duration", self.duration, Duration::from_nanos(1));
        let warmup = time("warmup", self.warmup, Duration::ZERO);
        // Absent values have short defaults.
        if duration.unwrap_or_default() + warmup.unwrap_or_default() > LONGEST {
            problem("duration", "it must be at most 1h together with `warmup`".to_owned());
        }
        let protocol = match self.protocol.as_deref() {
            None | Some(AUTO) => None,
            Some(name) => protocols().find(|protocol| protocol.as_str() == name).or_else(|| {
                let words: Vec<&str> = [AUTO].into_iter().chain(protocols().map(Protocol::as_str)).collect();
                problem("protocol", format!("`{name}` is not a protocol of a load: use {}", listed(&words)));
                None
            }),
        };
        let fail_on = conditions(&self.fail_on).unwrap_or_else(|why| {
            problem("fail_on", why);
            Vec::new()
        });
        if !problems.is_empty() {
            return Err(problems.join("\n"));
        }
        let pace = self.rate.map(Pace::Constant);
        let schedule = Schedule { pace, duration, warmup, ..Schedule::default() };
        Ok(BoundedLoad { target: GivenUrl::from(self.target), connections, protocol, schedule, fail_on })
    }
}

impl BoundedLoad {
    /// The URL of its target.
    pub(crate) fn target(&self) -> &str {
        &self.target
    }

    /// The target without user information, for display.
    pub(crate) fn shown_target(&self) -> String {
        without_user(&self.target)
    }

    /// The load, restricted to these addresses, and the conditions that must not hold, which it does not have yet.
    pub(crate) fn sending(mut self, addresses: Vec<StaticAddress>) -> (Sending<'static>, Vec<Condition>) {
        let fail_on = std::mem::take(&mut self.fail_on);
        let (load, schedule) = self.load(addresses);
        (Sending { load, schedule, ..Sending::default() }, fail_on)
    }

    /// Its requests, connections and schedule, with its servers restricted to these addresses.
    fn load(self, addresses: Vec<StaticAddress>) -> (Load, Schedule) {
        let requests = Requests { urls: vec![self.target], protocol: self.protocol, ..Requests::default() };
        let servers = Servers { resolve: addresses, ..Servers::default() };
        let connections = Connections { number: self.connections, ..Connections::default() };
        (Load { requests, servers, connections, ..Load::default() }, self.schedule)
    }
}

/// The conditions that must not hold, as `hoptax load --fail-on` reads them.
///
/// # Errors
/// When there are too many, and for the first that is none or that is about processes.
fn conditions(texts: &[String]) -> Result<Vec<Condition>, String> {
    if texts.len() > MAX_CONDITIONS {
        return Err(format!("name at most {MAX_CONDITIONS} conditions"));
    }
    let read = texts.iter().map(|text| match text.parse::<Condition>() {
        Ok(condition) if condition.needs_account() => {
            Err(format!("`{text}` is about processes, which a server does not account for"))
        }
        Ok(condition) => Ok(condition),
        Err(why) => Err(format!("`{text}`: {why}")),
    });
    read.collect()
}

/// Words of the API, joined for a sentence.
fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn bounded(wanted: Value, most_connections: u32) -> Result<BoundedLoad, String> {
        let wanted = serde_json::from_value::<WantedLoad>(wanted).map_err(|error| error.to_string())?;
        wanted.bounded(most_connections)
    }

    fn sending(wanted: Value) -> Result<Sending<'static>, String> {
        Ok(bounded(wanted, MAX_CONNECTIONS)?.sending(Vec::new()).0)
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
    fn conditions_are_those_of_the_command_and_not_about_processes() {
        let of = |conditions: Value| -> Result<Vec<String>, String> {
            let load = bounded(json!({"target": "http://127.0.0.1/", "fail_on": conditions}), 100)?;
            let (_, fail_on) = load.sending(Vec::new());
            Ok(fail_on.iter().map(Condition::to_string).collect())
        };
        assert_eq!(of(json!(["p99>5ms", "errors>0.1%"])).unwrap(), ["p99>5ms", "errors>0.1%"]);
        assert_eq!(of(json!(vec!["p99>5ms"; 10])).unwrap().len(), 10);
        assert!(bounded(json!({"target": "http://127.0.0.1/"}), 100).unwrap().fail_on.is_empty());
        let why_not = |conditions: Value| -> String { of(conditions).unwrap_err() };
        let parsed = "p99>5".parse::<Condition>().unwrap_err();
        assert_eq!(why_not(json!(["errors>1", "p99>5"])), format!("`fail_on`: `p99>5`: {parsed}"));
        for (conditions, words) in [
            (json!(["cpu_us>50"]), "`cpu_us>50` is about processes"),
            (json!(["memory>1GiB"]), "`memory>1GiB` is about processes"),
            (json!(vec!["p99>5ms"; 11]), "at most 10"),
            (json!([""]), "write it as `p99>5ms`"),
        ] {
            let why = why_not(conditions);
            assert!(why.starts_with("`fail_on`: ") && why.contains(words), "{words}: {why}");
        }
    }

    #[test]
    fn protocols_are_those_of_the_schemes() {
        let names: Vec<&str> = protocols().map(Protocol::as_str).collect();
        assert_eq!(names, ["http1", "http2", "http3", "grpc", "grpc-http3"]);
        for name in names {
            assert!(sending(json!({"target": "http://127.0.0.1/", "protocol": name})).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_target_is_shown_without_its_user_information() {
        let wanted = bounded(json!({"target": "http://joe:secret@127.0.0.1/"}), 100).unwrap();
        assert_eq!(wanted.shown_target(), "http://127.0.0.1/");
    }

    #[test]
    fn a_target_is_a_short_url_of_a_protocol_that_a_load_may_state() {
        let of = |target: &str| sending(json!({"target": target}));
        for scheme in ["http", "https", "grpc", "grpcs", "HTTP"] {
            assert!(of(&format!("{scheme}://127.0.0.1/")).is_ok(), "{scheme}");
        }
        for target in
            ["tcp://127.0.0.1:25", "tls://127.0.0.1", "ws://127.0.0.1/", "wss://127.0.0.1/", "", "x"]
        {
            let why = of(target).unwrap_err();
            assert!(why.starts_with("`target`: ") && why.contains("`grpcs`"), "{target}: {why}");
        }
        let long = |length: usize| format!("http://127.0.0.1/{}", "é".repeat(length - 17));
        assert!(of(&long(MAX_TARGET)).is_ok());
        let why = of(&long(MAX_TARGET + 1)).unwrap_err();
        assert!(why.starts_with("`target`: it has 2049 characters"), "{why}");
    }

    #[test]
    fn a_load_lasts_an_hour_with_its_warm_up() {
        let of = |duration: &str, warmup: &str| {
            sending(json!({"target": "http://127.0.0.1/", "duration": duration, "warmup": warmup}))
        };
        assert!(of("1h", "0s").is_ok() && of("50m", "10m").is_ok());
        for (duration, warmup) in [("1h", "1s"), ("1h", "1h"), ("50m", "601s")] {
            let why = of(duration, warmup).unwrap_err();
            assert!(why.contains("`duration`: ") && why.contains("`warmup`"), "{duration} {warmup}: {why}");
        }
    }

    #[test]
    fn connections_are_those_that_the_limit_on_files_leaves() {
        let of = |number: u32, most: u32| {
            bounded(json!({"target": "http://127.0.0.1/", "connections": number}), most)
        };
        assert!(of(100, 100).is_ok());
        let why = of(101, 100).unwrap_err();
        assert!(why.contains("at most 100") && why.contains("open files"), "{why}");
        let why = of(10_001, u32::MAX).unwrap_err();
        assert!(why.contains("at most 10,000") && !why.contains("open files"), "{why}");
    }
}
