//! Plain progress lines of a study: one at the start of each round, and one after each long silence.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hoptax_run::event::Event;

use super::round_of;
use crate::print;

/// Longest silence. A line every 30 s distinguishes a slow job from a hung one, and wakes the printing thread in too few slices
/// to affect results.
const SILENCE: Duration = Duration::from_secs(30);

/// Prints lines from its own thread, so that they also appear while the study waits or measures.
pub(super) struct PlainLines {
    state: Arc<Mutex<State>>,
    /// Requests a line immediately; dropping it ends the thread.
    request: Sender<()>,
    printer: Option<JoinHandle<()>>,
}

impl PlainLines {
    /// Starts to report a study that has `rounds_done` complete rounds from earlier sessions.
    pub(super) fn begin(slices_per_round: u64, rounds_done: u32) -> Self {
        let done = slices_per_round * u64::from(rounds_done);
        let state = State {
            slices_per_round,
            rounds: None,
            round: None,
            done_before: done,
            done,
            activity: "starting processes",
        };
        let state = Arc::new(Mutex::new(state));
        let (request, requests) = mpsc::channel();
        let (seen, began) = (Arc::clone(&state), Instant::now());
        let printer = thread::Builder::new().spawn(move || {
            while requests.recv_timeout(SILENCE) != Err(RecvTimeoutError::Disconnected) {
                let line = lock(&seen).line(began.elapsed());
                print::note(&line);
            }
        });
        // If the thread cannot start, the study runs without progress lines.
        Self { state, request, printer: printer.ok() }
    }

    /// Sets the expected total number of rounds.
    pub(super) fn set_rounds(&self, rounds: Option<u32>) {
        lock(&self.state).rounds = rounds;
    }

    /// Updates the state for an event.
    pub(super) fn on_event(&self, event: &Event<'_>) {
        lock(&self.state).on_event(event);
        if matches!(event, Event::RoundBegan { .. }) {
            let _ = self.request.send(());
        }
    }

    /// Stops the thread after it has printed all requested lines.
    pub(super) fn finish(self) {
        drop(self.request);
        let _ = self.printer.map(JoinHandle::join);
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Progress of a study.
#[derive(Clone, Copy, Debug)]
struct State {
    slices_per_round: u64,
    /// Total number of rounds, if known.
    rounds: Option<u32>,
    /// Current round, from 0; None before the first.
    round: Option<u32>,
    /// Slices of earlier sessions, which do not count towards the speed of this one.
    done_before: u64,
    done: u64,
    /// Current activity other than measuring; empty if none.
    activity: &'static str,
}

impl State {
    fn on_event(&mut self, event: &Event<'_>) {
        self.activity = match event {
            Event::Starting => "starting processes",
            Event::Sizing => "measuring the capacity of each arm",
            Event::Profiling => "taking profiles",
            Event::Waiting => "waiting: the hypervisor has moved the processors apart",
            Event::RoundBegan { .. }
            | Event::SliceEnded { .. }
            | Event::CourseEnded
            | Event::RoundEnded { .. } => "",
        };
        match event {
            Event::RoundBegan { round } => self.round = Some(*round),
            Event::SliceEnded { is_again, .. } => self.done += u64::from(!is_again),
            Event::CourseEnded => self.done += 1,
            Event::Starting
            | Event::Sizing
            | Event::Waiting
            | Event::Profiling
            | Event::RoundEnded { .. } => {}
        }
    }

    /// Text such as `round 3 of 16, 41 % done, about 4 min left`. The time left is omitted if the total number of rounds is
    /// unknown.
    fn line(&self, elapsed: Duration) -> String {
        let Some(round) = self.round else { return self.activity.to_owned() };
        let mut parts = vec![round_of(round, self.rounds)];
        let percent = |done: u64, all: u64| 100 * done / all.max(1);
        if let Some(rounds) = self.rounds {
            let all = self.slices_per_round * u64::from(rounds);
            let (left, now) = (all.saturating_sub(self.done), self.done.saturating_sub(self.done_before));
            parts.push(format!("{} % done", percent(self.done, all).min(100)));
            if now > 0 {
                parts.push(format!(
                    "about {} left",
                    duration_text(elapsed.as_secs_f64() * left as f64 / now as f64)
                ));
            }
        } else {
            let of_round = self.done.saturating_sub(self.slices_per_round * u64::from(round));
            parts.push(format!("{} % of the round done", percent(of_round, self.slices_per_round).min(100)));
        }
        if !self.activity.is_empty() {
            parts.push(self.activity.to_owned());
        }
        parts.join(", ")
    }
}

/// A duration as text.
fn duration_text(seconds: f64) -> String {
    match seconds {
        short if short < 90.0 => format!("{short:.0} s"),
        middling if middling < 5_400.0 => format!("{:.0} min", middling / 60.0),
        long => format!("{:.1} h", long / 3_600.0),
    }
}

#[cfg(test)]
mod tests {
    use hoptax_plan::record::SliceRecord;

    use super::*;

    fn state() -> State {
        State {
            slices_per_round: 10,
            rounds: Some(10),
            round: None,
            done_before: 0,
            done: 0,
            activity: "starting processes",
        }
    }

    #[test]
    fn a_line_states_the_round_the_share_done_and_the_time_left() {
        let at = |round: u32, done: u64, seconds: u64| {
            State { round: Some(round), done, activity: "", ..state() }.line(Duration::from_secs(seconds))
        };
        assert_eq!(at(3, 40, 160), "round 4 of 10, 40 % done, about 4 min left");
        assert_eq!(at(9, 90, 180), "round 10 of 10, 90 % done, about 20 s left");
        assert_eq!(at(0, 1, 120), "round 1 of 10, 1 % done, about 3.3 h left");
        assert_eq!(at(0, 0, 5), "round 1 of 10, 0 % done");
        assert_eq!(state().line(Duration::from_secs(40)), "starting processes");
    }

    #[test]
    fn without_a_known_total_a_line_states_the_progress_of_the_round() {
        let open = State { rounds: None, round: Some(2), done: 24, activity: "", ..state() };
        assert_eq!(open.line(Duration::from_secs(61)), "round 3, 40 % of the round done");
    }

    #[test]
    fn slices_of_earlier_sessions_do_not_shorten_the_time_left() {
        let resumed = State { round: Some(6), done_before: 50, done: 60, activity: "", ..state() };
        assert_eq!(resumed.line(Duration::from_secs(30)), "round 7 of 10, 60 % done, about 2 min left");
    }

    #[test]
    fn a_repeated_slice_is_no_progress_and_waiting_is_reported() {
        let mut state = state();
        let slice = SliceRecord::default();
        state.on_event(&Event::RoundBegan { round: 0 });
        state.on_event(&Event::SliceEnded { slice: &slice, is_again: false });
        state.on_event(&Event::SliceEnded { slice: &slice, is_again: true });
        assert_eq!(state.done, 1);
        state.on_event(&Event::Waiting);
        assert!(
            state
                .line(Duration::from_secs(9))
                .ends_with("waiting: the hypervisor has moved the processors apart")
        );
        state.on_event(&Event::SliceEnded { slice: &slice, is_again: false });
        assert!(!state.line(Duration::from_secs(9)).contains("waiting"));
    }
}
