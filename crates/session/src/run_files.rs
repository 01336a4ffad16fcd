//! The names of the files in a run folder, which tell one from other folders.

use std::io;
use std::path::Path;

/// The result, which is written at the end of the study.
pub(crate) const RESULT: &str = "result.json";
/// The results in a run folder, by precedence: that of a command that measures a study takes precedence over that of the study.
pub(crate) const RESULTS: [&str; 4] = ["bill.json", "comparison.json", "gate.json", RESULT];
/// The study file.
pub(crate) const STUDY: &str = "study.yaml";
/// Everything else that the rounds of a study depend on.
pub(crate) const MANIFEST: &str = "run.json";
/// The folder with one file for each complete round.
pub(crate) const ROUNDS: &str = "rounds";
/// The folder with the dump of the pod that a bill is about, which may contain secrets.
pub(crate) const POD_DUMP: &str = "pod-dump";

/// True if a folder is a run folder.
pub(crate) fn is_run(folder: &Path) -> bool {
    [RESULT, MANIFEST].iter().any(|name| folder.join(name).is_file())
}

/// True if a word is the path of a file or a run folder. Otherwise, it is the number or label of a run in a store, which contains no `/`.
pub fn is_path(word: &str) -> bool {
    let path = Path::new(word);
    word.contains('/') || path.is_file() || is_run(path)
}

/// The path of a complete round; rounds are counted from 0.
pub(crate) fn round_file(round: u32) -> String {
    format!("{ROUNDS}/{round}.json")
}

/// The reason why a file that a study needs to be resumed cannot be read, with what to do.
pub(crate) fn unread(folder: &Path, file: &str, error: &io::Error) -> String {
    let lacks = if folder.is_dir() {
        format!("it has no {file}")
    } else if folder.exists() {
        "it is no folder".to_owned()
    } else {
        "it does not exist".to_owned()
    };
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => format!(
            "{lacks}; give --resume the run folder that was printed at the start, by default one in `runs`, or begin anew without --resume"
        ),
        _ => format!("{file}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::run_folder;

    #[test]
    fn what_cannot_be_resumed_says_what_to_name_instead() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |path: &Path| run_folder::read(path).unwrap_err().to_string();
        let at = folder.path();
        fs::write(at.join("file"), "").unwrap();
        for (path, why) in [
            (at.join("nope"), "it does not exist"),
            (at.join("file"), "it is no folder"),
            (at.to_owned(), "it has no study.yaml"),
        ] {
            let message = refused(&path);
            let (_, said) = message.split_once("can be resumed: ").unwrap();
            assert!(said.starts_with(&format!("{why}; give --resume the run folder")), "{message}");
            assert!(message.ends_with(", or begin anew without --resume"), "{message}");
        }
        fs::write(at.join(STUDY), "name: a\n").unwrap();
        assert!(refused(at).contains("it has no run.json; "), "{}", refused(at));
        fs::create_dir(at.join(MANIFEST)).unwrap();
        assert!(refused(at).contains("can be resumed: run.json: "), "{}", refused(at));
    }
}
