//! The user's files: the configuration, and those that it names.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hoptax_bootstrap::{Adapted, Configuration, Lab, Loaded, Problems, read};

/// A configuration of the user.
#[derive(Clone, Debug)]
pub struct Given {
    configuration: Configuration,
    /// The folder of its file, in which files that it names are looked for.
    folder: PathBuf,
}

/// Why a configuration cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum GivenError {
    /// Its file cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Its content cannot be used.
    #[error(transparent)]
    Content(#[from] Problems),
}

impl Given {
    /// Reads a configuration, and the files that it names for listeners, clusters, routes, endpoints and secrets.
    ///
    /// # Errors
    /// When a file cannot be read, and all problems with their contents.
    pub fn read(path: &Path) -> Result<Self, GivenError> {
        let text =
            fs::read_to_string(path).map_err(|source| GivenError::File { path: path.to_owned(), source })?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let load = |named: &str| {
            let path = locate(&folder, named).ok_or_else(|| format!("`{named}` does not exist"))?;
            let text = fs::read_to_string(&path).map_err(|error| format!("`{}`: {error}", path.display()))?;
            Ok(Loaded { name: path.display().to_string(), text })
        };
        let configuration = read(&path.display().to_string(), &text, &load)?;
        Ok(Self { configuration, folder })
    }

    /// Adapts it to a lab.
    ///
    /// # Errors
    /// All nodes that can be neither replaced nor removed.
    pub fn adapt(&self, lab: &Lab) -> Result<Adapted, Problems> {
        self.configuration.adapt(lab, &|named| fs::read(locate(&self.folder, named)?).ok())
    }

    /// The file that the configuration names; none if it does not exist.
    pub fn locate(&self, named: &str) -> Option<PathBuf> {
        locate(&self.folder, named)
    }
}

/// A configuration is often read on another machine than its own: a file that is not where it says may be beside it, by the
/// same path or by its name.
fn locate(folder: &Path, named: &str) -> Option<PathBuf> {
    let path = Path::new(named);
    let candidates = [
        folder.join(path),
        folder.join(named.trim_start_matches('/')),
        folder.join(path.file_name().unwrap_or_default()),
    ];
    candidates.into_iter().find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_where_named_or_beside_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("certs")).unwrap();
        for name in ["certs/a.pem", "cds.yaml"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let found = |named: &str| {
            locate(folder.path(), named).map(|path| path.strip_prefix(folder.path()).unwrap().to_owned())
        };
        assert_eq!(found("certs/a.pem"), Some("certs/a.pem".into()));
        assert_eq!(found("/certs/a.pem"), Some("certs/a.pem".into()));
        assert_eq!(found("/var/lib/envoy/cds.yaml"), Some("cds.yaml".into()));
        assert_eq!(found("lds.yaml"), None);
    }

    #[test]
    fn a_file_that_is_missing_is_named_with_the_line_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("envoy.yaml");
        fs::write(&path, "dynamic_resources:\n  lds_config:\n    path_config_source: {path: lds.yaml}\n")
            .unwrap();
        let error = Given::read(&path).unwrap_err().to_string();
        assert!(error.contains("envoy.yaml:3") && error.contains("`lds.yaml` does not exist"), "{error}");
    }
}
