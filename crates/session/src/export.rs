//! Converts a result file to the format of another tool, or a table of a study to Parquet, and sends metrics to a collector.

use std::fs;
use std::path::Path;
use std::time::Duration;

use hoptax_load::without_user;
use hoptax_report::render::html;
use hoptax_report::{documents, parquet};
use hoptax_result::{Body, LoadBody, LoadResult, StudyBody, StudyResult};
use hoptax_tools::{export, smp};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::failure::Failure;
use crate::results::{self, LoadFileError, read_load, read_run};
use crate::tables::StudyTable;

pub use hoptax_tools::export::Format;

/// Time limit of a request to a receiver of metrics.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Characters of a receiver's answer in an error.
const SHOWN: usize = 300;

/// A converted result.
#[derive(Debug)]
pub enum Converted {
    /// Text.
    Text(String),
    /// A file that is no text.
    Binary(Vec<u8>),
}

/// Converts the result in a file or a run folder. `table` selects the table of a study, for Parquet.
///
/// # Errors
/// When there is no result, or one without numbers for the format.
pub fn convert(path: &Path, to: Format, table: StudyTable) -> Result<Converted, Failure> {
    let file = match to {
        Format::Html => results::printed_file(path)?,
        _ => results::measured_file(path)?,
    };
    let file = file.as_path();
    let failed = |reason: &str| Failure::bad_input(format!("`{}`: {reason}", file.display()));
    // Only if it decides, because a pipe is read once.
    let has_format = |is_format: fn(&str) -> bool| format_of(file).as_deref().is_some_and(is_format);
    match to {
        Format::Parquet if !has_format(LoadResult::is_format) => {
            return table_as_parquet(&read_run(file)?, table).map_err(|reason| failed(&reason));
        }
        Format::Smp if has_format(StudyResult::is_format) => {
            let documents = smp::of_study(&read_run(file)?).map_err(|reason| failed(&reason))?;
            return Ok(Converted::Text(smp::text(&documents)));
        }
        Format::Html => return page(file).map(Converted::Text).map_err(|reason| failed(&reason)),
        _ => {}
    }
    let result = read_load(file).map_err(|problem| match problem {
        LoadFileError::Lost(reason) => failed(&reason),
        LoadFileError::Other(reason) => failed(&format!("it {reason}")),
    })?;
    export::text(to, &result).map(Converted::Text).map_err(failed)
}

/// The text formats that a server offers for download.
pub const TEXT_FORMATS: &[Format] = &[Format::Fortio, Format::Hgrm, Format::Hlog, Format::Smp];

/// Converts the text of a result to one of [`TEXT_FORMATS`].
///
/// # Errors
/// The reason, when the result cannot be converted to this format.
pub fn text_in(to: Format, result: &str) -> Result<String, String> {
    let kind = documents::kind_of_text(result)?;
    match kind.format {
        LoadResult::FORMAT => {
            let load = LoadBody::from_text(result).map_err(|error| error.to_string())?;
            export::text(to, &load).map_err(str::to_owned)
        }
        StudyResult::FORMAT if to == Format::Smp => {
            let study = StudyBody::from_text(result).map_err(|error| error.to_string())?;
            Ok(smp::text(&smp::of_study(&study)?))
        }
        other => Err(format!(
            "its format is `{other}`, and only results of loads, and those of studies as `smp`, can be converted"
        )),
    }
}

/// The formats among [`TEXT_FORMATS`] that the result in this text can be converted to. Parses only a few fields.
pub fn text_formats_of(result: &str) -> Vec<Format> {
    /// The fields of a load that its exported distributions are made of.
    #[derive(Deserialize)]
    struct Load {
        histograms: Option<IgnoredAny>,
    }
    /// The fields of a study that its SMP documents are made of.
    #[derive(Deserialize)]
    struct Study {
        arms: Vec<Arm>,
    }
    #[derive(Deserialize)]
    struct Arm {
        loads: Vec<IgnoredAny>,
    }
    let (has_times, has_smp) = match documents::kind_of_text(result).map(|kind| kind.format) {
        Ok(LoadResult::FORMAT) => {
            (serde_json::from_str::<Load>(result).is_ok_and(|load| load.histograms.is_some()), true)
        }
        Ok(StudyResult::FORMAT) => {
            let study = serde_json::from_str::<Study>(result);
            (false, study.is_ok_and(|study| study.arms.iter().any(|arm| !arm.loads.is_empty())))
        }
        _ => (false, false),
    };
    let has = |format: Format| if format == Format::Smp { has_smp } else { has_times };
    TEXT_FORMATS.iter().copied().filter(|one| has(*one)).collect()
}

/// The web page of a result of any kind.
fn page(file: &Path) -> Result<String, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("cannot be read: {error}"))?;
    html::page(&results::document(&text)?).map_err(|error| error.to_string())
}

