//! The document of the runs of the store, and a line about one of them.

use std::collections::BTreeSet;

use hoptax_result::{RunsResult, StoredRun, Verdict, counted};

use crate::document::{Document, Next};
use crate::table::{Cell, Column, Row, Table};
use crate::words::capitalised;

/// The document of a list of runs.
pub fn runs(result: &RunsResult) -> Document {
    list(result, result.runs.len() as u64)
}

/// The document of the runs that match a filter. If there are none, the store may have others.
pub fn matching_runs(result: &RunsResult) -> Document {
    let mut document = runs(result);
    if result.runs.is_empty() {
        document.answer = vec!["No run in the store matches the filter".to_owned()];
        document.next = Some(Next::new("hoptax runs list", "lists all runs"));
    }
    document
}

/// The document of the latest runs, for a page on which a load can be started. A note counts the other runs and says where they are. The page
/// has a link to the newest run, so no command is the next step.
pub fn latest_runs(result: &RunsResult, all: u64, rest: &str) -> Document {
    let mut document = list(result, all);
    document.next = None;
    if all == 0 {
        let begin =
            "Start a load with the form of this page; `hoptax runs import FOLDER` adds runs that you have";
        document.answer = ["No run is stored yet", begin].map(str::to_owned).to_vec();
    }
    let others = all.saturating_sub(result.runs.len() as u64);
    if others > 0 {
        document.notes.push(format!("{}: {rest}", counted(others, "more run")));
    }
    document
}

/// The document of [`latest_runs`] for a page that replaces a missing one: it says why, and what to do.
pub fn runs_instead(why: &str, result: &RunsResult, all: u64, rest: &str) -> Document {
    let mut document = latest_runs(result, all, rest);
    let choice = if all == 0 {
        "No run is stored yet: start a load with the form of this page"
    } else {
        "Choose a run of the list, or start a load with the form"
    };
    document.answer = vec![capitalised(why), choice.to_owned()];
    document
}

fn list(result: &RunsResult, all: u64) -> Document {
    let kinds: BTreeSet<&str> = result.runs.iter().map(|run| run.kind.as_str()).collect();
    // The kinds of runs that are not listed are unknown.
    let has_kinds = kinds.len() > 1 && all == result.runs.len() as u64;
    let of_kinds = if has_kinds { format!(" of {} kinds", kinds.len()) } else { String::new() };
    let answer = match result.runs.first() {
        None => "No run was found in the store".to_owned(),
        Some(newest) => format!("{}{of_kinds}, the newest of {} UTC", counted(all, "run"), time(newest)),
    };
    let mut document = Document::new("runs list", "", vec![answer]);
    document.table = (!result.runs.is_empty()).then(|| table(result));
    document.next = Some(match newest_run(result) {
        Some(run) => Next::new(format!("hoptax runs show {}", run.run), "prints the newest result"),
        None => Next::new("hoptax study quick --store", "measures a study, and stores it"),
    });
    document
}

/// The newest run that has a result; if none has one, the newest; None if there is no run.
pub fn newest_run(result: &RunsResult) -> Option<&StoredRun> {
    result.runs.iter().find(|run| run.verdict.is_some()).or(result.runs.first())
}

fn table(result: &RunsResult) -> Table {
    let row = |run: &StoredRun| {
        let rounds = if run.rounds > 0 { run.rounds.to_string() } else { String::new() };
        let cells = vec![
            run.name.clone(),
            time(run),
            run.kind.clone(),
            verdict(run).to_owned(),
            rounds,
            run.proxy_version.clone().unwrap_or_default(),
            run.labels.join(","),
        ];
        Row::new(run.run.to_string(), cells.into_iter().map(Cell::Text).collect())
    };
    let columns = [
        // First, because a narrow page shows only the first columns without scrolling.
        Column::text("name", 0),
        Column::text("began (UTC)", 2),
        Column::text("kind", 4),
        Column::text("verdict", 1),
        Column::new("rounds", 5),
        Column::text("proxy", 6),
        Column::text("labels", 3),
    ];
    Table::new("runs, the newest first", "run", columns, result.runs.iter().map(row)).without_empty_columns()
}

/// One run in a line, with the number of its files.
pub fn stored_run(run: &StoredRun, paths: &[String]) -> String {
    let mut parts =
        vec![format!("run {}: {} `{}`", run.run, run.kind, run.name), time(run), verdict(run).to_owned()];
    if run.rounds > 0 {
        parts.push(counted(u64::from(run.rounds), "round"));
    }
    parts.extend(run.proxy_version.iter().map(|version| format!("proxy {version}")));
    parts.extend(Some(run.machine.clone()).filter(|machine| !machine.is_empty()));
    if !run.labels.is_empty() {
        parts.push(format!("labels {}", run.labels.join(" ")));
    }
    parts.push(format!("{} from {}", counted(paths.len() as u64, "file"), run.source));
    parts.join(", ")
}

/// The start in a readable form, without the letters of RFC 3339.
fn time(run: &StoredRun) -> String {
    run.started_at.replace('T', " ").trim_end_matches('Z').to_owned()
}

