//! Reads a graph from a graph file, from a topology of isotope, or from a folder with manifests of Kubernetes.

use std::fs;
use std::path::{Path, PathBuf};

use hoptax_predict::size::graph;
use hoptax_predict::size::import::kubernetes::{self as manifests, ManifestFile};
use hoptax_predict::size::import::{Imported, isotope};
use hoptax_text::file::configuration;

use crate::{Failure, Say, Update, library};

/// A graph file.
#[derive(Debug)]
pub(super) struct GraphText {
    /// Its path or its name.
    pub(super) name: String,
    /// Its content.
    pub(super) text: String,
}

/// The file of a graph: `graph` is a path or the name of a graph that comes with the program. `entry` is the service or workload at which
/// outside requests arrive.
///
/// # Errors
/// When there is no file with this path and no graph with this name, or the file cannot be read.
pub(super) fn named(graph: &str, entry: Option<&str>, say: Say<'_>) -> Result<GraphText, Failure> {
    let path = Path::new(graph);
    let is_path = graph.contains('/') || path.extension().is_some() || path.exists();
    if is_path {
        return Ok(GraphText { name: graph.to_owned(), text: graph_text(path, entry, say)? });
    }
    let text = library::graph(graph).ok_or_else(|| {
        let names = library::graph_names();
        let hint = hoptax_text::nearest::hint(graph, names.iter().map(String::as_str));
        Failure::bad_input(format!(
            "unknown graph `{graph}`{hint}\ngraphs that come with the program are `{}`; give the path of your own graph file",
            names.join("`, `")
        ))
    })?;
    refuse_entry(entry)?;
    Ok(GraphText { name: format!("{graph}.yaml"), text: text.to_owned() })
}

/// Refuses the entry of a graph that states its own.
fn refuse_entry(entry: Option<&str>) -> Result<(), Failure> {
    match entry {
        Some(_) => Err(Failure::bad_input(
            "`--entry` is for a topology or a folder with manifests; a graph file states its entry",
        )),
        None => Ok(()),
    }
}

/// Returns the text of a graph file at `path`, or the graph file made from an isotope topology or a folder of manifests. Notes state the
/// assumptions of the conversion.
fn graph_text(path: &Path, entry: Option<&str>, say: Say<'_>) -> Result<String, Failure> {
    let imported = if path.is_dir() {
        kubernetes(path, entry)?
    } else {
        let text = read(path)?;
        if !isotope::is_topology(&text) {
            refuse_entry(entry)?;
            return Ok(text);
        }
        isotope::read(&path.display().to_string(), &text, entry).map_err(Failure::bad_input)?
    };
    for note in &imported.notes {
        say(Update::Problem(&format!("`{}`: {note}", path.display())));
    }
    Ok(imported.to_yaml())
}

/// The text of an imported graph as a graph file, if `hoptax predict size` accepts it.
///
/// # Errors
/// The problems of the file, with its text.
pub fn checked(imported: &Imported) -> Result<String, Failure> {
    let text = imported.to_yaml();
    let problem =
        |problems| Failure::bad_input(format!("the graph cannot be predicted:\n{problems}\n\n{text}"));
    graph::read("graph", &text, library::catalogue()?).map_err(problem)?;
    Ok(text)
}

/// The graph of a topology of isotope.
///
/// # Errors
/// When the file cannot be read, or is no topology with a clear entry.
pub fn isotope_topology(path: &Path, entry: Option<&str>) -> Result<Imported, Failure> {
    isotope::read(&path.display().to_string(), &read(path)?, entry).map_err(Failure::bad_input)
}

/// The graph of a folder of manifests, or of one manifest file, as Helm renders a chart.
///
/// # Errors
/// When a file cannot be read, or the manifests have no workload or no clear entry.
pub fn kubernetes(folder: &Path, entry: Option<&str>) -> Result<Imported, Failure> {
    let mut paths = Vec::new();
    if folder.is_file() {
        paths.push(folder.to_owned());
    } else {
        find(folder, &mut paths)?;
    }
    let file = |path: &PathBuf| Ok(ManifestFile { name: path.display().to_string(), text: read(path)? });
    let files = paths.iter().map(file).collect::<Result<Vec<_>, Failure>>()?;
    manifests::read(&name(folder), &files, entry).map_err(Failure::bad_input)
}

fn read(path: &Path) -> Result<String, Failure> {
    configuration(path).map_err(|error| Failure::cannot_read(path, error))
}

/// The name of a folder, for its graph.
fn name(folder: &Path) -> String {
    let path = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    path.file_name().map_or_else(|| "graph".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Finds the manifests in a folder and its subfolders, in the order of their names.
fn find(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
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
            find(&path, found)?;
        } else if matches!(extension, Some("yaml" | "yml")) {
            found.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use hoptax_functions::Catalogue;

    use super::*;
    use crate::graph::plan;

    #[test]
    fn every_graph_of_the_program_can_be_run_with_four_proxies_at_most() {
        let catalogue = Catalogue::load().unwrap();
        assert_eq!(library::graph_names().len(), 5);
        for name in library::graph_names() {
            let graph = named(&name, None, &|_| ()).unwrap();
            let plan =
                plan::read(&graph.name, &graph.text, catalogue).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(plan.run.name, name, "a graph's name is that of its file");
            assert!((1..=4).contains(&plan.run.workers()), "{name}");
        }
    }

    #[test]
    fn an_unknown_name_is_an_error_that_lists_the_graphs() {
        let error = named("chian", None, &|_| ()).err().unwrap().to_string();
        assert!(error.contains("did you mean `chain`?") && error.contains("`sidecar`"), "{error}");
    }

    #[test]
    fn an_entry_is_refused_where_the_graph_states_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("shop.yaml");
        fs::write(&file, library::graph("chain").unwrap()).unwrap();
        for graph in ["chain", file.to_str().unwrap()] {
            let refused = named(graph, Some("front"), &|_| ()).err().unwrap().to_string();
            assert!(refused.contains("`--entry`") && refused.contains("states its entry"), "{refused}");
        }
    }
}
