//! The progress of a study as numbers and text, from the updates that the study sends, and of any command on the console of a user.

mod plain;
mod view;

use std::time::Instant;

use hoptax_report::live::{CostsSoFar, Study};
use hoptax_report::numbers::duration;
use hoptax_run::event::Event;

use crate::update::Update;

pub use view::{Console, LoadProgress, draining, shown, stepwise};

/// Numbers of slices.
#[derive(Clone, Copy, Debug)]
pub struct SliceCount {
    /// The slices that are done.
    pub done: u64,
    /// All slices.
    pub all: u64,
}

/// The progress of a study.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    slices_per_round: u64,
    /// Total number of rounds, if known.
    rounds: Option<u32>,
    /// Current or last complete round, from 0; none before the first.
    round: Option<u32>,
    /// Slices of earlier sessions, which do not count for the speed of this session.
    done_before: u64,
    done: u64,
    /// End of the first slice of this session. The time before it, for example for capacities, is needed only once.
    measuring_since: Option<Instant>,
    /// Current activity other than measuring; empty if none.
    activity: &'static str,
}

impl Progress {
    /// The progress of a study with `rounds_done` complete rounds from earlier sessions.
    pub fn new(slices_per_round: u64, rounds_done: u32) -> Self {
        let done = slices_per_round * u64::from(rounds_done);
        Self {
            slices_per_round,
            rounds: None,
            round: None,
            done_before: done,
            done,
            measuring_since: None,
            activity: "starting processes",
        }
    }

    /// Applies an update that arrived at `now`.
    pub fn update(&mut self, update: &Update<'_>, now: Instant) {
        match update {
            Update::Rounds(rounds) => self.rounds = *rounds,
            Update::Event(event) => self.on_event(event, now),
            _ => {}
        }
    }

    fn on_event(&mut self, event: &Event<'_>, now: Instant) {
        if matches!(event, Event::SliceEnded { .. } | Event::CourseEnded) {
            self.measuring_since.get_or_insert(now);
        }
        match event {
            Event::RoundBegan { round } => self.round = Some(*round),
            Event::SliceEnded { is_again, .. } => self.done += u64::from(!is_again),
            Event::CourseEnded => self.done += 1,
            _ => {}
        }
        self.activity = match event {
            Event::Starting => "starting processes",
            Event::Sizing => "measuring the capacity of each arm",
            Event::Profiling => "taking profiles",
            Event::Waiting => "waiting: the hypervisor has separated the processors",
            _ => "",
        };
    }

