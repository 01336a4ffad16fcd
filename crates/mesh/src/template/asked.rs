//! The templates that a user asks for: those of the program by their names, and files.

use std::fmt::Display;
use std::path::PathBuf;

use hoptax_session::Failure;
use hoptax_text::file::configuration;

use super::Template;
use super::built_in::built_in;

impl Template {
    /// Reads the built-in templates with these names, with all of their functions if `has_functions`, and then those in files.
    ///
    /// # Errors
    /// When no built-in template has such a name, and when a file cannot be read or is no template, with its name.
    pub fn read_all(names: &[&str], has_functions: bool, files: &[PathBuf]) -> Result<Vec<Self>, Failure> {
        let mut templates = names.iter().map(|name| Self::of_program(name)).collect::<Result<Vec<_>, _>>();
        if has_functions {
            templates = templates.and_then(Self::with_functions);
        }
        let mut templates = templates.map_err(Failure::bad_input)?;
        for path in files {
            let refused = |why: &dyn Display| {
                Failure::bad_input(format!("cannot read the template `{}`: {why}", path.display()))
            };
            let text = configuration(path).map_err(|error| refused(&error))?;
            templates.push(Self::read(&text).map_err(|error| refused(&error))?);
        }
        Ok(templates)
    }

    fn of_program(name: &str) -> Result<Self, String> {
        let text = built_in(name).ok_or_else(|| format!("no template of the program is named `{name}`"))?;
        Self::read(text)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn names(has_functions: bool, file: &str) -> Result<Vec<String>, String> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let read = Template::read_all(&["consul"], has_functions, &[file]);
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
    fn a_name_that_is_no_template_or_a_file_that_is_none_is_named() {
        let unknown = Template::read_all(&["itsio"], false, &[]).unwrap_err().to_string();
        assert!(unknown.contains("`itsio`"), "{unknown}");
        for (file, why) in [("Cargo.toml", "template `"), ("none.yaml", "none.yaml`: No such file")] {
            let refused = names(false, file).unwrap_err();
            assert!(refused.starts_with("cannot read the ") && refused.contains(why), "{refused}");
        }
    }
}
