//! `hoptax convert export`: converts a result to the format of another tool, or a table of a study to Parquet.

use std::fs;
use std::time::Duration;

use hoptax_load::without_user;
use hoptax_result::{LoadResult, StudyResult};
use hoptax_session::{results, tables::StudyTable};
use hoptax_tools::export;
use serde_json::Value;

use super::load_file::{self, NoResult};
use crate::arguments::{ExportArguments, ExportFormat};
use crate::exit::{Code, Failure};
use crate::print;

/// How long a receiver of metrics may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Characters of a receiver's answer in an error.
const SHOWN: usize = 300;

/// Why a load has no Parquet file.
const NO_TABLE: &str = "it is the result of a load, and `--to parquet` converts tables of studies; \
                        use another format, such as `--to hgrm`";

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
        parquet(arguments, &results::read_run(&arguments.file)?)?;
        return Ok(Code::Success);
    }
    if to == ExportFormat::Smp && format_of(arguments).as_deref() == Some(StudyResult::FORMAT) {
        let study = results::read_run(&arguments.file)?;
        let documents = hoptax_tools::smp::of_study(&study).map_err(|reason| failed(&reason))?;
        print::result(&hoptax_tools::smp::text(&documents))?;
        return Ok(Code::Success);
    }
    let result = load_file::read(&arguments.file).map_err(|problem| match problem {
        NoResult::Lost(reason) => failed(&reason),
        NoResult::Other(reason) => failed(&format!("it {reason}")),
    })?;
    let text = match to.of_load() {
        Some(format) => export::text(format, &result).map_err(failed)?,
        None => return Err(failed(NO_TABLE)),
    };
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
