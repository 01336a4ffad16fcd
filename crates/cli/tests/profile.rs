//! A study with profiles. Without perf or the right to sample the kernel, some tests only test the message, which is printed.
//!
//! It has a program of its own. Tests that start Envoy themselves make their process the parent of orphans, and perf would stay
//! their zombie after a killed study. The command that perf runs waits for perf to be gone.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::process::Command;

use support::study::{StudyFolder, small_study};
use support::{Ran, ran, wait_until};

#[test]
fn layers_of_an_arm_add_up_to_its_cpu_time_and_are_drawn() {
    let study = profiled("baseline, lua", 2);
    let has_perf = Command::new("perf").arg("--version").output().is_ok();
    judge(&study, &study.run(), if has_perf { "perf" } else { "hoptax" });
}

#[test]
fn without_perf_hoptax_takes_the_samples_itself() {
    let study = profiled("baseline, lua", 2);
    // All that the study needs is installed elsewhere.
    judge(&study, &ran(study.command().env("PATH", study.folder.path())), "hoptax");
    let result = study.result();
    let findings = result["findings"].as_array().unwrap();
    let absent = findings.iter().find(|finding| finding["id"] == "top-down-absent").unwrap();
    assert!(absent["message"].as_str().unwrap().contains("perf is not installed"), "{absent}");
}

fn profiled(arms: &str, rounds: u32) -> StudyFolder {
    StudyFolder::new(&format!("{}profile: true\n", small_study(arms, rounds)))
}

/// Judges the output and the files of a study with profiles by `sampler`.
fn judge(study: &StudyFolder, ran: &Ran, sampler: &str) {
    if !rustix::process::geteuid().is_root() {
        ran.fails(3, "needs root");
        eprintln!("not tested: {}", ran.stderr);
        return;
    }
    let (result, out) = (study.result_of(ran), study.out());
    assert_eq!(result["plan"]["rounds_completed"], 2, "{}", ran.stderr);
    for round in result["rounds"].as_array().unwrap() {
        for (arm, values) in round["arms"].as_object().unwrap() {
            let profile = &values["profile"];
            assert_eq!(profile["sampler"], sampler);
            let layers = profile["layers_ns"].as_object().unwrap();
            let sampled: u64 = layers.values().map(|ns| ns.as_u64().unwrap()).sum();
            assert!(profile["requests"].as_u64() > Some(0) && sampled > 0, "{arm}: {profile:#}");
            assert!(layers.keys().any(|layer| layer.starts_with("kernel: ")), "{arm}: {profile:#}");
            // Counters, or the reason why this machine has none.
            let parts: f64 = profile["top_down"]
                .as_object()
                .into_iter()
                .flatten()
                .filter_map(|(_, share)| share.as_f64())
                .sum();
            let is_absent = profile["top_down_absent"].as_str().is_some_and(|reason| !reason.is_empty());
            assert!(is_absent != (0.8..1.2).contains(&parts), "{arm}: {profile:#}");
        }
    }
    for arm in result["arms"].as_array().unwrap() {
        // Few slices may be too vague to be reported.
        let Some(whole) = arm["cpu_us_per_request"]["estimate"].as_f64() else { continue };
        let layers = arm["layers"].as_array().unwrap().iter();
        let sum: f64 = layers.map(|layer| layer["cpu_us_per_request"]["estimate"].as_f64().unwrap()).sum();
        assert!((sum - whole).abs() < 1e-6 * whole, "{arm:#}");
        // The frames of a round add up to its CPU time, so those of both rounds have the arm's in the mean.
        let frames = arm["frames"].as_array().unwrap();
        let own_us = frames.iter().flat_map(|frame| frame["own_us"].as_array().into_iter().flatten());
        let sum: f64 = own_us.map(|us| us.as_f64().unwrap()).sum();
        assert!((sum / 2.0 - whole).abs() < 1e-3 * whole && frames.len() > 10, "{arm:#}");
    }
    // No frame is left of an arm whose CPU time is withheld.
    let has_frames = result["arms"].as_array().unwrap().iter().any(|arm| !arm["frames"].is_null());
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert_eq!(page.contains("CPU time by frame"), has_frames, "the page has the flame graph");
    for name in ["baseline.svg", "lua.svg", "lua-difference.svg"] {
        let svg = fs::read_to_string(out.join("profiles").join(name)).unwrap();
        assert!(svg.contains("<svg") && svg.contains("tcp_"), "{name}");
    }
    assert!(!out.join("profiles/lua/perf.data").exists());
}

#[test]
fn kill_9_ends_the_profiler_too() {
    if Command::new("perf").arg("--version").output().is_err() || !rustix::process::geteuid().is_root() {
        eprintln!("not tested: this needs perf and root");
        return;
    }
    let study = profiled("baseline, same", 25);
    let mut running = study.start();
    let has_profile = |arm: &str| study.out().join("profiles").join(arm).join("ready").exists();
    wait_until("a profile", || has_profile("baseline") || has_profile("same"));
    running.signal("KILL");
    running.0.wait().unwrap();
    // Envoy, origins, perf, and the command that perf runs name the folder on their command lines.
    let name = study.folder.path().to_str().unwrap();
    let names_folder = |entry: fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(name)
    };
    wait_until("the end of all processes", || !fs::read_dir("/proc").unwrap().flatten().any(names_folder));
}
