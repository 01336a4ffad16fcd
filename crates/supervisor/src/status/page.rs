//! The status as text: the answer first, then the table of upstreams.

use std::fmt;

use hoptax_result::{counted, grouped, percent};
use hoptax_text::command_line::path_word;

use super::{Outcome, Slow, State, Status, Upstream};

/// Maximum number of lines of a reason.
const REASON_LINES: usize = 20;
/// The headings of the table of upstreams.
pub(super) const HEADINGS: [&str; 7] =
    ["upstream", "requests/s", "wait", "first byte p50", "first byte p90", "rest", "unanswered"];

/// A line above the table of upstreams, with its details.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    /// The line. Names are between backticks.
    pub(super) text: String,
    /// Lines of details.
    pub(super) details: Vec<String>,
    /// True if somebody should look.
    pub(super) is_alarm: bool,
}

impl Statement {
    fn usual(text: String) -> Self {
        Self { text, details: Vec::new(), is_alarm: false }
    }

    fn alarm(text: String) -> Self {
        Self { is_alarm: true, ..Self::usual(text) }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Statement { text, details, .. } in self.statements() {
            writeln!(f, "{text}")?;
            details.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
        }
        writeln!(f, "\n{}", self.counted())?;
        self.write_upstreams(f)
    }
}

impl Status {
    /// The statements above the table of upstreams; the answer comes first.
    pub(super) fn statements(&self) -> Vec<Statement> {
        let replaced = |process: &u32| {
            Statement::usual(format!("Process {process} was replaced, and finishes its requests"))
        };
        let mut all = vec![self.of_state()];
        all.extend(self.leaving.iter().map(replaced));
        all.extend(self.of_last());
        all.extend(self.of_slow());
        all
    }

    /// Counts of events since the supervisor started.
    pub(super) fn counted(&self) -> String {
        let counts = &self.counts;
        format!(
            "{}, {}, {}, {}",
            counted(counts.restarts, "hot restart"),
            counted(counts.refused, "refused file"),
            counted(counts.not_started, "failed start"),
            counted(counts.lost, "lost Envoy"),
        )
    }

    fn of_state(&self) -> Statement {
        match (&self.serving, self.state) {
            (Some(serving), State::Serving | State::Starting) => {
                let warnings = match serving.warnings as u64 {
                    0 => String::new(),
                    many => {
                        let file = path_word(self.file.as_ref());
                        format!("; `hoptax lint {file}` has {}", counted(many, "warning"))
                    }
                };
                Statement::usual(format!(
                    "Envoy {} serves {} of `{}` since {} (process {}, epoch {}){warnings}",
                    serving.envoy,
                    counted(serving.listeners as u64, "listener"),
                    self.file,
                    serving.since,
                    serving.process_id,
                    serving.epoch
                ))
            }
            (_, State::Stopping) => Statement::usual(format!("The supervisor of `{}` ends", self.file)),
            (None, _) => Statement::alarm(format!("No Envoy serves `{}`; one is about to start", self.file)),
        }
    }

    fn of_last(&self) -> Option<Statement> {
        let at = &self.last.at;
        let before = if self.serving.is_some() { "; the previous one is still served" } else { "" };
        let mut statement = match self.last.outcome {
            Outcome::Served | Outcome::Reading => return None,
            Outcome::Refused => Statement::alarm(format!("The file of {at} is REFUSED{before}:")),
            Outcome::Waiting => Statement::usual(format!("The file of {at} is accepted, but waits:")),
            Outcome::NotStarted => {
                Statement::alarm(format!("Envoy did NOT START on the file of {at}{before}:"))
            }
        };
        let reason = self.last.reason.as_deref().unwrap_or_default();
        statement.details = reason.lines().take(REASON_LINES).map(str::to_owned).collect();
        Some(statement)
    }

