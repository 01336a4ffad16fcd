//! Merges the results of several runs of one load into one, such as those of generators on several machines.
//!
//! Histograms and counts are added, so a quantile is that of all requests together. No quantile is computed from quantiles: the
//! mean of the p99 of two generators is the p99 of neither load. Rates are added too; they hold for the time in which all runs
//! recorded.

mod batches;
mod by_request;
mod differences;
mod refusals;
mod sums;

use hoptax_result::{
    BodyBytes, EndedBy, Environment, Finding, Histogram, LoadBody, LoadHistograms, LoadResult, Merged,
    MergedRun, RunLeftOut, Severity, Verdict, grouped,
};

use crate::distribution::summary;
use crate::encoded::encode;
use crate::times::{Times, unexpectedly_failed};
use sums::{Part, moments, sum};

/// The result of a run that is merged.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The file that it was read from.
    pub file: String,
    /// Its content.
    pub result: LoadResult,
}

/// Merges runs. `left_out` lists those that could not be read; runs whose response times are withheld are added to it. The
/// result has the findings of the runs, each after the name of its file; `hoptax_checks::judge_merged` sets the verdict.
///
/// # Errors
/// Every reason why these are not results of one load that can be added.
pub fn merge(runs: &[Run], mut left_out: Vec<RunLeftOut>) -> Result<LoadResult, Vec<String>> {
    let problems = refusals::reasons(runs);
    if !problems.is_empty() {
        return Err(problems);
    }
    let (runs, withheld): (Vec<&Run>, Vec<&Run>) =
        runs.iter().partition(|run| run.result.histograms.is_some());
    left_out.extend(withheld.into_iter().map(|run| RunLeftOut {
        reason: why_withheld(&run.result),
        planned_rate: run.result.rate.target,
        file: run.file.clone(),
    }));
    let parts: Vec<Part<'_>> = runs.into_iter().filter_map(Part::new).collect();
    let Some(first) = parts.first() else {
        let reasons = left_out.iter().map(|one| format!("`{}`: {}", one.file, one.reason));
        return Err(reasons.chain(["no run is left to merge".to_owned()]).collect());
    };
    add(first, &parts, left_out).map_err(|problem| vec![problem])
}

/// The reason why the times of a run are withheld. All warnings are named, because any of them may be the reason.
fn why_withheld(result: &LoadResult) -> String {
    let of = |severity: Severity| result.findings.iter().filter(move |finding| finding.severity == severity);
    if result.verdict == Verdict::Void {
        let failed = of(Severity::Fail).map(|finding| format!(", {}: {}", finding.id, finding.message));
        return format!("its result is void{}", failed.collect::<String>());
    }
    let warnings: Vec<&str> = of(Severity::Warn).map(|finding| finding.id.as_str()).collect();
    format!("its response times are withheld; its warnings are {}", warnings.join(", "))
}

