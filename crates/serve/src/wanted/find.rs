//! A search for the highest rate of a server, as the API states it.

use std::time::Duration;

use hoptax_load::options::LOWEST_RATE;
use hoptax_load::{MAX_RATE, StaticAddress};
use hoptax_result::grouped;
use hoptax_session::find::{Objective, Preset};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{BoundedLoad, MAX_CONDITIONS, MAX_TARGET, ProtocolName, WantedLoad};
use crate::budget::budget;
use crate::finding::Search;

/// A search for the highest rate at which a server holds objectives.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WantedFind {
    /// The URL that requests go to, as `http://127.0.0.1:8080/`: `http`, `https`, `grpc` or `grpcs`.
    #[schemars(length(max = MAX_TARGET))]
    target: String,
    /// Conditions that must hold together, such as `p99<5ms` or `errors<0.1%`; one to ten.
    #[schemars(length(min = 1, max = MAX_CONDITIONS))]
    objectives: Vec<String>,
    /// How narrow the interval of the rate should be; `quick` if absent.
    preset: Option<PresetName>,
    /// The lowest rate, requests per second, at least 1; a thousandth of the highest if absent.
    min_rate: Option<f64>,
    /// The highest rate, requests per second, at most 10,000,000; twice that of a closed loop if absent.
    max_rate: Option<f64>,
    /// Number of connections, 1 to 10,000; 16 if absent.
    connections: Option<u32>,
    /// Time of the search, such as `10m`, at most 12h; 5 min for `quick` and 90 min for `careful` if absent.
    budget: Option<String>,
    /// Protocol; `auto` if absent.
    #[schemars(with = "Option<ProtocolName>")]
    protocol: Option<String>,
}

/// How narrow the interval of a rate should be.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum PresetName {
    /// 4 % wide, in at most 5 min.
    Quick,
    /// 2 % wide, in at most 90 min.
    Careful,
}

/// A validated search whose target has not been admitted yet.
pub(crate) struct BoundedFind {
    load: BoundedLoad,
    objectives: Vec<Objective>,
    preset: Preset,
    min_rate: Option<f64>,
    max_rate: Option<f64>,
    budget: Option<Duration>,
}

impl WantedFind {
    /// Validates the search, and checks that this machine allows its number of connections.
    ///
    /// # Errors
    /// All invalid values.
    pub(crate) fn bounded(self, most_connections: u32) -> Result<BoundedFind, String> {
        let Self { target, connections, protocol, min_rate, max_rate, .. } = self;
        let load = WantedLoad {
            target,
            rate: None,
            connections,
            duration: None,
            warmup: None,
            protocol,
            fail_on: Vec::new(),
        };
        let load = load.bounded(most_connections);
        let objectives = objectives(&self.objectives);
        let rates = rates(min_rate, max_rate);
        let budget = budget(self.budget.as_deref());
        match (load, objectives, rates, budget) {
            (Ok(load), Ok(objectives), Ok(()), Ok(budget)) => {
                let preset = match self.preset {
                    None | Some(PresetName::Quick) => Preset::Quick,
                    Some(PresetName::Careful) => Preset::Careful,
                };
                Ok(BoundedFind { load, objectives, preset, min_rate, max_rate, budget })
            }
            (load, objectives, rates, budget) => {
                let problems = [load.err(), objectives.err(), rates.err(), budget.err()];
                Err(problems.into_iter().flatten().collect::<Vec<String>>().join("\n"))
            }
        }
    }
}

impl BoundedFind {
    /// Its load, whose target must be admitted.
    pub(crate) fn load(&self) -> &BoundedLoad {
        &self.load
    }

    /// The search, restricted to these addresses.
    pub(crate) fn search(self, addresses: Vec<StaticAddress>) -> Search {
        let Self { load, objectives, preset, min_rate, max_rate, budget } = self;
        let (load, _) = load.load(addresses);
        Search { load, objectives, preset, min_rate, max_rate, budget }
    }
}

