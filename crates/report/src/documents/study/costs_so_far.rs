//! The costs of a running study, as text for remote observers.

use hoptax_result::StudyResult;
use schemars::JsonSchema;
use serde::Serialize;

use super::table_so_far;
use crate::numbers::counted;
use crate::table::{Cell, Row};

/// The costs of a study that still measures. They decide nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CostsSoFar")]
pub struct TextTable {
    /// The title of the table, with the number of rounds.
    pub title: String,
    /// The headings of its columns, that of the names first.
    pub headings: Vec<String>,
    /// Its first rows, each with a cell for each heading.
    pub rows: Vec<Vec<String>>,
    /// Number of rows that are left out.
    pub more: usize,
}

impl TextTable {
    /// Keeps at most `most` rows, the first and therefore most important ones.
    #[must_use]
    pub fn first_rows(mut self, most: usize) -> Self {
        self.more += self.rows.len().saturating_sub(most);
        self.rows.truncate(most);
        self
    }
}

/// The costs after the complete rounds of a study; none without a cost, and for a timeline, which compares no arms.
pub fn costs_so_far(result: &StudyResult) -> Option<TextTable> {
    let table = table_so_far(result)?;
    let headings = table.columns.iter().map(|column| column.heading.clone());
    let row = |row: &Row| std::iter::once(row.name.clone()).chain(row.cells.iter().map(Cell::text)).collect();
    let after = counted(result.plan.rounds_completed.into(), "round");
    Some(TextTable {
        title: format!("after {after}: {}", table.title),
        headings: std::iter::once(table.names.clone()).chain(headings).collect(),
        rows: table.rows.iter().map(row).collect(),
        more: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_study_has_the_cells_of_its_table_below_their_headings() {
        let text = costs_so_far(&fixture::study()).unwrap();
        assert!(text.title.starts_with("after 10 rounds: cost of each arm"), "{}", text.title);
        assert_eq!(text.headings[..2], ["arm", "CPU %"]);
        assert!(text.rows.iter().all(|row| row.len() == text.headings.len()), "{text:?}");
        let lua = text.rows.iter().find(|row| row[0] == "lua").unwrap();
        assert!(lua[1].contains('±'), "{lua:?}");
        assert!(costs_so_far(&fixture::void()).is_none() && costs_so_far(&fixture::timeline()).is_none());
    }
}
