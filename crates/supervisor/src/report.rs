//! Outputs of the supervisor: the log, the status, and systemd.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use hoptax_host::environment::now;
use hoptax_listeners::phases::Phase;
use hoptax_result::counted;
use humantime::format_rfc3339_seconds;
use sd_notify::NotifyState;

use crate::endpoint::SharedStatus;
use crate::machine::{Moment, Process};
use crate::slow::{self, Upstreams};
use crate::status::{Counts, FORMAT, Last, Outcome, Serving, Slow, State, Status, Upstream};

/// Maximum length of a status for systemd, bytes. Its datagrams have 4 KiB.
const LONGEST: usize = 1024;

/// A notification to systemd (`sd_notify(3)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notification {
    None,
    /// Serving, and no restart is in progress.
    Ready,
    /// Reading the file again, and possibly restarting Envoy.
    Reloading,
    /// Stopping. No notification may follow: a service that announces to be ready after stopping counts as running.
    Stopping,
}

/// Reports events to people and machines.
pub(crate) struct Reporter<'a> {
    /// Start of the supervisor.
    began: SystemTime,
    log: &'a dyn Fn(&str),
    status: SharedStatus,
    notified: Notification,
    /// The slow upstreams that the log has reported.
    slow: Vec<String>,
}

impl<'a> Reporter<'a> {
    pub(crate) fn new(file: &str, began: SystemTime, log: &'a dyn Fn(&str)) -> Self {
        let status = Status {
            format: FORMAT.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            file: file.to_owned(),
            state: State::Starting,
            serving: None,
            last: Last { at: now(), outcome: Outcome::Reading, reason: None },
            leaving: Vec::new(),
            counts: Counts::default(),
            upstreams: Vec::new(),
            unknown_times: None,
        };
        Self {
            began,
            log,
            status: Arc::new(Mutex::new(status)),
            notified: Notification::None,
            slow: Vec::new(),
        }
    }

    /// The shown status.
    pub(crate) fn status(&self) -> SharedStatus {
        Arc::clone(&self.status)
    }

