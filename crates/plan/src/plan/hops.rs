//! Resolves the proxies of an arm from its entry in the study file.

mod section;

use hoptax_bootstrap::request::{DerivedRequest, StatedRequest};
use hoptax_functions::{Catalogue, Component, Composition, FilterOrder, FunctionCall};
use hoptax_result::{AllProcessors, HopProcessors, counted};

use super::chain::{Chain, GATEWAY, Hop};
use super::given::{self, GivenConfig};
use super::{BASELINE, DIRECT, Placed, SAME, fragment};
use crate::configurations::Configurations;
use crate::file::{ChainEntry, HopEntry, HopSection, ProxyWord, TlsWord};

/// Names of the other ends of TLS connections, which no proxy may have.
const ENDS: [&str; 2] = [hoptax_subject::lab::GENERATOR, hoptax_subject::lab::ORIGIN];

/// The description of an arm without a proxy.
pub(super) const NO_PROXY: &str = "No proxy: the generator connects to the origin";

/// The proxies of an arm, and the functions of all of them.
#[derive(Clone)]
pub(super) struct Resolved {
    pub(super) chain: Chain,
    pub(super) functions: Composition,
    /// The request that goes through the first given configuration; none if no proxy has one.
    pub(super) request: Option<DerivedRequest>,
}

/// The proxies of an entry, whose place in the file is `pointer`.
///
/// # Errors
/// Every problem of the entry with its place: a name that means something else, a function that does not exist, functions
/// that cannot be combined, a configuration that cannot be used, and settings that a proxy does not support.
pub(super) fn resolve(
    entry: &ChainEntry,
    catalogue: &Catalogue,
    configurations: &Configurations,
    pointer: &str,
) -> Result<Resolved, Placed> {
    let mut problems = problems_of_name(&entry.name, catalogue, &format!("{pointer}/name"));
    problems.extend(problems_of_keys(entry, pointer));
    let mut hops = Vec::new();
    let mut request = None;
    let stated = entry.request.as_ref().map(StatedRequest::from).unwrap_or_default();
    let sections = sections(entry, pointer);
    if entry.request.is_some() && sections.iter().all(|one| one.section.config.is_none()) {
        let message = "`request` applies only to an arm with a `config`: remove it".to_owned();
        problems.push((format!("{pointer}/request"), message));
    }
    for PlacedSection { place, section } in &sections {
        let functions = functions(section, catalogue, place).unwrap_or_else(|found| {
            problems.extend(found);
            Composition::default()
        });
        problems.extend(section::problems(section, &functions, place));
        let found = given::resolve(section, &stated, configurations, place).unwrap_or_else(|found| {
            problems.extend(found);
            None
        });
        let (config, of_hop) = found.unzip();
        request = request.or(of_hop);
        hops.push(hop(section, functions, config));
    }
    problems.extend(problems_of_names(&hops, &sections));
    let tls = tls(&hops, &sections).unwrap_or_else(|found| {
        problems.extend(found);
        vec![None; hops.len() + 1]
    });
    problems.extend(problems_between(&hops, &sections));
    let functions = across(&hops, &sections).unwrap_or_else(|found| {
        problems.extend(found);
        Composition::default()
    });
    problems.extend(problems_of_clones(&hops, &tls, &sections));
    let (hops, tls) = with_clones(hops, tls, &sections);
    let chain = Chain::new(hops, tls);
    problems.extend(problems_beside_given(&chain, &sections));
    if problems.is_empty() { Ok(Resolved { chain, functions, request }) } else { Err(problems) }
}

/// The section of a proxy.
struct PlacedSection {
    /// Its place in the file.
    place: String,
    section: HopSection,
}

