//! The tables of several sittings.

use hoptax_result::SittingsResult;

use super::rows::Rows;
use super::{Paint, Style};
use crate::sittings::{CPU, holds, machine, sittings as lines, tables};

/// CPU time in several sittings, as a share and as measured. Response times and rates are in the Markdown
/// output.
pub fn sittings(result: &SittingsResult, style: Style) -> String {
    let heading = format!("{}: sittings on this machine", result.study);
    let mut text = format!("\n{}\n\n", style.paint(Paint::Bold, &heading));
    for line in lines(result) {
        text += &format!("{}\n", style.wrap(&line, 2));
    }
    for table in tables(result, &CPU) {
        let header: Vec<&str> = table.header.iter().map(String::as_str).collect();
        let mut rows = Rows::new(&header);
        for (name, cells) in table.rows {
            rows.add(&name, cells);
        }
        text += &format!("\n{}:\n\n{}", table.title, rows.text());
    }
    text += &format!("\n{}\n{}\n", style.wrap(&holds(result), 2), style.wrap(&machine(result), 2));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sittings::fixture;

    #[test]
    fn the_tables_of_three_sittings() {
        insta::assert_snapshot!(sittings(&fixture::three(), Style { width: 100, colour: false }));
    }

    #[test]
    fn the_tables_of_one_sitting() {
        insta::assert_snapshot!(sittings(&fixture::one(), Style { width: 100, colour: false }));
    }
}
