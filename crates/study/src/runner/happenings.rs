//! Performs the events of a course: changes origins, and restarts proxies.

use std::collections::BTreeMap;
use std::time::Duration;

use hoptax_host::accounting::memory_bytes;
use hoptax_host::freeze::Freezer;
use hoptax_load::now_ns;
use hoptax_result::Happened;
use hoptax_subject::envoy::process::{Proxy, ProxyError, ProxySpec};
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
    /// Earlier generations of proxies, by the index of the proxy, one for each hot restart. They end by themselves, or when they are
    /// dropped.
    earlier: BTreeMap<usize, Vec<Proxy>>,
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
            earlier: BTreeMap::new(),
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
            Change::Restart { proxy, how } => self.restart(subjects, proxy.as_deref(), *how)?,
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

    /// Restarts a proxy, and returns the memory of all its generations.
    fn restart(
        &mut self,
        subjects: &mut Subjects,
        name: Option<&str>,
        how: RestartWord,
    ) -> Result<Vec<u64>, RunError> {
        let (Some(subject), Some(number)) = (subjects.all.first_mut(), self.arm.chain.number_of(name)) else {
            return Ok(Vec::new());
        };
        let Some(spec) = subject.specs.get(&number) else { return Ok(Vec::new()) };
        self.restart_one(&mut subject.proxies, number, spec, how).map_err(|error| of(self.arm)(error.into()))
    }

    fn restart_one(
        &mut self,
        proxies: &mut Vec<Proxy>,
        number: usize,
        spec: &ProxySpec,
        how: RestartWord,
    ) -> Result<Vec<u64>, ProxyError> {
        let earlier = self.earlier.entry(number).or_default();
        let epoch = earlier.len() as u32 + 1;
        let Some(proxy) = proxies.get_mut(number) else { return Ok(Vec::new()) };
        match how {
            RestartWord::Cold => {
                earlier.clear();
                let live = spec.restart_cold(proxies.remove(number))?;
                proxies.insert(number, live);
            }
            RestartWord::Hot => {
                let successor = spec.successor(proxy, epoch)?;
                successor.configure()?;
                let live = successor.start()?.wait()?;
                earlier.push(std::mem::replace(proxy, live));
            }
            RestartWord::Broken => {
                spec.successor(proxy, epoch)?.start_broken()?;
                return Ok(Vec::new());
            }
        }
        // The one before the last may have ended, and so may the last by the time that it is read.
        let generations = earlier.iter().chain(proxies.get(number));
        Ok(generations.filter_map(|proxy| memory_bytes(proxy.id()).ok()).filter(|bytes| *bytes > 0).collect())
    }

    /// Undoes what would keep processes from ending, and returns what happened.
    pub(super) fn finish(mut self) -> Result<Vec<Happened>, RunError> {
        self.freezer.thaw_all()?;
        Ok(self.happened)
    }
}
