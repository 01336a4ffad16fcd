//! `hoptax import`: converts the output of another load generator to a result.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use hoptax_tools::{ALL, find, import};

use super::load;
use crate::arguments::ImportArguments;
use crate::exit::{Code, Failure};

/// Runs the command.
pub(crate) fn run(arguments: &ImportArguments) -> Result<Code, Failure> {
    let tool = find(&arguments.tool).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|tool| tool.name).collect();
        Failure::bad_input(format!("unknown tool `{}`; supported are {}", arguments.tool, names.join(", ")))
    })?;
    let named = arguments.file.display();
    let text = read(&arguments.file)
        .map_err(|error| Failure::bad_input(format!("cannot read `{named}`: {error}")))?;
    let result = import(tool, &text).map_err(|reason| {
        Failure::bad_input(format!("`{named}` is not output of {}: {reason}", tool.name))
    })?;
    load::write(arguments.json.as_deref(), &result)?;
    Ok(Code::Success)
}

fn read(path: &Path) -> io::Result<String> {
    if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    fs::read_to_string(path)
}
