//! Runs of the store.

use std::borrow::Cow;
use std::iter::repeat_n;

use hoptax_result::{RunsResult, StoredRun, Verdict};

/// The columns of the list. The name is the last, because it may be long.
const HEADERS: [&str; 8] = ["run", "began (UTC)", "kind", "verdict", "rounds", "proxy", "labels", "name"];
/// Columns of numbers, which are aligned to the right.
const NUMBERS: [usize; 2] = [0, 4];

/// The list of runs, one line each. It is not fitted to the terminal, so that other programs can read the lines.
pub fn runs(result: &RunsResult) -> String {
    let rows: Vec<[Cow<'_, str>; 8]> = result.runs.iter().map(row).collect();
    let mut widths = HEADERS.map(|header| header.chars().count());
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    // A store may have a hundred thousand runs, so cells are written without strings of their own.
    for row in std::iter::once(&HEADERS.map(Cow::from)).chain(&rows) {
        let start = text.len();
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            let spaces = repeat_n(' ', width - cell.chars().count());
            if NUMBERS.contains(&column) {
                text.extend(spaces);
                text += cell;
            } else {
                text += cell;
                text.extend(spaces);
            }
            text += "  ";
        }
        text.truncate(start + text.get(start..).unwrap_or_default().trim_end().len());
        text.push('\n');
    }
    text
}

/// One run, with the number of its files.
pub fn run(run: &StoredRun, paths: &[String]) -> String {
    let mut text = format!("run {}: {} `{}`, began {}", run.run, run.kind.as_str(), run.name, time(run));
    let mut line = |name: &str, value: &str| text += &format!("\n  {name:<8} {value}");
    line("verdict", verdict(run));
    if run.rounds > 0 {
        line("rounds", &run.rounds.to_string());
    }
    if let Some(version) = &run.proxy_version {
        line("proxy", version);
    }
    line("machine", &run.machine);
    if !run.labels.is_empty() {
        line("labels", &run.labels.join(", "));
    }
    line("from", &run.source);
    line("files", &paths.len().to_string());
    text
}

fn row(run: &StoredRun) -> [Cow<'_, str>; 8] {
    [
        run.run.to_string().into(),
        time(run).into(),
        run.kind.as_str().into(),
        verdict(run).into(),
        if run.rounds > 0 { run.rounds.to_string().into() } else { "".into() },
        run.proxy_version.as_deref().unwrap_or_default().into(),
        run.labels.join(",").into(),
        run.name.as_str().into(),
    ]
}

/// The start without the letters of RFC 3339.
fn time(run: &StoredRun) -> String {
    run.started_at.replace('T', " ").trim_end_matches('Z').to_owned()
}

fn verdict(run: &StoredRun) -> &'static str {
    run.verdict.map_or("no result", Verdict::as_str)
}

#[cfg(test)]
mod tests {
    use hoptax_result::RunKind;

    use super::*;

    #[test]
    fn runs_are_lines_with_aligned_columns() {
        let study = StoredRun {
            run: 12,
            kind: RunKind::Study,
            name: "quick".to_owned(),
            started_at: "2026-11-23T09:15:31Z".to_owned(),
            rounds: 24,
            verdict: Some(Verdict::Caution),
            proxy_version: Some("1.40.0".to_owned()),
            machine: "AMD EPYC, 2 processors, 7.8 GiB".to_owned(),
            source: "/home/joe/runs/quick-1".to_owned(),
            labels: vec!["main".to_owned(), "nightly".to_owned()],
        };
        let load = StoredRun {
            run: 7,
            kind: RunKind::Load,
            name: "http://127.0.0.1:8080/".to_owned(),
            rounds: 0,
            proxy_version: None,
            labels: Vec::new(),
            ..study.clone()
        };
        let killed = StoredRun { run: 3, rounds: 2, verdict: None, labels: Vec::new(), ..study.clone() };
        let one = run(&study, &["result.json".to_owned()]);
        let all = RunsResult { format: RunsResult::FORMAT.to_owned(), runs: vec![study, load, killed] };
        insta::assert_snapshot!(format!("{}\n{one}", runs(&all)));
    }
}
