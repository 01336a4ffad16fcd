//! Reads the results of studies and loads, and the results in a run folder.

use std::io;
use std::path::{Path, PathBuf};

use hoptax_judge::sittings::machine_differences;
use hoptax_report::document::Document;
use hoptax_report::documents;
use hoptax_result::{Body, LoadResult, StudyBody, StudyResult};
use hoptax_text::command_line::path_word;
use hoptax_text::file::text_up_to;
use serde_json::Value;

use crate::failure::Failure;
pub use crate::run_files::is_path;
use crate::run_files::{RESULT, RESULTS, STUDY};
use crate::store::folder;
use crate::{continuation, environment, library, run_files, run_folder, study};

/// The most bytes of a result.
const MOST_BYTES: u64 = 256 << 20;

/// The text of a result of any kind, from the file itself, or from the result in a run folder that its command printed.
///
/// # Errors
/// When the file or the folder has no result. The message says what the folder contains instead.
pub fn text(path: &Path) -> Result<String, Failure> {
    let file = printed_file(path)?;
    text_up_to(&file, MOST_BYTES).map_err(|error| Failure::cannot_read(&file, error))
}

/// The document of a result of any kind whose run folder is unknown. Its next step measures a study by its name, which only a built-in study
/// can be; others have no next step.
///
/// # Errors
/// The reason why the text is not a result.
pub fn document(text: &str) -> Result<Document, String> {
    documents::of_text(text, library::is_built_in)
}

/// As [`document`]; `what` names the result in errors.
pub(crate) fn printable(text: &str, what: &str) -> Result<Document, Failure> {
    document(text).map_err(|why| unprintable(what, &why))
}

fn unprintable(what: &str, why: &str) -> Failure {
    Failure::bad_input(format!("{what} cannot be printed: {why}"))
}

/// The document of the result in a file or a run folder, with the page in the folder, or the command that makes one of the file. The next
/// step of a study that can continue in its folder is there.
///
/// # Errors
/// As [`text`], and when it is not a result.
pub fn document_at(path: &str) -> Result<Document, Failure> {
    let file = Path::new(path);
    let text = text(file)?;
    let document = match resumable(file) {
        Some(study) => documents::study_in_folder(&text, &study.display().to_string(), path)
            .map_err(|why| unprintable(&format!("`{path}`"), &why))?,
        None => printable(&text, &format!("`{path}`"))?,
    };
    Ok(match page(file) {
        Some(page) => document.shown_by(path).with_page(page.display().to_string()),
        None if file.is_file() => document.written_to(file),
        None => document.shown_by(path),
    })
}

/// The page that a command wrote beside the result that [`text`] reads from a run folder; none for a file, or if there is no page.
fn page(path: &Path) -> Option<PathBuf> {
    let result = if path.is_dir() { shown(path).ok()? } else { return None };
    let name = if result.ends_with("bill.json") { "bill.html" } else { "report.html" };
    Some(path.join(name)).filter(|page| page.is_file())
}

/// The study file of a run folder in which `hoptax study --resume` can continue: this machine measured the study, and the result that
/// [`text`] reads is that of the study itself. None for other folders, and for the study of another command, whose result it is not.
fn resumable(folder: &Path) -> Option<PathBuf> {
    let is_of_study = folder.is_dir() && shown(folder).is_ok_and(|result| result.ends_with(RESULT));
    let was_begun_as_study =
        || run_folder::read(folder).is_ok_and(|(_, read)| read.command.as_deref() == Some(study::COMMAND));
    let study = Some(folder.join(STUDY)).filter(|_| is_of_study && was_begun_as_study());
    let result = study.as_ref().and_then(|_| read_run(folder).ok())?;
    let is_of_this_machine =
        || machine_differences(&result.environment, &environment::current(false)).is_empty();
    study.filter(|_| {
        result.environment.cluster.is_none() && !run_folder::is_in_use(folder) && is_of_this_machine()
    })
}

