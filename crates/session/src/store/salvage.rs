//! Salvages a damaged store: copies it aside, and builds a new store from all runs and files that are still readable.
//!
//! SQLite stops at the first damaged page of a table. Runs are therefore looked up one by one, by the numbers that are still readable in
//! the table and its indexes, so a damaged page costs only its own rows. Every content is verified by its SHA-256. Columns and numbers are
//! derived again wherever the result is intact.

use std::collections::BTreeSet;
use std::fs::{self, TryLockError};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension, Result as SqlResult, params};

use crate::run_files::RESULT;
use crate::store::contents;
use crate::store::database::{connect, create, lock_file, put_columns, with_suffix};
use crate::store::describe::{self, Described, NumberRow};
use crate::store::list::{self, Filter};
use crate::store::{Store, StoreError, labels};

/// Maximum size of a gap between readable run numbers in which every number is tried.
const LARGEST_GAP: i64 = 1_000_000;
/// Queries of the numbers of runs: from the table, its indexes, and the files.
const NUMBERS_OF_RUNS: [&str; 4] = [
    "SELECT id FROM runs NOT INDEXED ORDER BY id",
    "SELECT id FROM runs INDEXED BY runs_by_start WHERE started_at > '' ORDER BY started_at",
    "SELECT id FROM runs INDEXED BY runs_by_name WHERE name > '' ORDER BY name",
    "SELECT DISTINCT run FROM files ORDER BY run",
];

/// In place of a path, what a run may have lost whose number of files is lost.
pub(super) const UNLISTED: &str = "files whose names are lost";

/// Result of a salvage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Salvaged {
    /// The copy of the damaged store.
    pub(crate) copy: PathBuf,
    /// Number of runs in the new store.
    pub(crate) runs: usize,
    /// Runs that have lost files, or may have, with the paths of the lost files and [`UNLISTED`].
    pub(crate) incomplete: Vec<(i64, Vec<String>)>,
    /// Numbers of the runs that are lost completely.
    pub(crate) lost: Vec<i64>,
}

/// A file that could be read.
struct FoundFile {
    path: String,
    bytes: Vec<u8>,
    /// True if a secret in it is masked.
    is_redacted: bool,
}

/// A run of a damaged store.
struct Found {
    described: Described,
    source: String,
    files: Vec<FoundFile>,
    missing: Vec<String>,
    labels: Vec<String>,
}

/// Salvages the store at `path` if it is damaged; none if it is intact.
///
/// # Errors
/// When another process uses it, when it is not a store, or when the copy or the new store cannot be written.
pub(crate) fn salvage(path: &Path, now: SystemTime) -> Result<Option<Salvaged>, StoreError> {
    let lock = lock_file(path)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(StoreError::InUse { path: path.to_owned() }),
        Err(TryLockError::Error(error)) => return Err(StoreError::file("lock", path, error)),
    }
    // Check again: another process may have salvaged it in the meantime.
    match connect(path).and_then(|connection| {
        let store = Store::new(path, connection);
        store.verify()?;
        store.list(&Filter::default())
    }) {
        Ok(_) => return Ok(None),
        Err(StoreError::Damaged { .. }) => {}
        Err(error) => return Err(error),
    }
    let time = humantime::format_rfc3339_seconds(now).to_string().replace([':', '-'], "");
    let copy = copy_aside(path, &format!(".damaged-{time}"))?;
    let new = with_suffix(path, ".salvage");
    if new.exists() {
        fs::remove_file(&new).map_err(|error| StoreError::file("remove", &new, error))?;
    }
    create(&new)?;
    let (runs, incomplete, lost) = copy_runs(path, &new)?;
    for ending in ["-wal", "-shm"] {
        let log = with_suffix(path, ending);
        if log.exists() {
            fs::remove_file(&log).map_err(|error| StoreError::file("remove", &log, error))?;
        }
    }
    fs::rename(&new, path).map_err(|error| StoreError::file("replace", path, error))?;
    Ok(Some(Salvaged { copy, runs, incomplete, lost }))
}

/// Copies a store, including its write-ahead log, to a new name.
fn copy_aside(path: &Path, ending: &str) -> Result<PathBuf, StoreError> {
    let copy = with_suffix(path, ending);
    for suffix in ["", "-wal"] {
        let (from, to) = (with_suffix(path, suffix), with_suffix(&copy, suffix));
        if from.exists() {
            fs::copy(&from, &to).map_err(|error| StoreError::file("write", &to, error))?;
        }
    }
    Ok(copy)
}

