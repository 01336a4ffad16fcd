//! `hoptax predict prices`, and the study records that it uses, on real Envoy.

use std::fs;

use serde_json::Value;

use crate::support::study::{StudyFolder, arm, small_study};
use crate::support::{Ran, checked, ran, run};

/// Measures a small study of these arms.
fn measured(arms: &str) -> StudyFolder {
    let study = StudyFolder::new(&small_study(arms, 2));
    let ran = study.run();
    // With few slices, the result may be void.
    assert!(matches!(ran.code, Some(0 | 4)), "{}", ran.stderr);
    study
}

fn prices(arguments: &[&str]) -> Ran {
    run(["predict", "prices"].into_iter().chain(arguments.iter().copied()))
}

#[test]
fn the_built_in_list_is_printed_in_every_format() {
    let table = prices(&[]).succeeded();
    assert!(table.stdout.contains("compress/zstd") && table.stdout.contains("more: --details"));
    let details = prices(&["--details"]).stdout;
    assert!(details.contains("listed: study") && !details.contains("more: --details"), "{details}");
    let markdown = prices(&["--markdown"]).stdout;
    assert!(markdown.contains("| `lua` | "), "{markdown}");
    let json = checked("prices", &prices(&["--json", "-"]).stdout);
    assert!(json["here"].is_null() && json["prices"].as_array().unwrap().len() > 50);
    assert!(json["prices"].as_array().unwrap().iter().all(|price| price["made"] == "listed"));
}

#[test]
fn a_small_list_is_converted_by_a_measurement_on_this_machine() {
    let (list, here) = (measured("baseline, same, jwt, lua"), measured("baseline, same, jwt"));
    let (of_list, of_here) = (list.result(), here.result());
    // Kernel counters are in the evidence, even if checks withhold the numbers.
    let samples = of_list["rounds"][0]["samples"].as_array().unwrap();
    for sample in samples.iter().filter(|sample| sample["load"] == "saturation") {
        let counted =
            sample["set_aside"].as_array().unwrap().iter().any(|by| by.as_array().unwrap().is_empty());
        let count = |name: &str| sample["parts"][name].as_u64().unwrap_or(0);
        if counted {
            assert!(count("requests") > 0 && count("cpu_ns") > 0, "{sample}");
            // A request and its response are read on either side of the proxy.
            assert!(count("reads") >= 2 * count("requests"), "{sample}");
        }
    }
    let path = |study: &StudyFolder| study.path("out/result.json").display().to_string();
    let converted = prices(&["--here", "--from", &path(&list), "--measured", &path(&here), "--json", "-"]);
    // Other work on the machine can leave a number bounded, or unknown.
    let has_plain = |of: &Value| !arm(of, "baseline")["cpu_us_per_request"].is_null();
    if converted.code == Some(4) {
        let is_withheld = [&of_list, &of_here].iter().any(|of| of["verdict"] == "void" || !has_plain(of));
        assert!(is_withheld, "{}", converted.stderr);
        return;
    }
    let json = checked("prices", &converted.stdout);
    let price = |id: &str| json["prices"].as_array().unwrap().iter().find(|price| price["id"] == id).unwrap();
    let is_measured = !arm(&of_here, "jwt")["cost"]["cpu_us_per_request"].is_null();
    assert_eq!(price("jwt")["made"] == "measured-here", is_measured, "{json}");
    assert!(price("lua")["made"] != "measured-here" && price("lua")["made"] != "listed", "{json}");
    assert!(json["here"]["anchors"].as_array().unwrap().iter().any(|name| name == "plain proxying"));
}

#[test]
fn the_speeds_of_the_machine_are_in_the_result_of_a_study_that_measures_them() {
    let study = StudyFolder::new(&small_study("baseline, same", 2));
    ran(study.command().args(["--smoke", "--with-speeds"])).succeeded();
    let result = study.result();
    assert!(result["speeds"]["speeds"].as_array().unwrap().len() > 10, "{}", result["speeds"]);
}

#[test]
fn a_file_that_is_not_a_study_result_is_invalid_input() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.json");
    fs::write(&file, "{}").unwrap();
    let file = file.to_str().unwrap();
    prices(&["--from", file]).fails(2, "is not a study result");
    assert_eq!(prices(&["--measured", file]).code, Some(2), "without --here it has no use");
}
