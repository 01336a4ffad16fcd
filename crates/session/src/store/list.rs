//! Lists runs, by indexes: a store may have hundreds of thousands.

use std::collections::BTreeMap;
use std::time::SystemTime;

use hoptax_report::documents::KINDS;
use hoptax_result::{StoredRun, Verdict};
use rusqlite::types::Type;
use rusqlite::{Connection, Error, Result as SqlResult, Row, ToSql};

use crate::store::{Store, StoreError};

/// Filter of listed runs. A run must meet all of its conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The name of the study, or the URL of the load.
    pub name: Option<String>,
    /// A label.
    pub label: Option<String>,
    /// The earliest start, RFC 3339 in UTC.
    pub since: Option<String>,
}

/// The start of a time that lasts until now, by its date or its length, RFC 3339 in UTC.
///
/// # Errors
/// When the text is neither.
pub fn since(text: &str) -> Result<String, String> {
    let form =
        || "write a date as `2026-11-01` or `2026-11-01T08:00:00`, in UTC, or a time as `30d`".to_owned();
    let text = text.trim();
    let is_date = |text: &str| humantime::parse_rfc3339_weak(text).ok();
    let start = is_date(text)
        .or_else(|| is_date(&format!("{text}T00:00:00")))
        .or_else(|| SystemTime::now().checked_sub(humantime::parse_duration(text).ok()?))
        .filter(|start| *start >= SystemTime::UNIX_EPOCH)
        .ok_or_else(form)?;
    Ok(humantime::format_rfc3339_seconds(start).to_string())
}

/// The columns of [`stored_run`].
pub(crate) const COLUMNS: &str =
    "id, kind, name, started_at, rounds, verdict, proxy_version, machine, source";

impl Store {
    /// The runs for which the filter holds, the latest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn list(&self, filter: &Filter) -> Result<Vec<StoredRun>, StoreError> {
        self.at(list(self.connection(), filter))
    }

    /// One run.
    ///
    /// # Errors
    /// When it cannot be read, or does not exist.
    pub fn run(&self, id: i64) -> Result<StoredRun, StoreError> {
        let read = || {
            let sql = format!("SELECT {COLUMNS} FROM runs WHERE id = ?1");
            let mut run = self.connection().prepare_cached(&sql)?.query_row([id], stored_run)?;
            let mut select = self.connection().prepare_cached("SELECT label FROM labels WHERE run = ?1")?;
            run.labels = select.query_map([id], |row| row.get(0))?.collect::<SqlResult<_>>()?;
            Ok(run)
        };
        match read() {
            Err(Error::QueryReturnedNoRows) => {
                Err(StoreError::NoRun { path: self.path().to_owned(), run: id.to_string() })
            }
            found => self.at(found),
        }
    }
}

fn list(connection: &Connection, filter: &Filter) -> SqlResult<Vec<StoredRun>> {
    let (sql, values) = query(filter);
    let values: Vec<&dyn ToSql> = values.iter().map(|value| *value as &dyn ToSql).collect();
    let mut select = connection.prepare_cached(&sql)?;
    let runs = select.query_map(values.as_slice(), stored_run)?.collect::<SqlResult<Vec<StoredRun>>>()?;
    // Few runs have labels: one query for all is faster than one for each run.
    let mut labels: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    let mut select = connection.prepare_cached("SELECT run, label FROM labels ORDER BY label")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        labels.entry(row.get(0)?).or_default().push(row.get(1)?);
    }
    let with_labels =
        runs.into_iter().map(|run| StoredRun { labels: labels.remove(&run.run).unwrap_or_default(), ..run });
    Ok(with_labels.collect())
}

/// The query of a filter, and its values.
pub(crate) fn query(filter: &Filter) -> (String, Vec<&String>) {
    let conditions = [
        ("name = ?", &filter.name),
        ("started_at >= ?", &filter.since),
        ("id IN (SELECT run FROM labels WHERE label = ?)", &filter.label),
    ];
    let stated: Vec<(&str, &String)> =
        conditions.into_iter().filter_map(|(condition, value)| Some((condition, value.as_ref()?))).collect();
    let condition = stated.iter().map(|(condition, _)| *condition).collect::<Vec<_>>().join(" AND ");
    let condition = if condition.is_empty() { condition } else { format!(" WHERE {condition}") };
    let sql = format!("SELECT {COLUMNS} FROM runs{condition} ORDER BY started_at DESC, id DESC");
    (sql, stated.into_iter().map(|(_, value)| value).collect())
}

pub(crate) fn stored_run(row: &Row<'_>) -> SqlResult<StoredRun> {
    let unknown = |column, word: &str| {
        Error::FromSqlConversionFailure(column, Type::Text, format!("unknown word `{word}`").into())
    };
    let kind: String = row.get(1)?;
    if !KINDS.iter().any(|known| known.name == kind) {
        return Err(unknown(1, &kind));
    }
    let verdict: Option<String> = row.get(5)?;
    Ok(StoredRun {
        run: row.get(0)?,
        kind,
        name: row.get(2)?,
        started_at: row.get(3)?,
        rounds: row.get(4)?,
        verdict: verdict
            .map(|word| {
                let known = [Verdict::Sound, Verdict::Caution, Verdict::Void];
                known.into_iter().find(|known| known.as_str() == word).ok_or_else(|| unknown(5, &word))
            })
            .transpose()?,
        proxy_version: row.get(6)?,
        machine: row.get(7)?,
        source: row.get(8)?,
        labels: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::since;

    #[test]
    fn a_start_is_a_date_or_a_time_before_now() {
        assert_eq!(since("2026-11-01"), Ok("2026-11-01T00:00:00Z".to_owned()));
        assert_eq!(since("2026-11-01 08:30:00"), Ok("2026-11-01T08:30:00Z".to_owned()));
        assert!(since("1h").unwrap() < since("1min").unwrap());
        assert!(since("yesterday").unwrap_err().contains("`30d`"));
        assert!(since("10000000y").is_err() && since("").is_err());
    }
}
