//! Lists runs, by indexes: a store may have hundreds of thousands.

use std::collections::BTreeMap;

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