/// The file of a result at `path`, which is the file itself or a run folder: in a folder, that of the result which its command printed.
pub(crate) fn printed_file(path: &Path) -> Result<PathBuf, Failure> {
    if path.is_dir() { shown(path) } else { Ok(path.to_owned()) }
}

/// As [`printed_file`], but in a folder the result of the study, of which its command may have printed another one.
pub(crate) fn measured_file(path: &Path) -> Result<PathBuf, Failure> {
    let measured = path.join(RESULT);
    if measured.is_file() { Ok(measured) } else { printed_file(path) }
}

fn shown(folder: &Path) -> Result<PathBuf, Failure> {
    let mut files = RESULTS.iter().map(|name| folder.join(name)).filter(|file| file.is_file());
    if let Some(file) = files.next() {
        return Ok(file);
    }
    let shown = folder.display();
    let why = if run_folder::is_in_use(folder) {
        "has no result yet: its study still runs".to_owned()
    } else if run_files::is_run(folder) {
        let way = continuation::way(continuation::command_of(folder).as_deref(), &path_word(folder), None);
        format!("has no result: its study did not end; {way}")
    } else {
        match folder::runs_in(folder)?.as_slice() {
            [] => "is not a run folder, and contains none".to_owned(),
            [one] => format!("is not a run folder; name `{}`", one.display()),
            [first, .., last] => {
                format!(
                    "is not a run folder; name one of those in it, `{}` to `{}`",
                    first.display(),
                    last.display()
                )
            }
        }
    };
    Err(Failure::bad_input(format!("`{shown}` {why}")))
}

/// Reads the result of a study from its file or its run folder.
///
/// # Errors
/// When the file cannot be read, or is not the result of a study in a supported format.
pub fn read_run(path: &Path) -> Result<StudyResult, Failure> {
    let file = measured_file(path)?;
    parse(&format!("`{}`", file.display()), &text(&file)?)
}

/// Reads a study result from its text; `what` names it in errors.
///
/// # Errors
/// When the text is not the result of a study in a supported format.
pub fn parse(what: &str, text: &str) -> Result<StudyResult, Failure> {
    let refused = |why: String| Failure::bad_input(format!("{what} is not a study result: {why}"));
    match documents::kind_of_text(text).map_err(refused)?.format {
        StudyResult::FORMAT => StudyBody::from_text(text).map_err(|error| refused(error.to_string())),
        other => Err(refused(format!("its format is `{other}`"))),
    }
}

/// Reason why a file has no result of a load, worded to follow the name of the file.
#[derive(Debug)]
pub(crate) enum LoadFileError {
    /// The file is missing or truncated.
    Lost(String),
    /// The file is of another kind, or cannot be read.
    Other(String),
}

