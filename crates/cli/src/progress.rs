//! Progress on stderr: a bar or a live line on a terminal, and plain lines for studies elsewhere.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hoptax_run::event::Event;
use hoptax_session::progress::{PlainLines, Progress};
use hoptax_session::{Say, Update};
use indicatif::{ProgressBar, ProgressStyle};

use crate::print;

/// Runs `measure`, and shows the progress of its study on the terminal.
pub(crate) fn shown<T>(measure: impl FnOnce(Say<'_>) -> T) -> T {
    let terminal = StudyOnTerminal::default();
    measure(&|update| terminal.show(update))
}

/// Runs work of unknown length, and shows its steps.
pub(crate) fn stepwise<T>(work: impl FnOnce(&mut dyn FnMut(&str), Say<'_>) -> T) -> T {
    let spinner = ProgressBar::new_spinner();
    spinner.enable_steady_tick(Duration::from_millis(200));
    let mut on_step = |step: &str| spinner.set_message(step.to_owned());
    let done = work(&mut on_step, &|update| spinner.suspend(|| print::say(update)));
    spinner.finish_and_clear();
    done
}

#[derive(Default)]
struct StudyOnTerminal {
    /// The progress while it measures, and its display.
    shown: Mutex<Option<(Progress, Display)>>,
}

enum Display {
    Bar(ProgressBar),
    Lines(PlainLines),
}

impl StudyOnTerminal {
    /// Shows an update.
    fn show(&self, update: Update<'_>) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        match (update, &mut *shown) {
            (Update::Begins { slices_per_round, rounds_done }, _) => {
                let progress = Progress::new(slices_per_round, rounds_done);
                *shown = Some((progress, Display::begin(progress)));
            }
            (Update::Ends, _) => {
                if let Some((_, display)) = shown.take() {
                    display.finish();
                }
            }
            // Without breaking the bar.
            (Update::Note(text), Some((_, Display::Bar(bar)))) => bar.suspend(|| print::note(text)),
            (Update::Rounds(_) | Update::Event(_), Some((progress, display))) => {
                progress.update(&update, Instant::now());
                display.show(*progress, matches!(update, Update::Event(Event::RoundBegan { .. })));
            }
            (update, _) => print::say(update),
        }
    }
}

impl Display {
    fn begin(progress: Progress) -> Self {
        if !io::stderr().is_terminal() {
            return Self::Lines(PlainLines::begin(progress, print::note));
        }
        let bar = ProgressBar::new(progress.all());
        if let Ok(style) =
            ProgressStyle::with_template("{msg:<24} {wide_bar} {percent:>3} %  {eta_precise} left")
        {
            bar.set_style(style);
        }
        bar.set_position(progress.done());
        Self::Bar(bar)
    }

    fn show(&self, progress: Progress, begins_round: bool) {
        match self {
            Self::Lines(lines) => lines.show(progress, begins_round),
            Self::Bar(bar) => {
                bar.set_length(progress.all());
                bar.set_position(progress.done());
                bar.set_message(progress.now());
            }
        }
    }

    /// Removes the bar, or stops the plain lines.
    fn finish(self) {
        match self {
            Self::Bar(bar) => bar.finish_and_clear(),
            Self::Lines(lines) => lines.finish(),
        }
    }
}

/// Live line of a load.
pub(crate) fn live_line() -> ProgressBar {
    let bar = ProgressBar::new(1);
    if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
        bar.set_style(style);
    }
    bar
}
