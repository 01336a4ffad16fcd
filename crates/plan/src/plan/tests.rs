mod chains;
mod composed;
mod conditions;
mod described;
mod given;
mod supported;
mod timeline;

use proptest::prelude::*;

use super::*;
use crate::file;

const LOADS: &str = "
loads:
  - {name: saturation, loop: closed, blocks: 3, slice: 100ms}
  - {name: fixed-rate, loop: open, rate: 1000, blocks: 2}
";

fn plan(arms: &str) -> Result<Plan, Problems> {
    let text = format!("name: test\narms: [{arms}]\n{LOADS}");
    planned(&text)
}

fn planned(text: &str) -> Result<Plan, Problems> {
    Plan::read("test.yaml", text, Catalogue::load().unwrap())
}

fn problems(text: &str) -> String {
    planned(text).expect_err(text).to_string()
}

fn ids(plan: &Plan) -> Vec<&str> {
    plan.arms.iter().map(|arm| arm.id.as_str()).collect()
}

fn arm<'a>(plan: &'a Plan, id: &str) -> &'a Arm {
    plan.arms.iter().find(|arm| arm.id == id).unwrap_or_else(|| panic!("no {id} in {:?}", ids(plan)))
}

/// The arms that are compared with another one, each with that one.
fn compared(plan: &Plan) -> Vec<(&str, &str)> {
    plan.arms.iter().filter_map(|arm| Some((arm.id.as_str(), plan.reference(arm)?.id.as_str()))).collect()
}

#[test]
fn a_load_is_a_rate_or_a_share_of_capacity() {
    let with = |keys: &str| {
        planned(&format!(
            "name: test\narms: [baseline, lua]\nloads: [{{name: in-use, loop: open, {keys}}}]\n"
        ))
    };
    let plan = with("utilisation: 30%").unwrap();
    let open = plan.loads[0].open.clone().unwrap();
    assert_eq!(open.rate, Rate::Utilisation(0.3));
    assert!(plan.needs_capacities() && !with("rate: 100").unwrap().needs_capacities());
    for (keys, expected) in [
        ("utilisation: 0%", "at most 100 %"),
        ("utilisation: 120%", "at most 100 %"),
        ("utilisation: 30%, rate: 100", "remove one"),
        ("utilisation: much", "a share such as `30%`"),
    ] {
        let problems = with(keys).expect_err(keys).to_string();
        assert!(problems.contains(expected), "{keys}: {problems}");
    }
}

#[test]
fn a_published_number_needs_a_place_in_the_study() {
    let with = |published: &str| {
        planned(&format!(
            "name: test\narms: [baseline, lua]\n{LOADS}published: [{{{published}, source: x}}]\n"
        ))
    };
    let plan = with("arm: lua, load: saturation, measure: rate_ratio, value: 0.67").unwrap();
    let [published] = plan.published.as_slice() else { panic!("{:?}", plan.published) };
    assert_eq!((published.arm.as_str(), published.value), ("lua", 0.67));
    for (published, expected) in [
        ("arm: luna, load: saturation, measure: rate, value: 1", "`luna`, which is not an arm"),
        ("arm: lua, load: saturated, measure: rate, value: 1", "`saturated`, which is not a load"),
        ("arm: baseline, load: saturation, measure: rate_ratio, value: 1", "not compared with any arm"),
        ("arm: lua, load: saturation, measure: p98, value: 1", "`measure`"),
        ("arm: lua, load: saturation, measure: origin_cpu_us, value: 1", "`measure`"),
    ] {
        let problems = with(published).expect_err(published).to_string();
        assert!(problems.contains(expected), "{published}: {problems}");
    }
    let timeline = "name: test\nobserve: timeline\narms: [baseline, lua]\n\
                    loads: [{name: a, loop: open, rate: 100, slice: 4s}]\n\
                    published: [{arm: lua, load: a, measure: rate, value: 1, source: x}]\n";
    assert!(problems(timeline).contains("`observe: costs`"));
}

