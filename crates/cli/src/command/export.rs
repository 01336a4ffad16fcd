//! `hoptax convert export`: converts a result to the format of another tool, or a table of a study to Parquet.

use std::fs;
use std::time::Duration;

use hoptax_load::{encoded, hdr, without_user};
use hoptax_result::{Histogram, LoadHistograms, LoadResult, StudyResult, Verdict};
use hoptax_session::{results, tables::StudyTable};
use hoptax_tools::export::{fortio, k6, nighthawk, openmetrics, otlp};
use serde_json::Value;

use super::judgement::Judgement;
use super::load_file::{self, NoResult};
use crate::arguments::{ExportArguments, ExportFormat};
use crate::exit::{Code, Failure};
use crate::print;

/// How long a receiver of metrics may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Characters of a receiver's answer in an error.
const SHOWN: usize = 300;

/// Runs the command.
pub(crate) fn run(arguments: &ExportArguments) -> Result<Code, Failure> {
    let to = arguments.to;
    if arguments.send_to.is_some() && to != ExportFormat::Otlp {
        return Err(Failure::bad_input("`--send-to` needs `--to otlp`"));
    }
    if arguments.table.is_some() && to != ExportFormat::Parquet {
        return Err(Failure::bad_input("`--table` needs `--to parquet`"));
    }
    let failed = |reason: &str| Failure::bad_input(format!("`{}`: {reason}", arguments.file.display()));
    if to == ExportFormat::Parquet && format_of(arguments).as_deref() != Some(LoadResult::FORMAT) {
        parquet(arguments, &results::read(&arguments.file)?)?;
        return Ok(Code::Success);
    }
    if to == ExportFormat::Smp && format_of(arguments).as_deref() == Some(StudyResult::FORMAT) {
        let study = results::read(&arguments.file)?;
        let documents = hoptax_tools::smp::of_study(&study).map_err(|reason| failed(&reason))?;
        print::result(&hoptax_tools::smp::text(&documents))?;
        return Ok(Code::Success);
    }
    let result = load_file::read(&arguments.file).map_err(|problem| match problem {
        NoResult::Lost(reason) => failed(&reason),
        NoResult::Other(reason) => failed(&format!("it {reason}")),
    })?;
    let text = text(to, &result).map_err(failed)?;
    match &arguments.send_to {
        Some(url) => send(url, &text)?,
        None => print::result(&text)?,
    }
    Ok(Code::Success)
}

/// The format that a file states. If it cannot be read, what reads it as a result says so.
fn format_of(arguments: &ExportArguments) -> Option<String> {
    let text = fs::read_to_string(&arguments.file).ok()?;
    let value: Value = serde_json::from_str(&text).ok()?;
    value.get("format")?.as_str().map(str::to_owned)
}

/// Prints a table of a study as a Parquet file.
fn parquet(arguments: &ExportArguments, study: &StudyResult) -> Result<(), Failure> {
    let file = arguments.file.display();
    let table = arguments.table.map_or(StudyTable::Numbers, StudyTable::from);
    let name = table.as_str();
    let Some(table) = table.of(study) else {
        let names = StudyTable::names(study).join("`, `");
        return Err(Failure::bad_input(format!(
            "`{file}`: this study has no table `{name}`; it has `{names}`"
        )));
    };
    let bytes = hoptax_report::parquet::bytes(&table).map_err(|error| {
        Failure::bad_input(format!("`{file}`: cannot convert the table `{name}`: {error}"))
    })?;
    let instead =
        format!("redirect it, `hoptax convert export {file} --to parquet --table {name} > {name}.parquet`");
    print::binary(&bytes, &instead)
}

fn without_histograms(result: &LoadResult) -> &'static str {
    if result.verdict == Verdict::Void {
        "the result is void, so its response times are withheld"
    } else if result.imported.is_some() {
        "it was imported and has no histogram: convert the original file"
    } else {
        "it has no histogram: it was written by an earlier version, or its response times are withheld"
    }
}

