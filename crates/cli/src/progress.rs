//! Progress on stderr: a bar or a live line on a terminal, and plain lines for studies elsewhere.

mod plain;

use std::cell::Cell;
use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hoptax_load::trial::LiveLine;
use hoptax_run::event::Event;
use hoptax_session::Update;
use indicatif::{ProgressBar, ProgressStyle};

use crate::print;
use plain::PlainLines;

/// Shows a study on the terminal, before, while and after it measures.
#[derive(Default)]
pub(crate) struct StudyOnTerminal {
    /// The progress while it measures.
    progress: Mutex<Option<StudyProgress>>,
}

impl StudyOnTerminal {
    /// Shows an update.
    pub(crate) fn show(&self, update: Update<'_>) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        match (update, &*progress) {
            (Update::Begins { slices_per_round, rounds_done }, _) => {
                *progress = Some(StudyProgress::begin(slices_per_round, rounds_done));
            }
            (Update::Ends, _) => {
                if let Some(progress) = progress.take() {
                    progress.finish();
                }
            }
            (Update::Note(text), Some(progress)) => progress.note(text),
            (Update::Rounds(rounds), Some(progress)) => progress.set_rounds(rounds),
            (Update::Event(event), Some(progress)) => progress.on_event(event),
            (update, _) => print::say(update),
        }
    }
}

/// Progress of a study.
struct StudyProgress {
    slices_per_round: u64,
    /// Total number of rounds, if known.
    rounds: Cell<Option<u32>>,
    /// Current or last complete round, from 0; None before the first.
    round: Cell<Option<u32>>,
    display: Display,
}

enum Display {
    Bar(ProgressBar),
    Lines(PlainLines),
}

impl StudyProgress {
    /// Starts to report a study that has `rounds_done` complete rounds from earlier sessions.
    fn begin(slices_per_round: u64, rounds_done: u32) -> Self {
        let display = if io::stderr().is_terminal() {
            // The total is not known yet: assume one more round.
            let bar = study_bar(slices_per_round * u64::from(rounds_done + 1));
            bar.set_position(slices_per_round * u64::from(rounds_done));
            Display::Bar(bar)
        } else {
            Display::Lines(PlainLines::begin(slices_per_round, rounds_done))
        };
        Self {
            slices_per_round,
            rounds: Cell::new(None),
            round: Cell::new(rounds_done.checked_sub(1)),
            display,
        }
    }

    /// Sets the expected total number of rounds; called before each round.
    fn set_rounds(&self, rounds: Option<u32>) {
        self.rounds.set(rounds);
        let next = self.round.get().map_or(1, |round| round + 2);
        match &self.display {
            Display::Bar(bar) => bar.set_length(self.slices_per_round * u64::from(rounds.unwrap_or(next))),
            Display::Lines(lines) => lines.set_rounds(rounds),
        }
    }

    /// Prints a note without breaking the bar.
    fn note(&self, text: &str) {
        match &self.display {
            Display::Bar(bar) => bar.suspend(|| print::note(text)),
            Display::Lines(_) => print::note(text),
        }
    }

    /// Updates the display for an event.
    fn on_event(&self, event: &Event<'_>) {
        if let Event::RoundBegan { round } = event {
            self.round.set(Some(*round));
        }
        match &self.display {
            Display::Lines(lines) => lines.on_event(event),
            Display::Bar(bar) => match event {
                Event::Starting => bar.set_message("starting processes"),
                Event::Sizing => bar.set_message("measuring the capacity of each arm"),
                Event::Profiling => bar.set_message(format!("{}, taking profiles", self.round_text())),
                Event::RoundBegan { .. } => bar.set_message(self.round_text()),
                Event::Waiting => {
                    bar.set_message(format!(
                        "{}, waiting: the hypervisor has moved the processors apart",
                        self.round_text()
                    ));
                }
                Event::SliceEnded { is_again, .. } => {
                    bar.inc(u64::from(!is_again));
                    bar.set_message(self.round_text());
                }
                Event::CourseEnded => bar.inc(1),
                Event::RoundEnded { .. } => {}
            },
        }
    }

    /// The current round as text.
    fn round_text(&self) -> String {
        round_of(self.round.get().unwrap_or_default(), self.rounds.get())
    }

    /// Removes the bar, or stops the plain lines.
    fn finish(self) {
        match self.display {
            Display::Bar(bar) => bar.finish_and_clear(),
            Display::Lines(lines) => lines.finish(),
        }
    }
}

/// Text such as `round 3 of 16`; `round` counts from 0.
fn round_of(round: u32, rounds: Option<u32>) -> String {
    match rounds {
        Some(rounds) => format!("round {} of {rounds}", round + 1),
        None => format!("round {}", round + 1),
    }
}

/// Progress bar of a study.
fn study_bar(slices: u64) -> ProgressBar {
    let bar = ProgressBar::new(slices);
    let template = "{msg:<24} {wide_bar} {percent:>3} %  {eta_precise} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Live line of a load.
pub(crate) fn live_line() -> ProgressBar {
    let bar = ProgressBar::new(1);
    if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
        bar.set_style(style);
    }
    bar
}

/// Spinner for work of unknown length.
pub(crate) fn spinner() -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    spinner.enable_steady_tick(Duration::from_millis(200));
    spinner
}

/// Text of the live line.
pub(crate) fn live_text(line: &LiveLine) -> String {
    format!(
        "{:>9.0} req/s   p50 {}   p99 {}   {} errors   {:.0} s left",
        line.rate,
        latency(line.p50_us),
        latency(line.p99_us),
        line.errors,
        (line.total_s - line.elapsed_s).max(0.0)
    )
}

fn latency(us: f64) -> String {
    if us < 10_000.0 { format!("{us:.0} us") } else { format!("{:.1} ms", us / 1e3) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_live_line_has_units() {
        let line = LiveLine {
            elapsed_s: 3.0,
            total_s: 10.0,
            rate: 1234.5,
            p50_us: 87.4,
            p99_us: 12_345.0,
            errors: 2,
        };
        assert_eq!(live_text(&line), "     1234 req/s   p50 87 us   p99 12.3 ms   2 errors   7 s left");
    }
}