/// Adds the runs; `first` is the first of them.
fn add(first: &Part<'_>, parts: &[Part<'_>], left_out: Vec<RunLeftOut>) -> Result<LoadResult, String> {
    let window = common_window(parts)?;
    let pending = |of: fn(&LoadHistograms) -> Option<&Histogram>| {
        sum(parts, of).map(|times| Some(times).filter(|times| !times.is_empty()))
    };
    let (book, plan) = (sums::book(parts), sums::plan(&first.result.plan, parts));
    let times = Times {
        response: sum(parts, |all| all.response.as_ref())?,
        without_generator: sums::without_generator(parts)?,
        service: sum(parts, |all| all.service.as_ref())?,
        pending_response: pending(|all| all.pending_response.as_ref())?,
        pending_service: pending(|all| all.pending_service.as_ref())?,
        batches: batches::added(parts)?,
        failed: unexpectedly_failed(&book, plan.max_error_share),
    };
    if times.response.len() != book.answered {
        return Err(format!(
            "{} requests were answered, but the histograms hold {} response times: a file was changed; run the loads again",
            book.answered,
            times.response.len()
        ));
    }
    let (latency, histograms) = sums::latencies(parts, &times)?;
    let without_generator = sums::without_generator_summary(parts, &times);
    let bounds = times.bounds(&latency.response, without_generator.as_ref(), &latency.service);
    let (messages, messages_encoded) = sums::messages(parts)?;
    let (tls, handshake) = sums::tls(parts)?;
    let (mut outcomes, outcomes_encoded) = sums::outcomes(parts)?;
    if !times.response.is_empty() {
        let answered = parts.iter().filter_map(|part| part.result.outcomes.get("answered"));
        outcomes.insert("answered".to_owned(), summary(&times.response, moments(answered), None));
    }
    let (by_request, of_names) = by_request::added(parts, plan.max_error_share)?;
    let histograms = LoadHistograms {
        messages: messages_encoded,
        handshake,
        outcomes: outcomes_encoded,
        batches: times.batches.iter().map(encode).collect(),
        phases: batches::phases(parts)?,
        by_request: of_names,
        ..histograms
    };
    let percentiles = parts.iter().flat_map(|part| &part.result.percentiles).map(|one| one.percentile);
    // The calibration of one machine says nothing about the rate of several.
    let environment = Environment { calibration: None, ..first.result.environment.clone() };
    let body = LoadBody {
        plan,
        recorded_from_unix_s: Some(window.from_s),
        recorded_s: window.length_s,
        ended_by: ended_by(parts),
        book,
        unsent: sums::counts(parts, |result| &result.unsent),
        waiting: sums::waiting(parts),
        failures: sums::counts(parts, |result| &result.failures),
        reasons: sums::reasons(parts),
        statuses: sums::counts(parts, |result| &result.statuses),
        deviations: sums::counts(parts, |result| &result.deviations),
        closed: sums::counts(parts, |result| &result.closed),
        body_bytes: parts.iter().filter_map(|part| part.result.body_bytes).reduce(BodyBytes::and),
        bytes_over_time: batches::bytes_over_time(parts),
        rate: sums::rate(parts),
        sustained_rate: parts.iter().map(|part| part.result.sustained_rate).sum(),
        latency,
        without_generator,
        bounds,
        percentiles: times.percentiles(percentiles.collect()),
        response_intervals: times.intervals(),
        outcomes,
        messages,
        by_request,
        modes: times.modes(),
        in_flight_over_time: batches::in_flight_over_time(parts),
        tls,
        drained: sums::counts(parts, |result| &result.drained),
        stream_limit: parts.iter().filter_map(|part| part.result.stream_limit).min(),
        lookups: sums::lookups(parts),
        drift: times.drift(),
        generator: sums::generator(parts),
        merged: Some(Merged {
            runs: parts.iter().map(merged_run).collect(),
            left_out,
            outside_share: window.outside_share,
            has_intervals: !times.batches.is_empty(),
            differences: differences::between(parts),
        }),
        loosened: first.result.loosened.clone(),
        histograms: Some(histograms),
        ..LoadBody::default()
    };
    let findings = parts.iter().flat_map(findings).collect();
    Ok(LoadResult { findings, ..LoadResult::new(environment, body) })
}

/// The time in which all runs recorded.
struct Window {
    from_s: f64,
    length_s: f64,
    outside_share: f64,
}

fn common_window(parts: &[Part<'_>]) -> Result<Window, String> {
    let latest = parts.iter().max_by(|a, b| a.from_s.total_cmp(&b.from_s));
    let first_to_end = parts.iter().min_by(|a, b| a.to_s().total_cmp(&b.to_s()));
    let (Some(latest), Some(first_to_end)) = (latest, first_to_end) else {
        return Err("there is no run to merge".to_owned());
    };
    let length_s = first_to_end.to_s() - latest.from_s;
    if length_s <= 0.0 {
        return Err(format!(
            "`{}` ended {} s before `{}` began to record: their loads did not add up at any time; merge results of runs at \
             the same time, and synchronise the clocks of their machines",
            first_to_end.file,
            grouped(-length_s, 1),
            latest.file
        ));
    }
    let answered = |part: &Part<'_>| part.result.book.answered as f64;
    let outside = |part: &Part<'_>| answered(part) * (1.0 - length_s / part.result.recorded_s).max(0.0);
    let all: f64 = parts.iter().map(answered).sum();
    let outside_share = if all > 0.0 { parts.iter().map(outside).sum::<f64>() / all } else { 0.0 };
    Ok(Window { from_s: latest.from_s, length_s, outside_share })
}

/// The findings of a run, after the name of its file.
fn findings<'a>(part: &'a Part<'_>) -> impl Iterator<Item = Finding> + 'a {
    part.result.findings.iter().map(|finding| Finding {
        message: format!("`{}`: {}", part.file, finding.message),
        ..finding.clone()
    })
}

fn merged_run(part: &Part<'_>) -> MergedRun {
    let result = part.result;
    MergedRun {
        file: part.file.to_owned(),
        program: result.program.clone(),
        verdict: result.verdict,
        recorded_from_unix_s: part.from_s,
        recorded_s: result.recorded_s,
        rate: result.rate,
        connections: result.plan.connections,
        seed: result.plan.seed,
        share: result.plan.share,
        response: result.latency.response,
        bounds: result.bounds.response,
        environment: result.environment.clone(),
    }
}

/// As planned only if all runs ended as planned.
fn ended_by(parts: &[Part<'_>]) -> EndedBy {
    let any = |by: EndedBy| parts.iter().any(|part| part.result.ended_by == by);
    let early = [EndedBy::Backlog, EndedBy::Interrupt, EndedBy::Requests];
    early.into_iter().find(|by| any(*by)).unwrap_or(EndedBy::Plan)
}

#[cfg(test)]
mod tests;