#[test]
fn many_connections_are_open_one_arm_at_a_time() {
    let of = |loads: &str| {
        let text = format!(
            "name: test\narms: [baseline, lua]\nloads: [{{name: a, loop: closed, connections: 100}}, {loads}]\n"
        );
        let plan = planned(&text).unwrap();
        (plan.most_open_files(), plan.most_of_a_proxy())
    };
    // The connections to an arm under a load have an epoll instance, and each proxy has a handle. A proxy has the connections of one arm,
    // and as many to its servers.
    assert_eq!(of("{name: b, loop: closed, connections: 500}"), (2 + 2 * 101 + 2 * 501, 2 * 600));
    // An arm has connections under a load in which it takes no part.
    let of_baseline = "{name: b, loop: closed, connections: 50, only: [baseline]}";
    assert_eq!(of(of_baseline), (2 + 2 * 101 + 2 * 51, 2 * 150));
    let many =
        "{name: b, loop: closed, connections: 501}, {name: c, loop: open, rate: 10, connections: 9000}";
    assert_eq!(of(many), (2 + 2 * 101 + 9_001, 2 * 9_100));
}

#[test]
fn responses_over_many_connections_are_awaited_longer() {
    let of = |connections: u32| {
        let loads = format!(
            "name: test\narms: [baseline, lua]\nloads: [{{name: a, loop: closed, connections: {connections}}}]\n"
        );
        let plan = planned(&loads).unwrap();
        plan.drain_ns(&plan.arms[0], &plan.loads[0])
    };
    // A proxy that serves 4,000 requests/s has a queue of 2.5 s with 10,000 connections, and none with one.
    assert!(of(1) < 1_100_000_000, "{}", of(1));
    assert!(of(10_000) > 2 * 2_500_000_000, "{}", of(10_000));
}

#[test]
fn several_identical_arms_have_their_own_names() {
    let plan = plan("baseline, same, same#2, same#3").unwrap();
    let copies: Vec<&str> =
        plan.arms.iter().filter(|arm| arm.kind == ArmKind::Same).map(|arm| arm.id.as_str()).collect();
    assert_eq!(copies, ["same", "same#2", "same#3"]);
    for wrong in ["same#1", "same#", "same#x"] {
        assert!(problems(&format!("name: test\narms: [baseline, \"{wrong}\"]\n{LOADS}")).contains(wrong));
    }
}

#[test]
fn a_function_with_conditions_has_its_own_baseline() {
    let plan = plan("baseline, lua, compress/gzip, control/delay").unwrap();
    let own = [
        "baseline{size=4096}",
        "compress/gzip",
        "baseline{connections=64,EVENT_PRECISE_TIMER=1}",
        "control/delay",
    ];
    assert_eq!(ids(&plan), [["baseline", "lua"].as_slice(), &own].concat());
    let compared: Vec<Option<usize>> = plan.arms.iter().map(|arm| arm.compared_with).collect();
    assert_eq!(compared, [None, Some(0), None, Some(2), None, Some(4)]);
    let connections = |arm: &Arm| plan.loads.iter().map(|load| arm.connections(load)).collect::<Vec<_>>();
    assert_eq!(connections(&plan.arms[1]), [16, 16]);
    assert_eq!(connections(&plan.arms[4]), [64, 16]);
    assert_eq!(connections(&plan.arms[5]), [64, 16]);
}

#[test]
fn problems_of_a_subject_are_reported_at_their_place() {
    let text = format!(
        "name: test\narms:\n  - subject: {{position: bth, mtls: 1}}\n  - subject: {{postion: both}}\n{LOADS}"
    );
    insta::assert_snapshot!(problems(&text));
}

#[test]
fn a_subject_is_compared_with_no_proxy_at_the_same_protocol() {
    let subjects = |list: &[&str]| {
        let arms: String = list.iter().map(|one| format!("  - subject: {{{one}}}\n")).collect();
        format!("name: test\narms:\n{arms}{LOADS}")
    };
    let plan = planned(&subjects(&[
        "position: both, protocol: grpc, mtls: true",
        "position: direct, protocol: grpc",
        "position: direct",
        "position: gateway+both",
    ]))
    .unwrap();
    assert_eq!(ids(&plan), ["direct grpc", "both grpc mtls", "direct http1", "gateway+both http1"]);
    let compared: Vec<Option<usize>> = plan.arms.iter().map(|arm| arm.compared_with).collect();
    assert_eq!(compared, [None, Some(0), None, Some(2)]);
    let proxies: Vec<bool> = plan.arms.iter().map(Arm::has_proxy).collect();
    assert_eq!(proxies, [false, true, false, true]);
    // Also at full speed, where an arm without a proxy uses no CPU time.
    assert!(plan.arms.iter().all(|arm| plan.loads.iter().all(|load| arm.takes_part(load))));
    let alone = problems(&subjects(&["position: both", "position: both, mtls: true"]));
    assert!(alone.contains("has no `subject: {position: direct, protocol: http1}`"), "{alone}");
}

