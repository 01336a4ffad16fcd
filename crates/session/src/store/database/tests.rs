//! Tests of the store on real files: reading, waiting for other writers, refusals and salvage.

mod damaged;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime};

use hoptax_result::{RUN_FOLDER_FORMAT, Verdict, sample};
use rusqlite::Connection;

use crate::run_files::{MANIFEST, RESULT};
use crate::store::database::{Store, lock_path};
use crate::store::describe::{self, Described};
use crate::store::list::{Filter, latest_query, query, study_before_query};
use crate::store::schema::STEPS;
use crate::store::{RunFile, StoreError, salvage, series};

/// A manifest and a result of a study of one function with this cost.
pub(crate) fn study_text(name: &str, started_at: &str, cost_us: f64) -> (String, String) {
    let result = sample::study(name, started_at, cost_us);
    let here = &result.environment;
    let manifest = serde_json::json!({
        "format": RUN_FOLDER_FORMAT, "study": name, "seed": 1, "started_at": started_at, "envoy_version": "1.40.0",
        "cpu_model": here.cpu_model, "cpus": here.cpus, "memory_bytes": here.memory_bytes,
    });
    (manifest.to_string(), serde_json::to_string_pretty(&result).unwrap())
}

fn document(path: &str, text: &str) -> RunFile {
    RunFile { path: path.to_owned(), text: text.to_owned(), is_redacted: false }
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("deep/store.sqlite")
    }

    fn open(&self) -> Store {
        Store::open(&self.path()).unwrap()
    }

    /// A store that has this file.
    fn of(file: &[u8]) -> Self {
        let folder = Self::new();
        fs::create_dir(folder.path().parent().unwrap()).unwrap();
        fs::write(folder.path(), file).unwrap();
        folder
    }

    /// A store of runs a second apart, each with rounds of its own and a text that all share.
    fn with_runs(runs: u32) -> Self {
        let folder = Self::new();
        let mut store = folder.open();
        for run in 0..runs {
            let (described, documents) = run_of(run);
            store.put(&described, "runs/a", &documents).unwrap();
        }
        folder
    }
}

fn run_of(number: u32) -> (Described, Vec<RunFile>) {
    let started_at = format!("2026-11-01T00:{:02}:{:02}Z", number / 60, number % 60);
    let (manifest, text) = study_text("ours", &started_at, f64::from(number));
    let round = format!("{{\"round\": {number}}}").repeat(400);
    let documents = vec![
        document(RESULT, &text),
        document(MANIFEST, &manifest),
        document("rounds/0.json", &round),
        document("study.yaml", "name: ours\n"),
    ];
    (describe::result(&text).unwrap(), documents)
}

