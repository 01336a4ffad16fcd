//! Resuming killed studies, and errors of the processes that functions need besides Envoy.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use hoptax_subject::envoy::release::Envoy;
use serde_json::Value;

use crate::support;
use crate::support::study::{StudyFolder, small_study, smallest_study};
use crate::support::{Guarded, checked, hoptax, install, is_alive, ran, run, wait_until};

fn exists(path: &Path) -> bool {
    fs::exists(path).unwrap()
}

#[test]
fn a_killed_study_resumes_after_its_last_complete_round() {
    // The machine chooses more rounds than will be measured.
    let text = smallest_study("baseline, access-log/file", 4).replace("rounds: 4\n", "");
    let folder = StudyFolder::new(&text);
    let store = folder.path("store.sqlite");
    let mut study = folder.command();
    study.arg(format!("--store={}", store.display()));
    let mut running = Guarded(study.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    wait_until("two rounds", || exists(&folder.out().join("rounds/1.json")));
    // Kill it in the third round.
    wait_until("a log is written", || exists(&folder.out().join("arms/access-log-file/files/access.log")));
    let children = running.children();
    running.signal("KILL");
    running.0.wait().unwrap();
    wait_until("nothing runs", || children.iter().all(|child| !is_alive(*child)));
    let kept = fs::read_dir(folder.out().join("rounds")).unwrap().count();
    let first = fs::read_to_string(folder.out().join("rounds/0.json")).unwrap();
    // The store has the complete rounds, at most without the last, which was being written to both.
    let runs = |arguments: &[&str]| ran(hoptax().arg("runs").args(arguments).arg("--store").arg(&store));
    let exported = folder.path("exported");
    runs(&["export", "1", exported.to_str().unwrap()]).succeeded();
    let in_store = fs::read_dir(exported.join("rounds")).unwrap().count();
    assert!(in_store == kept || in_store + 1 == kept, "{in_store} of {kept}");
    for name in ["rounds/0.json", "study.yaml", "run.json"] {
        assert_eq!(
            fs::read(exported.join(name)).unwrap(),
            fs::read(folder.out().join(name)).unwrap(),
            "{name}"
        );
    }
    let leftover = folder.out().join("arms/access-log-file/files");
    assert!(exists(&leftover));
    let cleaned = ran(hoptax().args(["runs", "cleanup"]).arg(folder.folder.path()));
    assert!(cleaned.code == Some(0) && cleaned.stdout.contains("files") && !exists(&leftover), "{cleaned:?}");

    let resumed = folder.resume(&["--details", "--rounds", "4"]);
    assert!(resumed.stderr.contains("resumed after round"), "{}", resumed.stderr);
    let result = folder.result();
    assert_eq!(result["plan"]["rounds_completed"], 4, "{}", resumed.stderr);
    let after = result["plan"]["resumed_after_rounds"][0].as_u64().unwrap();
    assert!((2..=kept as u64).contains(&after), "{after}, {kept}");
    assert_eq!(result["plan"]["seed"], 1);
    assert!(resumed.stdout.contains(&format!("resumed after round {after}")), "{}", resumed.stdout);
    // The same from the store alone, as after the loss of the folder.
    let to_store = format!("--store={}", store.display());
    let mut of_store = hoptax();
    of_store.args(["study", "--details", "--rounds", "4", "--resume"]).arg(&exported).arg(&to_store);
    let from_store = ran(&mut of_store);
    assert!(
        from_store.stdout.contains(&format!("resumed after round {in_store}")),
        "{}{}",
        from_store.stdout,
        from_store.stderr
    );
    assert!(from_store.stderr.contains("stored as run 1 in"), "{}", from_store.stderr);
    let listed = checked("runs", &runs(&["list", "--json"]).stdout);
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1);
    assert_eq!(listed["runs"][0]["rounds"], 4);
    assert_eq!(fs::read_to_string(exported.join("rounds/0.json")).unwrap(), first);
    // Earlier rounds are unchanged.
    assert_eq!(fs::read_to_string(folder.out().join("rounds/0.json")).unwrap(), first);
    let slices = fs::read_to_string(folder.out().join("slices.csv")).unwrap();
    // Disturbed slices appear more than once.
    let planned = |line: &str| line.split(',').take(4).map(str::to_owned).collect::<Vec<_>>();
    let distinct: BTreeSet<Vec<String>> = slices.lines().skip(1).map(planned).collect();
    // Four rounds of two arms under two loads.
    assert_eq!(distinct.len(), 4 * 2 * 2, "{slices}");
    // A complete study measures nothing more, and its result stays the same.
    let again = folder.resume(&[]);
    assert_eq!(again.code, resumed.code, "{}", again.stderr);
    assert_eq!(folder.result()["arms"], result["arms"]);
}

