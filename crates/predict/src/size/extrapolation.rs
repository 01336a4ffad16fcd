//! Extrapolations of a prediction beyond the measurements, and their assumptions.

use std::collections::BTreeSet;

use hoptax_result::{SizedProxy, grouped, percent};

use crate::size::arms::plain_traffic;
use crate::size::busy::{Placement, Processors};
use crate::size::learn::Source;
use crate::size::measured_at::{MeasuredAt, apart};
use crate::size::proxy::Proxy;

/// Each extrapolation in a sentence.
pub(crate) fn extrapolations(
    proxies: &[Proxy<'_>],
    sized: &[SizedProxy],
    placement: &Placement<'_>,
    sources: &[Source<'_>],
) -> Vec<String> {
    let mut found: Vec<String> = shared_processors(proxies, sized, placement, sources);
    for (proxy, sized) in proxies.iter().zip(sized) {
        found.extend(too_few_workers(sized));
        found.extend(outside_of_curves(proxy, sized));
        found.extend(between_sizes(proxy));
        found.extend(connections(proxy, sources));
        found.extend(proxy.items.extrapolations(&proxy.service.name));
    }
    found.extend(workers(proxies, sources));
    found.extend(composed(proxies));
    for proxy in proxies {
        for sentence in functions(proxy, sources) {
            if !found.contains(&sentence) {
                found.push(sentence);
            }
        }
    }
    found.extend(of_sources(proxies, placement, sources));
    found
}

/// Warnings where the CPU cost of sharing processors is not known.
fn shared_processors(
    proxies: &[Proxy<'_>],
    sized: &[SizedProxy],
    placement: &Placement<'_>,
    sources: &[Source<'_>],
) -> Vec<String> {
    let Processors::Shared(count) = placement.processors else { return Vec::new() };
    let mut found = Vec::new();
    let busy = sized.iter().map(|one| one.cores.estimate).sum::<f64>() / f64::from(count);
    if busy > 1.0 {
        found.push(format!(
            "the proxies need {} processors instead of {count}: they cannot answer all requests of this rate",
            grouped((busy * f64::from(count)).ceil(), 0)
        ));
    }
    let Some(sharing) = &placement.sharing else {
        found.push(
            "the proxies share processors, and no result states the cost of proxies to each other there. A study with a chain of two plain \
             proxies measures it: `- {name: two-proxies, hops: [client, server]}`"
                .to_owned(),
        );
        return found;
    };
    let (shares, chain) = (sharing.measured_at(), &sharing.arm().id);
    if shares.is_beyond(busy.min(1.0)) {
        found.push(format!(
            "the processors of the proxies are busy for {} of the time, and `{chain}` states the cost of proxies to each other from {} to {}",
            percent(busy, 0),
            percent(shares.least, 0),
            percent(shares.most, 0)
        ));
    }
    let learned = plain_traffic(sharing.plain.arm);
    if proxies.iter().flat_map(|proxy| &proxy.flows).any(|flow| plain_traffic(flow.plain.arm) != learned) {
        found.push(format!(
            "the cost of proxies to each other was measured with other requests (those of `{}`)",
            sharing.plain.arm.id
        ));
    }
    let processors =
        sources.get(sharing.plain.source).map(|source| source.result.environment.proxy_cpus.len().max(1));
    if processors.is_some_and(|processors| processors != count as usize) {
        found.push(format!(
            "the cost of proxies to each other was measured by `{chain}` on another number of processors than {count}"
        ));
    }
    found
}

fn too_few_workers(sized: &SizedProxy) -> Option<String> {
    let share = sized.busy_share.estimate;
    (share > 1.0).then(|| {
        format!(
            "`{}` has too few workers for this rate: its CPU time per request is that of full load",
            sized.service
        )
    })
}

/// A proxy that is less busy, or busier, than any measured proxy.
fn outside_of_curves(proxy: &Proxy<'_>, sized: &SizedProxy) -> Option<String> {
    let busy = sized.busy_share.estimate.min(1.0);
    let name = &sized.service;
    let measured_at = proxy.measured_at();
    if !measured_at.is_beyond(busy) {
        return None;
    }
    let MeasuredAt { least, most, only } = measured_at;
    if let Some(only) = only.filter(|_| measured_at.is_beyond_only(busy)) {
        let [busy, only] = apart(busy, only);
        return Some(format!(
            "`{name}` is busy for {busy} of the time, and some of its CPU times were measured only while proxies were busy for {only}: a \
             request costs more the less busy a proxy is. A study with loads such as `utilisation: 30%` measures it"
        ));
    }
    Some(if measured_at.is_below(busy) {
        let [busy, least] = apart(busy, least);
        format!(
            "`{name}` is busy for {busy} of the time, less than the {least} that all its CPU times were measured at: it probably uses more \
             than predicted"
        )
    } else {
        let [busy, most] = apart(busy, most);
        format!(
            "`{name}` is busy for {busy} of the time, more than the {most} that all its CPU times were measured at: it probably uses less \
             than predicted"
        )
    })
}

/// The services whose proxies satisfy `are_such`; none if there is no such proxy.
fn names(proxies: &[Proxy<'_>], are_such: impl Fn(&Proxy<'_>) -> bool) -> Option<String> {
    let names: Vec<&str> =
        proxies.iter().filter(|proxy| are_such(proxy)).map(|proxy| proxy.service.name.as_str()).collect();
    (!names.is_empty()).then(|| names.join("`, `"))
}

/// Proxies with another number of workers than those that were measured.
fn workers(proxies: &[Proxy<'_>], sources: &[Source<'_>]) -> Option<String> {
    let are_other = |proxy: &Proxy<'_>| {
        let source = proxy.flows.first().and_then(|flow| sources.get(flow.plain.source));
        let measured = source.map(|source| source.result.environment.proxy_cpus.len().max(1));
        measured.is_some_and(|measured| measured != proxy.service.workers as usize)
    };
    names(proxies, are_other).map(|names| {
        format!(
            "`{names}`: measured with another number of workers. The prediction assumes that workers do not slow each other down; \
             `hoptax predict scale --over workers` shows how they do"
        )
    })
}

/// Proxies with several functions, whose costs were measured one by one.
fn composed(proxies: &[Proxy<'_>]) -> Option<String> {
    let are_several = |proxy: &Proxy<'_>| proxy.flows.iter().any(|flow| flow.functions.len() > 1);
    names(proxies, are_several).map(|names| {
        format!(
            "`{names}`: the costs of several functions, measured one by one, are added up. `hoptax predict size --check` shows how far such sums \
             are from measurements"
        )
    })
}

/// Requests whose body size lies between measured sizes.
fn between_sizes(proxy: &Proxy<'_>) -> Option<String> {
    let [low, high] = proxy.flows.iter().find_map(|flow| flow.plain.between)?;
    Some(format!(
        "`{}`: bodies of its size were not measured. CPU time is on a straight line between `{}` and `{}`; memory and response times are \
         those of the nearer one",
        proxy.service.name, low.id, high.id
    ))
}

/// Sentences about new connections: the assumptions, and the costs that were measured with other requests.
fn connections(proxy: &Proxy<'_>, sources: &[Source<'_>]) -> Vec<String> {
    let Some(connections) = proxy.flows.iter().find_map(|flow| flow.connections.as_ref()) else {
        return Vec::new();
    };
    let name = &proxy.service.name;
    let mut found = vec![format!(
        "`{name}`: the CPU time of a new connection was measured at full load, and is taken as the same at any load. Times added to \
         responses are those of connections that are kept"
    )];
    if !connections.plain.is_same_traffic {
        found.push(format!(
            "`{name}`: the CPU time of a new connection was measured by `{}` with other requests (those of `{}`)",
            study(sources, connections.plain.source),
            connections.plain.arm.id
        ));
    }
    for (called, one) in connections.functions.iter().filter(|(_, one)| !one.is_same_traffic) {
        found.push(format!(
            "`{name}`: the cost of `{}` for a new connection was measured by `{}` with other requests (those of `{}`)",
            called.text,
            study(sources, one.source),
            one.arm.compared_with.as_deref().unwrap_or_default()
        ));
    }
    if !connections.unknown.is_empty() {
        let names = connections.unknown.join("`, `");
        found.push(format!(
            "`{name}`: the cost of `{names}` for a new connection was not measured, and is left out"
        ));
    }
    found
}

/// The name of a study.
fn study<'a>(sources: &[Source<'a>], number: usize) -> &'a str {
    sources.get(number).map_or("", |source| source.result.name.as_str())
}

