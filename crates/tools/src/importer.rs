//! Readers of `hoptax convert import`, by name: the output of a tool, a format of results, or Service Mesh Performance.

use crate::formats::{Content, FORMATS, Format};
use crate::smp::{self, Restored};
use crate::tool::Tool;
use crate::{ALL, find, import};

/// The format of Service Mesh Performance.
const SMP: &str = "smp";

/// Reader of a file.
#[derive(Clone, Copy, Debug)]
pub enum Importer {
    /// The parser of a tool's output.
    Tool(&'static Tool),
    /// The reader of a format.
    Format(&'static Format),
    /// The reader of Service Mesh Performance.
    Smp,
}

impl Importer {
    /// Returns the reader with this name; `statistic` selects one of several in a file.
    ///
    /// # Errors
    /// When no reader has the name, and when a statistic is selected in a format that has only one.
    pub fn named(name: &str, statistic: Option<&str>) -> Result<Self, String> {
        let format = FORMATS.iter().find(|format| format.name == name);
        let (found, has_statistics) = match (find(name), format) {
            (Some(tool), _) => (Self::Tool(tool), tool.has_statistics),
            (None, Some(format)) => (Self::Format(format), format.has_statistics),
            (None, None) if name == SMP => (Self::Smp, false),
            (None, None) => {
                let formats = FORMATS.iter().map(|format| format.name);
                let names = [SMP].into_iter().chain(formats).chain(ALL.iter().map(|tool| tool.name));
                let names: Vec<&str> = names.collect();
                return Err(format!("unknown format `{name}`; supported are {}", names.join(", ")));
            }
        };
        if statistic.is_some() && !has_statistics {
            let formats = FORMATS.iter().filter(|format| format.has_statistics).map(|format| format.name);
            let tools = ALL.iter().filter(|tool| tool.has_statistics).map(|tool| tool.name);
            let names: Vec<&str> = formats.chain(tools).collect();
            return Err(format!(
                "`--statistic` is for the formats `{}`; `{name}` has only one statistic",
                names.join("`, `")
            ));
        }
        Ok(found)
    }

    /// Returns the type of its files.
    pub fn content(self) -> Content {
        match self {
            Self::Format(format) => format.content,
            Self::Tool(_) | Self::Smp => Content::Text,
        }
    }

    /// Reads the result in a text, and lists unused fields of a Service Mesh Performance document.
    ///
    /// # Errors
    /// All problems, worded to follow the name of the file.
    pub fn read(self, text: &str, statistic: Option<&str>) -> Result<(Restored, Vec<String>), Vec<String>> {
        // Editors may put a byte order mark in front of a text.
        if text.trim_start_matches('\u{feff}').trim().is_empty() {
            return Err(vec!["it is empty".to_owned()]);
        }
        let (name, result) = match self {
            Self::Tool(tool) => (tool.name, import(tool, text, statistic)),
            Self::Format(format) => (format.name, (format.read)(text, statistic)),
            Self::Smp => {
                let file = smp::read(text)?;
                let restored = smp::restore(&file.documents).map_err(|problem| vec![problem])?;
                return Ok((restored, file.unused));
            }
        };
        let read = result.map(|result| (Restored::Load(Box::new(result)), Vec::new()));
        read.map_err(|reason| vec![format!("it cannot be read as output of {name}: {reason}")])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_importer_is_found_by_its_name_and_a_statistic_only_where_there_are_several() {
        assert!(matches!(Importer::named("wrk", None), Ok(Importer::Tool(_))));
        assert!(matches!(Importer::named("smp", None), Ok(Importer::Smp)));
        let parquet = Importer::named("parquet", Some("A under B")).unwrap();
        assert_eq!(parquet.content(), Content::Parquet);
        assert!(Importer::named("wrk", Some("p99")).unwrap_err().contains("`wrk` has only one"));
        let unknown = Importer::named("wrk3", None).unwrap_err();
        assert!(unknown.contains("`wrk3`") && unknown.contains("smp, hgrm"), "{unknown}");
    }

    #[test]
    fn a_problem_names_the_format_that_was_expected() {
        let problems = |name: &str, text: &str| Importer::named(name, None).unwrap().read(text, None);
        assert!(problems("wrk", "nothing").unwrap_err()[0].starts_with("it cannot be read as output of wrk"));
        assert!(problems("smp", "[").is_err());
    }

    #[test]
    fn an_empty_file_of_any_format_is_called_empty() {
        for name in ["wrk", "csv", "hlog", "parquet", "smp"] {
            let importer = Importer::named(name, None).unwrap();
            for text in ["", "\u{feff}\n \n"] {
                assert_eq!(importer.read(text, None).unwrap_err(), ["it is empty"], "{name}");
            }
        }
    }
}