/// The number of copied runs, the runs that have lost files, and the lost runs.
type Copied = (usize, Vec<(i64, Vec<String>)>, Vec<i64>);

/// Copies all readable runs.
fn copy_runs(from: &Path, to: &Path) -> Result<Copied, StoreError> {
    let failed = |error| StoreError::new(from, error);
    let old = Connection::open(from).map_err(failed)?;
    // This setting lets SQLite read a file that is shorter than its header says.
    old.execute_batch("PRAGMA writable_schema = ON").map_err(failed)?;
    let mut new = Store::new(to, connect(to)?);
    let (mut runs, mut incomplete, mut lost) = (0, Vec::new(), Vec::new());
    let named = numbers_of_runs(&old);
    for id in with_gaps(&named) {
        let Some(found) = find(&old, id) else {
            // An unknown number in a gap is not reported as lost: its run may have been removed.
            if named.contains(&id) {
                lost.push(id);
            }
            continue;
        };
        new.change(|connection| {
            put_columns(connection, Some(id), &found.described, &found.source)?;
            for FoundFile { path, bytes, is_redacted } in &found.files {
                contents::put_file(connection, id, path, bytes, *is_redacted)?;
            }
            found.labels.iter().try_for_each(|label| labels::add(connection, id, label))
        })?;
        runs += 1;
        if !found.missing.is_empty() {
            incomplete.push((id, found.missing));
        }
    }
    let highest = highest_number(&named, sequence(&old));
    new.change(|connection| {
        let raise = "UPDATE sqlite_sequence SET seq = max(seq, ?1) WHERE name = 'runs'";
        if connection.execute(raise, [highest])? == 0 {
            // The table has no row for `runs` before the first insertion.
            connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('runs', ?1)", [highest])?;
        }
        Ok(())
    })?;
    new.close()?;
    Ok((runs, incomplete, lost))
}

/// The numbers of all runs that are readable anywhere. Scans each index from both ends, because a damaged page ends a scan.
fn numbers_of_runs(old: &Connection) -> BTreeSet<i64> {
    let mut all = BTreeSet::new();
    for query in NUMBERS_OF_RUNS {
        for query in [query.to_owned(), format!("{query} DESC")] {
            let mut scan = || -> SqlResult<()> {
                let mut select = old.prepare(&query)?;
                let mut rows = select.query([])?;
                while let Some(row) = rows.next()? {
                    all.insert(row.get(0)?);
                }
                Ok(())
            };
            // Keep the rows before the damaged page.
            let _ = scan();
        }
    }
    all
}

/// The numbers of `named`, and all numbers in the gaps between them that are small enough to try.
fn with_gaps(named: &BTreeSet<i64>) -> Vec<i64> {
    let mut all = Vec::new();
    let mut next: i64 = 1;
    for &id in named {
        // A damaged number may have any size, and the gap before it may be too large to try.
        if id.saturating_sub(next) <= LARGEST_GAP {
            all.extend(next..id);
        }
        all.push(id);
        next = next.max(id.saturating_add(1));
    }
    all
}

/// The highest number that was ever assigned, even if its run was removed.
fn sequence(old: &Connection) -> Option<i64> {
    old.query_row("SELECT seq FROM sqlite_sequence WHERE name = 'runs'", [], |row| row.get(0)).ok()
}

/// The highest number of any run, including lost and removed runs, because numbers are never reused. A number far above all others is
/// considered damaged.
fn highest_number(named: &BTreeSet<i64>, sequence: Option<i64>) -> i64 {
    let all: BTreeSet<i64> = named.iter().copied().chain(sequence).collect();
    all.into_iter().fold(
        0,
        |highest: i64, id| {
            if id.saturating_sub(highest) <= LARGEST_GAP { highest.max(id) } else { highest }
        },
    )
}

