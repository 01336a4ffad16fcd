//! Reads results from outputs of other load generators and from files in other formats.

mod parquet;

use std::path::Path;

use hoptax_tools::{Content, Importer};

use crate::failure::Failure;
use crate::input::{read, refused};
use crate::update::{Say, Update};

pub use hoptax_tools::smp::Restored;
pub use parquet::parquet_on_stdin;

/// The result in a file of this format; `-` is stdin, and `statistic` selects one of several. A note names what of the file is not used.
///
/// # Errors
/// When there is no such format, or the file cannot be read or has no result.
pub fn import(file: &Path, format: &str, statistic: Option<&str>, say: Say<'_>) -> Result<Restored, Failure> {
    let importer = Importer::named(format, statistic).map_err(Failure::bad_input)?;
    let text = match importer.content() {
        Content::Parquet => parquet::csv(file)?,
        Content::Text => read(file)?,
    };
    let (result, unused) = importer.read(&text, statistic).map_err(|problems| refused(file, &problems))?;
    if !unused.is_empty() {
        say(Update::Note(&format!("hoptax: `{}`: not used: {}", file.display(), unused.join(", "))));
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_is_no_result_is_refused_with_its_name_and_the_format() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("wrk.txt");
        fs::write(&file, "nothing").unwrap();
        let refused = |format: &str| import(&file, format, None, &|_| ()).unwrap_err().to_string();
        let beginning = format!("`{}`: it cannot be read as output of wrk", file.display());
        assert!(refused("wrk").starts_with(&beginning), "{}", refused("wrk"));
        assert!(refused("wrk3").starts_with("unknown format `wrk3`"), "{}", refused("wrk3"));
    }
}
