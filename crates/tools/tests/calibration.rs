//! A short calibration, with at most work of idle priority beside it: beside other tests, the generator itself would be late.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::AtomicBool;

use hoptax_host::processors::Placement;
use hoptax_result::{Environment, Experiment};
use hoptax_tools::calibrate::{Options, run};

#[test]
fn in_a_short_calibration_no_response_is_early() {
    let allowed = hoptax_host::processors::allowed().unwrap();
    let placement = Placement::split(&allowed, 1);
    // On its own thread, which stays pinned.
    let run = std::thread::spawn(move || {
        let options =
            Options { placement: &placement, factor: 0.05, seed: 1, keep_awake: None, never_halted: true };
        let mut steps = Vec::new();
        let result = run(&options, Environment::default(), &AtomicBool::new(false), &mut |step| {
            steps.push(step.to_owned());
        });
        (result.unwrap(), steps)
    });
    let (result, steps) = run.join().unwrap();
    assert_eq!(result.experiments.len(), 8);
    assert!(!result.never_halted, "without `keep_awake`, processors may halt");
    assert!(steps.iter().any(|step| step == "closed-loop"));
    let named = |name: &str| result.experiments.iter().find(|one| one.name == name).unwrap();
    let least = |one: &Experiment| one.error.map_or(0.0, |error| error.min_us);
    assert!(result.experiments.iter().all(|one| least(one) >= 0.0), "{result:#?}");
    // Hidden in service time, visible in response time.
    let freeze = named("freeze");
    let p95 = freeze.quantiles.iter().find(|one| (one.quantile - 0.95).abs() < 1e-9).unwrap();
    assert!(freeze.service_p99_us.unwrap() < p95.reported_us / 2.0, "{freeze:#?}");
    let cut_off = named("cut-off");
    assert!(cut_off.unfinished > 100, "{cut_off:#?}");
    let p99 = cut_off.quantiles.last().unwrap();
    assert!(p99.is_lower_bound && p99.reported_us <= p99.true_us, "{cut_off:#?}");
    assert!(result.recorder.merges_exactly && result.recorder.most_above_share < 0.001);
    assert!(result.floor.min_us > 0.0);
    assert!(!result.tried.is_empty() && result.floors.len() <= result.tried.len());
    assert!(result.body.speeds.is_some_and(|speeds| !speeds.speeds.is_empty()));
}
