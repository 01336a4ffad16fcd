//! The document of a check of a listeners file: the promises that Envoy keeps and breaks, listener by listener.

use hoptax_result::{
    CheckedListener, CheckedPromise, ListenersCheckResult, PromiseKind, PromiseOutcome, counted,
};
use hoptax_text::command_line::path_word;

use crate::document::{Document, IN_DETAILS, Section};
use crate::environment;
use crate::next::Next;
use crate::numbers::grouped;
use crate::table::{Cell, Column, Row, Table};

/// Maximum number of broken promises in the answer; the others are in the details.
const NAMED: usize = 5;

/// The document of a check, listeners that break a promise first.
pub fn listeners_check(result: &ListenersCheckResult) -> Document {
    let workers = counted(result.workers as u64, "worker");
    let title =
        format!("what Envoy {} with {workers} does with requests, and what the file says", result.envoy);
    let mut document =
        Document::of(result, format!("listeners check {}", result.file), title, answer(result));
    document.table = Some(table(result));
    document.notes.extend(untried(result));
    document.notes.extend(repeated(result));
    let is_kept = result.count(PromiseOutcome::Kept) > 0 && result.count(PromiseOutcome::Broken) == 0;
    let file = path_word(result.file.as_ref());
    document.next = Some(if is_kept {
        Next::new(format!("hoptax listeners run {file}"), "keeps an Envoy running on the file")
    } else {
        Next::new(format!("hoptax listeners render {file}"), "shows what Envoy gets")
    });
    let sections = [
        ("Broken promises", PromiseOutcome::Broken),
        ("Promises that were not tried", PromiseOutcome::Untried),
        ("Promises that are kept", PromiseOutcome::Kept),
    ];
    for (title, outcome) in sections {
        let section = Section::of_lines(title, lines(result, outcome));
        // Collapse kept promises, which few readers need.
        let fold = |section: Section| if outcome == PromiseOutcome::Kept { section.fold() } else { section };
        document.sections.extend(section.map(fold));
    }
    document.sections.extend(Section::of_lines("Method", method()));
    document.sections.extend(environment::section(&result.environment, &result.program));
    document
}

fn answer(result: &ListenersCheckResult) -> Vec<String> {
    let (kept, broken) = (result.count(PromiseOutcome::Kept), result.count(PromiseOutcome::Broken));
    let listeners = counted(result.listeners.len() as u64, "listener");
    if kept + broken == 0 {
        return vec!["No promise could be tried".to_owned()];
    }
    let untried = result.count(PromiseOutcome::Untried);
    let untried = if untried > 0 {
        format!("; {} not tried", counted(untried as u64, "promise"))
    } else {
        String::new()
    };
    if broken == 0 {
        return vec![format!(
            "Envoy does what {} promises: {} of {listeners} kept, none broken{untried}",
            result.file,
            counted(kept as u64, "promise")
        )];
    }
    let all = result.promises().filter(|(_, promise)| promise.outcome == PromiseOutcome::Broken);
    let mut answer: Vec<String> = all
        .take(NAMED)
        .map(|(listener, promise)| {
            format!(
                "Listener `{}` (line {}) breaks {}: {}; seen: {}",
                listener.name,
                listener.line,
                promise.about.words().1,
                promise.said,
                promise.seen
            )
        })
        .collect();
    let more = broken.saturating_sub(NAMED);
    let more = if more > 0 { format!("; {more} of them only {IN_DETAILS}") } else { String::new() };
    let promises = counted((kept + broken) as u64, "promise");
    answer.push(format!("{broken} of {promises} of {listeners} broken{more}{untried}"));
    answer
}

/// Returns the number of untried promises by kind; none if all were tried.
fn untried(result: &ListenersCheckResult) -> Option<String> {
    let of = |kind: PromiseKind| {
        let untried = result.promises().filter(|(_, promise)| promise.outcome == PromiseOutcome::Untried);
        let count = untried.filter(|(_, promise)| promise.about == kind).count();
        (count > 0).then(|| format!("{count} of {}", kind.words().0))
    };
    let kinds: Vec<String> = PromiseKind::ALL.into_iter().filter_map(of).collect();
    (!kinds.is_empty()).then(|| format!("not tried: {}; each with its reason {IN_DETAILS}", kinds.join(", ")))
}

/// Returns the number of promises that were kept only after a repetition; none if there are none.
fn repeated(result: &ListenersCheckResult) -> Option<String> {
    let is_repeated = |one: &CheckedPromise| one.outcome == PromiseOutcome::Kept && !one.earlier.is_empty();
    let count = result.promises().filter(|(_, promise)| is_repeated(promise)).count();
    let promises = counted(count as u64, "promise");
    (count > 0).then(|| format!("{promises} kept only in a second or third trial: see the details"))
}

