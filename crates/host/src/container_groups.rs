//! CPU times of containers, read from control groups of version 1 or 2 below a mounted tree.
//!
//! The group of a container is named after its id, with some runtimes also after the runtime. It is within a group of pods, whose name
//! contains `kubepods`: `kubepods/burstable/podUID/ID` (driver `cgroupfs`),
//! `kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/cri-containerd-ID.scope` (driver `systemd`). The levels above
//! depend on the node, so the tree is searched for the name. An id consists of hexadecimal digits, so it cannot lead out of the tree, and
//! symbolic links are not followed.
//!
//! A counter includes all CPU time up to the last context switch or kernel tick: of a thread that runs during the reading, at most
//! [`TICK_S`] is missing.
//!
//! Source: kernel documentation, admin-guide/cgroup-v2 (`cpu.stat`), admin-guide/cgroup-v1/cpuacct, scheduler/sched-bwc.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use hoptax_result::LimitPeriods;
use serde::{Deserialize, Serialize};

use crate::clock::now_ns;

/// The longest time between two ticks of a kernel, seconds: `CONFIG_HZ` is 100 or more.
pub const TICK_S: f64 = 0.01;

/// Digits of an id, in all container runtimes of Kubernetes.
const DIGITS: usize = 64;
/// The names of runtimes before an id. CRI-O has a group `crio-conmon-ID` beside that of the container.
const RUNTIMES: [&str; 3] = ["cri-containerd", "crio", "docker"];
/// Part of the name of a group that contains all pods.
const OF_PODS: &str = "kubepods";
/// Maximum depth of the search. A node has six levels; a node that is itself a container has those of its own machine above.
const LEVELS: u32 = 16;
/// Names of the hierarchies of version 1 with CPU times, and with limits: some systems mount both as one.
const CPU_TIMES: [&str; 3] = ["cpuacct", "cpu,cpuacct", "cpuacct,cpu"];
const LIMITS: [&str; 3] = ["cpu", "cpu,cpuacct", "cpuacct,cpu"];

/// The id of a container.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ContainerId(String);

impl FromStr for ContainerId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() == DIGITS && text.bytes().all(is_digit) {
            Ok(Self(text.to_owned()))
        } else {
            // The text may be anything, so the message does not repeat it.
            Err(format!("an id of a container has {DIGITS} digits from 0 to f"))
        }
    }
}

/// A reading of the counters of a container, which readers in a cluster also send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// The time of the reading, on the clock of [`now_ns`].
    pub at_ns: u64,
    /// CPU time since the start of the container, nanoseconds.
    pub cpu_ns: u64,
    /// Periods of the CPU limit of the container since its start; none if the kernel does not count them.
    pub limit: Option<LimitPeriods>,
    /// Periods of the limit of its pod, which may have one of its own.
    pub limit_of_pod: Option<LimitPeriods>,
}

/// The control groups below a folder.
#[derive(Debug)]
pub struct Groups {
    /// The folder with CPU times.
    cpu_times: PathBuf,
    /// The folder with the periods of limits: the same in version 2.
    limits: PathBuf,
    version: Version,
    /// Groups that were found, below these folders. The id of a container that has ended is never used again.
    found: HashMap<ContainerId, PathBuf>,
}

#[derive(Clone, Copy, Debug)]
enum Version {
    One,
    Two,
}

impl Groups {
    /// The groups below a folder: `/sys/fs/cgroup`, or another place where control groups are mounted.
    ///
    /// # Errors
    /// When it has none with CPU times.
    pub fn open(root: &Path) -> io::Result<Self> {
        let found = HashMap::new();
        if root.join("cgroup.controllers").is_file() {
            let (cpu_times, limits) = (root.to_owned(), root.to_owned());
            return Ok(Self { cpu_times, limits, version: Version::Two, found });
        }
        let first =
            |names: [&str; 3]| names.map(|name| root.join(name)).into_iter().find(|path| path.is_dir());
        let none = || io::Error::other("it has no control groups with CPU times");
        let cpu_times = first(CPU_TIMES).ok_or_else(none)?;
        let limits = first(LIMITS).unwrap_or_else(|| cpu_times.clone());
        Ok(Self { cpu_times, limits, version: Version::One, found })
    }

