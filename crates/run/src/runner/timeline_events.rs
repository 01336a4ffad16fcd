//! Performs the events of a course: changes to origins, and restarts of proxies.

use std::collections::BTreeMap;
use std::time::Duration;

use hoptax_host::accounting::memory_bytes;
use hoptax_host::freeze::Freezer;
use hoptax_load::now_ns;
use hoptax_plan::file::RestartWord;
use hoptax_plan::plan::{Arm, Becomes, Change, Place, TimedEvent, Timeline};
use hoptax_result::Happened;
use hoptax_subject::envoy::process::{Proxy, ProxyError, ProxySpec};
use hoptax_subject::origin::OriginProcess;

use super::error::{in_arm, missing};
use super::origins::default_file;
use super::subjects::Subjects;
use super::{RunError, Setting};

/// The events of a course.
pub(super) struct TimelineEvents<'a> {
    arm: &'a Arm,
    setting: &'a Setting<'a>,
    /// The events that are still due, in chronological order.
    due: std::slice::Iter<'a, TimedEvent>,
    performed: Vec<Happened>,
    /// Stops origins that become silent.
    freezer: Freezer,
    /// The generations of the proxies that were restarted, by their index.
    generations: BTreeMap<usize, Generations>,
}

/// Hot restarts of a proxy: their number, and the process that the live one replaced.
#[derive(Debug, Default)]
struct Generations {
    /// Number of hot restarts since it was started.
    epoch: u32,
    /// The process that the live one replaced. It ends by itself, or when this value is dropped.
    earlier: Option<Proxy>,
}

impl Generations {
    /// Restarts a live proxy. Returns the new live process, and the memory of all processes of the proxy. The process that the live one
    /// replaced must have ended.
    fn restart(
        &mut self,
        live: Proxy,
        spec: &ProxySpec,
        how: RestartWord,
    ) -> Result<(Proxy, Vec<u64>), ProxyError> {
        let now = match how {
            RestartWord::Cold => {
                *self = Self::default();
                spec.restart_cold(live)?
            }
            RestartWord::Hot => {
                let successor = spec.successor(&live, self.epoch + 1)?;
                successor.configure()?;
                let now = successor.start()?.wait()?;
                self.epoch += 1;
                self.earlier = Some(live);
                now
            }
            RestartWord::Broken => {
                spec.successor(&live, self.epoch + 1)?.start_broken()?;
                return Ok((live, Vec::new()));
            }
        };
        // The earlier process may end before its memory is read.
        let processes = self.earlier.iter().chain([&now]);
        let bytes = processes.filter_map(|proxy| memory_bytes(proxy.id()).ok()).filter(|bytes| *bytes > 0);
        let bytes = bytes.collect();
        Ok((now, bytes))
    }
}

impl<'a> TimelineEvents<'a> {
    /// The events of a course of an arm.
    pub(super) fn new(timeline: &'a Timeline, arm: &'a Arm, setting: &'a Setting<'a>) -> Self {
        Self {
            arm,
            setting,
            due: timeline.events.iter(),
            performed: Vec::new(),
            freezer: Freezer::default(),
            generations: BTreeMap::new(),
        }
    }

    /// Returns the time of the next event, since the start of the slice.
    pub(super) fn due(&self) -> Option<Duration> {
        self.due.as_slice().first().map(|event| event.at)
    }

    /// Performs the events with which the slice begins, before the warm-up, so that the whole slice is under their effect.
    pub(super) fn at_the_start(&mut self, subjects: &mut Subjects<'_>) -> Result<(), RunError> {
        while self.due() == Some(Duration::ZERO) {
            // These events begin with the slice, which has not started yet.
            self.perform(subjects, now_ns())?;
        }
        Ok(())
    }

    /// Performs the next event. The slice began at `from_ns`.
    pub(super) fn perform(&mut self, subjects: &mut Subjects<'_>, from_ns: u64) -> Result<(), RunError> {
        // All events were performed.
        let Some(TimedEvent { at, change }) = self.due.next() else { return Ok(()) };
        if let Change::Restart { proxy, .. } = change {
            self.wait_for_earlier(proxy.as_deref())?;
        }
        let since_s = || now_ns().saturating_sub(from_ns) as f64 / 1e9;
        let began_s = since_s();
        let generations_bytes = match change {
            Change::Origin { number, becomes } => {
                let origins = subjects.origins_behind(self.arm)?;
                let changed = number.map_or(0..origins.len(), |number| number..number + 1);
                for (origin, number) in origins.iter().skip(changed.start).take(changed.len()).zip(changed) {
                    self.change(origin, number, becomes)?;
                }
                Vec::new()
            }
            Change::Restart { proxy, how } => self.restart(subjects, proxy.as_deref(), *how)?,
        };
        self.performed.push(Happened {
            event: change.to_string(),
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

    /// Waits until the previous generation of a proxy has ended: the start of another successor would end it with its requests in flight.
    fn wait_for_earlier(&mut self, name: Option<&str>) -> Result<(), RunError> {
        let place = self.arm.chain.place_of(name);
        let generations = place.and_then(|place| self.generations.get_mut(&place.number));
        let Some(earlier) = generations.and_then(|generations| generations.earlier.take()) else {
            return Ok(());
        };
        earlier.wait_for_end().map_err(in_arm(self.arm))
    }

    /// Restarts a proxy, and returns the memory of all its generations.
    fn restart(
        &mut self,
        subjects: &mut Subjects<'_>,
        name: Option<&str>,
        how: RestartWord,
    ) -> Result<Vec<u64>, RunError> {
        let unknown =
            || missing(&self.arm.id, &format!("proxy `{}` to restart", name.unwrap_or("of the arm")));
        let Place { number, .. } = self.arm.chain.place_of(name).ok_or_else(unknown)?;
        let subject = &mut subjects.only(self.arm)?.subject;
        let spec = subject.specs.get(&number).ok_or_else(unknown)?;
        if number >= subject.proxies.len() {
            return Err(unknown());
        }
        let live = subject.proxies.remove(number);
        let restarted = self.generations.entry(number).or_default().restart(live, spec, how);
        let (live, generations_bytes) = restarted.map_err(in_arm(self.arm))?;
        subject.proxies.insert(number, live);
        Ok(generations_bytes)
    }

    /// Thaws frozen processes, which could not end otherwise. Returns all events.
    pub(super) fn finish(mut self) -> Result<Vec<Happened>, RunError> {
        self.freezer.thaw_all()?;
        Ok(self.performed)
    }
}
