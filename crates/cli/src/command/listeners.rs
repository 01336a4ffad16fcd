//! `hoptax listeners`: Envoy configurations from a short list of listeners.

use std::fs;
use std::path::Path;

use hoptax_listeners::{Form, Plan, Source, read, render};
use hoptax_text::yaml::file;

use crate::arguments::{ListenersCommand, RenderArguments};
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(command: &ListenersCommand) -> Result<Code, Failure> {
    match command {
        ListenersCommand::Render(arguments) => rendered(arguments),
    }
}

fn rendered(arguments: &RenderArguments) -> Result<Code, Failure> {
    let form = arguments.form.form();
    if form == Form::LdsCds && arguments.out.is_none() {
        return Err(Failure::bad_input("`--as lds-cds` makes two files: say where with `--out FOLDER`"));
    }
    let plan = plan(&arguments.file, arguments.services.as_deref())?;
    let outputs = render(&plan).map_err(Failure::bad_input)?.outputs(form, arguments.format.format());
    let Some(folder) = &arguments.out else {
        let text: String = outputs.into_iter().map(|output| output.text).collect();
        print::result(text.trim_end_matches('\n'))?;
        return Ok(Code::Success);
    };
    fs::create_dir_all(folder)
        .map_err(|error| Failure::environment(format!("cannot make `{}`: {error}", folder.display())))?;
    for output in outputs {
        let path = folder.join(&output.name);
        print::write_file(&path, &output.text)?;
        print::note(&format!("{} is written", path.display()));
    }
    Ok(Code::Success)
}

/// What a file says, with the services of another one.
fn plan(path: &Path, services: Option<&Path>) -> Result<Plan, Failure> {
    let text = text_of(path)?;
    let other = services.map(text_of).transpose()?;
    let (name, other_name) = (path.display().to_string(), services.map(|path| path.display().to_string()));
    let other = other.as_deref().zip(other_name.as_deref()).map(|(text, name)| Source { name, text });
    read(Source { name: &name, text: &text }, other).map_err(Failure::bad_input)
}

fn text_of(path: &Path) -> Result<String, Failure> {
    file::read(path).map_err(|error| Failure::bad_input(format!("cannot read `{}`: {error}", path.display())))
}
