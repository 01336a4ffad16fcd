//! Profiles the proxies of each arm once per round, after all slices, with perf or without it. The load is the same as in slices, but a
//! profile is not a slice: sampling costs the proxy CPU time, which the numbers of the study must not contain.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use hoptax_host::sampler::{Function, Sampler, Stack};
use hoptax_load::{Release, Run, Schedule, now_ns};
use hoptax_plan::plan::{self, Load, NumberedLoad};
use hoptax_plan::profile::folded::Folded;
use hoptax_plan::profile::{Frame, Sample, layer_of, samples};
use hoptax_plan::record::SliceRecord;
use hoptax_result::RoundProfile;

use super::error::in_arm;
use super::meter::{Meter, SETTLE};
use super::perf::{Perf, ProfileError, has_perf};
use super::running::{Last, Running};
use super::subjects::Subjects;
use super::top_down::Counters;
use super::{ArmError, RunError};

/// The folder of profiles in the run folder: in it a folder for each arm, with the stacks of each round.
pub const PROFILES: &str = "profiles";
/// Length of a profile.
pub const LENGTH: Duration = Duration::from_secs(1);
/// Samples per second of CPU time. A divisor of the kernel's tick rate would keep samples in step with the tick.
const FREQUENCY: u32 = 1_999;

impl Meter<'_> {
    /// Profiles the first copy of each arm with proxies, in random order.
    pub(super) fn profile(&mut self, subjects: &mut Subjects<'_>, stop: &AtomicBool) -> Result<(), RunError> {
        let counters = Counters::of_this_machine(stop);
        let mut order: Vec<&mut Running<'_>> = subjects.all.iter_mut().collect();
        plan::shuffle(self.plan, self.record.round, &mut order);
        for running in order.into_iter().filter(|running| running.planned.copy == 0) {
            let has_proxies = !running.subject.proxies.is_empty();
            // A plan without loads has nothing to profile.
            let Some(load) = self.plan.cpu_load_of(running.planned.arm).filter(|_| has_proxies) else {
                continue;
            };
            let proxies = running.subject.thaw(&mut self.freezer)?;
            self.open(running, load, stop)?;
            let mut profile = self.profile_subject(running, load, &proxies, stop)?;
            match self.count_subject(running, load, &counters, &proxies, stop)? {
                Ok(parts) => profile.top_down = parts,
                Err(reason) => profile.top_down_absent = Some(reason),
            }
            if let Some(after) = self.close(&mut running.subject, load)? {
                running.last = Some(Last { reading: after, slice: None });
            }
            self.freezer.freeze(&proxies)?;
            self.record.profiles.insert(running.planned.arm_number, profile);
        }
        Ok(())
    }

    fn profile_subject(
        &mut self,
        running: &mut Running<'_>,
        load: NumberedLoad<'_>,
        proxies: &[u32],
        stop: &AtomicBool,
    ) -> Result<RoundProfile, RunError> {
        let arm = running.planned.arm;
        let failed = |cause| in_arm(arm)(ArmError::Profile(cause));
        let directory = self.setting.directory.join(PROFILES).join(arm.folder(0));
        fs::create_dir_all(&directory)?;
        let profiler =
            Profiler::start(&directory, proxies, &self.setting.placement.generator).map_err(failed)?;
        let sampler = Some(profiler.name().to_owned());
        let (requests, cpu_ns) = self.loaded(running, load, stop)?;
        let found = profiler.end(stop).map_err(failed)?;
        let mut layers_ns: BTreeMap<String, u64> = BTreeMap::new();
        for sample in &found {
            *layers_ns.entry(layer_of(sample).to_owned()).or_default() += sample.cpu_ns;
        }
        let stacks = directory.join(format!("round-{}.folded", self.record.round));
        fs::write(&stacks, Folded::new(&found).text())?;
        Ok(RoundProfile { requests, cpu_ns, sampler, layers_ns, ..RoundProfile::default() })
    }

    /// The top-down counters of the proxies of a subject under the load of a profile, or why there are none.
    fn count_subject(
        &mut self,
        running: &mut Running<'_>,
        load: NumberedLoad<'_>,
        counters: &Counters,
        proxies: &[u32],
        stop: &AtomicBool,
    ) -> Result<Result<BTreeMap<String, f64>, String>, RunError> {
        let arm = running.planned.arm;
        let directory = self.setting.directory.join(PROFILES).join(arm.folder(0));
        fs::create_dir_all(&directory)?;
        let counting = counters.start(&directory, proxies, &self.setting.placement.generator, LENGTH)?;
        let counting = match counting {
            Ok(counting) => counting,
            Err(reason) => return Ok(Err(reason)),
        };
        self.loaded(running, load, stop)?;
        counting.end().map_err(|cause| in_arm(arm)(ArmError::Profile(cause)))
    }

    /// Sends the load of a profile. Returns the responses, and the CPU time of the proxies during it, nanoseconds.
    fn loaded(
        &mut self,
        running: &mut Running<'_>,
        load: NumberedLoad<'_>,
        stop: &AtomicBool,
    ) -> Result<(u64, u64), RunError> {
        let before = self.read(&running.subject)?;
        self.keep_late(running, &before)?;
        self.recording.clear();
        let release = self.release(running.planned.arm_number, load);
        let start_ns = now_ns();
        let drain_ns = self.plan.drain_ns(running.planned.arm, &load);
        let run = Run::new(release, start_ns, start_ns + LENGTH.as_nanos() as u64, drain_ns);
        running.subject.send(load, run, &mut self.recording, stop)?;
        thread::sleep(SETTLE);
        let after = self.read(&running.subject)?;
        let used = after.proxies_since(&before).map_or(0, |used| used.proxies.cpu_ns);
        running.last = Some(Last { reading: after, slice: None });
        let responses = self.recording.book.answered;
        self.recording.clear();
        Ok((responses, used))
    }

    /// The release of requests to the arm with this index under a load, as in the slices of the round. At another rate, a proxy spends its
    /// time on other layers, so their shares would not apply to the CPU time that the slices measured.
    fn release(&self, arm: usize, load: NumberedLoad<'_>) -> Release {
        let rate = rate_of(&self.record.slices, arm, load.number);
        // All arms with the same rate get the same release times.
        let seed = self.plan.seed ^ (u64::from(self.record.round) << 32);
        release_of(&load, rate, seed)
    }
}

