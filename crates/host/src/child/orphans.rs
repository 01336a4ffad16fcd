//! Descendants of children that outlived their parents.

use std::fs;

use rustix::process::{Pid, Signal, WaitOptions, kill_process};

/// Kills all descendants that outlived their parents and left their groups. Call it when no group is left, as it is unknown which
/// child an orphan belonged to. Children in the group of this process were started by other code and are spared.
pub(super) fn kill_orphans() {
    let own_group = rustix::process::getpgrp();
    loop {
        let orphans: Vec<Pid> = children()
            .into_iter()
            .filter(|pid| rustix::process::getpgid(Some(*pid)).is_ok_and(|group| group != own_group))
            .collect();
        if orphans.is_empty() {
            return;
        }
        for pid in orphans {
            let _ = kill_process(pid, Signal::KILL);
            // Its own children are orphans now; the next iteration finds them.
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
        }
    }
}

/// The children that any thread of this process started or adopted; empty if the kernel does not list them.
fn children() -> Vec<Pid> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>())
        .filter_map(Pid::from_raw)
        .collect()
}
