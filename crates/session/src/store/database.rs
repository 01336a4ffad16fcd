//! Opens a store, and adds runs to it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::FromSql;
use rusqlite::{
    Connection, OpenFlags, OptionalExtension, Params, Result as SqlResult, TransactionBehavior, params,
};
use tempfile::NamedTempFile;

use crate::continuation;
use crate::run_files::{MANIFEST, RESULT, RESULTS};
use crate::store::StoreError;
use crate::store::contents::{self, StoredFile};
use crate::store::describe::Described;
use crate::store::folder::RunFile;
use crate::store::schema::{self, APPLICATION_ID, STEPS};

/// How long a writer waits for others. A transaction takes less than a second, but several writers may be waiting.
const LONGEST_WAIT: Duration = Duration::from_mins(2);

/// An open store.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
    /// A lock that all users of the store share, so that none of them is disturbed by a salvage; none during a salvage.
    _lock: Option<File>,
}

/// The outcome of [`Store::compact`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// Number of contents that were verified.
    pub verified: u64,
    /// Size of the file before, bytes.
    pub before_bytes: u64,
    /// Size after.
    pub after_bytes: u64,
}

impl Store {
    /// Opens a store, or creates it if there is none.
    ///
    /// # Errors
    /// When it cannot be opened, is damaged, has a later version, or is not a store.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if path.is_dir() {
            return Err(StoreError::Folder { path: path.to_owned() });
        }
        if !path.exists() {
            create(path)?;
        }
        let had_lock = lock_path(path).exists();
        let lock = lock_file(path)?;
        lock.lock_shared().map_err(|error| StoreError::file("lock", path, error))?;
        let connection = connect(path).inspect_err(|error| {
            // Nothing stays beside the file of another program.
            if matches!(error, StoreError::Foreign { .. }) && !had_lock {
                let _ = fs::remove_file(lock_path(path));
            }
        })?;
        Ok(Self { path: path.to_owned(), connection, _lock: Some(lock) })
    }

    /// A store with this connection, for a caller that holds the lock.
    pub(crate) fn new(path: &Path, connection: Connection) -> Self {
        Self { path: path.to_owned(), connection, _lock: None }
    }

    /// Closes the store, which merges its write-ahead log into its file.
    pub(crate) fn close(self) -> Result<(), StoreError> {
        let Self { path, connection, .. } = self;
        connection.close().map_err(|(_, error)| StoreError::new(&path, error))
    }

    /// The path of its file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a run, or adds files to an existing run, in one transaction. Returns the number of the run. An existing run gets the columns of
    /// `described`; its files stay, except those that `documents` replaces. A result with fewer rounds than `described` is removed. A
    /// result with as many or more rounds stays with its columns, because the unfinished run is then an older copy.
    ///
    /// # Errors
    /// When it cannot be written. Nothing has changed then.
    pub(crate) fn put(
        &mut self,
        described: &Described,
        source: &str,
        documents: &[RunFile],
    ) -> Result<i64, StoreError> {
        self.change(|connection| {
            let run = match finished_since(connection, described)? {
                Some(run) => run,
                None => put_columns(connection, None, described, source)?,
            };
            for document in documents {
                let bytes = document.text.as_bytes();
                contents::put_file(connection, run, &document.path, bytes, document.is_redacted)?;
            }
            Ok(run)
        })
    }

    /// Returns the number of the run with this description; None if the store does not have it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn find(&self, described: &Described) -> Result<Option<i64>, StoreError> {
        self.one("SELECT id FROM runs WHERE identity = ?1", [&described.identity])
    }

    /// The files of a run, by path.
    ///
    /// # Errors
    /// When one cannot be read, is lost, or its content has changed.
    pub fn documents(&self, run: i64) -> Result<Vec<RunFile>, StoreError> {
        let read = self.files(run)?.into_iter().map(|file| {
            let text = self.text(file.content)?;
            Ok(RunFile { path: file.path, text, is_redacted: file.is_redacted })
        });
        read.collect()
    }

    /// The result of a run, as its command printed it: of a bill, a comparison or a gate, not that of its study. None if it has none.
    ///
    /// # Errors
    /// As [`Self::documents`].
    pub fn result(&self, run: i64) -> Result<Option<String>, StoreError> {
        for path in RESULTS {
            let found = self.document(run, path)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The result with the numbers that other runs can be compared with: of a bill, a comparison or a gate, that of its study; of other
    /// runs, [`Self::result`]. None if it has none.
    ///
    /// # Errors
    /// As [`Self::documents`].
    pub fn measured(&self, run: i64) -> Result<Option<String>, StoreError> {
        self.document(run, RESULT)
    }

    /// How the study of a run is continued once its files are in a folder, as a clause for messages. `folder` is a word of a command line.
    ///
    /// # Errors
    /// As [`Self::documents`].
    pub(crate) fn way_to_continue(&self, run: i64, folder: &str) -> Result<String, StoreError> {
        let manifest = self.document(run, MANIFEST)?;
        let command = manifest.and_then(|text| continuation::command_in(&text));
        Ok(continuation::way(command.as_deref(), folder, None))
    }

    /// The size of [`Self::measured`], bytes; none if there is none. The result itself is not read.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn result_bytes(&self, run: i64) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT length(contents.bytes) FROM files JOIN contents ON contents.id = files.content \
             WHERE files.run = ?1 AND files.path = ?2";
        Ok(self.one::<i64>(sql, params![run, RESULT])?.map(i64::cast_unsigned))
    }

    /// One file of a run; none if it has no such file.
    fn document(&self, run: i64, path: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT content FROM files WHERE run = ?1 AND path = ?2";
        let content: Option<i64> = self.one(sql, params![run, path])?;
        content.map(|content| self.text(content)).transpose()
    }

    /// The paths of the files of a run.
    ///
    /// # Errors
    /// When they cannot be read, or some are lost.
    pub fn paths(&self, run: i64) -> Result<Vec<String>, StoreError> {
        Ok(self.files(run)?.into_iter().map(|file| file.path).collect())
    }

    /// Removes a run with its files, numbers and labels.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn remove(&mut self, run: i64) -> Result<(), StoreError> {
        self.change(|connection| connection.execute("DELETE FROM runs WHERE id = ?1", [run]).map(drop))
    }

    /// Verifies every page and every content, and returns the number of contents.
    ///
    /// # Errors
    /// When the store is damaged.
    pub(crate) fn verify(&self) -> Result<u64, StoreError> {
        let found: String =
            self.at(self.connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)))?;
        if found != "ok" {
            return Err(self.damaged(found));
        }
        if let Some(run) = self.at(contents::run_without_files(&self.connection))? {
            self.files(run)?;
        }
        let ids: Vec<i64> = self.all("SELECT id FROM contents", [])?;
        for id in &ids {
            self.bytes(*id)?;
        }
        Ok(ids.len() as u64)
    }

    /// Verifies the whole store, and gives the space of removed runs back to the file system.
    ///
    /// # Errors
    /// When it is damaged, or cannot be written.
    pub fn compact(&mut self) -> Result<Compacted, StoreError> {
        let verified = self.verify()?;
        // Merge the log into the file, so that the file has the size of the store.
        let size = || -> Result<u64, StoreError> {
            self.at(self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())))?;
            Ok(fs::metadata(&self.path).map_or(0, |file| file.len()))
        };
        let before_bytes = size()?;
        self.at(self.connection.execute_batch("VACUUM"))?;
        Ok(Compacted { verified, before_bytes, after_bytes: size()? })
    }

    /// Makes a change in one transaction, after waiting for other writers.
    pub(crate) fn change<T>(
        &mut self,
        change: impl FnOnce(&Connection) -> SqlResult<T>,
    ) -> Result<T, StoreError> {
        let run = || {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = change(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        let outcome = run();
        self.at(outcome)
    }

    /// Checks that it can be written, with a change of nothing.
    ///
    /// # Errors
    /// When it cannot.
    pub(crate) fn check_writable(&mut self) -> Result<(), StoreError> {
        self.change(|connection| connection.execute("DELETE FROM runs WHERE id IS NULL", []).map(drop))
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The only value that a query selects; none if it selects no row.
    pub(crate) fn one<T: FromSql>(&self, sql: &str, values: impl Params) -> Result<Option<T>, StoreError> {
        let select = self.connection.prepare_cached(sql);
        self.at(select.and_then(|mut select| select.query_row(values, |row| row.get(0)).optional()))
    }

    /// The values of the only column that a query selects.
    pub(crate) fn all<T: FromSql>(&self, sql: &str, values: impl Params) -> Result<Vec<T>, StoreError> {
        let select = self.connection.prepare_cached(sql);
        self.at(select.and_then(|mut select| select.query_map(values, |row| row.get(0))?.collect()))
    }

    /// Converts an error of SQLite to an error of this store.
    pub(crate) fn at<T>(&self, outcome: SqlResult<T>) -> Result<T, StoreError> {
        outcome.map_err(|error| StoreError::new(&self.path, error))
    }

    fn damaged(&self, what: String) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), what }
    }

    fn files(&self, run: i64) -> Result<Vec<StoredFile>, StoreError> {
        let (files, outcome) = contents::files(&self.connection, run);
        let (read, stored) = (files.len(), self.at(outcome)?.unwrap_or_default());
        if read == stored {
            Ok(files)
        } else {
            Err(self.damaged(format!("run {run} has {read} files, and {stored} were stored")))
        }
    }

    fn bytes(&self, content: i64) -> Result<Vec<u8>, StoreError> {
        self.at(contents::get(&self.connection, content))?.map_err(|what| self.damaged(what))
    }

    fn text(&self, content: i64) -> Result<String, StoreError> {
        let text = String::from_utf8(self.bytes(content)?);
        text.map_err(|_| self.damaged(format!("content {content} is not UTF-8")))
    }
}

