//! Processes of real control groups. Where the groups of version 2 are not mounted, nothing is tested, which is printed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};

use hoptax_host::running::Running;

/// Mount point of version 2 alone.
const ALONE: &str = "/sys/fs/cgroup";
/// Mount point of version 2 beside version 1.
const BESIDE: &str = "/sys/fs/cgroup/unified";

/// Mount point of the groups of version 2, and the group of this process, as in study files. None if they are not mounted.
fn own_group() -> Option<(&'static Path, PathBuf)> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap();
    let group = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    let own = std::process::id().to_string();
    let lists_this = |root: &&Path| {
        let listed = fs::read_to_string(below(root, Path::new(group)).join("cgroup.procs"));
        listed.is_ok_and(|listed| listed.lines().any(|line| line == own))
    };
    let root = [ALONE, BESIDE].map(Path::new).into_iter().find(lists_this)?;
    Some((root, group.into()))
}

/// The folder of a group.
fn below(root: &Path, group: &Path) -> PathBuf {
    root.join(group.strip_prefix("/").unwrap_or(group))
}

/// A process in the group of this one that is none of its descendants: the shell that started it has ended. It ends with its input.
fn stranger() -> (u32, ChildStdin) {
    let mut shell = Command::new("sh")
        .args(["-c", "exec 3<&0; cat <&3 >/dev/null & echo $!"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let input = shell.stdin.take().unwrap();
    let mut line = String::new();
    BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
    shell.wait().unwrap();
    (line.trim().parse().unwrap(), input)
}

#[test]
fn the_processes_of_a_group_are_found_without_those_of_this_program() {
    let Some((root, group)) = own_group() else {
        eprintln!("not tested: control groups of version 2 are not mounted, or not for this process");
        return;
    };
    let mut ways = vec![Running::Cgroup(below(root, &group))];
    if root == Path::new(ALONE) {
        ways.push(Running::Cgroup(group.clone()));
        let name = group.file_name().map(|name| name.to_string_lossy().into_owned());
        ways.extend(name.filter(|name| name.ends_with(".service")).map(Running::Unit));
    }
    let (stranger, input) = stranger();
    let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
    let found: Vec<_> = ways.iter().map(Running::processes).collect();
    let by_id = Running::Pid(std::process::id()).processes();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(input);
    for (way, found) in ways.iter().zip(found) {
        let found = found.unwrap();
        let has = [stranger, std::process::id(), child.id()].map(|id| found.contains(&id));
        assert_eq!(has, [true, false, false], "{way}: {found:?}");
    }
    let by_id = by_id.unwrap();
    assert!(by_id.contains(&child.id()) && !by_id.contains(&stranger), "{by_id:?}");
}
