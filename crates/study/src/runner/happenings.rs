//! Performs the events of a course: changes origins, and restarts the first proxy.

use std::time::Duration;

use hoptax_host::accounting::memory_bytes;
use hoptax_host::freeze::Freezer;
use hoptax_load::now_ns;
use hoptax_result::Happened;
use hoptax_subject::envoy::process::Proxy;
use hoptax_subject::origin::OriginProcess;

use super::origins::default_file;
use super::subjects::{Subjects, of};
use super::{RunError, Setting};
use crate::file::RestartWord;
use crate::plan::{Arm, Becomes, Change, TimedEvent, Timeline};

/// The events of a course.
pub(super) struct Happenings<'a> {
    arm: &'a Arm,
    setting: &'a Setting<'a>,
    /// The events that are still to happen, in the order of time.
    due: std::slice::Iter<'a, TimedEvent>,
    happened: Vec<Happened>,
    /// Stops origins that become silent.
    freezer: Freezer,
    /// The generation before the first proxy's own. It ends by itself, or when it is dropped.
    earlier: Option<Proxy>,
    /// Number of hot restarts so far.
    epoch: u32,
}

impl<'a> Happenings<'a> {
    /// The events of a course of an arm.
    pub(super) fn new(timeline: &'a Timeline, arm: &'a Arm, setting: &'a Setting<'a>) -> Self {
        Self {
            arm,
            setting,
            due: timeline.events.iter(),
            happened: Vec::new(),
            freezer: Freezer::new(),
            earlier: None,
            epoch: 0,
        }
    }

    /// When the next event is due, since the start of the slice.
    pub(super) fn due(&self) -> Option<Duration> {
        self.due.as_slice().first().map(|event| event.at)
    }

    /// Performs the events with which the slice begins, before the warm-up, so that the whole slice is under their effect.
    pub(super) fn at_the_start(&mut self, subjects: &mut Subjects) -> Result<(), RunError> {
        while self.due() == Some(Duration::ZERO) {
            // They begin with the slice, which has not started.
            self.perform(subjects, now_ns())?;
        }
        Ok(())
    }

    /// Performs the next event. The slice began at `from_ns`.
    pub(super) fn perform(&mut self, subjects: &mut Subjects, from_ns: u64) -> Result<(), RunError> {
        let Some(TimedEvent { at, change }) = self.due.next() else { return Ok(()) };
        if matches!(change, Change::Restart(_)) {
            self.wait_for_earlier()?;
        }
        let since_s = || now_ns().saturating_sub(from_ns) as f64 / 1e9;
        let began_s = since_s();
        let generations_bytes = match change {
            Change::Origin { number, becomes } => {
                let origins = subjects.origins_behind(self.arm);
                let changed = number.map_or(0..origins.len(), |number| number..number + 1);
                for (origin, number) in origins.iter().skip(changed.start).take(changed.len()).zip(changed) {
                    self.change(origin, number, becomes)?;
                }
                Vec::new()
            }
            Change::Restart(RestartWord::Hot) => self.restart(subjects)?,
            Change::Restart(RestartWord::Broken) => self.restart_broken(subjects)?,
        };
        self.happened.push(Happened {
            what: change.to_string(),
            planned_s: at.as_secs_f64(),
            began_s,
            done_s: since_s(),
            generations_bytes,
        });
        Ok(())
    }

    fn change(&mut self, origin: &OriginProcess, number: usize, becomes: &Becomes) -> Result<(), RunError> {
        if *becomes == Becomes::Silent {
            return Ok(self.freezer.freeze(&[origin.id()])?);
        }
        self.freezer.thaw(&[origin.id()])?;
        let query = if let Becomes::Answering(query) = becomes { query } else { "" };
        Ok(origin.set_default(&default_file(self.setting, number), query)?)
    }

    /// Waits until the generation before the first proxy's own has ended: the start of a successor would end it with its requests
    /// in flight.
    fn wait_for_earlier(&mut self) -> Result<(), RunError> {
        let Some(earlier) = self.earlier.take() else { return Ok(()) };
        earlier.wait_for_end().map_err(|error| of(self.arm)(error.into()))
    }

    /// Replaces the first proxy by a successor that takes over its sockets, and returns the memory of all generations.
    fn restart(&mut self, subjects: &mut Subjects) -> Result<Vec<u64>, RunError> {
        let arm_error = of(self.arm);
        let Some(subject) = subjects.all.first_mut() else { return Ok(Vec::new()) };
        let (Some(spec), Some(proxy)) = (&subject.spec, subject.proxies.first_mut()) else {
            return Ok(Vec::new());
        };
        let successor = spec.successor(proxy, self.epoch + 1).map_err(|error| arm_error(error.into()))?;
        let start = || {
            successor.configure()?;
            successor.start()?.wait()
        };
        let live = start().map_err(|error| arm_error(error.into()))?;
        self.epoch += 1;
        self.earlier = Some(std::mem::replace(proxy, live));
        // The earlier one may have ended by the time that it is read.
        let generations = self.earlier.iter().chain(subject.proxies.first());
        Ok(generations.filter_map(|proxy| memory_bytes(proxy.id()).ok()).filter(|bytes| *bytes > 0).collect())
    }

    /// Starts a successor of the first proxy whose configuration is invalid, and waits until it has ended.
    fn restart_broken(&mut self, subjects: &mut Subjects) -> Result<Vec<u64>, RunError> {
        let arm_error = of(self.arm);
        let Some(subject) = subjects.all.first() else { return Ok(Vec::new()) };
        if let (Some(spec), Some(proxy)) = (&subject.spec, subject.proxies.first()) {
            let successor = spec.successor(proxy, self.epoch + 1).and_then(|spec| spec.start_broken());
            successor.map_err(|error| arm_error(error.into()))?;
        }
        Ok(Vec::new())
    }

    /// Undoes what would keep processes from ending, and returns what happened.
    pub(super) fn finish(mut self) -> Result<Vec<Happened>, RunError> {
        self.freezer.thaw_all()?;
        Ok(self.happened)
    }
}
