//! The listeners that can be priced, each with its request and the parts that the request passes.

use hoptax_bootstrap::parts::{Part, PartKind, parts, with_joined_tags};
use hoptax_bootstrap::request::{DerivedRequest, RequestLine, StatedRequest, stated};
use hoptax_bootstrap::{Adapted, Listener, Problem};
use hoptax_functions::Catalogue;

use super::PriceSettings;
use super::named::{NameError, named};
use crate::failure::Failure;

/// A listener with its request and the parts that the request passes.
#[derive(Clone, Debug)]
pub(super) struct Passed {
    /// The listener.
    pub(super) listener: Listener,
    /// Its request, or why it has none.
    pub(super) request: Result<DerivedRequest, Problem>,
    /// The parts.
    pub(super) parts: Vec<Part>,
}

/// The listeners of a configuration that can be priced.
pub struct Listed {
    /// Each with its request and its parts.
    pub(super) listeners: Vec<Passed>,
    pub(super) adapted: Adapted,
}

impl Listed {
    /// The largest number of parts that any listener has.
    pub fn most_parts(&self) -> usize {
        self.listeners.iter().map(|one| one.parts.len()).max().unwrap_or_default()
    }
}

/// The requested listener of an adapted configuration, or all of them, with the requested parts.
pub(super) fn listed(
    adapted: Adapted,
    settings: &PriceSettings<'_>,
    catalogue: &Catalogue,
) -> Result<Listed, Failure> {
    let headers = headers(settings, catalogue)?;
    if adapted.listeners.is_empty() {
        return Err(Failure::bad_input(format!(
            "`{}` has no listener, so no request goes through it: give the bootstrap of a proxy with one, or the dump of the \
             running proxy, `curl 'http://ADMIN/config_dump?include_eds'`",
            settings.configuration.display()
        )));
    }
    let meant = adapted.named_listeners(settings.listener).map_err(Failure::bad_input)?;
    let mut listeners: Vec<Passed> =
        meant.iter().map(|one| passed_of(&adapted, one, settings, &headers)).collect();
    for one in &mut listeners {
        let parts = std::mem::take(&mut one.parts);
        one.parts = with_joined_tags(parts, most_tags(settings.without));
    }
    if !settings.without.is_empty() {
        keep(&mut listeners, settings.without, catalogue)?;
    }
    Ok(Listed { listeners, adapted })
}

/// The headers of the request: first those that replacing functions need, then the user's own.
fn headers(settings: &PriceSettings<'_>, catalogue: &Catalogue) -> Result<Vec<(String, String)>, Failure> {
    let of_each = settings.what_if.iter().map(|change| change.headers(catalogue));
    let all = of_each.collect::<Result<Vec<_>, String>>().map_err(Failure::bad_input)?;
    Ok(all.into_iter().flatten().chain(settings.headers.iter().cloned()).collect())
}

/// Maximum number of statistics tags that count as separate parts, unless parts are named. Each part needs a proxy, and some control planes
/// send dozens of tags. If there are more, all of them are one part.
const MOST_TAGS: usize = 4;
/// The name of the part with all tags.
const ALL_TAGS: &str = "stats_tags";

/// Returns how many statistics tags may count as separate parts.
fn most_tags(without: &[String]) -> usize {
    let is_all =
        |name: &String| name == ALL_TAGS || *name == format!("{} {ALL_TAGS}", PartKind::StatisticsTags);
    match without {
        [] => MOST_TAGS,
        _ if without.iter().any(is_all) => 0,
        _ => usize::MAX,
    }
}

/// Keeps the named parts. A listener need not have a part of each name.
fn keep(all: &mut [Passed], names: &[String], catalogue: &Catalogue) -> Result<(), Failure> {
    let mut kept: Vec<Vec<Part>> = vec![Vec::new(); all.len()];
    let mut problems = Vec::new();
    for name in names {
        let found: Vec<Result<&Part, NameError>> =
            all.iter().map(|one| named(name, &one.parts.iter().collect::<Vec<_>>(), catalogue)).collect();
        let errors = || found.iter().filter_map(|one| one.as_ref().err());
        let ambiguous = errors().find(|error| matches!(error, NameError::Several { .. })).cloned();
        let is_nowhere = errors().count() == found.len();
        // The error lists the names of all listeners.
        let everywhere: Vec<&Part> = all.iter().flat_map(|one| &one.parts).collect();
        let unknown = || is_nowhere.then(|| named(name, &everywhere, catalogue).err()).flatten();
        problems.extend(ambiguous.or_else(unknown).map(|error| format!("--without: {error}")));
        for (kept, part) in kept.iter_mut().zip(found) {
            kept.extend(part.ok().filter(|part| !kept.contains(part)).cloned());
        }
    }
    if !problems.is_empty() {
        return Err(Failure::bad_input(problems.join("\n")));
    }
    for (one, kept) in all.iter_mut().zip(kept) {
        one.parts.retain(|part| kept.contains(part));
    }
    Ok(())
}

fn passed_of(
    adapted: &Adapted,
    listener: &Listener,
    settings: &PriceSettings<'_>,
    headers: &[(String, String)],
) -> Passed {
    let request = request(adapted, listener, settings.request, headers);
    let parts = request.as_ref().map(|request| parts(adapted, listener, request)).unwrap_or_default();
    Passed { listener: listener.clone(), request, parts }
}

fn request(
    adapted: &Adapted,
    listener: &Listener,
    line: Option<&RequestLine>,
    headers: &[(String, String)],
) -> Result<DerivedRequest, Problem> {
    let of_line = line.map(|line| line.request.clone()).unwrap_or_default();
    let request = stated(adapted, listener, &StatedRequest { headers: headers.to_vec(), ..of_line })?;
    match line {
        Some(line) if line.is_tls != request.tls.is_some() => {
            let (scheme, other) = if line.is_tls { ("https", "http") } else { ("http", "https") };
            let message = format!("the request is for {scheme}, but this listener accepts {other}");
            Err(Problem { place: adapted.place(&listener.pointer), message })
        }
        _ => Ok(request),
    }
}
