//! The tables of a store, and the steps from each version to the next.

use rusqlite::{Connection, Result, TransactionBehavior};

/// Marks a SQLite file as a store: `hopt` in ASCII.
pub(crate) const APPLICATION_ID: i32 = 0x686f_7074;

/// The migrations: the first creates version 1, the second migrates it to version 2, and so on. A released migration never changes.
pub(crate) const STEPS: [&str; 2] = [
    "
    -- Columns for lists. `identity` tells whether two imports are the same run. `verdict` is null without a result. `files` is
    -- the number of files: SQLite may lose rows of a damaged page without an error.
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        identity TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        started_at TEXT NOT NULL,
        rounds INTEGER NOT NULL,
        verdict TEXT,
        proxy_version TEXT,
        machine TEXT NOT NULL,
        source TEXT NOT NULL,
        files INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX runs_by_start ON runs (started_at, id);
    CREATE INDEX runs_by_name ON runs (name, started_at, id);

    -- Contents of files, each once.
    CREATE TABLE contents (
        id INTEGER PRIMARY KEY,
        sha256 BLOB NOT NULL UNIQUE,
        bytes BLOB NOT NULL
    ) STRICT;
    CREATE TABLE files (
        run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
        path TEXT NOT NULL,
        content INTEGER NOT NULL REFERENCES contents,
        is_redacted INTEGER NOT NULL,
        PRIMARY KEY (run, path)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX files_by_content ON files (content);
    -- A file is removed only with its run.
    CREATE TRIGGER number_of_files AFTER INSERT ON files BEGIN
        UPDATE runs SET files = files + 1 WHERE id = new.run;
    END;
    CREATE TRIGGER content_of_deleted_file AFTER DELETE ON files BEGIN
        DELETE FROM contents WHERE id = old.content AND NOT EXISTS (SELECT 1 FROM files WHERE content = old.content);
    END;
    CREATE TRIGGER content_of_changed_file AFTER UPDATE OF content ON files WHEN old.content <> new.content BEGIN
        DELETE FROM contents WHERE id = old.content AND NOT EXISTS (SELECT 1 FROM files WHERE content = old.content);
    END;

    CREATE TABLE labels (
        label TEXT NOT NULL,
        run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
        PRIMARY KEY (label, run)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX labels_by_run ON labels (run);

    -- Numbers of results that are not withheld. Texts that do not apply are empty.
    CREATE TABLE numbers (
        number TEXT NOT NULL,
        arm TEXT NOT NULL,
        compared_with TEXT NOT NULL,
        load TEXT NOT NULL,
        proxy TEXT NOT NULL,
        run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
        estimate REAL NOT NULL,
        low REAL,
        high REAL,
        PRIMARY KEY (number, arm, compared_with, load, proxy, run)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX numbers_by_run ON numbers (run);
",
    "
    -- The limit of quiet slices, by which the numbers that rest on these are different ones; null without, and in runs imported before.
    ALTER TABLE runs ADD COLUMN quiet_wait_share REAL;
",
];

/// The application id and the version in the header of a SQLite file, read in one transaction.
pub(crate) struct Header {
    pub(crate) application_id: i32,
    pub(crate) version: usize,
}

/// Reads the header.
pub(crate) fn header(connection: &mut Connection) -> Result<Header> {
    let moment = connection.transaction()?;
    let application_id = moment.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let version = version(&moment)?;
    Ok(Header { application_id, version })
}

fn version(connection: &Connection) -> Result<usize> {
    connection
        .query_row("PRAGMA user_version", [], |row| row.get::<_, u32>(0))
        .map(|version| version as usize)
}

/// Applies the missing migrations to the file, all or none. If two processes do this at once, the second finds nothing to do.
pub(crate) fn migrate(connection: &mut Connection, steps: &[&str]) -> Result<()> {
    if version(connection)? >= steps.len() {
        return Ok(());
    }
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = version(&change)?;
    for step in steps.iter().skip(done) {
        change.execute_batch(step)?;
    }
    if done < steps.len() {
        change.pragma_update(None, "application_id", APPLICATION_ID)?;
        change.pragma_update(None, "user_version", steps.len() as u32)?;
    }
    change.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(connection: &Connection) -> Vec<String> {
        let mut names =
            connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").unwrap();
        names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn a_file_takes_the_steps_that_it_has_not_seen() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &["CREATE TABLE one (a)"]).unwrap();
        connection.execute("INSERT INTO one VALUES (7)", []).unwrap();
        let steps = ["CREATE TABLE one (a)", "ALTER TABLE one ADD b DEFAULT 8", "CREATE TABLE three (c)"];
        migrate(&mut connection, &steps).unwrap();
        migrate(&mut connection, &steps).unwrap();
        assert_eq!(tables(&connection), ["one", "three"]);
        let row = connection.query_row("SELECT a, b FROM one", [], |row| Ok((row.get(0)?, row.get(1)?)));
        assert_eq!(row.unwrap(), (7, 8));
        let found = header(&mut connection).unwrap();
        assert_eq!((found.application_id, found.version), (APPLICATION_ID, 3));
    }

    #[test]
    fn a_step_that_fails_leaves_the_file_at_its_version() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &["CREATE TABLE one (a)"]).unwrap();
        let steps = ["CREATE TABLE one (a)", "CREATE TABLE two (a)", "CREATE TABLE one (a)"];
        assert!(migrate(&mut connection, &steps).is_err());
        assert_eq!(tables(&connection), ["one"]);
        assert_eq!(header(&mut connection).unwrap().version, 1);
    }
}
