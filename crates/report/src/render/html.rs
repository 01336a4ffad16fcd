//! A document as a self-contained HTML page without scripts or external resources.

use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, HtmlEscape, UndefinedBehavior, Value};
use serde::Serialize;

use crate::document::{Block, Document, FindingText, Intervals, Judgement, Next, Section};
use crate::forest::{Forest, bars, forest};
use crate::in_use::Multiple;
use crate::layers::StackedBars;
use crate::quantity::Quantity;
use crate::table::{Cell, Table};
use crate::timeline::Picture;
use crate::words;

const TEMPLATES: [(&str, &str); 3] = [
    ("document.html", include_str!("../../templates/document.html")),
    ("plots.html", include_str!("../../templates/plots.html")),
    ("style.css", include_str!("../../templates/style.css")),
];

/// Why the page could not be generated, which is a bug in hoptax.
#[derive(Debug, thiserror::Error)]
#[error("cannot render the page: {0}; this is a bug in hoptax")]
pub struct HtmlError(#[from] minijinja::Error);

/// The page of a document.
///
/// # Errors
/// When the template does not evaluate.
pub fn page(document: &Document) -> Result<String, HtmlError> {
    let page = Page {
        subject: &document.subject,
        title: &document.title,
        answer: document.answer.iter().map(|one| one.trim_end_matches('.')).collect(),
        verdict: document.verdict.as_ref(),
        next: document.next.as_ref(),
        plots_above: document.plots.iter().map(PageSection::new).collect(),
        main_table: document.table.as_ref().map(PageTable::new),
        notes: &document.notes,
        findings: &document.findings,
        sections: document.sections.iter().map(PageSection::new).collect(),
    };
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.add_filter("capitalised", |text: String| words::capitalised(&text));
    environment.add_filter("code", code);
    for (name, source) in TEMPLATES {
        environment.add_template(name, source)?;
    }
    Ok(environment.get_template("document.html")?.render(Value::from(Serde(page)))?)
}

/// Escapes text and marks parts between backticks as code.
#[expect(clippy::needless_pass_by_value, reason = "filters are given their own")]
fn code(text: String) -> Value {
    let parts = text.split('`').enumerate().map(|(number, part)| match (number % 2, HtmlEscape(part)) {
        (0, part) => part.to_string(),
        (_, part) => format!("<code>{part}</code>"),
    });
    Value::from_safe_string(parts.collect())
}

#[derive(Serialize)]
struct Page<'a> {
    subject: &'a str,
    title: &'a str,
    answer: Vec<&'a str>,
    verdict: Option<&'a Judgement>,
    next: Option<&'a Next>,
    plots_above: Vec<PageSection<'a>>,
    main_table: Option<PageTable<'a>>,
    notes: &'a [String],
    findings: &'a [FindingText],
    sections: Vec<PageSection<'a>>,
}

#[derive(Serialize)]
struct PageSection<'a> {
    title: &'a str,
    folded: bool,
    blocks: Vec<PageBlock<'a>>,
}

/// A block. One of the options is set.
#[derive(Default, Serialize)]
struct PageBlock<'a> {
    note: Option<&'a str>,
    lines: Option<&'a [String]>,
    table: Option<PageTable<'a>>,
    forest: Option<Forest>,
    axis: &'a str,
    title: &'a str,
    has_bars: bool,
    multiples: Option<&'a [Multiple]>,
    courses: Option<&'a [Picture]>,
    bars: Option<&'a StackedBars>,
}

#[derive(Serialize)]
struct PageTable<'a> {
    title: &'a str,
    names: &'a str,
    columns: &'a [crate::table::Column],
    rows: Vec<PageRow<'a>>,
}

#[derive(Serialize)]
struct PageRow<'a> {
    name: &'a str,
    summary: &'a str,
    is_near_zero: bool,
    cells: Vec<PageCell>,
}