/// The lock file of a store. The lock is on a separate file, because SQLite loses its own locks when this process closes the store's file.
pub(crate) fn lock_file(path: &Path) -> Result<File, StoreError> {
    let path = lock_path(path);
    let opened = File::options().create(true).truncate(false).write(true).open(&path);
    opened.map_err(|source| StoreError::Lock { path, source })
}

fn lock_path(path: &Path) -> PathBuf {
    with_suffix(path, ".lock")
}

/// The path of a file beside a store: the path of the store with a suffix.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// The folder of a store.
pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new file in the folder of a store, which is created if there is none.
pub(crate) fn temporary(path: &Path) -> Result<NamedTempFile, StoreError> {
    let folder = folder(path);
    fs::create_dir_all(folder).map_err(|error| StoreError::file("create", folder, error))?;
    // Only the owner may read it.
    let file = tempfile::Builder::new().prefix(".store-").tempfile_in(folder);
    file.map_err(|error| StoreError::file("create a file in", folder, error))
}

/// Creates a store atomically: if two processes create it at once, the second uses the store of the first.
pub(crate) fn create(path: &Path) -> Result<(), StoreError> {
    let file = temporary(path)?;
    let failed = |error| StoreError::new(path, error);
    let mut connection = Connection::open(file.path()).map_err(failed)?;
    schema::migrate(&mut connection, &STEPS).map_err(failed)?;
    connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
    connection.close().map_err(|(_, error)| failed(error))?;
    match file.persist_noclobber(path) {
        Err(error) if error.error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(StoreError::file("create", path, error.error))
        }
        _ => Ok(()),
    }
}