#[test]
fn a_companion_that_dies_ends_the_study_with_its_last_lines() {
    let folder = StudyFolder::new(&smallest_study("baseline, rate-limit/global", 25));
    let mut running = folder.start();
    let log = folder.out().join("companion.log");
    wait_until("the companion listens", || {
        fs::read_to_string(&log).is_ok_and(|log| log.contains("listening on"))
    });
    wait_until("a round", || exists(&folder.out().join("rounds/0.json")));
    let mut companion = None;
    wait_until("the companion is found", || {
        // The port changes in each round.
        let address = fs::read_to_string(&log).unwrap_or_default();
        let Some(port) = address.trim().rsplit(':').next().and_then(|port| port.parse().ok()) else {
            return false;
        };
        companion = running.children().into_iter().find(|child| listens(*child, port));
        companion.is_some()
    });
    support::signal(companion.unwrap(), "KILL");
    let code = running.0.wait().unwrap().code();
    let stderr = running.stderr();
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stderr.contains("exited") && stderr.contains("companion.log"), "{stderr}");
}

/// Returns true if a process listens on a port, according to the kernel.
fn listens(process_id: u32, port: u16) -> bool {
    let sockets = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let wanted = format!(":{port:04X} ");
    let inodes: Vec<String> = sockets
        .lines()
        .filter(|line| {
            line.split_whitespace().nth(1).is_some_and(|local| format!("{local} ").ends_with(&wanted))
        })
        .filter_map(|line| line.split_whitespace().nth(9).map(|inode| format!("socket:[{inode}]")))
        .collect();
    let files = fs::read_dir(format!("/proc/{process_id}/fd")).into_iter().flatten().flatten();
    files
        .filter_map(|file| fs::read_link(file.path()).ok())
        .any(|link| inodes.iter().any(|inode| link.to_string_lossy() == *inode))
}

#[test]
fn a_missing_application_is_an_error_with_the_remedy() {
    let study = small_study("baseline, rate-limit/library", 2);
    let folder = StudyFolder::new(&study);
    folder.run().fails(2, "add `application: go`");
    let folder = StudyFolder::new(&format!("{study}\napplication: go\n"));
    let mut command = folder.command();
    command.current_dir(folder.folder.path()).env("PATH", "/usr/bin:/bin");
    ran(&mut command).fails(3, "make limiter");
    assert!(!folder.out().exists(), "it is found before the study begins");
}

#[test]
fn a_study_is_resumed_only_with_the_same_file_and_builds_on_the_same_machine() {
    assert!(run(["study", "--resume", "/nonexistent"]).stderr.contains("`/nonexistent` is not a run folder"));
    let folder = StudyFolder::new(&format!("{}application: go\n", smallest_study("baseline, same", 2)));
    // An application with the interface of the one in Go.
    let application = folder.path("bin/hoptax-limiter");
    let script = format!("exec '{}' lab origin --listen \"$2\"", support::program().display());
    install(&application, &script);
    let with_application = |command: &mut Command| {
        let path = env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", application.parent().unwrap().display());
        ran(command.current_dir(folder.folder.path()).env("PATH", path))
    };
    let resumed =
        |more: &[&str]| with_application(hoptax().arg("study").arg("--resume").arg(folder.out()).args(more));
    let first = with_application(&mut folder.command());
    let result = folder.result();
    assert_eq!(result["plan"]["rounds_completed"], 2, "{}", first.stderr);
    assert_eq!(resumed(&[]).code, first.code);

    install(&application, &format!("{script} # patched"));
    resumed(&[]).fails(2, "a different build of hoptax-limiter");
    fs::remove_file(&application).unwrap();
    resumed(&[]).fails(3, "make limiter");
    install(&application, &script);

    // Another program that reports the same version.
    let envoy = Envoy::usual().unwrap();
    let other = folder.path("envoy");
    install(&other, &format!("exec '{}' \"$@\"", envoy.program.display()));
    resumed(&["--envoy", other.to_str().unwrap()]).fails(2, "a different build of Envoy");

    let cpu = |whose: &str| result["environment"][whose][0].as_u64().unwrap().to_string();
    let (proxy, generator) = (cpu("proxy_cpus"), cpu("generator_cpus"));
    if proxy != generator {
        let mut command = Command::new("taskset");
        command.env("XDG_STATE_HOME", "/nonexistent").args(["--cpu-list", &generator]);
        command.arg(support::program()).arg("study").arg("--resume").arg(folder.out());
        let expected = format!("processors of proxies [{proxy}] then, [{generator}] now");
        with_application(&mut command).fails(2, &expected);
    }

    // A study file or a machine that is another than then.
    let changed = |name: &str, change: &dyn Fn(&str) -> String, reason: &str| {
        let file = folder.out().join(name);
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, change(&text)).unwrap();
        resumed(&[]).fails(2, reason);
        fs::write(&file, text).unwrap();
    };
    let another_kernel = |text: &str| {
        let mut manifest: Value = serde_json::from_str(text).unwrap();
        manifest["kernel"] = "another".into();
        manifest.to_string()
    };
    changed("run.json", &another_kernel, "kernel another then");
    let another_rate = |text: &str| text.replace("rate: 500", "rate: 600");
    changed("study.yaml", &another_rate, "the study or the catalogue has changed");
    let nothing = run(["runs", "cleanup", folder.out().to_str().unwrap()]);
    assert!(nothing.code == Some(0) && nothing.stderr.contains("nothing to remove"), "{nothing:?}");
    // Nothing of this has changed the folder.
    assert_eq!(resumed(&[]).code, first.code);
}
