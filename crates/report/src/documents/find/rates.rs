//! The table of the rates that a search tried.

use std::collections::BTreeMap;

use hoptax_result::{FindResult, FindTrial, TriedObjective};

use super::{account_of, value};
use crate::account;
use crate::numbers::{grouped, rate};
use crate::table::{Cell, Column, Row, Table};

/// Number of rates on the first screen, those nearest to the found rate.
pub(super) const NEAREST: usize = 16;
/// The meaning of the column of the trials that count.
pub(super) const COUNTED: &str =
    "counted: trials that say something about the server; the generator or its machine spoilt others";

/// The rows nearest to the found rate.
pub(super) fn nearest(all: &Table, result: &FindResult) -> Table {
    let mut table = all.clone();
    let edge = result.goals.iter().filter_map(|goal| goal.rate.or(goal.upper_rate)).min_by(f64::total_cmp);
    let edge = edge.unwrap_or(result.min_rate).max(f64::MIN_POSITIVE);
    let distances: Vec<f64> =
        by_rate(result).keys().map(|bits| (f64::from_bits(*bits) / edge).ln().abs()).collect();
    let mut sorted = distances.clone();
    sorted.sort_by(f64::total_cmp);
    if let Some(furthest) = sorted.get(NEAREST) {
        let mut distances = distances.iter();
        table.rows.retain(|_| distances.next().is_some_and(|distance| distance < furthest));
        let (tried, shown) = (all.rows.len(), table.rows.len());
        table.title = format!("{tried} rates tried, of which these {shown} are nearest to the result");
    }
    table
}

/// The trials of each rate. Rates are positive, so their bit patterns sort like the rates.
fn by_rate(result: &FindResult) -> BTreeMap<u64, Vec<&FindTrial>> {
    let mut by_rate: BTreeMap<u64, Vec<&FindTrial>> = BTreeMap::new();
    for trial in &result.trials {
        by_rate.entry(trial.rate.to_bits()).or_default().push(trial);
    }
    by_rate
}

/// The tried rates, ascending, with the medians of the limited values.
pub(super) fn rates(result: &FindResult) -> Table {
    let objectives: Vec<&str> = result
        .trials
        .first()
        .map(|trial| trial.objectives.iter().map(|one| one.objective.as_str()).collect())
        .unwrap_or_default();
    let mut columns = vec![Column::text("holds", 0), Column::text("late or lost", 0)];
    columns.extend(objectives.iter().map(|one| Column::new(*one, 1)));
    columns.push(Column::new("answered/s", 3));
    let is_accounted = account_of(result).is_some();
    columns.extend(
        account::NUMBERS.iter().filter(|_| is_accounted).map(|number| Column::new(number.heading, 2)),
    );
    columns.push(Column::text("counted", 4));
    let row = |trials: &Vec<&FindTrial>| {
        let usable: Vec<&FindTrial> =
            trials.iter().copied().filter(|trial| trial.generator_limits.is_empty()).collect();
        let planned: u64 = usable.iter().map(|trial| trial.planned).sum();
        let lost: f64 = usable.iter().map(|trial| most_lost(trial) * trial.planned as f64).sum();
        let lost = Some(100.0 * lost / planned as f64).filter(|_| planned > 0);
        let mut cells = vec![Cell::words(holds(&usable)), Cell::words(value(lost, "%"))];
        for number in 0..objectives.len() {
            let tried = usable.iter().filter_map(|trial| trial.objectives.get(number));
            cells.push(Cell::words(limited(&tried.collect::<Vec<_>>())));
        }
        let answered = median(usable.iter().map(|trial| Some(trial.answered_rate)));
        cells.push(answered.map(rate).into());
        for number in account::NUMBERS.iter().filter(|_| is_accounted) {
            let values = usable.iter().map(|trial| (number.value)(trial.account.as_ref()?));
            cells.push(Cell::point(median(values), number.unit));
        }
        cells.push(Cell::words(format!("{} of {}", usable.len(), trials.len())));
        // Not rounded to a whole number: the answer and the next command have it rounded down.
        let tried = trials.first().map_or(0.0, |trial| trial.rate);
        Row::new(grouped(tried, usize::from(tried.fract() > 0.0)), cells)
    };
    let title =
        "rates tried: requests that were late or lost, and the median over trials of each objective's value";
    Table::new(title, "rate/s", columns, by_rate(result).values().map(row))
}

/// States if the objectives held in the trials that count.
fn holds(counted: &[&FindTrial]) -> String {
    let held = counted.iter().filter(|trial| trial.objectives.iter().all(|one| one.holds)).count();
    match (held, counted.len()) {
        (_, 0) => "not known".to_owned(),
        (0, _) => "no".to_owned(),
        (held, all) if held == all => "yes".to_owned(),
        (held, all) => format!("{held} of {all}"),
    }
}

/// The median of the values of an objective in the trials that count. Where requests without a response leave one unknown, the objective
/// limits it if it held in all of them.
fn limited(tried: &[&TriedObjective]) -> String {
    let Some(first) = tried.first() else { return value(None, "") };
    let limit = first.limit.filter(|_| tried.iter().all(|one| one.holds));
    match (median(tried.iter().map(|one| one.value)), limit) {
        (None, Some(limit)) => format!("≤ {}", value(Some(limit), &first.unit)),
        (known, _) => value(known, &first.unit),
    }
}

/// The share of late or lost requests of a trial, for its strictest objective.
fn most_lost(trial: &FindTrial) -> f64 {
    trial.objectives.iter().map(|one| one.loss_ratio).fold(0.0, f64::max)
}

/// The median; None if any value is missing, because it may be the largest.
fn median(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect::<Option<_>>()?;
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
