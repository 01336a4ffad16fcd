//! `hoptax convert import`: converts the output of another load generator, or a result in another format, to a result.

use std::io::{self, Read};
use std::path::Path;

use hoptax_report::documents;
use hoptax_text::yaml::file;
use hoptax_tools::smp::Restored;
use hoptax_tools::{Content, Importer};

use super::{load, parquet};
use crate::arguments::ImportArguments;
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &ImportArguments) -> Result<Code, Failure> {
    let (path, json) = (&arguments.file, arguments.json.file());
    let statistic = arguments.statistic.as_deref();
    let importer = Importer::named(&arguments.format, statistic).map_err(Failure::bad_input)?;
    let text = match importer.content() {
        Content::Parquet => parquet::csv(path)?,
        Content::Text => read(path)?,
    };
    let (result, unused) = importer.read(&text, statistic).map_err(|problems| refused(path, &problems))?;
    if !unused.is_empty() {
        print::note(&format!("hoptax: `{}`: not used: {}", path.display(), unused.join(", ")));
    }
    match result {
        Restored::Load(result) => load::write(json, &result)?,
        Restored::Study(result) => print::document_or_json(json, &*result, || documents::study(&result))?,
    }
    Ok(Code::Success)
}

/// Reads a file; `-` is stdin.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    let text = if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).and_then(|_| file::text(bytes))
    } else {
        file::read(path)
    };
    text.map_err(|error| unreadable(path, &error))
}

/// The failure to read a file.
pub(super) fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::bad_input(format!("cannot read `{}`: {error}", path.display()))
}

/// Problems of a file, each on a line with its name.
pub(super) fn refused(path: &Path, problems: &[String]) -> Failure {
    let lines: Vec<String> =
        problems.iter().map(|problem| format!("`{}`: {problem}", path.display())).collect();
    Failure::bad_input(lines.join("\n"))
}
