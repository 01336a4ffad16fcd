//! A gate.

use hoptax_result::{GateResult, Verdict};

use super::rows::Rows;
use super::{Paint, Style};
use crate::gate::{method, outcome, sentences, table, warning};

/// The outcome, a sentence for each limit that did not pass, and all limits.
pub fn gate(result: &GateResult, style: Style) -> String {
    let paint = if result.has_failed() {
        Paint::Red
    } else if result.is_unknown() || result.verdict == Verdict::Void {
        Paint::Yellow
    } else {
        Paint::Green
    };
    let mut text = format!("\n{}\n", style.paint(paint, &style.wrap(&outcome(result), 2)));
    if let Some(warning) = warning(result) {
        text += &format!("{}\n", style.paint(Style::of_verdict(result.verdict), warning));
    }
    let indented = Style { width: style.width.saturating_sub(2), ..style };
    text.extend(sentences(result).iter().map(|line| format!("  {}\n", indented.wrap(line, 4))));
    let table = table(result);
    let header: Vec<&str> = table.header.iter().map(String::as_str).collect();
    let mut rows = Rows::new(&header);
    for (name, cells) in table.rows {
        rows.add(&name, cells);
    }
    text += &format!("\n{}\n", rows.text());
    text.extend(method(result).iter().map(|line| format!("{}\n", style.wrap(line, 2))));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::fixture;

    #[test]
    fn a_gate_with_every_outcome() {
        insta::assert_snapshot!(gate(&fixture::gate(), Style { width: 110, colour: false }));
    }
}
