//! Keeps processors from halting during a measurement.
//!
//! A virtual processor without work *halts*, and the hypervisor deschedules it. A task that wakes there waits until the hypervisor has
//! resumed the processor: 40 us and more on some hosts. Two means prevent this:
//!
//! - A *latency request*: while a process holds `/dev/cpu_dma_latency` open with the value 0, idle processors poll in the kernel
//!   (power management quality of service, `Documentation/power/pm_qos_interface.rst` of Linux). It changes neither scheduling nor
//!   CPU accounts, and ends with the process. It needs root, and a driver for idle processors (`cpuidle`).
//! - A *spinner*: threads that run whenever nothing else does ([`crate::spinner`]). Every user may start one. But on Linux 6.18, with
//!   tasks grouped by session, tasks of other groups, including kernel tasks, did not run for 15 s beside a spinner and a task that
//!   sleeps and wakes (`workqueue lockup` in the kernel's log). Processes that wait for the kernel then hang.
//!
//! On two virtual processors of an Intel Xeon, a wake-up by another task took 55 us at the median with halting and 3.4 us with the
//! request.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};

use hoptax_result::NeverHaltedBy;

use crate::spinner::Spinner;

/// The file of latency requests.
const REQUESTS: &str = "/dev/cpu_dma_latency";
/// Names the driver for idle processors; `none` if there is none.
const IDLE_DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";

/// Keeps processors from halting until it is dropped.
#[derive(Debug)]
pub struct Awake(Means);

#[derive(Debug)]
enum Means {
    /// The request lasts as long as the file is open.
    Request {
        _file: File,
    },
    Spinner(Spinner),
}

impl Awake {
    /// Keeps `processors` from halting: by a latency request, which holds for all processors, or by a spinner if a request cannot be
    /// made or has no effect.
    ///
    /// # Errors
    /// As [`Spinner::start`].
    pub fn start(processors: &[u32]) -> io::Result<Self> {
        match Self::by_request() {
            Some(awake) => Ok(awake),
            None => Spinner::start(processors).map(|spinner| Self(Means::Spinner(spinner))),
        }
    }

    /// Keeps all processors from halting by a latency request; None if it cannot be made or has no effect.
    pub fn by_request() -> Option<Self> {
        request().map(|file| Self(Means::Request { _file: file }))
    }

    /// The means.
    pub fn by(&self) -> NeverHaltedBy {
        match self.0 {
            Means::Request { .. } => NeverHaltedBy::LatencyRequest,
            Means::Spinner(_) => NeverHaltedBy::Spinner,
        }
    }

    /// CPU time that it uses of each processor, which `/proc/stat` counts as busy: see [`Spinner::cpu_ns`]. Empty for a request,
    /// under which an idle processor is counted as idle.
    ///
    /// # Errors
    /// As [`Spinner::cpu_ns`].
    pub fn cpu_ns(&self) -> io::Result<Vec<(u32, u64)>> {
        match &self.0 {
            Means::Request { .. } => Ok(Vec::new()),
            Means::Spinner(spinner) => spinner.cpu_ns(),
        }
    }
}

/// Requests a wake-up latency of 0; None if this user may not do so, or if no driver would act on it.
fn request() -> Option<File> {
    let driver = fs::read_to_string(IDLE_DRIVER).ok()?;
    if ["", "none"].contains(&driver.trim()) {
        return None;
    }
    let mut file = OpenOptions::new().write(true).open(REQUESTS).ok()?;
    file.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_holds_while_it_is_kept_and_a_spinner_replaces_one_that_is_refused() {
        let awake = Awake::start(&[crate::processors::allowed().unwrap()[0]]).unwrap();
        match awake.by() {
            // The file reads as the smallest of all requests.
            NeverHaltedBy::LatencyRequest => assert_eq!(fs::read(REQUESTS).unwrap(), 0_i32.to_ne_bytes()),
            NeverHaltedBy::Spinner => assert!(request().is_none()),
        }
        let spins = awake.by() == NeverHaltedBy::Spinner;
        assert_eq!(awake.cpu_ns().unwrap().is_empty(), !spins);
    }
}
