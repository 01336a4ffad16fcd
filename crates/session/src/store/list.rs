//! Lists runs. All queries use indexes, because a store may have hundreds of thousands of runs.

use std::collections::BTreeMap;
use std::time::SystemTime;

use hoptax_report::documents::KINDS;
use hoptax_result::{StoredRun, Verdict};
use rusqlite::types::Type;
use rusqlite::{
    Connection, Error, OptionalExtension, Params, Result as SqlResult, Row, ToSql, params_from_iter,
};

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

/// The latest runs of a store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latest {
    /// The runs, the latest first.
    pub runs: Vec<StoredRun>,
    /// Number of all runs of the store.
    pub count: u64,
}

/// The start of a period that lasts until now, from its start date or its length, RFC 3339 in UTC.
///
/// # Errors
/// When the text is neither a date nor a length.
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
    /// The runs that match the filter, the latest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn list(&self, filter: &Filter) -> Result<Vec<StoredRun>, StoreError> {
        self.at(list(self.connection(), filter))
    }

    /// At most `limit` of the latest runs. With `before`, only runs that follow this run in the order of [`Self::list`]; none if it does
    /// not exist.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn latest(&self, before: Option<i64>, limit: u32) -> Result<Latest, StoreError> {
        self.at(latest(self.connection(), before, limit))
    }

    /// The last run of the same study on the same machine that began before this run and has numbers, without its labels; none of a run of
    /// another kind.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn study_before(&self, run: i64) -> Result<Option<StoredRun>, StoreError> {
        let sql = study_before_query();
        let select = self.connection().prepare_cached(&sql);
        self.at(select.and_then(|mut select| select.query_row([run], stored_run).optional()))
    }

    /// One run.
    ///
    /// # Errors
    /// When it cannot be read, or does not exist.
    pub fn run(&self, id: i64) -> Result<StoredRun, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM runs WHERE id = ?1");
        let select = self.connection().prepare_cached(&sql);
        let found = self.at(select.and_then(|mut select| select.query_row([id], stored_run).optional()))?;
        let run =
            found.ok_or_else(|| StoreError::NoRun { path: self.path().to_owned(), run: id.to_string() })?;
        Ok(StoredRun { labels: self.all("SELECT label FROM labels WHERE run = ?1", [id])?, ..run })
    }
}

fn list(connection: &Connection, filter: &Filter) -> SqlResult<Vec<StoredRun>> {
    let (sql, values) = query(filter);
    let values: Vec<&dyn ToSql> = values.iter().map(|value| *value as &dyn ToSql).collect();
    selected(connection, &sql, values.as_slice())
}

fn latest(connection: &Connection, before: Option<i64>, limit: u32) -> SqlResult<Latest> {
    let values = before.into_iter().chain([limit.into()]);
    let runs = selected(connection, &latest_query(before.is_some()), params_from_iter(values))?;
    let count: i64 = connection.query_row("SELECT count(*) FROM runs", [], |row| row.get(0))?;
    Ok(Latest { runs, count: count as u64 })
}

/// The query of the latest runs. Its values are the run that precedes them in the list, if `is_before`, and the maximum number of runs.
pub(crate) fn latest_query(is_before: bool) -> String {
    let condition = " WHERE (started_at, id) < (SELECT started_at, id FROM runs WHERE id = ?)";
    let condition = if is_before { condition } else { "" };
    format!("SELECT {COLUMNS} FROM runs{condition} ORDER BY started_at DESC, id DESC LIMIT ?")
}

/// The query of the last run of a study before the run `?1`. A void result has no numbers, and a run without a verdict has no result.
pub(crate) fn study_before_query() -> String {
    format!(
        "SELECT {COLUMNS} FROM runs
        WHERE (name, kind, machine) = (SELECT name, kind, machine FROM runs WHERE id = ?1)
            AND (started_at, id) < (SELECT started_at, id FROM runs WHERE id = ?1)
            AND kind = 'study' AND verdict <> 'void'
        ORDER BY started_at DESC, id DESC LIMIT 1"
    )
}

/// The runs that a query selects, with their labels.
fn selected(connection: &Connection, sql: &str, values: impl Params) -> SqlResult<Vec<StoredRun>> {
    let mut select = connection.prepare_cached(sql)?;
    let runs = select.query_map(values, stored_run)?.collect::<SqlResult<Vec<StoredRun>>>()?;
    // Few runs have labels, so one query for all labels is faster than one per run.
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
    use hoptax_result::sample;

    use super::*;

    #[test]
    fn pages_of_the_latest_runs_make_up_the_list() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("store.sqlite")).unwrap();
        // The numbers of runs do not follow their starts, and two runs began at once.
        for (name, second) in [("a", 3), ("b", 1), ("c", 5), ("d", 3), ("e", 2)] {
            let study = sample::study(name, &format!("2026-11-01T00:00:0{second}Z"), 1.0);
            store.put_result(&serde_json::to_string(&study).unwrap(), "a test").unwrap();
        }
        store.label(2, "nightly", false).unwrap();
        let all = store.list(&Filter::default()).unwrap();
        assert_eq!(all.iter().map(|run| run.run).collect::<Vec<i64>>(), [3, 4, 1, 5, 2]);
        let (mut paged, mut before) = (Vec::new(), None);
        loop {
            let latest = store.latest(before, 2).unwrap();
            assert_eq!(latest.count, 5);
            let Some(last) = latest.runs.last() else { break };
            assert!(latest.runs.len() <= 2);
            before = Some(last.run);
            paged.extend(latest.runs);
        }
        assert_eq!(paged, all);
        assert!(store.latest(Some(99), 2).unwrap().runs.is_empty());
    }

    #[test]
    fn the_study_before_a_run_has_its_name_and_its_machine_and_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("store.sqlite")).unwrap();
        let mut put = |name: &str, day: u32, verdict: Verdict, cpus: u32| {
            let mut study = sample::study(name, &format!("2026-11-0{day}T00:00:00Z"), 1.0);
            (study.verdict, study.environment.cpus) = (verdict, cpus);
            store.put_result(&serde_json::to_string(&study).unwrap(), "a test").unwrap()
        };
        let latest = put("a", 9, Verdict::Sound, 2);
        let first = put("a", 1, Verdict::Caution, 2);
        put("a", 2, Verdict::Void, 2);
        put("a", 3, Verdict::Sound, 4);
        let other = put("b", 4, Verdict::Sound, 2);
        let load = store.put_result(&serde_json::to_string(&sample::load()).unwrap(), "a test").unwrap();
        let before = |run: i64| store.study_before(run).unwrap().map(|run| run.run);
        assert_eq!(before(latest), Some(first));
        assert_eq!([first, other, load, 99].map(before), [None; 4]);
    }

    #[test]
    fn a_start_is_a_date_or_a_time_before_now() {
        assert_eq!(since("2026-11-01"), Ok("2026-11-01T00:00:00Z".to_owned()));
        assert_eq!(since("2026-11-01 08:30:00"), Ok("2026-11-01T08:30:00Z".to_owned()));
        assert!(since("1h").unwrap() < since("1min").unwrap());
        assert!(since("yesterday").unwrap_err().contains("`30d`"));
        assert!(since("10000000y").is_err() && since("").is_err());
    }
}
