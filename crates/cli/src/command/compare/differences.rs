//! What differs between the configurations of two subjects, as lines of text.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use hoptax_bootstrap::differences::{Differences, differences};
use hoptax_bootstrap::parts::{Part, parts};
use hoptax_bootstrap::request::derive;
use hoptax_bootstrap::{Adapted, Lab};
use hoptax_subject::envoy::given::Given;

use super::is_config;

/// Lines that say what differs between two subjects, each with its letter; none unless both are configurations.
pub(super) fn between(first: (&str, &str), second: (&str, &str)) -> Vec<String> {
    let (Some(one), Some(other)) = (taken_apart(first.1), taken_apart(second.1)) else { return Vec::new() };
    let found = differences((&one.0, &one.1), (&other.0, &other.1));
    lines(&found, first.0, second.0)
}

fn lines(found: &Differences, first: &str, second: &str) -> Vec<String> {
    let mut lines: Vec<String> = found.parts.iter().map(|part| format!("  {part}")).collect();
    if found.is_rest_different {
        lines.push("  routes, clusters or other settings differ".to_owned());
    }
    if lines.is_empty() {
        return vec![format!("  the configurations of {first} and {second} do not differ")];
    }
    lines.insert(0, format!("  the configurations of {first} and {second} differ:"));
    lines
}

/// The configuration of a subject with the parts that a request passes. None if the subject has no configuration, or if no
/// request can be derived for it.
fn taken_apart(subject: &str) -> Option<(Adapted, Vec<Part>)> {
    let path = subject.split('+').map(str::trim).find(|part| is_config(part))?;
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
    use hoptax_bootstrap::differences::Difference;
    use hoptax_bootstrap::parts::PartKind;

    use super::*;

    #[test]
    fn differences_are_listed_and_none_is_said_to_be_none() {
        let kind = PartKind::HttpFilter;
        let part = Difference { kind, name: "lua".to_owned(), first: None, second: None };
        let found = Differences { parts: vec![part], is_rest_different: true };
        let texts = lines(&found, "A", "B");
        assert_eq!(
            texts,
            [
                "  the configurations of A and B differ:",
                "  HTTP filter `lua`",
                "  routes, clusters or other settings differ"
            ]
        );
        let none = lines(&Differences::default(), "A", "C");
        assert_eq!(none, ["  the configurations of A and C do not differ"]);
    }

    #[test]
    fn subjects_without_a_configuration_have_no_differences() {
        assert_eq!(between(("A", "jwt"), ("B", "1.39.3")), Vec::<String>::new());
    }
}
