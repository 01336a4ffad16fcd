//! `hoptax listeners`: Envoy configurations from a short list of listeners.

use std::fs;

use hoptax_listeners::{Form, Imported, render};
use hoptax_report::documents;
use hoptax_result::{PromiseOutcome, Verdict};
use hoptax_session::listeners::check::{ListenersCheckSettings, check};
use hoptax_session::listeners::{import, plan};

use crate::arguments::{
    CheckListenersArguments, ImportListenersArguments, ListenersCommand, RenderArguments,
};
use crate::command::listeners_run;
use crate::exit::{Code, Failure};
use crate::{interrupt, print};

/// Runs the command.
pub(crate) fn run(command: &ListenersCommand) -> Result<Code, Failure> {
    match command {
        ListenersCommand::Render(arguments) => rendered(arguments),
        ListenersCommand::Check(arguments) => checked(arguments),
        ListenersCommand::Run(arguments) => listeners_run::run(arguments),
        ListenersCommand::Status(arguments) => listeners_run::status(arguments),
        ListenersCommand::Import(arguments) => imported(arguments),
    }
}

fn rendered(arguments: &RenderArguments) -> Result<Code, Failure> {
    let form = arguments.form;
    if form == Form::LdsCds && arguments.out.is_none() {
        return Err(Failure::bad_input("`--as lds-cds` makes two files: say where with `--out FOLDER`"));
    }
    let plan = plan(&arguments.listeners.file, arguments.listeners.catalogue.file())?;
    let outputs = render(&plan).map_err(Failure::bad_input)?.outputs(form, arguments.format);
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
    if form == Form::LdsCds {
        print::note(
            "`admin` and `connection_limit` are not in these files: they belong to the bootstrap, which you keep",
        );
    }
    Ok(Code::Success)
}

fn checked(arguments: &CheckListenersArguments) -> Result<Code, Failure> {
    let settings = ListenersCheckSettings {
        file: &arguments.listeners.file,
        services: arguments.listeners.catalogue.file(),
        envoy: arguments.envoy.choice(),
    };
    let interrupt = interrupt::listen()?;
    let result = check(&settings, &interrupt, &print::say)?;
    print::document_or_json(arguments.json.file(), &result, || documents::listeners_check(&result))?;
    Ok(match result.verdict {
        Verdict::Void => Code::Void,
        _ if result.count(PromiseOutcome::Broken) > 0 => Code::ConditionFailed,
        _ => Code::Success,
    })
}

fn imported(arguments: &ImportListenersArguments) -> Result<Code, Failure> {
    let Imported { text, left } = import(&arguments.file)?;
    print::result(&text)?;
    if !left.is_empty() {
        print::note(&format!("not expressed:\n  {}", left.join("\n  ")));
    }
    Ok(Code::Success)
}
