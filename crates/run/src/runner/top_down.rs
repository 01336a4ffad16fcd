//! Uses perf to count how the processor's issue slots are used while it runs the proxies of an arm, next to the profile of the arm. A
//! virtual machine often has no such counters; the result then says so.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use hoptax_host::child::Child;
use hoptax_host::command;
use hoptax_plan::profile::top_down::{GROUPS, group, shares};

use super::perf::{self, ProfileError, TIMEOUT, has_perf};

/// Interval of polling for the end of perf.
const POLL: Duration = Duration::from_millis(10);

/// Counters that perf supports on this machine.
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

    /// Starts to count for `length` on these processes. perf runs on `processors`, and writes into `directory`. Returns the reason if there
    /// is nothing to count.
    pub(super) fn start(
        &self,
        directory: &Path,
        processes: &[u32],
        processors: &[u32],
        length: Duration,
    ) -> io::Result<Result<Counting, String>> {
        let group = match &self.group {
            Ok(group) => *group,
            Err(reason) => return Ok(Err(reason.clone())),
        };
        let [ready, counts, log] =
            ["counting", "top-down.json", "top-down.log"].map(|name| directory.join(name));
        let all: Vec<String> = processes.iter().map(u32::to_string).collect();
        // perf counts as long as this script runs.
        let script = format!(": >\"$0\"; exec sleep {}", length.as_secs_f64());
        let options = ["stat", "--json-output", "--metrics", group, "--pid", &all.join(",")];
        match perf::start(&options, &counts, &script, &ready, &log, processors) {
            Ok(child) => Ok(Ok(Counting { child, group, counts })),
            Err(ProfileError::Perf { what, .. }) => Ok(Err(format!("`perf stat` {what}"))),
            Err(ProfileError::File { source, .. } | ProfileError::Sampler(source)) => Err(source),
        }
    }
}

/// perf while it counts.
pub(super) struct Counting {
    child: Child,
    /// The metric group that it counts.
    group: &'static str,
    /// The file of the counts.
    counts: PathBuf,
}

impl Counting {
    /// Waits for the end of perf, and returns the shares of the issue slots, or why it counted none.
    pub(super) fn end(mut self) -> Result<Result<BTreeMap<String, f64>, String>, ProfileError> {
        let log = self.child.log().to_owned();
        let began = Instant::now();
        let ended = |source| ProfileError::File { path: log.clone(), source };
        while self.child.ended().map_err(ended)?.is_none() {
            if began.elapsed() > TIMEOUT {
                return Err(ProfileError::Perf { what: "does not end".to_owned(), log });
            }
            std::thread::sleep(POLL);
        }
        let parts = shares(&fs::read_to_string(&self.counts).unwrap_or_default());
        if parts.is_empty() {
            let (group, counts) = (self.group, self.counts.display());
            return Ok(Err(format!("this processor does not count {group}: see `{counts}`")));
        }
        Ok(Ok(parts))
    }
}