/// Connects to an existing store, and migrates it to this version.
pub(crate) fn connect(path: &Path) -> Result<Connection, StoreError> {
    let failed = |error| StoreError::new(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(LONGEST_WAIT).map_err(failed)?;
    let header = schema::header(&mut connection).map_err(failed)?;
    if header.application_id != APPLICATION_ID {
        let what = "it is empty, or a database of another program".to_owned();
        return Err(StoreError::Foreign { path: path.to_owned(), what });
    }
    if header.version > STEPS.len() {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            found: header.version,
            supported: STEPS.len(),
        });
    }
    // FULL: a round that was reported as stored survives a power failure.
    let settings = "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON;";
    connection.execute_batch(settings).map_err(failed)?;
    schema::migrate(&mut connection, &STEPS).map_err(failed)?;
    Ok(connection)
}

/// The run of an unfinished study, if the store already has a result with at least as many rounds.
fn finished_since(connection: &Connection, described: &Described) -> SqlResult<Option<i64>> {
    if !described.is_unfinished() {
        return Ok(None);
    }
    let sql = "SELECT id FROM runs WHERE identity = ?1 AND verdict IS NOT NULL AND rounds >= ?2";
    connection.query_row(sql, params![described.identity, described.rounds], |row| row.get(0)).optional()
}