#[test]
fn spellings_of_one_arm_are_refused_with_both_lines() {
    let of = |first: &str, second: &str| {
        problems(&format!("name: test\narms:\n  - baseline\n  - {first}\n  - lua\n  - {second}\n{LOADS}"))
    };
    for (first, second) in [
        ("'rbac{rules=5}'", "'rbac{rules=5 }'"),
        ("'rbac{rules=5}'", "'rbac{ rules=05}'"),
        ("'rbac{rules=5}'", "{function: 'rbac {rules=5}'}"),
        ("rbac", "' rbac'"),
        // A knob at its default.
        ("rbac", "'rbac{rules=1}'"),
        ("{unloaded: rbac}", "{unloaded: 'rbac '}"),
        ("same", "{function: same}"),
        ("same#2", "'same#02'"),
        ("direct", "{function: direct, at: {response_bytes: 64}}"),
    ] {
        let problems = of(first, second);
        assert!(problems.starts_with("test.yaml:6:5: duplicate arm "), "{second}: {problems}");
        assert!(problems.contains("line 4 already names it"), "{second}: {problems}");
        assert_eq!(problems.lines().count(), 1, "{second}: {problems}");
    }
    assert!(
        of("rbac", "'rbac{rules=1}'")
            .contains("duplicate arm `rbac{rules=1}`: line 4 already names it as `rbac`")
    );
    // Other conditions, other knobs or the removal of a function make another arm.
    let plan = plan("baseline, rbac, 'rbac{rules=5}', {unloaded: rbac}, {function: rbac, at: {headers: 5}}")
        .unwrap();
    let of_rbac: Vec<&str> = ids(&plan).into_iter().filter(|id| id.contains("rbac")).collect();
    assert_eq!(of_rbac, ["rbac", "rbac{rules=5}", "rbac unloaded", "rbac @ headers=5"]);
    let mut folders: Vec<String> = plan.arms.iter().map(|arm| arm.folder(0)).collect();
    folders.sort();
    folders.dedup();
    assert_eq!(folders.len(), plan.arms.len());
}

#[test]
fn functions_of_any_chain_can_be_unloaded_unless_something_of_them_stays() {
    let plan = plan(
        "baseline, {name: gone, functions: [lua, cors], unloaded: true, protocol: http2}, {name: two, hops: [a, {functions: [lua]}], unloaded: true}, {name: secure, functions: [lua], unloaded: true, at: {tls: mutual}}",
    )
    .unwrap();
    let unloaded = plan.arms.iter().filter(|arm| arm.is_unloaded).map(|arm| arm.id.as_str());
    assert_eq!(
        unloaded.collect::<Vec<_>>(),
        ["gone @ http2 unloaded", "two unloaded", "secure @ mtls unloaded"]
    );
    for (arm, expected) in [
        ("{name: a, hops: [b], unloaded: true}", "no proxy has a function that could be removed"),
        ("{name: a, hops: [], unloaded: true}", "`unloaded` does not apply without a proxy"),
        ("{name: a, functions: [lua, workers/two], unloaded: true}", "`workers/two` cannot be unloaded: "),
        ("{name: a, hops: [{functions: [lua]}, b], unloaded: true, at: {tls: mutual}}", "in plaintext only"),
    ] {
        let text = format!("name: test\narms:\n  - baseline\n  - {arm}\n{LOADS}");
        let error = problems(&text);
        assert!(error.contains(expected), "{arm}: {error}");
    }
}

