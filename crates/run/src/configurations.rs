//! Reads the users' Envoy configurations that a study names.

use std::path::Path;

use hoptax_plan::configurations::{Configuration, Configurations};
use hoptax_plan::file::StudyFile;
use hoptax_subject::envoy::given::Given;

use crate::provenance::sha256_of_file;

/// Reads the configurations that a study file in `folder` names.
pub fn of_study(file: &StudyFile, folder: &Path) -> Configurations {
    Configurations::named_by(file, |config| read(&folder.join(config)))
}

/// Reads the configuration at a path.
///
/// # Errors
/// The reason why it cannot be used.
pub fn read(path: &Path) -> Result<Configuration, String> {
    let given = Given::read(path).map_err(|error| error.to_string())?;
    Configuration::new(given, sha256_of_file)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_changed_file_has_another_hash_wherever_it_is() {
        let text = "name: test\narms: [baseline, {name: ours, hops: [{config: envoy.yaml}]}]\nloads: [{name: all, loop: closed}]\n";
        let (study, _) = hoptax_plan::file::read("test.yaml", text).unwrap();
        let hash = |config: &str| {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("envoy.yaml"), config).unwrap();
            of_study(&study, folder.path()).hashes()["envoy.yaml"].clone()
        };
        let config = "static_resources: {}\n";
        assert_eq!(hash(config), hash(config));
        assert_ne!(hash(config), hash("static_resources: {clusters: []}\n"));
    }
}
