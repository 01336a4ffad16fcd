//! Descendants of children that outlived their parents.

use std::fs;
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpgid, waitpid};

use crate::freeze;

/// The orphans that [`kill_orphans`] could not end.
static LEFT: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Kills all descendants that outlived their parents and left their groups. Call it when no group is left, as it is unknown which
/// child an orphan belonged to. Children in the group of this process were started by other code and are spared.
pub(super) fn kill_orphans() {
    let own_group = group_of(getpid());
    let left = end(|group| Some(group) != own_group, kill);
    *LEFT.lock().unwrap_or_else(PoisonError::into_inner) = left;
}

/// Kills the remaining processes of a group whose leader has been reaped, and waits for them.
pub(super) fn end_group(group: Pid) {
    // Where the kernel does not list children, all of them are waited for.
    if end(|of| of == group.as_raw_pid(), kill).is_empty() {
        while let Ok(Some(_)) = waitpgid(group, WaitOptions::empty()) {}
    }
}

/// Processes that children of this process left behind and that cannot be killed, because they run as another user. Known once the last
/// child has ended.
pub fn left_behind() -> Vec<u32> {
    let left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    left.iter().map(|pid| pid.as_raw_pid().cast_unsigned()).collect()
}

/// Waits for the children of this process that have ended, except for these.
pub(super) fn reap_except(spared: &[Pid]) {
    for pid in children().into_iter().filter(|pid| !spared.contains(pid)) {
        // One that runs is left alone.
        let _ = waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

fn kill(pid: Pid) -> Result<(), Errno> {
    kill_process(pid, Signal::KILL)
}

/// Kills the children of this process whose group `is_meant` selects, and waits for them. Returns those that run as another user: they
/// cannot be killed and may never end, so they are not waited for.
fn end(is_meant: impl Fn(i32) -> bool, kill: impl Fn(Pid) -> Result<(), Errno>) -> Vec<Pid> {
    let mut left: Vec<Pid> = Vec::new();
    loop {
        let orphans: Vec<Pid> = children()
            .into_iter()
            .filter(|pid| !left.contains(pid) && group_of(*pid).is_some_and(&is_meant))
            .collect();
        if orphans.is_empty() {
            return left;
        }
        for pid in orphans {
            // A process that has exited is reaped, whichever user it ran as.
            let may_last = kill(pid) == Err(Errno::PERM);
            let options = if may_last { WaitOptions::NOHANG } else { WaitOptions::empty() };
            // Its own children are orphans now; the next iteration finds them.
            if waitpid(Some(pid), options).is_ok_and(|ended| ended.is_none()) {
                left.push(pid);
            }
        }
    }
}

/// The group of a process; 0 if its leader is outside the PID namespace, which `getpgid` of rustix does not expect.
fn group_of(pid: Pid) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?;
    // After the name, which may have spaces and parentheses: the state, the parent, the group.
    stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()
}

/// The children that any thread of this process started or adopted; empty if the kernel does not list them.
fn children() -> Vec<Pid> {
    let ids = freeze::children(std::process::id()).unwrap_or_default();
    ids.into_iter().filter_map(|id| Pid::from_raw(id.cast_signed())).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;
    use crate::fixture::{run_alone, wait_until};

    // Concurrent tests wait for the children of a process, or end them, so both run alone.

    #[test]
    fn processes_of_another_user_are_not_waited_for() {
        run_alone("child::orphans::tests::two_children_of_which_one_cannot_be_signalled");
    }

    #[test]
    fn a_child_that_has_ended_is_reaped_unless_it_is_spared() {
        run_alone("child::orphans::tests::two_children_of_which_one_is_spared");
    }

    #[test]
    #[ignore = "run by the test above"]
    fn two_children_of_which_one_is_spared() {
        let (spared, other) = (Command::new("true").spawn().unwrap(), Command::new("true").spawn().unwrap());
        let mut running = Command::new("sleep").arg("1000").spawn().unwrap();
        let state = |id: u32| fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        for child in [&spared, &other] {
            wait_until(|| state(child.id()).contains(") Z "));
        }
        reap_except(&[Pid::from_raw(spared.id().cast_signed()).unwrap()]);
        assert!(state(spared.id()).contains(") Z ") && state(other.id()).is_empty());
        assert!(running.try_wait().unwrap().is_none());
        running.kill().unwrap();
        running.wait().unwrap();
    }

    #[test]
    #[ignore = "run by the test above"]
    fn two_children_of_which_one_cannot_be_signalled() {
        let start = || Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        let (mut own, mut other) = (start(), start());
        let other_pid = Pid::from_raw(other.id().cast_signed()).unwrap();
        // The kernel's answer for a process of another user, which only root could start.
        let refuse = |pid: Pid| if pid == other_pid { Err(Errno::PERM) } else { kill(pid) };
        let own_group = group_of(getpid());
        assert_eq!(end(|group| Some(group) != own_group, refuse), [other_pid]);
        assert!(own.wait().is_err(), "it was killed and reaped");
        assert!(other.try_wait().unwrap().is_none(), "it runs");
        kill(other_pid).unwrap();
        let stat = || fs::read_to_string(format!("/proc/{}/stat", other_pid.as_raw_pid())).unwrap();
        wait_until(|| stat().contains(") Z "));
        assert!(end(|group| Some(group) != own_group, refuse).is_empty());
        assert!(other.wait().is_err(), "it had exited, and was reaped");
    }
}
