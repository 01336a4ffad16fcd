//! The table of the breakdown of CPU time by arm.

use hoptax_result::{ArmKind, ArmResult, Interval, Parts, StudyResult};

use crate::numbers::{difference, level, or_dash};
use crate::rows::mark;
use crate::table::Table;

/// A column: its heading, and its part.
type Column = (&'static str, fn(&Parts) -> Option<Interval>);

const COLUMNS: [Column; 6] = [
    ("user us", |parts| parts.user_us),
    ("kernel us", |parts| parts.kernel_us),
    ("reads", |parts| parts.reads),
    ("writes", |parts| parts.writes),
    ("wake-ups", |parts| parts.voluntary_switches),
    ("page faults", |parts| parts.minor_faults),
];

/// Activity of the proxies per request: the levels of the baselines, and the differences of the other arms, under the load from which costs
/// in CPU time are taken. None if the kernel reports nothing.
pub(crate) fn table(result: &StudyResult) -> Option<Table> {
    let load = &result.plan.cpu_load()?.name;
    let of = |arm: &ArmResult| -> Option<(String, Vec<String>)> {
        let under = arm.under(&result.plan.cpu_load_of(&arm.id)?.name)?;
        let (parts, format): (Parts, fn(&Interval) -> String) = match arm.kind {
            ArmKind::Baseline | ArmKind::Position => (under.parts?, level),
            ArmKind::Direct | ArmKind::Same | ArmKind::Function | ArmKind::External => {
                (under.added_parts?, difference)
            }
        };
        let cell = |column: &Column| or_dash(column.1(&parts).as_ref().map(format));
        let name = format!("{}{}", arm.id, mark(result, arm));
        Some((name, COLUMNS.iter().map(cell).collect()))
    };
    let rows: Vec<(String, Vec<String>)> = result.arms.iter().filter_map(of).collect();
    let title = format!(
        "work of the proxies per request under {load}: user and kernel time by ticks, the others by exact counts"
    );
    let headings = std::iter::once("arm").chain(COLUMNS.iter().map(|column| column.0));
    (!rows.is_empty()).then(|| Table::of_words(title, headings, rows))
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
                load.added_parts = Some(Parts { reads: Some(about(2.0)), ..Parts::default() });
            }
        }
        let table = table(&result).unwrap();
        assert_eq!(table.texts_of("baseline")[..3], ["-", "-", "4.00 ±0.50"], "{table:#?}");
        assert_eq!(table.texts_of("lua")[..3], ["-", "-", "+2.00 ±0.50"], "{table:#?}");
    }
}
