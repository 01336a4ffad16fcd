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

    pub(super) fn text(mut self) -> String {
        for (index, column) in self.0.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            if index > 0 {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        self.0.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
    }
}
