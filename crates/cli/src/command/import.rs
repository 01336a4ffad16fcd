//! `hoptax convert import`: converts the output of another load generator, or a result in another format, to a result.

use std::io::{self, Read};
use std::path::Path;

use hoptax_report::documents;
use hoptax_text::yaml::file;
use hoptax_tools::smp::Restored;
use hoptax_tools::{ALL, Content, FORMATS, find, import};

use super::{load, parquet};
use crate::arguments::ImportArguments;
use crate::exit::{Code, Failure};
use crate::print;

/// The format of Service Mesh Performance.
const SMP: &str = "smp";

/// Runs the command.
pub(crate) fn run(arguments: &ImportArguments) -> Result<Code, Failure> {
    let (named, name) = (arguments.file.display(), arguments.format.as_str());
    let (tool, format) = (find(name), FORMATS.iter().find(|format| format.name == name));
    if tool.is_none() && format.is_none() && name != SMP {
        let formats = FORMATS.iter().map(|format| format.name);
        let names: Vec<&str> =
            [SMP].into_iter().chain(formats).chain(ALL.iter().map(|tool| tool.name)).collect();
        return Err(Failure::bad_input(format!(
            "unknown format `{name}`; supported are {}",
            names.join(", ")
        )));
    }
    let statistic = arguments.statistic.as_deref();
    let has_statistics =
        tool.is_some_and(|tool| tool.has_statistics) || format.is_some_and(|format| format.has_statistics);
    if statistic.is_some() && !has_statistics {
        let formats = FORMATS.iter().filter(|format| format.has_statistics).map(|format| format.name);
        let tools = ALL.iter().filter(|tool| tool.has_statistics).map(|tool| tool.name);
        let names: Vec<&str> = formats.chain(tools).collect();
        return Err(Failure::bad_input(format!(
            "`--statistic` is for the formats `{}`; `{name}` holds one",
            names.join("`, `")
        )));
    }
    let not_output =
        |reason| Failure::bad_input(format!("`{named}` is not output of {name} that can be read: {reason}"));
    let text = match format.map(|format| format.content) {
        Some(Content::Parquet) => parquet::csv(&arguments.file),
        Some(Content::Text) | None => read(&arguments.file).map(Ok),
    };
    let text = text.map_err(|error| Failure::bad_input(format!("cannot read `{named}`: {error}")))?;
    let text = text.map_err(not_output)?;
    let result = match (tool, format) {
        (Some(tool), _) => import(tool, &text, statistic),
        (None, Some(format)) => (format.read)(&text, statistic),
        (None, None) => return from_smp(arguments, &text),
    };
    let result = result.map_err(not_output)?;
    load::write(arguments.json.file(), &result)?;
    Ok(Code::Success)
}

/// A result of a load or of a study in the format of SMP.
fn from_smp(arguments: &ImportArguments, text: &str) -> Result<Code, Failure> {
    let (named, json) = (arguments.file.display(), arguments.json.file());
    let bad = |problem: String| Failure::bad_input(format!("`{named}`: {problem}"));
    let file =
        hoptax_tools::smp::read(text).map_err(|problems| bad(problems.join(&format!("\n`{named}`: "))))?;
    if !file.unused.is_empty() {
        print::note(&format!("hoptax: `{named}`: not used: {}", file.unused.join(", ")));
    }
    match hoptax_tools::smp::restore(&file.documents).map_err(bad)? {
        Restored::Load(result) => load::write(json, &result)?,
        Restored::Study(result) => {
            print::document_or_json(json, &*result, || documents::study(&result))?;
        }
    }
    Ok(Code::Success)
}

/// Reads a file; `-` is stdin.
pub(super) fn read(path: &Path) -> io::Result<String> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes)?;
        return file::text(bytes);
    }
    file::read(path)
}