fn count(store: &Store, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    store.connection().query_row(&sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_run_comes_back_as_it_was_and_shares_equal_contents() {
    let folder = Folder::with_runs(2);
    let mut store = folder.open();
    assert_eq!(store.documents(1).unwrap().len(), 4);
    let (_, mut expected) = run_of(1);
    expected.sort_by(|a, b| a.path.cmp(&b.path));
    assert_eq!(store.documents(2).unwrap(), expected);
    assert_eq!(store.document(2, "none").unwrap(), None);
    assert_eq!((count(&store, "files"), count(&store, "contents")), (8, 7), "both have one study file");
    store.remove(1).unwrap();
    assert_eq!(["runs", "files", "contents"].map(|table| count(&store, table)), [1, 4, 4]);
    assert_eq!(count(&store, "numbers"), 3);
    assert_eq!(store.documents(2).unwrap(), expected);
    store.remove(2).unwrap();
    assert_eq!(["contents", "numbers"].map(|table| count(&store, table)), [0, 0]);
    // The number of a removed run is not given to another.
    let (described, documents) = run_of(3);
    assert_eq!(store.put(&described, "", &documents).unwrap(), 3);
}

#[test]
fn the_size_of_a_result_is_that_of_its_text_and_a_run_without_one_has_none() {
    let folder = Folder::new();
    let mut store = folder.open();
    let (_, result) = study_text("a", "2026-11-01T00:00:00Z", 5.0);
    let run = store.put_result(&result, "a test").unwrap();
    assert_eq!(store.result_bytes(run).unwrap(), Some(result.len() as u64));
    let (manifest, _) = study_text("b", "2026-11-01T00:00:00Z", 5.0);
    let unfinished = describe::unfinished(&manifest, 1).unwrap();
    let other = store.put(&unfinished, "runs/b", &[document(MANIFEST, &manifest)]).unwrap();
    assert_eq!((store.result_bytes(other).unwrap(), store.result_bytes(99).unwrap()), (None, None));
}

#[test]
fn a_run_without_a_result_is_continued_by_the_command_that_began_it() {
    let folder = Folder::new();
    let mut store = folder.open();
    let (manifest, _) = study_text("a", "2026-11-01T00:00:00Z", 5.0);
    let unfinished = describe::unfinished(&manifest, 1).unwrap();
    let run = store.put(&unfinished, "runs/a", &[document(MANIFEST, &manifest)]).unwrap();
    let of_earlier_build = store.way_to_continue(run, "DIR").unwrap();
    assert_eq!(of_earlier_build, "the command that began it continues it with --resume");
    let stated = manifest.replacen('{', "{\"command\": \"price\", ", 1);
    store.put(&unfinished, "runs/a", &[document(MANIFEST, &stated)]).unwrap();
    let way = store.way_to_continue(run, "DIR").unwrap();
    assert!(way.starts_with("`hoptax price CONFIG --resume DIR`, with the same "), "{way}");
}

#[test]
fn a_study_grows_by_rounds_into_one_run() {
    let folder = Folder::new();
    let mut store = folder.open();
    let (described, documents) = run_of(1);
    let manifest = &documents[1];
    for rounds in 1..=3 {
        let unfinished = describe::unfinished(&manifest.text, rounds).unwrap();
        let round = document(&format!("rounds/{}.json", rounds - 1), "{}");
        assert_eq!(store.put(&unfinished, "runs/a", &[manifest.clone(), round]).unwrap(), 1);
    }
    let listed = store.list(&Filter::default()).unwrap();
    assert_eq!((listed[0].verdict, listed[0].rounds), (None, 3));
    assert_eq!(store.find(&described).unwrap(), Some(1));
    assert_eq!(store.put(&described, "runs/a", &documents).unwrap(), 1);
    let run = store.run(1).unwrap();
    assert_eq!((run.verdict, run.rounds, run.name.as_str()), (Some(Verdict::Sound), 4, "ours"));
    assert_eq!(store.paths(1).unwrap().len(), 6);
    // The next run has the next number.
    let (described, documents) = run_of(2);
    assert_eq!(store.put(&described, "runs/b", &documents).unwrap(), 2);
}

#[test]
fn filters_hold_together_and_the_latest_run_is_first() {
    let folder = Folder::with_runs(5);
    let mut store = folder.open();
    let (_, other) = study_text("other", "2026-11-02T00:00:00Z", 1.0);
    store.put(&describe::result(&other).unwrap(), "", &[]).unwrap();
    store.label(3, "nightly", false).unwrap();
    store.label(6, "nightly", false).unwrap();
    store.label(6, "a", false).unwrap();
    let of = |name: Option<&str>, label: Option<&str>, since: Option<&str>| {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let filter = Filter { name: owned(name), label: owned(label), since: owned(since) };
        store.list(&filter).unwrap().into_iter().map(|run| run.run).collect::<Vec<i64>>()
    };
    assert_eq!(of(None, None, None), [6, 5, 4, 3, 2, 1]);
    assert_eq!(of(Some("ours"), None, Some("2026-11-01T00:00:03Z")), [5, 4]);
    assert_eq!(of(None, Some("nightly"), None), [6, 3]);
    assert_eq!(of(Some("ours"), Some("nightly"), None), [3]);
    assert_eq!(of(Some("none"), None, None), [0i64; 0]);
    assert_eq!(store.run(6).unwrap().labels, ["a", "nightly"]);
    assert_eq!(store.list(&Filter::default()).unwrap()[0].labels, ["a", "nightly"]);
}

#[test]
fn a_label_names_a_run_if_only_one_has_it() {
    let folder = Folder::with_runs(3);
    let mut store = folder.open();
    store.label(1, "main", false).unwrap();
    assert_eq!((store.resolve("main").unwrap(), store.resolve("2").unwrap()), (1, 2));
    store.label(2, "main", false).unwrap();
    let several = store.resolve("main").unwrap_err().to_string();
    assert!(several.contains("(1, 2)"), "{several}");
    store.label(3, "main", true).unwrap();
    assert_eq!(store.resolve("main").unwrap(), 3);
    assert!(store.unlabel(3, "main").unwrap() && !store.unlabel(3, "main").unwrap());
    for missing in ["main", "9"] {
        assert!(matches!(store.resolve(missing), Err(StoreError::NoRun { .. })));
    }
    assert!(matches!(store.run(9), Err(StoreError::NoRun { .. })));
    assert!(store.label(9, "main", false).is_err(), "no such run");
}

#[test]
fn a_number_is_a_series_over_runs() {
    let folder = Folder::with_runs(3);
    let store = folder.open();
    let series = store.series("cost_cpu_us_per_request").unwrap();
    assert_eq!(series.len(), 1);
    assert_eq!(
        (series[0].arm.as_deref(), series[0].compared_with.as_deref()),
        (Some("lua"), Some("baseline"))
    );
    let points: Vec<(i64, f64)> = series[0].points.iter().map(|point| (point.run, point.estimate)).collect();
    assert_eq!(points, [(1, 0.0), (2, 1.0), (3, 2.0)]);
    let levels = store.series("cpu_us_per_request").unwrap();
    let arms: Vec<_> = levels.iter().map(|one| (one.arm.as_deref(), one.compared_with.as_deref())).collect();
    assert_eq!(arms, [(Some("baseline"), None), (Some("lua"), None)]);
    assert_eq!(store.numbers().unwrap(), ["cost_cpu_us_per_request", "cpu_us_per_request"]);
    assert!(store.series("none").unwrap().is_empty());
}

#[test]
fn two_writers_wait_for_each_other() {
    let folder = Folder::new();
    let path = folder.path();
    let writer = |first: u32, path: PathBuf| {
        thread::spawn(move || {
            // Both create it.
            let mut store = Store::open(&path).unwrap();
            for number in first..first + 20 {
                let (described, documents) = run_of(number);
                store.put(&described, "", &documents).unwrap();
            }
        })
    };
    let writers = [writer(0, path.clone()), writer(100, path.clone())];
    for writer in writers {
        writer.join().unwrap();
    }
    assert_eq!(folder.open().list(&Filter::default()).unwrap().len(), 40);
}

#[test]
fn a_writer_waits_until_another_has_finished() {
    let folder = Folder::with_runs(1);
    let (mut other, mut store) = (folder.open(), folder.open());
    let (begun, has_begun) = mpsc::channel();
    let writing = thread::spawn(move || {
        other.change(|connection| {
            connection.execute("DELETE FROM runs", [])?;
            begun.send(()).unwrap();
            thread::sleep(Duration::from_millis(300));
            Ok(())
        })
    });
    has_begun.recv().unwrap();
    // The other transaction is open: its change is not seen, and this one waits for its end.
    assert_eq!(store.list(&Filter::default()).unwrap().len(), 1);
    let (described, documents) = run_of(2);
    store.put(&described, "", &documents).unwrap();
    writing.join().unwrap().unwrap();
    assert_eq!(store.list(&Filter::default()).unwrap().len(), 1);
}

#[test]
fn a_later_version_and_other_files_are_refused_and_stay_as_they_are() {
    let folder = Folder::with_runs(1);
    let path = folder.path();
    let version = STEPS.len() as u32 + 1;
    Connection::open(&path).unwrap().pragma_update(None, "user_version", version).unwrap();
    let refused = Store::open(&path).unwrap_err().to_string();
    assert!(refused.contains("has version 3") && refused.contains("versions up to 2"), "{refused}");
    assert!(salvage(&path, SystemTime::now()).is_err());

    let others = tempfile::tempdir().unwrap();
    let (text, database) = (others.path().join("notes.txt"), others.path().join("other.sqlite"));
    fs::write(&text, "not a database, and longer than the header of one: ".repeat(20)).unwrap();
    Connection::open(&database).unwrap().execute_batch("CREATE TABLE theirs (a)").unwrap();
    let empty = others.path().join("empty.sqlite");
    fs::write(&empty, "").unwrap();
    for other in [text, database, empty] {
        let before = fs::read(&other).unwrap();
        let refused = Store::open(&other).unwrap_err();
        assert!(matches!(refused, StoreError::Foreign { .. }), "{refused}");
        assert!(!lock_path(&other).exists(), "{}", other.display());
        assert!(matches!(salvage(&other, SystemTime::now()), Err(StoreError::Foreign { .. })));
        assert_eq!(fs::read(&other).unwrap(), before);
    }
}

#[test]
fn a_store_whose_lock_cannot_be_opened_says_that_readers_need_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    drop(Store::open(&path).unwrap());
    let lock = lock_path(&path);
    fs::remove_file(&lock).unwrap();
    // Permissions do not bind root, but no one opens a folder as a file.
    fs::create_dir(&lock).unwrap();
    let refused = Store::open(&path).unwrap_err().to_string();
    let begin = format!("cannot open `{}`, the lock of the store", lock.display());
    assert!(refused.starts_with(&begin) && refused.contains("readers need, too"), "{refused}");
}

#[test]
fn a_folder_is_refused_with_a_file_in_it_and_gets_no_lock_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs");
    fs::create_dir(&path).unwrap();
    let refused = Store::open(&path).unwrap_err().to_string();
    assert!(refused.contains("is a folder: name a file, such as `"), "{refused}");
    assert!(refused.ends_with("runs/store.sqlite`"), "{refused}");
    assert!(!lock_path(&path).exists() && fs::read_dir(&path).unwrap().next().is_none());
}

