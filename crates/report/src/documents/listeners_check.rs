//! The document of a check of a listeners file: whether Envoy does what the file says, listener by listener.

use hoptax_result::{Body, Environment, Report, Verdict, counted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, Section};
use crate::kind::Documented;
use crate::table::{Cell, Column, Row, Table};

/// What became of the promises of a listeners file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListenersCheckBody {
    /// The file.
    pub file: String,
    /// The version of Envoy.
    pub envoy: String,
    /// The listeners, in the order of the file.
    pub listeners: Vec<CheckedListener>,
}

/// A listener.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckedListener {
    /// Its name.
    pub name: String,
    /// Its promises.
    pub promises: Vec<CheckedPromise>,
}

/// A promise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckedPromise {
    /// What it is about.
    pub about: PromiseKind,
    /// The cluster of the requests that it is about.
    pub cluster: String,
    /// What the file says.
    pub said: String,
    /// What became of it.
    pub outcome: Outcome,
    /// What was seen, or why it was not tried.
    pub seen: String,
}

/// What a promise is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromiseKind {
    /// What the upstream gets: the Host header, the name in the handshake, x-forwarded-proto.
    Arrival,
    /// The time after which a request without a response ends.
    Timeout,
    /// The number of tries of a request that fails.
    Tries,
    /// That a certificate with another name is refused.
    Certificate,
}

/// What became of a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is kept.
    Kept,
    /// It is broken.
    Broken,
    /// It could not be tried.
    Untried,
}

/// Its report.
pub type ListenersCheckResult = Report<ListenersCheckBody>;

impl Body for ListenersCheckBody {
    const FORMAT: &'static str = "hoptax.listeners-check/1";
    type Environment = Environment;

    fn subject(&self) -> String {
        self.file.clone()
    }

    /// Void if no promise was tried.
    fn verdict(&self) -> Verdict {
        let is_tried = self.count(Outcome::Kept) + self.count(Outcome::Broken) > 0;
        if is_tried { Verdict::Sound } else { Verdict::Void }
    }
}

impl ListenersCheckBody {
    /// Every promise with its listener.
    fn promises(&self) -> impl Iterator<Item = (&CheckedListener, &CheckedPromise)> {
        self.listeners.iter().flat_map(|one| one.promises.iter().map(move |promise| (one, promise)))
    }

    /// How many promises have this outcome.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.promises().filter(|(_, promise)| promise.outcome == outcome).count()
    }
}

impl Documented for ListenersCheckBody {
    const DOCUMENT: fn(&Report<Self>) -> Document = listeners_check;
}

/// The columns of the table, in their order.
const COLUMNS: [(PromiseKind, &str); 4] = [
    (PromiseKind::Arrival, "arrives"),
    (PromiseKind::Timeout, "timeout"),
    (PromiseKind::Tries, "tries"),
    (PromiseKind::Certificate, "other name"),
];

/// The document of a check, listeners that break a promise first.
pub fn listeners_check(result: &ListenersCheckResult) -> Document {
    let title = format!("what Envoy {} does with requests, and what the file says", result.envoy);
    let mut document = Document::new(format!("listeners check {}", result.file), title, answer(result));
    document.table = Some(table(result));
    let untried = result.count(Outcome::Untried);
    if untried > 0 {
        document.notes.push(format!(
            "{} not tried, each with its reason in --details",
            counted(untried as u64, "promise")
        ));
    }
    document.sections.extend(Section::of_lines("Broken promises", lines(result, Outcome::Broken)));
    document
        .sections
        .extend(Section::of_lines("Promises that were not tried", lines(result, Outcome::Untried)));
    document.sections.extend(Section::of_lines("Promises that are kept", lines(result, Outcome::Kept)));
    document.sections.extend(Section::of_lines("Method", method()));
    document
}

fn name(kind: PromiseKind) -> &'static str {
    match kind {
        PromiseKind::Arrival => "what arrives",
        PromiseKind::Timeout => "its timeout",
        PromiseKind::Tries => "its number of tries",
        PromiseKind::Certificate => "the name of a certificate",
    }
}

fn answer(result: &ListenersCheckResult) -> Vec<String> {
    let (kept, broken) = (result.count(Outcome::Kept), result.count(Outcome::Broken));
    let listeners = counted(result.listeners.len() as u64, "listener");
    let first = result.promises().find(|(_, promise)| promise.outcome == Outcome::Broken);
    let Some((listener, promise)) = first else {
        if kept == 0 {
            return vec!["No promise could be tried".to_owned()];
        }
        let verb = if result.listeners.len() == 1 { "keeps" } else { "keep" };
        return vec![format!("{listeners} {verb} {}", counted(kept as u64, "promise"))];
    };
    let mut answer = vec![format!(
        "Listener `{}` breaks {}: {}, and Envoy: {}",
        listener.name,
        name(promise.about),
        promise.said,
        promise.seen
    )];
    answer.push(format!("{broken} of {} of {listeners} broken", counted((kept + broken) as u64, "promise")));
    answer
}

