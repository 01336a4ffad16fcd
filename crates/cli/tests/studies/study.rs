//! `hoptax study` on real Envoy: normal runs and failures.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support;
use crate::support::study::{StudyFolder, arm, has_verdict, small_study, smallest_study};
use crate::support::{Guarded, checked, hoptax, install, is_alive, name_of, ran, run, wait_until};

/// Starts a study and waits until slices are measured.
fn started(study: &StudyFolder) -> Guarded {
    let running = study.start();
    wait_until("the first round", || running.children().iter().any(|child| name_of(*child) == "envoy"));
    // Other processes validate the configurations before that.
    wait_until("a round begins", || fs::metadata(study.path("out/arms/same/admin-address")).is_ok());
    running
}

/// Returns true if this number of rounds is complete.
fn has_rounds(study: &StudyFolder, rounds: u32) -> bool {
    study.out().join(format!("rounds/{}.json", rounds - 1)).exists()
}

/// The values of a column of slices.csv for an arm. Only the quoted names contain commas. A slice that was set aside may have none:
/// on a machine that stalls, it can end without a response.
fn column(study: &StudyFolder, of_arm: &str, load: &str, name: &str) -> Vec<f64> {
    let text = fs::read_to_string(study.path("out/slices.csv")).unwrap();
    let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let position = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let (index, set_aside) = (position(name), position("set_aside"));
    let rows = text
        .lines()
        .skip(1)
        .filter(|row| row.contains(&format!("\"{of_arm}\"")) && row.contains(&format!("\"{load}\"")));
    let values: Vec<f64> = rows
        .map(|row| row.split(',').collect::<Vec<_>>())
        .filter(|cells| cells[set_aside].is_empty() || !cells[index].is_empty())
        .map(|cells| cells[index].parse().unwrap())
        .collect();
    assert!(!values.is_empty(), "no {name} of {of_arm} under {load}");
    values
}

#[test]
fn a_small_study_recovers_known_answers() {
    let study = StudyFolder::new(&small_study("direct, baseline, same, lua, control/delay", 2));
    let ran = study.run();
    let result = study.result();
    // With few slices, the result may be void; the record has all values below either way.
    let code = if result["verdict"] == "void" { 4 } else { 0 };
    assert_eq!(ran.code, Some(code), "{}", ran.stderr);
    assert!(has_verdict(&ran.stdout), "{}", ran.stdout);
    let ids: Vec<&str> =
        result["arms"].as_array().unwrap().iter().map(|arm| arm["id"].as_str().unwrap()).collect();
    assert_eq!(
        ids,
        [
            "baseline",
            "direct",
            "same",
            "lua",
            "baseline{connections=64,EVENT_PRECISE_TIMER=1}",
            "control/delay"
        ]
    );
    for arm in result["arms"].as_array().unwrap() {
        let count = |field: &str| arm["book"][field].as_u64().unwrap();
        assert!(count("answered") > 0 && count("answered") == count("sent"), "{arm:#}");
        let of = |field: &str| arm["slices"][field].as_u64().unwrap();
        // The baseline of three arms has two copies.
        let (copies, planned) = match arm["id"].as_str() {
            Some("baseline") => (2, 16),
            Some("direct") => (1, 4),
            _ => (1, 8),
        };
        assert_eq!(arm["copies"], copies);
        // Disturbed slices were repeated if there was time.
        let accounted = of("used") + of("delayed") + of("lost");
        assert!(accounted >= planned && of("lost") <= of("set_aside"), "{arm:#}");
    }
    // The twin has the configuration of the baseline, and every other arm a different one.
    let hash = |id: &str, field: &str| arm(&result, id)[field].clone();
    let configuration = |id: &str| hash(id, "configuration_sha256");
    assert_eq!(configuration("baseline").as_str().map(str::len), Some(64));
    assert_eq!(
        (configuration("same"), configuration("direct")),
        (configuration("baseline"), serde_json::Value::Null)
    );
    assert_ne!(configuration("lua"), configuration("baseline"));
    assert_eq!(hash("lua", "requests_sha256"), hash("baseline", "requests_sha256"));
    assert_eq!(result["environment"]["proxy_sha256"].as_str().map(str::len), Some(64));
    // No response through a delay of 1 ms arrives earlier, and CPU time is never zero.
    assert!(column(&study, "control/delay", "fixed-rate", "response_p50_us").iter().all(|us| *us >= 990.0));
    assert!(column(&study, "lua", "saturation", "cpu_us_per_request").iter().all(|us| *us > 0.0));
    for file in ["report.html", "report.md", "numbers.csv", "arms/lua/bootstrap.json", "arms/lua/envoy.log"] {
        assert!(study.out().join(file).exists(), "{file}");
    }
}

