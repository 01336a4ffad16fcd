//! Builds of programs, by which results and resumed studies identify them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// One build of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The first line of the version that it reports; none if it reports none.
    pub version: Option<String>,
    /// What an Envoy reports of its build, such as `Clean/RELEASE`; none for other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_build: Option<String>,
    /// SHA-256 of its file. Shared libraries that it loads are not included.
    pub sha256: String,
    /// SHA-256 of the files among its arguments that determine its behaviour, such as scripts and configurations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, String>,
}

/// The name of the build of an Envoy that single proxies choose.
pub fn envoy_name(choice: &str) -> String {
    format!("Envoy {choice}")
}

/// The programs with different builds or inputs, as text; empty if all are equal.
pub fn differences(one: &BTreeMap<String, Build>, other: &BTreeMap<String, Build>) -> Vec<String> {
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    names
        .into_iter()
        .flat_map(|name| match (one.get(name), other.get(name)) {
            (Some(one), Some(other)) => of_builds(name, one, other),
            _ => vec![format!("{name} was found for only one of the two")],
        })
        .collect()
}

/// The differences between two builds of a program.
fn of_builds(name: &str, one: &Build, other: &Build) -> Vec<String> {
    let mut found = Vec::new();
    match (&one.version, &other.version) {
        (Some(one), Some(other)) if one != other => {
            found.push(format!("a different build of {name} (`{one}` and `{other}`)"));
        }
        _ if one.sha256 != other.sha256 => found.push(format!("a different build of {name}")),
        _ => {}
    }
    let inputs: BTreeSet<&String> = one.inputs.keys().chain(other.inputs.keys()).collect();
    found.extend(inputs.into_iter().filter_map(|input| {
        match (one.inputs.get(input), other.inputs.get(input)) {
            (Some(one), Some(other)) if one == other => None,
            (Some(_), Some(_)) => Some(format!("the file `{input}` of {name} has changed")),
            _ => Some(format!("the file `{input}` of {name} was found for only one of the two")),
        }
    }));
    found
}
