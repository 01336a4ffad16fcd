//! Reads a number over many runs from its rows, without parsing results.

use hoptax_result::{HistoryPoint, HistorySeries};
use rusqlite::{Result as SqlResult, Row, params};

use crate::store::{Store, StoreError};

/// Selects all series of the number `?1`, each in chronological order. If `?2` is true, the number is based on quiet slices, and runs with
/// different limits of quiet slices belong to different series.
pub(crate) const QUERY: &str = "
    SELECT runs.name, machine, arm, compared_with, load, proxy, run, started_at, proxy_version, estimate, low, high,
        iif(?2, quiet_wait_share, NULL) AS quiet
    FROM numbers JOIN runs ON runs.id = run
    WHERE number = ?1
    ORDER BY runs.name, machine, arm, compared_with, load, proxy, quiet, started_at, run";

/// A substring of the names of all numbers that are based on quiet slices.
const QUIET: &str = "quiet_p99";

impl Store {
    /// All series of the number with this name, before changes are detected.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn series(&self, number: &str) -> Result<Vec<HistorySeries>, StoreError> {
        let read = || -> SqlResult<Vec<HistorySeries>> {
            let mut all: Vec<HistorySeries> = Vec::new();
            let mut select = self.connection().prepare_cached(QUERY)?;
            let mut rows = select.query(params![number, number.contains(QUIET)])?;
            while let Some(row) = rows.next()? {
                let series = HistorySeries {
                    name: row.get(0)?,
                    machine: row.get(1)?,
                    arm: stated(row, 2)?,
                    compared_with: stated(row, 3)?,
                    load: stated(row, 4)?,
                    proxy: stated(row, 5)?,
                    quiet_wait_share: row.get(12)?,
                    ..HistorySeries::default()
                };
                let point = HistoryPoint {
                    run: row.get(6)?,
                    started_at: row.get(7)?,
                    proxy_version: row.get(8)?,
                    estimate: row.get(9)?,
                    low: row.get(10)?,
                    high: row.get(11)?,
                };
                match all.last_mut().filter(|last| key(last) == key(&series)) {
                    Some(last) => last.points.push(point),
                    None => all.push(HistorySeries { points: vec![point], ..series }),
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
            // One index lookup per name, instead of a scan over all rows.
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

/// A text of a row; none if it is empty, because it does not apply.
fn stated(row: &Row<'_>, column: usize) -> SqlResult<Option<String>> {
    Ok(Some(row.get::<_, String>(column)?).filter(|text| !text.is_empty()))
}

/// The fields that all points of a series share.
fn key(series: &HistorySeries) -> ([&str; 2], [Option<&str>; 4], Option<u64>) {
    let HistorySeries { name, machine, arm, compared_with, load, proxy, quiet_wait_share, .. } = series;
    let stated = [arm, compared_with, load, proxy].map(|text| text.as_deref());
    ([name.as_str(), machine.as_str()], stated, quiet_wait_share.map(f64::to_bits))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use hoptax_result::{Interval, QuietRule, sample};

    use super::*;
    use crate::store::describe;

    /// A store of runs with these limits of quiet slices, which state a p99 and a quiet p99 of `lua`.
    fn store(folder: &Path, limits: &[Option<f64>]) -> Store {
        let mut store = Store::open(&folder.join("store.sqlite")).unwrap();
        for (day, limit) in (1..).zip(limits) {
            let mut result = sample::study("quick", &format!("2026-11-0{day}T00:00:00Z"), 5.0);
            result.plan.quiet_rule = limit.map(|max_wait_share| QuietRule { max_wait_share });
            let times = &mut result.arms[1].response_us;
            times.p99 = Some(Interval::around(900.0, 9.0));
            times.quiet_p99 = Some(Interval::around(300.0, 3.0));
            let text = serde_json::to_string(&result).unwrap();
            store.put(&describe::result(&text).unwrap(), "runs/a", &[]).unwrap();
        }
        store
    }

    #[test]
    fn runs_with_another_limit_of_quiet_slices_are_another_series_of_quiet_p99_alone() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path(), &[Some(0.01), Some(0.02), Some(0.01), None]);
        let series = |number: &str| {
            let all = store.series(number).unwrap();
            all.into_iter().map(|one| (one.quiet_wait_share, one.points.len())).collect::<Vec<_>>()
        };
        assert_eq!(series("response_quiet_p99_us"), [(None, 1), (Some(0.01), 2), (Some(0.02), 1)]);
        assert_eq!(series("response_p99_us"), [(None, 4)]);
    }

    #[test]
    fn loads_of_another_shape_on_one_url_are_another_series() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("store.sqlite")).unwrap();
        for (connections, rate) in [(16, 100.0), (32, 90.0), (16, 101.0)] {
            let mut load = sample::load();
            (load.plan.connections, load.rate.achieved) = (connections, Some(rate));
            let text = serde_json::to_string(&load).unwrap();
            store.put(&describe::result(&text).unwrap(), "load.json", &[]).unwrap();
        }
        let all = store.series("rate").unwrap();
        let found: Vec<usize> = all.iter().map(|one| one.points.len()).collect();
        assert_eq!(found, [2, 1], "{all:?}");
        assert!(all[1].load.as_deref().is_some_and(|shape| shape.contains("32 connections")), "{all:?}");
    }
}