    /// The state at this moment for a live view, with the costs so far.
    pub fn view<'a>(&self, at: Instant, so_far: Option<&'a CostsSoFar>) -> Study<'a> {
        let SliceCount { done, all } = self.slices();
        Study { now: self.now(), done_share: done as f64 / all.max(1) as f64, left: self.left(at), so_far }
    }

    /// The completed slices and all slices; those of the current round if the number of rounds is unknown.
    pub fn slices(&self) -> SliceCount {
        match self.rounds {
            Some(_) => SliceCount { done: self.done, all: self.all() },
            None => SliceCount { done: self.done_of_round(), all: self.slices_per_round },
        }
    }

    /// All slices; none if the number of rounds is unknown.
    fn all(&self) -> u64 {
        self.slices_per_round * self.rounds.map_or(0, u64::from)
    }

    /// Completed slices of the current round.
    fn done_of_round(&self) -> u64 {
        let before = self.round.map_or(self.done_before, |round| self.slices_per_round * u64::from(round));
        self.done.saturating_sub(before)
    }

    /// The remaining time as text. None if the total number of rounds is unknown, or while less than a hundredth is done.
    fn left(&self, at: Instant) -> Option<String> {
        self.rounds?;
        let (left, now) = (self.all().saturating_sub(self.done), self.done - self.done_before);
        let since = self.measuring_since.filter(|_| now * 100 >= self.all())?;
        let elapsed_s = at.saturating_duration_since(since).as_secs_f64();
        Some(format!("about {} left", duration(elapsed_s * left as f64 / now as f64)))
    }

    /// Returns the current activity: `round 3 of 16`, and the name of an activity other than measuring.
    pub fn now(&self) -> String {
        match (self.round_in_words(), self.activity) {
            (Some(round), "") => round,
            (Some(round), activity) => format!("{round}, {activity}"),
            (None, activity) => activity.to_owned(),
        }
    }

    /// `round 3 of 16, 41 % done, about 4 min left`, at this moment.
    pub fn line(&self, at: Instant) -> String {
        let Some(mut line) = self.round_in_words() else { return self.now() };
        let percent = |done: u64, all: u64| (100 * done / all.max(1)).min(100);
        if self.rounds.is_some() {
            line += &format!(", {} % done", percent(self.done, self.all()));
            line += &self.left(at).map_or_else(String::new, |left| format!(", {left}"));
        } else {
            let of_round = percent(self.done_of_round(), self.slices_per_round);
            line += &format!(", {of_round} % of the round done");
        }
        if self.activity.is_empty() { line } else { format!("{line}, {}", self.activity) }
    }

    fn round_in_words(&self) -> Option<String> {
        let of_total = self.rounds.map_or_else(String::new, |rounds| format!(" of {rounds}"));
        self.round.map(|round| format!("round {}{of_total}", round + 1))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hoptax_plan::record::SliceRecord;

    use super::*;

    fn progress() -> Progress {
        Progress { rounds: Some(10), ..Progress::new(10, 0) }
    }

    #[test]
    fn a_line_states_the_round_the_share_done_and_the_time_left() {
        let since = Instant::now();
        let measuring = Progress { measuring_since: Some(since), activity: "", ..progress() };
        let at = |round: u32, done: u64, seconds: u64| {
            Progress { round: Some(round), done, ..measuring }.line(since + Duration::from_secs(seconds))
        };
        assert_eq!(at(3, 40, 160), "round 4 of 10, 40 % done, about 4 min left");
        assert_eq!(at(9, 90, 180), "round 10 of 10, 90 % done, about 20 s left");
        assert_eq!(at(0, 1, 120), "round 1 of 10, 1 % done, about 3.3 h left");
        assert_eq!(at(0, 0, 5), "round 1 of 10, 0 % done");
        assert_eq!(progress().line(since), "starting processes");
    }

    #[test]
    fn without_a_known_total_a_line_states_the_progress_of_the_round() {
        let open = Progress { rounds: None, round: Some(2), done: 24, activity: "", ..progress() };
        let at = Instant::now();
        assert_eq!(open.line(at), "round 3, 40 % of the round done");
        let view = open.view(at, None);
        assert_eq!((view.now.as_str(), view.left), ("round 3", None));
        assert!((view.done_share - 0.4).abs() < 1e-9, "{}", view.done_share);
    }

    #[test]
    fn slices_of_earlier_sessions_do_not_shorten_the_time_left() {
        let resumed = Progress { rounds: Some(10), ..Progress::new(10, 5) };
        let since = Instant::now();
        let shares = [Progress::new(10, 5), resumed].map(|begun| begun.view(since, None).done_share);
        assert!(shares[0].abs() < 1e-9 && (shares[1] - 0.5).abs() < 1e-9, "{shares:?}");
        let resumed =
            Progress { round: Some(6), done: 60, measuring_since: Some(since), activity: "", ..resumed };
        assert_eq!(
            resumed.line(since + Duration::from_secs(30)),
            "round 7 of 10, 60 % done, about 2 min left"
        );
        let view = resumed.view(since + Duration::from_secs(30), None);
        assert_eq!((view.now.as_str(), view.left.as_deref()), ("round 7 of 10", Some("about 2 min left")));
    }

    #[test]
    fn what_precedes_the_first_slice_does_not_lengthen_the_time_left() {
        let mut progress = progress();
        let (began, slice) = (Instant::now(), SliceRecord::default());
        let after = |seconds| began + Duration::from_secs(seconds);
        progress.update(&Update::Event(&Event::RoundBegan { round: 0 }), began);
        progress.update(&Update::Event(&Event::Sizing), after(1));
        for seconds in 101..=105 {
            progress.update(
                &Update::Event(&Event::SliceEnded { slice: &slice, is_again: false }),
                after(seconds),
            );
        }
        assert_eq!(progress.line(after(106)), "round 1 of 10, 5 % done, about 2 min left");
    }

    #[test]
    fn a_repeated_slice_is_no_progress_and_waiting_is_reported() {
        let mut progress = progress();
        let slice = SliceRecord::default();
        let mut happens = |event: &Event<'_>| {
            progress.update(&Update::Event(event), Instant::now());
            progress
        };
        happens(&Event::RoundBegan { round: 0 });
        happens(&Event::SliceEnded { slice: &slice, is_again: false });
        assert_eq!(happens(&Event::SliceEnded { slice: &slice, is_again: true }).done, 1);
        let waiting = happens(&Event::Waiting);
        let why = "waiting: the hypervisor has separated the processors";
        assert!(waiting.line(Instant::now()).ends_with(why));
        assert_eq!(waiting.now(), format!("round 1 of 10, {why}"));
        let measuring = happens(&Event::SliceEnded { slice: &slice, is_again: false });
        assert!(!measuring.line(Instant::now()).contains("waiting"));
    }
}
