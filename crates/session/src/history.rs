//! Finds lasting changes of a number over all runs of the store.

use std::collections::HashSet;
use std::path::Path;

use hoptax_result::{HistoryBody, HistoryChange, HistoryResult, HistorySeries};
use hoptax_stats::{change_points, median};
use hoptax_text::command_line::{path_option, path_word};
use hoptax_text::nearest::hint;

use crate::failure::Failure;
use crate::store;
use crate::update::{Say, Update};

/// Probability of finding a change in a series that has none. It is low because a store has many series.
const SIGNIFICANCE: f64 = 0.01;

/// The number whose history is read, and which of its series to include.
#[derive(Clone, Copy, Debug)]
pub struct HistoryFilter<'a> {
    /// Its name.
    pub number: &'a str,
    /// The study, or the URL of a load; none for all of them.
    pub study: Option<&'a str>,
    /// The arm; none for all.
    pub arm: Option<&'a str>,
    /// The load; none for the default load of the number.
    pub load: Option<&'a str>,
}

/// The names of all numbers of the store in this file; without one, of the usual store. If there are none, a note says how to get some.
///
/// # Errors
/// When the store cannot be read.
pub fn numbers(file: Option<&Path>, say: Say<'_>) -> Result<Vec<String>, Failure> {
    let names = names(&store::path(file)?, say)?;
    if names.is_empty() {
        let of_study = file.map_or_else(String::new, |file| format!("={}", path_word(file)));
        say(Update::Note(&format!(
            "no run of the store has a number: `hoptax study quick --store{of_study}` measures a study and stores it, and \
             `hoptax runs import DIR{}` stores the run folders in a folder",
            path_option("--store", file)
        )));
    }
    Ok(names)
}

fn names(store: &Path, say: Say<'_>) -> Result<Vec<String>, Failure> {
    store::with_existing(store, |store| store.numbers(), say)
}

/// The history of a number in the store in this file; without one, in the usual store.
///
/// # Errors
/// When no run has this number, and when the store cannot be read.
pub fn history(
    file: Option<&Path>,
    filter: &HistoryFilter<'_>,
    say: Say<'_>,
) -> Result<HistoryResult, Failure> {
    let path = store::path(file)?;
    let names = names(&path, say)?;
    let number = filter.number;
    if !names.iter().any(|name| name == number) {
        let hint = hint(number, names.iter().map(String::as_str));
        return Err(Failure::bad_input(format!(
            "no run in `{}` has a number with the name `{number}`{hint}; `hoptax runs history list` lists the names",
            path.display()
        )));
    }
    let all = store::with_existing(&path, |store| store.series(number), say)?;
    let chosen = chosen(all, filter);
    if chosen.is_empty() {
        return Err(Failure::bad_input(format!(
            "no run has `{number}` for this study, arm and load; leave out --study, --arm and --load to print all"
        )));
    }
    let mut series: Vec<HistorySeries> = chosen.into_iter().map(with_changes).collect();
    series.sort_by_key(|series| series.changes.is_empty());
    Ok(HistoryResult::new((), HistoryBody { number: number.to_owned(), significance: SIGNIFICANCE, series }))
}

/// The series that pass the filter. If an arm has a series of its default load, the series of its other loads are left out unless the
/// filter names a load.
fn chosen(all: Vec<HistorySeries>, filter: &HistoryFilter<'_>) -> Vec<HistorySeries> {
    let fits = |wanted: Option<&str>, found: Option<&str>| wanted.is_none() || wanted == found;
    let arm = |series: &HistorySeries| Some((series.name.clone(), series.arm.clone()?));
    let usual: HashSet<(String, String)> =
        all.iter().filter(|series| series.load.is_none()).filter_map(arm).collect();
    let has_usual = |series: &HistorySeries| arm(series).is_some_and(|arm| usual.contains(&arm));
    all.into_iter()
        .filter(|series| fits(filter.study, Some(&series.name)) && fits(filter.arm, series.arm.as_deref()))
        .filter(|series| match filter.load {
            Some(load) => series.load.as_deref() == Some(load),
            None => series.load.is_none() || !has_usual(series),
        })
        .collect()
}