fn lines(result: &ListenersCheckResult, outcome: Outcome) -> Vec<String> {
    let chosen = result.promises().filter(|(_, promise)| promise.outcome == outcome);
    let line = |(listener, promise): (&CheckedListener, &CheckedPromise)| {
        format!("`{}` to `{}`: {}: {}", listener.name, promise.cluster, promise.said, promise.seen)
    };
    chosen.map(line).collect()
}

fn table(result: &ListenersCheckResult) -> Table {
    let broken =
        |one: &CheckedListener| one.promises.iter().filter(|one| one.outcome == Outcome::Broken).count();
    let mut listeners: Vec<&CheckedListener> = result.listeners.iter().collect();
    listeners.sort_by_key(|one| std::cmp::Reverse(broken(one)));
    let row = |one: &&CheckedListener| Row::new(&one.name, COLUMNS.map(|(kind, _)| cell(one, kind)).into());
    let table = Table {
        title: "what each listener does".to_owned(),
        names: "listener".to_owned(),
        columns: COLUMNS.iter().zip(0..).map(|((_, heading), place)| Column::text(*heading, place)).collect(),
        rows: listeners.iter().map(row).collect(),
    };
    table.without_empty_columns()
}

/// The promises of a listener about one thing: the worst counts, and of several routes their number is said.
fn cell(listener: &CheckedListener, kind: PromiseKind) -> Cell {
    let promises: Vec<&CheckedPromise> = listener.promises.iter().filter(|one| one.about == kind).collect();
    let worst = [Outcome::Broken, Outcome::Untried, Outcome::Kept]
        .into_iter()
        .find_map(|outcome| promises.iter().find(|promise| promise.outcome == outcome));
    let Some(promise) = worst else { return Cell::Empty };
    let alike = promises.iter().filter(|one| one.outcome == promise.outcome).count();
    let of = if promises.len() > 1 { format!(" ({alike} of {})", promises.len()) } else { String::new() };
    Cell::words(match promise.outcome {
        Outcome::Broken => format!("BROKEN{of}"),
        Outcome::Untried => format!("not tried{of}"),
        Outcome::Kept => {
            let words = promise.seen.trim_start_matches("status ").split(':').next().unwrap_or_default();
            format!("{words}{of}")
        }
    })
}

fn method() -> Vec<String> {
    [
        "Envoy runs on what the file becomes; its upstreams are servers of the check on this machine, and so are all ports and certificates",
        "timeout: the server is silent, and the request ends with status 504 not more than 10 ms before the time that the file says, and not more \
         than 100 ms or 5 % after the latest",
        "tries: the server fails in the way that the file names, and counts",
        "other name: the server has a certificate of the same authority for another name, and must get no request",
        "a promise that a busy machine can break counts as broken when three trials break it",
    ]
    .map(str::to_owned)
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Style;
    use crate::render::terminal;

    fn promise(about: PromiseKind, said: &str, outcome: Outcome, seen: &str) -> CheckedPromise {
        let (cluster, said, seen) = ("search".to_owned(), said.to_owned(), seen.to_owned());
        CheckedPromise { about, cluster, said, outcome, seen }
    }

    fn result() -> ListenersCheckResult {
        let listener = |name: &str, timeout: Outcome, seen: &str| CheckedListener {
            name: name.to_owned(),
            promises: vec![
                promise(
                    PromiseKind::Arrival,
                    "Host `a`, x-forwarded-proto `http` at `search`",
                    Outcome::Kept,
                    "as said",
                ),
                promise(PromiseKind::Timeout, "a request ends after 2s", timeout, seen),
                promise(PromiseKind::Tries, "a request that fails is tried once", Outcome::Kept, "1 try"),
            ],
        };
        let body = ListenersCheckBody {
            file: "listeners.yaml".to_owned(),
            envoy: "1.40.0".to_owned(),
            listeners: vec![
                listener("sound", Outcome::Kept, "status 504 after 2.001 s"),
                listener("slow", Outcome::Untried, "600s is longer than the 90s that a check waits"),
                listener("wrong", Outcome::Broken, "status 504 after 3.001 s"),
            ],
        };
        ListenersCheckResult::new(Environment::default(), body)
    }

    fn screen(result: &ListenersCheckResult) -> String {
        terminal::screen(&listeners_check(result), Style { width: 100, colour: false })
    }

    #[test]
    fn the_first_screen_names_the_promise_that_is_broken() {
        insta::assert_snapshot!(screen(&result()));
    }

    #[test]
    fn what_was_not_tried_is_never_kept() {
        let mut result = result();
        result.listeners.pop();
        let shown = screen(&result);
        assert!(
            shown.contains("2 listeners keep 5 promises") && shown.contains("1 promise not tried"),
            "{shown}"
        );
        for promise in result.listeners.iter_mut().flat_map(|one| &mut one.promises) {
            promise.outcome = Outcome::Untried;
        }
        assert_eq!(result.body.verdict(), Verdict::Void);
        let shown = screen(&result);
        assert!(shown.contains("No promise could be tried"), "{shown}");
    }
}
