//! Reads listeners files, and checks that Envoy does what they say ([`check`]).

mod acceptor;
mod bench;
pub mod check;
mod client;
mod full_backlog;
mod limits;
mod servers;

use std::fs;
use std::path::Path;

use hoptax_listeners::{Form, Format, LeftOut, Lines, Plan, Source, is_listeners, read, render};
use hoptax_subject::envoy::given::read_partly;
use hoptax_text::command_line::path_word;
use hoptax_text::file;
use serde_json::Value;

use crate::failure::Failure;
use crate::update::{Say, Update};

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
pub(crate) fn is_listeners_file(path: &Path) -> bool {
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
pub(crate) fn plan(path: &Path, services: Option<&Path>) -> Result<Plan, Failure> {
    let text = text_of(path)?;
    let other = services.map(text_of).transpose()?;
    let (name, other_name) = (path.display().to_string(), services.map(|path| path.display().to_string()));
    let other = other.as_deref().zip(other_name.as_deref()).map(|(text, name)| Source { name, text });
    read(Source { name: &name, text: &text }, other).map_err(Failure::bad_input)
}

/// What is rendered of a listeners file.
#[derive(Clone, Copy, Debug)]
pub struct Rendering<'a> {
    /// The file.
    pub file: &'a Path,
    /// A file of services that it names.
    pub services: Option<&'a Path>,
    /// The files to make.
    pub form: Form,
    /// How they are written.
    pub format: Format,
    /// Their folder; none for a text.
    pub folder: Option<&'a Path>,
}

/// Renders a listeners file: into a folder, of whose files notes tell, or without one as the returned text.
///
/// # Errors
/// For all problems of the files, when a form of several files has no folder, and when a file cannot be written.
pub fn rendered(rendering: Rendering<'_>, say: Say<'_>) -> Result<Option<String>, Failure> {
    let Rendering { file, services, form, format, folder } = rendering;
    if form == Form::LdsCds && folder.is_none() {
        return Err(Failure::bad_input(
            "`--as lds-cds` writes two files: name their folder with `--out FOLDER`",
        ));
    }
    let outputs = render(&plan(file, services)?).map_err(Failure::bad_input)?.outputs(form, format);
    let Some(folder) = folder else {
        let text: String = outputs.into_iter().map(|output| output.text).collect();
        return Ok(Some(text.trim_end_matches('\n').to_owned()));
    };
    fs::create_dir_all(folder)
        .map_err(|error| Failure::environment(format!("cannot create `{}`: {error}", folder.display())))?;
    for output in outputs {
        let path = folder.join(&output.name);
        fs::write(&path, &output.text).map_err(|error| Failure::cannot_write(&path, error))?;
        say(Update::Note(&format!("{} is written", path.display())));
    }
    if form == Form::LdsCds {
        say(Update::Note(
            "`admin` and `connection_limit` are not in these files: they belong to the bootstrap, which you keep",
        ));
    }
    Ok(None)
}

/// A listeners file made from an Envoy configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedListeners {
    /// The file, YAML. A comment at its start names what was lost.
    pub text: String,
    /// The parts that it does not carry over, each with its line.
    pub lost: Vec<String>,
    /// The names that differ, each with its line. No request depends on them.
    pub names: Vec<String>,
}

impl ImportedListeners {
    /// What a user should know of the file: what was lost, and which names differ.
    pub fn notes(&self) -> Vec<String> {
        let about = [
            ("not carried over, as a comment in the file says:", &self.lost),
            ("names that differ, on which no request depends:", &self.names),
        ];
        let some = about.into_iter().filter(|(_, lines)| !lines.is_empty());
        some.map(|(heading, lines)| format!("{heading}\n  {}", lines.join("\n  "))).collect()
    }
}

