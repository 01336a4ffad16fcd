//! The heading of a load: its requests and their schedule.

use hoptax_load::{Content, Protocol};
use hoptax_result::{EndedBy, LoadResult, NetworkPlan};

use crate::numbers::{count, counted, grouped, seconds};

/// The request and its load.
pub(super) fn heading(result: &LoadResult) -> (String, String) {
    let plan = &result.plan;
    if let Some(imported) = &result.imported {
        return super::imported::heading(result, imported);
    }
    let how = match (result.rate.target, &plan.arrivals) {
        _ if plan.stages.is_some() => {
            format!("open loop, stages {}", plan.stages.as_deref().unwrap_or_default())
        }
        (Some(rate), Some(arrivals)) => format!("open loop, {} requests/s, {arrivals}", grouped(rate, 0)),
        _ => "closed loop".to_owned(),
    };
    let more = if plan.requests > 1 { format!(" and {} more", plan.requests - 1) } else { String::new() };
    let runs = result.merged.as_ref();
    let runs = runs.map_or_else(String::new, |merged| {
        format!("merged from {}: ", counted(merged.runs.len() as u64, "run"))
    });
    // For HTTP/1.1, the method is enough.
    let what = match plan.protocol.parse::<Protocol>() {
        Ok(Protocol::Http1) | Err(_) => plan.method.clone(),
        Ok(protocol) if protocol.content() == Content::Requests => {
            format!("{} {}", protocol.title(), plan.method)
        }
        Ok(protocol) => protocol.title().to_owned(),
    };
    let how = format!(
        "{how}, {}{}{}, {}, {}",
        counted(plan.connections.into(), "connection"),
        if plan.streams > 1 { format!(" of {} streams", plan.streams) } else { String::new() },
        network_note(&plan.network),
        counted(plan.workers.into(), "worker"),
        time(result)
    );
    (format!("{runs}{what} {}{more}", plan.url), how)
}

/// The time of the record, and of the warm-up before it.
fn time(result: &LoadResult) -> String {
    let plan = &result.plan;
    if result.book.is_empty() && result.ended_by == EndedBy::Interrupt {
        return "interrupted before the first measured request".to_owned();
    }
    format!(
        "{}{} after {} s of warm-up",
        match (result.ended_by, plan.request_limit) {
            _ if result.merged.is_some() => format!("{} s in common", grouped(result.recorded_s, 1)),
            (EndedBy::Plan, _) => format!("{} s", seconds(plan.duration_s)),
            (EndedBy::Requests, Some(limit)) => {
                format!("{} in {} s", counted(limit, "request"), grouped(result.recorded_s, 1))
            }
            (_, Some(limit)) => format!(
                "{} of {} in {} s",
                count(result.book.sent),
                counted(limit, "request"),
                grouped(result.recorded_s, 1)
            ),
            _ => format!("{} of {} s", grouped(result.recorded_s, 1), seconds(plan.duration_s)),
        },
        match result.ended_by {
            EndedBy::Plan | EndedBy::Requests => "",
            EndedBy::Interrupt => " (interrupted)",
            EndedBy::Backlog => " (ended: the backlog could not be sent in time)",
        },
        seconds(plan.warmup_s)
    )
}

/// The arrival process of an open loop, because response times depend on it.
pub(super) fn arrivals(result: &LoadResult) -> Option<String> {
    Some(format!(", with {} arrivals", result.plan.arrivals.as_deref()?))
}

/// Returns the network path to the servers, if it is not the default.
fn network_note(network: &NetworkPlan) -> String {
    let mut text = String::new();
    if let Some(path) = &network.unix_socket {
        text += &format!(" through {path}");
    }
    if network.servers.len() > 1 {
        text += &format!(" to {} addresses", network.servers.len());
    }
    if let Some(every_s) = network.resolve_every_s {
        text += &format!(", names resolved every {every_s} s");
    }
    if !network.source_addresses.is_empty() {
        text += &format!(" from {}", network.source_addresses.join(", "));
    }
    if let Some(version) = &network.proxy_protocol {
        text += &format!(" with a PROXY {version} header");
    }
    if network.ramp_up_s > 0.0 {
        text += &format!(", opened over {} s", seconds(network.ramp_up_s));
    }
    text
}
