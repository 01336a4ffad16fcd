//! Reads listeners files, and checks that Envoy does what they say ([`check`]).

mod acceptor;
mod bench;
pub mod check;
mod client;
mod full_backlog;
mod limits;
mod servers;

use std::path::Path;

use hoptax_listeners::{Imported, Lines, Plan, Source, is_listeners, read, render};
use hoptax_subject::envoy::given::read_partly;
use hoptax_text::command_line::word;
use hoptax_text::yaml::file;
use serde_json::Value;

use crate::failure::Failure;

/// A listeners file with the bootstrap that is rendered from it.
#[derive(Debug)]
pub(crate) struct ListenersFile {
    /// The text of the file.
    pub(crate) text: String,
    /// The bootstrap rendered from it.
    pub(crate) bootstrap: Value,
    /// The line of the file that each node of the bootstrap comes from.
    pub(crate) lines: Lines,
}

/// True if a file is a listeners file.
pub fn is_listeners_file(path: &Path) -> bool {
    file::configuration(path).is_ok_and(|text| is_listeners(&text))
}

/// Reads a listeners file, with the services of another file, and renders its bootstrap; None if the file is not a listeners file.
///
/// # Errors
/// All problems of the files.
pub(crate) fn listeners_file(path: &Path, services: Option<&Path>) -> Result<Option<ListenersFile>, Failure> {
    // Ignore a file that cannot be read: the caller reads it, too, and reports the problem.
    let Ok(text) = file::configuration(path) else { return Ok(None) };
    if !is_listeners(&text) {
        return Ok(None);
    }
    let rendered = render(&plan(path, services)?).map_err(Failure::bad_input)?;
    let (bootstrap, lines) = rendered.traced();
    Ok(Some(ListenersFile { text, bootstrap, lines }))
}

/// Returns the plan of a listeners file, with the services of another file.
///
/// # Errors
/// When a file cannot be read, and for all problems of the files.
pub fn plan(path: &Path, services: Option<&Path>) -> Result<Plan, Failure> {
    let text = text_of(path)?;
    let other = services.map(text_of).transpose()?;
    let (name, other_name) = (path.display().to_string(), services.map(|path| path.display().to_string()));
    let other = other.as_deref().zip(other_name.as_deref()).map(|(text, name)| Source { name, text });
    read(Source { name: &name, text: &text }, other).map_err(Failure::bad_input)
}

/// The listeners file made from an Envoy configuration, and the parts that it cannot express.
///
/// # Errors
/// When the file cannot be read, is a listeners file already, holds several configurations, or has nothing that listeners can express.
pub fn import(path: &Path) -> Result<Imported, Failure> {
    let file = path.display();
    if is_listeners_file(path) {
        let already = format!(
            "`{file}` is already a listeners file; `hoptax listeners render {}` makes a configuration from it",
            word(path.display())
        );
        return Err(Failure::bad_input(already));
    }
    let all = read_partly(path).map_err(Failure::bad_input)?;
    let [read] = all.as_slice() else {
        let many = format!(
            "`{file}` holds {} configurations: append the key of one of them, as in `map.yaml#envoy.yaml`",
            all.len()
        );
        return Err(Failure::bad_input(many));
    };
    let imported = hoptax_listeners::import(read.configuration.tree());
    if imported.text.is_empty() { Err(Failure::bad_input(imported.left.join("\n"))) } else { Ok(imported) }
}

fn text_of(path: &Path) -> Result<String, Failure> {
    file::configuration(path)
        .map_err(|error| Failure::bad_input(format!("cannot read `{}`: {error}", path.display())))
}
