use std::process::Command;

use super::*;
use crate::runner::fixture;

/// Calls `test` with the plan of a study of these arms and a meter for it.
fn with_meter(arms: &str, test: impl FnOnce(&Plan, Meter<'_>)) {
    let plan = fixture::plan(arms);
    fixture::with_setting(&[0], |setting| {
        test(&plan, Meter::new(&plan, setting, None, &Subjects::default(), Instant::now(), 0));
    });
}

#[test]
fn a_companion_that_ends_concerns_only_the_arms_that_call_it() {
    with_meter("baseline, lua", |_, mut meter| {
        let mut companion = Command::new("sleep").arg("600").spawn().unwrap();
        meter.companion = Some(companion.id());
        let [calling, other] =
            [true, false].map(|asks_companion| Subject { asks_companion, ..Subject::default() });
        let before = [&calling, &other].map(|subject| meter.read(subject).unwrap());
        assert!(meter.read(&calling).unwrap().since(&before[0]).is_some());
        companion.kill().unwrap();
        companion.wait().unwrap();
        assert!(meter.read(&calling).ok().and_then(|now| now.since(&before[0])).is_none());
        let used = meter.read(&other).unwrap().since(&before[1]);
        assert_eq!(used.map(|used| used.companion_cpu_ns), Some(0));
    });
}

#[test]
fn a_stop_of_the_generator_is_in_the_lag_of_a_request_or_of_a_turn() {
    let mut recording = Recording::default();
    assert_eq!(latest_own_lag_ns(&recording), 0);
    // In a closed loop, no request is late.
    recording.longest_turn_ns = 1_000_000_000;
    assert_eq!(latest_own_lag_ns(&recording), 1_000_000_000);
    recording.own_lag.record(2_000_000_000);
    assert!((2_000_000_000..2_100_000_000).contains(&latest_own_lag_ns(&recording)));
}

#[test]
fn a_slice_that_is_not_in_the_record_ends_the_study_with_its_arm() {
    with_meter("baseline, lua", |plan, mut meter| {
        let mut running = Running::new(plan.subjects().nth(1).unwrap(), Subject::default());
        running.last = Some(Last { reading: Reading::default(), slice: Some(7) });
        let error = meter.keep_late(&running, &Reading::default()).unwrap_err().to_string();
        assert_eq!(error, "arm `lua`: there is no slice 7 in the record; this is a bug in hoptax");
    });
}

#[test]
fn what_a_server_that_already_ran_does_between_slices_is_in_no_slice() {
    with_meter("baseline, {name: ours, url: 'http://127.0.0.1:1/'}", |plan, mut meter| {
        for planned in plan.subjects() {
            let place = meter.record.slices.len();
            meter.record.slices.push(SliceRecord::default());
            let account = || Subject { account: Some([std::process::id()].into()), ..Subject::default() };
            let mut running = Running::new(planned, account());
            running.last = Some(Last { reading: meter.read(&running.subject).unwrap(), slice: Some(place) });
            let later = meter.read(&account()).unwrap();
            meter.keep_late(&running, &later).unwrap();
            let is_external = planned.arm.external.is_some();
            let slice = &meter.record.slices[place];
            // A thread of another test may have ended in between, so its use is unknown.
            let is_kept = !slice.late_hops_cpu_ns.is_empty() || slice.is_incomplete;
            assert_eq!(is_kept, !is_external, "{}", planned.arm.id);
        }
    });
}