#[test]
fn a_function_that_stays_is_not_unloaded() {
    for (id, reason) in [
        ("overload-manager", "`overload_manager` of the bootstrap"),
        ("workers/two", "workers"),
        ("tls/terminate", "TLS"),
        ("rate-limit/library", "the application"),
    ] {
        let text =
            format!("name: test\napplication: go\narms:\n  - baseline\n  - {{unloaded: {id}}}\n{LOADS}");
        let problems = problems(&text);
        let expected = format!("test.yaml:5:5: `{id}` cannot be unloaded: ");
        assert!(problems.starts_with(&expected) && problems.contains(reason), "{problems}");
    }
    let plan = plan("baseline, {unloaded: outlier-detection}, {unloaded: balance/maglev}").unwrap();
    assert_eq!(plan.arms.iter().filter(|arm| arm.is_unloaded).count(), 2);
}

#[test]
fn every_arm_carries_the_headers_of_all_functions() {
    let plan = plan("baseline, jwt, cors, route/header").unwrap();
    let names: Vec<&str> = plan.headers.keys().map(String::as_str).collect();
    assert!(names.contains(&"authorization") && names.contains(&"x-hoptax-route"), "{names:?}");
}

#[test]
fn the_arm_without_a_proxy_is_left_out_of_the_closed_loop() {
    let plan = plan("direct, baseline, same").unwrap();
    assert_eq!(plan.slices_per_round(), 2 * 3 + 3 * 2);
    let blocks = blocks(&plan, 0);
    assert_eq!(blocks.iter().map(|block| block.subjects.len()).sum::<usize>(), plan.slices_per_round());
    let direct = plan.arms.iter().position(|arm| arm.kind == ArmKind::Direct).unwrap();
    assert!(
        blocks
            .iter()
            .filter(|block| block.load.number == 0)
            .all(|block| block.subjects.iter().all(|subject| subject.arm_number != direct))
    );
}

#[test]
fn folders_of_arms_are_plain_names_and_differ() {
    let plan = plan("baseline, 'route/path', 'route/path{routes=200}', same").unwrap();
    let folders: Vec<String> = plan.arms.iter().map(|arm| arm.folder(0)).collect();
    assert_eq!(folders, ["baseline", "route-path", "route-path-routes-200", "same"]);
    assert_eq!(plan.arms[0].folder(2), "baseline-copy-3");
}

#[test]
fn no_arm_has_the_folder_of_a_copy_of_another() {
    for arms in [
        "baseline, {name: baseline-copy-2, functions: [lua]}, jwt, cors, rbac",
        "baseline, {name: x-copy-2, functions: [lua]}, {name: x, functions: [jwt]}, \
         {name: a, functions: [cors], compared_with: x}, {name: b, functions: [rbac], compared_with: x}, \
         {name: c, functions: [cors, rbac], compared_with: x}",
    ] {
        let plan = plan(arms).unwrap();
        let count = plan.subjects().count();
        assert!(count > plan.arms.len(), "no arm has copies: {count}");
        let folders: BTreeSet<String> =
            plan.subjects().map(|subject| subject.arm.folder(subject.copy)).collect();
        assert_eq!(folders.len(), count, "{folders:?}");
    }
}

#[test]
fn every_problem_of_a_file_is_reported_at_its_place() {
    insta::assert_snapshot!(problems(
        "nam: test
summary: 7
rounds: 1
arms: [baseline, 5]
loads:
  - name: a
    lop: closed
    loop: opne
    rate: fast
    arrivals: regular
    conections: 3
  - slice: []
    connections: 0
"
    ));
}

