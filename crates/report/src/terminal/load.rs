//! The summary of a load.

mod imported;
mod merged;

use hoptax_result::{
    BodyBytes, EndedBy, FailOnOutcome, Known, Latency, LatencyBounds, LoadResult, NetworkPlan, TimeOf,
    TlsResult,
};

use super::rows::Rows;
use super::{Paint, Style, account, findings};
use crate::findings::groups;
use crate::numbers::{counted, grouped};
use crate::rows::MIB;
use crate::words;

/// The result of a load trial.
pub fn load(result: &LoadResult, style: Style) -> String {
    let mut text = heading(result, style);
    text += &accounts(result);
    text += &format!("\n{}", latencies(result));
    text += &percentiles(result);
    text += &coverage(result);
    text += &shape(result);
    text += &stages(result);
    text += &result.merged.as_ref().map(merged::runs).unwrap_or_default();
    text += &result.account.as_ref().map(|one| format!("\n{}", account::line(one))).unwrap_or_default();
    let generator = &result.generator;
    if result.imported.is_none() {
        text += &format!(
            "\ngenerator  {:.2} s of CPU, {} us of run delay in {:.2} s\n",
            generator.cpu_seconds,
            grouped(generator.run_delay_us, 0),
            generator.wall_seconds
        );
    }
    if !result.findings.is_empty() {
        text += &format!("\n{}", findings(&groups(&result.findings), style));
    }
    text += &fail_on(result);
    let verdict = format!("{}: {}", result.verdict.as_str(), result.usable());
    let verdict = style.paint(Style::of_verdict(result.verdict), &verdict);
    text += &format!("\nverdict: {verdict}\n");
    for line in words::loosened(&result.loosened) {
        text += &format!("         {line}\n");
    }
    text
}

/// The sizes of bodies, after the statuses of their responses.
fn body_sizes(bytes: BodyBytes) -> String {
    let BodyBytes { smallest, largest, .. } = bytes;
    let sizes = if smallest == largest {
        grouped(smallest as f64, 0)
    } else {
        format!("{} to {}", grouped(smallest as f64, 0), grouped(largest as f64, 0))
    };
    format!("; bodies of {sizes} bytes")
}