/// A run with its readable files.
fn find(old: &Connection, id: i64) -> Option<Found> {
    let (columns, source) = columns(old, id).ok().flatten().unzip();
    let (stored, outcome) = contents::files(old, id);
    let (mut files, mut missing) = (Vec::new(), Vec::new());
    for file in stored {
        match contents::get(old, file.content) {
            Ok(Ok(bytes)) => files.push(FoundFile { path: file.path, bytes, is_redacted: file.is_redacted }),
            Ok(Err(_)) | Err(_) => missing.push(file.path),
        }
    }
    let read = files.len() + missing.len();
    match outcome {
        Ok(Some(stored)) if stored == read => {}
        Ok(Some(stored)) if stored == read + 1 => missing.push("a file whose name is lost".to_owned()),
        Ok(Some(stored)) if stored > read => {
            missing.push(format!("{} files whose names are lost", stored - read));
        }
        _ => missing.push(UNLISTED.to_owned()),
    }
    let described = describe_files(&files).or(columns)?;
    if described.is_unfinished() {
        files.retain(|file| !described.is_outdated(&file.path));
    }
    let labels = old.prepare("SELECT label FROM labels WHERE run = ?1").and_then(|mut select| {
        let labels = select.query_map([id], |row| row.get(0))?.map_while(Result::ok).collect();
        Ok(labels)
    });
    Some(Found {
        described,
        source: source.unwrap_or_else(|| "salvaged".to_owned()),
        files,
        missing,
        labels: labels.unwrap_or_default(),
    })
}

/// The columns that can be derived from the files.
fn describe_files(files: &[FoundFile]) -> Option<Described> {
    let text = |wanted: &str| {
        let file = files.iter().find(|file| file.path == wanted)?;
        std::str::from_utf8(&file.bytes).ok()
    };
    let rounds = files.iter().filter(|file| describe::is_round(&file.path)).count() as u32;
    describe::files(text, rounds).ok()
}

/// The columns and numbers of a run from the tables.
fn columns(old: &Connection, id: i64) -> SqlResult<Option<(Described, String)>> {
    let sql = format!("SELECT {}, identity FROM runs NOT INDEXED WHERE id = ?1", list::COLUMNS);
    let found = old
        .query_row(&sql, [id], |row| Ok((list::stored_run(row)?, row.get::<_, String>("identity")?)))
        .optional()?;
    let Some((run, identity)) = found else { return Ok(None) };
    let described = Described {
        identity,
        file: RESULT,
        kind: run.kind,
        name: run.name,
        started_at: run.started_at,
        rounds: run.rounds,
        verdict: run.verdict,
        proxy_version: run.proxy_version,
        machine: run.machine,
        quiet_wait_share: quiet_wait_share(old, id),
        numbers: numbers(old, id).ok(),
    };
    Ok(Some((described, run.source)))
}

/// The limit of quiet slices of a run; also none if the column is unreadable, as in a store of an earlier version.
fn quiet_wait_share(old: &Connection, id: i64) -> Option<f64> {
    let sql = "SELECT quiet_wait_share FROM runs NOT INDEXED WHERE id = ?1";
    old.query_row(sql, [id], |row| row.get(0)).ok().flatten()
}

fn numbers(old: &Connection, id: i64) -> SqlResult<Vec<NumberRow>> {
    let sql =
        "SELECT number, arm, compared_with, load, proxy, estimate, low, high FROM numbers WHERE run = ?1";
    let mut select = old.prepare(sql)?;
    let rows = select.query_map(params![id], |row| {
        Ok(NumberRow {
            number: row.get(0)?,
            arm: row.get(1)?,
            compared_with: row.get(2)?,
            load: row.get(3)?,
            proxy: row.get(4)?,
            estimate: row.get(5)?,
            low: row.get(6)?,
            high: row.get(7)?,
        })
    })?;
    Ok(rows.map_while(Result::ok).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_number_is_that_of_a_lost_run_but_not_a_damaged_one() {
        let of = |named: &[i64], sequence: Option<i64>| {
            highest_number(&named.iter().copied().collect::<BTreeSet<i64>>(), sequence)
        };
        assert_eq!(of(&[1, 2, 7], None), 7);
        assert_eq!(of(&[1, 2], Some(9)), 9);
        assert_eq!(of(&[i64::MIN, -5, 1, 2, i64::MAX], Some(i64::MAX - 1)), 2);
        assert_eq!(of(&[], None), 0);
        let named = BTreeSet::from([i64::MIN, 3, i64::MAX]);
        assert_eq!(with_gaps(&named), [i64::MIN, 1, 2, 3, i64::MAX]);
    }
}
