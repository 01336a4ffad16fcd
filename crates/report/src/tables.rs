//! The tables of a study for further computation: typed columns, which [`csv`](crate::csv) and [`parquet`](crate::parquet) write.

use std::collections::BTreeSet;

use hoptax_result::{Course, CourseInterval, Disturbance, Sample, StudyResult};

/// A table: columns of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub(crate) columns: Vec<Column>,
}

/// A column, with the unit of its values in its name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) values: Values,
}

/// The values of a column; none where nothing was measured or the column does not apply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    /// Names given by users, which may contain commas.
    Ids(Vec<Option<String>>),
    /// Words of hoptax, which contain no commas.
    Words(Vec<Option<String>>),
    /// Counts and ordinal numbers.
    Integers(Vec<Option<i64>>),
    /// Quantities. `decimals` is the number of decimals in text; none for the shortest text that parses as the same number.
    Doubles { values: Vec<Option<f64>>, decimals: Option<usize> },
}

impl Table {
    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::Ids(values) | Self::Words(values) => values.len(),
            Self::Integers(values) => values.len(),
            Self::Doubles { values, .. } => values.len(),
        }
    }
}

pub(crate) fn ids<'a>(name: &str, values: impl Iterator<Item = Option<&'a str>>) -> Column {
    let values = values.map(|value| value.map(str::to_owned)).collect();
    Column { name: name.to_owned(), values: Values::Ids(values) }
}

fn words(name: &str, values: impl Iterator<Item = Option<String>>) -> Column {
    Column { name: name.to_owned(), values: Values::Words(values.collect()) }
}

/// Values above the range of `i64`, which no measurement reaches, are clamped to its end.
pub(crate) fn integers(name: &str, values: impl Iterator<Item = Option<u64>>) -> Column {
    let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    Column {
        name: name.to_owned(),
        values: Values::Integers(values.map(|value| value.map(signed)).collect()),
    }
}

fn doubles(name: &str, values: impl Iterator<Item = Option<f64>>) -> Column {
    Column { name: name.to_owned(), values: Values::Doubles { values: values.collect(), decimals: None } }
}

pub(crate) fn rounded(name: &str, decimals: usize, values: impl Iterator<Item = f64>) -> Column {
    let values = values.map(Some).collect();
    Column { name: name.to_owned(), values: Values::Doubles { values, decimals: Some(decimals) } }
}

/// A row for each number of each arm, with its interval: [`StudyResult::named_numbers`]. The prefix `cost_` marks a difference from the
/// reference arm. In a timeline, the suffix `_from_10_s` marks the phase that begins then; numbers of the whole slice have no suffix.
/// `load` is null for numbers that belong to no load or come from the default one. `proxy` names the proxy that the number describes, and
/// is null for all proxies together. `sign_supported` is true if a cost is still above or below zero when all costs of its measure are
/// judged together; it is null for numbers that are not costs.
pub fn numbers(result: &StudyResult) -> Table {
    let all = result.named_numbers();
    let columns = vec![
        ids("arm", all.iter().map(|number| Some(number.arm))),
        ids("compared_with", all.iter().map(|number| number.compared_with)),
        ids("load", all.iter().map(|number| number.load)),
        ids("proxy", all.iter().map(|number| number.proxy)),
        words("number", all.iter().map(|number| Some(number.name.clone()))),
        doubles("estimate", all.iter().map(|number| Some(number.interval.estimate))),
        doubles("low", all.iter().map(|number| Some(number.interval.low))),
        doubles("high", all.iter().map(|number| Some(number.interval.high))),
        words("sign_supported", all.iter().map(|number| number.has_certain_sign.map(yes_or_no))),
    ];
    Table { columns }
}

fn yes_or_no(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.to_owned()
}

/// A slice of a sample, by its number.
struct Slice<'a> {
    round: u32,
    sample: &'a Sample,
    number: usize,
}

