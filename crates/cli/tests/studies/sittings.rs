//! Lengths of studies, adding rounds to finished studies, and combining sittings.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::study::{StudyFolder, arm, small_study, smallest_study};
use crate::support::{Ran, checked, hoptax, ran, run};

/// A study of two arms.
fn two_arms() -> StudyFolder {
    StudyFolder::new(&smallest_study("baseline, same", 2))
}

/// Runs a study with its results in the folder `out`.
fn run_into(studies: &StudyFolder, out: &str, more: &[&str]) -> Ran {
    // The probe of a machine that runs tests varies between moments, and sittings with different probe outcomes are not combined.
    ran(studies.command_into(out).args(more).args(["--never-halt", "never"]))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_finished_study_is_not_overwritten_and_accepts_more_rounds() {
    let studies = two_arms();
    run_into(&studies, "out", &[]);
    let first = read(&studies.path("out/rounds/0.json"));
    assert_eq!(studies.result()["plan"]["rounds_completed"], 2);

    let refused = run_into(&studies, "out", &[]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("--resume") && refused.stderr.contains("--force"), "{}", refused.stderr);

    let longer = studies.resume(&["--rounds", "3"]);
    let result = studies.result();
    assert_eq!(result["plan"]["rounds_completed"], 3, "{}", longer.stderr);
    assert_eq!(result["plan"]["rounds_planned"], 3);
    assert_eq!(result["plan"]["resumed_after_rounds"], serde_json::json!([2]));
    assert_eq!(result["plan"]["ended_early"], Value::Null);
    assert_eq!(read(&studies.path("out/rounds/0.json")), first);

    let nothing = studies.resume(&[]);
    assert!(nothing.stderr.contains("the study is complete with 3 rounds"), "{}", nothing.stderr);
    assert_eq!(studies.result()["arms"], result["arms"]);
    let fewer = studies.resume(&["--rounds", "2"]);
    assert_eq!(fewer.code, Some(2), "{}", fewer.stderr);

    run_into(&studies, "out", &["--force"]);
    assert_ne!(read(&studies.path("out/rounds/0.json")), first);
}

#[test]
fn a_resumed_study_is_judged_by_its_own_thresholds() {
    let studies = two_arms();
    let loosened = |result: &Value| -> Vec<String> {
        let all = result["loosened"].as_array().unwrap();
        all.iter().map(|one| format!("{} {}", one["name"].as_str().unwrap(), one["value"])).collect()
    };
    run_into(&studies, "out", &["--threshold", "rounds=1", "--threshold", "steal=0.5"]);
    let of_all = ["rounds 1.0", "steal 0.5"].map(str::to_owned);
    let mut first = loosened(&studies.result());
    first.sort_unstable();
    assert_eq!(first, of_all);
    // They are kept, and those that the arguments set are changed.
    let resumed = studies.resume(&[]);
    let mut kept = loosened(&studies.result());
    kept.sort_unstable();
    assert_eq!(kept, of_all, "{}", resumed.stderr);
    studies.resume(&["--threshold", "rounds=5"]);
    assert_eq!(loosened(&studies.result()), ["steal 0.5"]);
    studies.resume(&[]);
    assert_eq!(loosened(&studies.result()), ["steal 0.5"]);
}

#[test]
fn a_short_budget_still_measures_two_rounds() {
    let studies = two_arms();
    let ran = run_into(&studies, "out", &["--budget", "10ms"]);
    let plan = &studies.result()["plan"];
    assert_eq!(plan["rounds_completed"], 2, "{}", ran.stderr);
    assert_eq!(plan["rounds_planned"], 2);
    assert_eq!(plan["budget_s"], 0.01);
    assert_eq!(plan["sequential"], Value::Null);
    run(["study", "quick", "--until", "1"]).fails(2, "write it as `1%`");
}

#[test]
fn a_study_with_a_precision_records_its_looks_and_whether_it_reached_it() {
    // One connection leaves a processor to other tests: no cost is read.
    let file = small_study("baseline, same", 2).replace("connections: 4", "connections: 1");
    let studies = StudyFolder::new(&file);
    let ran = run_into(&studies, "out", &["--until", "0.001%", "--rounds", "3"]);
    let result = studies.result();
    let sequential = &result["plan"]["sequential"];
    assert_eq!(sequential["looks"], serde_json::json!([3]), "{}", ran.stderr);
    assert_eq!((&sequential["reached"], &sequential["quantile_confidence"]), (&false.into(), &0.96.into()));
    assert_eq!(result["plan"]["confidence"], 0.95);
    assert!(ran.stderr.contains("is not reached"), "{}", ran.stderr);
    assert!(read(&studies.path("out/report.md")).contains("not reached"));

    // The same rounds, resumed as a study of three rounds, whose intervals are not examined.
    studies.resume(&["--rounds", "3"]);
    assert_eq!(studies.result()["plan"]["sequential"], Value::Null);

    // The look at the end of the first session still counts.
    let resumed = studies.resume(&["--until", "0.001%", "--rounds", "4"]);
    let sequential = &studies.result()["plan"]["sequential"];
    assert_eq!(sequential["looks"], serde_json::json!([3, 4]), "{}", resumed.stderr);
}

#[test]
fn sittings_of_one_study_are_combined() {
    // The first sitting chooses the rate, and the second keeps it: sittings under different loads are not combined. One connection leaves a
    // processor to other tests: costs are compared with themselves.
    let file = small_study("baseline, same", 2)
        .replace("rate: 500, ", "")
        .replace("connections: 4", "connections: 1");
    let studies = StudyFolder::new(&file);
    let first = run_into(&studies, "first", &["--again", "--rounds", "2"]);
    assert!(
        ["one sitting states costs", "no sitting states a cost"]
            .iter()
            .any(|note| first.stderr.contains(*note)),
        "{}",
        first.stderr
    );
    let file = studies.path("small-sittings.json");
    assert_eq!(checked("sittings", &read(&file))["holds_for"], "sitting");

    let second = run_into(&studies, "second", &["--details", "--again", "--rounds", "2", "--seed", "2"]);
    let combined = checked("sittings", &read(&file));
    // Checks may withhold any cost of a study this small. A cost that both sittings state holds for the machine.
    let costs = combined["arms"].as_array().unwrap().iter().flat_map(|arm| arm["costs"].as_array().unwrap());
    let is_of_both =
        |cost: &Value| cost["estimates"].as_array().unwrap().iter().all(|estimate| !estimate.is_null());
    let holds_for = if costs.clone().any(is_of_both) { "machine" } else { "sitting" };
    assert_eq!(combined["holds_for"], holds_for, "{}", second.stderr);
    for (number, out) in ["first", "second"].iter().enumerate() {
        let result = studies.result_in(out);
        let of_cpu = costs.clone().find(|cost| cost["measure"] == "cpu_us" && cost["load"].is_null());
        let estimate = of_cpu.map_or(&Value::Null, |cost| &cost["estimates"][number]["interval"]);
        assert_eq!(estimate, &arm(&result, "same")["cost"]["cpu_us_per_request"], "{out}");
    }
    let folders: Vec<&Value> =
        combined["sittings"].as_array().unwrap().iter().map(|sitting| &sitting["folder"]).collect();
    assert_eq!(folders, ["first", "second"]);
    assert!(second.stdout.contains("sitting 2: "), "{}", second.stdout);
    for ending in ["md", "html"] {
        let report = read(&studies.path(&format!("small-sittings.{ending}")));
        assert!(report.contains("itting 2: ") && report.contains("Variation between sittings"), "{report}");
    }
    // All sittings as one result, which is read as any other.
    let one = checked("study", &read(&studies.path("small-sittings-result.json")));
    assert_eq!((&one["plan"]["rounds_completed"], &one["sittings"]), (&4.into(), &combined["sittings"]));
    // All sittings together are judged by checks of numbers, and by one of the time between sittings; evidence is that of a sitting.
    let of_all = ["known-answer", "known-cpu", "same-differs", "vague-cost", "vague-level", "close-sittings"];
    let is_close = |finding: &Value| finding["id"] == "close-sittings" && finding["sitting"].is_null();
    assert!(one["findings"].as_array().unwrap().iter().any(is_close), "{}", one["findings"]);
    for finding in one["findings"].as_array().unwrap() {
        let is_of_sitting = matches!(finding["sitting"].as_u64(), Some(1 | 2));
        assert!(is_of_sitting || of_all.contains(&finding["id"].as_str().unwrap()), "{finding}");
    }

    // A result of another machine is not a sitting.
    let other = studies.path("second/result.json");
    let mut result: Value = serde_json::from_str(&read(&other)).unwrap();
    result["environment"]["kernel"] = "another".into();
    // Sittings are judged by their evidence, whatever checks have found before.
    result["findings"] = Value::Array(Vec::new());
    fs::write(&other, result.to_string()).unwrap();
    let combine = |more: &[&str]| {
        let folders = [studies.path("first"), studies.path("second")];
        ran(hoptax()
            .args(["study", "--combine"])
            .args(folders)
            .arg("--out")
            .arg(studies.path("all"))
            .args(more))
    };
    combine(&["--dry-run"]).fails(2, "cannot be used with");
    let refused = combine(&[]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("kernel") && refused.stderr.contains("--force"), "{}", refused.stderr);
    combine(&["--force"]).succeeded();
    let stored = checked("sittings", &read(&studies.path("all/small-sittings.json")));
    assert_eq!(stored["arms"], combined["arms"]);
    let judged = checked("study", &read(&studies.path("all/small-sittings-result.json")));
    assert_eq!(judged["findings"], one["findings"]);
}
