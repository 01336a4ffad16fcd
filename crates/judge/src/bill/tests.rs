use hoptax_result::{
    Activity, ArmRound, Decision, Measured, ProxyTraffic, Sample, Severity, StudyRound, Verdict,
};

use super::*;
use crate::fixture;
use crate::measures::CPU;
use crate::summary::{Conditions, fill, summarise};

pub(super) const TEXT: &str = "
name: price
rounds: 4
arms:
  - baseline
  - {name: whole, hops: [{functions: [lua, cors, rbac]}]}
  - {name: whole-again, hops: [{functions: [lua, cors, rbac]}], compared_with: whole}
  - {name: no-lua, hops: [{functions: [cors, rbac]}], compared_with: whole}
  - {name: no-cors, hops: [{functions: [lua, rbac]}], compared_with: whole}
  - {name: all-off, hops: [{functions: [rbac]}], compared_with: whole}
loads:
  - {name: at-rate, loop: open, rate: 2000, blocks: 4, slice: 200ms}
";

/// CPU time per request of each arm, us: `lua` costs 30, `cors` 10, both together `together`.
fn cpu_us(arm: &str, together: f64) -> f64 {
    match arm {
        "baseline" => 50.0,
        "no-lua" => 70.0,
        "no-cors" => 90.0,
        "all-off" => 100.0 - together,
        _ => 100.0,
    }
}

fn study(together: f64) -> StudyResult {
    study_of(TEXT, |arm| cpu_us(arm, together))
}

/// Bytes that an arm reads per request.
fn bytes_of(arm: &str) -> u64 {
    if arm == "no-lua" || arm == "all-off" { 420 } else { 500 }
}

/// A study of a file in which the level of the whole varies from round to round.
pub(super) fn study_of(text: &str, cpu_us: impl Fn(&str) -> f64) -> StudyResult {
    let mut result = summarise(&fixture::plan(text), &[], Conditions::default());
    let sample = |arm: &ArmResult, round: u32| {
        let own = if arm.id == "whole" { 0.5 * f64::from(round % 2) - 0.25 } else { 0.0 };
        let slices = arm.copies * 4;
        Sample {
            arm: arm.id.clone(),
            load: "at-rate".to_owned(),
            began_s: (0..slices).map(f64::from).collect(),
            block: (0..slices).map(|slice| slice % 4).collect(),
            copy: (0..slices).map(|slice| slice / 4).collect(),
            set_aside: vec![Vec::new(); slices as usize],
            slowdown: vec![None; slices as usize],
            values: [(CPU.id.to_string(), vec![Some(cpu_us(&arm.id) + own); slices as usize])].into(),
            ..Sample::default()
        }
    };
    let bytes = |arm: &ArmResult| 50_000_000 + if arm.id == "whole" { 2_000_000 } else { 0 };
    let once = |arm: &ArmResult, round: u32| ArmRound {
        memory_bytes: vec![bytes(arm) + u64::from(round)],
        traffic: vec![ProxyTraffic {
            requests: 100,
            received_bytes: 50_000,
            sent_bytes: 100 * bytes_of(&arm.id),
        }],
        ..ArmRound::default()
    };
    result.rounds = (0..4)
        .map(|round| StudyRound {
            round,
            samples: result.arms.iter().map(|arm| sample(arm, round)).collect(),
            arms: result.arms.iter().map(|arm| (arm.id.clone(), once(arm, round))).collect(),
            ..StudyRound::default()
        })
        .collect();
    fill(&mut result);
    result
}

fn part(name: &str, arm: Option<&str>) -> BilledPart {
    BilledPart {
        kind: "HTTP filter".to_owned(),
        name: name.to_owned(),
        place: "envoy.yaml:1".to_owned(),
        arm: arm.map(str::to_owned),
        not_measured: arm.is_none().then(|| "it answers otherwise".to_owned()),
        activity: Activity::Unknown { exercised_by: None },
        cost: Charge::default(),
    }
}

fn order(parts: &[(&str, Option<&str>)]) -> Order {
    Order {
        configuration: "envoy.yaml".to_owned(),
        listener: "edge".to_owned(),
        request: BilledRequest::default(),
        parts: parts.iter().map(|(name, arm)| part(name, *arm)).collect(),
        changes: Vec::new(),
        lacking: Vec::new(),
        replacements: Vec::new(),
        price_per_core_hour: Some(0.04),
    }
}

