//! A table without rules: a name, then numbers.

use comfy_table::{CellAlignment, Table, presets};

/// Rows under a header.
pub(super) struct Rows(Table);

impl Rows {
    pub(super) fn new(header: &[&str]) -> Self {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(header.iter().map(ToString::to_string));
        Self(table)
    }

    pub(super) fn add(&mut self, name: &str, cells: Vec<String>) {
        self.0.add_row(std::iter::once(name.to_owned()).chain(cells));
    }

    /// The table, with a column of bars at its right end.
    pub(super) fn text_with_bars(mut self) -> String {
        let columns = self.0.column_count();
        self.lines(columns.saturating_sub(1))
    }

    pub(super) fn text(mut self) -> String {
        let columns = self.0.column_count();
        self.lines(columns)
    }

    /// The table; numbers are right-aligned in the first `columns` columns.
    fn lines(mut self, columns: usize) -> String {
        for (index, column) in self.0.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            if index > 0 && index < columns {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        self.0.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
    }
}
