//! The table of the breakdown of CPU time by arm.

use hoptax_result::{ArmKind, ArmResult, Interval, Parts, StudyResult};

use crate::quantity::Quantity;
use crate::rows::mark;
use crate::table::{Cell, Table};

/// A column: its heading, the unit of its numbers, and its part.
type Column = (&'static str, &'static str, fn(&Parts) -> Option<Interval>);

const COLUMNS: [Column; 6] = [
    ("user us", "us", |parts| parts.user_us),
    ("kernel us", "us", |parts| parts.kernel_us),
    ("reads", "calls", |parts| parts.reads),
    ("writes", "calls", |parts| parts.writes),
    ("wake-ups", "wake-ups", |parts| parts.voluntary_switches),
    ("page faults", "faults", |parts| parts.minor_faults),
];

/// Activity of the proxies per request: the levels of the baselines, and the differences of the other arms, under the load from which costs
/// in CPU time are taken. None if the kernel reports nothing.
pub(crate) fn table(result: &StudyResult) -> Option<Table> {
    let load = &result.plan.cpu_load()?.name;
    let of = |arm: &ArmResult| -> Option<(String, Vec<Cell>)> {
        let under = arm.under(&result.plan.cpu_load_of(&arm.id)?.name)?;
        let (parts, make): (Parts, fn(&Interval, &'static str) -> Quantity) = match arm.kind {
            ArmKind::Baseline | ArmKind::Position => (under.parts?, Quantity::level),
            ArmKind::Direct | ArmKind::Same | ArmKind::Function | ArmKind::External => {
                (under.added_parts?, Quantity::judged_alone)
            }
        };
        let cell = |&(_, unit, part): &Column| Cell::from(part(&parts).map(|number| make(&number, unit)));
        let name = format!("{}{}", arm.id, mark(result, arm));
        Some((name, COLUMNS.iter().map(cell).collect()))
    };
    let rows: Vec<(String, Vec<Cell>)> = result.arms.iter().filter_map(of).collect();
    let title = format!(
        "work of the proxies per request under {load}: user and kernel time by ticks, the others by exact counts"
    );
    let headings = std::iter::once("arm").chain(COLUMNS.iter().map(|column| column.0));
    (!rows.is_empty()).then(|| Table::of_cells(title, headings, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn about(estimate: f64) -> Interval {
        Interval::around(estimate, 0.5)
    }

    #[test]
    fn baselines_have_levels_and_other_arms_have_differences() {
        let mut result = fixture::loaded();
        assert!(table(&result).is_none(), "nothing was recorded");
        for arm in &mut result.arms {
            for load in &mut arm.loads {
                load.parts = Some(Parts { reads: Some(about(4.0)), ..Parts::default() });
                load.added_parts =
                    Some(Parts { reads: Some(about(2.0)), writes: Some(about(-0.2)), ..Parts::default() });
            }
        }
        let table = table(&result).unwrap();
        assert_eq!(table.texts_of("baseline")[..3], ["-", "-", "4.00 ±0.50"], "{table:#?}");
        assert_eq!(table.texts_of("lua")[..4], ["-", "-", "+2.00 ±0.50", "-0.20 ±0.50 ?"], "{table:#?}");
        assert!(table.meaning_of_mark().is_some());
    }
}