#[test]
fn only_the_owner_may_read_a_store() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::with_runs(1);
    assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn compacting_gives_the_space_of_removed_runs_back() {
    let folder = Folder::with_runs(60);
    let mut store = folder.open();
    for run in 1..60 {
        store.remove(run).unwrap();
    }
    let compacted = store.compact().unwrap();
    assert_eq!(compacted.verified, 4);
    assert!(compacted.after_bytes < compacted.before_bytes / 2, "{compacted:?}");
    assert_eq!(compacted.after_bytes, fs::metadata(folder.path()).unwrap().len());
    assert_eq!(store.documents(60).unwrap().len(), 4);
}

/// The plan of a query, one line for each table.
fn plan_of(store: &Store, sql: &str, values: &[&str]) -> String {
    let mut explain = store.connection().prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let values = rusqlite::params_from_iter(values);
    let lines = explain.query_map(values, |row| row.get::<_, String>("detail")).unwrap();
    lines.map(|line| line.unwrap() + "\n").collect()
}

#[test]
fn a_hundred_thousand_runs_are_listed_by_indexes() {
    let folder = Folder::with_runs(1);
    let mut store = folder.open();
    let copies = "
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
        INSERT INTO runs (identity, kind, name, started_at, rounds, verdict, machine, source)
        SELECT 'copy ' || i, kind, 'study-' || (i % 40), datetime('2026-01-01', '+' || i || ' minutes'), rounds, verdict,
            machine, source FROM runs, n WHERE id = 1";
    store.change(|connection| connection.execute(copies, [])).unwrap();
    store
        .change(|connection| {
            connection.execute("INSERT INTO labels SELECT 'l', id FROM runs WHERE id % 1000 = 0", [])
        })
        .unwrap();
    let filter = |name: bool, since: bool, label: bool| Filter {
        name: name.then(|| "study-7".to_owned()),
        since: since.then(|| "2026-02-01".to_owned()),
        label: label.then(|| "l".to_owned()),
    };
    let all = Filter::default();
    for (filter, index) in [
        (&all, "SCAN runs USING INDEX runs_by_start\n"),
        (&filter(true, false, false), "SEARCH runs USING INDEX runs_by_name (name=?)\n"),
        (&filter(false, true, false), "SEARCH runs USING INDEX runs_by_start (started_at>?)\n"),
        (&filter(true, true, false), "SEARCH runs USING INDEX runs_by_name (name=? AND started_at>?)\n"),
    ] {
        let (sql, values) = query(filter);
        let values: Vec<&str> = values.into_iter().map(String::as_str).collect();
        assert_eq!(plan_of(&store, &sql, &values), index, "{filter:?}");
    }
    // A page of the latest ends its scan with its last run.
    for (is_before, values, index) in [
        (false, &["500"][..], "SCAN runs USING INDEX runs_by_start\n"),
        (true, &["7", "500"][..], "SEARCH runs USING INDEX runs_by_start ("),
    ] {
        let plan = plan_of(&store, &latest_query(is_before), values);
        assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{plan}");
    }
    let plan = plan_of(&store, &study_before_query(), &["7"]);
    let index = "SEARCH runs USING INDEX runs_by_name (name=? AND started_at<?)\n";
    assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{plan}");
    // Runs with a label are few, and sorted after they were found.
    let with_label = filter(false, false, true);
    let (sql, _) = query(&with_label);
    let plan = plan_of(&store, &sql, &["l"]);
    assert!(plan.contains("SEARCH labels USING PRIMARY KEY (label=?)"), "{plan}");
    assert!(plan.contains("SEARCH runs USING INTEGER PRIMARY KEY (rowid=?)"), "{plan}");
    let plan = plan_of(&store, series::QUERY, &["cost_cpu_us_per_request", "0"]);
    assert!(plan.contains("SEARCH numbers USING PRIMARY KEY (number=?)"), "{plan}");
    assert!(plan.contains("SEARCH runs USING INTEGER PRIMARY KEY (rowid=?)"), "{plan}");
    assert_eq!(store.list(&all).unwrap().len(), 100_000);
    assert_eq!(store.list(&filter(true, false, false)).unwrap().len(), 2_500);
    assert_eq!(store.list(&with_label).unwrap().len(), 100);
}