#[test]
fn a_bill_that_is_still_measured_has_what_its_parts_add_under_their_names() {
    let result = study(40.0);
    let found = so_far(&result, &order(&BOTH).parts);
    let names: Vec<&str> = found.arms.iter().map(|arm| arm.id.as_str()).collect();
    assert_eq!(names, ["baseline", "cors", "lua"], "neither other arms nor a part that is not measured");
    let added = found.arm("lua").and_then(|arm| arm.cost.cpu_us_per_request).unwrap();
    assert!((added.estimate - 30.0).abs() < 1.0, "{added:?}");
    let without = result.arm("no-lua").and_then(|arm| arm.cost.cpu_share).unwrap();
    let share = found.arm("lua").and_then(|arm| arm.cost.cpu_share).unwrap();
    assert!((share.estimate + without.estimate).abs() < 1e-9, "{share:?}");
}

const BOTH: [(&str, Option<&str>); 3] = [("jwt", None), ("cors", Some("no-cors")), ("lua", Some("no-lua"))];

pub(super) fn bill_of(study: &StudyResult, parts: &[(&str, Option<&str>)]) -> BillResult {
    bill(study, order(parts))
}

pub(super) fn estimate(interval: Option<Interval>) -> f64 {
    interval.unwrap().estimate
}

/// Costs are taken at the machine's usual speed, which the varying level of the whole moves a little.
pub(super) fn is_near(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 0.5
}

#[test]
fn a_part_costs_what_the_whole_saves_without_it_and_the_most_expensive_is_first() {
    let bill = bill(&study(40.0), order(&BOTH));
    let names: Vec<&str> = bill.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["lua", "cors", "jwt"]);
    let [lua, cors, jwt] = [0, 1, 2].map(|index| &bill.parts[index].cost);
    assert!(is_near(estimate(lua.cpu_us_per_request), 30.0), "{lua:?}");
    assert!(is_near(100.0 * estimate(cors.cpu_share), 10.0), "{cors:?}");
    assert!(is_near(estimate(lua.of_rounds.get(RoundMeasure::MEMORY)), 2_000_000.0), "{lua:?}");
    assert_eq!(jwt, &Charge::default());
    assert!(is_near(estimate(bill.rest.clone().unwrap().cpu_us_per_request), 60.0));
    assert!(is_near(estimate(bill.same_us), 0.0));
}

#[test]
fn bytes_are_those_of_the_statistics_of_the_proxy() {
    let bill = bill(&study(40.0), order(&BOTH));
    let sent =
        |charge: &Charge| charge.of_rounds.get(RoundMeasure::SENT_BYTES).map(|bytes| bytes.estimate.round());
    let [lua, cors, jwt] = [0, 1, 2].map(|index| sent(&bill.parts[index].cost));
    assert_eq!((lua, cors, jwt), (Some(80.0), Some(0.0), None));
    assert_eq!((sent(&bill.whole), sent(bill.rest.as_ref().unwrap())), (Some(500.0), Some(420.0)));
    assert_eq!(
        bill.whole.of_rounds.get(RoundMeasure::RECEIVED_BYTES).map(|bytes| bytes.estimate),
        Some(500.0)
    );
}

#[test]
fn cores_are_rate_times_cpu_time_and_a_month_has_730_hours() {
    let bill = bill(&study(40.0), order(&BOTH));
    assert_eq!(bill.rate, Some(2_000.0));
    for charge in [&bill.whole, &bill.parts[0].cost] {
        let cpu_us = estimate(charge.cpu_us_per_request);
        assert!((estimate(charge.cores) - 2_000.0 * cpu_us / 1e6).abs() < 1e-12);
        assert!((estimate(charge.money_per_month) - 0.04 * 730.0 * 2_000.0 * cpu_us / 1e6).abs() < 1e-9);
    }
}

#[test]
fn parts_that_add_up_have_no_interaction_and_others_have_its_size() {
    let add_up = bill(&study(40.0), order(&BOTH)).sum.unwrap();
    assert_eq!(add_up.decision, Decision::Equivalent);
    assert!(is_near(add_up.interaction_us.estimate, 0.0), "{add_up:?}");
    assert!(is_near(add_up.parts_us.estimate, 40.0) && is_near(add_up.together_us.estimate, 40.0));
    // Removed together they save 50: if only one is removed, the work that both need remains.
    let shared = bill(&study(50.0), order(&BOTH)).sum.unwrap();
    assert_eq!(shared.decision, Decision::Different);
    assert!(is_near(shared.interaction_us.estimate, -10.0), "{shared:?}");
    assert!(is_near(100.0 * shared.interaction_share.estimate, -10.0));
    let costs = shared.parts_us.estimate - shared.together_us.estimate;
    assert!((shared.interaction_us.estimate - costs).abs() < 1e-9);
}

