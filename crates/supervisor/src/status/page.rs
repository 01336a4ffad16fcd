//! The status as text: the answer first, then the table of upstreams.

use std::fmt;

use hoptax_result::counted;

use super::{Outcome, Slow, State, Status, Upstream};

/// Lines of a reason that are shown.
const REASON_LINES: usize = 20;

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_state(f)?;
        self.write_last(f)?;
        self.write_slow(f)?;
        let counts = &self.counts;
        writeln!(
            f,
            "\n{}, {}, {}, {}",
            counted(counts.restarts, "hot restart"),
            counted(counts.refused, "refused file"),
            counted(counts.not_started, "failed start"),
            counted(counts.lost, "lost Envoy"),
        )?;
        self.write_upstreams(f)
    }
}

impl Status {
    fn write_state(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.serving, self.state) {
            (Some(serving), State::Serving | State::Starting) => {
                write!(
                    f,
                    "Envoy {} serves {} of `{}` since {} (process {}, epoch {})",
                    serving.envoy,
                    counted(serving.listeners as u64, "listener"),
                    self.file,
                    serving.since,
                    serving.process_id,
                    serving.epoch
                )?;
                match serving.warnings {
                    0 => writeln!(f),
                    many => {
                        writeln!(f, "; `hoptax lint {}` has {}", self.file, counted(many as u64, "warning"))
                    }
                }?;
            }
            (_, State::Stopping) => writeln!(f, "The supervisor of `{}` ends", self.file)?,
            (None, _) => writeln!(f, "No Envoy serves `{}`; one is about to start", self.file)?,
        }
        for process in &self.leaving {
            writeln!(f, "Process {process} was replaced, and finishes its requests")?;
        }
        Ok(())
    }

    fn write_last(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = &self.last.at;
        let before = if self.serving.is_some() { ", and the one before is served" } else { "" };
        match self.last.outcome {
            Outcome::Served | Outcome::Reading => return Ok(()),
            Outcome::Refused => writeln!(f, "The file of {at} is REFUSED{before}:")?,
            Outcome::Waiting => writeln!(f, "The file of {at} is accepted, and waits:")?,
            Outcome::NotStarted => writeln!(f, "Envoy did NOT START on the file of {at}{before}:")?,
        }
        let reason = self.last.reason.as_deref().unwrap_or_default();
        reason.lines().take(REASON_LINES).try_for_each(|line| writeln!(f, "  {line}"))
    }

    fn write_slow(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slow: Vec<(&Upstream, &Slow)> =
            self.upstreams.iter().filter_map(|one| Some((one, one.slow.as_ref()?))).collect();
        for (upstream, slow) in &slow {
            let now = match upstream.first_byte_p90_us {
                Some(us) => format!("the first byte comes after {} (p90)", milliseconds(Some(us))),
                None => format!("{:.0} % have no response in time", upstream.unanswered_share * 100.0),
            };
            let compared = match (slow.usual_us, slow.others_us) {
                (_, Some(others)) => {
                    format!("as long as it is known; the others have {}", milliseconds(Some(others)))
                }
                (usual, None) => format!("before it was {}", milliseconds(usual)),
            };
            writeln!(f, "`{}` is SLOW since {}: {now}, {compared}", upstream.name, slow.since)?;
        }
        if slow.len() > 2 && slow.len() * 2 > self.upstreams.len() {
            writeln!(
                f,
                "{} of {} upstreams are slow: look at this machine and its network first",
                slow.len(),
                self.upstreams.len()
            )?;
        }
        Ok(())
    }

    fn write_upstreams(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(why) = &self.unknown_times {
            writeln!(f, "times of upstreams are not known at present: {why}")?;
        }
        if self.upstreams.is_empty() {
            return writeln!(f, "no upstream had fifty requests yet");
        }
        let width =
            self.upstreams.iter().map(|one| one.name.chars().count()).max().unwrap_or_default().max(8);
        writeln!(
            f,
            "\n{:width$}  {:>10}  {:>9}  {:>14}  {:>14}  {:>9}  {:>10}",
            "upstream", "requests/s", "wait", "first byte p50", "first byte p90", "rest", "unanswered"
        )?;
        self.upstreams.iter().try_for_each(|one| {
            writeln!(
                f,
                "{:width$}  {:>10.1}  {:>9}  {:>14}  {:>14}  {:>9}  {:>8.1} %",
                one.name,
                one.requests_per_second,
                milliseconds(one.wait_p50_us),
                milliseconds(one.first_byte_p50_us),
                milliseconds(one.first_byte_p90_us),
                milliseconds(one.rest_p50_us),
                one.unanswered_share * 100.0
            )
        })
    }
}

fn milliseconds(us: Option<f64>) -> String {
    match us {
        None => "none".to_owned(),
        Some(us) if us < 10_000.0 => format!("{:.2} ms", us / 1000.0),
        Some(us) => format!("{:.1} ms", us / 1000.0),
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
    fn a_file_that_is_not_served_has_one_before_only_if_an_envoy_serves() {
        let mut status = sample();
        for outcome in [Outcome::Refused, Outcome::NotStarted] {
            status.last.outcome = outcome;
            status.serving = sample().serving;
            assert!(status.to_string().contains(", and the one before is served:\n"), "{status}");
            status.serving = None;
            assert!(!status.to_string().contains("before is served"), "{status}");
        }
    }
}
