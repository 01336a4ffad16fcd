//! The functions of the catalogue, and their document.

use std::collections::BTreeMap;

use hoptax_result::{Body, Report, counted};
use hoptax_text::command_line::path_word;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, Next, Section};
use crate::table::{Cell, Column, Row, Table};

/// The output of `hoptax functions --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FunctionsBody {
    /// The functions, those of one family together.
    pub functions: Vec<ListedFunction>,
}

/// A function of Envoy that a study can measure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListedFunction {
    /// Its id: `rate-limit/local`.
    pub id: String,
    /// Its family: `traffic shaping`.
    pub family: String,
    /// What it does, in one line.
    pub summary: String,
    /// The address of Envoy's documentation about it.
    pub source: String,
    /// Changes of it in releases of Envoy.
    pub changes: Vec<ListedChange>,
    /// The parameters that change its cost, by name.
    pub knobs: BTreeMap<String, ListedKnob>,
    /// The configuration that enables it, merged into that of a plain proxy: a template over its knobs.
    pub fragment: String,
}

/// A change of a function in a release of Envoy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListedChange {
    /// The release: `1.40`.
    pub release: String,
    /// The change, in one line.
    pub summary: String,
}

/// A parameter that changes the cost of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListedKnob {
    /// Its default value.
    pub default: String,
    /// The values that it takes, in words: `an integer from 1 to 2000`.
    pub takes: String,
    /// Its meaning, in one line.
    pub summary: String,
}

/// Its report.
pub type FunctionsResult = Report<FunctionsBody>;

impl Body for FunctionsBody {
    const FORMAT: &'static str = "hoptax.functions/1";
    type Environment = ();

    fn from_text(text: &str) -> serde_json::Result<FunctionsResult> {
        serde_json::from_str(text)
    }

    fn subject(&self) -> String {
        "functions".to_owned()
    }
}

/// The document of a list of functions.
pub fn functions(result: &FunctionsResult) -> Document {
    let functions = &result.functions;
    let answer = format!("{} of Envoy can be measured", counted(functions.len() as u64, "function"));
    let mut document = Document::new("functions", "", vec![answer]);
    document.table = Some(by_family(functions));
    document.only_in_details = Some("what each does, and its knobs");
    document.next = functions.first().map(|function| {
        let command = format!("hoptax functions show {}", path_word(function.id.as_ref()));
        Next::new(command, "prints its configuration, its knobs and its price")
    });
    document.sections = vec![Section::of_table(each(functions)), Section::folded(knobs(functions))];
    document
}

fn by_family(functions: &[ListedFunction]) -> Table {
    let row =
        |family: &[ListedFunction]| Some(Row::new(&family.first()?.family, vec![Cell::words(ids(family))]));
    let rows = functions.chunk_by(|a, b| a.family == b.family).filter_map(row);
    let title = "functions by family; `a/{b, c}` is short for `a/b` and `a/c`";
    Table::new(title, "family", [Column::text("functions", 0)], rows)
}

/// The ids of functions. Those that begin alike share the beginning, so that a screen has room for all: `jwt, tls/{originate, terminate}`.
fn ids(functions: &[ListedFunction]) -> String {
    // The beginning of `jwt` is empty, that of `tls/originate` is `tls/`.
    let split = functions.iter().map(|function| {
        let rest = function.id.find('/').map_or(0, |slash| slash + 1);
        function.id.split_at(rest)
    });
    let parts: Vec<(&str, &str)> = split.collect();
    let written = |alike: &[(&str, &str)]| {
        let beginning = alike.first().map_or("", |first| first.0);
        let rest = alike.iter().map(|one| one.1).collect::<Vec<&str>>().join(", ");
        if alike.len() > 1 && !beginning.is_empty() {
            format!("{beginning}{{{rest}}}")
        } else {
            format!("{beginning}{rest}")
        }
    };
    parts.chunk_by(|a, b| a.0 == b.0).map(written).collect::<Vec<String>>().join(", ")
}

fn each(functions: &[ListedFunction]) -> Table {
    let row = |function: &ListedFunction| {
        Row::new(&function.id, vec![Cell::words(&function.family), Cell::words(&function.summary)])
    };
    let columns = [Column::text("family", 0), Column::text("what it does", 0)];
    Table::new("all functions", "function", columns, functions.iter().map(row))
}

/// The knobs, each in the form in which a study names its function with it.
fn knobs(functions: &[ListedFunction]) -> Table {
    let rows = functions.iter().flat_map(|function| {
        function.knobs.iter().map(move |(name, knob)| {
            let meaning = Cell::words(format!("{}; {}", knob.summary, knob.takes));
            Row::new(format!("{}{{{name}={}}}", function.id, knob.default), vec![meaning])
        })
    });
    Table::new("knobs, with their defaults", "function", [Column::text("meaning", 0)], rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::STYLE;
    use crate::render::terminal;

    fn function(id: &str, family: &str) -> ListedFunction {
        let routes =
            ListedKnob { default: "1".to_owned(), takes: "any".to_owned(), summary: "Routes".to_owned() };
        ListedFunction {
            id: id.to_owned(),
            family: family.to_owned(),
            summary: format!("Does {id}"),
            source: "https://www.envoyproxy.io/docs".to_owned(),
            changes: Vec::new(),
            knobs: BTreeMap::from([("routes".to_owned(), routes)]),
            fragment: "http_filters: []\n".to_owned(),
        }
    }

    #[test]
    fn families_are_rows_and_the_details_say_what_each_function_does() {
        let body = FunctionsBody {
            functions: vec![
                function("edge/remote-address", "routing"),
                function("route/path", "routing"),
                function("route/regex", "routing"),
                function("cors", "security"),
                function("jwt", "security"),
            ],
        };
        let result = FunctionsResult::new((), body);
        let document = functions(&result);
        insta::assert_snapshot!(terminal::screen(&document, STYLE).trim_start(), @r"
        5 functions of Envoy can be measured.

        functions by family; `a/{b, c}` is short for `a/b` and `a/c`:

        family    functions
        routing   edge/remote-address, route/{path, regex}
        security  cors, jwt

        what each does, and its knobs: --details
        next: hoptax functions show edge/remote-address   prints its configuration, its knobs and its price
        ");
        let details = terminal::details(&document, STYLE);
        for words in ["jwt                  security  Does jwt", "route/path{routes=1}", "Routes; any"] {
            assert!(details.contains(words), "{words}: {details}");
        }
        let text = serde_json::to_string(&result).unwrap();
        assert_eq!(FunctionsBody::from_text(&text).unwrap(), result);
    }
}
