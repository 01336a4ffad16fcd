//! The view of a running search for rates: the bounds known so far, on a line from the lowest rate to the highest.

use ratatui_core::buffer::Buffer;
use ratatui_core::style::{Color, Style as CellStyle};
use ratatui_core::text::{Line, Span};

use super::{Room, Sheet, bold, faint};
use crate::numbers::{counted, duration, rate};

/// The longest line of rates, in columns.
const LONGEST: usize = 50;
/// The fewest columns of a line of rates.
const SHORTEST: usize = 10;

/// A running search.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// Trials so far.
    pub trials: u64,
    /// The current step as text.
    pub now: String,
    /// Each searched rate: one per goal or per arm.
    pub known: Vec<KnownRate>,
    /// Elapsed time, seconds.
    pub elapsed_s: f64,
    /// Expected total time, seconds.
    pub expected_s: f64,
    /// Time limit, seconds.
    pub most_s: f64,
}

/// A rate that is searched for, requests per second.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownRate {
    /// The objectives, or the arm.
    pub of: String,
    /// The highest rate known to hold; none so far.
    pub holds: Option<f64>,
    /// The lowest rate known to fail; none so far.
    pub fails: Option<f64>,
    /// The lowest rate of the search.
    pub min: f64,
    /// The highest rate of the search.
    pub max: f64,
}

impl KnownRate {
    /// The bounds as text.
    fn words(&self) -> String {
        match (self.holds, self.fails) {
            (Some(low), Some(high)) => format!("{} to {}/s", rate(low), rate(high)),
            (Some(low), None) => format!("at least {}/s", rate(low)),
            (None, Some(high)) => format!("less than {}/s", rate(high)),
            (None, None) => "not known".to_owned(),
        }
    }

    /// The columns, out of `width`, up to the rate that holds and up to the one that fails. The scale is logarithmic, because the search
    /// takes steps by ratios.
    fn columns(&self, width: usize) -> (usize, usize) {
        let (min, max) = (self.min.max(f64::MIN_POSITIVE), self.max);
        let at = |rate: f64| ((rate / min).ln() / (max / min).ln()).clamp(0.0, 1.0);
        let holds = self.holds.map_or(0.0, at);
        let fails = self.fails.map_or(1.0, at);
        if !(holds.is_finite() && fails.is_finite()) {
            return (0, width);
        }
        // Add a small number, so that rounding does not move a rate on the border of two columns.
        let holds = (holds * width as f64 + 1e-9).floor() as usize;
        let fails = (fails * width as f64 - 1e-9).ceil() as usize;
        (holds.min(width), fails.clamp(holds.min(width), width))
    }
}

pub(super) fn view(search: &Search, room: Room) -> Buffer {
    let mut sheet = Sheet::new(room);
    let left = duration(search.expected_s - search.elapsed_s);
    let most = duration(search.most_s - search.elapsed_s);
    // A search that takes longer than expected ends at its time limit at the latest.
    let left = if search.expected_s > search.elapsed_s && left != most {
        format!("about {left} left, at most {most}")
    } else {
        format!("at most {most} left")
    };
    let trials = format!("{} in {}", counted(search.trials, "trial"), duration(search.elapsed_s));
    sheet.line(&Line::from(vec![Span::styled(trials, bold()), Span::raw(format!("  {left}"))]));
    sheet.line(&Line::from(search.now.as_str()));
    let longest =
        |of: fn(&KnownRate) -> String| search.known.iter().map(of).map(|text| text.chars().count()).max();
    let name = longest(|known| known.of.clone()).unwrap_or_default();
    let words = longest(KnownRate::words).unwrap_or_default();
    let width = usize::from(room.style.width).saturating_sub(name + words + 4).min(LONGEST);
    for known in &search.known {
        let mut spans = vec![Span::raw(format!("{:<name$}  {:<words$}", known.of, known.words()))];
        if width >= SHORTEST {
            let (holds, fails) = known.columns(width);
            spans.push(Span::styled(format!("  {}", "█".repeat(holds)), CellStyle::new().fg(Color::Green)));
            spans.push(Span::styled("▒".repeat(fails - holds), CellStyle::new().fg(Color::Yellow)));
            spans.push(Span::styled("·".repeat(width - fails), faint()));
        }
        sheet.line(&Line::from(spans));
    }
    if width >= SHORTEST && !search.known.is_empty() {
        sheet.line(&Line::styled(
            "█ holds  ▒ not known  · fails; from the lowest rate of the search to the highest",
            faint(),
        ));
    }
    sheet.finished()
}

#[cfg(test)]
mod tests {
    use super::super::{search, tests::room};
    use super::*;

    fn known(holds: Option<f64>, fails: Option<f64>) -> KnownRate {
        KnownRate { of: "p99<5ms".to_owned(), holds, fails, min: 10.0, max: 1_000.0 }
    }

    fn state(known: Vec<KnownRate>) -> Search {
        Search {
            trials: 7,
            now: "trial at 400/s for 3.5 s".to_owned(),
            known,
            elapsed_s: 23.0,
            expected_s: 63.0,
            most_s: 300.0,
        }
    }

    #[test]
    fn a_search_has_its_trials_its_time_and_what_is_known() {
        let state = state(vec![
            known(Some(100.0), Some(1_000.0)),
            KnownRate { of: "all".to_owned(), ..known(None, None) },
        ]);
        assert_eq!(
            search(&state, room(50, 20)),
            [
                "7 trials in 23 s  about 40 s left, at most 5 min".to_owned(),
                "trial at 400/s for 3.5 s".to_owned(),
                format!("p99<5ms  100 to 1,000/s  {}{}", "█".repeat(12), "▒".repeat(13)),
                format!("all      not known       {}", "▒".repeat(25)),
                "█ holds  ▒ not known  · fails; from the lowest rat".to_owned(),
            ]
        );
    }

    #[test]
    fn rates_lie_on_the_line_by_their_ratios() {
        assert_eq!(known(None, None).columns(20), (0, 20));
        assert_eq!(known(Some(100.0), None).columns(20), (10, 20));
        assert_eq!(known(Some(10.0), Some(100.0)).columns(20), (0, 10));
        // Beyond the ends, and in a range of one rate.
        assert_eq!(known(Some(5_000.0), Some(6_000.0)).columns(20), (20, 20));
        assert_eq!(KnownRate { max: 10.0, ..known(Some(10.0), None) }.columns(20), (0, 20));
    }

    #[test]
    fn a_search_beyond_its_expected_time_states_the_most_that_is_left() {
        let late = Search { elapsed_s: 70.0, ..state(vec![known(None, None)]) };
        let lines = search(&late, room(99, 20));
        assert_eq!(lines[0], "7 trials in 70 s  at most 4 min left");
        let full = Search { expected_s: 300.0, ..state(vec![known(None, None)]) };
        let lines = search(&full, room(99, 20));
        assert_eq!(lines[0], "7 trials in 23 s  at most 5 min left", "both ends read the same");
        assert!(search(&late, room(20, 20)).iter().all(|line| line.chars().count() <= 20));
        assert!(search(&late, room(20, 20)).len() == 3, "no line of rates, and no meaning of its marks");
    }
}
