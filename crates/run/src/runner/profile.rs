//! Profiles the proxies of each arm once per round, with perf or without, after all slices: under a load like that of the slices, but none of
//! them. A sample costs the proxy CPU time, which the numbers of the study must not contain.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use hoptax_host::child::{Child, ChildSpec};
use hoptax_host::command;
use hoptax_host::sampler::{Function, Sampler, Stack};
use hoptax_load::{Release, Run, Schedule, now_ns};
use hoptax_plan::plan::{self, Load, NumberedLoad};
use hoptax_plan::record::SliceRecord;
use hoptax_profile::folded::Folded;
use hoptax_profile::script::FIELDS;
use hoptax_profile::{Frame, Sample, layer_of, samples};
use hoptax_result::RoundProfile;
use hoptax_subject::envoy::process::Proxy;
use hoptax_subject::program::in_search_path;

use super::measure::{AFTER_THAW, Meter, SETTLE};
use super::subjects::{Last, Running, Subjects, of};
use super::top_down::Counters;
use super::{ArmError, RunError};

/// The folder of profiles in the run folder: in it a folder for each arm, with the stacks of each round.
pub const PROFILES: &str = "profiles";
/// Length of a profile.
pub const LENGTH: Duration = Duration::from_secs(1);
/// Samples per second of CPU time: not a divisor of the kernel's tick, with which samples would otherwise stay in step.
const FREQUENCY: u32 = 1_999;
/// Time limit for perf to start, to end and to print.
pub(super) const TIMEOUT: Duration = Duration::from_mins(1);
/// Interval of polling for its start.
const POLL: Duration = Duration::from_millis(2);

