//! `hoptax predict scale` on results of studies.

use std::fs;
use std::path::Path;

use hoptax_result::{StudyResult, Verdict, sample};

use crate::support::{Ran, checked, run};

/// A study whose rate grows with its connections by a known law.
fn study(sizes: &[u32]) -> StudyResult {
    let loads = sizes.iter().map(|size| sample::closed_loop(&format!("full-{size}"), *size)).collect();
    sample::study_of_rates(&[sample::arm("baseline")], loads, 6, |_, load, round| {
        let size = f64::from(load.connections);
        (1.0 + 0.001 * f64::from(round)) * 1_000.0 * size
            / (1.0 + 0.05 * (size - 1.0) + 0.0015 * size * (size - 1.0))
    })
}

fn write(folder: &Path, study: &StudyResult) {
    fs::write(folder.join("result.json"), serde_json::to_string(study).unwrap()).unwrap();
}

fn scale(path: &Path, options: &[&str]) -> Ran {
    run(["predict", "scale", path.to_str().unwrap()].into_iter().chain(options.iter().copied()))
}

#[test]
fn a_law_is_fitted_to_the_rates_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut study = study(&[1, 4, 16, 64, 256]);
    // At 256 connections, the generator was the limit.
    study.arms[0].loads[4].proxy_core_share = Some(0.6);
    for sample in study.rounds.iter_mut().filter_map(|round| round.samples.last_mut()) {
        sample.values.insert("generator_core_share".to_owned(), vec![Some(0.97)]);
    }
    write(folder.path(), &study);
    let ran = scale(folder.path(), &["--over", "connections", "--details"]).succeeded();
    // Sentences wrap at the width of the terminal.
    let text = ran.stdout.split_whitespace().collect::<Vec<&str>>().join(" ");
    for words in [
        "`baseline` peaks at 25 connections (25 to 25)",
        "0.05000 ±0.00000",
        "left out: 256 (baseline under full-256",
        "the generator used 97 % of its core",
    ] {
        assert!(text.contains(words), "{words}: {}", ran.stdout);
    }
    assert!(!text.contains("does not fit"), "{}", ran.stdout);
    let file = folder.path().join("result.json");
    let json = checked("scale", &scale(&file, &["--over", "connections", "--json", "-"]).stdout);
    let fit = &json["series"][0]["fit"];
    let is_near =
        |value: &serde_json::Value, truth: f64| (value.as_f64().unwrap() / truth - 1.0).abs() < 1e-6;
    assert!(
        is_near(&fit["kappa"]["estimate"], 0.0015) && is_near(&fit["peak"]["size"]["estimate"], 25.166_115),
        "{fit}"
    );
    assert_eq!(json["series"][0]["left_out"][0]["size"], 256);
}

#[test]
fn what_cannot_be_fitted_has_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let ran = |study: &StudyResult, over: &str| {
        write(folder.path(), study);
        scale(folder.path(), &["--over", over])
    };
    ran(&study(&[1, 4, 16]), "connections").fails(2, "`baseline` has 1, 4, 16 connections");
    ran(&study(&[1, 4, 16, 64]), "clones").fails(2, "--over connections");
    let mut short = study(&[1, 4, 16, 64]);
    short.rounds.truncate(3);
    let short = ran(&short, "connections");
    assert!(short.code == Some(4) && short.stdout.contains("no law: 3 rounds"), "{}", short.stdout);
    let void = StudyResult { verdict: Verdict::Void, ..study(&[1, 4, 16, 64]) };
    assert_eq!(ran(&void, "connections").code, Some(4));
    fs::write(folder.path().join("result.json"), "{}").unwrap();
    scale(folder.path(), &["--over", "connections"]).fails(2, "is not a study result");
}