fn heading(result: &LoadResult, style: Style) -> String {
    let plan = &result.plan;
    if let Some(imported) = &result.imported {
        let (source, load) = imported::heading(result, imported);
        return format!("\n{}\n{load}\n\n", style.paint(Paint::Bold, &source));
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
    // For HTTP/1.1 the method is enough.
    let what = match plan.protocol.as_str() {
        "http2" => format!("HTTP/2 {}", plan.method),
        "http3" => format!("HTTP/3 {}", plan.method),
        "grpc" => "gRPC".to_owned(),
        "grpc-http3" => "gRPC over HTTP/3".to_owned(),
        "tcp" => "TCP".to_owned(),
        "websocket" => "WebSocket".to_owned(),
        _ => plan.method.clone(),
    };
    format!(
        "\n{}\n{how}, {}{}{}, {}, {}{} after {} s of warm-up\n\n",
        style.paint(Paint::Bold, &format!("{runs}{what} {}{more}", plan.url)),
        counted(plan.connections.into(), "connection"),
        if plan.streams > 1 { format!(" of {} streams", plan.streams) } else { String::new() },
        network_note(&plan.network),
        counted(plan.workers.into(), "worker"),
        match (result.ended_by, plan.request_limit) {
            _ if result.merged.is_some() => format!("{:.1} s in common", result.recorded_s),
            (EndedBy::Plan, _) => format!("{} s", seconds(plan.duration_s)),
            (EndedBy::Requests, Some(limit)) => {
                format!("{} in {:.1} s", counted(limit, "request"), result.recorded_s)
            }
            _ => format!("{:.1} of {} s", result.recorded_s, seconds(plan.duration_s)),
        },
        match result.ended_by {
            EndedBy::Plan | EndedBy::Requests => "",
            EndedBy::Interrupt => " (interrupted)",
            EndedBy::Backlog => " (ended: the backlog could not be sent in time)",
        },
        seconds(plan.warmup_s)
    )
}

/// How connections reach the servers, if not in the default way.
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

/// A time in seconds, with a decimal place if it is not whole.
fn seconds(seconds: f64) -> String {
    grouped(seconds, usize::from(seconds.fract() > 0.0))
}

/// Rates, and accounts of requests.
fn accounts(result: &LoadResult) -> String {
    if let Some(imported) = &result.imported {
        return imported::accounts(result, imported);
    }
    let rate = |rate: f64| format!("{}/s", grouped(rate, 0));
    // A withheld rate could be computed from the count of responses below, which is kept as evidence.
    let mut text = format!(
        "rate       {}sent {}{}{}\n",
        result.rate.achieved.map_or_else(String::new, |achieved| format!("answered {}, ", rate(achieved))),
        rate(result.rate.offered),
        result.rate.target.map_or_else(String::new, |target| format!(", planned {}", rate(target))),
        if result.rate.achieved.is_none() { " (rate of responses withheld)" } else { "" }
    );
    // What a backlog holds of the requests that were due before the record is not in these rates.
    if let Some(sustained) = result.sustained_rate.filter(|_| result.unsent.contains_key("end")) {
        // As the check of the offered load states it: a rate below 10/s has a decimal place.
        let digits = usize::from(sustained < 10.0);
        text += &format!(
            "           answered {}/s from the start of the warm-up on\n",
            grouped(sustained, digits)
        );
    }
    let book = &result.book;
    let count = |count: u64| grouped(count as f64, 0);
    text += &format!(
        "requests   {} planned = {} sent + {} unsent\n",
        count(book.planned),
        count(book.sent),
        count(book.unsent)
    );
    text += &format!(
        "           {} sent = {} answered + {} failed + {} timed out + {} unfinished\n",
        count(book.sent),
        count(book.answered),
        count(book.failed),
        count(book.timed_out),
        count(book.unfinished)
    );
    let listed = |entries: Vec<String>| entries.join(", ");
    if book.sent_again > 0 {
        text += &format!(
            "again      {} sent again, because the server had handed them back unprocessed\n",
            count(book.sent_again)
        );
    }
    if !result.unsent.is_empty() {
        let unsent = result.unsent.iter().map(|(reason, number)| format!("{} {reason}", count(*number)));
        text += &format!("unsent     {}\n", listed(unsent.collect()));
    }
    // Requests that never got a connection waited for one too.
    if book.blocked > 0 || result.waiting.most > 0 {
        let until_end = result.unsent.get("end").copied().unwrap_or_default();
        text += &format!(
            "waiting    {} waited for a connection{}, at most {} at once, {:.3} s in total\n",
            count(book.blocked + until_end),
            if until_end > 0 {
                format!(", {} of them until the end", count(until_end))
            } else {
                String::new()
            },
            count(result.waiting.most),
            result.waiting.total_s
        );
    }
    if !result.statuses.is_empty() {
        let statuses =
            result.statuses.iter().map(|(status, number)| format!("{} of {status}", count(*number)));
        let bodies = result.body_bytes.map(body_sizes).unwrap_or_default();
        text += &format!("statuses   {}{bodies}\n", listed(statuses.collect()));
    }
    if !result.deviations.is_empty() {
        let deviations =
            result.deviations.iter().map(|(what, number)| format!("{} with {what}", count(*number)));
        text += &format!("deviations {}\n", listed(deviations.collect()));
    }
    if !result.failures.is_empty() {
        let failures = result.reasons.listed(&result.failures, Vec::new(), count);
        text += &format!("failures   {failures}\n");
    }
    if let Some(lookups) = &result.lookups {
        text += &format!(
            "lookups    {}, {} failed, {} changed the addresses or their order\n",
            count(lookups.done),
            count(lookups.failed),
            count(lookups.changes)
        );
    }
    if !result.drained.is_empty() {
        let drained = result.drained.iter().map(|(reason, number)| format!("{} {reason}", count(*number)));
        text += &format!("drained    connections drained by the server: {}\n", listed(drained.collect()));
    }
    if let Some(tls) = &result.tls {
        text += &tls_line(tls);
    }
    text
}

/// Version, cipher, group and handshakes.
fn tls_line(tls: &TlsResult) -> String {
    let quantiles =
        [("p50", tls.handshake.p50_us), ("p99", tls.handshake.p99_us), ("max", tls.handshake.max_us)];
    let took: Vec<String> =
        quantiles.iter().filter_map(|(name, time)| Some(format!("{name} {}", us((*time)?)))).collect();
    format!(
        "TLS        {} with {}{}{}; {} full handshakes{}, {} resumed; {} us\n",
        tls.version,
        tls.cipher,
        tls.key_exchange_group.as_ref().map_or_else(String::new, |group| format!(", {group}")),
        tls.alpn.as_ref().map_or_else(String::new, |alpn| format!(", {alpn}")),
        grouped(tls.full_handshakes as f64, 0),
        match tls.hello_retry_requests {
            0 => String::new(),
            retries => format!(" ({} after a hello retry request)", grouped(retries as f64, 0)),
        },
        grouped(tls.resumed_handshakes as f64, 0),
        took.join(", "),
    )
}

/// The distributions; response time is of answered requests and of those whose response was still pending.
fn latencies(result: &LoadResult) -> String {
    let mut rows = Rows::new(&["us", "min", "mean", "p50", "p90", "p99", "p99.9", "max"]);
    let latency = &result.latency;
    rows.add("response time", statistics(&latency.response, &result.bounds.response));
    let intervals = &result.response_intervals;
    let ranges = [intervals.p50_us, intervals.p90_us, intervals.p99_us, intervals.p99_9_us];
    let known = [
        latency.response.p50_us,
        latency.response.p90_us,
        latency.response.p99_us,
        latency.response.p99_9_us,
    ];
    if ranges.iter().zip(known).any(|(range, known)| range.is_some() && known.is_some()) {
        for (name, end) in [("  95 % from", 0), ("       to", 1)] {
            let cells =
                ranges.iter().zip(known).map(|(range, known)| match range.filter(|_| known.is_some()) {
                    Some(range) => us(if end == 0 { range.low } else { range.high }),
                    None => String::new(),
                });
            let empty = || std::iter::repeat_n(String::new(), 2);
            rows.add(name, empty().chain(cells).chain(std::iter::once(String::new())).collect());
        }
    }
    rows.add("service time", service(result));
    rows.add("send lag", quantiles(&latency.send_lag));
    rows.add("first byte", quantiles(&latency.first_byte));
    rows.add("last byte", quantiles(&latency.last_byte));
    if latency.connect.count > 0 {
        rows.add("connect", quantiles(&latency.connect));
    }
    if let Some(messages) = &result.messages {
        rows.add("per message", quantiles(messages));
    }
    for (outcome, failed) in result.outcomes.iter().filter(|(outcome, _)| *outcome != "answered") {
        rows.add(outcome, quantiles(failed));
    }
    if let Some(kernel) = &result.kernel {
        rows.add("write to wire", quantiles(&kernel.to_wire));
        rows.add("on the wire", quantiles(&kernel.on_wire));
        rows.add("wire to read", quantiles(&kernel.from_wire));
    }
    rows.text()
}

/// The requested percentiles.
fn percentiles(result: &LoadResult) -> String {
    if result.percentiles.is_empty() {
        return String::new();
    }
    let mut rows = Rows::new(&["us", "response time", "service time"]);
    let count = result.latency.response.count;
    for one in &result.percentiles {
        let of = TimeOf::Percentile(one.percentile);
        let cells = vec![cell(result.response(of), count), cell(result.service(of), count)];
        rows.add(&format!("p{}", one.percentile), cells);
    }
    format!("\n{}", rows.text())
}

/// The conditions of `--fail-on`.
fn fail_on(result: &LoadResult) -> String {
    let mut text = String::new();
    for (number, one) in result.fail_on.iter().enumerate() {
        let unit = |value: f64| match one.unit.as_str() {
            "us" => format!("{} us", us(value)),
            "%" => format!("{value:.3} %"),
            "/s" => format!("{}/s", grouped(value, 0)),
            "bytes" => format!("{} MiB", grouped(value / MIB, 1)),
            unit => format!("{} {unit}", grouped(value, 0)),
        };
        let value = match (one.value, one.at_least, one.at_most) {
            (Some(value), ..) => unit(value),
            (None, Some(low), Some(high)) => format!("{} to {}", unit(low), unit(high)),
            (None, Some(low), None) => format!("at least {}", unit(low)),
            (None, None, Some(high)) => format!("at most {}", unit(high)),
            (None, None, None) => "no value".to_owned(),
        };
        let outcome = match one.outcome {
            FailOnOutcome::Passed => "passed",
            FailOnOutcome::Failed => "FAILED",
            FailOnOutcome::Unknown => "UNKNOWN",
        };
        let (gap, name) = if number == 0 { ("\n", "fail-on") } else { ("", "") };
        text += &format!("{gap}{name:<11}{:<20} {outcome}: {value}\n", one.condition);
    }
    text
}

/// The requests that response time covers, and its ratio to the latency floor.
fn coverage(result: &LoadResult) -> String {
    let count = |count: u64| grouped(count as f64, 0);
    let answered = result.book.answered;
    let awaited = result.latency.response.count.saturating_sub(answered);
    let mut text = String::new();
    let is_withheld = result.response(TimeOf::Percentile(50.0)) == Known::Unknown;
    if result.imported.is_none() && !is_withheld {
        let and = if awaited > 0 {
            format!(", and {} unanswered ones up to the end of the wait", count(awaited))
        } else {
            String::new()
        };
        text += &format!(
            "\nresponse time, from the intended start: {} answered requests{and}\n",
            count(answered)
        );
    }
    if let (Some(calibration), Some(p50_us), Some(rate)) =
        (&result.environment.calibration, result.latency.response.p50_us, result.rate.target)
        && let Some(floor_us) = calibration.floor_p50_us_at(rate)
    {
        text += &format!(
            "response time p50 is {:.1} times the latency floor ({} us at this rate, calibrated {})\n",
            p50_us / floor_us,
            us(floor_us),
            calibration.measured_at
        );
    }
    text
}

/// The modes, if there is more than one.
fn shape(result: &LoadResult) -> String {
    if result.modes.len() < 2 {
        return String::new();
    }
    let modes = result
        .modes
        .iter()
        .map(|mode| format!("{:.1} % around {} us", mode.share * 100.0, us(mode.peak_us)))
        .collect::<Vec<_>>();
    format!("\nmodes      {}\n", modes.join(", "))
}

fn stages(result: &LoadResult) -> String {
    if result.stages.is_empty() {
        return String::new();
    }
    let mut rows =
        Rows::new(&["stage", "for s", "answered/s", "errors", "unsent", "p50 us", "p99 us", "p99.9 us"]);
    for stage in &result.stages {
        let name = if (stage.from_rate - stage.to_rate).abs() < f64::EPSILON {
            format!("{}/s", rate(stage.to_rate))
        } else {
            format!("{} to {}/s", rate(stage.from_rate), rate(stage.to_rate))
        };
        let response = &stage.latency.response;
        let percentile =
            |of: f64| cell(response.known(&stage.bounds.response, TimeOf::Percentile(of)), response.count);
        let book = &stage.book;
        let cells = vec![
            grouped(
                stage.duration_s,
                usize::from((stage.duration_s - stage.duration_s.round()).abs() > 0.05),
            ),
            stage.rate.achieved.map_or("withheld".to_owned(), rate),
            grouped((book.sent - book.answered) as f64, 0),
            grouped(book.unsent as f64, 0),
            percentile(50.0),
            percentile(99.0),
            percentile(99.9),
        ];
        rows.add(&name, cells);
    }
    let text = format!("\n{}", rows.text());
    let planned = result.plan.stages.as_deref().map_or(0, |stages| stages.split(',').count());
    match planned.saturating_sub(result.stages.len()) {
        0 => text,
        1 => format!("{text}the last stage did not start\n"),
        more => format!("{text}the last {more} stages did not start\n"),
    }
}

/// The quantiles of service time; the range of its bucket where an imported result has only that.
fn service(result: &LoadResult) -> Vec<String> {
    // What another tool did not report was not withheld.
    let count = if result.imported.is_some() { 0 } else { result.latency.service.count };
    let mut cells = statistics(&Latency { count, ..result.latency.service }, &result.bounds.service);
    // After minimum and mean.
    let columns = [50.0, 90.0, 99.0, 99.9].into_iter().zip(cells.iter_mut().skip(2));
    for (percentile, cell) in columns {
        let mut ranges = result.imported.iter().flat_map(|imported| &imported.ranges);
        if let Some(range) = ranges.find(|range| (range.percentile - percentile).abs() < 1e-9) {
            *cell = format!("{} to {}", us(range.low_us), us(range.high_us));
        }
    }
    cells
}

fn quantiles(latency: &Latency) -> Vec<String> {
    statistics(latency, &LatencyBounds::default())
}

/// All statistics of a distribution, or their bounds.
fn statistics(latency: &Latency, bounds: &LatencyBounds) -> Vec<String> {
    let percentiles = [50.0, 90.0, 99.0, 99.9].map(TimeOf::Percentile);
    let all = [TimeOf::Min, TimeOf::Mean].into_iter().chain(percentiles).chain([TimeOf::Max]);
    all.map(|of| cell(latency.known(bounds, of), latency.count)).collect()
}

/// A number, its bounds if only they are known, or why there are none.
fn cell(known: Known, count: u64) -> String {
    match (known.ends(), known) {
        (_, Known::Measured(value)) => us(value),
        ((Some(low), Some(high)), _) => format!("{} to {}", us(low), us(high)),
        ((Some(low), None), _) => format!(">= {}", us(low)),
        ((None, Some(high)), _) => format!("<= {}", us(high)),
        // Without requests there is no value; otherwise a missing value was withheld.
        ((None, None), _) => if count == 0 { "-" } else { "withheld" }.to_owned(),
    }
}

fn rate(rate: f64) -> String {
    grouped(rate, 0)
}

fn us(us: f64) -> String {
    grouped(us, usize::from(us < 1000.0))
}

#[cfg(test)]
mod tests;
