//! Proxies with a configuration of the user: the nodes of it that run, and the request that goes through it.

use std::collections::BTreeMap;

use hoptax_bootstrap::request::{DerivedRequest, RequestTls, StatedRequest, stated, tls_of};
use hoptax_bootstrap::{Adapted, Listener, leads_to, statistics};
use hoptax_functions::{FilterOrder, Tls};
use serde_json::Value;

use super::Placed;
use crate::configurations::{COMPANION, Configurations};
use crate::file::{HopSection, ProxyWord, RequestSection};

/// A given configuration as a proxy runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenConfig {
    /// Its path, as in the study file.
    pub path: String,
    /// The listener to which requests are sent.
    pub listener: String,
    /// The nodes that are removed from it, by their JSON pointers.
    pub without: Vec<String>,
    /// The nodes that it has instead of others, by their JSON pointers.
    pub replaced: BTreeMap<String, Value>,
    /// TLS of the connections that the listener accepts.
    pub downstream: Option<Tls>,
    /// The statistic that every request moves; none if there is none.
    pub proof: Option<String>,
    /// True if it calls an external service, for which the companion stands in.
    pub asks_companion: bool,
}

impl From<&RequestSection> for StatedRequest {
    fn from(section: &RequestSection) -> Self {
        Self {
            method: section.method.clone(),
            host: section.host.clone(),
            path: section.path.clone(),
            headers: section.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        }
    }
}

/// The configuration of a proxy whose section, at `place` in the file, names one, and the request that goes through it.
///
/// # Errors
/// Every problem with its place: of the configuration, of the name of a listener, of a pointer.
pub(super) fn resolve(
    section: &HopSection,
    request: &StatedRequest,
    configurations: &Configurations,
    place: &str,
) -> Result<Option<(GivenConfig, DerivedRequest)>, Placed> {
    let mut problems = misplaced_keys(section, place);
    let Some(path) = &section.config else {
        return if problems.is_empty() { Ok(None) } else { Err(problems) };
    };
    let configuration = configurations.get(path).map_err(|why| {
        problems.push((format!("{place}/config"), why));
        std::mem::take(&mut problems)
    })?;
    let mut adapted = configuration.adapted_with(&section.replace).map_err(|why| {
        problems.push((format!("{place}/replace"), format!("`{path}`: {why}")));
        std::mem::take(&mut problems)
    })?;
    for (index, pointer) in section.without.iter().enumerate().filter(|(_, one)| !adapted.has(one)) {
        let message = format!(
            "`{path}` has no node `{pointer}`: write a JSON pointer such as `/static_resources/listeners/0`"
        );
        problems.push((format!("{place}/without/{index}"), message));
    }
    let found =
        listener_with_request(&adapted, section.listener.as_deref(), request).map_err(|(key, why)| {
            problems.push((format!("{place}/{key}"), format!("`{path}`: {why}")));
            std::mem::take(&mut problems)
        })?;
    if !problems.is_empty() {
        return Err(problems);
    }
    let (listener, mut request) = found;
    // Requests are those of the whole configuration, so that a part is measured with the requests that it acts on. Only their TLS
    // follows from the nodes that remain.
    adapted.remove(&section.without);
    // Extensions that this Envoy lacks are removed by `without`.
    adapted
        .check_extensions()
        .map_err(|problems| vec![(format!("{place}/config"), format!("`{path}`: {problems}"))])?;
    request.tls = tls_of(&adapted, &request);
    let config = GivenConfig {
        path: path.clone(),
        listener: listener.name,
        without: section.without.clone(),
        replaced: section.replace.clone(),
        downstream: request.tls.as_ref().map(security),
        proof: statistics::of_requests(&adapted, &request),
        asks_companion: leads_to(&adapted.bootstrap(), COMPANION),
    };
    Ok(Some((config, request)))
}

fn security(tls: &RequestTls) -> Tls {
    if tls.presents_certificate { Tls::Mtls } else { Tls::Tls }
}

/// The listener `wanted`, or the first that forwards a request, or else the first that answers one; with that request.
///
/// # Errors
/// The reason why no listener has a request, with the key of the study file that it concerns.
pub fn listener_with_request(
    adapted: &Adapted,
    wanted: Option<&str>,
    request: &StatedRequest,
) -> Result<(Listener, DerivedRequest), (&'static str, String)> {
    let meant = adapted.named_listeners(wanted).map_err(|problem| ("listener", problem))?;
    let (mut answered, mut reasons) = (None, Vec::new());
    for listener in meant {
        match stated(adapted, listener, request) {
            Ok(request) if request.is_forwarded() => return Ok((listener.clone(), request)),
            Ok(request) => answered = answered.or(Some((listener.clone(), request))),
            Err(problem) => reasons.push(format!("{}: {}", problem.place, problem.message)),
        }
    }
    if let Some(answered) = answered {
        return Ok(answered);
    }
    let advice = if reasons.is_empty() { "it has no listener" } else { "; state the `request` of the arm" };
    Err(("config", format!("{}{advice}", reasons.join("; "))))
}

/// Keys that cannot be combined with `config`, and keys that need it.
fn misplaced_keys(section: &HopSection, place: &str) -> Placed {
    let (keys, why): (Vec<(&str, bool)>, &str) = if section.config.is_some() {
        (
            vec![
                ("functions", !section.functions.is_empty()),
                ("order", section.order != FilterOrder::default()),
                ("tls", !section.tls.is_empty()),
                ("proxy", section.proxy != ProxyWord::Envoy),
            ],
            "cannot be combined with `config`, which describes the whole proxy",
        )
    } else {
        (
            vec![
                ("listener", section.listener.is_some()),
                ("without", !section.without.is_empty()),
                ("replace", !section.replace.is_empty()),
            ],
            "applies only to a proxy with a `config`",
        )
    };
    let misplaced = keys.into_iter().filter(|(_, is_set)| *is_set);
    misplaced.map(|(key, _)| (format!("{place}/{key}"), format!("`{key}` {why}: remove it"))).collect()
}
