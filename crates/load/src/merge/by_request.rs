//! The requests of each name over all runs, added by name from counts and histograms.

use std::collections::{BTreeMap, BTreeSet};

use hoptax_result::{Book, Histogram, NamedRequests, RequestHistograms};

use super::batches;
use super::sums::{Part, add_to, moments};
use crate::by_key::add_by_key;
use crate::distribution::histogram;
use crate::named_requests::Named;

/// The rows of a result, and their histograms.
pub(super) type Rows = (Vec<NamedRequests>, BTreeMap<String, RequestHistograms>);

/// Adds the rows of all runs. A name that may be among the other requests of one run counts among those of all runs.
pub(super) fn added(parts: &[Part<'_>], max_error_share: f64) -> Result<Rows, String> {
    let (without, with): (Vec<&Part<'_>>, Vec<&Part<'_>>) =
        parts.iter().partition(|part| part.result.by_request.is_empty());
    if let (Some(without), Some(with)) = (without.first(), with.first()) {
        return Err(format!(
            "`{}` has no requests by name, and `{}` has some: run the loads again, with one version of hoptax",
            without.file, with.file
        ));
    }
    with.into_iter().try_for_each(balance)?;
    let (mut rows, mut histograms) = Rows::default();
    for (name, members) in groups(parts) {
        let row = row(parts, &name, &members)?;
        let (answered, times) = (row.book.answered, row.times.response.len());
        if answered != times {
            return Err(format!(
                "{answered} requests `{name}` were answered, but their histograms hold {times} response times: a file was \
                 changed; run the loads again"
            ));
        }
        let (stated, of_name) = row.with_tolerance(max_error_share).stated();
        rows.push(stated);
        histograms.insert(name, of_name);
    }
    Ok((rows, histograms))
}

/// Refuses a run whose rows do not add up to its load.
fn balance(part: &Part<'_>) -> Result<(), String> {
    let mut of_rows = Book::default();
    part.result.by_request.iter().for_each(|row| of_rows.add(&row.book));
    let of_load = part.result.book;
    if of_rows == of_load {
        return Ok(());
    }
    Err(format!(
        "the requests by name of `{}` do not add up to its load ({} of {} planned, {} of {} answered): the file was changed; run \
         that load again",
        part.file, of_rows.planned, of_load.planned, of_rows.answered, of_load.answered
    ))
}

/// The rows of all runs together: the name of each, and the names that it sums, in their order. The row of the other requests is last.
fn groups(parts: &[Part<'_>]) -> Vec<(String, Vec<String>)> {
    let has = |part: &Part<'_>, name: &str| part.result.by_request.iter().any(|row| row.name == name);
    let is_known = |name: &str| parts.iter().all(|part| has(part, name) || !has(part, NamedRequests::OTHERS));
    let mut names: Vec<&str> = Vec::new();
    for row in parts.iter().flat_map(|part| &part.result.by_request) {
        if !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    let planned = |name: &str| -> u64 {
        let rows = parts.iter().flat_map(|part| &part.result.by_request);
        rows.filter(|row| row.name == name).map(|row| row.book.planned).sum()
    };
    let mut by_count: Vec<&str> =
        names.iter().copied().filter(|name| is_single(name) && is_known(name)).collect();
    by_count.sort_by_key(|name| std::cmp::Reverse(planned(name)));
    let kept: BTreeSet<&str> = by_count.into_iter().take(NamedRequests::MOST).collect();
    let (own, others): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| kept.contains(name));
    let alone = own.into_iter().map(|name| (name.to_owned(), vec![name.to_owned()]));
    let others: Vec<String> = others.into_iter().map(str::to_owned).collect();
    let others = (!others.is_empty()).then(|| (NamedRequests::OTHERS.to_owned(), others));
    alone.chain(others).collect()
}

fn is_single(name: &str) -> bool {
    name != NamedRequests::OTHERS
}

/// Sums the requests of these names over all runs.
fn row(parts: &[Part<'_>], name: &str, members: &[String]) -> Result<Named, String> {
    let of_runs: Vec<&NamedRequests> = parts
        .iter()
        .flat_map(|part| &part.result.by_request)
        .filter(|row| members.contains(&row.name))
        .collect();
    let mut all = Named::new(name);
    for row in &of_runs {
        all.book.add(&row.book);
        add_by_key(&mut all.unsent, &row.unsent);
        add_by_key(&mut all.failures, &row.failures);
    }
    let sum = |of: fn(&RequestHistograms) -> Option<&Histogram>| {
        let mut times = histogram();
        for member in members {
            add_to(&mut times, parts, |histograms| histograms.by_request.get(member).and_then(of))?;
        }
        Ok::<_, String>(times)
    };
    all.times.response = sum(|all| all.response.as_ref())?;
    all.times.pending_response =
        Some(sum(|all| all.pending_response.as_ref())?).filter(|times| !times.is_empty());
    if parts.iter().all(|part| part.result.without_generator.is_some()) {
        all.times.without_generator = Some(sum(|all| all.without_generator.as_ref())?);
    }
    all.times.batches = batches::of_names(parts, members)?;
    all.response = moments(of_runs.iter().map(|row| &row.response));
    all.without_generator = moments(of_runs.iter().filter_map(|row| row.without_generator.as_ref()));
    Ok(all)
}

#[cfg(test)]
mod tests;
