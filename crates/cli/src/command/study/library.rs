//! The built-in studies, and reading a study by name or path.

use std::fs;
use std::path::{self, Path, PathBuf};

use include_dir::{Dir, include_dir};

use crate::exit::Failure;

static STUDIES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../studies");

/// File name and text of a study: `study` is a path or the name of a built-in study.
pub(crate) fn read(study: &str) -> Result<(String, String), Failure> {
    let path = Path::new(study);
    let is_path = study.contains('/') || path.extension().is_some() || path.is_file();
    if !is_path {
        let text = STUDIES.get_file(format!("{study}.yaml")).and_then(|file| file.contents_utf8());
        return text.map(|text| (format!("{study}.yaml"), text.to_owned())).ok_or_else(|| {
            let names = names();
            let hint = hoptax_nearest::hint(study, names.iter().map(String::as_str));
            Failure::bad_input(format!(
                "unknown study `{study}`{hint}\nbuilt-in studies are `{}`; give the path of your own study file",
                names.join("`, `")
            ))
        });
    }
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::bad_input(format!("cannot read the study file `{study}`: {error}")))?;
    Ok((study.to_owned(), text))
}

/// The absolute path of the folder of a study file, at which relative paths in the file start.
pub(crate) fn folder(file_name: &str) -> PathBuf {
    let folder = Path::new(file_name).parent().unwrap_or(Path::new(""));
    // A folder that does not exist any more is named as it is when a file in it cannot be read.
    path::absolute(Path::new(".").join(folder)).unwrap_or_else(|_| folder.to_owned())
}

/// The built-in studies with their summaries, one per line.
pub(crate) fn list() -> String {
    let summary = |name: &str| {
        let (file, text) = read(name).ok()?;
        let (study, _) = hoptax_study::file::read(&file, &text).ok()?;
        Some(study.summary)
    };
    names().iter().map(|name| format!("{name:<12} {}\n", summary(name).unwrap_or_default())).collect()
}

fn names() -> Vec<String> {
    let stem = |file: &include_dir::File<'_>| Some(file.path().file_stem()?.to_str()?.to_owned());
    let mut names: Vec<String> = STUDIES.files().filter_map(stem).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use hoptax_functions::Catalogue;
    use hoptax_study::plan::Plan;

    use super::*;

    #[test]
    fn every_built_in_study_can_be_planned() {
        let catalogue = Catalogue::load().unwrap();
        assert!(names().contains(&"quick".to_owned()));
        for name in names() {
            let (file, text) = read(&name).unwrap();
            let (study, positions) =
                hoptax_study::file::read(&file, &text).unwrap_or_else(|error| panic!("{error}"));
            Plan::new(&study, &positions, &catalogue).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(study.name, name, "a study's name is that of its file");
        }
    }

    #[test]
    fn an_unknown_name_is_an_error_that_lists_the_studies() {
        let error = read("quik").unwrap_err().to_string();
        assert!(error.contains("`quik`; did you mean `quick`?") && error.contains("`quick"), "{error}");
    }
}
