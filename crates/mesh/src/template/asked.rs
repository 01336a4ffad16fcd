//! The templates that a user asks for: those of the program by their texts, and files.

use std::fmt::Display;
use std::fs;
use std::path::PathBuf;

use hoptax_session::Failure;

use super::Template;

impl Template {
    /// Reads these built-in templates, with all of their functions if `has_functions`, and then those in files.
    ///
    /// # Errors
    /// When a file cannot be read or is no template, with its name.
    pub fn read_all(built_in: &[&str], has_functions: bool, files: &[PathBuf]) -> Result<Vec<Self>, Failure> {
        let mut templates = built_in.iter().map(|text| Self::read(text)).collect::<Result<Vec<_>, _>>();
        if has_functions {
            templates = templates.and_then(Self::with_functions);
        }
        let mut templates = templates.map_err(Failure::bad_input)?;
        for path in files {
            let refused = |why: &dyn Display| {
                Failure::bad_input(format!("cannot read the template `{}`: {why}", path.display()))
            };
            let text = fs::read_to_string(path).map_err(|error| refused(&error))?;
            templates.push(Self::read(&text).map_err(|error| refused(&error))?);
        }
        Ok(templates)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::built_in::built_in;
    use super::*;

    fn names(has_functions: bool, file: &str) -> Result<Vec<String>, String> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let read = Template::read_all(&[built_in("consul").unwrap()], has_functions, &[file]);
        let names = read.map(|templates| templates.into_iter().map(|template| template.name).collect());
        names.map_err(|failure| failure.to_string())
    }

    #[test]
    fn functions_follow_their_meshes_and_files_come_last() {
        let file = "templates/istio/retries.yaml";
        assert_eq!(names(false, file).unwrap(), ["consul", "istio-retries"]);
        let all = names(true, file).unwrap();
        assert_eq!((all[0].as_str(), all[all.len() - 1].as_str()), ("consul", "istio-retries"));
        assert!(all.contains(&"consul-authorization-100".to_owned()), "{all:?}");
    }

    #[test]
    fn a_file_that_is_no_template_is_named() {
        for (file, why) in [("Cargo.toml", "template `"), ("none.yaml", "none.yaml`: No such file")] {
            let refused = names(false, file).unwrap_err();
            assert!(refused.starts_with("cannot read the ") && refused.contains(why), "{refused}");
        }
    }
}