/// The result in another format.
///
/// # Errors
/// When it has no valid histogram, and the format consists of one, or no table: the reason.
fn text(to: ExportFormat, result: &LoadResult) -> Result<String, &'static str> {
    const DAMAGED: &str = "a histogram is damaged";
    const NO_TABLE: &str = "it is the result of a load, and `--to parquet` converts tables of studies; \
                            use another format, such as `--to hgrm`";
    let histograms = || result.histograms.as_ref().ok_or_else(|| without_histograms(result));
    let times = |encoded: Option<&Histogram>| encoded::times(encoded).ok_or(DAMAGED);
    let buckets = |encoded: Option<&Histogram>| times(encoded).map(|times| hdr::buckets(&times));
    Ok(match to {
        ExportFormat::Parquet => return Err(NO_TABLE),
        ExportFormat::Smp => hoptax_tools::smp::text(&[hoptax_tools::smp::of_load(result)]),
        ExportFormat::Hgrm => {
            let response = times(histograms()?.response.as_ref())?;
            hdr::percentile_distribution(&response) + &Judgement::of(result).comments
        }
        ExportFormat::Hlog => {
            let LoadHistograms { response, service, .. } = histograms()?;
            let (response, service) = (times(response.as_ref())?, times(service.as_ref())?);
            let length = Duration::try_from_secs_f64(result.recorded_s).unwrap_or_default();
            let all = [("response", &response), ("service", &service)];
            hdr::one_interval(&all, result.recorded_from_unix_s, length) + &Judgement::of(result).comments
        }
        // Their numbers withhold themselves.
        ExportFormat::Nighthawk | ExportFormat::K6 if result.latency.service.mean_us.is_none() => {
            return Err("its service times are withheld");
        }
        ExportFormat::Nighthawk => nighthawk::text(result),
        ExportFormat::K6 => k6::text(result),
        ExportFormat::Fortio => {
            let LoadHistograms { response, outcomes, .. } = histograms()?;
            let failed = outcomes.values().map(|encoded| buckets(Some(encoded)));
            let failed: Vec<_> = failed.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
            fortio::text(result, &buckets(response.as_ref())?, &failed)
        }
        ExportFormat::OpenMetrics => {
            let LoadHistograms { response, service, .. } = histograms()?;
            openmetrics::text(result, &buckets(response.as_ref())?, &buckets(service.as_ref())?)
        }
        ExportFormat::Otlp => {
            let LoadHistograms { response, service, .. } = histograms()?;
            otlp::text(result, &buckets(response.as_ref())?, &buckets(service.as_ref())?)
        }
    })
}

/// Sends a request of OTLP.
fn send(url: &str, text: &str) -> Result<(), Failure> {
    let shown = without_user(url);
    if !url.starts_with("http://") {
        return Err(Failure::bad_input(format!(
            "`--send-to {shown}`: only `http://` is supported; for another protocol, print the request and send it with a tool: \
             `hoptax convert export FILE --to otlp | curl --json @- {shown}`"
        )));
    }
    let config =
        ureq::Agent::config_builder().timeout_global(Some(TIMEOUT)).http_status_as_error(false).proxy(None);
    let agent: ureq::Agent = config.build().into();
    let failed = |reason: String| {
        Failure::environment(format!("the metrics were not received by `{shown}`: {reason}"))
    };
    let sent = agent.post(url).header("content-type", "application/json").send(text);
    let mut response = sent.map_err(|error| failed(error.to_string()))?;
    let body = response.body_mut().read_to_string().map_err(|error| failed(error.to_string()))?;
    let status = response.status();
    if !status.is_success() {
        let body: String = body.chars().take(SHOWN).collect();
        return Err(failed(format!("it answered {status}: {body}")));
    }
    match rejected(&body) {
        None => {
            print::note(&format!("hoptax: metrics received by `{shown}`"));
            Ok(())
        }
        Some(reason) => Err(failed(reason)),
    }
}

/// Why a receiver rejected a part of the metrics, which it says with a status of success; none if it took all.
fn rejected(body: &str) -> Option<String> {
    let answer: Value = serde_json::from_str(body).ok()?;
    let partial = answer.get("partialSuccess")?;
    let count = partial.get("rejectedDataPoints")?;
    let count = count.as_u64().or_else(|| count.as_str()?.parse().ok()).filter(|count| *count > 0)?;
    let message = partial.get("errorMessage").and_then(Value::as_str).unwrap_or("without a reason");
    Some(format!("it rejected {count} data points: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_success_is_a_failure() {
        let body = r#"{"partialSuccess": {"rejectedDataPoints": "3", "errorMessage": "too old"}}"#;
        assert_eq!(rejected(body).as_deref(), Some("it rejected 3 data points: too old"));
        for body in
            ["", "{}", r#"{"partialSuccess": {}}"#, r#"{"partialSuccess": {"rejectedDataPoints": 0}}"#]
        {
            assert_eq!(rejected(body), None, "{body}");
        }
    }
}
