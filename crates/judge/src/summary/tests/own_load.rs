//! Arms that have a load of their own.

use hoptax_result::{CostMeasure, RoundProfile};

use super::*;

const TEXT: &str = "
name: test
rounds: 3
arms: [direct, baseline, same, lua, rbac, cors, jwt, route/header, route/path]
loads:
  - {name: in-use, loop: open, rate: 2000, blocks: 4, except: slow}
  - {name: slow, loop: open, rate: 1000, blocks: 4, only: [lua, rbac, jwt]}
  - {name: saturation, loop: closed, blocks: 2}
";
/// CPU time per request under the first load, us, and the CPU time that the second load adds for all arms.
const FAST_US: f64 = 46.0;
const SLOWER_US: f64 = 10.0;
/// The cost of `lua`, us.
const LUA_US: f64 = 5.0;

fn judged() -> StudyResult {
    let plan = fixture::plan(TEXT);
    let lua = plan.arms.iter().position(|arm| arm.id == "lua").unwrap();
    let of_round = |_| {
        let mut record = round(&plan, lua, LUA_US);
        for slice in record.slices.iter_mut().filter(|slice| slice.load == 1) {
            slice.proxy_cpu_ns += (SLOWER_US * 4_000_000.0 * SLOWER[slice.block as usize]) as u64;
        }
        record
    };
    let records: Vec<RoundRecord> = (0..3).map(of_round).collect();
    summarise(&plan, &records, Conditions::default())
}

fn is_near(found: Option<hoptax_result::Interval>, expected: f64) -> bool {
    found.is_some_and(|found| (found.estimate - expected).abs() < 0.01 * expected.abs().max(1.0))
}

#[test]
fn the_cost_of_an_arm_is_against_the_baseline_under_its_own_load() {
    let result = judged();
    let (lua, cors) = (result.arm("lua").unwrap(), result.arm("cors").unwrap());
    let baseline = result.arm("baseline").unwrap();
    assert_eq!(result.plan.loads[1].arms, ["baseline", "jwt", "lua", "rbac", "same"]);
    assert!(lua.under("in-use").is_none() && cors.under("slow").is_none());
    // Against the baseline under the first load it would be 15 us.
    assert!(is_near(lua.cost.cpu_us_per_request, LUA_US), "{:?}", lua.cost);
    assert!(is_near(lua.cost.cpu_share, LUA_US / (FAST_US + SLOWER_US)), "{:?}", lua.cost);
    assert!(is_near(cors.cost.cpu_us_per_request, 0.0), "{:?}", cors.cost);
    for (arm, load) in [(lua, "slow"), (cors, "in-use"), (baseline, "in-use")] {
        let under = arm.under(load).unwrap();
        assert_eq!(arm.cpu_us_per_request, under.cpu_us_per_request, "{}", arm.id);
        assert_eq!(arm.cost.cpu_us_per_request, under.cost.cpu_us_per_request, "{}", arm.id);
        assert_eq!(arm.response_us.p50, under.response_us.p50, "{}", arm.id);
        assert!(arm.response_us.p50.is_some() && arm.max_rate.is_some(), "{}", arm.id);
    }
    let beside = |arm: &ArmResult| result.level_of_reference(arm, baseline, CostMeasure::CpuUs);
    let [slow, fast] = [lua, cors].map(|arm| beside(arm).unwrap().estimate);
    assert!((slow - fast) > 0.9 * SLOWER_US, "{slow} {fast}");
    assert_eq!(result.usable_rounds(lua.contrast(), CostMeasure::CpuUs, None), 3);
    let precision = precision::half_widths(&result, &Precision::default());
    assert!(precision.len() == 6 && precision.iter().all(|share| share.is_finite()), "{precision:?}");
}

#[test]
fn a_plan_and_its_result_take_the_costs_of_an_arm_from_the_same_load() {
    const OWN_RATES: &str = "
  - {name: share, loop: open, utilisation: 50%}
  - {name: full, loop: closed}
  - {name: in-use, loop: open, rate: 2000, except: slow}
  - {name: slow, loop: open, rate: 1000, only: [lua]}
";
    const OWN_LOOP: &str = "
  - {name: share, loop: open, utilisation: 50%, except: full}
  - {name: full, loop: closed, only: [lua]}
";
    for (loads, usual, own) in [
        (OWN_RATES, "in-use", [("baseline", "in-use"), ("lua", "slow"), ("rbac", "in-use")]),
        (OWN_LOOP, "full", [("baseline", "full"), ("lua", "full"), ("rbac", "share")]),
    ] {
        let plan = fixture::plan(&format!("name: test\narms: [baseline, lua, rbac]\nloads:{loads}"));
        let result = summarise(&plan, &[], Conditions::default());
        assert_eq!(plan.cpu_load().unwrap().name, usual);
        assert_eq!(result.plan.cpu_load().unwrap().name, usual);
        assert_eq!(plan.arms.len(), own.len());
        for (arm, (id, load)) in plan.arms.iter().zip(own) {
            assert_eq!((arm.id.as_str(), plan.cpu_load_of(arm).unwrap().name.as_str()), (id, load));
            assert_eq!(result.plan.usual_load_name(id, CostMeasure::CpuUs), Some(load), "{id}");
        }
    }
}

#[test]
fn layers_of_arms_with_different_loads_have_no_difference() {
    let mut result = judged();
    for arm in result.rounds.iter_mut().flat_map(|round| round.arms.values_mut()) {
        let layers_ns = [("libc".to_owned(), 1_000)].into();
        arm.profile = Some(RoundProfile { layers_ns, ..RoundProfile::default() });
    }
    fill(&mut result);
    let added = |id: &str| result.arm(id).unwrap().layers[0].added_us_per_request;
    assert_eq!(added("lua"), None);
    assert!(is_near(added("cors"), 0.0), "{:?}", added("cors"));
}

#[test]
fn the_numbers_of_an_arm_have_its_own_load_as_their_address() {
    let mut result = judged();
    let mut found = Vec::new();
    result.for_each_number(&mut |place, number| {
        if place.compared_with.is_some() && number.is_some() && ["lua", "cors", "same"].contains(&place.arm) {
            found.push(format!("{} {} {:?}", place.arm, place.load.unwrap_or_default(), place.measure));
        }
    });
    // The cost of the arm itself, and that of the load, each also as a share.
    let count = |one: &str| found.iter().filter(|found| *found == one).count();
    assert_eq!(["lua slow ResponseP50", "cors in-use ResponseP50"].map(count), [4, 4], "{found:?}");
    assert_eq!(["same in-use ResponseP50", "same slow ResponseP50"].map(count), [4, 2], "{found:?}");
    assert_eq!(count("lua in-use ResponseP50"), 0);
}

#[test]
fn costs_under_different_loads_have_no_sum() {
    let result = judged();
    let sum = |ids: &[&'static str]| {
        let terms: Vec<Weighted<&str>> = ids.iter().map(|id| Weighted::new(1.0, *id)).collect();
        sum_of_cpu_costs(&result, &terms)
    };
    assert!(is_near(sum(&["lua", "rbac"]), LUA_US));
    assert!(sum(&["cors", "route/path"]).is_some());
    assert_eq!(sum(&["lua", "cors"]), None);
}
