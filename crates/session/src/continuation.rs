//! How the study in a run folder is continued: by the command that began it, which alone writes the result that its user asked for.

use std::fs;
use std::path::Path;

use hoptax_text::command_line::path_word;
use serde::Deserialize;

use crate::failure::Failure;
use crate::run_files::MANIFEST;
use crate::study;

/// The command that measures the short form of a study. Its rounds are shorter than those of the study, so nothing continues it.
pub(crate) const SHORT_FORM: &str = "study --smoke";

/// A command that continues the studies that it began.
struct Resuming {
    /// Its command line up to its options.
    line: &'static str,
    /// The options that it needs as at its start; none if the folder has all of it.
    again: Option<&'static str>,
}

/// A command as one that resumes; none if it always begins anew.
fn resuming(command: &str) -> Option<Resuming> {
    let (line, again) = match command {
        study::COMMAND => ("hoptax study", None),
        "compare" => ("hoptax compare SUBJECT...", Some("the same subjects and options")),
        "price" => ("hoptax price CONFIG", Some("the same configuration and options")),
        _ => return None,
    };
    Some(Resuming { line, again })
}

/// The command that began the study of a manifest; none if the text does not state it, as those of earlier builds.
pub(crate) fn command_in(manifest: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Stated {
        command: Option<String>,
    }
    serde_json::from_str::<Stated>(manifest).ok()?.command
}

/// The command that began the study in a run folder; none if its manifest does not state it, or cannot be read.
pub(crate) fn command_of(folder: &Path) -> Option<String> {
    command_in(&fs::read_to_string(folder.join(MANIFEST)).ok()?)
}

/// The command that adds rounds to a folder, with what it needs; none if its command is unknown or never resumes.
pub(crate) fn more_rounds(folder: &Path) -> Option<String> {
    let Resuming { line, again } = resuming(&command_of(folder)?)?;
    let needs = again.map_or_else(String::new, |again| format!(", with {again}"));
    Some(format!("{line} --resume {} --rounds NUMBER   adds rounds to it{needs}", path_word(folder)))
}

/// How a study that `command` began is continued, as a clause for messages: with `precision`, until it has the precision that was asked
/// for, and for some more time if the command derives the precision itself. `folder` is a word of a command line.
pub(crate) fn way(command: Option<&str>, folder: &str, precision: Option<&str>) -> String {
    let Some(command) = command else {
        return "the command that began it continues it with --resume".to_owned();
    };
    let Some(Resuming { line, again }) = resuming(command) else {
        return format!("`hoptax {command}` began it and does not continue it, so measure it again");
    };
    let until = precision.map_or_else(String::new, |precision| match again {
        None => format!(" --until '{precision}'"),
        Some(_) => " --until-decided DURATION".to_owned(),
    });
    let needs = again.map_or_else(String::new, |again| format!(", with {again},"));
    format!("`{line} --resume {folder}{until}`{needs} continues it")
}

/// A failure of a measurement, with how to go on if it is an interrupt and a study that can continue has begun in the run folder. `command`
/// measures the same, without its run folder: `hoptax compare jwt lua`.
#[must_use]
pub fn continued_by(failure: Failure, command: &str, folder: &Path) -> Failure {
    if !failure.is_interrupt() || !folder.join(MANIFEST).is_file() {
        return failure;
    }
    if command_of(folder).as_deref() == Some(SHORT_FORM) {
        return failure;
    }
    failure.with(format!(": `{command} --resume {}` continues it", path_word(folder)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::tests::manifest;
    use crate::run_folder::RunFolder;

    #[test]
    fn a_study_is_continued_by_the_command_that_began_it() {
        let found = |command: &str| way(Some(command), "'a run'", None);
        assert_eq!(found("study"), "`hoptax study --resume 'a run'` continues it");
        assert_eq!(
            found("compare"),
            "`hoptax compare SUBJECT... --resume 'a run'`, with the same subjects and options, continues it"
        );
        assert_eq!(
            found("price"),
            "`hoptax price CONFIG --resume 'a run'`, with the same configuration and options, continues it"
        );
        assert_eq!(found("gate"), "`hoptax gate` began it and does not continue it, so measure it again");
        assert_eq!(
            found(SHORT_FORM),
            "`hoptax study --smoke` began it and does not continue it, so measure it again"
        );
        assert_eq!(way(None, "'a run'", None), "the command that began it continues it with --resume");
    }

    #[test]
    fn a_precision_is_reached_with_the_options_of_the_command_that_asked_for_it() {
        let found = |command: &str| way(Some(command), "a", Some("1%"));
        assert_eq!(found("study"), "`hoptax study --resume a --until '1%'` continues it");
        assert!(found("compare").contains(" --resume a --until-decided DURATION`, with the same subjects"));
        assert!(found("gate").ends_with("does not continue it, so measure it again"));
    }

    #[test]
    fn a_manifest_states_the_command_and_that_of_an_earlier_build_does_not() {
        assert_eq!(command_in("{\"command\": \"gate\", \"seed\": 1}").as_deref(), Some("gate"));
        assert_eq!((command_in("{\"seed\": 1}"), command_in("")), (None, None));
    }

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
        let mut short_form = manifest();
        short_form.command = Some(SHORT_FORM.to_owned());
        drop(RunFolder::begin(&at, "name: a\n", &short_form).unwrap());
        assert_eq!(interrupted().to_string(), "interrupted after 3 of 12 rounds", "nothing continues it");
    }
}