#[derive(Serialize)]
struct PageCell {
    text: String,
    /// The class of the cell: `text` or `faint`; empty for a usual number.
    class: &'static str,
    /// The ends of its interval, or why it is not known.
    title: String,
}

impl<'a> PageSection<'a> {
    fn new(section: &'a Section) -> Self {
        Self {
            title: &section.title,
            folded: section.folded,
            blocks: section.blocks.iter().map(PageBlock::new).collect(),
        }
    }
}

impl<'a> PageBlock<'a> {
    fn new(block: &'a Block) -> Self {
        let none = Self::default();
        match block {
            Block::Note(note) => Self { note: Some(note), ..none },
            Block::Lines(lines) => Self { lines: Some(lines), ..none },
            Block::Table(table) => Self { table: Some(PageTable::new(table)), ..none },
            Block::Intervals(intervals) => {
                let Intervals { title, axis, items, band, has_bars } = intervals;
                let forest = if *has_bars { bars(items, *band) } else { forest(items, *band) };
                Self { forest, axis, title, has_bars: *has_bars, ..none }
            }
            Block::Multiples(multiples) => Self { multiples: Some(multiples), ..none },
            Block::Courses(courses) => Self { courses: Some(courses), ..none },
            Block::Bars(bars) => Self { bars: Some(bars), ..none },
        }
    }
}

impl<'a> PageTable<'a> {
    fn new(table: &'a Table) -> Self {
        let row = |row: &'a crate::table::Row| PageRow {
            name: &row.name,
            summary: &row.summary,
            is_near_zero: is_near_zero(row),
            cells: row.cells.iter().map(PageCell::new).collect(),
        };
        Self {
            title: &table.title,
            names: &table.names,
            columns: &table.columns,
            rows: table.rows.iter().map(row).collect(),
        }
    }
}

/// Whether the first number of a row is a difference whose interval contains zero.
fn is_near_zero(row: &crate::table::Row) -> bool {
    let first = row.cells.iter().find_map(|cell| match cell {
        Cell::Quantity(quantity) => Some(quantity),
        Cell::Empty | Cell::Text(_) => None,
    });
    first.is_some_and(|first| {
        first.form == crate::quantity::Form::Difference && (first.has_uncertain_sign || first.contains_zero())
    })
}

impl PageCell {
    fn new(cell: &Cell) -> Self {
        let class = match cell {
            Cell::Text(_) => "text",
            _ if cell.is_faint() => "faint",
            _ => "",
        };
        let title = match cell {
            Cell::Quantity(Quantity { basis: crate::quantity::Basis::Unknown(why), .. }) => {
                format!("not known: {why}")
            }
            Cell::Quantity(quantity) => quantity.ends(),
            Cell::Empty | Cell::Text(_) => String::new(),
        };
        Self { text: cell.text(), class, title }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{documents, fixture};

    #[test]
    fn the_page_of_a_study() {
        insta::assert_snapshot!(
            page(&documents::study_of(&fixture::study(), "quick", "runs/quick")).unwrap()
        );
    }

    #[test]
    fn the_page_of_a_void_study() {
        insta::assert_snapshot!(page(&documents::study_of(&fixture::void(), "quick", "runs/quick")).unwrap());
    }

    #[test]
    fn text_of_a_file_is_not_markup_on_a_page() {
        let mut result = fixture::study();
        result.name = "<script>alert(1)</script>".to_owned();
        result.arms[1].id = "<img src=x>".to_owned();
        let page = page(&documents::study(&result)).unwrap();
        assert!(!page.contains("<script>") && !page.contains("<img"), "{page}");
    }

    #[test]
    fn a_page_loads_nothing_from_elsewhere() {
        for result in [fixture::study(), fixture::void(), fixture::timeline(), fixture::loaded()] {
            let page = page(&documents::study(&result)).unwrap();
            assert!(
                !page.contains("http://") && !page.contains("https://") && !page.contains("<script"),
                "{page}"
            );
        }
    }
}