fn lines(result: &ListenersCheckResult, outcome: PromiseOutcome) -> Vec<String> {
    let chosen = result.promises().filter(|(_, promise)| promise.outcome == outcome);
    let line = |(listener, promise): (&CheckedListener, &CheckedPromise)| {
        let what = if outcome == PromiseOutcome::Untried { "not tried" } else { "seen" };
        let earlier: Vec<String> = promise.earlier.iter().map(|seen| format!("; before: {seen}")).collect();
        format!(
            "`{}` (line {}) to `{}`: {}; {what}: {}{}",
            listener.name,
            listener.line,
            promise.cluster,
            promise.said,
            promise.seen,
            earlier.concat()
        )
    };
    chosen.map(line).collect()
}

fn table(result: &ListenersCheckResult) -> Table {
    let broken = |one: &CheckedListener| {
        one.promises.iter().filter(|one| one.outcome == PromiseOutcome::Broken).count()
    };
    let mut listeners: Vec<&CheckedListener> = result.listeners.iter().collect();
    listeners.sort_by_key(|one| std::cmp::Reverse(broken(one)));
    let row = |one: &&CheckedListener| {
        let mut cells: Vec<Cell> = PromiseKind::ALL.iter().map(|kind| cell(one, *kind)).collect();
        cells.push(Cell::words(format!("{} s", grouped(one.took_us as f64 / 1e6, 1))));
        Row::new(&one.name, cells)
    };
    // Broken promises must be visible on a terminal of any width.
    let priority = |kind: PromiseKind, place: u8| {
        let mut promises = result.promises().filter(|(_, promise)| promise.about == kind);
        if promises.any(|(_, promise)| promise.outcome == PromiseOutcome::Broken) { 0 } else { place }
    };
    let columns = PromiseKind::ALL.iter().zip(1..);
    let mut columns: Vec<Column> =
        columns.map(|(kind, place)| Column::text(kind.words().0, priority(*kind, place))).collect();
    columns.push(Column::text("took", 0));
    let title = "what was seen of each listener when its promises were tried";
    Table::new(title, "listener", columns, listeners.iter().map(row)).without_empty_columns()
}

/// The promises of one kind of a listener: the worst outcome, with its number if other promises of this kind had better ones.
fn cell(listener: &CheckedListener, kind: PromiseKind) -> Cell {
    let promises: Vec<&CheckedPromise> = listener.promises.iter().filter(|one| one.about == kind).collect();
    let worst = [PromiseOutcome::Broken, PromiseOutcome::Untried, PromiseOutcome::Kept]
        .into_iter()
        .find_map(|outcome| promises.iter().find(|promise| promise.outcome == outcome));
    let Some(promise) = worst else { return Cell::Empty };
    let alike = promises.iter().filter(|one| one.outcome == promise.outcome).count();
    let of = if alike < promises.len() { format!(" ({alike} of {})", promises.len()) } else { String::new() };
    Cell::words(match promise.outcome {
        PromiseOutcome::Broken => format!("BROKEN{of}"),
        PromiseOutcome::Untried => format!("untried{of}"),
        PromiseOutcome::Kept => promise.seen.split(", ").next().unwrap_or_default().to_owned(),
    })
}