#[test]
fn a_sum_that_is_undecided_says_how_many_rounds_it_takes() {
    let mut study = study(40.0);
    assert_eq!(bill(&study, order(&BOTH)).sum.unwrap().rounds_until_decided, None);
    for (index, round) in study.rounds.iter_mut().enumerate() {
        let noise_us = if index % 2 == 0 { 20.0 } else { -20.0 };
        for sample in round.samples.iter_mut().filter(|sample| sample.arm == "all-off") {
            sample.values.values_mut().flatten().flatten().for_each(|value| *value += noise_us);
        }
    }
    let sum = bill(&study, order(&BOTH)).sum.unwrap();
    assert_eq!(sum.decision, Decision::Undecided, "{sum:?}");
    assert!(sum.rounds_until_decided > Some(20), "{sum:?}");
}

#[test]
fn a_change_costs_what_the_changed_proxy_uses_more_than_the_whole() {
    let change = |arm: Option<&str>| BilledChange {
        change: "lua -> nothing".to_owned(),
        arm: arm.map(str::to_owned),
        not_measured: arm.is_none().then(|| "it answers otherwise".to_owned()),
        answer_differences: Vec::new(),
        activity: Activity::Unknown { exercised_by: None },
        difference: Charge::default(),
    };
    let changes = vec![change(Some("no-lua")), change(None)];
    let bill = bill(&study(40.0), Order { changes, ..order(&BOTH) });
    let [removed, unmeasured] = bill.changes.as_slice() else { panic!("{:?}", bill.changes) };
    assert!(is_near(estimate(removed.difference.cpu_us_per_request), -30.0), "{removed:?}");
    assert!(is_near(100.0 * estimate(removed.difference.cpu_share), -30.0), "{removed:?}");
    assert_eq!(unmeasured.difference, Charge::default());
}

#[test]
fn a_withheld_number_is_in_no_sum() {
    let mut study = study(40.0);
    study.verdict = Verdict::Caution;
    let arm = study.arms.iter_mut().find(|arm| arm.id == "no-lua").unwrap();
    arm.cost.cpu_us_per_request = None;
    let bill = bill(&study, order(&BOTH));
    assert_eq!((bill.verdict, bill.sum), (Verdict::Caution, None));
    let lua = bill.parts.iter().find(|part| part.name == "lua").unwrap();
    assert_eq!((lua.cost.cpu_us_per_request, lua.cost.cores), (None, None));
    assert_eq!(bill.parts[0].name, "cors", "parts without a cost come last");
}

#[test]
fn without_its_only_part_the_rest_is_left() {
    let bill = bill(&study(40.0), order(&[("lua", Some("no-lua"))]));
    assert!(is_near(estimate(bill.rest.clone().unwrap().cpu_us_per_request), 70.0));
    assert_eq!(bill.sum, None);
}

#[test]
fn findings_about_numbers_that_are_not_on_the_bill_are_left_out() {
    let mut study = study(40.0);
    let finding = |id: &str, arm: Option<&str>, costs_alone: bool| Finding {
        arm: arm.map(str::to_owned),
        withholds: true,
        costs_alone,
        ..Finding::new(id, Severity::Info, Measured::count(0.0, 0.0, ""), String::new(), "")
    };
    study.findings = vec![
        finding("plain-level", Some("baseline"), false),
        finding("whole-against-plain", Some("whole"), true),
        finding("whole-level", Some("whole"), false),
        finding("part", Some("no-lua"), true),
        finding("machine", None, false),
    ];
    let bill = bill(&study, order(&BOTH));
    let ids: Vec<&str> = bill.findings.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(ids, ["whole-level", "part", "machine"]);
}

#[test]
fn a_bill_whose_study_is_doubted_for_what_it_does_not_have_says_so() {
    let mut study = study(40.0);
    study.verdict = Verdict::Caution;
    let of_baseline = Finding {
        arm: Some("baseline".to_owned()),
        ..Finding::new("steal", Severity::Warn, Measured::count(0.0, 0.0, ""), String::new(), "")
    };
    study.findings = vec![of_baseline];
    let bill = bill(&study, order(&BOTH));
    let [finding] = bill.findings.as_slice() else { panic!("{:?}", bill.findings) };
    assert_eq!((finding.id.as_str(), finding.severity), (Finding::SOURCE_VERDICT, Severity::Warn));
    assert!(finding.message.ends_with("the verdict caution: 1 finding, such as `steal`"), "{finding:?}");
}