/// Inserts the columns of a new run, and returns its number: `id`, or a new one. An upsert would consume a number even when it updates an
/// existing run.
fn insert(connection: &Connection, id: Option<i64>, run: &Described, source: &str) -> SqlResult<i64> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO runs (id, identity, kind, name, started_at, rounds, verdict, proxy_version, machine, source, \
         quiet_wait_share) \
         VALUES (?1, ?2, ?3, ?4, iif(?5 = '', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), ?5), ?6, ?7, ?8, ?9, ?10, ?11) \
         RETURNING id",
    )?;
    let values = params![
        id,
        run.identity,
        run.kind,
        run.name,
        run.started_at,
        run.rounds,
        run.verdict.map(hoptax_result::Verdict::as_str),
        run.proxy_version,
        run.machine,
        source,
        run.quiet_wait_share
    ];
    insert.query_row(values, |row| row.get(0))
}

/// Inserts or updates the columns and numbers of a run, and returns its number: `id`, or a new one. It loses outdated results, and if it is
/// unfinished, its numbers. A run without a start gets the current time.
pub(crate) fn put_columns(
    connection: &Connection,
    id: Option<i64>,
    run: &Described,
    source: &str,
) -> SqlResult<i64> {
    let mut update = connection.prepare_cached(
        "UPDATE runs SET name = ?2, rounds = ?3, verdict = ?4, proxy_version = ?5, source = ?6, quiet_wait_share = ?7, \
         kind = ?8 WHERE identity = ?1 RETURNING id",
    )?;
    let verdict = run.verdict.map(hoptax_result::Verdict::as_str);
    let values = params![
        run.identity,
        run.name,
        run.rounds,
        verdict,
        run.proxy_version,
        source,
        run.quiet_wait_share,
        run.kind
    ];
    let known: Option<i64> = update.query_row(values, |row| row.get(0)).optional()?;
    let id = match known {
        Some(known) => known,
        None => insert(connection, id, run, source)?,
    };
    for path in RESULTS.into_iter().filter(|path| run.is_outdated(path)) {
        contents::remove_file(connection, id, path)?;
    }
    connection.execute("DELETE FROM numbers WHERE run = ?1", [id])?;
    // If two arms of a result share a name, the first one is kept.
    let mut insert = connection
        .prepare_cached("INSERT OR IGNORE INTO numbers VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
    for row in run.numbers.iter().flatten() {
        insert.execute(params![
            row.number,
            row.arm,
            row.compared_with,
            row.load,
            row.proxy,
            id,
            row.estimate,
            row.low,
            row.high
        ])?;
    }
    Ok(id)
}

#[cfg(test)]
pub(crate) mod tests;
