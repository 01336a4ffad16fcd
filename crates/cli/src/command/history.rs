//! `hoptax runs history`: finds lasting changes of a number over all runs of the store.

use hoptax_report::documents;
use hoptax_result::{HistoryBody, HistoryChange, HistoryResult, HistorySeries};
use hoptax_session::store;
use hoptax_stats::{change_points, median};
use hoptax_store::{Series, Store};
use hoptax_text::nearest::hint;

use crate::arguments::HistoryArguments;
use crate::exit::{Code, Failure};
use crate::print;

/// Probability of a change that is found in a series without one. A store has many series.
const SIGNIFICANCE: f64 = 0.01;
/// The word that prints the names of all numbers.
const LIST: &str = "list";

/// Runs the command.
pub(crate) fn run(arguments: &HistoryArguments) -> Result<Code, Failure> {
    let path = super::runs::path(&arguments.store)?;
    let names = store::with(&path, |store| store.numbers(), &print::say)?;
    if arguments.number == LIST {
        print::result(&names.join("\n"))?;
        return Ok(Code::Success);
    }
    if !names.contains(&arguments.number) {
        let hint = hint(&arguments.number, names.iter().map(String::as_str));
        return Err(Failure::bad_input(format!(
            "no run in `{}` states the number `{}`{hint}; `hoptax runs history list` lists the numbers",
            path.display(),
            arguments.number
        )));
    }
    let all = store::with(&path, |store: &mut Store| store.series(&arguments.number), &print::say)?;
    let chosen = chosen(all, arguments);
    if chosen.is_empty() {
        return Err(Failure::bad_input(format!(
            "no run states `{}` of this study, arm and load; without --study, --arm and --load, all are printed",
            arguments.number
        )));
    }
    let mut series: Vec<HistorySeries> = chosen.into_iter().map(with_changes).collect();
    series.sort_by_key(|series| series.changes.is_empty());
    let result = HistoryResult::new(
        (),
        HistoryBody { number: arguments.number.clone(), significance: SIGNIFICANCE, series },
    );
    print::document_or_json(arguments.json.file(), &result, || documents::history(&result))?;
    Ok(Code::Success)
}

/// The series that the arguments name. A number that comes from a usual load is not repeated for that load.
fn chosen(all: Vec<Series>, arguments: &HistoryArguments) -> Vec<Series> {
    let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|wanted| wanted == found);
    let has_usual = all.iter().any(|series| series.load.is_empty());
    all.into_iter()
        .filter(|series| is(&arguments.study, &series.name) && is(&arguments.arm, &series.arm))
        .filter(|series| match &arguments.load {
            Some(load) => *load == series.load,
            None => series.load.is_empty() || !has_usual,
        })
        .collect()
}

fn with_changes(series: Series) -> HistorySeries {
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
    let stated = |text: String| Some(text).filter(|text| !text.is_empty());
    HistorySeries {
        name: series.name,
        machine: series.machine,
        arm: stated(series.arm),
        compared_with: stated(series.compared_with),
        load: stated(series.load),
        proxy: stated(series.proxy),
        points: series.points,
        changes,
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::HistoryPoint;

    use crate::arguments::StoreChoice;
    use crate::arguments::shared::JsonArguments;

    use super::*;

    fn series(load: &str, levels: &[(f64, usize)]) -> Series {
        let each =
            levels.iter().flat_map(|(level, count)| (0..*count).map(move |n| level + 0.1 * (n % 3) as f64));
        let point = |(run, estimate)| HistoryPoint {
            run,
            started_at: String::new(),
            proxy_version: None,
            estimate,
            low: None,
            high: None,
        };
        Series {
            name: "quick".to_owned(),
            machine: String::new(),
            arm: "lua".to_owned(),
            compared_with: String::new(),
            load: load.to_owned(),
            proxy: String::new(),
            points: (1..).zip(each).map(point).collect(),
        }
    }

    #[test]
    fn levels_are_medians_between_changes() {
        let found = with_changes(series("", &[(10.0, 12), (20.0, 12), (15.0, 12)]));
        let levels: Vec<(i64, f64, f64)> =
            found.changes.iter().map(|change| (change.run, change.before, change.after)).collect();
        assert_eq!(levels, [(13, 10.1, 20.1), (25, 20.1, 15.1)]);
        assert_eq!((found.compared_with, found.load), (None, None));
    }

    #[test]
    fn the_usual_load_is_chosen_unless_another_is_named() {
        let of = |load: Option<&str>, all: &[&str]| {
            let arguments = HistoryArguments {
                number: String::new(),
                study: Some("quick".to_owned()),
                arm: None,
                load: load.map(str::to_owned),
                json: JsonArguments::default(),
                store: StoreChoice { file: None },
            };
            let all = all.iter().map(|load| series(load, &[(1.0, 1)])).collect();
            chosen(all, &arguments).into_iter().map(|series| series.load).collect::<Vec<_>>()
        };
        assert_eq!(of(None, &["", "a"]), [""]);
        assert_eq!(of(Some("a"), &["", "a"]), ["a"]);
        assert_eq!(of(None, &["a", "b"]), ["a", "b"]);
    }
}