#[test]
fn every_invalid_arm_and_load_is_reported_at_its_place() {
    insta::assert_snapshot!(problems(
        "name: test
arms:
  - sam
  - rate-limit/locla
  - route/path{routse=3}
  - route/path{routes=0
  - same
  - same
loads:
  - name: a
    loop: closed
    rate: 5
    slice: 20ms
  - name: a
    loop: closed
    arrivals: poisson
    slice: soon
"
    ));
}

#[test]
fn a_study_of_one_arm_is_refused_and_says_what_to_add() {
    let one =
        |arm: &str| problems(&format!("name: test\narms: [{arm}]\nloads: [{{name: a, loop: closed}}]\n"));
    let alone = one("baseline");
    assert!(alone.contains("test.yaml:2:7: a study compares arms"), "{alone}");
    let misspelt = one("bseline");
    assert!(misspelt.contains("bseline") && !misspelt.contains("compares arms"), "{misspelt}");
}

#[test]
fn invalid_yaml_is_reported_at_its_place() {
    insta::assert_snapshot!(
        [": [", "name: a\nname: b\n", "\t- x", "- just\n- a list\n"].map(problems).join("\n---\n")
    );
}

#[test]
fn omitted_values_are_chosen_for_the_machine() {
    let plan = planned("name: t\narms: [baseline, same]\nloads:\n  - {name: a, loop: open}\n").unwrap();
    assert!(matches!(plan.loads[0].open, Some(Open { rate: Rate::OfSlowest(_), .. })));
    assert!(plan.needs_capacities());
    assert!(plan.rounds_are_open);
    assert_eq!((plan.loads[0].slice.as_millis(), plan.loads[0].blocks), (50, 16));
    assert!(plan.outline().contains("of the capacity of the slowest arm"), "{}", plan.outline());
    let stated = planned(
        "name: t\nrounds: 3\narms: [baseline, same]\nloads:\n  - {name: a, loop: open, rate: 5, slice: 90ms}\n",
    );
    assert!(!stated.unwrap().rounds_are_open);
}

/// The orders of the blocks of a round, by the numbers of the subjects.
fn orders(plan: &Plan, round: u32) -> Vec<Vec<usize>> {
    let numbers = |block: Block<'_>| block.subjects.iter().map(|subject| subject.number).collect();
    blocks(plan, round).into_iter().map(numbers).collect()
}

/// The order in which a round starts its subjects, by their numbers.
fn started(plan: &Plan, round: u32) -> Vec<usize> {
    let mut order: Vec<usize> = plan.subjects().map(|subject| subject.number).collect();
    shuffle(plan, round, &mut order);
    order
}

/// A plan whose orders are drawn from many seeds.
static ORDERED: LazyLock<Plan> = LazyLock::new(|| plan("direct, baseline, same, lua, rbac, cors").unwrap());

proptest! {
    #[test]
    fn orders_follow_the_seed_and_visit_every_subject_once(seed: u64, round in 0_u32..50) {
        let plan = Plan { seed, ..ORDERED.clone() };
        prop_assert_eq!(orders(&plan, round), orders(&plan, round));
        for order in orders(&plan, round).into_iter().chain([started(&plan, round)]) {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            sorted.dedup();
            prop_assert_eq!(sorted.len(), order.len());
        }
    }

    #[test]
    fn no_text_makes_reading_panic(text in "[a-z:\\[\\]{}\\- \n0-9'\"&*!|>]{0,80}") {
        let _ = planned(&text);
    }
}

#[test]
fn baselines_are_replicated() {
    let copies = |arms: &str| -> Vec<(String, usize)> {
        let plan = plan(arms).unwrap();
        let count = |arm: &Arm| plan.subjects().filter(|subject| subject.arm.id == arm.id).count();
        plan.arms.iter().map(|arm| (arm.id.clone(), count(arm))).collect()
    };
    let expected = |arms: &[(&str, usize)]| -> Vec<(String, usize)> {
        arms.iter().map(|(id, count)| ((*id).to_owned(), *count)).collect()
    };
    assert_eq!(copies("baseline, same"), expected(&[("baseline", 1), ("same", 1)]));
    // The root of nine is three. The compressed arm has its own baseline, the arm without a proxy no process.
    let nine =
        "direct, baseline, same, lua, rbac, cors, jwt, route/header, route/path, route/prefix, compress/gzip";
    let all = copies(nine);
    assert_eq!(all.iter().map(|(_, count)| count).sum::<usize>(), all.len() + 2);
    assert!(all.contains(&("baseline".to_owned(), 3)) && all.contains(&("direct".to_owned(), 1)), "{all:?}");
}

#[test]
fn rounds_and_blocks_have_their_own_orders() {
    let plan = plan("direct, baseline, same, lua, rbac, cors, jwt").unwrap();
    let orders: Vec<Vec<usize>> = (0..20).flat_map(|round| orders(&plan, round)).collect();
    let distinct: std::collections::BTreeSet<&Vec<usize>> = orders.iter().collect();
    assert!(distinct.len() * 10 > orders.len() * 9, "{} of {}", distinct.len(), orders.len());
    assert_ne!(started(&plan, 0), started(&plan, 1));
}
