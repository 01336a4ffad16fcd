//! What differs between the configurations of two subjects.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use hoptax_bootstrap::differences::{Difference, differences};
use hoptax_bootstrap::parts::{Part, parts};
use hoptax_bootstrap::request::derive;
use hoptax_bootstrap::{Adapted, Lab, Place};
use hoptax_result::{ConfigurationDifferences, PartDifference};
use hoptax_subject::envoy::given::Given;

use super::subject::Subject;

/// What differs between the configurations of two subjects. None unless both have one, and a request can be derived for each.
pub(super) fn between(reference: &Subject, subject: &Subject) -> Option<ConfigurationDifferences> {
    of_files(reference.config()?, subject.config()?)
}

/// What differs between the configurations at two paths. None unless a request can be derived for each.
pub(super) fn of_files(reference: &str, other: &str) -> Option<ConfigurationDifferences> {
    let (one, other) = (taken_apart(reference)?, taken_apart(other)?);
    let found = differences((&one.0, &one.1), (&other.0, &other.1));
    Some(ConfigurationDifferences {
        parts: found.parts.into_iter().map(part).collect(),
        is_order_different: found.is_order_different,
        rest: found.rest,
    })
}

fn part(found: Difference) -> PartDifference {
    let place = |place: Option<Place>| place.map(|place| place.to_string());
    PartDifference {
        kind: found.kind.to_string(),
        name: found.name,
        reference_place: place(found.first),
        place: place(found.second),
        fields: found.fields,
    }
}

/// The configuration at a path with the parts that a request passes.
fn taken_apart(path: &str) -> Option<(Adapted, Vec<Part>)> {
    let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let lab = Lab {
        admin_port: 0,
        listener_ports: Vec::new(),
        origin: nowhere,
        companion: nowhere,
        folder: "FOLDER".into(),
    };
    let adapted = Given::read(Path::new(path)).ok()?.adapt(&lab).ok()?;
    let passed = adapted.listeners.iter().find_map(|listener| {
        let request = derive(&adapted, listener).ok()?;
        Some(parts(&adapted, listener, &request))
    });
    Some((adapted, passed?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_without_a_configuration_have_no_differences() {
        let [one, other] = ["jwt", "1.39.3"].map(|given| Subject::parse(given).unwrap());
        assert_eq!(between(&one, &other), None);
    }
}
