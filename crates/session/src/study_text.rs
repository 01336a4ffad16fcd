//! A study file before it is parsed: its name, its text and its folder.

use std::fs;
use std::path::{Path, PathBuf};

use hoptax_plan::file::{self, Positions, StudyFile};

use crate::failure::Failure;
use crate::library;

/// A study file that was read or made.
#[derive(Clone, Debug)]
pub struct StudyText {
    /// Its name, for messages.
    pub name: String,
    /// Its content.
    pub text: String,
    /// Its folder, at which relative paths in it start.
    pub folder: PathBuf,
}

impl StudyText {
    /// A study file by its path, or a built-in study by its name.
    ///
    /// # Errors
    /// When there is no file with this path and no built-in study with this name.
    pub fn named(study: &str) -> Result<Self, Failure> {
        let path = Path::new(study);
        let is_path = study.contains('/') || path.extension().is_some() || path.is_file();
        if !is_path {
            return Self::built_in(study)
                .map_err(|unknown| unknown.with("; give the path of your own study file"));
        }
        let text = fs::read_to_string(path)
            .map_err(|error| Failure::bad_input(format!("cannot read the study file `{study}`: {error}")))?;
        Ok(Self { name: study.to_owned(), text, folder: library::folder(study) })
    }

    /// A built-in study by its name. Never opens a file, so the name may come from a stranger.
    ///
    /// # Errors
    /// When no built-in study has this name.
    pub fn built_in(study: &str) -> Result<Self, Failure> {
        let text = library::study(study)?.to_owned();
        let name = format!("{study}.yaml");
        let folder = library::folder(&name);
        Ok(Self { name, text, folder })
    }

    /// The study, with the positions of its parts in the text.
    ///
    /// # Errors
    /// When it is not valid, with all its problems.
    pub(crate) fn parsed(&self) -> Result<(StudyFile, Positions), Failure> {
        file::read(&self.name, &self.text).map_err(Failure::bad_input)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use hoptax_plan::plan::Plan;

    use super::*;

    /// The plan of a study file.
    pub(crate) fn plan_of(text: &str) -> Plan {
        let (file, positions) = file::read("test.yaml", text).unwrap();
        Plan::new(&file, &positions, library::catalogue().unwrap()).unwrap()
    }

    #[test]
    fn an_unknown_study_is_an_error_of_short_lines_with_the_nearest_name() {
        let error = StudyText::named("quikc").unwrap_err().to_string();
        assert!(
            error.contains("`quikc`; did you mean `quick`?") && error.contains("`hoptax study list`"),
            "{error}"
        );
        assert!(error.lines().all(|line| line.chars().count() <= 100), "{error}");
    }
}
