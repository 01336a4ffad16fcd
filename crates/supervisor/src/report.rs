//! What the supervisor tells: the log, the status, and systemd.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use hoptax_host::environment::now;
use hoptax_listeners::phases::Phase;
use humantime::format_rfc3339_seconds;

use crate::endpoint::Shown;
use crate::machine::{Moment, Process};
use crate::notify::{Notifier, State as Notified};
use crate::slow::{self, Upstreams};
use crate::status::{Counts, FORMAT, Last, Outcome, Serving, Slow, State, Status, Upstream, counted};

/// Tells people and machines what happens.
pub(crate) struct Reporter<'a> {
    /// When the supervisor began.
    began: SystemTime,
    log: &'a dyn Fn(&str),
    notifier: Notifier,
    shown: Shown,
    /// Whether systemd was told that the service is ready.
    is_ready: bool,
    /// Whether it waits for the end of a reload.
    is_reloading: bool,
    /// The slow upstreams that the log names.
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
            notifier: Notifier::of_environment(),
            shown: Arc::new(Mutex::new(status)),
            is_ready: false,
            is_reloading: false,
            slow: Vec::new(),
        }
    }

    /// The status that is shown.
    pub(crate) fn shown(&self) -> Shown {
        Arc::clone(&self.shown)
    }

    /// Changes the status.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Status)) {
        change(&mut self.shown.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// A line of the log.
    pub(crate) fn log(&self, text: &str) {
        (self.log)(text);
    }

    /// A moment as a time of the day.
    pub(crate) fn time(&self, moment: Moment) -> String {
        format_rfc3339_seconds(self.began + moment).to_string()
    }

    /// The file is read.
    pub(crate) fn reading(&mut self) {
        self.change(|status| status.last = Last { at: now(), outcome: Outcome::Reading, reason: None });
        if self.is_ready {
            self.is_reloading = true;
            self.notifier.tell(Notified::Reloading, "the file is read");
        }
    }

    /// What became of the file.
    pub(crate) fn outcome(&mut self, outcome: Outcome, reason: Option<String>) {
        self.change(|status| {
            if outcome == Outcome::Refused {
                status.counts.refused += 1;
            }
            (status.last.outcome, status.last.reason) = (outcome, reason);
        });
        self.end_reload();
    }

    /// A reload has ended, whatever came of it.
    fn end_reload(&mut self) {
        if self.is_reloading {
            self.is_reloading = false;
            self.tell_ready();
        }
    }

    fn tell_ready(&self) {
        let status = self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
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
        self.notifier.tell(Notified::Ready, &line);
    }

    /// A process serves.
    pub(crate) fn serves(&mut self, process: Process, serving: Serving) {
        let Serving { process_id, epoch, listeners, warnings, .. } = serving;
        let listeners = counted(listeners as u64, "listener", "listeners");
        let more = match warnings as u64 {
            0 => String::new(),
            warnings => format!("; `hoptax lint` has {}", counted(warnings, "warning", "warnings")),
        };
        self.log(&format!("process {process_id} serves {listeners}, epoch {epoch}{more}"));
        self.change(|status| {
            status.counts.restarts += u64::from(process.epoch > 0);
            status.state = State::Serving;
            status.serving = Some(serving);
        });
        if self.is_ready {
            self.end_reload();
        } else {
            self.is_ready = true;
            self.tell_ready();
        }
    }

    /// The supervisor ends.
    pub(crate) fn stopping(&self) {
        self.change(|status| status.state = State::Stopping);
        self.notifier.tell(Notified::Stopping, "ends");
    }

    /// What is known of upstreams.
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