/// The listeners file made from an Envoy configuration, and the parts that it cannot express.
///
/// # Errors
/// When the file cannot be read, is a listeners file already, holds several configurations, or has nothing that listeners can express.
pub fn import(path: &Path) -> Result<ImportedListeners, Failure> {
    let file = path.display();
    if is_listeners_file(path) {
        let already = format!(
            "`{file}` is already a listeners file; `hoptax listeners render {}` makes a configuration from it",
            path_word(path)
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
    let with_line = |part: &LeftOut| {
        let place = part.pointer.as_deref().map(|pointer| read.configuration.place(pointer));
        match place.filter(|place| place.line > 0) {
            Some(place) if Path::new(&place.file) == path => format!("{} (line {})", part.words, place.line),
            Some(place) => format!("{} ({place})", part.words),
            None => part.words.clone(),
        }
    };
    let (names, lost): (Vec<&LeftOut>, Vec<&LeftOut>) = imported.left.iter().partition(|part| part.is_name);
    let in_words = |parts: Vec<&LeftOut>| parts.into_iter().map(with_line).collect::<Vec<String>>();
    let (lost, names) = (in_words(lost), in_words(names));
    if imported.text.is_empty() {
        return Err(Failure::bad_input(lost.join("\n")));
    }
    Ok(ImportedListeners { text: with_comment(&lost, imported.text), lost, names })
}

/// The file after a comment about what was lost.
fn with_comment(lost: &[String], text: String) -> String {
    if lost.is_empty() {
        return text;
    }
    // A name with a line break must not end the comment.
    let is_break = |letter: char| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}');
    let lines: Vec<String> = lost.iter().map(|line| format!("# - {}", line.replace(is_break, " "))).collect();
    format!("# Not carried over by the import:\n{}\n{text}", lines.join("\n"))
}

fn text_of(path: &Path) -> Result<String, Failure> {
    file::configuration(path).map_err(|error| Failure::cannot_read(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::update::tests::noted;

    const PROXY: &str = "\
static_resources:
  listeners:
  - name: front
    address: {socket_address: {address: 0.0.0.0, port_value: 10000}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          \"@type\": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: own
          route_config:
            virtual_hosts:
            - name: all
              domains: [\"*\"]
              routes:
              - match: {prefix: \"/\"}
                route: {cluster: app}
          http_filters:
          - name: envoy.filters.http.lua
            typed_config:
              \"@type\": type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua
          - name: envoy.filters.http.router
            typed_config:
              \"@type\": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
  clusters:
  - name: app
    type: STRICT_DNS
    load_assignment:
      cluster_name: app
      endpoints:
      - lb_endpoints:
        - endpoint: {address: {socket_address: {address: app.internal, port_value: 8080}}}
";

    #[test]
    fn a_lost_filter_has_its_line_also_in_the_file_and_names_are_apart() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("envoy.yaml");
        fs::write(&file, PROXY).unwrap();
        let imported = import(&file).unwrap();
        let lua = "listener `front`: the HTTP filter `envoy.filters.http.lua` (line 19)";
        assert!(imported.lost.iter().any(|line| line == lua), "{imported:?}");
        assert!(imported.text.starts_with("# Not carried over by the import:\n# - "), "{imported:?}");
        assert!(imported.text.contains(&format!("# - {lua}\n")), "{imported:?}");
        let prefix = "listener `front`: /stat_prefix of its connection manager (line 10)";
        assert!(imported.names.iter().any(|line| line == prefix), "{imported:?}");
        assert!(!imported.text.contains("stat_prefix"), "{imported:?}");
        let [of_lost, of_names] = <[String; 2]>::try_from(imported.notes()).unwrap();
        let line = format!("\n  {lua}");
        assert!(of_lost.starts_with("not carried over, ") && of_lost.contains(&line), "{of_lost}");
        assert!(of_names.starts_with("names that differ, ") && of_names.contains(prefix), "{of_names}");
        let read_again = folder.path().join("listeners.yaml");
        fs::write(&read_again, &imported.text).unwrap();
        assert!(plan(&read_again, None).is_ok());
    }

    #[test]
    fn a_list_is_rendered_as_a_text_or_into_a_folder_whose_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("listeners.yaml");
        let upstream = "{address: search.example.org, port: 443, encryption: true}";
        let text = format!("listeners: [{{name: search, port: 6102, upstream: {upstream}, timeout: 2s}}]\n");
        fs::write(&file, text).unwrap();
        let (form, format) = (Form::Bootstrap, Format::Yaml);
        let as_text = Rendering { file: &file, services: None, form, format, folder: None };
        let (text, said) = noted(|say| rendered(as_text, say).unwrap().unwrap());
        assert!(text.contains("static_resources") && !text.ends_with('\n') && said.is_empty(), "{text}");
        let two = Rendering { form: Form::LdsCds, ..as_text };
        let (refused, said) = noted(|say| rendered(two, say).unwrap_err().to_string());
        assert!(refused.contains("--out FOLDER") && said.is_empty(), "{refused}");
        let out = folder.path().join("new");
        let (text, said) = noted(|say| rendered(Rendering { folder: Some(&out), ..two }, say).unwrap());
        assert_eq!(text, None);
        for (line, name) in said.iter().zip(["lds.yaml", "cds.yaml"]) {
            assert_eq!(*line, format!("{} is written", out.join(name).display()));
            assert!(out.join(name).exists(), "{name}");
        }
        assert!(said.len() == 3 && said[2].starts_with("`admin` and `connection_limit`"), "{said:?}");
    }

    #[test]
    fn a_name_with_a_line_break_stays_in_the_comment() {
        let lost = ["listener `a\n- b\u{2028}`: x".to_owned()];
        let text = with_comment(&lost, "listeners: []\n".to_owned());
        assert_eq!(text, "# Not carried over by the import:\n# - listener `a - b `: x\nlisteners: []\n");
        assert_eq!(with_comment(&[], "listeners: []\n".to_owned()), "listeners: []\n");
    }
}