/// The format that a file states. None for an unreadable file: the error is reported when the file is read as a result.
fn format_of(file: &Path) -> Option<String> {
    let value: Value = serde_json::from_str(&fs::read_to_string(file).ok()?).ok()?;
    value.get("format")?.as_str().map(str::to_owned)
}

fn table_as_parquet(study: &StudyResult, table: StudyTable) -> Result<Converted, String> {
    let name = table.as_str();
    let table = table.table(study).ok_or_else(|| {
        format!("this study has no table `{name}`; it has `{}`", StudyTable::names(study).join("`, `"))
    })?;
    let bytes = parquet::bytes(&table);
    bytes.map(Converted::Binary).map_err(|error| format!("cannot convert the table `{name}`: {error}"))
}

/// Sends an OTLP request to a collector. Returns the URL of the collector without user information.
///
/// # Errors
/// When the collector cannot be reached, or does not accept all metrics.
pub fn send(url: &str, request: &str) -> Result<String, Failure> {
    let shown = without_user(url);
    if !url.starts_with("http://") {
        return Err(Failure::bad_input(format!(
            "`--send-to {shown}`: only `http://` is supported; for another protocol, print the request and send it with a tool: \
             `hoptax convert export FILE --to otlp | curl --json @- {shown}`"
        )));
    }
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(TIMEOUT))
        .http_status_as_error(false)
        .proxy(None)
        // Follow no redirect, which could lead to an unsupported protocol. It is reported as the answer.
        .max_redirects(0);
    let agent: ureq::Agent = config.build().into();
    let failed = |reason: String| {
        Failure::environment(format!("the metrics were not received by `{shown}`: {reason}"))
    };
    let sent = agent.post(url).header("content-type", "application/json").send(request);
    let mut response = sent.map_err(|error| failed(error.to_string()))?;
    let body = response.body_mut().read_to_string().map_err(|error| failed(error.to_string()))?;
    let status = response.status();
    if !status.is_success() {
        let body: String = body.chars().take(SHOWN).collect();
        return Err(failed(format!("it answered {status}: {body}")));
    }
    rejected(&body).map_or(Ok(()), |reason| Err(failed(reason)))?;
    Ok(shown)
}

/// Returns the reason why a receiver rejected some of the metrics, which it states in a successful response; None if it accepted all.
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
    use std::io::{self, Write};
    use std::os::fd::AsRawFd;

    use super::*;

    fn recorded(name: &str) -> String {
        fs::read_to_string(format!("{}/../report/recorded/{name}.json", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    #[test]
    fn a_result_has_each_format_that_is_offered_and_no_other() {
        for (name, expected) in
            [("load", &["fortio", "hgrm", "hlog", "smp"][..]), ("study", &["smp"]), ("bill", &[])]
        {
            let result = recorded(name);
            let offered: Vec<&str> = text_formats_of(&result).into_iter().map(Format::name).collect();
            assert_eq!(offered, expected, "{name}");
            for one in TEXT_FORMATS {
                let is_offered = offered.contains(&one.name());
                assert_eq!(text_in(*one, &result).is_ok(), is_offered, "{name} as {}", one.name());
            }
        }
        assert!(text_formats_of("no result").is_empty());
    }

    #[test]
    fn a_run_folder_is_converted_as_its_results() {
        let folder = tempfile::tempdir().unwrap();
        let converted = |path: &Path, to: Format| convert(path, to, StudyTable::Numbers);
        let refused = converted(folder.path(), Format::Smp).unwrap_err().to_string();
        assert!(refused.contains("is not a run folder"), "{refused}");
        fs::write(folder.path().join("result.json"), recorded("study")).unwrap();
        fs::write(folder.path().join("gate.json"), recorded("gate")).unwrap();
        let result = folder.path().join("result.json");
        let tables = [folder.path(), result.as_path()].map(|path| converted(path, Format::Parquet).unwrap());
        let [Converted::Binary(of_folder), Converted::Binary(of_file)] = tables else { panic!() };
        assert_eq!(of_folder, of_file);
        assert!(converted(folder.path(), Format::Smp).is_ok());
        let Ok(Converted::Text(page)) = converted(folder.path(), Format::Html) else { panic!() };
        assert!(page.contains("exceeds 1 of 3 limits"), "the page of the gate");
    }

    #[test]
    fn the_page_of_a_result_is_made_of_a_pipe_which_is_read_once() {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(recorded("gate").as_bytes()).unwrap();
        drop(writer);
        let pipe = format!("/proc/self/fd/{}", reader.as_raw_fd());
        let page = convert(pipe.as_ref(), Format::Html, StudyTable::Numbers);
        assert!(matches!(page, Ok(Converted::Text(_))), "{page:?}");
    }

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
