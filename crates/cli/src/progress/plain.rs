//! How far a study is, in lines: at the start of every round, and whenever a while has passed without one.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hoptax_study::event::Event;

use super::round_of;
use crate::print;

/// Longest silence. A line every half minute tells a job that goes on from one that hangs, and wakes the thread that prints
/// it in so few slices that none of them matters.
const SILENCE: Duration = Duration::from_secs(30);

/// Prints lines from a thread of its own, so that they come while the study waits or measures.
pub(super) struct PlainLines {
    state: Arc<Mutex<State>>,
    /// Asks for a line now; the thread ends when it is dropped.
    now: Sender<()>,
    printer: Option<JoinHandle<()>>,
}

impl PlainLines {
    /// A study of which so many rounds were complete before it was taken up again.
    pub(super) fn begin(slices_per_round: u64, rounds_done: u32) -> Self {
        let done = slices_per_round * u64::from(rounds_done);
        let state = State {
            slices_per_round,
            rounds: None,
            round: None,
            done_before: done,
            done,
            besides: "checking configurations",
        };
        let state = Arc::new(Mutex::new(state));
        let (now, asked) = mpsc::channel();
        let (seen, began) = (Arc::clone(&state), Instant::now());
        let printer = thread::Builder::new().spawn(move || {
            while asked.recv_timeout(SILENCE) != Err(RecvTimeoutError::Disconnected) {
                let line = lock(&seen).line(began.elapsed());
                print::note(&line);
            }
        });
        // Without the thread there are no lines, and the study goes on.
        Self { state, now, printer: printer.ok() }
    }

    /// Takes note of how many rounds there will be, if that is known.
    pub(super) fn expect(&self, rounds: Option<u32>) {
        lock(&self.state).rounds = rounds;
    }

    /// Takes note of an event.
    pub(super) fn hear(&self, event: &Event<'_>) {
        lock(&self.state).hear(event);
        if matches!(event, Event::RoundBegan { .. }) {
            let _ = self.now.send(());
        }
    }

    /// Ends the lines; those that were asked for are printed before.
    pub(super) fn end(self) {
        drop(self.now);
        let _ = self.printer.map(JoinHandle::join);
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How far a study is.
#[derive(Clone, Copy, Debug)]
struct State {
    slices_per_round: u64,
    /// Rounds that there will be, as far as that is known.
    rounds: Option<u32>,
    /// The round that goes on, from 0; none before the first.
    round: Option<u32>,
    /// Slices of an earlier sitting: they say nothing of how fast this one is.
    done_before: u64,
    done: u64,
    /// What goes on besides measuring; empty for nothing.
    besides: &'static str,
}

impl State {
    fn hear(&mut self, event: &Event<'_>) {
        self.besides = match event {
            Event::Checking => "checking configurations",
            Event::Sizing => "measuring what each arm can take",
            Event::Waiting => "waiting: the host has moved the processors",
            Event::RoundBegan { .. } | Event::SliceEnded { .. } | Event::RoundEnded { .. } => "",
        };
        match event {
            Event::RoundBegan { round } => self.round = Some(*round),
            Event::SliceEnded { is_again, .. } => self.done += u64::from(!is_again),
            Event::Checking | Event::Sizing | Event::Waiting | Event::RoundEnded { .. } => {}
        }
    }

    /// `round 3 of 16, 41 % done, about 4 min left`; without the time that is left where nothing tells how many rounds there
    /// will be.
    fn line(&self, elapsed: Duration) -> String {
        let Some(round) = self.round else { return self.besides.to_owned() };
        let mut parts = vec![round_of(round, self.rounds)];
        let percent = |done: u64, all: u64| 100 * done / all.max(1);
        if let Some(rounds) = self.rounds {
            let all = self.slices_per_round * u64::from(rounds);
            let (left, now) = (all.saturating_sub(self.done), self.done.saturating_sub(self.done_before));
            parts.push(format!("{} % done", percent(self.done, all).min(100)));
            if now > 0 {
                parts
                    .push(format!("about {} left", spoken(elapsed.as_secs_f64() * left as f64 / now as f64)));
            }
        } else {
            let of_round = self.done.saturating_sub(self.slices_per_round * u64::from(round));
            parts.push(format!("{} % of it done", percent(of_round, self.slices_per_round).min(100)));
        }
        if !self.besides.is_empty() {
            parts.push(self.besides.to_owned());
        }
        parts.join(", ")
    }
}

/// A time as people say it.
fn spoken(seconds: f64) -> String {
    match seconds {
        short if short < 90.0 => format!("{short:.0} s"),
        middling if middling < 5_400.0 => format!("{:.0} min", middling / 60.0),
        long => format!("{:.1} h", long / 3_600.0),
    }
}

#[cfg(test)]
mod tests {
    use hoptax_study::record::SliceRecord;

    use super::*;

    fn state() -> State {
        State {
            slices_per_round: 10,
            rounds: Some(10),
            round: None,
            done_before: 0,
            done: 0,
            besides: "checking configurations",
        }
    }

    #[test]
    fn a_line_says_which_round_how_much_is_done_and_how_long_it_takes() {
        let at = |round: u32, done: u64, seconds: u64| {
            State { round: Some(round), done, besides: "", ..state() }.line(Duration::from_secs(seconds))
        };
        assert_eq!(at(3, 40, 160), "round 4 of 10, 40 % done, about 4 min left");
        assert_eq!(at(9, 90, 180), "round 10 of 10, 90 % done, about 20 s left");
        assert_eq!(at(0, 1, 120), "round 1 of 10, 1 % done, about 3.3 h left");
        assert_eq!(at(0, 0, 5), "round 1 of 10, 0 % done");
        assert_eq!(state().line(Duration::from_secs(40)), "checking configurations");
    }

    #[test]
    fn a_study_without_a_known_end_tells_how_far_its_round_is() {
        let open = State { rounds: None, round: Some(2), done: 24, besides: "", ..state() };
        assert_eq!(open.line(Duration::from_secs(61)), "round 3, 40 % of it done");
    }

    #[test]
    fn slices_of_an_earlier_sitting_do_not_shorten_the_time_that_is_left() {
        let resumed = State { round: Some(6), done_before: 50, done: 60, besides: "", ..state() };
        assert_eq!(resumed.line(Duration::from_secs(30)), "round 7 of 10, 60 % done, about 2 min left");
    }

    #[test]
    fn a_slice_that_is_measured_again_is_no_progress_and_waiting_is_told() {
        let mut state = state();
        let slice = SliceRecord::default();
        state.hear(&Event::RoundBegan { round: 0 });
        state.hear(&Event::SliceEnded { slice: &slice, is_again: false });
        state.hear(&Event::SliceEnded { slice: &slice, is_again: true });
        assert_eq!(state.done, 1);
        state.hear(&Event::Waiting);
        assert!(state.line(Duration::from_secs(9)).ends_with("waiting: the host has moved the processors"));
        state.hear(&Event::SliceEnded { slice: &slice, is_again: false });
        assert!(!state.line(Duration::from_secs(9)).contains("waiting"));
    }
}