/// Changes bytes of a file.
fn damage(path: &Path, from: usize, bytes: &[u8]) {
    let mut content = fs::read(path).unwrap();
    for (at, byte) in content.iter_mut().skip(from).zip(bytes) {
        *at = *byte;
    }
    fs::write(path, content).unwrap();
}

#[test]
fn a_changed_byte_in_a_content_is_noticed_and_costs_that_file_alone() {
    let folder = Folder::with_runs(3);
    let path = folder.path();
    // Pages also have remains of rows that were moved to others, so every place is changed.
    let content = fs::read(&path).unwrap();
    let text = b"{\"round\": 1}{\"round\": 1}";
    let places = (0..content.len()).filter(|at| content[*at..].starts_with(text));
    places.for_each(|at| damage(&path, at, b"{\"round\": 7}"));
    let damaged = folder.open().documents(2).map(|documents| documents.len());
    assert!(matches!(damaged, Err(StoreError::Damaged { .. })), "{damaged:?}");
    assert_eq!(folder.open().documents(1).unwrap().len(), 4);
    assert!(folder.open().compact().is_err());

    let before = fs::read(&path).unwrap();
    let now = SystemTime::UNIX_EPOCH + Duration::from_hours(500_000);
    let salvaged = salvage(&path, now).unwrap().unwrap();
    assert_eq!((salvaged.runs, &salvaged.lost), (3, &Vec::new()));
    assert_eq!(salvaged.incomplete, [(2, vec!["rounds/0.json".to_owned()])]);
    assert!(salvaged.copy.ends_with("store.sqlite.damaged-20270115T080000Z"), "{salvaged:?}");
    assert_eq!(fs::read(&salvaged.copy).unwrap(), before);
    let mut store = folder.open();
    assert_eq!(store.compact().unwrap().verified, 3 * 3 + 1 - 1);
    assert_eq!(store.series("cost_cpu_us_per_request").unwrap()[0].points.len(), 3);
    drop(store);
    assert_eq!(salvage(&path, now).unwrap(), None, "it is sound now");
}

