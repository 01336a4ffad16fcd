//! Runs the trials of a study, writes each complete round, and reports the costs so far.

use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant};

use hoptax_checks::judge_study;
use hoptax_checks::thresholds::Limits;
use hoptax_judge::length::Course;
use hoptax_judge::precision::{self, Precision};
use hoptax_judge::summary::{self, Conditions};
use hoptax_plan::plan::Plan;
use hoptax_plan::record::RoundRecord;
use hoptax_result::StudyResult;
use hoptax_run::event::Event;
use hoptax_run::runner::{self, Control, Earlier, Outcome, Setting};
use hoptax_text::command_line::path_word;

use crate::continuation;
use crate::interrupt::Interrupt;
use crate::length::ClockedCourse;
use crate::manifest::Manifest;
use crate::recorder::Recorder;
use crate::run_folder::RunFolder;
use crate::update::{Say, Update};
use crate::words::{percent, precision_text};

/// Number of complete rounds after which a line states the costs so far. Another line follows each time that the number has doubled.
const FIRST_LINE: u32 = 3;

/// True if a line should state the costs so far after this number of complete rounds.
fn is_line_due(rounds: usize) -> bool {
    let times = rounds as u32 / FIRST_LINE;
    times.is_power_of_two() && times * FIRST_LINE == rounds as u32
}

/// Sends the costs so far: after each round for a live view, as long as summaries take little time, and always when a line is due.
struct SoFar {
    /// End of the last summary, and how long it took; none before the first.
    last: Option<(Instant, Duration)>,
}

impl SoFar {
    /// Sends the costs after these rounds, if due. No decision depends on them.
    fn tell(&mut self, plan: &Plan, rounds: &[RoundRecord], limits: &Limits, say: Say<'_>) {
        let (begun, is_worth_a_line) = (Instant::now(), is_line_due(rounds.len()));
        let is_cheap = self.last.is_some_and(|(at, took)| is_cheap(took, begun.duration_since(at)));
        if !(is_worth_a_line || is_cheap) {
            return;
        }
        let mut result = summary::summarise(plan, rounds, Conditions::default());
        judge_study(&mut result, limits);
        self.last = Some((Instant::now(), begun.elapsed()));
        say(Update::SoFar { result: &result, is_worth_a_line });
    }
}

/// True if a summary that took `took` may be repeated `since` after the last one, so that summaries take at most a hundredth of the time.
fn is_cheap(took: Duration, since: Duration) -> bool {
    took * 100 <= since
}

/// Where complete rounds are written.
pub(crate) struct Written<'a, 'b> {
    pub(crate) folder: &'a RunFolder,
    pub(crate) manifest: &'a Manifest,
    pub(crate) recorder: &'a mut Recorder<'b>,
}

/// Trials to run.
pub(crate) struct Trials<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) setting: &'a Setting<'a>,
    pub(crate) limits: &'a Limits,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) say: Say<'a>,
}

/// Trials that have run.
pub(crate) struct Ran {
    pub(crate) outcome: Outcome,
    pub(crate) course: Course,
}

/// Runs the trials after those of earlier sessions.
pub(crate) fn run(
    trials: &Trials<'_>,
    earlier: Earlier,
    mut clocked: ClockedCourse<'_>,
    written: &mut Written<'_, '_>,
) -> Ran {
    let Trials { plan, setting, limits, interrupt, say } = *trials;
    let expected = Cell::new(None);
    let slices_per_round = plan.slices_per_round() as u64;
    say(Update::Begins { slices_per_round, rounds_done: earlier.rounds.len() as u32 });
    let (mut write_error, mut so_far) = (None, SoFar { last: None });
    let mut should_continue = |rounds: &[RoundRecord]| {
        let (should_continue, note) = clocked.should_continue(rounds, &expected);
        say(Update::Rounds(expected.get()));
        if should_continue {
            so_far.tell(plan, rounds, limits, say);
        }
        if let Some(note) = &note {
            say(Update::Note(note));
        }
        should_continue
    };
    let mut on_event = |event: &Event<'_>| {
        say(Update::Event(event));
        if let Event::RoundEnded { round, record, elapsed_s } = event {
            match written.folder.store_round(*round, record, *elapsed_s) {
                Ok(()) => written.recorder.add_round(*round),
                Err(error) => write_error = write_error.take().or(Some(error)),
            }
        }
    };
    let mut control =
        Control { stop: interrupt.flag(), should_continue: &mut should_continue, on_event: &mut on_event };
    let outcome = runner::run(plan, setting, earlier, &mut control);
    say(Update::Ends);
    if let Some(error) = write_error {
        say(Update::Problem(&format!(
            "cannot store rounds in `{}`, so the study cannot be resumed: {error}",
            setting.directory.display()
        )));
    }
    let course = clocked.into_course();
    if let Err(error) = written.folder.record_looks(written.manifest, course.looked()) {
        let text = format!("if the study is resumed, it will not count the looks of this session: {error}");
        say(Update::Problem(&text));
    }
    Ran { outcome, course }
}

/// Sends a note if a study ended before its intervals reached the precision that `command`, which began it, requested.
pub(crate) fn note_precision(directory: &Path, command: Option<&str>, result: &StudyResult, say: Say<'_>) {
    let Some(sequential) = result.plan.sequential.as_ref().filter(|sequential| !sequential.reached) else {
        return;
    };
    let target = precision_text(&sequential.into());
    let found = precision::of_nearly_all(&precision::half_widths(result, &Precision::default()));
    let found =
        found.map_or_else(String::new, |found| format!(" (nearly all costs are within {})", percent(found)));
    let way = continuation::way(command, &path_word(directory), Some(&target.replace(" %", "%")));
    say(Update::Note(&format!("the requested precision of {target} is not reached{found}: {way}")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_the_costs_so_far_become_rarer() {
        let due: Vec<usize> = (0..50).filter(|rounds| is_line_due(*rounds)).collect();
        assert_eq!(due, [3, 6, 12, 24, 48]);
        let seconds = Duration::from_secs;
        assert!(is_cheap(Duration::from_millis(50), seconds(5)) && !is_cheap(seconds(5), seconds(499)));
    }
}
