//! A job, which is a measurement, and its states.

use std::collections::VecDeque;

use hoptax_load::trial::LiveLine;
use hoptax_report::documents::TextTable;
use hoptax_result::{FindTrial, Verdict};
use hoptax_session::written_out;
use schemars::JsonSchema;
use serde::Serialize;

use crate::curve::{self, Curve};

/// Maximum number of notes of a job to keep, the latest ones.
const MAX_NOTES: usize = 100;
/// Maximum length of a note or a problem, without the mark of the cut, bytes. It suffices for the list of a configuration with about twenty
/// parts.
const MAX_TEXT_BYTES: usize = 4_096;
/// Maximum number of cost rows of a job, the first ones.
const MAX_ROWS: usize = 60;

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[expect(
    clippy::struct_field_names,
    reason = "jobs and runs have their numbers under these names everywhere"
)]
pub(crate) struct Job {
    /// Its number.
    pub(crate) job: u64,
    /// The kind of its measurement.
    pub(crate) kind: Kind,
    /// Its subject, as lists of runs name it: the URL of a load or a search, without user information; the name of a study or of a
    /// configuration.
    pub(crate) name: String,
    /// Its state.
    pub(crate) state: State,
    /// Its start, RFC 3339 in UTC.
    pub(crate) started_at: String,
    /// Its end, RFC 3339 in UTC; null until then.
    pub(crate) ended_at: Option<String>,
    /// The latest progress of a load; null before the first, half a second after the start, and for all other kinds.
    pub(crate) progress: Option<Progress>,
    /// Progress of a study, or of the study of a bill; null while none measures.
    pub(crate) step: Option<Step>,
    /// The trials of a search by objective, of the first four; empty before the first trial, and for all other kinds.
    pub(crate) curves: Vec<Curve>,
    /// The costs in the complete rounds of the study that measures; null without any.
    pub(crate) costs: Option<TextTable>,
    /// The latest lines that its command would print: facts, trials, the costs so far. A table has several lines.
    pub(crate) notes: VecDeque<String>,
    /// The run of the store that has its result; null without one.
    pub(crate) run: Option<i64>,
    /// The verdict on its result; null without one.
    pub(crate) verdict: Option<Verdict>,
    /// Why it has no result; null if it has one, or none yet.
    pub(crate) problem: Option<String>,
}

/// The kind of a measurement, by its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// A load: `hoptax load`.
    Load,
    /// A search for the highest rate: `hoptax find`.
    Find,
    /// A built-in study: `hoptax study`.
    Study,
    /// A bill of a configuration: `hoptax price`.
    Bill,
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// It measures.
    Running,
    /// It was asked to stop, and finishes what it has begun.
    Stopping,
    /// It ended as planned, or because its server could not keep up.
    Done,
    /// It was stopped; the part until then has a result, if enough was measured.
    Interrupted,
    /// It has no result.
    Failed,
}

/// Progress of a load. Rates and times are those since the progress before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Progress {
    /// Elapsed time, including the warm-up, seconds.
    pub(crate) elapsed_s: f64,
    /// Planned time, including the warm-up, seconds.
    pub(crate) total_s: f64,
    /// Responses per second.
    pub(crate) rate: f64,
    /// Median response time, us.
    pub(crate) response_p50_us: f64,
    /// 99th percentile of response time, us.
    pub(crate) response_p99_us: f64,
    /// Requests without a response since the warm-up.
    pub(crate) errors: u64,
    /// Bytes per second of the bodies of complete responses; null if unknown.
    pub(crate) body_bytes_per_s: Option<f64>,
    /// Open connections now; null if unknown.
    pub(crate) connections: Option<u64>,
}

/// Progress of a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Step {
    /// Slices that are measured.
    pub(crate) done: u64,
    /// Slices that will be measured; those until the end of the round while the number of rounds is not known.
    pub(crate) all: u64,
    /// The same in words: `round 3 of 16, 41 % done, about 4 min left`.
    pub(crate) line: String,
}

impl From<&LiveLine> for Progress {
    fn from(line: &LiveLine) -> Self {
        Self {
            elapsed_s: line.elapsed_s,
            total_s: line.total_s,
            rate: line.rate,
            response_p50_us: line.p50_us,
            response_p99_us: line.p99_us,
            errors: line.errors,
            body_bytes_per_s: line.body_bytes_per_s,
            connections: line.connections,
        }
    }
}

