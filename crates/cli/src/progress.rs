//! What is shown while something runs: a bar or a live line in a terminal; of a study, plain lines where there is none.

mod plain;

use std::cell::Cell;
use std::io::{self, IsTerminal};
use std::time::Duration;

use hoptax_load::trial::LiveLine;
use hoptax_study::event::Event;
use indicatif::{ProgressBar, ProgressStyle};

use crate::print;
use plain::PlainLines;

/// How far a study is, for whoever watches stderr.
pub(crate) struct StudyProgress {
    slices_per_round: u64,
    /// Rounds that there will be, as far as that is known.
    rounds: Cell<Option<u32>>,
    /// The round that goes on, or the last that is complete, from 0; none before the first.
    round: Cell<Option<u32>>,
    shown: Shown,
}

enum Shown {
    Bar(ProgressBar),
    Lines(PlainLines),
}

impl StudyProgress {
    /// A study of which so many rounds were complete before.
    pub(crate) fn begin(slices_per_round: u64, rounds_done: u32) -> Self {
        let shown = if io::stderr().is_terminal() {
            // One round more, while nothing tells how many there will be.
            let bar = study_bar(slices_per_round * u64::from(rounds_done + 1));
            bar.set_position(slices_per_round * u64::from(rounds_done));
            Shown::Bar(bar)
        } else {
            Shown::Lines(PlainLines::begin(slices_per_round, rounds_done))
        };
        Self {
            slices_per_round,
            rounds: Cell::new(None),
            round: Cell::new(rounds_done.checked_sub(1)),
            shown,
        }
    }

    /// Takes note of how many rounds there will be, if that is known, before the next begins.
    pub(crate) fn expect(&self, rounds: Option<u32>) {
        self.rounds.set(rounds);
        let next = self.round.get().map_or(1, |round| round + 2);
        match &self.shown {
            Shown::Bar(bar) => bar.set_length(self.slices_per_round * u64::from(rounds.unwrap_or(next))),
            Shown::Lines(lines) => lines.expect(rounds),
        }
    }

    /// Says something without disturbing what is shown.
    pub(crate) fn say(&self, text: &str) {
        match &self.shown {
            Shown::Bar(bar) => bar.suspend(|| print::note(text)),
            Shown::Lines(_) => print::note(text),
        }
    }

    /// Takes note of an event.
    pub(crate) fn hear(&self, event: &Event<'_>) {
        if let Event::RoundBegan { round } = event {
            self.round.set(Some(*round));
        }
        match &self.shown {
            Shown::Lines(lines) => lines.hear(event),
            Shown::Bar(bar) => match event {
                Event::Checking => bar.set_message("checking configurations"),
                Event::Sizing => bar.set_message("measuring what each arm can take"),
                Event::RoundBegan { .. } => bar.set_message(self.now()),
                Event::Waiting => {
                    bar.set_message(format!("{}, waiting: the host has moved the processors", self.now()));
                }
                Event::SliceEnded { is_again, .. } => {
                    bar.inc(u64::from(!is_again));
                    bar.set_message(self.now());
                }
                Event::RoundEnded { .. } => {}
            },
        }
    }

    /// The round, in words.
    fn now(&self) -> String {
        round_of(self.round.get().unwrap_or_default(), self.rounds.get())
    }

    /// Takes the bar away, or ends the lines.
    pub(crate) fn end(self) {
        match self.shown {
            Shown::Bar(bar) => bar.finish_and_clear(),
            Shown::Lines(lines) => lines.end(),
        }
    }
}

/// `round 3 of 16`, of a round from 0.
fn round_of(round: u32, rounds: Option<u32>) -> String {
    match rounds {
        Some(rounds) => format!("round {} of {rounds}", round + 1),
        None => format!("round {}", round + 1),
    }
}

/// The bar of a study.
fn study_bar(slices: u64) -> ProgressBar {
    let bar = ProgressBar::new(slices);
    let template = "{msg:<24} {wide_bar} {percent:>3} %  {eta_precise} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// The live line of a load.
pub(crate) fn live_line(duration: Duration) -> ProgressBar {
    let bar = ProgressBar::new(duration.as_millis() as u64);
    if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
        bar.set_style(style);
    }
    bar
}

/// What is going on, for work that cannot say how long it takes.
pub(crate) fn spinner() -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    spinner.enable_steady_tick(Duration::from_millis(200));
    spinner
}

/// What the live line says.
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
