//! The open files of a process, and why it may have no ring of `io_uring` among them.

use std::fs;
use std::io;

/// Link target of the file descriptor of a ring of `io_uring`.
pub const RING: &str = "anon_inode:[io_uring]";

/// Returns true if a process has a file open whose descriptor links to `target`.
///
/// # Errors
/// When its descriptors cannot be read: it has ended, or belongs to another user.
pub fn has_open(process_id: u32, target: &str) -> io::Result<bool> {
    let files = fs::read_dir(format!("/proc/{process_id}/fd"))?;
    // A descriptor may be closed meanwhile.
    let mut links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    Ok(links.any(|link| link.to_str() == Some(target)))
}

/// Returns the likely reason why a process could not open a ring of `io_uring`, by the kernel's setting; empty for every other target.
pub fn why_absent(target: &str) -> String {
    if target != RING {
        return String::new();
    }
    let setting = fs::read_to_string("/proc/sys/kernel/io_uring_disabled");
    why_no_ring(setting.ok().as_deref().map(str::trim))
}

/// The likely reason for a value of `kernel.io_uring_disabled` (Linux, `Documentation/admin-guide/sysctl/kernel.rst`). None if there is no
/// such setting, which Linux has since 6.6.
fn why_no_ring(setting: Option<&str>) -> String {
    let reason = match setting {
        None => {
            "this kernel has no `kernel.io_uring_disabled`: it is older than 6.6, or built without io_uring"
        }
        Some("0") => {
            "`kernel.io_uring_disabled` is 0, so the kernel allows it: a seccomp filter, such as that of a container, or the limit of \
             locked memory (`ulimit -l`) refuses it"
        }
        Some("1") => "`kernel.io_uring_disabled` is 1: the kernel allows it only to privileged processes",
        Some(_) => "`kernel.io_uring_disabled` is 2: the kernel allows no process to use it",
    };
    reason.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_file_is_found_and_one_that_is_not_open_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("open");
        let target = path.to_str().unwrap();
        let own = std::process::id();
        let file = fs::File::create(&path).unwrap();
        assert!(has_open(own, target).unwrap());
        drop(file);
        assert!(!has_open(own, target).unwrap());
        assert!(has_open(u32::MAX, target).is_err());
    }

    #[test]
    fn the_kernel_s_reason_for_no_ring_is_stated() {
        assert!(
            why_no_ring(Some("2")).contains("no process") && why_no_ring(Some("1")).contains("privileged")
        );
        assert!(why_no_ring(Some("0")).contains("seccomp") && why_no_ring(None).contains("older than 6.6"));
        assert_eq!(why_absent("/some/file"), "");
    }
}