/// How a job ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With a stored result.
    Kept {
        /// The run of the store.
        run: i64,
        /// The verdict.
        verdict: Verdict,
        /// True if an interrupt ended the record.
        is_interrupted: bool,
    },
    /// Interrupted before it had a result.
    Interrupted,
    /// Without a result, with the reason.
    Failed(String),
}

impl State {
    /// True for a final state.
    pub(crate) fn is_end(self) -> bool {
        matches!(self, Self::Done | Self::Interrupted | Self::Failed)
    }
}

impl Job {
    /// A job that has just begun.
    pub(crate) fn begun(job: u64, kind: Kind, name: String, started_at: String) -> Self {
        Self {
            job,
            kind,
            name,
            state: State::Running,
            started_at,
            ended_at: None,
            progress: None,
            step: None,
            curves: Vec::new(),
            costs: None,
            notes: VecDeque::new(),
            run: None,
            verdict: None,
            problem: None,
        }
    }

    /// Records progress, unless the job has ended.
    pub(crate) fn progressed(&mut self, progress: Progress) {
        if !self.state.is_end() {
            self.progress = Some(progress);
        }
    }

    /// Records the current step, unless the job has ended; none after the end of a study.
    pub(crate) fn stepped(&mut self, step: Option<Step>) {
        if !self.state.is_end() {
            self.step = step.map(|step| Step { line: written_out(&step.line), ..step });
        }
    }

    /// Records a trial of a search, unless the job has ended.
    pub(crate) fn tried(&mut self, trial: &FindTrial) {
        if !self.state.is_end() {
            curve::add(&mut self.curves, trial);
        }
    }

    /// Records the costs so far, unless the job has ended; none when another study begins.
    pub(crate) fn costed(&mut self, costs: Option<TextTable>) {
        if !self.state.is_end() {
            self.costs = costs.map(|costs| costs.first_rows(MAX_ROWS));
        }
    }

    /// Records a note.
    pub(crate) fn noted(&mut self, text: &str) {
        if self.notes.len() == MAX_NOTES {
            self.notes.pop_front();
        }
        self.notes.push_back(cut(text));
    }

    /// Requests a stop, unless the job has ended.
    pub(crate) fn stopped(&mut self) {
        if !self.state.is_end() {
            self.state = State::Stopping;
        }
    }

    /// Ends the job; false if it had ended before.
    pub(crate) fn ended(&mut self, outcome: Outcome, at: String) -> bool {
        if self.state.is_end() {
            return false;
        }
        self.ended_at = Some(at);
        // The result contains them, judged.
        (self.step, self.costs) = (None, None);
        self.state = match outcome {
            Outcome::Kept { run, verdict, is_interrupted } => {
                (self.run, self.verdict) = (Some(run), Some(verdict));
                if is_interrupted { State::Interrupted } else { State::Done }
            }
            Outcome::Interrupted => State::Interrupted,
            Outcome::Failed(why) => {
                self.problem = Some(cut(&why));
                State::Failed
            }
        };
        true
    }
}