#[test]
fn a_study_in_a_folder_with_odd_characters_is_judged_by_the_thresholds_of_its_arguments() {
    let study = StudyFolder::new(&smallest_study(
        "baseline, same, access-log/file, tls/terminate, ext-authz/http",
        2,
    ));
    let out = study.path("my \"run\"; {$x}: #1's \\n %h");
    let mut command = hoptax();
    command.arg("study").arg(study.path("study.yaml")).arg("--out").arg(&out);
    // More rounds than the study has: it fails and says why.
    let ran = ran(command.args(["--threshold", "rounds-fail=3", "--threshold", "steal=0.9"]));
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(ran.stdout.contains("with a loosened threshold: steal 0.9 instead of 0.005"), "{}", ran.stdout);
    let result = checked("study", &fs::read_to_string(out.join("result.json")).unwrap());
    assert_eq!(result["loosened"][0]["name"], "steal");
    assert_eq!(result["loosened"].as_array().unwrap().len(), 1);
    let mut findings = result["findings"].as_array().unwrap().iter();
    let rounds = findings.find(|finding| finding["id"] == "too-few-rounds").unwrap();
    assert_eq!(rounds["severity"], "fail");
    assert!(rounds["message"].as_str().unwrap().ends_with("; `rounds-fail` is set to 3, not 2"), "{rounds}");
    for arm in result["arms"].as_array().unwrap() {
        assert!(arm["book"]["answered"].as_u64() > Some(0), "{arm:#}");
        assert_eq!(arm["unproven"].as_array().map(Vec::len), Some(0), "{arm:#}");
    }
}

#[test]
fn a_folder_whose_name_is_not_text_is_refused() {
    let study = StudyFolder::new(&small_study("baseline, same", 2));
    let out = study.folder.path().join(OsStr::from_bytes(b"run-\xff"));
    let mut command = hoptax();
    command.arg("study").arg(study.path("study.yaml")).arg("--out").arg(&out);
    let ran = ran(&mut command);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("is not valid UTF-8") && !out.exists(), "{}", ran.stderr);
}

/// Two proxies and an origin; there are fewer between two rounds.
fn all_children(running: &Guarded) -> Vec<u32> {
    let mut children = Vec::new();
    wait_until("two proxies and an origin", || {
        children = running.children();
        children.iter().filter(|child| is_alive(**child)).count() >= 3
    });
    children
}

#[test]
fn an_interrupt_keeps_complete_rounds_and_leaves_nothing_behind() {
    let study = StudyFolder::new(&smallest_study("baseline, same", 25));
    let mut running = started(&study);
    let children = all_children(&running);
    wait_until("two rounds", || has_rounds(&study, 2));
    running.signal("INT");
    assert_eq!(running.0.wait().unwrap().code(), Some(130));
    let stderr = running.stderr();
    assert!(stderr.contains("round 1 of 25, 0 % done") && stderr.contains("round 2 of 25"), "{stderr}");
    let continues = " of 25 rounds: `hoptax study --resume ";
    assert!(stderr.contains("interrupted after ") && stderr.contains(continues), "{stderr}");
    let result = study.result();
    assert_eq!(result["plan"]["ended_early"], "interrupted");
    assert!(result["plan"]["rounds_completed"].as_u64() >= Some(2));
    assert!(children.iter().all(|child| !is_alive(*child)));
}

#[test]
fn kill_9_leaves_no_process_behind() {
    let study = StudyFolder::new(&small_study("baseline, same", 25));
    let mut running = started(&study);
    let children = all_children(&running);
    running.signal("KILL");
    running.0.wait().unwrap();
    wait_until("the end of all children", || children.iter().all(|child| !is_alive(*child)));
}

#[test]
fn the_death_of_envoy_is_an_error_with_its_log_and_the_slices_are_kept() {
    let study = StudyFolder::new(&small_study("baseline, same", 25));
    let mut running = started(&study);
    wait_until("a round", || has_rounds(&study, 1));
    // There is none between two rounds.
    wait_until("an Envoy", || {
        let envoy = running.children().into_iter().find(|child| name_of(*child) == "envoy");
        envoy.is_some_and(|envoy| {
            Command::new("kill").args(["-9", &envoy.to_string()]).status().unwrap().success()
        })
    });
    let status = running.0.wait().unwrap();
    let stderr = running.stderr();
    assert_eq!(status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("envoy.log") && stderr.contains("signal: 9"), "{stderr}");
    assert!(study.result()["plan"]["ended_early"].as_str().unwrap().contains("the proxy exited"));
    assert!(fs::read_to_string(study.path("out/slices.csv")).unwrap().lines().count() > 8);
}