    /// Reads the counters of containers, in their order. None for one without a group here: it has not started, has ended, or is on another
    /// node. One search of the tree looks for all containers that were not found before.
    pub fn read(&mut self, ids: &[ContainerId]) -> Vec<Option<Counters>> {
        let mut wanted: HashSet<&ContainerId> =
            ids.iter().filter(|id| !self.found.contains_key(*id)).collect();
        let mut found = Vec::new();
        search(&self.cpu_times, false, LEVELS, &mut wanted, &mut found);
        let groups = found
            .into_iter()
            .filter_map(|(id, path)| Some((id.clone(), path.strip_prefix(&self.cpu_times).ok()?.to_owned())));
        self.found.extend(groups);
        ids.iter().map(|id| self.read_found(id)).collect()
    }

    /// Reads the counters of a container whose group was found.
    fn read_found(&self, id: &ContainerId) -> Option<Counters> {
        let group = self.found.get(id)?;
        let folder = self.cpu_times.join(group);
        let before_ns = now_ns();
        let cpu_ns: u64 = match self.version {
            Version::One => fs::read_to_string(folder.join("cpuacct.usage")).ok()?.trim().parse().ok()?,
            Version::Two => {
                value(&fs::read_to_string(folder.join("cpu.stat")).ok()?, "usage_usec")?.checked_mul(1_000)?
            }
        };
        let at_ns = u64::midpoint(before_ns, now_ns());
        let limit_of_pod = group.parent().and_then(|pod| self.limit(pod));
        Some(Counters { at_ns, cpu_ns, limit: self.limit(group), limit_of_pod })
    }

    /// The periods of the limit of a group.
    fn limit(&self, group: &Path) -> Option<LimitPeriods> {
        let text = fs::read_to_string(self.limits.join(group).join("cpu.stat")).ok()?;
        let throttled_s = match self.version {
            Version::One => value(&text, "throttled_time")? as f64 / 1e9,
            Version::Two => value(&text, "throttled_usec")? as f64 / 1e6,
        };
        let (periods, throttled) = (value(&text, "nr_periods")?, value(&text, "nr_throttled")?);
        Some(LimitPeriods { periods, throttled, throttled_s })
    }
}

/// Moves containers from `wanted` to `found`, each with its group, which must be within a group of pods.
fn search<'a>(
    folder: &Path,
    is_of_pods: bool,
    levels: u32,
    wanted: &mut HashSet<&'a ContainerId>,
    found: &mut Vec<(&'a ContainerId, PathBuf)>,
) {
    let Some(levels) = levels.checked_sub(1) else { return };
    if wanted.is_empty() {
        return;
    }
    let Ok(entries) = fs::read_dir(folder) else { return };
    // The type is that of the entry itself, not of the target of a link.
    let folders =
        entries.filter_map(Result::ok).filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    for entry in folders {
        let (Ok(name), path) = (entry.file_name().into_string(), entry.path()) else { continue };
        let own = wanted.iter().copied().find(|id| is_of_pods && is_named(&name, id));
        if let Some(id) = own {
            wanted.remove(id);
            found.push((id, path.clone()));
        }
        search(&path, is_of_pods || name.contains(OF_PODS), levels, wanted, found);
    }
}

/// True if a group is that of a container.
fn is_named(group: &str, ContainerId(id): &ContainerId) -> bool {
    let before = group.strip_suffix(".scope").unwrap_or(group).strip_suffix(id.as_str());
    before.is_some_and(|before| {
        before.is_empty() || before.strip_suffix('-').is_some_and(|runtime| RUNTIMES.contains(&runtime))
    })
}