#[test]
fn a_file_that_is_lost_without_an_error_is_noticed() {
    let folder = Folder::with_runs(3);
    let path = folder.path();
    // As SQLite reads a page with zeros in it.
    Connection::open(&path)
        .unwrap()
        .execute("DELETE FROM files WHERE run = 2 AND path = 'run.json'", [])
        .unwrap();
    let store = folder.open();
    let lost = store.paths(2).unwrap_err().to_string();
    assert!(lost.contains("run 2 has 3 files, and 4 were stored"), "{lost}");
    assert!(store.documents(2).is_err() && store.verify().is_err());
    assert_eq!(store.paths(1).unwrap().len(), 4);
    drop(store);
    let salvaged = salvage(&path, SystemTime::now()).unwrap().unwrap();
    assert_eq!(salvaged.incomplete, [(2, vec!["a file whose name is lost".to_owned()])]);
    assert_eq!(folder.open().paths(2).unwrap().len(), 3);
}

#[test]
fn a_truncated_store_keeps_the_runs_at_its_beginning() {
    let folder = Folder::with_runs(40);
    let path = folder.path();
    folder.open().label(1, "first", false).unwrap();
    let content = fs::read(&path).unwrap();
    fs::write(&path, &content[..content.len() / 2]).unwrap();
    let outcome = Store::open(&path).and_then(|mut store| store.compact());
    assert!(matches!(outcome, Err(StoreError::Damaged { .. })), "{outcome:?}");
    let salvaged = salvage(&path, SystemTime::now()).unwrap().unwrap();
    assert_eq!(salvaged.runs + salvaged.lost.len(), 40);
    assert!(salvaged.lost.contains(&40) && !salvaged.lost.contains(&1), "{salvaged:?}");
    let mut store = folder.open();
    store.compact().unwrap();
    let (_, mut expected) = run_of(0);
    expected.sort_by(|a, b| a.path.cmp(&b.path));
    assert_eq!(store.documents(1).unwrap(), expected);
    // New runs get numbers of their own, not those of lost runs.
    let (described, documents) = run_of(50);
    assert_eq!(store.put(&described, "", &documents).unwrap(), 41);
}

