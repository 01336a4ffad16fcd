//! The validity checks with their thresholds, and their document.

use std::collections::BTreeSet;

use hoptax_checks::{about, thresholds};
use hoptax_result::{Body, Report, counted};
use hoptax_text::command_line::path_word;
use hoptax_text::list::listed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, Next, Section};
use crate::table::{Cell, Column, Row, Table};

/// The output of `hoptax trust checks --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChecksBody {
    /// The checks, by id.
    pub checks: Vec<ListedCheck>,
    /// Their thresholds, which `--threshold` sets.
    pub thresholds: Vec<ListedThreshold>,
}

/// A check that judges results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListedCheck {
    /// Its id, as in findings.
    pub id: String,
    /// The mistake that it protects from.
    pub protects_from: String,
    /// Its source.
    pub source: String,
    /// Kinds of results that it judges.
    pub judges: Vec<String>,
}

/// A threshold of checks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListedThreshold {
    /// Its name, as in `--threshold`.
    pub name: String,
    /// Its default value. Shares are from 0 to 1.
    pub default: f64,
    /// True if larger values are stricter.
    pub larger_is_stricter: bool,
    /// Its meaning, with its source.
    pub meaning: String,
}

/// Its report.
pub type ChecksResult = Report<ChecksBody>;

impl Body for ChecksBody {
    const FORMAT: &'static str = "hoptax.checks/1";
    type Environment = ();

    fn from_text(text: &str) -> serde_json::Result<ChecksResult> {
        serde_json::from_str(text)
    }

    fn subject(&self) -> String {
        "checks".to_owned()
    }
}

impl ChecksBody {
    /// The checks and the thresholds of this program.
    pub fn of_this_program() -> Self {
        let checks = about::all().into_iter().map(|about| ListedCheck {
            id: about.id.to_owned(),
            protects_from: about.protects_from.to_owned(),
            source: about.source.to_owned(),
            judges: about.judges.into_iter().map(str::to_owned).collect(),
        });
        let thresholds = thresholds::ALL.iter().map(|one| ListedThreshold {
            name: one.name.to_owned(),
            default: one.default,
            larger_is_stricter: one.larger_is_tighter,
            meaning: one.about.to_owned(),
        });
        Self { checks: checks.collect(), thresholds: thresholds.collect() }
    }
}

/// The document of a list of checks.
pub fn checks(result: &ChecksResult) -> Document {
    let (checks, thresholds) = (&result.checks, &result.thresholds);
    let count = |all: usize, one: &str| counted(all as u64, one);
    let answer = format!(
        "{} judge results, by {}",
        count(checks.len(), "check"),
        count(thresholds.len(), "threshold")
    );
    let mut document = Document::new("trust checks", "", vec![answer]);
    document.table = Some(by_judged(checks));
    document.only_in_details = Some("the mistake that each protects from, and the thresholds");
    document.next = checks.first().map(|check| {
        let command = format!("hoptax trust checks explain {}", path_word(check.id.as_ref()));
        Next::new(command, "explains one of them, with its source")
    });
    document.sections = vec![Section::of_table(each(checks)), Section::of_table(limits(thresholds))];
    document
}

fn by_judged(checks: &[ListedCheck]) -> Table {
    let kinds: BTreeSet<&[String]> = checks.iter().map(|check| check.judges.as_slice()).collect();
    let row = |kinds: &[String]| {
        let of_kinds = checks.iter().filter(|check| check.judges == kinds);
        let ids: Vec<&str> = of_kinds.map(|check| check.id.as_str()).collect();
        Row::new(listed(kinds), vec![Cell::words(ids.join(", "))])
    };
    let rows = kinds.into_iter().map(row);
    Table::new("checks by the results that they judge", "results", [Column::text("checks", 0)], rows)
}

fn each(checks: &[ListedCheck]) -> Table {
    let row = |check: &ListedCheck| {
        Row::new(&check.id, vec![Cell::words(listed(&check.judges)), Cell::words(&check.protects_from)])
    };
    let columns = [Column::text("judges", 0), Column::text("protects from", 0)];
    Table::new("all checks", "check", columns, checks.iter().map(row))
}

fn limits(thresholds: &[ListedThreshold]) -> Table {
    let row = |one: &ListedThreshold| {
        let stricter = if one.larger_is_stricter { "larger" } else { "smaller" };
        let cells =
            vec![Cell::words(one.default.to_string()), Cell::words(stricter), Cell::words(&one.meaning)];
        Row::new(&one.name, cells)
    };
    let columns = [Column::new("default", 0), Column::text("stricter", 0), Column::text("meaning", 0)];
    Table::new("thresholds", "threshold", columns, thresholds.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::STYLE;
    use crate::render::terminal;

    #[test]
    fn the_details_have_every_check_and_every_threshold_and_the_screen_the_ids_by_what_they_judge() {
        let result = ChecksResult::new((), ChecksBody::of_this_program());
        let (document, body) = (checks(&result), &result.body);
        assert_eq!(
            (body.checks.len(), body.thresholds.len()),
            (about::all().len(), thresholds::ALL.len()),
            "all of this program"
        );
        let (screen, details) = (terminal::screen(&document, STYLE), terminal::details(&document, STYLE));
        for text in [&screen, &details] {
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        }
        assert!(screen.contains("\nload, study and timeline  ") && screen.contains("send-lag"), "{screen}");
        let begins = |name: &str| details.lines().any(|line| line.split_whitespace().next() == Some(name));
        let names = body.checks.iter().map(|check| &check.id);
        for name in names.chain(body.thresholds.iter().map(|one| &one.name)) {
            assert!(begins(name), "{name}: {details}");
        }
        let text = serde_json::to_string(&result).unwrap();
        assert_eq!(ChecksBody::from_text(&text).unwrap(), result);
    }
}
