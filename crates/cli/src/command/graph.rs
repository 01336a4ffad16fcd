//! `hoptax lab graph`: runs graphs of `hoptax predict size`, and makes graph files from the files of other programs.

pub(super) mod file;
mod run;

use hoptax_predict::size::graph;
use hoptax_predict::size::import::{Imported, isotope};
use hoptax_session::library::catalogue as load;

use crate::arguments::{GraphArguments, GraphSource};
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &GraphArguments) -> Result<Code, Failure> {
    let imported = match &arguments.source {
        GraphSource::Run(arguments) => return run::run(arguments),
        GraphSource::Isotope { file, entry } => {
            let text = file::read(file)?;
            isotope::read(&file.display().to_string(), &text, entry.as_deref()).map_err(Failure::bad_input)?
        }
        GraphSource::Kubernetes { folder, entry } => file::kubernetes(folder, entry.as_deref())?,
    };
    print::result(&checked(&imported)?)?;
    Ok(Code::Success)
}

/// The graph file, which `hoptax predict size` accepts.
fn checked(imported: &Imported) -> Result<String, Failure> {
    let text = imported.to_yaml();
    let problem =
        |problems| Failure::bad_input(format!("the graph cannot be predicted:\n{problems}\n\n{text}"));
    graph::read("graph", &text, &load()?).map_err(problem)?;
    Ok(text)
}