fn objectives(texts: &[String]) -> Result<Vec<Objective>, String> {
    if texts.is_empty() || texts.len() > MAX_CONDITIONS {
        return Err(format!(
            "`objectives`: name one that must hold, such as `p99<5ms`, and at most {MAX_CONDITIONS}"
        ));
    }
    let read = texts.iter().map(|text| match text.parse::<Objective>() {
        Ok(objective) if objective.needs_account() => {
            Err(format!("`objectives`: `{text}` is about processes, which a server does not account for"))
        }
        Ok(objective) => Ok(objective),
        Err(why) => Err(format!("`objectives`: `{text}`: {why}")),
    });
    read.collect()
}

fn rates(min: Option<f64>, max: Option<f64>) -> Result<(), String> {
    let is_rate = |rate: f64| (LOWEST_RATE..=MAX_RATE).contains(&rate);
    let most = grouped(MAX_RATE, 0);
    let problem = |name: &str| format!("`{name}`: it must be at least {LOWEST_RATE} and at most {most}");
    if !min.is_none_or(is_rate) {
        return Err(problem("min_rate"));
    }
    if !max.is_none_or(is_rate) {
        return Err(problem("max_rate"));
    }
    if min.zip(max).is_some_and(|(min, max)| min >= max) {
        return Err("`min_rate`: it must be below `max_rate`".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn search(wanted: Value) -> Result<Search, String> {
        let wanted = serde_json::from_value::<WantedFind>(wanted).map_err(|error| error.to_string())?;
        Ok(wanted.bounded(100)?.search(Vec::new()))
    }

    #[test]
    fn a_search_has_what_was_stated_and_else_the_defaults_of_the_command() {
        let of = search(json!({"target": "http://127.0.0.1/", "objectives": ["p99<5ms", "errors<0.1%"],
            "preset": "careful", "min_rate": 10.0, "max_rate": 100.0, "connections": 4, "budget": "2m"}))
        .unwrap();
        assert_eq!((of.objectives.len(), of.preset), (2, Preset::Careful));
        assert_eq!((of.min_rate, of.max_rate), (Some(10.0), Some(100.0)));
        assert_eq!((of.load.connections.number, of.budget), (4, Some(Duration::from_mins(2))));
        let of = search(json!({"target": "http://127.0.0.1/", "objectives": ["p99<5ms"]})).unwrap();
        assert_eq!((of.preset, of.budget, of.min_rate), (Preset::Quick, None, None));
        assert_eq!(of.load.connections.number, 16);
    }

    #[test]
    fn values_out_of_their_bounds_are_named_all_together() {
        let why = search(json!({"target": "tcp://127.0.0.1:25", "objectives": ["rate>5"], "min_rate": 0.5,
            "connections": 0, "budget": "1d", "protocol": "http4"}));
        let why = why.err().unwrap();
        for name in ["target", "objectives", "min_rate", "connections", "budget", "protocol"] {
            assert!(why.contains(&format!("`{name}`: ")), "{name}: {why}");
        }
        for (name, value) in [
            ("objectives", json!([])),
            ("objectives", json!(["p99"])),
            ("objectives", json!(["cpu_us<50"])),
            ("objectives", json!(vec!["p99<5ms"; 11])),
            ("max_rate", json!(1e8)),
            ("min_rate", json!(10.0)),
            ("preset", json!("fast")),
            // No file, no process, nothing else that a flag could say.
            ("account", json!("process=envoy")),
            ("envoy", json!("/bin/sh")),
        ] {
            let mut wanted =
                json!({"target": "http://127.0.0.1/", "objectives": ["p99<5ms"], "max_rate": 10.0});
            wanted[name] = value;
            let why = search(wanted.clone()).err().unwrap_or_else(|| panic!("{wanted}"));
            assert!(why.contains(name) || name == "preset" && why.contains("fast"), "{wanted}: {why}");
        }
    }
}
