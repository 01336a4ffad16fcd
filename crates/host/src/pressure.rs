//! CPU pressure (pressure stall information) and throttling by control groups.

use std::fs;
use std::path::{Path, PathBuf};

/// One reading. Values that the kernel does not provide are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Time since boot during which some task waited for a processor, microseconds.
    waited_us: Option<u64>,
    /// Periods in which a CPU limit throttled the control group of this process.
    throttled: Option<u64>,
}

impl Pressure {
    /// Reads both values.
    pub fn read() -> Self {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self {
            waited_us: fs::read_to_string("/proc/pressure/cpu").ok().and_then(|text| some_total_us(&text)),
            throttled: throttled_of(Path::new("/sys/fs/cgroup"), &groups),
        }
    }

    /// Share of `wall_us` during which some task waited for a processor, since an earlier reading.
    pub fn share_since(&self, earlier: &Self, wall_us: f64) -> Option<f64> {
        let waited_us = self.waited_us?.saturating_sub(earlier.waited_us?);
        (wall_us > 0.0).then(|| waited_us as f64 / wall_us)
    }

    /// Throttled periods since an earlier reading.
    pub fn throttled_since(&self, earlier: &Self) -> Option<u64> {
        Some(self.throttled?.saturating_sub(earlier.throttled?))
    }
}

fn some_total_us(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    line.split(' ').find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

/// The throttled periods of the control group of a process with these `groups` (`/proc/PID/cgroup`). With cgroup v1, the controllers have
/// hierarchies of their own. A container may see its own group as the root of a hierarchy, but the path of the group on the machine.
fn throttled_of(root: &Path, groups: &str) -> Option<u64> {
    let of_line = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?.trim_start_matches('/').to_owned());
        let is_of_processors = controllers.is_empty() || controllers.split(',').any(|name| name == "cpu");
        is_of_processors.then(|| (root.join(controllers), path))
    };
    let read = |(hierarchy, path): (PathBuf, String)| {
        let files = [hierarchy.join(path).join("cpu.stat"), hierarchy.join("cpu.stat")];
        files.iter().find_map(|file| throttled(&fs::read_to_string(file).ok()?))
    };
    groups.lines().filter_map(of_line).find_map(read)
}

fn throttled(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("nr_throttled "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_and_throttling_are_parsed() {
        let text = "some avg10=0.00 avg60=0.10 avg300=0.00 total=1500\nfull avg10=0.00 total=7\n";
        assert_eq!(some_total_us(text), Some(1_500));
        assert_eq!(throttled("usage_usec 5\nnr_periods 9\nnr_throttled 3\n"), Some(3));
        assert_eq!((some_total_us(""), throttled("")), (None, None));
    }

    #[test]
    fn throttled_periods_are_those_of_the_group_in_both_versions_of_control_groups() {
        let root = tempfile::tempdir().unwrap();
        let write = |folder: &str, periods: u32| {
            let folder = root.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("cpu.stat"), format!("nr_periods 9\nnr_throttled {periods}\n")).unwrap();
        };
        let of = |groups: &str| throttled_of(root.path(), groups);
        assert_eq!(of("0::/pod\n"), None);
        write("pod", 3);
        assert_eq!(of("0::/pod\n"), Some(3));
        write("cpu,cpuacct/pod", 4);
        write("cpu", 5);
        assert_eq!(of("7:memory:/pod\n4:cpu,cpuacct:/pod\n0::/\n"), Some(4));
        // The root of the hierarchy is the group of the container.
        assert_eq!(of("7:cpuset:/pod\n4:cpu:/kubepods/pod\n"), Some(5));
    }

    #[test]
    fn shares_refer_to_the_time_between_two_readings() {
        let before = Pressure { waited_us: Some(1_000), throttled: Some(2) };
        let after = Pressure { waited_us: Some(1_500), throttled: None };
        assert_eq!(after.share_since(&before, 10_000.0), Some(0.05));
        assert_eq!((after.throttled_since(&before), after.share_since(&before, 0.0)), (None, None));
    }
}
