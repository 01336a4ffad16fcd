//! Tests of children on real processes.

use rustix::process::kill_process;

use super::*;
use crate::fixture::{end_of, run_alone, shell, wait_until};

/// A child that has ended.
fn ended(spec: &ChildSpec) -> Child {
    let mut child = Child::start(spec).unwrap();
    end_of(&mut child);
    child
}

fn is_alive(process_id: u32) -> bool {
    fs::read_to_string(format!("/proc/{process_id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_dropped_child_is_killed_although_it_is_stopped() {
    let directory = tempfile::tempdir().unwrap();
    for is_stopped in [false, true] {
        let child = Child::start(&shell(directory.path(), "exec sleep 1000")).unwrap();
        if is_stopped {
            stop(&child);
        }
        let process_id = child.id();
        assert!(is_alive(process_id));
        drop(child);
        assert!(!is_alive(process_id), "stopped: {is_stopped}");
    }
}

/// Waits until the last line of a child's output is a number, and returns it.
fn printed(child: &Child) -> u32 {
    let number = || last_lines(child.log(), 1).parse::<u32>().ok();
    wait_until(|| number().is_some());
    number().unwrap()
}

#[test]
fn descendants_of_a_child_are_killed_however_it_ends() {
    let start = |script: &str| {
        let directory = tempfile::tempdir().unwrap();
        let child = Child::start(&shell(directory.path(), script)).unwrap();
        let started = printed(&child);
        (child, started, directory)
    };
    let (child, started, _directory) = start("sleep 1000 & echo $!; wait");
    drop(child);
    assert!(!is_alive(started), "dropped");
    let (mut child, started, _directory) = start("sleep 1000 & echo $!; wait");
    child.end(Duration::from_secs(5)).unwrap();
    assert!(!is_alive(started), "terminated");
    let (mut child, started, _directory) = start("sleep 1000 & echo $!; exit 3");
    end_of(&mut child);
    assert!(!is_alive(started), "exited on its own");
}

#[test]
fn a_process_that_left_its_group_is_killed_with_the_last_child() {
    run_alone("child::tests::a_child_whose_descendant_created_a_session");
}

#[test]
#[ignore = "run by the test above"]
fn a_child_whose_descendant_created_a_session() {
    let directory = tempfile::tempdir().unwrap();
    let script = "setsid sh -c 'echo $$; exec sleep 1000' & wait";
    let mut bystander = Command::new("sleep").arg("1000").spawn().unwrap();
    let other = Child::start(&shell(directory.path(), "exec sleep 1000")).unwrap();
    let child = Child::start(&shell(directory.path(), script)).unwrap();
    let started = printed(&child);
    drop(child);
    assert!(is_alive(started), "it may belong to the other child");
    drop(other);
    assert!(!is_alive(started));
    assert!(is_alive(bystander.id()), "it is not a descendant of a child");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[test]
fn the_last_lines_of_a_child_exclude_earlier_processes() {
    let directory = tempfile::tempdir().unwrap();
    let run = |script: &str| ended(&shell(directory.path(), script)).last_lines(2);
    assert_eq!(run("echo one; echo two; echo three"), "two\nthree");
    assert_eq!(run("echo four"), "four");
    assert_eq!(run(":"), "(no output)");
}

#[test]
fn a_child_that_ignores_sigterm_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let mut child =
        Child::start(&shell(directory.path(), "trap '' TERM; echo ready; while :; do sleep 0.01; done"))
            .unwrap();
    wait_until(|| last_lines(child.log(), 1) == "ready");
    let status = child.end(Duration::from_millis(50)).unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
}

fn stop(child: &Child) {
    let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let stat = || fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    wait_until(|| stat().contains(") T "));
}

#[test]
fn a_stopped_child_is_running_and_can_be_terminated() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = Child::start(&shell(directory.path(), "exec sleep 1000")).unwrap();
    stop(&child);
    assert_eq!(child.ended().unwrap(), None);
    child.terminate().unwrap();
    let status = end_of(&mut child);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(15));
}

#[test]
fn a_stopped_child_dies_with_the_thread_that_started_it() {
    let directory = tempfile::tempdir().unwrap();
    let spec = shell(directory.path(), "exec sleep 1000");
    // The kernel regards the thread that starts a child as its parent.
    let mut child = std::thread::spawn(move || {
        let child = Child::start(&spec).unwrap();
        stop(&child);
        child
    })
    .join()
    .unwrap();
    let status = end_of(&mut child);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
}

#[test]
fn stdout_and_stderr_go_to_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let child = ended(&shell(directory.path(), "echo one; echo two >&2; echo; echo three"));
    assert_eq!(last_lines(child.log(), 2), "two\nthree");
    assert_eq!(last_lines(Path::new("/nonexistent"), 2), "");
}

#[test]
fn environment_variables_reach_the_child() {
    let directory = tempfile::tempdir().unwrap();
    let environment = vec![("HOPTAX_TEST".into(), "set".into())];
    let child = ended(&ChildSpec { environment, ..shell(directory.path(), "echo $HOPTAX_TEST") });
    assert_eq!(last_lines(child.log(), 1), "set");
}

#[test]
fn a_child_is_pinned_to_its_processors() {
    let directory = tempfile::tempdir().unwrap();
    let last = *crate::processors::allowed().unwrap().last().unwrap();
    let script = "grep Cpus_allowed_list /proc/self/status";
    let child = ended(&ChildSpec { processors: vec![last], ..shell(directory.path(), script) });
    assert_eq!(last_lines(child.log(), 1).split_whitespace().last(), Some(last.to_string().as_str()));
}

#[test]
fn a_missing_program_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let spec = ChildSpec { program: "/nonexistent/program".into(), ..shell(directory.path(), "") };
    assert_eq!(Child::start(&spec).unwrap_err().kind(), io::ErrorKind::NotFound);
}
