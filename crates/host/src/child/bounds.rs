//! Limits of all children, for a program that starts processes for others: what a configuration of a stranger has a proxy do should not
//! fill the disk or the table of open files.
//!
//! The address space has none. An allocator reserves more of it than it uses, so a limit would say little about memory; a control group
//! bounds that.

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
}

/// Limits every child that starts from now on, and has none leave a core file. Limits of this process that are lower hold for its children,
/// too. Limits that were set before stay.
///
/// They hold for each process, not for all of them together, and a process of root may raise its own.
pub fn limit_children(limits: ChildLimits) {
    let _ = LIMITS.set(limits);
}

/// The limits of the next child; none without limits.
pub(super) fn of_next() -> Option<[(Resource, Rlimit); 3]> {
    let of = |resource, most| (resource, at_most(resource, most));
    LIMITS.get().map(|limits| {
        [
            of(Resource::Fsize, limits.file_bytes),
            of(Resource::Nofile, limits.open_files),
            of(Resource::Core, 0),
        ]
    })
}

/// An exit status in words, with the limit that ended a child.
pub fn ending(status: ExitStatus) -> String {
    let limits = LIMITS.get().filter(|_| status.signal() == Some(Signal::XFSZ.as_raw()));
    limits.map_or_else(
        || status.to_string(),
        |limits| format!("{status}: it wrote a file up to its limit of {} bytes", limits.file_bytes),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;
    use std::thread;
    use std::time::Duration;

    use rustix::process::{getrlimit, setrlimit};

    use super::*;
    use crate::child::{Child, ChildSpec, last_lines};

    const LIMITED: ChildLimits = ChildLimits { file_bytes: 64 * 1024, open_files: 77 };

    /// Runs a script to its end, and returns its exit status and its last three lines.
    fn run(folder: &Path, script: &str) -> (ExitStatus, String) {
        let mut child = Child::start(&ChildSpec {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into(), folder.join("large").into()],
            environment: Vec::new(),
            log: folder.join("log"),
            processors: Vec::new(),
        })
        .unwrap();
        loop {
            if let Some(status) = child.ended().unwrap() {
                return (status, last_lines(child.log(), 3));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn children_have_the_limits_and_their_end_by_one_is_named() {
        // In a separate process: the limits hold for all children of a process.
        let test = "child::bounds::tests::children_before_and_after_limits";
        let output = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--ignored"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }

    #[test]
    #[ignore = "run by the test above"]
    fn children_before_and_after_limits() {
        let folder = tempfile::tempdir().unwrap();
        // The usual limit is often zero.
        let core = getrlimit(Resource::Core).maximum;
        setrlimit(Resource::Core, Rlimit { current: core, maximum: core }).unwrap();
        let large = "exec head -c 100000 /dev/zero >\"$0\"";
        let limits = "grep -E '^Max (core )?file size|^Max open files' /proc/self/limits";
        let of = |text: &str, name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
            line.split_whitespace().take(2).map(str::to_owned).collect::<Vec<String>>()
        };
        let (free, before) = (run(folder.path(), large).0, run(folder.path(), limits).1);
        assert!(free.success(), "{free}");
        assert_eq!(ending(free), free.to_string());
        assert_ne!(of(&before, "Max open files"), ["77", "77"], "{before}");

        limit_children(LIMITED);
        // Limits that are set already stay.
        limit_children(ChildLimits { file_bytes: 1 << 30, open_files: 1 });
        let (_, limited) = run(folder.path(), limits);
        for (name, most) in
            [("Max file size", "65536"), ("Max open files", "77"), ("Max core file size", "0")]
        {
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
        let (other, _) = run(folder.path(), "exit 3");
        assert_eq!(ending(other), other.to_string());
    }
}