/// The sections of the proxies of an entry. The keys of an entry without `hops` are those of its only proxy.
fn sections(entry: &ChainEntry, pointer: &str) -> Vec<PlacedSection> {
    let Some(hops) = &entry.hops else {
        let section = HopSection {
            name: Some(GATEWAY.to_owned()),
            functions: entry.functions.clone(),
            order: entry.order,
            envoy: entry.envoy.clone(),
            flags: entry.flags.clone(),
            env: entry.env.clone(),
            ..HopSection::default()
        };
        return vec![PlacedSection { place: pointer.to_owned(), section }];
    };
    let section = |(index, hop): (usize, &HopEntry)| {
        let mut section = match hop {
            HopEntry::Name(name) => HopSection { name: Some(name.clone()), ..HopSection::default() },
            HopEntry::Hop(section) => (**section).clone(),
        };
        section.name.get_or_insert_with(|| format!("hop-{}", index + 1));
        PlacedSection { place: format!("{pointer}/hops/{index}"), section }
    };
    hops.iter().enumerate().map(section).collect()
}

pub(super) fn problems_of_name(name: &str, catalogue: &Catalogue, place: &str) -> Placed {
    let whose = if [BASELINE, DIRECT, SAME].contains(&name) {
        "an arm of hoptax"
    } else if catalogue.get(name).is_some() {
        "a function"
    } else {
        return Vec::new();
    };
    vec![(place.to_owned(), format!("`{name}` is the name of {whose}: choose another"))]
}

/// Problems of an entry with keys of a proxy beside `hops`, or without any key that describes its proxy.
fn problems_of_keys(entry: &ChainEntry, pointer: &str) -> Placed {
    let keys = [
        ("functions", !entry.functions.is_empty()),
        ("order", entry.order != FilterOrder::default()),
        ("envoy", entry.envoy.is_some()),
        ("flags", !entry.flags.is_empty()),
        ("env", !entry.env.is_empty()),
    ];
    let name = &entry.name;
    // `order` alone describes no proxy: it needs functions.
    let mut describing = keys.iter().filter(|(key, _)| *key != "order");
    if entry.hops.is_none() && entry.network.is_none() && !describing.any(|(_, is_set)| *is_set) {
        let message = format!(
            "`{name}` is a plain proxy: add `functions`, `envoy`, `flags`, `env`, `hops` or `network` to it, or write `{SAME}`"
        );
        return vec![(pointer.to_owned(), message)];
    }
    let misplaced = keys.into_iter().filter(|(_, is_set)| entry.hops.is_some() && *is_set);
    let message = |key: &str| format!("`{name}` has `hops` and `{key}`: write `{key}` at one of its proxies");
    misplaced.map(|(key, _)| (format!("{pointer}/{key}"), message(key))).collect()
}

/// The functions of a proxy.
fn functions(section: &HopSection, catalogue: &Catalogue, place: &str) -> Result<Composition, Placed> {
    let place = |index: usize| format!("{place}/functions/{index}");
    let mut problems = Vec::new();
    let mut components = Vec::new();
    for (index, text) in section.functions.iter().enumerate() {
        match component(text, catalogue) {
            Ok(component) => components.push((index, component)),
            Err(messages) => problems.extend(messages.into_iter().map(|message| (place(index), message))),
        }
    }
    let (indexes, components): (Vec<usize>, Vec<Component>) = components.into_iter().unzip();
    match Composition::new(components, section.order) {
        Ok(functions) if problems.is_empty() => Ok(functions),
        Ok(_) => Err(problems),
        Err(conflicts) => {
            problems.extend(conflicts.into_iter().map(|conflict| {
                let index = indexes.get(conflict.index).copied().unwrap_or_default();
                (place(index), format!("{conflict}; remove one of them, or write two arms"))
            }));
            Err(problems)
        }
    }
}

fn component(text: &str, catalogue: &Catalogue) -> Result<Component, Vec<String>> {
    let call = FunctionCall::parse(text).map_err(|error| vec![error.to_string()])?;
    let (function, knobs) = catalogue
        .resolve(&call)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    Ok(Component { name: call.to_string(), function: function.clone(), knobs })
}