/// Reads the result of a load from its file.
///
/// # Errors
/// When there is none.
pub(crate) fn read_load(path: &Path) -> Result<LoadResult, LoadFileError> {
    let text = text_up_to(path, MOST_BYTES).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => LoadFileError::Lost("the file does not exist".to_owned()),
        _ => LoadFileError::Other(format!("cannot be read: {error}")),
    })?;
    let value: Value = serde_json::from_str(&text).map_err(|error| {
        if error.is_eof() {
            LoadFileError::Lost(format!("its end is missing: {error}"))
        } else {
            LoadFileError::Other(format!("is not JSON: {error}"))
        }
    })?;
    let format = value.get("format").and_then(Value::as_str).map(str::to_owned);
    match (value, format) {
        (Value::Object(fields), Some(format)) if LoadResult::is_format(&format) => {
            LoadResult::from_fields(fields).map_err(|error| {
                LoadFileError::Other(format!("is not a result that this version of hoptax reads: {error}"))
            })
        }
        (_, format) => {
            let found = format.map_or_else(|| "another JSON file".to_owned(), |format| format!("`{format}`"));
            Err(LoadFileError::Other(format!("is {found}, not a result of `hoptax load --json`")))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::manifest::tests::manifest;
    use crate::run_files::MANIFEST;

    #[test]
    fn only_a_built_in_study_is_proposed_by_its_name() {
        let next = |text: &str| serde_json::to_value(document(text).unwrap()).unwrap()["next"].clone();
        let study = |name: &str| hoptax_result::sample::study(name, "2026-11-01T00:00:00Z", 5.0);
        let of = |name: &str| next(&serde_json::to_string(&study(name)).unwrap());
        let command = of("quick")["command"].as_str().unwrap().to_owned();
        assert!(command.starts_with("hoptax study quick "), "{command}");
        assert!(of("mine").is_null() && of("quick-smoke").is_null(), "no file of this name can be known");
        let mut of_mesh = study("mine");
        of_mesh.environment.cluster = Some(hoptax_result::ClusterEnvironment::default());
        let command = next(&serde_json::to_string(&of_mesh).unwrap())["command"].clone();
        assert!(command.as_str().unwrap().starts_with("hoptax mesh "), "{command}");
        let bill = next(include_str!("../../report/recorded/bill.json"));
        assert!(!bill.is_null(), "it names a file of the user");
    }

    #[test]
    fn a_file_that_never_ends_is_no_result() {
        let refused = text(Path::new("/dev/zero")).unwrap_err().to_string();
        assert_eq!(refused, "cannot read `/dev/zero`: it has more than 256 MiB");
    }

    #[test]
    fn only_what_began_as_a_study_is_resumed_as_one() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
        let mut result = hoptax_result::sample::study("mine", "2026-11-01T00:00:00Z", 5.0);
        result.environment = environment::current(false);
        write(RESULT, serde_json::to_string(&result).unwrap());
        write(STUDY, "name: mine\n".to_owned());
        let mut manifest = manifest();
        let at = folder.path().join(STUDY);
        // A gate against stored runs measures the file of the user, too.
        for (command, expected) in [
            (Some(study::COMMAND), Some(at)),
            (Some(continuation::SHORT_FORM), None),
            (Some("gate"), None),
            (None, None),
        ] {
            manifest.command = command.map(str::to_owned);
            write(MANIFEST, serde_json::to_string(&manifest).unwrap());
            assert_eq!(resumable(folder.path()), expected);
        }
    }

    #[test]
    fn a_folder_without_a_result_says_what_it_has_instead() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |path: &Path| text(path).unwrap_err().to_string();
        assert!(refused(folder.path()).contains("is not a run folder, and contains none"));
        let run = folder.path().join("quick 1");
        fs::create_dir(&run).unwrap();
        fs::write(run.join("run.json"), "{}").unwrap();
        assert!(refused(folder.path()).contains("quick 1`"), "{}", refused(folder.path()));
        // One of an earlier build.
        assert!(refused(&run).ends_with("did not end; the command that began it continues it with --resume"));
        fs::write(run.join("run.json"), "{\"command\": \"study\"}").unwrap();
        let resumed = format!("did not end; `hoptax study --resume '{}'` continues it", run.display());
        assert!(refused(&run).ends_with(&resumed), "{}", refused(&run));
        fs::write(run.join(RESULT), "of the study").unwrap();
        fs::write(run.join("gate.json"), "of the gate").unwrap();
        assert_eq!(text(&run).unwrap(), "of the gate");
        let parsed = |text: &str| parse("it", text).unwrap_err().to_string();
        assert!(parsed("prices").contains("it is not a hoptax result ("), "{}", parsed("prices"));
        let load = serde_json::to_string(&hoptax_result::sample::load()).unwrap();
        assert!(parsed(&load).contains("its format is `hoptax.load/"), "{}", parsed(&load));
        assert!(run_files::is_path(run.to_str().unwrap()));
        assert!(run_files::is_path("runs/none") && !run_files::is_path("nightly"));
    }
}
