//! A number over many runs, read from its rows without parsing results.

use hoptax_result::HistoryPoint;
use rusqlite::Result as SqlResult;

use crate::store::{Store, StoreError};

/// A number of one arm under one load of one study on one machine. Texts that do not apply are empty.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    /// The name of the study, or the URL of the load.
    pub(crate) name: String,
    /// The machine.
    pub(crate) machine: String,
    /// The arm.
    pub(crate) arm: String,
    /// The arm that the number is a difference from.
    pub(crate) compared_with: String,
    /// The load.
    pub(crate) load: String,
    /// The proxy.
    pub(crate) proxy: String,
    /// The number in each run that states it, in chronological order.
    pub(crate) points: Vec<HistoryPoint>,
}

/// All series of a number: series after series, each in chronological order.
pub(crate) const QUERY: &str = "
    SELECT runs.name, machine, arm, compared_with, load, proxy, run, started_at, proxy_version, estimate, low, high
    FROM numbers JOIN runs ON runs.id = run
    WHERE number = ?1
    ORDER BY runs.name, machine, arm, compared_with, load, proxy, started_at, run";

impl Store {
    /// All series of a number, by its name.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn series(&self, number: &str) -> Result<Vec<Series>, StoreError> {
        let read = || -> SqlResult<Vec<Series>> {
            let mut all: Vec<Series> = Vec::new();
            let mut select = self.connection().prepare_cached(QUERY)?;
            let mut rows = select.query([number])?;
            while let Some(row) = rows.next()? {
                let series = Series {
                    name: row.get(0)?,
                    machine: row.get(1)?,
                    arm: row.get(2)?,
                    compared_with: row.get(3)?,
                    load: row.get(4)?,
                    proxy: row.get(5)?,
                    points: Vec::new(),
                };
                let point = HistoryPoint {
                    run: row.get(6)?,
                    started_at: row.get(7)?,
                    proxy_version: row.get(8)?,
                    estimate: row.get(9)?,
                    low: row.get(10)?,
                    high: row.get(11)?,
                };
                match all.last_mut().filter(|last| last.is_like(&series)) {
                    Some(last) => last.points.push(point),
                    None => all.push(Series { points: vec![point], ..series }),
                }
            }
            Ok(all)
        };
        self.at(read())
    }

    /// The names of all numbers in the store, in alphabetical order.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn numbers(&self) -> Result<Vec<String>, StoreError> {
        let read = || -> SqlResult<Vec<String>> {
            // One look into the index for each name, instead of one for each row.
            let mut next =
                self.connection().prepare_cached("SELECT min(number) FROM numbers WHERE number > ?1")?;
            let mut names: Vec<String> = Vec::new();
            while let Some(name) =
                next.query_row([names.last().map_or("", String::as_str)], |row| row.get(0))?
            {
                names.push(name);
            }
            Ok(names)
        };
        self.at(read())
    }
}

impl Series {
    /// True if both have the same study, arms, load, proxy and machine.
    fn is_like(&self, other: &Self) -> bool {
        self.key() == other.key()
    }

    fn key(&self) -> [&String; 6] {
        [&self.name, &self.machine, &self.arm, &self.compared_with, &self.load, &self.proxy]
    }
}
