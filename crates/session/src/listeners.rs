//! Reads the files of listeners that a user names, and checks that Envoy does what they say ([`check`]).

mod bench;
pub mod check;
mod client;
mod limits;
mod servers;

use std::path::Path;

use hoptax_listeners::{Plan, Source, is_listeners, read, render};
use hoptax_text::yaml::file;

use crate::failure::Failure;

/// The bootstrap for a listeners file, and for each of its lines that of the file; none for another file.
///
/// # Errors
/// All problems of the file.
pub fn bootstrap_of(path: &Path) -> Result<Option<(String, Vec<u64>)>, Failure> {
    // Other files are read, and refused, elsewhere.
    let Ok(text) = file::read(path) else { return Ok(None) };
    if !is_listeners(&text) {
        return Ok(None);
    }
    let rendered = render(&plan(path, None)?).map_err(Failure::bad_input)?;
    Ok(Some(rendered.traced()))
}

/// What a file says, with the services of another one.
///
/// # Errors
/// When one cannot be read, and all problems of them.
pub fn plan(path: &Path, services: Option<&Path>) -> Result<Plan, Failure> {
    let text = text_of(path)?;
    let other = services.map(text_of).transpose()?;
    let (name, other_name) = (path.display().to_string(), services.map(|path| path.display().to_string()));
    let other = other.as_deref().zip(other_name.as_deref()).map(|(text, name)| Source { name, text });
    read(Source { name: &name, text: &text }, other).map_err(Failure::bad_input)
}

fn text_of(path: &Path) -> Result<String, Failure> {
    file::read(path).map_err(|error| Failure::bad_input(format!("cannot read `{}`: {error}", path.display())))
}