fn verdict(run: &StoredRun) -> &'static str {
    run.verdict.map_or("no result", Verdict::as_str)
}

#[cfg(test)]
mod tests {
    use hoptax_result::RunsBody;

    use super::*;
    use crate::fixture::STYLE;
    use crate::render::terminal;

    fn study() -> StoredRun {
        StoredRun {
            run: 12,
            kind: "study".to_owned(),
            name: "quick".to_owned(),
            started_at: "2026-11-23T09:15:31Z".to_owned(),
            rounds: 24,
            verdict: Some(Verdict::Caution),
            proxy_version: Some("1.40.0".to_owned()),
            machine: "AMD EPYC, 2 processors, 7.8 GiB".to_owned(),
            source: "/home/joe/runs/quick-1".to_owned(),
            labels: vec!["main".to_owned(), "nightly".to_owned()],
        }
    }

    fn list(runs: Vec<StoredRun>) -> String {
        let result = RunsResult::new((), RunsBody { runs });
        terminal::screen(&super::runs(&result), STYLE)
    }

    #[test]
    fn runs_are_lines_and_one_run_is_a_line() {
        let load = StoredRun {
            run: 7,
            kind: "load".to_owned(),
            name: "http://127.0.0.1:8080/".to_owned(),
            rounds: 0,
            proxy_version: None,
            labels: Vec::new(),
            ..study()
        };
        let killed = StoredRun { run: 3, rounds: 2, verdict: None, labels: Vec::new(), ..study() };
        let one = stored_run(&study(), &["result.json".to_owned()]);
        insta::assert_snapshot!(format!("{}\n{one}", list(vec![study(), load, killed])));
    }

    /// The page shows columns from the left, and a phone shows no more than two.
    #[test]
    fn the_name_of_a_run_is_beside_its_number() {
        let table = super::runs(&RunsResult::new((), RunsBody { runs: vec![study()] })).table.unwrap();
        assert_eq!((&table.headings()[..2], table.texts(0)[0].as_str()), (&["run", "name"][..], "quick"));
    }

    #[test]
    fn a_store_without_runs_says_so_and_many_runs_fit_on_a_screen() {
        assert_eq!(
            list(Vec::new()),
            "\nNo run was found in the store.\n\nnext: hoptax study quick --store   measures a study, and stores it\n"
        );
        let text = list((0..500).map(|run| StoredRun { run, name: "n".repeat(200), ..study() }).collect());
        assert!(text.lines().count() <= 40, "{text}");
        assert!(text.contains("and 477 more: --details"), "{text}");
    }

    #[test]
    fn a_filter_without_a_match_is_not_an_empty_store() {
        let matching = |runs: Vec<StoredRun>| matching_runs(&RunsResult::new((), RunsBody { runs }));
        assert_eq!(
            terminal::screen(&matching(Vec::new()), STYLE),
            "\nNo run in the store matches the filter.\n\nnext: hoptax runs list   lists all runs\n"
        );
        assert_eq!(terminal::screen(&matching(vec![study()]), STYLE), list(vec![study()]));
    }

    #[test]
    fn the_newest_run_is_the_first_that_has_a_result() {
        let newest =
            |runs: Vec<StoredRun>| newest_run(&RunsResult::new((), RunsBody { runs })).map(|run| run.run);
        let killed = StoredRun { run: 13, verdict: None, ..study() };
        assert_eq!(newest(vec![killed.clone(), study()]), Some(12));
        assert_eq!((newest(vec![killed]), newest(Vec::new())), (Some(13), None));
    }

    #[test]
    fn rows_lead_to_pages_and_runs_that_are_left_out_are_counted() {
        let mut runs: Vec<StoredRun> = (0..10).map(|run| StoredRun { run, ..study() }).collect();
        "load".clone_into(&mut runs[9].kind);
        let result = RunsResult::new((), RunsBody { runs });
        let all = latest_runs(&result, 10, "elsewhere").with_pages_of_rows("/runs/");
        assert_eq!(all.table.as_ref().unwrap().rows[1].page.as_deref(), Some("/runs/1"));
        assert!(all.notes.is_empty(), "{:?}", all.notes);
        assert!(all.answer[0].starts_with("10 runs of 2 kinds, "), "{:?}", all.answer);
        let none = latest_runs(&RunsResult::new((), RunsBody { runs: Vec::new() }), 0, "elsewhere");
        assert!(none.answer[0] == "No run is stored yet" && none.answer[1].starts_with("Start a load"));
        assert!(none.table.is_none() && none.notes.is_empty());
        assert!(none.next.is_none() && all.next.is_none(), "pages have links, not commands");
        let few = latest_runs(&result, 12, "elsewhere");
        assert_eq!(
            (few.table.unwrap().rows.len(), few.notes),
            (10, vec!["2 more runs: elsewhere".to_owned()])
        );
        assert!(few.answer[0].starts_with("12 runs, "), "{:?}", few.answer);
    }
}
