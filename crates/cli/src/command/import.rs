//! `hoptax convert import`: converts the output of another load generator, or a result in another format, to a result.

use hoptax_report::documents;
use hoptax_tools::smp::Restored;
use hoptax_tools::{Content, Importer};

use super::input::{read, refused};
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
