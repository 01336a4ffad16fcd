//! How an interrupted measurement goes on.

use std::path::Path;

use hoptax_text::command_line::path_word;

use crate::failure::Failure;
use crate::run_folder;

/// A failure of a measurement, with how to go on if it is an interrupt and a study has begun in the run folder. `command` measures the same,
/// without its run folder: `hoptax compare jwt lua`.
#[must_use]
pub fn continued_by(failure: Failure, command: &str, folder: &Path) -> Failure {
    if !failure.is_interrupt() || run_folder::read(folder).is_err() {
        return failure;
    }
    failure.with(format!(": `{command} --resume {}` continues it", path_word(folder)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::manifest::tests::manifest;
    use crate::run_folder::RunFolder;

    #[test]
    fn an_interrupt_names_the_command_that_continues_a_study_that_has_begun() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("a run");
        fs::create_dir(&at).unwrap();
        let continued = |failure: Failure| continued_by(failure, "hoptax compare jwt lua", &at);
        let interrupted = || continued(Failure::interrupted().with(" after 3 of 12 rounds"));
        assert_eq!(interrupted().to_string(), "interrupted after 3 of 12 rounds", "no study is there");
        drop(RunFolder::begin(&at, "name: a\n", &manifest()).unwrap());
        let resumed = format!("`hoptax compare jwt lua --resume '{}'`", at.display());
        assert_eq!(
            interrupted().to_string(),
            format!("interrupted after 3 of 12 rounds: {resumed} continues it")
        );
        assert!(interrupted().is_interrupt());
        assert_eq!(continued(Failure::void("no answer")).to_string(), "no answer");
    }
}
