//! `hoptax predict prices`, and the study records that it uses, on real Envoy.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Ran, checked, hoptax, ran, root, run, small_study};

/// Runs a small study of these arms, and returns the path of its result.
fn study(folder: &Path, name: &str, arms: &str) -> PathBuf {
    let file = folder.join(format!("{name}.yaml"));
    fs::write(&file, small_study(arms, 2)).unwrap();
    let out = folder.join(name);
    let ran = ran(hoptax().arg("study").arg(&file).arg("--out").arg(&out));
    // With few slices, the result may be void.
    assert!(matches!(ran.code, Some(0 | 4)), "{}", ran.stderr);
    out.join("result.json")
}

fn prices(arguments: &[&str]) -> Ran {
    run(["predict", "prices"].into_iter().chain(arguments.iter().copied()))
}

#[test]
fn the_built_in_list_is_printed_in_every_format() {
    let table = prices(&[]);
    assert_eq!(table.code, Some(0), "{}", table.stderr);
    assert!(table.stdout.contains("route/path{routes=1000}") && table.stdout.contains("more: --details"));
    let details = prices(&["--details"]).stdout;
    assert!(details.contains("listed: study") && !details.contains("more: --details"), "{details}");
    let markdown = prices(&["--markdown"]).stdout;
    assert!(markdown.contains("| `jwt` | "), "{markdown}");
    let json = checked("prices", &prices(&["--json", "-"]).stdout);
    assert!(json["here"].is_null() && json["prices"].as_array().unwrap().len() > 50);
    assert!(json["prices"].as_array().unwrap().iter().all(|price| price["made"] == "listed"));
}

#[test]
fn a_list_carries_to_its_own_machine_unchanged() {
    let list = root().join("docs/results/price-list/result.json");
    let list = list.to_str().unwrap();
    let carried = prices(&["--here", "--list", list, "--measured", list, "--json", "-"]);
    let json = checked("prices", &carried.stdout);
    assert!((json["here"]["factor"].as_f64().unwrap() - 1.0).abs() < 1e-9);
    for price in json["prices"].as_array().unwrap() {
        assert!(price["made"] != "carried", "{price}");
        if price["made"] == "measured" {
            assert_eq!(price["here_us"], price["listed_us"]);
        }
    }
}

#[test]
fn a_small_list_is_carried_by_a_measurement_on_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let list = study(folder.path(), "list", "baseline, same, jwt, lua");
    let here = study(folder.path(), "here", "baseline, same, jwt");
    let json = checked("study", &fs::read_to_string(&list).unwrap());
    // Kernel counters are in the evidence, even if checks withhold the numbers.
    let samples = json["rounds"][0]["samples"].as_array().unwrap();
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
    let (list, measured) = (list.to_str().unwrap(), here.to_str().unwrap());
    let carried = prices(&["--here", "--list", list, "--measured", measured, "--json", "-"]);
    // Other work on the machine can leave a number bounded, or unknown.
    let study_of = |path: &str| checked("study", &fs::read_to_string(path).unwrap());
    let arm = |path: &str, id: &str| {
        study_of(path)["arms"].as_array().unwrap().iter().find(|arm| arm["id"] == id).unwrap().clone()
    };
    let has_plain = |path: &str| !arm(path, "baseline")["cpu_us_per_request"].is_null();
    if carried.code == Some(4) {
        let is_void = |path: &str| study_of(path)["verdict"] == "void";
        let is_withheld = [list, measured].iter().any(|path| is_void(path) || !has_plain(path));
        assert!(is_withheld, "{}", carried.stderr);
        return;
    }
    let json = checked("prices", &carried.stdout);
    let price = |id: &str| json["prices"].as_array().unwrap().iter().find(|price| price["id"] == id).unwrap();
    let is_measured = !arm(measured, "jwt")["cost"]["cpu_us_per_request"].is_null();
    assert_eq!(price("jwt")["made"] == "measured", is_measured, "{json}");
    assert!(price("lua")["made"] != "measured" && price("lua")["made"] != "listed", "{json}");
    assert!(json["here"]["anchors"].as_array().unwrap().iter().any(|name| name == "plain proxying"));
}

#[test]
fn the_speeds_of_the_machine_are_in_the_result_of_a_study_that_measures_them() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("study.yaml"), folder.path().join("out"));
    fs::write(&file, small_study("baseline, same", 2)).unwrap();
    let ran = ran(hoptax().arg("study").arg(&file).args(["--smoke", "--with-speeds", "--out"]).arg(&out));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let result = checked("study", &fs::read_to_string(out.join("result.json")).unwrap());
    assert!(result["speeds"]["speeds"].as_array().unwrap().len() > 10, "{}", result["speeds"]);
}

#[test]
fn a_file_that_is_not_a_study_result_is_invalid_input() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.json");
    fs::write(&file, "{}").unwrap();
    let file = file.to_str().unwrap();
    prices(&["--list", file]).fails(2, "is not a study result");
    assert_eq!(prices(&["--measured", file]).code, Some(2), "without --here it has no use");
}
