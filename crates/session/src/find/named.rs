//! What a user names to search on: the URLs of a server, or a study in their place if arms of it are searched.

use std::ffi::OsStr;
use std::path::Path;

use crate::failure::Failure;
use crate::load::GivenUrl;

/// The study that is named instead of a URL, for a search on its arms.
///
/// # Errors
/// When a URL is named, or anything but one study.
pub fn study_of(named: &[GivenUrl]) -> Result<&str, Failure> {
    match named {
        [url] if url.contains("://") => Err(Failure::bad_input(format!(
            "--arms names arms of a study: give a study file instead of `{}`, or remove --arms",
            &**url
        ))),
        [study] => Ok(study),
        _ => Err(Failure::bad_input("--arms names arms of one study: give one study file")),
    }
}

/// Refuses a study file in the place of a URL, for a search on a server.
pub(super) fn check_urls(named: &[GivenUrl]) -> Result<(), Failure> {
    let is_study =
        |url: &&str| matches!(Path::new(url).extension().and_then(OsStr::to_str), Some("yaml" | "yml"));
    let named = named.iter().map(|url| &**url);
    match named.filter(|url| !url.contains("://")).find(is_study) {
        Some(study) => Err(Failure::bad_input(format!(
            "`{study}` is a study file: name the arms to search, such as `--arms baseline,lua`"
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(names: &[&str]) -> Vec<GivenUrl> {
        names.iter().map(|name| GivenUrl::from((*name).to_owned())).collect()
    }

    #[test]
    fn arms_are_those_of_one_study() {
        let study = |names: &[&str]| {
            let named = study_of(&given(names)).map(str::to_owned);
            named.map_err(|failure| failure.to_string())
        };
        assert_eq!(study(&["quick"]), Ok("quick".to_owned()));
        assert!(study(&["http://127.0.0.1/"]).unwrap_err().contains("instead of `http://127.0.0.1/`"));
        assert!(study(&["a.yaml", "b.yaml"]).unwrap_err().ends_with("give one study file"));
    }

    #[test]
    fn a_study_file_is_no_server() {
        let refused = |names: &[&str]| check_urls(&given(names)).err().map(|failure| failure.to_string());
        assert_eq!(refused(&["http://127.0.0.1/a.yaml", "127.0.0.1:8080"]), None);
        for study in ["edge.yaml", "studies/edge.yml"] {
            let why = refused(&["http://127.0.0.1/", study]).unwrap();
            assert!(why.starts_with(&format!("`{study}` is a study file")), "{why}");
        }
    }
}