#[test]
fn a_salvaged_store_has_no_result_that_is_out_of_date_and_uses_no_number_again() {
    let folder = Folder::with_runs(2);
    let path = folder.path();
    let mut store = folder.open();
    // Versions before this kept a result of four rounds beside a fifth round.
    let rounds: Vec<RunFile> = (1..5).map(|round| document(&format!("rounds/{round}.json"), "{}")).collect();
    store.put(&run_of(0).0, "runs/a", &rounds).unwrap();
    store.remove(2).unwrap();
    drop(store);
    Connection::open(&path).unwrap().execute("DELETE FROM files WHERE path = 'study.yaml'", []).unwrap();
    let salvaged = salvage(&path, SystemTime::now()).unwrap().unwrap();
    assert_eq!((salvaged.runs, salvaged.incomplete.len()), (1, 1));
    let mut store = folder.open();
    let run = store.run(1).unwrap();
    assert_eq!((run.rounds, run.verdict, store.document(1, RESULT).unwrap()), (5, None, None));
    assert!(store.numbers().unwrap().is_empty());
    let (described, documents) = run_of(3);
    assert!(store.put(&described, "", &documents).unwrap() > 2);
}

#[test]
fn a_store_in_use_is_not_salvaged() {
    let folder = Folder::with_runs(1);
    let store = folder.open();
    assert!(matches!(salvage(&folder.path(), SystemTime::now()), Err(StoreError::InUse { .. })));
    drop(store);
    assert_eq!(salvage(&folder.path(), SystemTime::now()).unwrap(), None);
}