/// The value of a line `NAME VALUE`.
fn value(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    /// An id whose digits are all this one.
    fn id(digit: char) -> ContainerId {
        text(digit).parse().unwrap()
    }

    fn counters(groups: &mut Groups, id: &ContainerId) -> Option<Counters> {
        groups.read(std::slice::from_ref(id)).remove(0)
    }

    fn text(digit: char) -> String {
        std::iter::repeat_n(digit, DIGITS).collect()
    }

    /// Writes a file below a folder.
    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn stat(usage_us: u64, periods: u64, throttled: u64, throttled_us: u64) -> String {
        format!(
            "usage_usec {usage_us}\nuser_usec 1\nnr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec {throttled_us}\n"
        )
    }

    /// A tree of version 2 with a container in this group.
    fn version_2(group: &str) -> (TempDir, Groups) {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "cgroup.controllers", "cpu memory\n");
        write(root.path(), &format!("{group}/cpu.stat"), &stat(1_500_000, 40, 4, 250_000));
        let groups = Groups::open(root.path()).unwrap();
        (root, groups)
    }

    #[test]
    fn containers_are_found_by_the_names_of_all_drivers_and_runtimes() {
        let (burstable, pod) = ("kubepods.slice/kubepods-burstable.slice", "kubepods-burstable-pod1_2.slice");
        for group in [
            format!("{burstable}/{pod}/cri-containerd-{}.scope", text('a')),
            format!("{burstable}/{pod}/crio-{}.scope", text('a')),
            format!("kubepods.slice/kubepods-pod1_2.slice/docker-{}.scope", text('a')),
            format!("kubepods/burstable/pod1-2/{}", text('a')),
            format!("kubepods/besteffort/pod1-2/crio-{}", text('a')),
            // A node that is a container of another machine.
            format!("kubelet.slice/kubelet-kubepods.slice/{pod}/cri-containerd-{}.scope", text('a')),
        ] {
            let (root, mut groups) = version_2(&group);
            let before_ns = now_ns();
            let read = counters(&mut groups, &id('a')).unwrap_or_else(|| panic!("{group}"));
            assert!(read.at_ns >= before_ns && read.at_ns <= now_ns());
            let limit = LimitPeriods { periods: 40, throttled: 4, throttled_s: 0.25 };
            assert_eq!((read.cpu_ns, read.limit), (1_500_000_000, Some(limit)), "{group}");
            assert_eq!(counters(&mut groups, &id('b')), None, "{group}");
            // It has been found, and is read again.
            write(root.path(), &format!("{group}/cpu.stat"), "usage_usec 1600000\n");
            let read = counters(&mut groups, &id('a')).unwrap();
            assert_eq!((read.cpu_ns, read.limit), (1_600_000_000, None), "{group}");
        }
    }

    #[test]
    fn what_is_no_container_of_a_pod_is_not_read() {
        let pod = "kubepods.slice/kubepods-pod1_2.slice";
        for group in [
            format!("system.slice/docker-{}.scope", text('a')),
            format!("{pod}/crio-conmon-{}.scope", text('a')),
            format!("{pod}/cri-containerd-{}a.scope", text('a')),
            format!("{pod}/a{}", text('a')),
            format!("{pod}/cri-containerd-{}.slice", text('a')),
        ] {
            let (_root, mut groups) = version_2(&group);
            assert_eq!(counters(&mut groups, &id('a')), None, "{group}");
        }
    }

    #[test]
    fn containers_are_read_in_the_order_of_their_ids_wherever_they_are_and_also_if_one_is_named_twice() {
        let pod = |number: u32, digit: char| format!("kubepods/burstable/pod{number}/{}", text(digit));
        let (root, mut groups) = version_2(&pod(1, 'a'));
        for (group, usage_us) in [(pod(1, 'b'), 2), (pod(2, 'c'), 3)] {
            write(root.path(), &format!("{group}/cpu.stat"), &stat(usage_us, 0, 0, 0));
        }
        let read = groups.read(&['c', 'd', 'a', 'b', 'c'].map(id));
        let cpu_ns: Vec<Option<u64>> = read.iter().map(|one| one.map(|counters| counters.cpu_ns)).collect();
        assert_eq!(cpu_ns, [Some(3_000), None, Some(1_500_000_000), Some(2_000), Some(3_000)]);
        // One that comes later is found, too.
        write(root.path(), &format!("{}/cpu.stat", pod(3, 'd')), &stat(4, 0, 0, 0));
        assert_eq!(groups.read(&[id('d')])[0].map(|counters| counters.cpu_ns), Some(4_000));
        assert!(groups.read(&[]).is_empty());
    }

    #[test]
    fn a_link_is_not_followed() {
        let (root, mut groups) = version_2("elsewhere/group");
        fs::create_dir_all(root.path().join("kubepods/pod1")).unwrap();
        symlink(root.path().join("elsewhere/group"), root.path().join("kubepods/pod1").join(text('a')))
            .unwrap();
        symlink(root.path(), root.path().join("kubepods/round")).unwrap();
        assert_eq!(counters(&mut groups, &id('a')), None);
    }

    #[test]
    fn the_hierarchies_of_version_1_are_read_apart_or_as_one() {
        let group = format!("kubepods/burstable/pod1-2/{}", text('a'));
        let limits = "nr_periods 7\nnr_throttled 2\nthrottled_time 300000000\n";
        let limit = LimitPeriods { periods: 7, throttled: 2, throttled_s: 0.3 };
        for (cpu_times, of_limits) in [("cpuacct", "cpu"), ("cpu,cpuacct", "cpu,cpuacct")] {
            let root = tempfile::tempdir().unwrap();
            write(root.path(), &format!("{cpu_times}/{group}/cpuacct.usage"), "123456789\n");
            write(root.path(), &format!("{of_limits}/{group}/cpu.stat"), limits);
            let read = counters(&mut Groups::open(root.path()).unwrap(), &id('a')).unwrap();
            assert_eq!((read.cpu_ns, read.limit), (123_456_789, Some(limit)));
        }
        // Both names lead to one hierarchy.
        let root = tempfile::tempdir().unwrap();
        write(root.path(), &format!("cpu,cpuacct/{group}/cpuacct.usage"), "5\n");
        symlink("cpu,cpuacct", root.path().join("cpuacct")).unwrap();
        let read = counters(&mut Groups::open(root.path()).unwrap(), &id('a')).unwrap();
        assert_eq!((read.cpu_ns, read.limit), (5, None));
    }

    #[test]
    fn a_limit_of_the_pod_is_read_beside_that_of_its_container() {
        let pod = "kubepods.slice/kubepods-pod1_2.slice";
        let (root, mut groups) = version_2(&format!("{pod}/cri-containerd-{}.scope", text('a')));
        write(root.path(), &format!("{pod}/cpu.stat"), &stat(9_000_000, 60, 6, 750_000));
        let read = counters(&mut groups, &id('a')).unwrap();
        let own = LimitPeriods { periods: 40, throttled: 4, throttled_s: 0.25 };
        let of_pod = LimitPeriods { periods: 60, throttled: 6, throttled_s: 0.75 };
        assert_eq!((read.cpu_ns, read.limit, read.limit_of_pod), (1_500_000_000, Some(own), Some(of_pod)));
    }

    #[test]
    fn a_container_that_has_ended_and_counters_that_are_none_are_not_read() {
        let group = format!("kubepods/pod1-2/{}", text('a'));
        let (root, mut groups) = version_2(&group);
        assert!(counters(&mut groups, &id('a')).is_some());
        for text in
            ["", "usage_usec \n", "usage_usec -1\n", "usage_usec 18446744073709551615\n", "usage_usecs 5\n"]
        {
            write(root.path(), &format!("{group}/cpu.stat"), text);
            assert_eq!(counters(&mut groups, &id('a')), None, "{text}");
        }
        fs::remove_dir_all(root.path().join(&group)).unwrap();
        assert_eq!(counters(&mut groups, &id('a')), None);
    }

    #[test]
    fn an_id_is_hexadecimal_and_nothing_else() {
        for other in [
            String::new(),
            "..".to_owned(),
            format!("../{}", text('a')),
            format!("{}/..", text('a')),
            text('A'),
            text('g'),
            text('ä'),
            text('a')[1..].to_owned(),
            format!("{}a", text('a')),
            format!("containerd://{}", text('a')),
            format!("{}\n", &text('a')[1..]),
        ] {
            let why = other.parse::<ContainerId>().unwrap_err();
            assert!(why.contains("64 digits"), "{other:?}: {why}");
        }
    }

    #[test]
    fn a_folder_without_control_groups_is_refused() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("memory")).unwrap();
        assert!(Groups::open(root.path()).unwrap_err().to_string().contains("no control groups"));
    }
}
