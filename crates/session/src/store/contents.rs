//! Contents of files: each is stored once, and verified when it is read.

use hoptax_subject::digest::sha256_bytes;
use rusqlite::{Connection, OptionalExtension, Result, params};

/// A file of a run in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredFile {
    pub(crate) path: String,
    pub(crate) content: i64,
    pub(crate) is_redacted: bool,
}

/// Stores a content, and returns its number. Repairs a content that is already stored if its bytes have changed.
pub(crate) fn put(connection: &Connection, bytes: &[u8]) -> Result<i64> {
    let sha256 = sha256_bytes(bytes);
    let mut find = connection.prepare_cached("SELECT id, bytes = ?2 FROM contents WHERE sha256 = ?1")?;
    let found: Option<(i64, bool)> =
        find.query_row(params![sha256, bytes], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    if let Some((id, is_intact)) = found {
        if !is_intact {
            connection.execute("UPDATE contents SET bytes = ?2 WHERE id = ?1", params![id, bytes])?;
        }
        return Ok(id);
    }
    let mut insert = connection.prepare_cached("INSERT INTO contents (sha256, bytes) VALUES (?1, ?2)")?;
    insert.insert(params![sha256, bytes])
}

/// Reads a content. The inner result is an error if the content is missing or has changed.
pub(crate) fn get(connection: &Connection, content: i64) -> Result<Result<Vec<u8>, String>> {
    let mut select = connection.prepare_cached("SELECT sha256, bytes FROM contents WHERE id = ?1")?;
    let found: Option<(Vec<u8>, Vec<u8>)> =
        select.query_row([content], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    Ok(match found {
        None => Err(format!("content {content} is missing")),
        Some((sha256, bytes)) if sha256_bytes(&bytes) == sha256 => Ok(bytes),
        Some(_) => Err(format!("content {content} does not have its SHA-256")),
    })
}

/// The files of a run, by path, and how many were stored; none if the row of the run is lost or removed. The list has all readable files,
/// even if the result is an error.
pub(crate) fn files(connection: &Connection, run: i64) -> (Vec<StoredFile>, Result<Option<usize>>) {
    let mut found = Vec::new();
    let mut read = || -> Result<Option<usize>> {
        // Use one transaction, because a running study may add files between the two queries.
        let moment = connection.unchecked_transaction()?;
        let mut select = moment
            .prepare_cached("SELECT path, content, is_redacted FROM files WHERE run = ?1 ORDER BY path")?;
        let mut rows = select.query([run])?;
        while let Some(row) = rows.next()? {
            found.push(StoredFile { path: row.get(0)?, content: row.get(1)?, is_redacted: row.get(2)? });
        }
        let mut select = moment.prepare_cached("SELECT files FROM runs NOT INDEXED WHERE id = ?1")?;
        let stored: Option<u32> = select.query_row([run], |row| row.get(0)).optional()?;
        Ok(stored.map(|stored| stored as usize))
    };
    let outcome = read();
    (found, outcome)
}

/// A run whose number of files differs from the number that were stored.
pub(crate) fn run_without_files(connection: &Connection) -> Result<Option<i64>> {
    let sql = "SELECT id FROM runs WHERE files <> (SELECT count(*) FROM files WHERE run = runs.id) LIMIT 1";
    connection.query_row(sql, [], |row| row.get(0)).optional()
}

/// Stores a file of a run, replacing an earlier one.
pub(crate) fn put_file(
    connection: &Connection,
    run: i64,
    path: &str,
    bytes: &[u8],
    is_redacted: bool,
) -> Result<()> {
    let content = put(connection, bytes)?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO files (run, path, content, is_redacted) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (run, path) DO UPDATE SET content = excluded.content, is_redacted = excluded.is_redacted",
    )?;
    insert.execute(params![run, path, content, is_redacted]).map(drop)
}

/// Removes a file of a run, if there is one, and adjusts the number of files, so that it does not count as lost.
pub(crate) fn remove_file(connection: &Connection, run: i64, path: &str) -> Result<()> {
    let delete = "DELETE FROM files WHERE run = ?1 AND path = ?2";
    if connection.execute(delete, params![run, path])? > 0 {
        connection.execute("UPDATE runs SET files = files - 1 WHERE id = ?1", [run])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::schema::{STEPS, migrate};

    #[test]
    fn an_intact_content_repairs_the_damaged_one_in_the_store() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &STEPS).unwrap();
        let id = put(&connection, b"intact").unwrap();
        connection.execute("UPDATE contents SET bytes = x'6261' WHERE id = ?1", [id]).unwrap();
        assert!(get(&connection, id).unwrap().is_err(), "it is damaged");
        assert_eq!(put(&connection, b"intact").unwrap(), id);
        assert_eq!(get(&connection, id).unwrap().unwrap(), b"intact");
    }
}