fn hop(section: &HopSection, functions: Composition, given: Option<GivenConfig>) -> Hop {
    Hop {
        given,
        name: section.name.clone().unwrap_or_default(),
        proxy: section.proxy,
        functions,
        workers: section.workers.map(u64::from),
        envoy: section.envoy.clone(),
        flags: section.flags.clone(),
        environment: section.env.clone(),
        is_clone: false,
        processors: section.processors,
    }
}

/// Names that are not unique, or that are those of the ends.
fn problems_of_names(hops: &[Hop], sections: &[PlacedSection]) -> Placed {
    let problem = |(index, (hop, PlacedSection { place, .. })): (usize, (&Hop, &PlacedSection))| {
        let name = &hop.name;
        let is_valid = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let message = if !name.chars().all(is_valid) || !name.starts_with(|c: char| c.is_ascii_alphanumeric())
        {
            format!("a proxy's name must consist of letters, digits, `-`, `_` and `.`, not `{name}`")
        } else if ENDS.contains(&name.as_str()) {
            format!("`{name}` is the name of an end of the chain: choose another")
        } else if hops.iter().take(index).any(|earlier| earlier.name == *name) {
            format!("duplicate proxy `{name}`: give each proxy of an arm its own name")
        } else {
            return None;
        };
        Some((place.clone(), message))
    };
    hops.iter().zip(sections).enumerate().filter_map(problem).collect()
}

/// TLS that the sections state, of each connection.
fn tls(hops: &[Hop], sections: &[PlacedSection]) -> Result<Vec<Option<TlsWord>>, Placed> {
    let mut problems = Vec::new();
    let mut stated = Vec::new();
    for number in 0..=hops.len() {
        let before =
            number.checked_sub(1).and_then(|before| Some((hops.get(before)?, sections.get(before)?)));
        let behind = hops.get(number).zip(sections.get(number));
        let of_before = before.and_then(|(_, one)| one.section.tls.upstream);
        let of_behind = behind.and_then(|(_, one)| one.section.tls.downstream);
        if let (Some((first, _)), Some((second, PlacedSection { place, .. })), Some(one), Some(other)) =
            (before, behind, of_before, of_behind)
            && one != other
        {
            let (first, second) = (&first.name, &second.name);
            let (one, other) = (one.as_str(), other.as_str());
            let message = format!(
                "`{first}` connects to `{second}` with `{one}`, and `{second}` accepts `{other}`: write the same at both"
            );
            problems.push((format!("{place}/tls/downstream"), message));
        }
        let word = of_before.or(of_behind);
        let by_functions = [
            before.and_then(|(hop, one)| hop.functions.secured().upstream.map(|_| (hop, &one.place))),
            behind.and_then(|(hop, one)| hop.functions.secured().downstream.map(|_| (hop, &one.place))),
        ];
        let by_functions: Vec<(&Hop, &String)> = by_functions.into_iter().flatten().collect();
        if let Some((hop, place)) = by_functions.first().filter(|_| word.is_some()) {
            let message = format!(
                "a function of `{}` sets up TLS of this connection itself: remove one of the two",
                hop.name
            );
            problems.push((format!("{place}/tls"), message));
        }
        if let [(first, _), (second, place)] = by_functions.as_slice()
            && first.functions.secured().upstream != second.functions.secured().downstream
        {
            let message = format!(
                "functions of `{}` and `{}` set up TLS of their connection in different ways: remove one of them",
                first.name, second.name
            );
            problems.push((format!("{place}/functions"), message));
        }
        stated.push(word);
    }
    if problems.is_empty() { Ok(stated) } else { Err(problems) }
}