/// A program that claims to be Envoy and runs `script`.
fn fake_envoy(folder: &Path, script: &str) -> PathBuf {
    let path = folder.join("pretender");
    let script = format!(
        "[ \"$1\" = --version ] && echo 'envoy  version: c/1.40.0/Clean/RELEASE/B' && exit 0\n{script}"
    );
    install(&path, &script);
    path
}

#[test]
fn the_error_of_a_rejected_configuration_quotes_envoy() {
    let study = StudyFolder::new(&small_study("baseline, same", 2));
    let envoy = fake_envoy(study.folder.path(), "echo 'unknown field fancy'; exit 1");
    let ran = ran(study.command().arg("--envoy").arg(envoy));
    ran.fails(3, "rejects the configuration");
    assert!(
        ran.stderr.contains("unknown field fancy") && ran.stderr.contains("bootstrap.json"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_error_of_a_rejected_fragment_names_its_line() {
    let study = StudyFolder::new(&small_study("baseline, lua", 2));
    let script = "[ \"$1\" = --mode ] || exit 1\nwhile [ \"$1\" != --config-path ]; do shift; done\n\
                  grep -q x-hoptax-lua \"$2\" || exit 0\n\
                  echo \"no such field: 'default_source_code'\"; exit 1";
    let envoy = fake_envoy(study.folder.path(), script);
    let ran = ran(study.command().arg("--envoy").arg(envoy));
    ran.fails(3, "line 5 of the fragment of function `lua`");
    assert!(ran.stderr.contains("no such field: 'default_source_code'"), "{}", ran.stderr);
}

#[test]
fn the_error_of_an_envoy_that_exits_at_the_start_quotes_it() {
    let study = StudyFolder::new(&small_study("baseline, same", 2));
    let script = "[ \"$1\" = --mode ] && exit 0\necho 'cannot bind: address in use'; exit 1";
    let envoy = fake_envoy(study.folder.path(), script);
    let ran = ran(study.command().arg("--envoy").arg(envoy));
    assert_eq!(ran.code, Some(3));
    assert!(
        ran.stderr.contains("cannot bind: address in use") && ran.stderr.contains("envoy.log"),
        "{}",
        ran.stderr
    );
}

#[test]
fn an_envoy_that_hangs_at_its_start_ends_with_the_study() {
    for (signal, code) in [("INT", Some(130)), ("KILL", None)] {
        let study = StudyFolder::new(&small_study("baseline, same", 2));
        let envoy = fake_envoy(study.folder.path(), "exec sleep 1000");
        let mut command = study.command();
        command.arg("--envoy").arg(envoy).stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = Guarded(command.spawn().unwrap());
        let mut hanging = None;
        wait_until("the start of a proxy", || {
            hanging = running.children().into_iter().find(|child| name_of(*child) == "sleep");
            hanging.is_some()
        });
        running.signal(signal);
        assert_eq!(running.0.wait().unwrap().code(), code);
        wait_until("the end of what hung", || !is_alive(hanging.unwrap()));
    }
}

#[test]
fn a_folder_with_a_result_or_a_running_study_is_rejected() {
    let study = StudyFolder::new(&small_study("baseline, same", 2));
    fs::create_dir(study.out()).unwrap();
    let in_use = fs::File::open(study.out()).unwrap();
    in_use.lock().unwrap();
    study.run().fails(2, "is still running");
    drop(in_use);
    let file = study.out().join("result.json");
    fs::write(&file, "of another program").unwrap();
    let refused = study.run();
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("would overwrite") && refused.stderr.contains("--force"),
        "{}",
        refused.stderr
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "of another program");
}

#[test]
fn without_an_envoy_the_error_lists_the_ways_to_get_one() {
    let study = StudyFolder::new(&small_study("baseline, same", 2));
    let empty = study.path("empty");
    fs::create_dir(&empty).unwrap();
    let mut command = study.command();
    let ran = ran(command.env("PATH", &empty).env("XDG_CACHE_HOME", &empty).env("HOPTAX_OFFLINE", "1"));
    ran.fails(3, "hoptax lab envoy install 1.40.0");
    assert!(ran.stderr.contains("--envoy PATH"), "{}", ran.stderr);
}

#[test]
fn an_invalid_study_file_is_exit_code_2_with_every_problem() {
    let study = StudyFolder::new("name: x\narm: [baseline]\nloads:\n  - {name: a, loop: opne}\n");
    let ran = study.run();
    assert_eq!(ran.code, Some(2));
    for problem in
        ["unknown key `arm`; did you mean `arms`?", "has no key `arms`", "did you mean `open`?", ":2:1:"]
    {
        assert!(ran.stderr.contains(problem), "{problem}: {}", ran.stderr);
    }
    assert!(!study.out().exists(), "an invalid study creates no folder");
    StudyFolder::new(&small_study("baseline, outlier-detectio", 2))
        .run()
        .fails(2, "did you mean `outlier-detection`?");
    run(["study", "no-such-study"]).fails(2, "`hoptax study list` lists");
}

#[test]
fn a_full_disk_is_an_error_but_the_table_is_printed() {
    let study = StudyFolder::new(&small_study("baseline, same", 2));
    fs::create_dir(study.out()).unwrap();
    // Files are written beside their place, and then take it.
    symlink("/dev/full", study.out().join("result.unfinished")).unwrap();
    let ran = ran(study.command().args(["--force", "--smoke"]));
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("result.json") && ran.stderr.contains("No space left"), "{}", ran.stderr);
    assert!(has_verdict(&ran.stdout) && study.out().join("report.html").exists());
}

#[test]
fn many_connections_are_opened_for_each_slice_and_closed_after_it() {
    let study = StudyFolder::new(
        "name: many\nrounds: 2\narms: [baseline, same, same#2]\nloads:\n  - {name: few, loop: closed, connections: 2, blocks: \
         1, slice: 50ms}\n  - {name: many, loop: closed, connections: 600, blocks: 1, slice: 100ms}\n",
    );
    // The connections of all arms together are more than the open files allowed: Envoy alone needs two for each.
    let script = format!(
        "ulimit -n 1600; exec '{}' study '{}' --out '{}'",
        support::program().display(),
        study.path("study.yaml").display(),
        study.out().display()
    );
    let ran = ran(Command::new("sh").args(["-c", &script]));
    let result = study.result_of(&ran);
    for arm in result["arms"].as_array().unwrap() {
        assert_eq!(arm["failures"], serde_json::json!({}), "{arm}");
    }
    for (_, arm) in result["rounds"][0]["arms"].as_object().unwrap() {
        assert_eq!(arm["opened"]["connections"], 2, "kept connections, of which memory is measured: {arm}");
    }
    let slices = column(&study, "same", "many", "rate");
    assert!(slices.len() >= 2 && slices.iter().all(|rate| *rate > 0.0), "{slices:?}");
    // The warm-up of the many connections takes ten times as long as a slice under few, and belongs to no slice.
    let of_few = |name| column(&study, "same", "few", name);
    let processors = of_few("rate")
        .into_iter()
        .zip(of_few("cpu_us_per_request"))
        .map(|(rate, cpu_us)| rate * cpu_us / 1e6);
    let processors: Vec<f64> = processors.collect();
    assert!(processors.iter().all(|used| (0.1..2.0).contains(used)), "{processors:?}");
}

#[test]
fn an_arm_with_a_load_of_its_own_is_measured_beside_its_baseline_under_that_load_alone() {
    let study = StudyFolder::new(
        "name: heavy\nrounds: 2\narms: [baseline, same, rbac, lua]\n\
         loads:\n  - {name: in-use, loop: open, connections: 2, except: slow}\n  - {name: slow, loop: open, connections: 2, only: [lua]}\n",
    );
    let result = study.short_form();
    let loads = result["plan"]["loads"].as_array().unwrap();
    assert_eq!(loads[1]["arms"], serde_json::json!(["baseline", "lua", "same"]), "{loads:#?}");
    // Each arm has a capacity, of which its rates are shares, whichever open loop it takes part in.
    let has_capacity = |arm: &serde_json::Value| arm["capacity"]["rate"].as_f64() > Some(1.0);
    assert!(result["arms"].as_array().unwrap().iter().all(has_capacity), "{result:#}");
    assert!(loads.iter().all(|load| load["rate"].as_f64() > Some(1.0)), "{loads:#?}");
    for (id, expected) in [
        ("baseline", &["in-use", "slow"][..]),
        ("same", &["in-use", "slow"]),
        ("rbac", &["in-use"]),
        ("lua", &["slow"]),
    ] {
        let under = arm(&result, id)["loads"].as_array().unwrap();
        let names: Vec<&str> = under.iter().map(|load| load["load"].as_str().unwrap()).collect();
        assert_eq!(names, expected, "{id}");
    }
    // Memory is compared between proxies with the same connections, whichever loads their arms take part in.
    let rounds = result["rounds"].as_array().unwrap();
    for (id, of_arm) in rounds.iter().flat_map(|round| round["arms"].as_object().unwrap()) {
        assert_eq!(of_arm["opened"]["connections"], 4, "{id}");
    }
    assert!(!rounds.is_empty());
}
