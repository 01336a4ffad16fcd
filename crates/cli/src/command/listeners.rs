//! `hoptax listeners`: Envoy configurations from a short list of listeners.

use std::fs;
use std::path::Path;

use hoptax_listeners::{Form, Imported, Plan, Source, import, is_listeners, read, render};
use hoptax_subject::envoy::given::read_partly;
use hoptax_text::yaml::file;

use crate::arguments::{ImportListenersArguments, ListenersCommand, RenderArguments};
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(command: &ListenersCommand) -> Result<Code, Failure> {
    match command {
        ListenersCommand::Render(arguments) => rendered(arguments),
        ListenersCommand::Import(arguments) => imported(arguments),
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

fn imported(arguments: &ImportListenersArguments) -> Result<Code, Failure> {
    let all = read_partly(&arguments.file).map_err(Failure::bad_input)?;
    let [read] = all.as_slice() else {
        let many = format!(
            "`{}` holds {} configurations: name one of them behind `#`",
            arguments.file.display(),
            all.len()
        );
        return Err(Failure::bad_input(many));
    };
    let Imported { text, left } = import(read.configuration.tree());
    if text.is_empty() {
        return Err(Failure::bad_input(left.join("\n")));
    }
    print::result(&text)?;
    if !left.is_empty() {
        print::note(&format!("not expressed:\n  {}", left.join("\n  ")));
    }
    Ok(Code::Success)
}

/// The bootstrap for a listeners file, and for each of its lines that of the file; none for another file.
///
/// # Errors
/// All problems of the file.
pub(super) fn bootstrap_of(path: &Path) -> Result<Option<(String, Vec<u64>)>, Failure> {
    // Other files are read, and refused, elsewhere.
    let Ok(text) = file::read(path) else { return Ok(None) };
    if !is_listeners(&text) {
        return Ok(None);
    }
    let rendered = render(&plan(path, None)?).map_err(Failure::bad_input)?;
    Ok(Some(rendered.traced()))
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
