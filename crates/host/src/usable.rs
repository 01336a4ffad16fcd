//! Number of processors that given processes may use at once, by their affinity and by the CPU limits of their control groups.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity};

/// Mount point of control groups (version 2).
const CGROUPS: &str = "/sys/fs/cgroup";

/// Number of processors that processes may use at once: all that the affinity of any of them permits, but no more than the CPU
/// limits (`cpu.max`) of their control groups permit together. A limit of version 1 of control groups is not known.
///
/// # Errors
/// If a process has ended.
pub fn usable_processors(ids: &BTreeSet<u32>) -> io::Result<f64> {
    let permitted = permitted_processors(ids)?;
    let groups = ids.iter().map(|id| {
        let text = fs::read_to_string(format!("/proc/{id}/cgroup")).unwrap_or_default();
        text.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/").to_owned()
    });
    let limits = groups.map(|group| tightest(Path::new(CGROUPS), Path::new(&group)));
    Ok(limited(permitted.len() as f64, limits))
}

/// The processors that the affinity of any of these processes permits.
///
/// # Errors
/// If a process has ended.
pub fn permitted_processors(ids: &BTreeSet<u32>) -> io::Result<BTreeSet<u32>> {
    let mut permitted = BTreeSet::new();
    for id in ids {
        let pid = i32::try_from(*id).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
        let set = sched_getaffinity(Some(pid))?;
        permitted
            .extend((0..CpuSet::MAX_CPU).filter(|number| set.is_set(*number)).map(|number| number as u32));
    }
    Ok(permitted)
}

/// A CPU limit of a control group.
#[derive(Debug, PartialEq)]
struct CpuLimit {
    /// The folder of the group that states it.
    folder: PathBuf,
    processors: f64,
}

/// The number of processors that processes may use under their limits. Processes under one limit share it.
fn limited(permitted: f64, limits: impl Iterator<Item = Option<CpuLimit>>) -> f64 {
    let limits = limits.map(|limit| limit.map(|limit| (limit.folder, limit.processors)));
    let all: Option<BTreeMap<PathBuf, f64>> = limits.collect();
    all.map_or(permitted, |all| all.values().sum::<f64>().min(permitted))
}

/// The tightest CPU limit of a control group and of those above it; none without a limit.
fn tightest(root: &Path, group: &Path) -> Option<CpuLimit> {
    let limits = group.ancestors().filter_map(|group| {
        let folder = root.join(group.strip_prefix("/").ok()?);
        let processors = parse_limit(&fs::read_to_string(folder.join("cpu.max")).ok()?)?;
        Some(CpuLimit { folder, processors })
    });
    limits.min_by(|a, b| a.processors.total_cmp(&b.processors))
}

/// A limit from `cpu.max`, in processors: CPU time in a period, and the period. None for `max`.
fn parse_limit(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processors::{allowed, pin};

    #[test]
    fn a_pinned_process_may_use_its_processor() {
        let start = || std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let (last, mut child) = std::thread::spawn(move || {
            let last = *allowed().unwrap().last().unwrap();
            pin(&[last]).unwrap();
            (last, start())
        })
        .join()
        .unwrap();
        let own = std::process::id();
        let of = |ids: &[u32]| usable_processors(&ids.iter().copied().collect());
        let found = [of(&[child.id()]), of(&[own]), of(&[own, child.id()])].map(Result::unwrap);
        child.kill().unwrap();
        child.wait().unwrap();
        let all = allowed().unwrap();
        assert!(found[0] <= 1.0 && all.contains(&last), "{found:?}");
        // Both may be limited further by their control group.
        assert!(found[1] <= all.len() as f64 && found[2].to_bits() == found[1].to_bits(), "{found:?}");
        assert!(of(&[child.id()]).is_err());
    }

    #[test]
    fn the_tightest_limit_on_the_way_up_counts() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("kubepods/pod1/proxy");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("cpu.max"), "max 100000\n").unwrap();
        fs::write(root.path().join("kubepods/pod1/cpu.max"), "150000 100000\n").unwrap();
        fs::write(root.path().join("kubepods/cpu.max"), "400000 100000\n").unwrap();
        let pod = CpuLimit { folder: root.path().join("kubepods/pod1"), processors: 1.5 };
        assert_eq!(tightest(root.path(), Path::new("/kubepods/pod1/proxy")), Some(pod));
        assert_eq!(tightest(root.path(), Path::new("/other")), None);
        assert_eq!(tightest(root.path(), Path::new("/../..")), None);
    }

    #[test]
    fn processes_under_one_limit_share_it_and_one_without_a_limit_may_use_all() {
        let of = |limits: &[Option<(&str, f64)>]| {
            let limit = |(path, processors): (&str, f64)| CpuLimit { folder: path.into(), processors };
            limited(8.0, limits.iter().map(|one| one.map(limit)))
        };
        for (limits, expected) in [
            (vec![Some(("a", 1.5)), Some(("a", 1.5))], 1.5),
            (vec![Some(("a", 1.5)), Some(("b", 2.0))], 3.5),
            (vec![Some(("a", 6.0)), Some(("b", 6.0))], 8.0),
            (vec![Some(("a", 1.5)), None], 8.0),
        ] {
            assert!((of(&limits) - expected).abs() < 1e-12, "{limits:?}");
        }
    }
}