/// Requests per second of an open loop in the slices of an arm, the same in all slices; none without a slice.
fn rate_of(slices: &[SliceRecord], arm: usize, load: usize) -> Option<f64> {
    let slice = slices.iter().find(|slice| slice.arm == arm && slice.load == load);
    slice.map(|slice| slice.planned_rate)
}

/// The release of requests under a load. If no slice of an arm was measured, its open loop has no rate and gets the minimum.
fn release_of(load: &Load, rate: Option<f64>, seed: u64) -> Release {
    match &load.open {
        None => Release::Closed,
        Some(open) => Release::Open(Schedule::new(open.arrivals.clone(), rate.unwrap_or(1.0), seed, 0, 1)),
    }
}

/// The sampler: perf, or without it hoptax itself.
enum Profiler {
    Perf(Perf),
    Own(Sampler),
}

impl Profiler {
    /// Starts to sample processes, and returns when sampling has begun. perf runs on `processors`.
    fn start(directory: &Path, processes: &[u32], processors: &[u32]) -> Result<Self, ProfileError> {
        if has_perf() {
            return Perf::start(directory, processes, FREQUENCY, processors).map(Self::Perf);
        }
        Sampler::start(processes, FREQUENCY).map(Self::Own).map_err(ProfileError::Sampler)
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Perf(_) => "perf",
            Self::Own(_) => "hoptax",
        }
    }

    /// Ends the recording, and returns its samples. The processes must still be there.
    fn end(self, stop: &AtomicBool) -> Result<Vec<Sample>, ProfileError> {
        match self {
            Self::Perf(perf) => {
                let log = perf.log.clone();
                let text = perf.end(stop)?;
                samples(&text).map_err(|error| ProfileError::Perf { what: error.to_string(), log })
            }
            Self::Own(sampler) => {
                let stacks = sampler.end().map_err(ProfileError::Sampler)?;
                Ok(stacks.into_iter().map(sample).collect())
            }
        }
    }
}

fn sample(stack: Stack) -> Sample {
    let frame = |function: Function| Frame { symbol: function.symbol, object: function.object };
    Sample { cpu_ns: stack.cpu_ns, frames: stack.frames.into_iter().map(frame).collect() }
}

#[cfg(test)]
mod tests {
    use hoptax_plan::plan::Plan;

    use super::*;
    use crate::runner::fixture::plan_of;

    /// A study under one load.
    fn plan(load: &str) -> Plan {
        plan_of(&format!("name: test\narms: [baseline, lua]\nloads: [{{name: a, {load}}}]\n"))
    }

    #[test]
    fn a_profile_under_an_open_loop_has_the_rate_of_the_slices_of_its_arm() {
        let slice = |arm, planned_rate| SliceRecord { arm, planned_rate, ..SliceRecord::default() };
        let slices = [slice(0, 1_000.0), slice(1, 2_000.0)];
        assert_eq!((rate_of(&slices, 2, 0), rate_of(&slices, 1, 1)), (None, None));
        let rate = rate_of(&slices, 1, 0);
        let open = plan("loop: open, rate: 2000, arrivals: uniform");
        let Release::Open(mut schedule) = release_of(&open.loads[0], rate, 1) else {
            panic!("a closed loop");
        };
        schedule.advance();
        assert!(schedule.peek_ns().abs_diff(500_000) <= 1, "{schedule:?}");
    }

    #[test]
    fn a_profile_under_a_closed_loop_is_at_full_speed() {
        let closed = plan("loop: closed");
        assert!(matches!(release_of(&closed.loads[0], Some(0.0), 1), Release::Closed));
    }
}
