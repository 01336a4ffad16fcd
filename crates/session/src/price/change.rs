//! Changes of a configuration that are measured beside the whole, `FROM -> TO`: a part is removed or replaced by a function of the
//! catalogue, or Envoy is replaced by another release.
//!
//! A function can replace a part if it consists of a single HTTP filter or access log, like the part. Functions with other elements
//! (routes, clusters, services, code, process settings) are refused: they would change the configuration in other places, which depend on
//! the user's configuration.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

use hoptax_bootstrap::parts::{Part, PartKind};
use hoptax_bootstrap::request::DerivedRequest;
use hoptax_functions::{Catalogue, Context, Fragment, Function, FunctionCall, Knobs};
use serde_json::{Map, Value};

use crate::price::arm::Arm;
use crate::price::named::{NameError, named};

/// The replacement that removes a part.
const NOTHING: &str = "nothing";
/// The name that stands for the proxy's program as the part to replace.
const ENVOY: &str = "envoy";
/// The prefix of statistics of the catalogue's connection manager.
const CATALOGUE_PREFIX: &str = "http.ingress.";

/// A change as the user states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    from: String,
    to: String,
}

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (from, to) = text.split_once("->").unwrap_or_default();
        let (from, to) = (from.trim().to_owned(), to.trim().to_owned());
        if from.is_empty() || to.is_empty() {
            return Err(
                "write `FROM -> TO`, a part and a function: `jwt -> lua`; `nothing` as TO removes the part; `envoy -> 1.39.3` changes the \
                 release"
                    .to_owned(),
            );
        }
        Ok(Self { from, to })
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} -> {}", self.from, self.to)
    }
}

/// A change as an arm.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Changed {
    /// The arm.
    pub(crate) arm: Arm,
    /// Statistics of Envoy. At least one of them moves if the replacement of the part acts; `*` is a wildcard.
    pub(crate) proof: Vec<String>,
}

/// A function of the catalogue that replaces a part.
struct Substitute {
    node: Map<String, Value>,
    proof: Vec<String>,
}

impl Change {
    /// The headers that a replacing function needs. Every arm gets them, so that the arms differ only in the part.
    ///
    /// # Errors
    /// When there is no such function.
    pub(crate) fn headers(&self, catalogue: &Catalogue) -> Result<BTreeMap<String, String>, String> {
        if self.from == ENVOY || self.to == NOTHING {
            return Ok(BTreeMap::new());
        }
        let (function, _) = self.function(catalogue)?;
        Ok(function.request.headers.clone())
    }

    /// The arm with this change. `parts` are the parts of the configuration, each with the arm without it; `number` distinguishes
    /// changes.
    ///
    /// # Errors
    /// When the change names no part, or no replacement is possible, with the reason.
    pub(crate) fn arm(
        &self,
        parts: &[(&Part, &Arm)],
        request: &DerivedRequest,
        catalogue: &Catalogue,
        number: usize,
    ) -> Result<Changed, String> {
        let whole = Arm { id: format!("what-if-{number}"), ..Arm::whole(request) };
        if self.from == ENVOY {
            let arm = Arm { envoy: Some(self.to.clone()), ..whole };
            return Ok(Changed { arm, proof: Vec::new() });
        }
        let (part, without) = self.part(parts, catalogue)?;
        if self.to == NOTHING {
            return Ok(Changed { arm: without.clone(), proof: Vec::new() });
        }
        let Substitute { node, proof } = self.substitute(part.kind, catalogue)?;
        let pointer = part.pointers.first().cloned().unwrap_or_default();
        let replaced = BTreeMap::from([(pointer, Value::Object(node))]);
        Ok(Changed { arm: Arm { replaced, ..whole }, proof })
    }