    fn of_slow(&self) -> Vec<Statement> {
        let slow: Vec<(&Upstream, &Slow)> =
            self.upstreams.iter().filter_map(|one| Some((one, one.slow.as_ref()?))).collect();
        let said = |(upstream, slow): &(&Upstream, &Slow)| {
            let now = match upstream.first_byte_p90_us {
                Some(us) => format!("the first byte comes after {} (p90)", milliseconds(Some(us))),
                None => format!("{} have no response in time", percent(upstream.unanswered_share, 0)),
            };
            let compared = match (slow.usual_us, slow.others_us) {
                (_, Some(others)) => {
                    format!(
                        "as slow since its first requests; p90 of the others: {}",
                        milliseconds(Some(others))
                    )
                }
                (usual, None) => format!("p90 before: {}", milliseconds(usual)),
            };
            Statement::alarm(format!("`{}` is SLOW since {}: {now}; {compared}", upstream.name, slow.since))
        };
        let mut all: Vec<Statement> = slow.iter().map(said).collect();
        if slow.len() > 2 && slow.len() * 2 > self.upstreams.len() {
            all.push(Statement::alarm(format!(
                "{} of {} upstreams are slow: look at this machine and its network first",
                slow.len(),
                self.upstreams.len()
            )));
        }
        all
    }

    /// Remarks above the table of upstreams, or instead of it.
    pub(super) fn of_times(&self) -> Vec<String> {
        let unknown = self.unknown_times.as_ref();
        let mut all: Vec<String> = unknown
            .map(|why| format!("the times of upstreams are currently unknown: {why}"))
            .into_iter()
            .collect();
        if self.upstreams.is_empty() {
            all.push("no upstream has had fifty requests yet".to_owned());
        }
        all
    }

    fn write_upstreams(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.of_times().iter().try_for_each(|line| writeln!(f, "{line}"))?;
        if self.upstreams.is_empty() {
            return Ok(());
        }
        writeln!(f)?;
        let names = self.upstreams.iter().map(|one| one.name.chars().count());
        let width = names.max().unwrap_or_default().max(HEADINGS[0].len());
        let mut line = |[name, rate, wait, median, high, rest, unanswered]: [&str; HEADINGS.len()]| {
            writeln!(
                f,
                "{name:width$}  {rate:>10}  {wait:>9}  {median:>14}  {high:>14}  {rest:>9}  {unanswered:>10}"
            )
        };
        line(HEADINGS)?;
        self.upstreams.iter().try_for_each(|one| line(one.cells().each_ref().map(String::as_str)))
    }
}

impl Upstream {
    /// Its row of the table.
    pub(super) fn cells(&self) -> [String; HEADINGS.len()] {
        [
            self.name.clone(),
            grouped(self.requests_per_second, 1),
            milliseconds(self.wait_p50_us),
            milliseconds(self.first_byte_p50_us),
            milliseconds(self.first_byte_p90_us),
            milliseconds(self.rest_p50_us),
            percent(self.unanswered_share, 1),
        ]
    }
}

fn milliseconds(us: Option<f64>) -> String {
    match us {
        None => "none".to_owned(),
        Some(us) if us < 10_000.0 => format!("{} ms", grouped(us / 1000.0, 2)),
        Some(us) => format!("{} ms", grouped(us / 1000.0, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn the_answer_comes_first() {
        insta::assert_snapshot!(sample());
    }

    #[test]
    fn each_state_has_its_words() {
        let mut status = sample();
        status.upstreams.clear();
        status.leaving.clear();
        status.last.outcome = Outcome::Served;
        status.serving = None;
        status.state = State::Starting;
        assert!(status.to_string().starts_with("No Envoy serves"), "{status}");
        status.state = State::Stopping;
        assert!(status.to_string().starts_with("The supervisor of `listeners.yaml` ends\n\n"), "{status}");
    }

    #[test]
    fn the_command_that_lists_the_warnings_can_be_pasted() {
        let mut status = sample();
        status.file = "l $(reboot).yaml".to_owned();
        assert!(status.to_string().contains("; `hoptax lint 'l $(reboot).yaml'` has 2 warnings"), "{status}");
    }

    #[test]
    fn a_file_that_is_not_served_has_one_before_only_if_an_envoy_serves() {
        let mut status = sample();
        for outcome in [Outcome::Refused, Outcome::NotStarted] {
            status.last.outcome = outcome;
            status.serving = sample().serving;
            assert!(status.to_string().contains("; the previous one is still served:\n"), "{status}");
            status.serving = None;
            assert!(!status.to_string().contains("is still served"), "{status}");
        }
    }
}