/// Why an arm cannot be profiled.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// perf does not run, or not as expected.
    #[error("`perf` of the package linux-perf {what}; its log is `{}`", log.display())]
    Perf {
        /// What it does.
        what: String,
        /// Its log.
        log: PathBuf,
    },
    /// Without perf, the kernel does not let hoptax take samples.
    #[error(
        "cannot take samples: {0}; run as root, or set `kernel.perf_event_paranoid=1` and `kernel.kptr_restrict=0`"
    )]
    Sampler(#[source] io::Error),
    /// A file cannot be used.
    #[error("cannot use `{}`: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl Meter<'_> {
    /// Profiles the first copy of each arm with proxies, in random order.
    pub(super) fn profile(&mut self, subjects: &mut Subjects<'_>, stop: &AtomicBool) -> Result<(), RunError> {
        // A plan without loads has nothing to profile.
        let Some(load) = self.plan.cpu_load() else { return Ok(()) };
        let counters = Counters::of_this_machine(stop);
        let mut order: Vec<&mut Running<'_>> = subjects.all.iter_mut().collect();
        plan::shuffle(self.plan, self.round(), &mut order);
        for running in order.into_iter().filter(|running| running.planned.copy == 0) {
            let proxies: Vec<u32> = running.subject.proxies.iter().map(Proxy::id).collect();
            if proxies.is_empty() {
                continue;
            }
            self.freezer.thaw(&proxies)?;
            thread::sleep(AFTER_THAW);
            self.open(&mut running.subject, (running.planned.arm, load), stop)?;
            let mut profile = self.profile_subject(running, load, &proxies, stop)?;
            match self.count_subject(running, load, (&counters, &proxies), stop)? {
                Ok(parts) => profile.top_down = parts,
                Err(reason) => profile.top_down_absent = Some(reason),
            }
            if let Some(after) = self.close(&mut running.subject, load)? {
                running.last = Some(Last { reading: after, slice: None });
            }
            self.freezer.freeze(&proxies)?;
            self.record_profile(running.planned.arm_number, profile);
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
        let failed = |cause| of(arm)(ArmError::Profile(cause));
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
        let stacks = directory.join(format!("round-{}.folded", self.round()));
        fs::write(&stacks, Folded::new(&found).text())?;
        Ok(RoundProfile { requests, cpu_ns, sampler, layers_ns, ..RoundProfile::default() })
    }

    /// Sends the load of a profile. Returns the responses, and the CPU time of the proxies meanwhile, nanoseconds.
    pub(super) fn loaded(
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

    /// The release of requests to the arm with this index under a load, as in the slices of the round: at another rate, a proxy spends its time on
    /// other layers, and their shares would not be those of the CPU time that the slices measured.
    fn release(&self, arm: usize, load: NumberedLoad<'_>) -> Release {
        let rate = rate_of(self.slices(), (arm, load.number));
        // All arms with the same rate get the same release times.
        let seed = self.plan.seed ^ (u64::from(self.round()) << 32);
        release_of(&load, rate, seed)
    }
}

/// Requests per second of an open loop in the slices of an arm; none without a slice. It is the same in all of them.
fn rate_of(slices: &[SliceRecord], (arm, load): (usize, usize)) -> Option<f64> {
    let slice = slices.iter().find(|slice| slice.arm == arm && slice.load == load);
    slice.map(|slice| slice.planned_rate)
}

/// The release of requests under a load. An open loop without a rate, of an arm that no slice was measured of, gets the minimum.
fn release_of(load: &Load, rate: Option<f64>, seed: u64) -> Release {
    match &load.open {
        None => Release::Closed,
        Some(open) => Release::Open(Schedule::new(open.arrivals.clone(), rate.unwrap_or(1.0), seed, 0, 1)),
    }
}

/// What takes the samples: perf, and without it hoptax itself.
enum Profiler {
    Perf(Perf),
    Own(Sampler),
}

impl Profiler {
    /// Starts to sample processes, and returns when samples are taken. perf runs on `processors`.
    fn start(directory: &Path, processes: &[u32], processors: &[u32]) -> Result<Self, ProfileError> {
        if has_perf() {
            return Perf::start(directory, processes, processors).map(Self::Perf);
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

/// Whether perf is installed.
pub(super) fn has_perf() -> bool {
    in_search_path("perf", &env::var_os("PATH").unwrap_or_default()).is_some()
}

fn sample(stack: Stack) -> Sample {
    let frame = |function: Function| Frame { symbol: function.symbol, object: function.object };
    Sample { cpu_ns: stack.cpu_ns, frames: stack.frames.into_iter().map(frame).collect() }
}

/// The log of perf, in the folder of the profile.
const LOG: &str = "perf.log";

/// A recording of some processes.
struct Perf {
    child: Child,
    data: PathBuf,
    log: PathBuf,
}

impl Perf {
    /// Starts to sample processes, and returns when samples are taken.
    fn start(directory: &Path, processes: &[u32], processors: &[u32]) -> Result<Self, ProfileError> {
        let (data, log, ready) = (directory.join("perf.data"), directory.join(LOG), directory.join("ready"));
        let file = |path: &Path| {
            let path = path.to_owned();
            |source| ProfileError::File { path, source }
        };
        for path in [&data, &ready] {
            remove(path).map_err(file(path))?;
        }
        let all: Vec<String> = processes.iter().map(u32::to_string).collect();
        let frequency = FREQUENCY.to_string();
        let options = [
            "record",
            "--quiet",
            "--event",
            "cpu-clock",
            "--freq",
            &frequency,
            "-g",
            "--pid",
            &all.join(","),
        ];
        // perf starts this script when samples are taken, and ends with it. It notices the end of perf itself, since a killed
        // hoptax takes only perf along.
        let script = ["--", "/bin/sh", "-c", ": >\"$0\"; while kill -0 $PPID 2>/dev/null; do sleep 1; done"];
        let mut arguments: Vec<std::ffi::OsString> = options.iter().map(Into::into).collect();
        arguments.extend(["--output".into(), data.clone().into()]);
        arguments.extend(script.iter().map(Into::into));
        arguments.push(ready.clone().into());
        let spec = ChildSpec {
            program: "perf".into(),
            arguments,
            environment: Vec::new(),
            log: log.clone(),
            processors: processors.to_vec(),
        };
        let started = Child::start(&spec);
        let mut child = started.map_err(|error| ProfileError::Perf {
            what: format!("does not start: {error}"),
            log: log.clone(),
        })?;
        wait(&mut child, &ready)?;
        Ok(Self { child, data, log })
    }

    /// Ends the recording, and returns its samples as text.
    fn end(mut self, stop: &AtomicBool) -> Result<String, ProfileError> {
        let perf = |what: String| ProfileError::Perf { what, log: self.log.clone() };
        self.child.end(TIMEOUT).map_err(|error| perf(format!("does not end: {error}")))?;
        let mut script = Command::new("perf");
        script.args(["script", "--no-inline", "-F", FIELDS, "-i"]).arg(&self.data);
        let printed = command::run_with_limit(script, TIMEOUT, MAX_OUTPUT_BYTES, stop);
        let output = printed.map_err(|error| perf(format!("does not print its samples: {error}")))?;
        let _ = fs::remove_file(&self.data);
        if output.status.success() {
            Ok(output.text)
        } else {
            Err(perf(format!("does not print its samples: {}", output.text)))
        }
    }
}

/// Removes a file, if it is there.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Waits until what perf runs has made the file `ready`: from then on, perf records.
pub(super) fn wait(child: &mut Child, ready: &Path) -> Result<(), ProfileError> {
    let began = Instant::now();
    while !ready.exists() {
        let log = child.log().to_owned();
        let ended = child.ended().map_err(|source| ProfileError::File { path: log.clone(), source })?;
        if ended.is_some() || began.elapsed() > TIMEOUT {
            return Err(ProfileError::Perf {
                what: format!("takes no samples: {}", child.last_lines(3)),
                log,
            });
        }
        thread::sleep(POLL);
    }
    Ok(())
}

/// Maximum output of `perf script` for one profile, bytes.
const MAX_OUTPUT_BYTES: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use hoptax_functions::Catalogue;
    use hoptax_plan::file;
    use hoptax_plan::plan::Plan;

    use super::*;

    /// A study under one load.
    fn plan(load: &str) -> Plan {
        let text = format!("name: test\narms: [baseline, lua]\nloads: [{{name: a, {load}}}]\n");
        let (file, positions) = file::read("test.yaml", &text).unwrap();
        Plan::new(&file, &positions, Catalogue::load().unwrap()).unwrap()
    }

    #[test]
    fn a_profile_under_an_open_loop_has_the_rate_of_the_slices_of_its_arm() {
        let slice = |arm, planned_rate| SliceRecord { arm, planned_rate, ..SliceRecord::default() };
        let slices = [slice(0, 1_000.0), slice(1, 2_000.0)];
        assert_eq!((rate_of(&slices, (2, 0)), rate_of(&slices, (1, 1))), (None, None));
        let rate = rate_of(&slices, (1, 0));
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
