//! The installed releases of Envoy, and their document.

use hoptax_result::{Body, Report, counted};
use hoptax_text::command_line::path_word;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, Next};
use crate::table::{Cell, Column, Row, Table};

/// The output of `hoptax lab envoy list --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvoyReleasesBody {
    /// The version that studies take unless another is named; it may not be installed.
    pub default_version: String,
    /// The installed releases, the oldest first.
    pub releases: Vec<InstalledRelease>,
}

/// An installed release of Envoy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InstalledRelease {
    /// Its version.
    pub version: String,
    /// The path of its program.
    pub program: String,
}

/// Its report.
pub type EnvoyReleasesResult = Report<EnvoyReleasesBody>;

impl Body for EnvoyReleasesBody {
    const FORMAT: &'static str = "hoptax.envoy-releases/1";
    type Environment = ();

    fn from_text(text: &str) -> serde_json::Result<EnvoyReleasesResult> {
        serde_json::from_str(text)
    }

    fn subject(&self) -> String {
        "releases of Envoy".to_owned()
    }
}

/// The document of a list of releases.
pub fn envoy_releases(result: &EnvoyReleasesResult) -> Document {
    let (releases, default) = (&result.releases, &result.default_version);
    let has_default = releases.iter().any(|release| release.version == *default);
    let is_installed = if has_default { "is installed" } else { "is not installed" };
    let mut answer = vec![format!("The default release of Envoy, {default}, {is_installed}")];
    let others = releases.len() - usize::from(has_default);
    if others > 0 {
        let verb = if others == 1 { "is" } else { "are" };
        answer.push(format!("{} {verb} installed", counted(others as u64, "other release")));
    }
    let mut document = Document::new("lab envoy list", "", answer);
    let row = |one: &InstalledRelease| Row::new(&one.version, vec![Cell::words(&one.program)]);
    let columns = [Column::text("program", 0)];
    document.table = (!releases.is_empty())
        .then(|| Table::new("installed releases", "version", columns, releases.iter().map(row)));
    document.next = Some(if has_default {
        Next::new("hoptax study quick", "measures the most used functions of Envoy, in about 6 minutes")
    } else {
        let install = format!("hoptax lab envoy install {}", path_word(default.as_ref()));
        Next::new(install, "installs the default")
    });
    document
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::STYLE;
    use crate::render::terminal;

    fn result(versions: &[&str]) -> EnvoyReleasesResult {
        let release = |version: &&str| InstalledRelease {
            version: (*version).to_owned(),
            program: format!("/cache/{version}/envoy"),
        };
        let releases = versions.iter().map(release).collect();
        EnvoyReleasesResult::new((), EnvoyReleasesBody { default_version: "1.40.0".to_owned(), releases })
    }

    fn screen(versions: &[&str]) -> String {
        terminal::screen(&envoy_releases(&result(versions)), STYLE)
    }

    #[test]
    fn releases_are_listed_with_their_programs_and_the_next_step_uses_or_installs_the_default() {
        insta::assert_snapshot!(screen(&["1.39.3", "1.40.0"]).trim_start(), @r"
        The default release of Envoy, 1.40.0, is installed.
        1 other release is installed.

        installed releases:

        version  program
        1.39.3   /cache/1.39.3/envoy
        1.40.0   /cache/1.40.0/envoy

        next: hoptax study quick   measures the most used functions of Envoy, in about 6 minutes
        ");
        assert_eq!(
            screen(&[]),
            "\nThe default release of Envoy, 1.40.0, is not installed.\n\n\
             next: hoptax lab envoy install 1.40.0   installs the default\n"
        );
        let text = serde_json::to_string(&result(&["1.40.0"])).unwrap();
        assert_eq!(EnvoyReleasesBody::from_text(&text).unwrap(), result(&["1.40.0"]));
    }
}