/// Returns the problems of a proxy that depend on its place in the chain.
fn problems_between(hops: &[Hop], sections: &[PlacedSection]) -> Placed {
    let mut problems = Vec::new();
    for (hop, PlacedSection { place, .. }) in hops.iter().zip(sections).rev().skip(1) {
        let distributing = hop.functions.components().iter().enumerate();
        for (index, component) in distributing.filter(|(_, component)| component.function.upstreams > 1) {
            let message = format!(
                "`{}` distributes requests over {} origins: move it to the last proxy",
                component.name, component.function.upstreams
            );
            problems.push((format!("{place}/functions/{index}"), message));
        }
    }
    let each = hops.iter().zip(sections);
    for ((before, section_before), (behind, section_behind)) in each.clone().zip(each.skip(1)) {
        let (before_name, behind_name) = (&before.name, &behind.name);
        match (fragment(before).quic_upstream, fragment(behind).quic_downstream) {
            (true, false) => {
                let message = format!(
                    "a function of `{before_name}` forwards requests over HTTP/3, which `{behind_name}` does not accept: \
                     move it to the last proxy"
                );
                problems.push((format!("{}/functions", section_before.place), message));
            }
            (false, true) => {
                let message = format!(
                    "a function of `{behind_name}` accepts requests over HTTP/3 only, which `{before_name}` does not send: \
                     move it to the first proxy"
                );
                problems.push((format!("{}/functions", section_behind.place), message));
            }
            _ => {}
        }
    }
    problems
}

/// Clones of a proxy that has none, or that cannot have any.
fn problems_of_clones(hops: &[Hop], tls: &[Option<TlsWord>], sections: &[PlacedSection]) -> Placed {
    let mut problems = Vec::new();
    for (number, (hop, PlacedSection { place, section })) in hops.iter().zip(sections).enumerate() {
        if section.clones.unwrap_or(1) < 2 {
            continue;
        }
        let name = &hop.name;
        let is_taken = |clone: String| hops.iter().any(|other| other.name == clone);
        let lacks = [
            (
                clone_names(name, section).any(is_taken),
                "another proxy has the name of one of them: rename it",
            ),
            (number + 1 < hops.len(), "is not the last proxy: move it to the end"),
            (number == 0, "has no proxy before it that distributes requests: add one"),
            (tls.iter().any(Option::is_some), "does not support TLS in its arm: remove `tls`"),
            (section.config.is_some(), "has a `config`: remove one of the two"),
            (
                hop.functions.upstreams() > 1,
                "has a function that distributes requests itself: remove one of the two",
            ),
        ];
        let lacks = lacks.into_iter().filter(|(is_lacking, _)| *is_lacking);
        problems.extend(
            lacks.map(|(_, why)| (format!("{place}/clones"), format!("`{name}` has `clones` and {why}"))),
        );
    }
    problems
}

/// The names of the clones of the proxy `name`.
fn clone_names(name: &str, section: &HopSection) -> impl Iterator<Item = String> {
    (2..=section.clones.unwrap_or(1)).map(move |number| format!("{name}-{number}"))
}

/// The proxies with their clones, which are named `NAME-2`, `NAME-3` and so on, and TLS of their connections, of which clones have none.
fn with_clones(
    hops: Vec<Hop>,
    mut tls: Vec<Option<TlsWord>>,
    sections: &[PlacedSection],
) -> (Vec<Hop>, Vec<Option<TlsWord>>) {
    let mut all = Vec::new();
    for (hop, PlacedSection { section, .. }) in hops.into_iter().zip(sections) {
        let clone = |name: String| Hop { name, is_clone: true, ..hop.clone() };
        let clones: Vec<Hop> = clone_names(&hop.name, section).map(clone).collect();
        all.push(hop);
        all.extend(clones);
    }
    tls.resize(all.len() + 1, None);
    (all, tls)
}

/// TLS between a proxy with a given configuration and another proxy, of which neither knows the other's certificates.
fn problems_beside_given(chain: &Chain, sections: &[PlacedSection]) -> Placed {
    let tls = chain.tls();
    let last = chain.hops.len().saturating_sub(1);
    let is_given = |hop: usize| chain.hops.get(hop).is_some_and(|hop| hop.given.is_some());
    // Of the connections between two proxies.
    let secured = (1..=last).filter(|number| tls.get(*number).copied().flatten().is_some());
    let beside = secured.filter(|number| is_given(*number) || is_given(number - 1));
    let problem = |number: usize| {
        let place = &sections.get(number)?.place;
        let [before, behind] = [number - 1, number].map(|hop| chain.hops.get(hop).map(|hop| &hop.name));
        let message = format!(
            "`{}` and `{}` cannot use TLS with each other, because one of them has a `config` with its own certificates: \
             remove TLS from the other and with `without` from the configuration",
            before?, behind?
        );
        Some((place.clone(), message))
    };
    beside.filter_map(problem).collect()
}