impl Slice<'_> {
    fn began_s(&self) -> f64 {
        self.sample.began_s.get(self.number).copied().unwrap_or_default()
    }

    fn whole(&self, values: &[u32]) -> Option<u64> {
        values.get(self.number).copied().map(u64::from)
    }

    fn value(&self, values: &[Option<f64>]) -> Option<f64> {
        values.get(self.number).copied().flatten()
    }

    fn set_aside(&self) -> Option<String> {
        let disturbances = self.sample.set_aside.get(self.number).filter(|all| !all.is_empty())?;
        let words: Vec<&str> = disturbances.iter().copied().map(Disturbance::as_str).collect();
        Some(words.join("+"))
    }
}

/// A row for each slice of the complete rounds, in chronological order; none if there are none. The columns of every slice are followed by
/// one for each measure of the study, with its unit in its name. `set_aside` is null for a slice that counts; otherwise it lists the
/// slice's disturbances, joined by `+`. `slowdown` is the factor by which the machine was slower than usual; costs in CPU time are
/// differences of values divided by it. Values that were not measured are null.
pub fn slices(result: &StudyResult) -> Table {
    let mut rows: Vec<Slice> = Vec::new();
    for round in &result.rounds {
        let slices = round.samples.iter().flat_map(|sample| {
            (0..sample.began_s.len()).map(move |number| Slice { round: round.round, sample, number })
        });
        let mut slices: Vec<Slice> = slices.collect();
        slices.sort_by(|a, b| a.began_s().total_cmp(&b.began_s()));
        rows.extend(slices);
    }
    let samples = result.rounds.iter().flat_map(|round| &round.samples);
    let measures: BTreeSet<&String> = samples.flat_map(|sample| sample.values.keys()).collect();
    let measure = |name: &String| {
        let value = |row: &Slice| row.value(row.sample.values.get(name)?);
        doubles(name, rows.iter().map(value))
    };
    let mut columns = vec![
        integers("round", rows.iter().map(|row| Some(u64::from(row.round)))),
        ids("load", rows.iter().map(|row| Some(row.sample.load.as_str()))),
        integers("block", rows.iter().map(|row| row.whole(&row.sample.block))),
        ids("arm", rows.iter().map(|row| Some(row.sample.arm.as_str()))),
        integers("copy", rows.iter().map(|row| row.whole(&row.sample.copy))),
        rounded("began_s", 6, rows.iter().map(Slice::began_s)),
        words("set_aside", rows.iter().map(Slice::set_aside)),
        doubles("slowdown", rows.iter().map(|row| row.value(&row.sample.slowdown))),
    ];
    columns.extend(measures.into_iter().map(measure));
    Table { columns }
}

/// A row for each interval of each slice of a timeline, in chronological order. `until_s` is the end of the interval relative to the start
/// of its slice. Times are null if nothing was answered.
pub fn timeline(result: &StudyResult) -> Table {
    let courses =
        result.rounds.iter().flat_map(|round| round.courses.iter().map(|course| (round.round, course)));
    let rows: Vec<(u32, &Course, &CourseInterval)> = courses
        .flat_map(|(round, course)| course.intervals.iter().map(move |interval| (round, course, interval)))
        .collect();
    let count = |name: &str, of: fn(&CourseInterval) -> u64| {
        integers(name, rows.iter().map(|(_, _, interval)| Some(of(interval))))
    };
    let time = |name: &str, of: fn(&CourseInterval) -> Option<f64>| {
        doubles(name, rows.iter().map(|(_, _, interval)| of(interval)))
    };
    let columns = vec![
        integers("round", rows.iter().map(|(round, ..)| Some(u64::from(*round)))),
        ids("load", rows.iter().map(|(_, course, _)| Some(course.load.as_str()))),
        ids("arm", rows.iter().map(|(_, course, _)| Some(course.arm.as_str()))),
        time("until_s", |interval| Some(interval.to_s)),
        count("sent", |interval| interval.sent),
        count("answered", |interval| interval.answered),
        count("late", |interval| interval.late),
        count("failed", CourseInterval::failed),
        count("in_flight", |interval| interval.in_flight),
        time("response_p50_us", |interval| interval.response_p50_us),
        time("response_p99_us", |interval| interval.response_p99_us),
        time("response_max_us", |interval| interval.response_max_us),
    ];
    Table { columns }
}