    /// Changes the status.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Status)) {
        change(&mut self.status.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// A line of the log.
    pub(crate) fn log(&self, text: &str) {
        (self.log)(text);
    }

    /// A moment as a time of day.
    pub(crate) fn time(&self, moment: Moment) -> String {
        format_rfc3339_seconds(self.began + moment).to_string()
    }

    /// Reports that the file is being read.
    pub(crate) fn reading(&mut self) {
        self.change(|status| status.last = Last { at: now(), outcome: Outcome::Reading, reason: None });
        if self.notified == Notification::Ready {
            self.notify(Notification::Reloading, "the file is being read");
        }
    }

    /// Reports that the file is refused.
    pub(crate) fn refused(&mut self, why: &str) {
        self.change(|status| status.counts.refused += 1);
        self.set_outcome(Outcome::Refused, Some(why));
        self.end_reload();
    }

    /// Reports that the file is accepted. The reload continues.
    pub(crate) fn accepted(&mut self) {
        self.set_outcome(Outcome::Waiting, Some("its Envoy is starting"));
    }

    /// Reports that the file is accepted and will be served later.
    pub(crate) fn waits(&mut self, why: &str) {
        self.set_outcome(Outcome::Waiting, Some(why));
        self.end_reload();
    }

    /// Reports that the file has the same content as before, which is being served or waits.
    pub(crate) fn unchanged(&mut self, is_served: bool) {
        self.set_outcome(if is_served { Outcome::Served } else { Outcome::Waiting }, None);
        self.end_reload();
    }

    /// Reports that Envoy did not start on the file, which is not tried again.
    pub(crate) fn given_up(&mut self, why: &str) {
        self.set_outcome(Outcome::NotStarted, Some(why));
        self.end_reload();
    }

    fn set_outcome(&self, outcome: Outcome, reason: Option<&str>) {
        let reason = reason.map(str::to_owned);
        self.change(|status| (status.last.outcome, status.last.reason) = (outcome, reason));
    }

    /// Ends a reload, whatever its outcome.
    fn end_reload(&mut self) {
        if self.notified == Notification::Reloading {
            self.notify_ready();
        }
    }

    fn notify_ready(&mut self) {
        let status = self.status.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let line = match status.last.outcome {
            Outcome::Refused | Outcome::NotStarted => {
                format!(
                    "the file of {} is not served: {}",
                    status.last.at,
                    status.last.reason.unwrap_or_default()
                )
            }
            _ => status.to_string(),
        };
        self.notify(Notification::Ready, &line);
    }

    /// Notifies systemd, with a line for people. Errors are ignored, because they could not be reported anywhere else.
    fn notify(&mut self, notification: Notification, line: &str) {
        if self.notified == Notification::Stopping {
            return;
        }
        self.notified = notification;
        let mut states = match notification {
            Notification::None => return,
            Notification::Ready => vec![NotifyState::Ready],
            // `Type=notify-reload` requires the time.
            Notification::Reloading => [Some(NotifyState::Reloading), NotifyState::monotonic_usec_now().ok()]
                .into_iter()
                .flatten()
                .collect(),
            Notification::Stopping => vec![NotifyState::Stopping],
        };
        states.push(NotifyState::Status(first_line(line)));
        let _ = sd_notify::notify(&states);
    }

    /// Reports that a process serves the last file or an earlier one.
    pub(crate) fn serves(&mut self, process: Process, serving: Serving, is_last: bool) {
        let Serving { process_id, epoch, listeners, warnings, .. } = serving;
        let listeners = counted(listeners as u64, "listener");
        let more = match warnings as u64 {
            0 => String::new(),
            warnings => format!("; `hoptax lint` has {}", counted(warnings, "warning")),
        };
        self.log(&format!("process {process_id} serves {listeners}, epoch {epoch}{more}"));
        self.change(|status| {
            status.counts.restarts += u64::from(process.epoch > 0);
            status.state = State::Serving;
            status.serving = Some(serving);
        });
        if is_last {
            self.set_outcome(Outcome::Served, None);
        }
        if self.notified != Notification::Ready {
            self.notify_ready();
        }
    }

    /// Reports that the supervisor is stopping.
    pub(crate) fn stopping(&mut self) {
        self.change(|status| status.state = State::Stopping);
        self.notify(Notification::Stopping, "ends");
    }

    /// Reports the times of upstreams.
    pub(crate) fn upstreams(&mut self, upstreams: &Upstreams) {
        let all: Vec<Upstream> =
            upstreams.known().into_iter().map(|(name, known)| self.upstream(name, &known)).collect();
        let slow: Vec<&Upstream> = all.iter().filter(|one| one.slow.is_some()).collect();
        for one in slow.iter().filter(|one| !self.slow.contains(&one.name)) {
            let since = one.slow.as_ref().map(|slow| slow.since.as_str()).unwrap_or_default();
            self.log(&format!("upstream `{}` is slow since {since}", one.name));
        }
        for name in self.slow.iter().filter(|name| !slow.iter().any(|one| one.name == **name)) {
            self.log(&format!("upstream `{name}` is no longer slow"));
        }
        self.slow = slow.into_iter().map(|one| one.name.clone()).collect();
        self.change(|status| {
            status.upstreams = all;
            status.unknown_times = None;
        });
    }

    fn upstream(&self, name: String, known: &slow::Known) -> Upstream {
        let finite = |us: f64| us.is_finite().then_some(us);
        let median = |phase: Phase| known.medians_us.get(&phase).copied().and_then(finite);
        let slow = known.slow.map(|slow| match slow {
            slow::Slow::Became { since, usual_us } => {
                Slow { since: self.time(since), usual_us: finite(usual_us), others_us: None }
            }
            slow::Slow::Always { since, others_us } => {
                Slow { since: self.time(since), usual_us: None, others_us: finite(others_us) }
            }
        });
        Upstream {
            name,
            requests_per_second: known.per_second,
            unanswered_share: known.unanswered,
            wait_p50_us: median(Phase::Wait),
            first_byte_p50_us: median(Phase::FirstByte),
            first_byte_p90_us: finite(known.compared_us),
            rest_p50_us: median(Phase::Rest),
            slow,
        }
    }
}

/// The first line of a text, cut to the length that systemd accepts.
fn first_line(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    let end = (0..=LONGEST.min(line.len())).rev().find(|end| line.is_char_boundary(*end)).unwrap_or_default();
    line.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systemd_gets_one_line_of_whole_letters() {
        assert_eq!(first_line("serves\nmore"), "serves");
        assert_eq!(first_line(""), "");
        assert_eq!(
            first_line(&format!("a{}", "é".repeat(LONGEST))),
            format!("a{}", "é".repeat(LONGEST / 2 - 1))
        );
    }
}