/// Escapes control characters, because the text may quote a client and the reader may print it on a terminal, and cuts long texts, because
/// all texts of a job are part of each of its events.
pub(crate) fn cut(text: &str) -> String {
    let text = written_out(text);
    let (kept, rest) = text.split_at(text.floor_char_boundary(MAX_TEXT_BYTES));
    let mark = if rest.is_empty() { "" } else { "\u{2026}" };
    format!("{kept}{mark}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job::begun(1, Kind::Load, "http://127.0.0.1/".to_owned(), "2026-11-29T00:00:00Z".to_owned())
    }

    const PROGRESS: Progress = Progress {
        elapsed_s: 1.0,
        total_s: 11.0,
        rate: 100.0,
        response_p50_us: 90.0,
        response_p99_us: 120.0,
        errors: 0,
        body_bytes_per_s: Some(6_400.0),
        connections: Some(16),
    };
    const KEPT: Outcome = Outcome::Kept { run: 7, verdict: Verdict::Caution, is_interrupted: false };
    const STOPPED: Outcome = Outcome::Kept { run: 7, verdict: Verdict::Void, is_interrupted: true };

    #[test]
    fn a_job_runs_and_ends_with_the_run_that_has_its_result() {
        let mut job = job();
        job.progressed(PROGRESS);
        assert_eq!((job.state, job.progress), (State::Running, Some(PROGRESS)));
        assert!(job.ended(KEPT, "later".to_owned()));
        assert_eq!((job.state, job.run, job.verdict), (State::Done, Some(7), Some(Verdict::Caution)));
        assert_eq!((job.ended_at.as_deref(), job.problem), (Some("later"), None));
    }

    #[test]
    fn a_stopped_job_is_stopping_until_it_ends_and_may_still_end_as_planned() {
        for (outcome, state, run) in [
            (STOPPED, State::Interrupted, Some(7)),
            (Outcome::Interrupted, State::Interrupted, None),
            // The record was complete already.
            (KEPT, State::Done, Some(7)),
            (Outcome::Failed("why".to_owned()), State::Failed, None),
        ] {
            let mut job = job();
            job.stopped();
            assert_eq!(job.state, State::Stopping);
            job.progressed(PROGRESS);
            assert_eq!(job.state, State::Stopping);
            assert!(job.ended(outcome, "later".to_owned()));
            assert_eq!((job.state, job.run), (state, run));
        }
    }

    #[test]
    fn nothing_changes_a_job_that_has_ended() {
        let mut job = job();
        assert!(job.ended(Outcome::Failed("no connection".to_owned()), "then".to_owned()));
        let ended = job.clone();
        job.stopped();
        job.progressed(PROGRESS);
        assert!(!job.ended(KEPT, "later".to_owned()));
        assert_eq!(job, ended);
        assert_eq!(job.problem.as_deref(), Some("no connection"));
    }

    #[test]
    fn of_a_job_that_says_very_much_the_latest_is_kept() {
        let mut job = job();
        (0..1_000).for_each(|number: u32| job.noted(&number.to_string()));
        assert_eq!(job.notes.len(), MAX_NOTES);
        assert_eq!((job.notes[0].as_str(), job.notes[MAX_NOTES - 1].as_str()), ("900", "999"));
    }

    #[test]
    fn a_step_is_known_while_a_study_measures() {
        let mut job = job();
        let step = Step { done: 1, all: 10, line: "round 1 of 10".to_owned() };
        job.stepped(Some(step.clone()));
        assert_eq!(job.step, Some(step.clone()));
        job.stepped(None);
        assert_eq!(job.step, None);
        job.stepped(Some(step.clone()));
        assert!(job.ended(Outcome::Interrupted, "later".to_owned()));
        job.stepped(Some(step));
        assert_eq!(job.step, None, "it has ended");
    }

    #[test]
    fn the_costs_so_far_are_those_of_the_study_that_measures_and_not_too_many() {
        let mut job = job();
        let table = |rows: usize| TextTable {
            title: "after 2 rounds".to_owned(),
            headings: vec!["arm".to_owned(), "CPU %".to_owned()],
            rows: vec![vec!["lua".to_owned(), "+5.0 ±0.5".to_owned()]; rows],
            more: 0,
        };
        job.costed(Some(table(MAX_ROWS + 3)));
        let costs = job.costs.clone().unwrap();
        assert_eq!((costs.rows.len(), costs.more), (MAX_ROWS, 3));
        job.costed(Some(table(2)));
        assert_eq!(job.costs.as_ref().map(|costs| (costs.rows.len(), costs.more)), Some((2, 0)));
        assert!(job.ended(Outcome::Interrupted, "later".to_owned()));
        job.costed(Some(table(2)));
        assert_eq!(job.costs, None, "its result has them");
    }

    #[test]
    fn what_commands_a_terminal_is_written_out() {
        let mut job = job();
        let (given, expected) = ("`a\u{9b}2J\u{202e}b`\nsaid", "`a\\u{9b}2J\\u{202e}b`\nsaid");
        job.noted(given);
        job.stepped(Some(Step { done: 1, all: 10, line: given.to_owned() }));
        assert_eq!(job.notes, [expected]);
        assert_eq!(job.step.as_ref().map(|step| step.line.as_str()), Some(expected));
        job.ended(Outcome::Failed(given.to_owned()), "later".to_owned());
        assert_eq!(job.problem.as_deref(), Some(expected));
    }

    #[test]
    fn long_texts_are_cut_between_letters() {
        let mut job = job();
        let (fits, long) = ("é".repeat(MAX_TEXT_BYTES / 2), "é".repeat(MAX_TEXT_BYTES / 2 + 1));
        job.noted(&fits);
        job.noted(&long);
        job.noted(&format!("e{fits}"));
        let cut = format!("e{}\u{2026}", "é".repeat(MAX_TEXT_BYTES / 2 - 1));
        assert_eq!(job.notes, [fits.clone(), format!("{fits}\u{2026}"), cut]);
        job.ended(Outcome::Failed(long), "later".to_owned());
        assert_eq!(job.problem, Some(format!("{fits}\u{2026}")));
    }
}
