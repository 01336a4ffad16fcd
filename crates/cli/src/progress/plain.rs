//! How far a study is, in lines: at the start of every round, and whenever a while has passed without one.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hoptax_study::event::Event;

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
    /// A study of which so many slices were measured before it was taken up again.
    pub(super) fn begin(done: u64) -> Self {
        let state =
            State { rounds: None, round: None, slices: done, done_before: done, done, waiting: false };
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

    /// Takes note of how many rounds and slices there will be.
    pub(super) fn expect(&self, rounds: Option<u32>, slices: u64) {
        let mut state = lock(&self.state);
        (state.rounds, state.slices) = (rounds, slices);
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
    /// How many there will be; none while nothing tells.
    rounds: Option<u32>,
    /// The round that goes on, from 0; none before the first.
    round: Option<u32>,
    slices: u64,
    /// Slices of an earlier sitting: they say nothing of how fast this one is.
    done_before: u64,
    done: u64,
    waiting: bool,
}

impl State {
    fn hear(&mut self, event: &Event<'_>) {
        self.waiting = matches!(event, Event::Waiting);
        match event {
            Event::RoundBegan { round } => self.round = Some(*round),
            Event::SliceEnded { is_again, .. } => self.done += u64::from(!is_again),
            Event::Checking | Event::Sizing | Event::Waiting | Event::RoundEnded { .. } => {}
        }
    }

    /// `round 3 of 16, 41 % done, about 4 min left`.
    fn line(&self, elapsed: Duration) -> String {
        let Some(round) = self.round else { return "checking configurations".to_owned() };
        let waiting = if self.waiting { ", waiting: the host has moved the processors" } else { "" };
        let Some(rounds) = self.rounds else { return format!("round {}{waiting}", round + 1) };
        let percent = 100 * self.done / self.slices.max(1);
        let now = self.done.saturating_sub(self.done_before);
        let left = self.slices.saturating_sub(self.done);
        let left = if now > 0 {
            let left_s = elapsed.as_secs_f64() * left as f64 / now as f64;
            format!(", about {} left", spoken(left_s))
        } else {
            String::new()
        };
        format!("round {} of {rounds}, {percent} % done{left}{waiting}", round + 1)
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
        State { rounds: Some(16), round: None, slices: 100, done_before: 0, done: 0, waiting: false }
    }

    #[test]
    fn a_line_says_which_round_how_much_is_done_and_how_long_it_takes() {
        let at = |round: u32, done: u64, seconds: u64| {
            State { round: Some(round), done, ..state() }.line(Duration::from_secs(seconds))
        };
        assert_eq!(at(2, 40, 160), "round 3 of 16, 40 % done, about 4 min left");
        assert_eq!(at(15, 90, 180), "round 16 of 16, 90 % done, about 20 s left");
        assert_eq!(at(0, 1, 120), "round 1 of 16, 1 % done, about 3.3 h left");
        assert_eq!(at(0, 0, 5), "round 1 of 16, 0 % done");
        assert_eq!(state().line(Duration::from_secs(40)), "checking configurations");
    }

    #[test]
    fn where_nothing_tells_how_many_rounds_there_will_be_a_line_says_which_it_is() {
        let open = State { rounds: None, round: Some(2), done: 40, ..state() };
        assert_eq!(open.line(Duration::from_secs(60)), "round 3");
    }

    #[test]
    fn slices_of_an_earlier_sitting_do_not_shorten_the_time_that_is_left() {
        let resumed = State { round: Some(8), done_before: 50, done: 60, ..state() };
        assert_eq!(resumed.line(Duration::from_secs(30)), "round 9 of 16, 60 % done, about 2 min left");
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
