//! A table without rules: a name, then numbers.

use std::collections::BTreeSet;

use comfy_table::{CellAlignment, Table, presets};

/// Longest name that is never shortened, in characters.
const LONGEST_NAME: usize = 44;
/// The end of a longer one that stays.
const KEPT_END: usize = 12;

/// The names without the middle of long ones; unchanged if two would be the same.
pub(crate) fn short_names(names: Vec<String>) -> Vec<String> {
    let short = |name: &String| {
        let length = name.chars().count();
        if length <= LONGEST_NAME {
            return name.clone();
        }
        let begin: String = name.chars().take(LONGEST_NAME - KEPT_END - 3).collect();
        let end: String = name.chars().skip(length - KEPT_END).collect();
        format!("{begin}...{end}")
    };
    let short: Vec<String> = names.iter().map(short).collect();
    let distinct: BTreeSet<&String> = short.iter().collect();
    if distinct.len() == short.len() { short } else { names }
}

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

    /// The table; numbers are right-aligned.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_lose_their_middle_unless_they_would_be_the_same() {
        let names = |parts: [&str; 2]| parts.map(|part| format!("baseline{{cookie={part}}}")).to_vec();
        let long = names(["session=0123456789abcdef0123456789abcdef", "short"]);
        let short = short_names(long.clone());
        assert!(
            short[0].starts_with("baseline{cookie=session=01234...") && short[0].ends_with("789abcdef}"),
            "{short:?}"
        );
        assert!(short[0].chars().count() == LONGEST_NAME && short[1] == long[1], "{short:?}");
        let alike = names([
            "session=0123456789abcdef-one-0123456789abcdef",
            "session=0123456789abcdef-two-0123456789abcdef",
        ]);
        assert_eq!(short_names(alike.clone()), alike);
    }
}
