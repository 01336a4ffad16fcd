//! `hoptax graph`: runs graphs of `hoptax size`, and makes graph files from the files of other programs.

mod run;

use std::fs;
use std::path::{Path, PathBuf};

use hoptax_size::graph;
use hoptax_size::import::{Imported, isotope, kubernetes};

use super::functions::load;
use crate::arguments::{GraphArguments, GraphSource};
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &GraphArguments) -> Result<Code, Failure> {
    let imported = match &arguments.source {
        GraphSource::Run(arguments) => return run::run(arguments),
        GraphSource::Isotope { file } => {
            isotope::read(&file.display().to_string(), &read(file)?).map_err(Failure::bad_input)?
        }
        GraphSource::Kubernetes { folder, entry } => {
            let mut paths = Vec::new();
            manifests(folder, &mut paths)?;
            let files = paths
                .iter()
                .map(|path| Ok((path.display().to_string(), read(path)?)))
                .collect::<Result<Vec<_>, Failure>>()?;
            kubernetes::read(&name(folder), &files, entry.as_deref()).map_err(Failure::bad_input)?
        }
    };
    print::result(&checked(&imported)?)?;
    Ok(Code::Success)
}

/// The graph file, which `hoptax size` accepts.
fn checked(imported: &Imported) -> Result<String, Failure> {
    let text = imported.to_yaml();
    let problem =
        |problems| Failure::bad_input(format!("the graph cannot be predicted:\n{problems}\n\n{text}"));
    graph::read("graph", &text, &load()?).map_err(problem)?;
    Ok(text)
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path)
        .map_err(|error| Failure::bad_input(format!("cannot read `{}`: {error}", path.display())))
}

/// The name of a folder, for its graph.
fn name(folder: &Path) -> String {
    let path = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    path.file_name().map_or_else(|| "graph".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The manifests of a folder and of all folders within it, by name.
fn manifests(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let unreadable =
        |error| Failure::bad_input(format!("cannot read the folder `{}`: {error}", folder.display()));
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        entries.push(entry.map_err(unreadable)?.path());
    }
    entries.sort();
    for path in entries {
        let extension = path.extension().and_then(|extension| extension.to_str());
        if path.is_dir() && !path.is_symlink() {
            manifests(&path, found)?;
        } else if matches!(extension, Some("yaml" | "yml")) {
            found.push(path);
        }
    }
    Ok(())
}
