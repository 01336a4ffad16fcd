//! Profiles the proxies of each arm once per round with perf, after all slices: under a load like that of the slices, but none of
//! them. A sample costs the proxy CPU time, which the numbers of the study must not contain.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use hoptax_host::child::{Child, ChildSpec};
use hoptax_host::command;
use hoptax_load::{Release, Run, now_ns};
use hoptax_profile::folded::Folded;
use hoptax_profile::script::FIELDS;
use hoptax_profile::{layer_of, samples};
use hoptax_result::RoundProfile;
use hoptax_subject::envoy::process::Proxy;

use super::measure::{AFTER_THAW, Meter, SETTLE};
use super::subjects::{Subject, Subjects, of};
use super::{ArmError, RunError};
use crate::plan::{self, Arm};

/// The folder of profiles in the run folder: in it a folder for each arm, with the stacks of each round.
pub const PROFILES: &str = "profiles";
/// Length of a profile.
pub const LENGTH: Duration = Duration::from_secs(1);
/// Samples per second of CPU time: not a divisor of the kernel's tick, with which samples would otherwise stay in step.
const FREQUENCY: u32 = 1_999;
/// Time limit for perf to start, to end and to print.
const TIMEOUT: Duration = Duration::from_mins(1);
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
    pub(super) fn profile(&mut self, subjects: &mut Subjects, stop: &AtomicBool) -> Result<(), RunError> {
        let Some(load) = self.plan.cpu_load() else { return Ok(()) };
        for number in plan::shuffled(self.plan, self.round()) {
            let (Some(subject), Some(planned)) =
                (subjects.all.get_mut(number), self.plan.subjects.get(number))
            else {
                continue;
            };
            let Some(arm) = self.plan.arms.get(planned.arm).filter(|_| planned.copy == 0) else { continue };
            let proxies: Vec<u32> = subject.proxies.iter().map(Proxy::id).collect();
            if proxies.is_empty() {
                continue;
            }
            self.freezer.thaw(&proxies)?;
            thread::sleep(AFTER_THAW);
            self.open(subject, (arm, load), stop)?;
            let profile = self.profile_subject(subject, (number, arm, load), &proxies, stop)?;
            if let Some(after) = self.close(subject, load)? {
                self.end_unmeasured(number, after);
            }
            self.freezer.freeze(&proxies)?;
            self.record_profile(planned.arm, profile);
        }
        Ok(())
    }

    fn profile_subject(
        &mut self,
        subject: &mut Subject,
        (number, arm, load): (usize, &Arm, usize),
        proxies: &[u32],
        stop: &AtomicBool,
    ) -> Result<RoundProfile, RunError> {
        let failed = |cause| of(arm)(ArmError::Profile(cause));
        let directory = self.setting.directory.join(PROFILES).join(arm.folder(0));
        fs::create_dir_all(&directory)?;
        let perf = Perf::start(&directory, proxies, &self.setting.placement.generator).map_err(failed)?;
        let before = self.read(subject)?;
        self.keep_late(number, &before);
        self.recording.clear();
        let start_ns = now_ns();
        let drain_ns = self.plan.drain_ns(arm, load);
        let run = Run::new(Release::Closed, start_ns, start_ns + LENGTH.as_nanos() as u64, drain_ns);
        subject.send(load, run, &mut self.recording, stop)?;
        thread::sleep(SETTLE);
        let after = self.read(subject)?;
        let used = after.proxies_since(&before).map_or(0, |(all, _)| all.cpu_ns);
        self.end_unmeasured(number, after);
        let requests = self.recording.book.answered;
        self.recording.clear();
        let text = perf.end(stop).map_err(failed)?;
        let log = directory.join(LOG);
        let found =
            samples(&text).map_err(|error| failed(ProfileError::Perf { what: error.to_string(), log }))?;
        let mut layers_ns: BTreeMap<String, u64> = BTreeMap::new();
        for sample in &found {
            *layers_ns.entry(layer_of(sample).to_owned()).or_default() += sample.cpu_ns;
        }
        let stacks = directory.join(format!("round-{}.folded", self.round()));
        fs::write(&stacks, Folded::of(&found).text())?;
        Ok(RoundProfile { requests, cpu_ns: used, layers_ns })
    }
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
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(file(path)(error)),
                _ => {}
            }
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
        let began = Instant::now();
        while !ready.exists() {
            let ended = child.ended().map_err(file(&log))?;
            if ended.is_some() || began.elapsed() > TIMEOUT {
                return Err(ProfileError::Perf {
                    what: format!("takes no samples: {}", child.last_lines(3)),
                    log,
                });
            }
            thread::sleep(POLL);
        }
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

/// Maximum output of `perf script` for one profile, bytes.
const MAX_OUTPUT_BYTES: usize = 64 << 20;
