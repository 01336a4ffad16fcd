//! The listeners that a bill may be about, each with its request and the parts that the request passes.

use hoptax_bootstrap::parts::{Part, parts};
use hoptax_bootstrap::request::{DerivedRequest, StatedRequest, stated};
use hoptax_bootstrap::{Adapted, Listener, Problem};
use hoptax_nearest::hint;

use crate::arguments::PriceArguments;
use crate::exit::Failure;

/// A listener with its request and the parts that the request passes.
pub(super) struct Passed {
    pub(super) listener: Listener,
    pub(super) request: Result<DerivedRequest, Problem>,
    pub(super) parts: Vec<Part>,
}

/// The listeners, or the one that is asked for, with the parts that are asked for. `headers` are those of the request, before
/// the user's own.
pub(super) fn passed(
    adapted: &Adapted,
    arguments: &PriceArguments,
    headers: &[(String, String)],
) -> Result<Vec<Passed>, Failure> {
    let names: Vec<&str> = adapted.listeners.iter().map(|listener| listener.name.as_str()).collect();
    if let Some(wanted) = &arguments.listener {
        known("listener", wanted, &names)?;
    }
    let is_meant =
        |listener: &&Listener| arguments.listener.as_ref().is_none_or(|wanted| listener.name == *wanted);
    let mut all: Vec<Passed> =
        adapted.listeners.iter().filter(is_meant).map(|one| of(adapted, one, arguments, headers)).collect();
    let parts: Vec<&str> = all.iter().flat_map(|one| &one.parts).map(|part| part.name.as_str()).collect();
    for wanted in &arguments.without {
        known("part", wanted, &parts)?;
    }
    if !arguments.without.is_empty() {
        for one in &mut all {
            one.parts.retain(|part| arguments.without.contains(&part.name));
        }
    }
    Ok(all)
}

fn of(
    adapted: &Adapted,
    listener: &Listener,
    arguments: &PriceArguments,
    headers: &[(String, String)],
) -> Passed {
    let request = request(adapted, listener, arguments, headers);
    let parts = request.as_ref().map(|request| parts(adapted, listener, request)).unwrap_or_default();
    Passed { listener: listener.clone(), request, parts }
}

fn request(
    adapted: &Adapted,
    listener: &Listener,
    arguments: &PriceArguments,
    headers: &[(String, String)],
) -> Result<DerivedRequest, Problem> {
    let own = arguments.headers.iter().flat_map(|headers| headers.0.clone());
    let headers = headers.iter().cloned().chain(own).collect();
    let of_line = arguments.request.clone().map(|line| line.request).unwrap_or_default();
    let request = stated(adapted, listener, &StatedRequest { headers, ..of_line })?;
    match &arguments.request {
        Some(line) if line.is_tls != request.tls.is_some() => {
            let (scheme, other) = if line.is_tls { ("https", "http") } else { ("http", "https") };
            let message = format!("the request is for {scheme}, and this listener takes {other}");
            Err(Problem { place: adapted.place(&listener.pointer), message })
        }
        _ => Ok(request),
    }
}

/// That `wanted` is one of `names`.
fn known(what: &str, wanted: &str, names: &[&str]) -> Result<(), Failure> {
    if names.contains(&wanted) {
        return Ok(());
    }
    let hint = hint(wanted, names.iter().copied());
    Err(Failure::bad_input(format!("no {what} `{wanted}`{hint}; {what}s: `{}`", names.join("`, `"))))
}
