//! Counts where the issue slots of the processor go while it runs the proxies of an arm, with perf, beside the profile of the arm. A
//! virtual machine often has no counters: then the result says so.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use hoptax_host::child::{Child, ChildSpec};
use hoptax_host::command;
use hoptax_plan::plan::NumberedLoad;
use hoptax_profile::top_down::{GROUPS, group, shares};

use super::measure::Meter;
use super::profile::{LENGTH, PROFILES, ProfileError, TIMEOUT, has_perf, remove, wait};
use super::subjects::{Running, of};
use super::{ArmError, RunError};

/// Interval of polling for the end of perf.
const POLL: Duration = Duration::from_millis(10);

/// What perf can count here.
pub(super) struct Counters {
    /// The metric group, or why there is none.
    group: Result<&'static str, String>,
}

impl Counters {
    /// Asks perf which metric groups it knows for this processor.
    pub(super) fn of_this_machine(stop: &AtomicBool) -> Self {
        if !has_perf() {
            return Self { group: Err("perf is not installed (package linux-perf)".to_owned()) };
        }
        let mut list = Command::new("perf");
        list.args(["list", "metricgroup"]);
        let group = match command::run(list, TIMEOUT, stop) {
            Ok(output) => group(&output.text).ok_or_else(|| {
                format!("perf has no metric group {} for this processor", GROUPS.join(" or "))
            }),
            Err(error) => Err(format!("`perf list metricgroup` failed: {error}")),
        };
        Self { group }
    }
}

impl Meter<'_> {
    /// The top-down counters of the proxies of a subject under the load of a profile, or why there are none.
    pub(super) fn count_subject(
        &mut self,
        running: &mut Running<'_>,
        load: NumberedLoad<'_>,
        (counters, proxies): (&Counters, &[u32]),
        stop: &AtomicBool,
    ) -> Result<Result<BTreeMap<String, f64>, String>, RunError> {
        let group = match &counters.group {
            Ok(group) => group,
            Err(reason) => return Ok(Err(reason.clone())),
        };
        let arm = running.planned.arm;
        let failed = |cause| of(arm)(ArmError::Profile(cause));
        let directory = self.setting.directory.join(PROFILES).join(arm.folder(0));
        fs::create_dir_all(&directory)?;
        let [ready, counts] = ["counting", "top-down.json"].map(|name| directory.join(name));
        remove(&ready)?;
        let all: Vec<String> = proxies.iter().map(u32::to_string).collect();
        // perf counts as long as this script runs.
        let seconds = LENGTH.as_secs_f64().to_string();
        let script = format!(": >\"$0\"; exec sleep {seconds}");
        let options = ["stat", "--json-output", "--metrics", group, "--pid", &all.join(","), "--output"];
        let mut arguments: Vec<std::ffi::OsString> = options.iter().map(Into::into).collect();
        arguments.push(counts.clone().into());
        arguments.extend(["--", "/bin/sh", "-c", &script].map(Into::into));
        arguments.push(ready.clone().into());
        let log = directory.join("top-down.log");
        let spec = ChildSpec {
            program: "perf".into(),
            arguments,
            environment: Vec::new(),
            log: log.clone(),
            processors: self.setting.placement.generator.clone(),
        };
        let mut child = Child::start(&spec)?;
        if let Err(ProfileError::Perf { what, .. }) = wait(&mut child, &ready) {
            return Ok(Err(format!("`perf stat` {what}")));
        }
        self.loaded(running, load, stop)?;
        let began = Instant::now();
        while child.ended()?.is_none() {
            if began.elapsed() > TIMEOUT {
                return Err(failed(ProfileError::Perf { what: "does not end".to_owned(), log }));
            }
            std::thread::sleep(POLL);
        }
        let parts = shares(&fs::read_to_string(&counts).unwrap_or_default());
        if parts.is_empty() {
            return Ok(Err(format!("this processor does not count {group}: see `{}`", counts.display())));
        }
        Ok(Ok(parts))
    }
}
