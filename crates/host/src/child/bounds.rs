//! Limits of all children, for a program that starts processes for others: a proxy with a stranger's configuration must not fill the disk,
//! the table of open files or the memory.
//!
//! The limit on memory counts private writable memory (`RLIMIT_DATA`), not address space: an allocator reserves more address space than it
//! uses. An idle Envoy has 3.3 GB of address space, of which 75 MB count (`VmSize` and `VmData` of its `/proc/PID/status`). Pages that an
//! allocator gives back still count, and shared mappings of files do not.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, Signal};

use crate::limits::at_most;

/// The limits of all children; none until a program sets them.
static LIMITS: OnceLock<ChildLimits> = OnceLock::new();

/// Limits of each child, which its descendants inherit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildLimits {
    /// Size of the largest file that it writes, bytes. The kernel ends a child that writes more (`RLIMIT_FSIZE`).
    pub file_bytes: u64,
    /// Number of files that it has open, sockets among them (`RLIMIT_NOFILE`).
    pub open_files: u64,
    /// Private memory that it may write to, bytes. The kernel refuses a child more (`RLIMIT_DATA`), which ends most programs.
    pub memory_bytes: u64,
}

/// Limits every child that starts from now on, and disables its core file. Lower limits of this process apply to its children, too. Limits
/// from an earlier call stay.
///
/// The limits apply to each process, not to all of them together, and a process of root may raise its own.
pub fn limit_children(limits: ChildLimits) {
    let _ = LIMITS.set(limits);
}

/// The limits of the next child; none without limits.
pub(super) fn of_next() -> Option<[(Resource, Rlimit); 4]> {
    let of = |resource, most| (resource, at_most(resource, most));
    LIMITS.get().map(|limits| {
        [
            of(Resource::Fsize, limits.file_bytes),
            of(Resource::Nofile, limits.open_files),
            of(Resource::Data, limits.memory_bytes),
            of(Resource::Core, 0),
        ]
    })
}

/// An exit status in words, with the limit that ended a child. A program that is refused memory aborts, as Envoy does; it may also abort
/// for another reason, which its log states.
pub fn ending(status: ExitStatus) -> String {
    let limit = LIMITS.get().zip(status.signal()).and_then(|(limits, signal)| {
        if signal == Signal::XFSZ.as_raw() {
            Some(format!("it wrote a file up to its limit of {} bytes", limits.file_bytes))
        } else if signal == Signal::ABORT.as_raw() {
            Some(format!("it may have reached its limit of {} bytes of memory", limits.memory_bytes))
        } else {
            None
        }
    });
    limit.map_or_else(|| status.to_string(), |limit| format!("{status}: {limit}"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use rustix::process::{getrlimit, setrlimit};

    use super::*;
    use crate::child::{Child, last_lines};
    use crate::fixture::{end_of, run_alone, shell};

    const LIMITED: ChildLimits =
        ChildLimits { file_bytes: 64 * 1024, open_files: 77, memory_bytes: 64 << 20 };

    /// Runs a script to its end, and returns its exit status and its last four lines.
    fn run(folder: &Path, script: &str) -> (ExitStatus, String) {
        let mut spec = shell(folder, script);
        spec.arguments.push(folder.join("large").into());
        let mut child = Child::start(&spec).unwrap();
        (end_of(&mut child), last_lines(child.log(), 4))
    }

    #[test]
    fn children_have_the_limits_and_their_end_by_one_is_named() {
        // The limits hold for all children of a process.
        run_alone("child::bounds::tests::children_before_and_after_limits");
    }

    #[test]
    #[ignore = "run by the test above"]
    fn children_before_and_after_limits() {
        let folder = tempfile::tempdir().unwrap();
        // The usual limit is often zero.
        let core = getrlimit(Resource::Core).maximum;
        setrlimit(Resource::Core, Rlimit { current: core, maximum: core }).unwrap();
        let large = "exec head -c 100000 /dev/zero >\"$0\"";
        // It has a buffer of this size.
        let greedy = "exec dd if=/dev/zero of=/dev/null bs=100M count=1";
        let limits = "grep -E '^Max (core )?file size|^Max open files|^Max data size' /proc/self/limits";
        let of = |text: &str, name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
            line.split_whitespace().take(2).map(str::to_owned).collect::<Vec<String>>()
        };
        let (free, before) = (run(folder.path(), large).0, run(folder.path(), limits).1);
        assert!(free.success(), "{free}");
        assert!(run(folder.path(), greedy).0.success());
        let aborted = ExitStatus::from_raw(Signal::ABORT.as_raw());
        for status in [free, aborted] {
            assert_eq!(ending(status), status.to_string());
        }
        assert_ne!(of(&before, "Max open files"), ["77", "77"], "{before}");

        limit_children(LIMITED);
        // Limits that are set already stay.
        limit_children(ChildLimits { file_bytes: 1 << 30, open_files: 1, memory_bytes: 1 << 40 });
        let (_, limited) = run(folder.path(), limits);
        for (name, most) in [
            ("Max file size", "65536"),
            ("Max open files", "77"),
            ("Max data size", "67108864"),
            ("Max core file size", "0"),
        ] {
            assert_eq!(of(&limited, name), [most, most], "{limited}");
        }
        let (ended, _) = run(folder.path(), large);
        assert_eq!(ended.signal(), Some(Signal::XFSZ.as_raw()), "{ended}");
        assert!(
            ending(ended).ends_with(": it wrote a file up to its limit of 65536 bytes"),
            "{}",
            ending(ended)
        );
        assert_eq!(fs::metadata(folder.path().join("large")).unwrap().len(), LIMITED.file_bytes);
        let (refused, said) = run(folder.path(), greedy);
        assert!(!refused.success(), "{said}");
        assert!(
            ending(aborted).ends_with(": it may have reached its limit of 67108864 bytes of memory"),
            "{}",
            ending(aborted)
        );
        let (other, _) = run(folder.path(), "exit 3");
        assert_eq!(ending(other), other.to_string());
    }
}
