//! Outputs of runs in which most requests failed: by status, without a connection, by timeouts, by resets; from older and newer
//! releases of each tool. Their numbers are made up in the form that the source of the release prints; the comment of each adapter says
//! which counter contains which.

use std::path::Path;

use hoptax_result::{CountRange, LoadResult, Stated};
use hoptax_tools::{ALL, Tool, find, import};

/// A file, the requests answered and failed in it, each as the fewest and the most; none if the file does not tell.
type Case = (&'static str, Option<(u64, u64)>, Option<(u64, u64)>);

const CASES: &[Case] = &[
    // A different length is no failure, and a status other than 2xx is.
    ("ab-2.4-non-2xx.txt", Some((19_850, 19_850)), Some((150, 150))),
    ("ab-2.4-statuses.txt", Some((1_200, 1_200)), Some((18_800, 18_800))),
    // Failures of kinds that are not listed.
    ("ab-1.3-unnamed.txt", Some((400, 1_000)), Some((0, 600))),
    // So few bytes are those of at most 125 responses.
    ("ab-2.4-closed.txt", Some((10, 125)), Some((875, 990))),
    ("ab-2.4-cut-off.txt", Some((0, 20_000)), None),
    ("ab-2.0-lengths.txt", Some((20_000, 20_000)), Some((0, 0))),
    // The reads that failed may have been those of other statuses.
    ("ab-2.4-resets.txt", Some((1_850, 2_000)), Some((18_000, 18_150))),
    // A refused connection is an exception and a failed read.
    ("ab-2.2-refused.txt", Some((2_000, 2_000)), Some((18_000, 36_000))),
    ("ab-trunk-kept-resets.txt", Some((10_000, 20_000)), Some((15_000, 15_000))),
    ("bombardier-resets.json", Some((110, 110)), Some((9_890, 9_890))),
    ("bombardier-broken-bodies.json", Some((100, 1_000)), Some((100, 1_000))),
    ("fortio-1.1-grpc-health.json", Some((985, 985)), Some((15, 15))),
    ("fortio-1.2-statuses.json", Some((1_200, 1_200)), Some((1_800, 1_800))),
    ("fortio-0.x-without-codes.json", Some((0, 1_000)), Some((0, 1_000))),
    ("fortio-1.66-grpc.json", Some((100, 100)), Some((900, 900))),
    ("fortio-1.66-tcp.json", Some((10, 10)), Some((990, 990))),
    ("h2load-0.6-resets.txt", Some((1_000, 1_000)), Some((9_000, 9_000))),
    ("h2load-1.52-timeouts.txt", Some((1_000, 1_000)), Some((9_000, 9_000))),
    ("h2load-1.69-statuses.txt", Some((50, 50)), Some((950, 950))),
    ("h2load-1.69-output-file.json", Some((50, 50)), Some((950, 950))),
    ("boom-statuses.txt", Some((1_000, 1_000)), Some((9_000, 9_000))),
    ("hey-0.1.0-refused.txt", Some((0, 0)), Some((10_000, 10_000))),
    // The rate and the duration are those of 5,000 requests.
    ("hey-0.1.4-cut-off.txt", Some((200, 5_000)), Some((0, 4_800))),
    ("hey-0.1.4-lines-in-errors.txt", Some((200, 200)), Some((4_800, 4_800))),
    ("hey-0.1.4-statuses-and-timeouts.txt", Some((120, 120)), Some((9_880, 9_880))),
    ("k6-handle-summary.json", Some((118_983, 118_983)), Some((1_348, 1_348))),
    ("k6-0.30-summary-export.json", Some((0, 1_200)), Some((0, 1_200))),
    ("k6-1.0-summary-export.json", Some((60, 60)), Some((1_140, 1_140))),
    ("k6-rounded-share.json", Some((985_000, 995_000)), Some((5_000, 15_000))),
    ("k6-2.0-machine-readable.json", Some((60, 60)), Some((1_140, 1_140))),
    ("nighthawk-statuses.json", Some((0, 0)), Some((5_000, 5_000))),
    ("nighthawk-2019-counters.txt", Some((94, 94)), Some((4_900, 4_900))),
    ("nighthawk-redirects.txt", Some((90, 90)), Some((4_910, 4_910))),
    ("nighthawk-fortio-form.json", Some((6, 56)), None),
    ("oha-0.5-refused.json", Some((0, 0)), Some((10_000, 10_000))),
    ("oha-1-mixed.json", Some((520, 520)), Some((9_480, 9_480))),
    ("vegeta-6-timeouts.json", Some((200, 200)), Some((1_800, 1_800))),
    ("vegeta-12-refused.json", Some((200, 200)), Some((1_800, 1_800))),
    ("vegeta-without-outcomes.json", Some((0, 2_000)), Some((0, 2_000))),
    ("wrk-1-timeouts.txt", Some((0, 2_000)), Some((2_000, 20_000))),
    ("wrk-4-cut-off.txt", Some((0, 100_000)), None),
    ("wrk-4-refused.txt", Some((0, 0)), Some((163_840, 163_840))),
    ("wrk-4-statuses.txt", Some((88, 100)), Some((4_940, 4_952))),
    ("wrk2-timeouts.txt", Some((100, 100)), Some((2_910, 22_910))),
];

/// The text of a file.
fn text(file: &str) -> String {
    std::fs::read_to_string(format!("{}/failures/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The tool in the name of a file.
fn tool(file: &str) -> &'static Tool {
    let name = file.split('-').next().unwrap();
    // boom is the former name of hey.
    find(if name == "boom" { "hey" } else { name }).unwrap()
}

/// The result of a file.
fn imported(file: &str) -> LoadResult {
    import(tool(file), &text(file), None).unwrap_or_else(|problem| panic!("{file}: {problem}"))
}

/// The number in a book, or the range of it.
fn range(is_stated: bool, count: u64, range: Option<CountRange>) -> Option<(u64, u64)> {
    assert!(!(is_stated && range.is_some()), "a number is exact or a range");
    let range = range.or_else(|| is_stated.then(|| CountRange::exactly(count)))?;
    Some((range.at_least, range.at_most))
}

#[test]
fn failures_of_all_kinds_and_releases_are_counted() {
    for (file, answered, failed) in CASES {
        let result = imported(file);
        let (book, imported) = (&result.book, result.imported.as_ref().unwrap());
        let Stated::Imported { answered: has_answered, failed: has_failed } = book.stated else {
            panic!("{file}: no tool states all accounts");
        };
        assert_eq!(range(has_answered, book.answered, imported.answered), *answered, "{file}: answered");
        assert_eq!(range(has_failed, book.failed, imported.failed), *failed, "{file}: failed");
    }
}

#[test]
fn every_file_is_tested_and_every_tool_has_one() {
    let folder = format!("{}/failures", env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "README.md")
        .collect();
    let mut tested: Vec<String> = CASES.iter().map(|(file, ..)| (*file).to_owned()).collect();
    files.sort();
    tested.sort();
    assert_eq!(files, tested);
    for tool in ALL {
        let has_file = tested.iter().any(|file| file.starts_with(&format!("{}-", tool.name)));
        // Fortio with jitter prints the same as Fortio, and hoptax is tested with its own results.
        assert!(has_file || ["fortio-jitter", "hoptax"].contains(&tool.name), "{}", tool.name);
    }
}

#[test]
fn two_runs_in_one_text_are_refused_by_all() {
    for (file, ..) in CASES {
        let one = text(file);
        let problem = import(tool(file), &format!("{one}\n{one}"), None).unwrap_err();
        assert!(problem.contains("it has 2 runs, which begin in lines "), "{file}: {problem}");
    }
}

#[test]
fn what_a_log_or_a_terminal_adds_to_lines_is_named() {
    for (file, ..) in CASES.iter().filter(|(file, ..)| Path::new(file).extension() == Some("txt".as_ref())) {
        let with =
            |prefix: &str| -> String { text(file).lines().map(|line| format!("{prefix}{line}\n")).collect() };
        for prefix in ["2026-01-02T03:04:05Z ", "load-1  | "] {
            let problem = import(tool(file), &with(prefix), None).unwrap_err();
            assert!(problem.contains(&format!("such as `{}`", prefix.trim())), "{file}: {problem}");
        }
        let problem = import(tool(file), &with("\u{1b}[32m"), None).unwrap_err();
        assert!(problem.contains("colour codes"), "{file}: {problem}");
    }
    let prefixed: String = text("k6-1.0-summary-export.json")
        .replace(',', ",\n")
        .lines()
        .map(|line| format!("[03:04:05] {line}\n"))
        .collect();
    let problem = import(find("k6").unwrap(), &prefixed, None).unwrap_err();
    assert!(problem.contains("such as `[03:04:05]`"), "{problem}");
}

#[test]
fn times_are_those_of_their_columns() {
    let service = |file: &str| imported(file).latency.service;
    for file in ["h2load-1.69-statuses.txt", "h2load-1.69-output-file.json"] {
        let times = service(file);
        let near = |us: Option<f64>, expected: f64| us.is_some_and(|us| (us - expected).abs() < 1e-6);
        for (us, expected) in [
            (times.min_us, 300.0),
            (times.mean_us, 1_500.0),
            (times.standard_deviation_us, 2_200.0),
            (times.p50_us, 900.0),
            (times.p99_us, 12_000.0),
            (times.max_us, 40_000.0),
        ] {
            assert!(near(us, expected), "{file}: {us:?} {expected}");
        }
        let unknown = imported(file).body.imported.unwrap().unknown.join("; ");
        assert!(!unknown.contains("quantiles") && !unknown.contains("p99,"), "{unknown}");
        assert!(unknown.contains("p90, p99.9, "), "{unknown}");
    }
    let old = imported("h2load-0.6-resets.txt");
    assert_eq!((old.recorded_s, old.plan.connections), (2.515_123, 10));
    let times = service("hey-0.1.4-statuses-and-timeouts.txt");
    assert_eq!((times.p50_us, times.p90_us, times.p99_us), (Some(1_500.0), Some(3_200.0), Some(9_300.0)));
    let times = service("boom-statuses.txt");
    assert_eq!((times.p50_us, times.p99_us, times.mean_us), (Some(1_500.0), Some(9_300.0), Some(2_100.0)));
    let times = service("k6-2.0-machine-readable.json");
    assert_eq!((times.p50_us, times.p90_us, times.p99_us), (Some(10_200.0), Some(22_300.0), None));
    let times = service("k6-1.0-summary-export.json");
    assert_eq!((times.p50_us, times.p99_9_us, times.min_us), (Some(10_200.0), Some(201_400.0), None));
}

#[test]
fn numbers_that_are_none_are_named_with_their_lines() {
    let unknown = imported("fortio-1.66-tcp.json").body.imported.unwrap().unknown.join("; ");
    assert!(
        unknown.contains("`Avg` in line 2, which is `NaN`; `StdDev` in line 2, which is `-nan`"),
        "{unknown}"
    );
    let unknown = imported("oha-0.5-refused.json").body.imported.unwrap().unknown.join("; ");
    assert!(unknown.contains("`average` in line 1") && unknown.contains("`p99` in line 2"), "{unknown}");
}

#[test]
fn a_run_without_an_answer_has_no_times() {
    for file in ["wrk-4-refused.txt", "hey-0.1.0-refused.txt", "oha-0.5-refused.json"] {
        let result = imported(file);
        let times = result.latency.service;
        let all = [
            times.min_us,
            times.mean_us,
            times.standard_deviation_us,
            times.p50_us,
            times.p99_us,
            times.max_us,
        ];
        assert_eq!((all, times.count), ([None; 6], 0), "{file}");
        assert_eq!(result.rate.achieved, Some(0.0), "{file}");
    }
}
