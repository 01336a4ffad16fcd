//! A configuration to be priced, as the API states it.

use std::time::Duration;

use hoptax_load::MAX_RATE;
use hoptax_session::price::RequestLine;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::billing::Priced;
use crate::budget::budget;

/// Maximum size of a configuration, bytes. Dumps of large proxies have several megabytes.
pub(crate) const MAX_CONFIGURATION_BYTES: usize = 4 << 20;
/// Maximum length of the names of a configuration and a listener, and of a request, in characters.
const MAX_LETTERS: usize = 200;
const MAX_REQUEST_BYTES: usize = 2_048;
/// Default time limit of a bill.
const USUAL: Duration = Duration::from_mins(5);

/// An Envoy configuration to be priced.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WantedBill {
    /// The text of a bootstrap or a `/config_dump`, YAML or JSON, at most 4 MiB. It must not name files or contain code (Lua, WebAssembly,
    /// Go, modules); otherwise it is refused.
    #[schemars(length(max = MAX_CONFIGURATION_BYTES))]
    configuration: String,
    /// Its name, such as that of its file: letters, digits, `-`, `_`, `.`, others become `_`; `configuration.yaml` if absent.
    #[schemars(length(max = MAX_LETTERS))]
    name: Option<String>,
    /// The listener, by its name or a unique prefix of it; the first that forwards a request if absent.
    #[schemars(length(max = MAX_LETTERS))]
    listener: Option<String>,
    /// The request, as `GET https://HOST/PATH`; derived from the routes if absent.
    #[schemars(length(max = MAX_REQUEST_BYTES))]
    request: Option<String>,
    /// Requests per second to the proxy, above 0 and at most 10,000,000; half of its capacity if absent.
    rate: Option<f64>,
    /// Time of the bill, such as `10m`, at most 12h; 5 min if absent.
    budget: Option<String>,
}

impl WantedBill {
    /// Validates the configuration. Returns its text and the settings of its bill.
    ///
    /// # Errors
    /// All invalid values.
    pub(crate) fn bounded(self) -> Result<(String, Priced), String> {
        let mut problems = Vec::new();
        let mut problem = |name: &str, why: &str| problems.push(format!("`{name}`: {why}"));
        if self.configuration.trim().is_empty() {
            problem("configuration", "it is empty: give the text of a bootstrap or a `/config_dump`");
        }
        if self.configuration.len() > MAX_CONFIGURATION_BYTES {
            problem("configuration", "it has more than 4 MiB: price it with `hoptax price FILE`");
        }
        for (field, text) in [("name", &self.name), ("listener", &self.listener)] {
            if text.as_ref().is_some_and(|text| text.chars().count() > MAX_LETTERS) {
                problem(field, "it has more than 200 letters");
            }
        }
        if self.rate.is_some_and(|rate| !(rate > 0.0 && rate <= MAX_RATE)) {
            problem("rate", "it must be above 0 and at most 10,000,000");
        }
        let request = self.request.as_deref().map(|text| match text.parse::<RequestLine>() {
            Ok(_) if text.len() > MAX_REQUEST_BYTES => Err("it has more than 2048 bytes".to_owned()),
            parsed => parsed,
        });
        let request = request.transpose().unwrap_or_else(|why| {
            problem("request", &why);
            None
        });
        let budget = budget(self.budget.as_deref());
        problems.extend(budget.as_ref().err().cloned());
        if !problems.is_empty() {
            return Err(problems.join("\n"));
        }
        let name = self.name.as_deref().unwrap_or("configuration.yaml");
        let priced = Priced {
            name: plain(name),
            listener: self.listener,
            request,
            rate: self.rate,
            budget: budget?.unwrap_or(USUAL),
        };
        Ok((self.configuration, priced))
    }
}

/// A name without characters that are special in a path, in JSON or on a page.
fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    if name.is_empty() { "configuration".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn bounded(wanted: Value) -> Result<(String, Priced), String> {
        let wanted = serde_json::from_value::<WantedBill>(wanted).map_err(|error| error.to_string())?;
        wanted.bounded()
    }

    #[test]
    fn a_bill_has_what_was_stated_and_else_defaults() {
        let (text, of) =
            bounded(json!({"configuration": "a: b", "name": "../my \"edge\".yaml", "listener": "web",
            "request": "GET http://a/", "rate": 100.0, "budget": "1m"}))
            .unwrap();
        assert_eq!((text.as_str(), of.name.as_str()), ("a: b", ".._my__edge_.yaml"));
        assert_eq!((of.listener.as_deref(), of.rate), (Some("web"), Some(100.0)));
        assert_eq!((of.request.is_some(), of.budget), (true, Duration::from_mins(1)));
        let (_, of) = bounded(json!({"configuration": "a: b"})).unwrap();
        assert_eq!((of.name.as_str(), of.budget), ("configuration.yaml", USUAL));
        assert!(of.request.is_none() && of.rate.is_none());
    }

    #[test]
    fn values_out_of_their_bounds_are_named_all_together() {
        let long = "a".repeat(MAX_LETTERS + 1);
        let why = bounded(json!({"configuration": " ", "name": long, "listener": long, "request": "/cart",
            "rate": -1.0, "budget": "1y"}))
        .unwrap_err();
        for name in ["configuration", "name", "listener", "request", "rate", "budget"] {
            assert!(why.contains(&format!("`{name}`: ")), "{name}: {why}");
        }
        let large = "a".repeat(MAX_CONFIGURATION_BYTES + 1);
        assert!(bounded(json!({"configuration": large})).unwrap_err().contains("4 MiB"));
        for field in ["envoy", "file", "headers", "what_if"] {
            assert!(bounded(json!({"configuration": "a: b", field: "/etc/passwd"})).is_err(), "{field}");
        }
    }
}