/// The functions of all proxies.
fn across(hops: &[Hop], sections: &[PlacedSection]) -> Result<Composition, Placed> {
    let each: Vec<&Composition> = hops.iter().map(|hop| &hop.functions).collect();
    Composition::across(&each).map_err(|conflicts| {
        // The places of all functions, in the order of the indexes of conflicts.
        let places: Vec<String> = hops
            .iter()
            .zip(sections)
            .flat_map(|(hop, PlacedSection { place, .. })| {
                (0..hop.functions.components().len()).map(move |index| format!("{place}/functions/{index}"))
            })
            .collect();
        let placed = |conflict: &hoptax_functions::Conflict| {
            let place = places.get(conflict.index).cloned().unwrap_or_default();
            (place, format!("{conflict}; remove one of them, or write two arms"))
        };
        conflicts.iter().map(placed).collect()
    })
}

/// A one-line description of an entry.
pub(super) fn summary(entry: &ChainEntry) -> String {
    match sections(entry, "").as_slice() {
        [] => NO_PROXY.to_owned(),
        [one] => in_words(&one.section, "One proxy"),
        several => {
            let name = |section: &HopSection| section.name.clone().unwrap_or_default();
            let described = several
                .iter()
                .map(|one| format!("`{}`, {}", name(&one.section), in_words(&one.section, "Envoy")));
            format!("{} proxies: {}", several.len(), described.collect::<Vec<_>>().join("; "))
        }
    }
}

/// The software and the properties of a proxy; `usual` stands for the usual software.
fn in_words(section: &HopSection, usual: &str) -> String {
    let mut parts = Vec::new();
    if !section.functions.is_empty() {
        let order = match section.order {
            FilterOrder::Recommended => "",
            FilterOrder::AsWritten => ", HTTP filters as written",
        };
        parts.push(format!("`{}`{order}", section.functions.join("`, `")));
    }
    parts.extend(section.config.as_ref().map(|config| {
        let nodes = |count: usize| Some(counted(count as u64, "node")).filter(|_| count > 0);
        let less = nodes(section.without.len()).map(|nodes| format!(" less {nodes}")).unwrap_or_default();
        let replaced = nodes(section.replace.len()).map(|nodes| format!(", {nodes} replaced"));
        let replaced = replaced.unwrap_or_default();
        format!("`{config}`{less}{replaced}")
    }));
    parts.extend(section.clones.map(|number| format!("{number} clones")));
    parts.extend(section.processors.map(|processors| match processors {
        HopProcessors::Number(number) => counted(number.into(), "processor"),
        HopProcessors::Word(AllProcessors::All) => "all processors".to_owned(),
    }));
    parts.extend(section.workers.map(|number| counted(number.into(), "worker")));
    parts.extend((!section.flags.is_empty()).then(|| format!("flags `{}`", section.flags.join(" "))));
    parts.extend(section.env.iter().map(|(name, value)| {
        // It is printed in every report.
        if hoptax_text::secrets::is_name(name) {
            format!("`{name}` (not shown)")
        } else {
            format!("`{name}={value}`")
        }
    }));
    let program = match (section.proxy, &section.envoy) {
        (ProxyWord::Envoy, None) => usual.to_owned(),
        (ProxyWord::Envoy, Some(envoy)) => format!("Envoy {envoy}"),
        (other, _) => other.as_str().to_owned(),
    };
    if parts.is_empty() { program } else { format!("{program} with {}", parts.join(", ")) }
}
