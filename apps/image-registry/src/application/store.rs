//! The storage, in SQLite: accounts, sessions, images, and the pulls of each account in its latest minute.

use std::path::Path;

use hoptax_tasks::plans::{Admission, Count, Plan};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Result, Row, params};

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS accounts (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        password TEXT NOT NULL,
        plan TEXT NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS sessions (
        hash BLOB PRIMARY KEY,
        account INTEGER NOT NULL REFERENCES accounts,
        end_s INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS images (
        name TEXT PRIMARY KEY,
        owner INTEGER NOT NULL REFERENCES accounts,
        content BLOB NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS pulls (
        account INTEGER PRIMARY KEY,
        minute INTEGER NOT NULL,
        pulls INTEGER NOT NULL
    ) STRICT;
";

/// An account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) plan: Plan,
}

/// The open storage, which no other process can open at the same time.
pub(crate) struct Store {
    connection: Connection,
}

impl Store {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let connection = Connection::open(path)?;
        // With the write-ahead log, commits survive a kill of the process without a wait for the disk.
        connection.execute_batch(
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; \
             PRAGMA foreign_keys = ON;",
        )?;
        connection.execute_batch(TABLES)?;
        Ok(Self { connection })
    }

    /// An empty storage that ends with the process.
    pub(crate) fn in_memory() -> Result<Self> {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(TABLES)?;
        Ok(Self { connection })
    }

    /// Adds an account with the smallest plan; None if the name is taken.
    pub(crate) fn add_account(&self, name: &str, password: &str) -> Result<Option<Account>> {
        let plan = Plan::Personal;
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO accounts (name, password, plan) VALUES (?1, ?2, ?3)")?;
        match insert.insert(params![name, password, plan.name()]) {
            Ok(id) => Ok(Some(Account { id, name: name.to_owned(), plan })),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The account with this name, and the hash of its password.
    pub(crate) fn account_with_password(&self, name: &str) -> Result<Option<(Account, String)>> {
        let mut select = self
            .connection
            .prepare_cached("SELECT id, name, plan, password FROM accounts WHERE name = ?1")?;
        select.query_row([name], |row| Ok((account(row)?, row.get(3)?))).optional()
    }

    /// Changes the plan of an account.
    pub(crate) fn set_plan(&self, account: i64, plan: Plan) -> Result<()> {
        let mut update = self.connection.prepare_cached("UPDATE accounts SET plan = ?2 WHERE id = ?1")?;
        update.execute(params![account, plan.name()]).map(drop)
    }

    /// Adds a session, and removes those that have ended.
    pub(crate) fn add_session(&self, hash: &[u8], account: i64, now_s: i64, end_s: i64) -> Result<()> {
        self.connection.prepare_cached("DELETE FROM sessions WHERE end_s <= ?1")?.execute([now_s])?;
        let mut insert = self.connection.prepare_cached("INSERT INTO sessions VALUES (?1, ?2, ?3)")?;
        insert.execute(params![hash, account, end_s]).map(drop)
    }

    /// The account of a session that has not ended.
    pub(crate) fn account_of(&self, hash: &[u8], now_s: i64) -> Result<Option<Account>> {
        let mut select = self.connection.prepare_cached(
            "SELECT id, name, plan FROM sessions JOIN accounts ON id = account WHERE hash = ?1 AND end_s > ?2",
        )?;
        select.query_row(params![hash, now_s], account).optional()
    }

    /// Ends a session.
    pub(crate) fn end_session(&self, hash: &[u8]) -> Result<()> {
        self.connection.prepare_cached("DELETE FROM sessions WHERE hash = ?1")?.execute([hash]).map(drop)
    }

    /// Stores an image; false if the name belongs to another account.
    pub(crate) fn push(&self, account: i64, name: &str, content: &[u8]) -> Result<bool> {
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO images VALUES (?1, ?2, ?3) \
             ON CONFLICT (name) DO UPDATE SET content = excluded.content WHERE owner = excluded.owner",
        )?;
        Ok(insert.execute(params![name, account, content])? > 0)
    }

    /// The content of an image.
    pub(crate) fn image(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let mut select = self.connection.prepare_cached("SELECT content FROM images WHERE name = ?1")?;
        select.query_row([name], |row| row.get(0)).optional()
    }

    /// The names of all images, with their sizes in bytes.
    pub(crate) fn images(&self) -> Result<Vec<(String, i64)>> {
        let mut select =
            self.connection.prepare_cached("SELECT name, length(content) FROM images ORDER BY name")?;
        select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    /// The pulls of an account in its latest minute.
    pub(crate) fn pulls(&self, account: i64) -> Result<Count> {
        let mut select =
            self.connection.prepare_cached("SELECT minute, pulls FROM pulls WHERE account = ?1")?;
        let count = |row: &Row<'_>| Ok(Count { minute: row.get(0)?, pulls: row.get(1)? });
        Ok(select.query_row([account], count).optional()?.unwrap_or_default())
    }

    /// Records a pull of an account if a plan with `limit` pulls per minute admits it.
    pub(crate) fn record(&self, account: i64, limit: u32, now_s: u64) -> Result<Admission> {
        let (after, admission) = self.pulls(account)?.take(limit, now_s);
        if admission.admitted {
            let mut replace = self.connection.prepare_cached("REPLACE INTO pulls VALUES (?1, ?2, ?3)")?;
            replace.execute(params![account, after.minute, after.pulls])?;
        }
        Ok(admission)
    }
}

/// The account in the first three columns of a row.
fn account(row: &Row<'_>) -> Result<Account> {
    let plan: String = row.get(2)?;
    // Only `set_plan` and `add_account` write plans.
    let plan = Plan::read(&plan).unwrap_or(Plan::Personal);
    Ok(Account { id: row.get(0)?, name: row.get(1)?, plan })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_S: u64 = 1_800_000_000;

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("store")).unwrap();
        (folder, store)
    }

    #[test]
    fn a_name_belongs_to_one_account() {
        let (_folder, store) = store();
        let account = store.add_account("ada", "hash").unwrap().unwrap();
        assert_eq!(store.add_account("ada", "other").unwrap(), None);
        assert_eq!(store.account_with_password("ada").unwrap(), Some((account, "hash".to_owned())));
        assert_eq!(store.account_with_password("bob").unwrap(), None);
    }

    #[test]
    fn a_session_ends_at_its_time_or_when_asked_to() {
        let (_folder, store) = store();
        let account = store.add_account("ada", "hash").unwrap().unwrap();
        store.add_session(b"first", account.id, 0, 10).unwrap();
        assert_eq!(store.account_of(b"first", 9).unwrap(), Some(account.clone()));
        assert_eq!(store.account_of(b"first", 10).unwrap(), None);
        store.add_session(b"second", account.id, 10, 20).unwrap();
        assert_eq!(store.account_of(b"first", 9).unwrap(), None, "an ended session is removed");
        store.end_session(b"second").unwrap();
        assert_eq!(store.account_of(b"second", 11).unwrap(), None);
    }

    #[test]
    fn only_the_owner_replaces_an_image() {
        let (_folder, store) = store();
        let [ada, bob] = ["ada", "bob"].map(|name| store.add_account(name, "hash").unwrap().unwrap().id);
        assert!(store.push(ada, "tool", b"1").unwrap());
        assert!(!store.push(bob, "tool", b"2").unwrap());
        assert!(store.push(ada, "tool", b"three").unwrap());
        assert_eq!(store.image("tool").unwrap(), Some(b"three".to_vec()));
        assert_eq!(store.images().unwrap(), [("tool".to_owned(), 5)]);
    }

    #[test]
    fn pulls_outlast_the_process() {
        let (folder, store) = store();
        let account = store.add_account("ada", "hash").unwrap().unwrap();
        for _ in 0..3 {
            assert!(store.record(account.id, 3, NOW_S).unwrap().admitted);
        }
        store.set_plan(account.id, Plan::Team).unwrap();
        drop(store);
        let store = Store::open(&folder.path().join("store")).unwrap();
        assert_eq!(store.pulls(account.id).unwrap().pulls, 3);
        assert!(!store.record(account.id, 3, NOW_S).unwrap().admitted);
        assert_eq!(store.account_with_password("ada").unwrap().unwrap().0.plan, Plan::Team);
    }
}
