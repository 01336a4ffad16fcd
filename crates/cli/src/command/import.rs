//! `hoptax import`: converts the output of another load generator, or a result in another format, to a result.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use hoptax_report::terminal;
use hoptax_smp::Restored;
use hoptax_tools::{ALL, find, import, import_hgrm};

use super::load;
use crate::arguments::ImportArguments;
use crate::exit::{Code, Failure};
use crate::print;

/// Formats that are not those of one tool.
const SMP: &str = "smp";
const HGRM: &str = "hgrm";

/// Runs the command.
pub(crate) fn run(arguments: &ImportArguments) -> Result<Code, Failure> {
    let (named, format) = (arguments.file.display(), arguments.format.as_str());
    let tool = find(format);
    if tool.is_none() && ![SMP, HGRM].contains(&format) {
        let names: Vec<&str> = [SMP, HGRM].into_iter().chain(ALL.iter().map(|tool| tool.name)).collect();
        return Err(Failure::bad_input(format!(
            "unknown format `{format}`; supported are {}",
            names.join(", ")
        )));
    }
    let text = read(&arguments.file)
        .map_err(|error| Failure::bad_input(format!("cannot read `{named}`: {error}")))?;
    let refused =
        |reason: String| Failure::bad_input(format!("`{named}` is not output of {format}: {reason}"));
    let result = match tool {
        Some(tool) => import(tool, &text).map_err(refused)?,
        None if format == HGRM => import_hgrm(&text).map_err(refused)?,
        None => return from_smp(arguments, &text),
    };
    load::write(arguments.json.as_deref(), &result)?;
    Ok(Code::Success)
}

/// A result of a load or of a study in the format of SMP.
fn from_smp(arguments: &ImportArguments, text: &str) -> Result<Code, Failure> {
    let (named, json) = (arguments.file.display(), arguments.json.as_deref());
    let bad = |problem: String| Failure::bad_input(format!("`{named}`: {problem}"));
    let file = hoptax_smp::read(text).map_err(|problems| bad(problems.join(&format!("\n`{named}`: "))))?;
    if !file.unused.is_empty() {
        print::note(&format!("hoptax: `{named}`: not used: {}", file.unused.join(", ")));
    }
    match hoptax_smp::restore(&file.documents).map_err(bad)? {
        Restored::Load(result) => load::write(json, &result)?,
        Restored::Study(result) => {
            print::table_or_json(json, &*result, || terminal::study(&result, print::style()))?;
        }
    }
    Ok(Code::Success)
}

/// Reads a file; `-` is stdin.
pub(super) fn read(path: &Path) -> io::Result<String> {
    if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    fs::read_to_string(path)
}
