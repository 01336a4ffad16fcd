//! Reasons why results are not runs of one load that can be added.

use hoptax_result::{LoadPlan, LoadResult};
use serde_json::{Map, Value};

use super::Run;

/// Fields of a plan that may differ between generators.
const OWN: [&str; 10] = [
    "connections",
    "duration_s",
    "max_error_share",
    "network",
    "never_halted",
    "request_limit",
    "seed",
    "share",
    "warmup_s",
    "workers",
];

/// Every reason, each with the name of the file.
pub(super) fn reasons(runs: &[Run]) -> Vec<String> {
    let mut problems = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        let (file, result) = (&run.file, &run.result);
        if let Some(reason) = not_addable(result) {
            problems.push(format!("`{file}` {reason}"));
            continue;
        }
        let earlier = runs.get(..number).unwrap_or_default();
        if let Some(same) = earlier.iter().find(|other| other.result == *result) {
            problems.push(format!("`{file}` is the same run as `{}`: list each run once", same.file));
        }
        if let Some(first) = runs.first().filter(|_| number > 0) {
            let different = differences(&first.result, result);
            problems.extend(different.into_iter().map(|difference| {
                format!(
                    "`{file}` is of a different load than `{}`: {difference}; merge only runs that differ in connections, workers, rate, \
                     seed, addresses or length",
                    first.file
                )
            }));
        }
    }
    problems
}

/// Returns the reason why a result cannot be added to any other; None if it can.
fn not_addable(result: &LoadResult) -> Option<String> {
    if let Some(imported) = &result.imported {
        return Some(format!(
            "was imported from {}: it has quantiles and no histogram, and quantiles cannot be added; measure with `hoptax load`",
            imported.tool
        ));
    }
    if result.merged.is_some() {
        return Some("was merged itself: list the results that it was merged from".to_owned());
    }
    if result.plan.stages.is_some() {
        return Some("has stages, whose histograms are not kept: merge loads of one rate".to_owned());
    }
    if result.recorded_from_unix_s.is_none() {
        return Some("was written by an earlier version, without histograms: run the load again".to_owned());
    }
    None
}

/// Returns the differences of two loads in the properties that all runs must share.
fn differences(one: &LoadResult, other: &LoadResult) -> Vec<String> {
    let (ones, others) = (common(&one.plan), common(&other.plan));
    let different = ones.iter().filter(|(name, value)| others.get(*name) != Some(*value));
    let mut found: Vec<String> = different
        .map(|(name, value)| {
            let other = others.get(name).unwrap_or(&Value::Null);
            format!("`{name}` is {other}, not {value}")
        })
        .collect();
    if one.loosened != other.loosened {
        found.push("other thresholds of checks are loosened".to_owned());
    }
    found
}

/// The fields of a plan that all runs must have in common.
fn common(plan: &LoadPlan) -> Map<String, Value> {
    let mut fields = match serde_json::to_value(plan) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    fields.retain(|name, _| !OWN.contains(&name.as_str()));
    // The header is the only part of the network path that changes the bytes to a server.
    fields.insert("proxy_protocol".to_owned(), plan.network.proxy_protocol.clone().into());
    fields
}
