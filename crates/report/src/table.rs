//! A table of a document: named rows, columns of quantities or words.

use hoptax_result::Interval;
use schemars::JsonSchema;
use serde::Serialize;

use crate::numbers::UNCERTAIN_SIGN;
use crate::quantity::{Basis, Form, Quantity};

/// Maximum length of a name that is not shortened, in characters.
pub(crate) const LONGEST_NAME: usize = 44;
/// Number of characters to keep at the end of a shortened name.
const KEPT_END: usize = 12;

/// Removes the middle of a long name.
pub(crate) fn short_name(name: &str) -> String {
    let length = name.chars().count();
    if length <= LONGEST_NAME {
        return name.to_owned();
    }
    let begin: String = name.chars().take(LONGEST_NAME - KEPT_END - 3).collect();
    let end: String = name.chars().skip(length - KEPT_END).collect();
    format!("{begin}...{end}")
}

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Table {
    /// Its title.
    pub(crate) title: String,
    /// The heading of the column of names.
    pub(crate) names: String,
    /// The other columns.
    pub(crate) columns: Vec<Column>,
    /// The rows, the most important first.
    pub(crate) rows: Vec<Row>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Column {
    /// Its heading, with the unit.
    pub(crate) heading: String,
    /// A narrow output drops the columns with the highest number first; 0 always stays.
    pub(crate) priority: u8,
    /// True if it holds words, which are aligned on the left.
    pub(crate) is_text: bool,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Row {
    /// Its name.
    pub(crate) name: String,
    /// A line about it, for outputs with room.
    pub(crate) summary: String,
    /// The address of the page about it, for outputs that can link; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) page: Option<String>,
    /// One cell for each column.
    pub(crate) cells: Vec<Cell>,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cell {
    /// Nothing to state.
    Empty,
    /// Words, or a number that has no interval.
    Text(String),
    /// A number.
    Quantity(Quantity),
}

impl Cell {
    /// Words.
    pub(crate) fn words(words: impl Into<String>) -> Self {
        Self::Text(words.into())
    }

    /// A measured amount; empty without one.
    pub(crate) fn level(interval: Option<&Interval>, unit: &'static str) -> Self {
        interval.map(|interval| Quantity::level(interval, unit)).into()
    }

    /// A number without an interval; empty without one.
    pub(crate) fn point(value: Option<f64>, unit: &'static str) -> Self {
        value.map(|value| Quantity::point(value, unit, Form::Level)).into()
    }

    /// Its text.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Empty => "-".to_owned(),
            Self::Text(text) => text.clone(),
            Self::Quantity(quantity) => quantity.text(),
        }
    }

    /// Returns true if it has a value or a text other than `-`.
    pub(crate) fn is_stated(&self) -> bool {
        match self {
            Self::Empty => false,
            Self::Text(text) => !text.is_empty() && text != "-",
            Self::Quantity(quantity) => !matches!(quantity.basis, Basis::Unknown(_)),
        }
    }

    /// Returns true if its text ends with [`UNCERTAIN_SIGN`].
    pub(crate) fn has_mark(&self) -> bool {
        self.text().ends_with(UNCERTAIN_SIGN)
    }

    /// Returns true if it is drawn in grey: a number that is unknown or has only bounds.
    pub(crate) fn is_faint(&self) -> bool {
        matches!(self, Self::Quantity(Quantity { basis: Basis::Bounded | Basis::Unknown(_), .. }))
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        if text == "-" { Self::Empty } else { Self::Text(text) }
    }
}

impl From<Option<String>> for Cell {
    fn from(text: Option<String>) -> Self {
        text.map_or(Self::Empty, Self::from)
    }
}

impl From<Option<Quantity>> for Cell {
    fn from(quantity: Option<Quantity>) -> Self {
        quantity.map_or(Self::Empty, Self::Quantity)
    }
}

impl Column {
    /// A column of numbers.
    pub(crate) fn new(heading: impl Into<String>, priority: u8) -> Self {
        Self { heading: heading.into(), priority, is_text: false }
    }

    /// A column of words.
    pub(crate) fn text(heading: impl Into<String>, priority: u8) -> Self {
        Self { heading: heading.into(), priority, is_text: true }
    }
}

impl Row {
    pub(crate) fn new(name: impl Into<String>, cells: Vec<Cell>) -> Self {
        Self { name: name.into(), summary: String::new(), page: None, cells }
    }
}

impl Table {
    /// A table with these columns in addition to that of the names.
    pub(crate) fn new(
        title: impl Into<String>,
        names: impl Into<String>,
        columns: impl IntoIterator<Item = Column>,
        rows: impl IntoIterator<Item = Row>,
    ) -> Self {
        Self {
            title: title.into(),
            names: names.into(),
            columns: columns.into_iter().collect(),
            rows: rows.into_iter().collect(),
        }
    }

    /// A table of words. The first heading is that of the names. A narrow output drops columns from the last to the second.
    pub(crate) fn of_words<H: Into<String>>(
        title: impl Into<String>,
        headings: impl IntoIterator<Item = H>,
        rows: impl IntoIterator<Item = (String, Vec<String>)>,
    ) -> Self {
        let cells = |(name, words): (String, Vec<String>)| {
            (name, words.into_iter().map(Cell::from).collect::<Vec<Cell>>())
        };
        Self::of_cells(title, headings, rows.into_iter().map(cells))
    }

    /// As [`Self::of_words`], of cells of any kind.
    pub(crate) fn of_cells<H: Into<String>>(
        title: impl Into<String>,
        headings: impl IntoIterator<Item = H>,
        rows: impl IntoIterator<Item = (String, Vec<Cell>)>,
    ) -> Self {
        let mut headings = headings.into_iter().map(|heading| -> String { heading.into() });
        let names = headings.next().unwrap_or_default();
        let column =
            |(place, heading): (usize, String)| Column::new(heading, u8::try_from(place).unwrap_or(u8::MAX));
        let row = |(name, cells): (String, Vec<Cell>)| Row::new(name, cells);
        Self::new(title, names, headings.enumerate().map(column), rows.into_iter().map(row))
    }

    /// Removes the columns in which no row has a value.
    #[must_use]
    pub(crate) fn without_empty_columns(mut self) -> Self {
        let is_stated =
            |place: usize| self.rows.iter().any(|row| row.cells.get(place).is_some_and(Cell::is_stated));
        let kept: Vec<bool> = (0..self.columns.len()).map(is_stated).collect();
        self.keep(&kept);
        self
    }

    /// Marks these columns as words.
    #[must_use]
    pub(crate) fn with_words(mut self, headings: &[&str]) -> Self {
        for column in &mut self.columns {
            column.is_text |= headings.contains(&column.heading.as_str());
        }
        self
    }

    /// Sets the priority of a column.
    #[must_use]
    pub(crate) fn with_priority(mut self, heading: &str, priority: u8) -> Self {
        for column in self.columns.iter_mut().filter(|column| column.heading == heading) {
            column.priority = priority;
        }
        self
    }

    /// Returns the explanation of the mark of its numbers, if any number has it.
    pub(crate) fn meaning_of_mark(&self) -> Option<String> {
        let has_mark = self.rows.iter().flat_map(|row| &row.cells).any(Cell::has_mark);
        // The printed intervals are those of single costs: one of them may exclude zero and yet have the mark.
        has_mark.then(|| {
            format!(
                "{}: may be zero, or of the other sign, once all costs of its column are judged together",
                UNCERTAIN_SIGN.trim()
            )
        })
    }

    /// Keeps the columns for which `kept` is true.
    pub(crate) fn keep(&mut self, kept: &[bool]) {
        let mut marks = kept.iter();
        self.columns.retain(|_| marks.next().is_some_and(|kept| *kept));
        for row in &mut self.rows {
            let mut marks = kept.iter();
            row.cells.retain(|_| marks.next().is_some_and(|kept| *kept));
        }
    }
}

#[cfg(test)]
impl Table {
    /// Its headings, beginning with that of the names.
    pub(crate) fn headings(&self) -> Vec<&str> {
        let columns = self.columns.iter().map(|column| column.heading.as_str());
        std::iter::once(self.names.as_str()).chain(columns).collect()
    }

    /// The texts in the row with this number.
    pub(crate) fn texts(&self, row: usize) -> Vec<String> {
        self.rows[row].cells.iter().map(Cell::text).collect()
    }

    /// The texts in the row with this name.
    pub(crate) fn texts_of(&self, name: &str) -> Vec<String> {
        self.texts(self.rows.iter().position(|row| row.name == name).unwrap())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_in_which_no_row_states_anything_is_left_out() {
        let unknown = || Cell::Quantity(Quantity::unknown("withheld", "us"));
        let columns = [Column::new("a", 0), Column::new("b", 1), Column::text("c", 2)];
        let rows = [
            Row::new("x", vec![unknown(), Cell::words("1"), Cell::Empty]),
            Row::new("y", vec![Cell::Empty, Cell::Empty, Cell::words("word")]),
        ];
        let kept = Table::new("t", "arm", columns, rows).without_empty_columns();
        assert_eq!(kept.headings(), ["arm", "b", "c"]);
        assert_eq!(kept.rows[1].cells, [Cell::Empty, Cell::Text("word".to_owned())]);
    }
}
