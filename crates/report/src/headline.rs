//! The few numbers of a result that a page shows in a row below its answer.

use hoptax_result::Verdict;
use schemars::JsonSchema;
use serde::Serialize;

use crate::quantity::Quantity;
use crate::table::Cell;

/// A number that is read before anything else.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Headline {
    /// Its name, without the unit: `p99 of the response time`.
    pub(crate) name: String,
    // Without a description in the schema, so that the page has one type for cells. Never empty: an unknown number has a reason.
    pub(crate) value: Cell,
    /// Words below it: the load or the part that it is of; none if the name says all.
    pub(crate) note: Option<String>,
}

impl Headline {
    pub(crate) fn new(name: impl Into<String>, value: Cell, note: Option<String>) -> Self {
        Self { name: name.into(), value, note }
    }

    /// A number with its interval or its bounds, or the reason why it is unknown.
    pub(crate) fn number(name: impl Into<String>, number: Quantity, note: Option<String>) -> Self {
        Self::new(name, Cell::Quantity(number), note)
    }

    /// The headline of a void result. Its number must not be used and is left out.
    fn withheld(self, why: &str) -> Self {
        let unit = match &self.value {
            Cell::Quantity(quantity) => quantity.unit,
            Cell::Empty | Cell::Text(_) => "",
        };
        Self::number(self.name, Quantity::unknown(why, unit), None)
    }
}

/// The headlines of a result with this verdict. If it is void, their numbers are left out.
pub(crate) fn unless_void(
    verdict: Verdict,
    all: Vec<Headline>,
    why: impl FnOnce() -> String,
) -> Vec<Headline> {
    if verdict != Verdict::Void {
        return all;
    }
    let why = why();
    all.into_iter().map(|one| one.withheld(&why)).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::document::Document;
    use crate::quantity::{Basis, Form};

    /// The headlines of a document as text: the name, the number with its unit or the reason why it is unknown, and the note.
    pub(crate) fn texts(document: &Document) -> Vec<String> {
        let text = |one: &Headline| {
            let value = match &one.value {
                Cell::Quantity(quantity) => match &quantity.basis {
                    Basis::Unknown(why) => format!("not known: {why}"),
                    _ => quantity.with_unit(),
                },
                other => other.text(),
            };
            let note = one.note.as_ref().map_or_else(String::new, |note| format!(" ({note})"));
            format!("{}: {value}{note}", one.name)
        };
        document.headlines.iter().map(text).collect()
    }

    #[test]
    fn a_void_result_keeps_the_name_and_says_why_there_is_no_number() {
        let number = Quantity::point(3.0, "us", Form::Level);
        let headline =
            Headline::number("p50", number, Some("of `lua`".to_owned())).withheld("the proxy waited");
        assert_eq!(headline, Headline::number("p50", Quantity::unknown("the proxy waited", "us"), None));
        let count = Headline::new("costs", Cell::words("3 of 4"), None).withheld("the proxy waited");
        assert_eq!(count.value, Cell::Quantity(Quantity::unknown("the proxy waited", "")));
    }
}
