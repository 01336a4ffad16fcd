//! Reads the files of a run folder that the store keeps, and writes them back.
//!
//! It keeps the texts that hoptax itself writes, unchanged: the study file, the manifest, the rounds, the result, the reports and the
//! configurations of the proxies. It leaves out logs and the files of functions, which may contain any traffic of the proxies, and
//! certificates with their keys.

use std::fs;
use std::path::{Component, Path, PathBuf};

use hoptax_report::render::OUTPUTS;
use hoptax_text::secrets::has_private_key;

use crate::run_files::{POD_DUMP, RESULT, STUDY, is_run};
use crate::store::StoreError;
use crate::store::secrets::Secrets;

/// Extensions of files to keep, in addition to those of reports.
const KEPT: [&str; 8] = ["json", "yaml", "csv", "md", "html", "svg", "txt", "folded"];
/// Folders to leave out: certificates, the tries of a bill, the dump of the pod that a bill is about, and files that functions write.
const LEFT_OUT: [&str; 4] = ["certificates", "tries", POD_DUMP, "files"];

/// A file of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFile {
    /// Its path in the run folder, with `/` as the separator.
    pub path: String,
    /// Its text.
    pub text: String,
    /// True if secrets in it were masked.
    pub is_redacted: bool,
}

/// The files of a run folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    /// Files to keep.
    pub(crate) documents: Vec<RunFile>,
    /// Paths of files to leave out.
    pub(crate) left_out: Vec<String>,
}

/// The run folders in `folder` and its subfolders, including `folder` itself, sorted by path.
///
/// # Errors
/// When a folder cannot be read.
pub(crate) fn runs_in(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut found = Vec::new();
    if is_run(folder) {
        found.push(folder.to_owned());
    }
    for path in entries(folder)? {
        let is_left_out = path.file_name().is_some_and(|name| LEFT_OUT.iter().any(|left| name == *left));
        if path.is_dir() && !path.is_symlink() && !is_left_out {
            found.extend(runs_in(&path)?);
        }
    }
    Ok(found)
}

/// Reads a run folder. Run folders inside it are separate runs and are skipped.
///
/// # Errors
/// When a file cannot be read.
pub(crate) fn read(folder: &Path) -> Result<Contents, StoreError> {
    let secrets = secrets(folder)?;
    let mut contents = Contents::default();
    add_folder(&mut contents, folder, "", &secrets)?;
    Ok(contents)
}

/// Reads the files of a run folder that exist among `paths`.
///
/// # Errors
/// When one cannot be read.
pub(crate) fn read_some(folder: &Path, paths: &[&str]) -> Result<Contents, StoreError> {
    let secrets = secrets(folder)?;
    let mut contents = Contents::default();
    for path in paths.iter().filter(|path| folder.join(path).is_file()) {
        add_file(&mut contents, &folder.join(path), (*path).to_owned(), &secrets)?;
    }
    Ok(contents)
}

/// Reads a result file of any name; none if it is not UTF-8, or holds a private key.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn read_result(file: &Path) -> Result<Option<RunFile>, StoreError> {
    let secrets = secrets(file.parent().unwrap_or(Path::new("")))?;
    masked(file, RESULT, &secrets)
}

/// Writes documents to a folder that does not exist or is empty.
///
/// # Errors
/// When the folder has files, or a file cannot be written.
pub(crate) fn write(folder: &Path, documents: &[RunFile]) -> Result<(), StoreError> {
    let cannot = |path: &Path, error| StoreError::file("write", path, error);
    if folder.is_file() {
        let error = std::io::Error::new(std::io::ErrorKind::AlreadyExists, "it is a file: name a folder");
        return Err(cannot(folder, error));
    }
    fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
    if !entries(folder)?.is_empty() {
        let error =
            std::io::Error::new(std::io::ErrorKind::AlreadyExists, "the folder is not empty: name another");
        return Err(cannot(folder, error));
    }
    for document in documents {
        let inside = Path::new(&document.path);
        let path = folder.join(inside);
        // Reject paths that leave the folder: a store from somebody else may contain any path.
        if !inside.components().all(|part| matches!(part, Component::Normal(_))) {
            let error =
                std::io::Error::new(std::io::ErrorKind::InvalidInput, "the path leads out of the folder");
            return Err(cannot(&path, error));
        }
        let parent = path.parent().unwrap_or(folder);
        let written = fs::create_dir_all(parent).and_then(|()| fs::write(&path, &document.text));
        written.map_err(|error| cannot(&path, error))?;
    }
    Ok(())
}

/// The secrets in the study file of a run folder. A study file that cannot be parsed is left out, and the other files are assumed to have
/// none of its secrets.
fn secrets(folder: &Path) -> Result<Secrets, StoreError> {
    let path = folder.join(STUDY);
    let text = if path.is_file() { read_text(&path)?.unwrap_or_default() } else { String::new() };
    Ok(Secrets::of_study_file(&text).unwrap_or_default())
}