    /// The part that the change names.
    fn part<'p>(
        &self,
        parts: &[(&'p Part, &'p Arm)],
        catalogue: &Catalogue,
    ) -> Result<(&'p Part, &'p Arm), String> {
        let all: Vec<&Part> = parts.iter().map(|(part, _)| *part).collect();
        let meant = named(&self.from, &all, catalogue).map_err(|error| match error {
            NameError::None { .. } => format!("{error}; `{ENVOY}` means its release"),
            NameError::Several { .. } => error.to_string(),
        })?;
        let found = parts.iter().find(|(part, _)| std::ptr::eq(*part, meant));
        found.copied().ok_or_else(|| format!("no part `{}`", self.from))
    }

    fn function<'c>(&self, catalogue: &'c Catalogue) -> Result<(&'c Function, Knobs), String> {
        let call = FunctionCall::parse(&self.to).map_err(|error| error.to_string())?;
        catalogue.resolve(&call).map_err(|errors| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            format!("{}; `{NOTHING}` removes the part", errors.join("; "))
        })
    }

    fn substitute(&self, kind: PartKind, catalogue: &Catalogue) -> Result<Substitute, String> {
        let (function, knobs) = self.function(catalogue)?;
        let refused = |why: &str| Err(format!("`{}` cannot replace a part: {why}", function.id));
        // Paths in the fragment are treated like those of a given configuration: adaptation replaces them.
        let context = Context { directory: Path::new("/"), companion: None };
        let mut fragment = function.render(&knobs, &context).map_err(|error| error.to_string())?;
        let request = &function.request;
        if function.asks_companion {
            return refused("it calls a service for which the configuration has no cluster");
        }
        if !fragment.files.is_empty() {
            return refused("it loads code of hoptax that the configuration does not name");
        }
        if request.body.is_some() || request.body_base64.is_some() || request.query.is_some() {
            return refused("it needs another request than the configuration's own");
        }
        if !request.own_headers.is_empty() || !function.environment.is_empty() || function.workers.is_some() {
            return refused("it changes the process or the request, not only the part");
        }
        let nodes = match kind {
            PartKind::HttpFilter => std::mem::take(&mut fragment.http_filters),
            PartKind::AccessLog => std::mem::take(&mut fragment.access_log),
            other => {
                return Err(format!(
                    "no function can replace `{}`: functions replace HTTP filters and access logs, but this part is of the kind `{other}`; \
                     `{NOTHING}` removes it",
                    self.from
                ));
            }
        };
        let is_all =
            fragment == Fragment::default() && function.secured == hoptax_functions::Secured::default();
        let Ok([node]) = <[Map<String, Value>; 1]>::try_from(nodes) else {
            return refused(&format!("it is not a single {kind} like `{}`", self.from));
        };
        if !is_all {
            return refused("it also changes routes, clusters or other settings");
        }
        let proofs = function.proofs(&knobs).map_err(|error| error.to_string())?;
        let proof = proofs.into_iter().map(|proof| match proof.name.strip_prefix(CATALOGUE_PREFIX) {
            Some(rest) => format!("http.*.{rest}"),
            None => proof.name,
        });
        Ok(Substitute { node, proof: proof.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::price::arm::tests::part;

    fn changed(text: &str) -> Result<Changed, String> {
        let parts = [
            part(PartKind::HttpFilter, "envoy.filters.http.jwt_authn"),
            part(PartKind::AccessLog, "to-file"),
            part(PartKind::Tracer, "zipkin"),
        ];
        let request = DerivedRequest::default();
        let arms = Arm::of_parts(&parts, &request);
        let parts: Vec<(&Part, &Arm)> = parts.iter().zip(&arms).collect();
        let change: Change = text.parse()?;
        change.arm(&parts, &request, Catalogue::load().unwrap(), 1)
    }

    #[test]
    fn a_filter_or_a_log_of_the_catalogue_stands_for_one_of_the_configuration() {
        let filter = changed("jwt_authn -> add-header/lua").unwrap();
        let (pointer, node) = filter.arm.replaced.first_key_value().unwrap();
        assert_eq!(pointer, "/HTTP filter/envoy.filters.http.jwt_authn");
        assert_eq!(node["name"], "envoy.filters.http.lua");
        assert_eq!(filter.proof, ["http.*.lua.add_header.executions"]);
        assert!(filter.arm.removed.is_empty());
        let log = changed("to-file -> access-log/file{fields=3}").unwrap();
        let node = log.arm.replaced.values().next().unwrap();
        assert_eq!(node["name"], "envoy.access_loggers.file");
    }

    #[test]
    fn a_part_can_be_removed_and_the_release_changed() {
        let removed = changed("to-file -> nothing").unwrap().arm;
        assert_eq!((removed.id.as_str(), removed.removed.len()), ("no-to-file", 1));
        let release = changed("envoy -> 1.39.3").unwrap().arm;
        assert_eq!((release.envoy.as_deref(), release.removed.len()), (Some("1.39.3"), 0));
    }

    #[test]
    fn what_cannot_stand_for_a_part_is_refused_with_the_reason() {
        for (change, reason) in [
            ("jwt_auth -> add-header/lua", "did you mean `jwt_authn`"),
            ("jwt_authn -> add-header/lu", "`add-header/lua`"),
            ("jwt_authn -> access-log/file", "it is not a single HTTP filter"),
            ("jwt_authn -> ext-authz/grpc", "it calls a service"),
            ("jwt_authn -> add-header/wasm", "it loads code of hoptax"),
            ("jwt_authn -> cors", "it also changes routes"),
            ("jwt_authn -> rewrite-json/lua", "it needs another request"),
            ("zipkin -> add-header/lua", "functions replace HTTP filters and access logs"),
            ("jwt_authn", "write `FROM -> TO`"),
            ("-> lua", "write `FROM -> TO`"),
        ] {
            let error = changed(change).unwrap_err();
            assert!(error.contains(reason), "{change}: {error}");
        }
    }
}
