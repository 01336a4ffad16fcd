//! Functions of the catalogue that a listener names.

use std::path::Path;

use hoptax_functions::{
    Catalogue, Component, Composition, Context, FilterOrder, Fragment, Function, FunctionCall, Secured,
};

use super::Resolver;

impl Resolver<'_> {
    /// What functions add to a listener; none without functions.
    pub(super) fn fragment(&mut self, calls: &[String], path: &str) -> Option<Fragment> {
        if calls.is_empty() {
            return None;
        }
        let catalogue = match Catalogue::load() {
            Ok(catalogue) => catalogue,
            Err(errors) => {
                self.add(path, format!("the catalogue cannot be read: {}", errors.len()));
                return None;
            }
        };
        let before = self.problems.len();
        let mut components = Vec::new();
        for (index, text) in calls.iter().enumerate() {
            let path = format!("{path}/{index}");
            let call = match FunctionCall::parse(text) {
                Ok(call) => call,
                Err(error) => {
                    self.add(&path, error.to_string());
                    continue;
                }
            };
            match catalogue.resolve(&call) {
                Ok((function, _)) if obstacle(function).is_some() => {
                    let why = obstacle(function).unwrap_or_default();
                    self.add(&path, format!("`{}` cannot be used here: {why}", function.id));
                }
                Ok((function, knobs))
                    if function.application(&knobs).is_ok_and(|flags| !flags.is_empty()) =>
                {
                    self.add(
                        &path,
                        format!("`{}` cannot be used here: the application performs it", function.id),
                    );
                }
                Ok((function, knobs)) => {
                    components.push(Component { name: text.clone(), function: function.clone(), knobs });
                }
                Err(errors) => errors.iter().for_each(|error| self.add(&path, error.to_string())),
            }
        }
        if self.problems.len() > before {
            return None;
        }
        let composition = match Composition::new(components, FilterOrder::default()) {
            Ok(composition) => composition,
            Err(conflicts) => {
                for conflict in conflicts {
                    self.add(&format!("{path}/{}", conflict.index), conflict.to_string());
                }
                return None;
            }
        };
        match composition.render(&Context { directory: Path::new("/nowhere"), companion: None }) {
            Ok(fragment) => match unplaced(&fragment) {
                None => Some(fragment),
                Some(part) => {
                    self.add(
                        path,
                        format!("these functions set {part}, which a listener of this file has no place for"),
                    );
                    None
                }
            },
            Err(error) => {
                self.add(path, error.to_string());
                None
            }
        }
    }
}

/// The beginnings of the ids of functions that admit requests by keys of the lab.
const OF_LAB: [&str; 6] = ["api-key", "basic-auth", "check-token/", "jwt", "oauth2/", "plan-limit/"];

/// Why a function that a study measures is none for a listener in use.
fn obstacle(function: &Function) -> Option<&'static str> {
    if function.asks_companion {
        return Some("it calls a service of the lab");
    }
    if OF_LAB.iter().any(|beginning| function.id.starts_with(beginning)) {
        return Some("its keys are those of the lab, which everybody knows");
    }
    if function.fragment().contains("directory") {
        return Some("it needs files of the lab");
    }
    if function.secured != Secured::default() {
        return Some("it is about TLS, which `tls` and `encryption` state");
    }
    if !function.environment.is_empty() || function.workers.is_some() {
        return Some("it is set at the start of the process");
    }
    None
}

/// A part of a fragment that belongs to other listeners, to other clusters or to the process.
fn unplaced(fragment: &Fragment) -> Option<&'static str> {
    let parts = [
        ("routes", !fragment.routes.is_empty()),
        ("zones of servers", !fragment.origin_zones.is_empty()),
        ("clusters", !fragment.clusters.is_empty()),
        ("listeners", !fragment.listeners.is_empty()),
        ("the source of certificates", !fragment.certificate_source.is_empty()),
        ("QUIC", fragment.quic_downstream || fragment.quic_upstream),
        ("the process", !fragment.bootstrap.is_empty()),
        ("files", !fragment.files.is_empty()),
    ];
    parts.into_iter().find(|(_, is_there)| *is_there).map(|(part, _)| part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function whose requests carry something secret admits those who know it.
    #[test]
    fn functions_with_keys_of_the_lab_are_none_for_listeners() {
        let mut refused = 0;
        for function in Catalogue::load().unwrap().iter() {
            let headers = function.request.headers.keys().chain(function.request.own_headers.keys());
            let is_secret = |name: &String| {
                ["authorization", "cookie", "key", "token", "basic", "es256"]
                    .iter()
                    .any(|part| name.contains(part))
            };
            if headers.into_iter().any(is_secret) {
                assert!(obstacle(function).is_some(), "{}", function.id);
                refused += 1;
            }
        }
        assert!(refused > 5, "{refused}");
    }
}