fn add_folder(
    contents: &mut Contents,
    folder: &Path,
    prefix: &str,
    secrets: &Secrets,
) -> Result<(), StoreError> {
    for path in entries(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let inside = format!("{prefix}{name}");
        let is_folder = path.is_dir() && !path.is_symlink();
        if is_folder && is_run(&path) {
            continue;
        }
        if is_folder && !LEFT_OUT.contains(&name.as_str()) {
            add_folder(contents, &path, &format!("{inside}/"), secrets)?;
        } else {
            add_file(contents, &path, inside, secrets)?;
        }
    }
    Ok(())
}

/// Adds a file if it is kept.
fn add_file(
    contents: &mut Contents,
    path: &Path,
    inside: String,
    secrets: &Secrets,
) -> Result<(), StoreError> {
    let reports = OUTPUTS.iter().map(|output| output.extension);
    let is_kept =
        path.extension().is_some_and(|ending| KEPT.into_iter().chain(reports).any(|kept| ending == kept));
    if !is_kept || !path.is_file() || path.is_symlink() {
        contents.left_out.push(inside);
        return Ok(());
    }
    match masked(path, &inside, secrets)? {
        Some(file) => contents.documents.push(file),
        None => contents.left_out.push(inside),
    }
    Ok(())
}

/// A file without secrets, at its path in the run folder; none if it is not UTF-8, or holds a private key.
fn masked(path: &Path, inside: &str, secrets: &Secrets) -> Result<Option<RunFile>, StoreError> {
    let text = read_text(path)?.filter(|text| !has_private_key(text));
    let masked = text.and_then(|text| {
        if inside == STUDY { secrets.mask_study_file(&text) } else { Some(secrets.mask(&text)) }
    });
    Ok(masked.map(|masked| RunFile {
        path: inside.to_owned(),
        text: masked.text,
        is_redacted: masked.had_secrets,
    }))
}

/// The text of a file; none if it is not UTF-8.
fn read_text(path: &Path) -> Result<Option<String>, StoreError> {
    let bytes = fs::read(path).map_err(|error| StoreError::file("read", path, error))?;
    Ok(String::from_utf8(bytes).ok())
}

/// The entries of a folder, by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let cannot = |error| StoreError::file("read", folder, error);
    let found = fs::read_dir(folder).map_err(cannot)?;
    let mut paths = found
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<Vec<PathBuf>>>()
        .map_err(cannot)?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(folder: &Path, path: &str, text: &str) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn run_folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        file(at, STUDY, "name: a\narms:\n  - env: {MY_TOKEN: abcdefgh1}\n");
        file(at, RESULT, "{\"env\": \"abcdefgh1\"}");
        file(at, "rounds/0.json", "{}");
        file(at, "arms/lua/bootstrap.json", "{\"admin\": {}}");
        file(at, "arms/lua/envoy.log", "authorization: abc");
        file(at, "arms/lua/files/access.json", "{}");
        file(at, "certificates/ca.txt", "-----BEGIN CERTIFICATE-----");
        file(at, "pod-dump/shop.cart-1.json", "{\"token\": \"abcdefgh1\"}");
        file(at, "notes.txt", "-----BEGIN PRIVATE KEY-----");
        file(at, "second-study/result.json", "{}");
        folder
    }

    #[test]
    fn texts_of_hoptax_are_kept_without_secrets_and_all_else_is_left_out() {
        let folder = run_folder();
        let contents = read(folder.path()).unwrap();
        let kept: Vec<(&str, bool)> =
            contents.documents.iter().map(|one| (one.path.as_str(), one.is_redacted)).collect();
        let expected =
            [("arms/lua/bootstrap.json", false), (RESULT, true), ("rounds/0.json", false), (STUDY, true)];
        assert_eq!(kept, expected);
        let left_out = ["arms/lua/envoy.log", "arms/lua/files", "certificates", "notes.txt", "pod-dump"];
        assert_eq!(contents.left_out, left_out);
        assert!(contents.documents.iter().all(|one| !one.text.contains("abcdefgh1")));
        assert_eq!(
            runs_in(folder.path()).unwrap(),
            [folder.path().to_owned(), folder.path().join("second-study")]
        );
        let some = read_some(folder.path(), &["rounds/0.json", "rounds/1.json"]).unwrap();
        assert_eq!(some.documents.len(), 1);
    }

    #[test]
    fn documents_are_written_back_byte_for_byte_into_an_empty_folder_only() {
        let folder = run_folder();
        let documents = read(folder.path()).unwrap().documents;
        let out = tempfile::tempdir().unwrap();
        let target = out.path().join("a/b");
        write(&target, &documents).unwrap();
        assert_eq!(read(&target).unwrap().documents.len(), documents.len());
        assert_eq!(fs::read(target.join("rounds/0.json")).unwrap(), b"{}");
        let again = write(&target, &documents).unwrap_err().to_string();
        assert!(again.contains("is not empty"), "{again}");
    }

    #[test]
    fn a_path_that_leads_out_of_the_folder_is_refused() {
        let out = tempfile::tempdir().unwrap();
        let document = RunFile { path: "../escaped".to_owned(), text: String::new(), is_redacted: false };
        assert!(write(&out.path().join("in"), &[document]).is_err());
        assert!(!out.path().join("escaped").exists());
    }
}