fn method() -> Vec<String> {
    [
        "Envoy runs the configuration rendered from the file; its upstreams, ports and certificates are those of the check, on this machine",
        "Envoy has one worker: with several, each opens at least one connection to an upstream, so limits of connections are less exact",
        "timeout: the server does not answer, and the request ends with status 504 at most 10 ms before the time in the file, and at most 100 ms \
         or 5 % after the latest",
        "tries: the server fails in each way in the file that a response can show, and counts the tries",
        "other name: the server has a certificate of the same authority for another name, and must get no request",
        "stranger: where the file requires a client certificate, the handshake of a client without one must end with the TLS alert for that",
        "share: 5,000 requests are sent once, and those that arrive elsewhere are counted; the share in the file must lie in the exact 99.99 % \
         interval of this count, so one check in 10,000 calls a correct share broken",
        "breaker: a second Envoy waits a minute for each response; the server answers no request, and counts those that it has; three requests \
         more than the limits admit must get status 503 with `x-envoy-overloaded`",
        "idle: the server leaves its connection open after a response, and the proxy must close it, within the tolerance of `timeout`",
        "reuse: requests are sent one after the other, and the server counts those of each connection",
        "connect: a third Envoy has upstreams whose accept queue is full, so that no connection opens; the tolerance is that of `timeout`",
        "budget: first tries fail, and retries are not answered; as many retries are in flight as the budget admits beside other requests, and \
         two more requests are not retried",
        "ejection: a fourth Envoy has a second server for the upstream; the first one fails as often as the file says, must get no request \
         from 1.3 s on until its ejection ends, and then one within the interval plus the second in which Envoy tells its workers; there is one trial",
        "limit: the rate limit service refuses one of two user agents, and must be asked as the file says; a local limit must admit the tokens \
         that its bucket holds and gets in a second, between 10 % less and 5 % more",
        "a promise that a busy machine can break counts as broken when three trials break it; observations of earlier trials follow that of the \
         last one",
    ]
    .map(str::to_owned)
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hoptax_result::{Body as _, Environment, ListenersCheckBody, Verdict};

    use crate::fixture::STYLE;
    use crate::render::terminal;

    fn promise(about: PromiseKind, said: &str, outcome: PromiseOutcome, seen: &str) -> CheckedPromise {
        let (cluster, said, seen) = ("search".to_owned(), said.to_owned(), seen.to_owned());
        CheckedPromise { about, cluster, said, outcome, seen, earlier: Vec::new() }
    }

    fn result() -> ListenersCheckResult {
        let listener = |name: &str, timeout: PromiseOutcome, seen: &str| CheckedListener {
            name: name.to_owned(),
            line: 2,
            took_us: 2_034_000,
            promises: vec![
                promise(
                    PromiseKind::Arrival,
                    "Host `a`, x-forwarded-proto `http` at `search`",
                    PromiseOutcome::Kept,
                    "as said",
                ),
                promise(PromiseKind::Timeout, "a request ends after 2s", timeout, seen),
                promise(
                    PromiseKind::Tries,
                    "a request that fails is tried once",
                    PromiseOutcome::Kept,
                    "1 try",
                ),
            ],
        };
        let body = ListenersCheckBody {
            file: "listeners.yaml".to_owned(),
            envoy: "1.40.0".to_owned(),
            workers: 1,
            listeners: vec![
                listener("sound", PromiseOutcome::Kept, "2.001 s, status 504"),
                listener("slow", PromiseOutcome::Untried, "600s is longer than the 90s that a check waits"),
                listener("wrong", PromiseOutcome::Broken, "status 504 after 3.001 s"),
            ],
        };
        ListenersCheckResult::new(Environment::default(), body)
    }

    fn screen(result: &ListenersCheckResult) -> String {
        terminal::screen(&listeners_check(result), STYLE)
    }

    #[test]
    fn the_first_screen_names_the_promise_that_is_broken() {
        insta::assert_snapshot!(screen(&result()));
    }

    #[test]
    fn a_narrow_screen_of_all_promises_has_the_time_and_says_which_columns_are_left_out() {
        let mut result = result();
        for listener in &mut result.listeners {
            let kept = |kind: &PromiseKind| promise(*kind, "said", PromiseOutcome::Kept, "1,024 at a time");
            listener.promises.extend(PromiseKind::ALL.iter().skip(3).map(kept));
        }
        insta::assert_snapshot!(screen(&result));
    }

    #[test]
    fn what_was_kept_by_a_later_trial_only_is_said_with_what_was_seen_before() {
        let mut result = result();
        for promise in result.listeners.iter_mut().flat_map(|one| &mut one.promises) {
            promise.earlier = vec!["status 504 after 9.000 s".to_owned()];
        }
        let document = listeners_check(&result);
        let shown = screen(&result);
        assert!(shown.contains("7 promises kept only in a second or third trial"), "{shown}");
        let details = terminal::details(&document, STYLE);
        let details = details.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(details.matches("; before: status 504 after 9.000").count(), 9, "{details}");
    }

    #[test]
    fn what_was_not_tried_is_never_kept() {
        let mut result = result();
        result.listeners.pop();
        let shown = screen(&result);
        assert!(
            shown.contains(
                "Envoy does what listeners.yaml promises: 5 promises of 2 listeners kept, none broken"
            ),
            "{shown}"
        );
        for promise in result.listeners.iter_mut().flat_map(|one| &mut one.promises) {
            promise.outcome = PromiseOutcome::Untried;
        }
        assert_eq!(result.body.verdict(), Verdict::Void);
        let shown = screen(&result);
        assert!(shown.contains("No promise could be tried"), "{shown}");
    }
}
