//! Labels of runs, and finding a run by its number or its label.

use rusqlite::{Connection, Result as SqlResult};

use crate::store::{Store, StoreError};

impl Store {
    /// Finds the run with this number, or else the only run with this label.
    ///
    /// # Errors
    /// When there is no such run, or several runs have the label.
    pub fn resolve(&self, run: &str) -> Result<i64, StoreError> {
        if let Ok(id) = run.parse::<i64>()
            && let Some(id) = self.one("SELECT id FROM runs WHERE id = ?1", [id])?
        {
            return Ok(id);
        }
        let found: Vec<i64> = self.all("SELECT run FROM labels WHERE label = ?1 ORDER BY run", [run])?;
        match found.as_slice() {
            [one] => Ok(*one),
            [] => Err(StoreError::NoRun { path: self.path().to_owned(), run: run.to_owned() }),
            _ => Err(StoreError::SeveralRuns { label: run.to_owned(), runs: found }),
        }
    }

    /// Adds a label to a run. With `is_only`, removes it from all other runs.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn label(&mut self, run: i64, label: &str, is_only: bool) -> Result<(), StoreError> {
        self.change(|connection| {
            if is_only {
                connection.execute("DELETE FROM labels WHERE label = ?1", [label])?;
            }
            add(connection, run, label)
        })
    }

    /// Removes a label from a run; false if the run did not have it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn unlabel(&mut self, run: i64, label: &str) -> Result<bool, StoreError> {
        self.change(|connection| {
            let removed =
                connection.execute("DELETE FROM labels WHERE label = ?1 AND run = ?2", (label, run))?;
            Ok(removed > 0)
        })
    }
}

/// Adds a label to a run.
pub(crate) fn add(connection: &Connection, run: i64, label: &str) -> SqlResult<()> {
    connection.execute("INSERT OR IGNORE INTO labels (label, run) VALUES (?1, ?2)", (label, run)).map(drop)
}
