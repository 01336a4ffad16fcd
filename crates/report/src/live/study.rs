//! The view of a running study: round, remaining time, and the costs so far.

use hoptax_result::StudyResult;
use ratatui_core::buffer::Buffer;
use ratatui_core::text::Line;

use super::{Room, Sheet, faint, progress_line};
use crate::Style;
use crate::documents::table_so_far;
use crate::numbers::counted;
use crate::render::terminal;
use crate::table::Table;

/// Maximum number of rows. The view must leave room for the text above it.
const ROWS: usize = 16;
/// Lines of a table besides its rows: its title, its heading, and the list of columns without room.
const AROUND_ROWS: usize = 3;
/// Minimum number of rows of a useful table, including the line for the rest.
const FEWEST_ROWS: usize = 2;

/// A running study.
#[derive(Clone, Debug)]
pub struct Study<'a> {
    /// The round, or another activity.
    pub now: String,
    /// The completed share, from 0 to 1: of the study, or of the round if the number of rounds is unknown.
    pub done_share: f64,
    /// The remaining time as text, if known.
    pub left: Option<String>,
    /// The costs so far; none before the first ones.
    pub so_far: Option<&'a CostsSoFar>,
}

/// The costs of a study after some of its rounds, as a table.
#[derive(Clone, Debug)]
pub struct CostsSoFar {
    rounds: u32,
    table: Table,
}

impl CostsSoFar {
    /// The costs in a judged result of the complete rounds; none if no cost is known.
    pub fn from_result(result: &StudyResult) -> Option<Self> {
        Some(Self { rounds: result.plan.rounds_completed, table: table_so_far(result)? })
    }
}

pub(super) fn view(study: &Study<'_>, room: Room) -> Buffer {
    let mut sheet = Sheet::new(room);
    sheet.line(&progress_line(&study.now, study.done_share, study.left.as_deref(), room.style.width));
    let rows = usize::from(sheet.left()).saturating_sub(AROUND_ROWS).min(ROWS);
    if let Some(so_far) = study.so_far.filter(|_| rows >= FEWEST_ROWS) {
        let style = Style { colour: false, ..room.style };
        let after = counted(so_far.rounds.into(), "round");
        let title = style.cut(&format!("after {after}: {}", so_far.table.title));
        sheet.line(&Line::styled(title, faint()));
        let text = terminal::table_text(&so_far.table, style, rows, "when the study ends");
        text.lines().for_each(|line| sheet.line(&Line::from(line)));
    }
    sheet.finished()
}

#[cfg(test)]
mod tests {
    use super::super::{study, tests::room};
    use super::*;
    use crate::fixture;

    fn state(so_far: Option<&CostsSoFar>) -> Study<'_> {
        Study {
            now: "round 3 of 12".to_owned(),
            done_share: 0.25,
            left: Some("about 4 min left".to_owned()),
            so_far,
        }
    }

    #[test]
    fn a_study_has_its_round_its_time_left_and_the_costs_so_far() {
        let so_far = CostsSoFar::from_result(&fixture::study()).unwrap();
        let lines = study(&state(Some(&so_far)), room(99, 30));
        assert!(
            lines[0].starts_with("round 3 of 12  ━") && lines[0].ends_with("   25 %  about 4 min left"),
            "{lines:#?}"
        );
        assert!(lines[1].starts_with("after 10 rounds: cost of each arm per request"), "{lines:#?}");
        assert!(lines[2].starts_with("arm ") && lines[2].contains("CPU %"), "{lines:#?}");
        assert!(lines.iter().any(|line| line.starts_with("lua ")), "{lines:#?}");
        assert!(lines.iter().all(|line| line.chars().count() <= 99), "{lines:#?}");
    }

    #[test]
    fn a_low_terminal_counts_the_rows_that_it_leaves_out_and_a_lower_one_has_no_table() {
        let so_far = CostsSoFar::from_result(&fixture::study()).unwrap();
        for height in 6..14 {
            let lines = study(&state(Some(&so_far)), room(99, height));
            assert!(lines.len() <= usize::from(height), "{height}: {lines:#?}");
            assert!(
                lines.iter().any(|line| line.contains(" more: when the study ends")),
                "{height}: {lines:#?}"
            );
        }
        assert_eq!(study(&state(Some(&so_far)), room(99, 5)).len(), 1);
        assert_eq!(study(&state(None), room(99, 30)).len(), 1);
    }

    #[test]
    fn a_narrow_terminal_has_the_columns_that_fit() {
        let so_far = CostsSoFar::from_result(&fixture::study()).unwrap();
        let lines = study(&state(Some(&so_far)), room(60, 30));
        assert!(lines.iter().all(|line| line.chars().count() <= 60), "{lines:#?}");
        assert!(lines.iter().any(|line| line.starts_with("columns without room: ")), "{lines:#?}");
    }

    #[test]
    fn a_void_study_and_a_timeline_have_no_costs_so_far() {
        assert!(CostsSoFar::from_result(&fixture::void()).is_none());
        assert!(CostsSoFar::from_result(&fixture::timeline()).is_none());
    }
}