/// Functions that were measured with other requests, and functions that use CPU time elsewhere.
fn functions(proxy: &Proxy<'_>, sources: &[Source<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    for (called, priced) in proxy.flows.iter().flat_map(|flow| &flow.functions) {
        if !priced.is_same_traffic {
            let study = study(sources, priced.source);
            let with = priced.arm.compared_with.as_deref().unwrap_or_default();
            found.push(format!(
                "the cost of `{}` was measured by `{study}` with other requests (those of `{with}`)",
                called.text
            ));
        }
        if priced.arm.asks_companion {
            found.push(format!("`{}` calls a service, whose CPU time is not included", called.text));
        }
    }
    found
}

/// Results that differ in their machine or proxy.
fn of_sources(proxies: &[Proxy<'_>], placement: &Placement<'_>, sources: &[Source<'_>]) -> Vec<String> {
    let used = placement.sources(proxies);
    let results = || used.iter().filter_map(|number| sources.get(*number)).map(|source| source.result);
    let mut found = Vec::new();
    let machines: BTreeSet<&str> = results().map(|result| result.environment.cpu_model.as_str()).collect();
    if machines.len() > 1 {
        let list = machines.into_iter().collect::<Vec<_>>().join("`, `");
        found.push(format!(
            "the results come from different processors (`{list}`), whose CPU times are added as if they were equal"
        ));
    }
    let versions: BTreeSet<&str> =
        results().filter_map(|result| result.environment.proxy_version.as_deref()).collect();
    if versions.len() > 1 {
        let list = versions.into_iter().collect::<Vec<_>>().join(", ");
        found.push(format!("the results come from different releases of the proxy ({list})"));
    }
    found
}