fn with_changes(series: HistorySeries) -> HistorySeries {
    let values: Vec<f64> = series.points.iter().map(|point| point.estimate).collect();
    let found = change_points(&values, SIGNIFICANCE);
    let starts: Vec<usize> = found.iter().map(|change| change.at).collect();
    let level = |from: usize, to: usize| median(values.get(from..to).unwrap_or_default()).unwrap_or_default();
    let changes = found.iter().enumerate().map(|(number, change)| {
        let earlier =
            number.checked_sub(1).and_then(|number| starts.get(number)).copied().unwrap_or_default();
        let later = starts.get(number + 1).copied().unwrap_or(values.len());
        HistoryChange {
            run: series.points.get(change.at).map_or(0, |point| point.run),
            point: change.at,
            before: level(earlier, change.at),
            after: level(change.at, later),
            chance: change.chance,
        }
    });
    let changes = changes.collect();
    HistorySeries { changes, ..series }
}

#[cfg(test)]
mod tests {
    use hoptax_result::HistoryPoint;

    use super::*;
    use crate::update::tests::noted;

    fn series(load: Option<&str>, levels: &[(f64, usize)]) -> HistorySeries {
        let each =
            levels.iter().flat_map(|(level, count)| (0..*count).map(move |n| level + 0.1 * (n % 3) as f64));
        let point = |(run, estimate)| HistoryPoint { run, estimate, ..HistoryPoint::default() };
        HistorySeries {
            name: "quick".to_owned(),
            arm: Some("lua".to_owned()),
            load: load.map(str::to_owned),
            points: (1..).zip(each).map(point).collect(),
            ..HistorySeries::default()
        }
    }

    #[test]
    fn a_store_without_numbers_says_how_to_get_some_into_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("my store");
        store::Store::open(&store).unwrap();
        let (names, said) = noted(|say| numbers(Some(&store), say));
        assert!(names.unwrap().is_empty());
        let shown = store.display();
        let (of_study, of_import) = (format!("--store='{shown}'`"), format!("DIR --store '{shown}'`"));
        assert!(said.len() == 1 && said[0].contains(&of_study) && said[0].contains(&of_import), "{said:?}");
    }

    #[test]
    fn levels_are_medians_between_changes() {
        let found = with_changes(series(None, &[(10.0, 12), (20.0, 12), (15.0, 12)]));
        let levels: Vec<(i64, f64, f64)> =
            found.changes.iter().map(|change| (change.run, change.before, change.after)).collect();
        assert_eq!(levels, [(13, 10.1, 20.1), (25, 20.1, 15.1)]);
    }

    #[test]
    fn the_usual_load_is_chosen_unless_another_is_named() {
        let of = |load: Option<&str>, all: &[Option<&str>]| {
            let filter = HistoryFilter { number: "", study: Some("quick"), arm: None, load };
            let all = all.iter().map(|load| series(*load, &[(1.0, 1)])).collect();
            let chosen = chosen(all, &filter).into_iter().map(|series| series.load.unwrap_or_default());
            chosen.collect::<Vec<_>>()
        };
        assert_eq!(of(None, &[None, Some("a")]), [""]);
        assert_eq!(of(Some("a"), &[None, Some("a")]), ["a"]);
        assert_eq!(of(None, &[Some("a"), Some("b")]), ["a", "b"]);
    }

    #[test]
    fn a_usual_load_of_an_arm_hides_neither_loads_on_a_server_nor_those_of_other_arms() {
        let of = |name: &str, arm: Option<&str>, load: Option<&str>| HistorySeries {
            name: name.to_owned(),
            arm: arm.map(str::to_owned),
            ..series(load, &[(1.0, 1)])
        };
        let all = vec![
            of("quick", Some("lua"), None),
            of("quick", Some("lua"), Some("full")),
            of("quick", Some("jwt"), Some("full")),
            of("http://127.0.0.1:1/", None, None),
            of("http://127.0.0.1:1/", None, Some("closed loop")),
        ];
        let filter = HistoryFilter { number: "", study: None, arm: None, load: None };
        let kept = chosen(all.clone(), &filter);
        let without: Vec<&HistorySeries> = all.iter().filter(|series| !kept.contains(series)).collect();
        assert_eq!(without, [&all[1]]);
    }
}
