//! Arms with several proxies, and with an Envoy of their own.

use hoptax_result::HopProcessors;

use super::*;

/// The names of the functions of each proxy.
fn functions(arm: &Arm) -> Vec<Vec<&str>> {
    let names = |hop: &'_ Hop| hop.functions.components().len();
    assert_eq!(arm.chain.hops.iter().map(names).sum::<usize>(), arm.functions.components().len());
    let hops = arm.chain.hops.iter();
    hops.map(|hop| hop.functions.components().iter().map(|component| component.name.as_str()).collect())
        .collect()
}

fn envoys<'a>(plan: &'a Plan, id: &str) -> Vec<Option<&'a str>> {
    let arm = arm(plan, id);
    arm.chain.hops.iter().map(|hop| arm.envoy(hop)).collect()
}

#[test]
fn every_proxy_has_its_own_functions_and_proofs() {
    let plan = plan(
        "baseline, {name: mesh, hops: [edge, {name: client, functions: [jwt, cors], workers: 2}, \
         {functions: [jwt, lua], tls: {downstream: mtls}}, {proxy: haproxy}]}",
    )
    .unwrap();
    let mesh = &plan.arms[1];
    assert_eq!((mesh.kind, mesh.compared_with), (ArmKind::Function, Some(0)));
    assert_eq!(mesh.chain.to_string(), "edge -> client -> hop-3 -> hop-4");
    let (none, own): (Vec<&str>, _) = (Vec::new(), functions(mesh));
    assert_eq!(own, [none.clone(), vec!["jwt", "cors"], vec!["jwt", "lua"], none]);
    assert_eq!(mesh.tls(), [None, None, Some(Tls::Mtls), None, None]);
    let prefixes = |hop: &Hop| mesh.proofs(hop).into_iter().map(|(prefix, _)| prefix).collect::<Vec<_>>();
    assert_eq!(prefixes(&mesh.chain.hops[2]), ["`jwt` at `hop-3`: ", "`lua` at `hop-3`: "]);
    assert!(prefixes(&mesh.chain.hops[0]).is_empty());
    let workers: Vec<Option<usize>> = mesh.chain.hops.iter().map(|hop| mesh.workers(hop)).collect();
    assert_eq!(workers, [None, Some(2), None, None]);
    assert!(mesh.chain.hops.iter().map(Hop::is_near).eq([false, true, false, false]));
    assert!(plan.headers.contains_key("authorization"), "{:?}", plan.headers);
}

#[test]
fn no_proxy_is_an_empty_list() {
    let plan = plan("baseline, {name: off-mesh, hops: []}").unwrap();
    let arm = &plan.arms[1];
    assert_eq!((arm.kind, arm.has_proxy(), arm.id.as_str()), (ArmKind::Direct, false, "off-mesh"));
}

#[test]
fn a_release_of_an_arm_has_the_usual_baseline_and_a_release_of_conditions_its_own() {
    let plan = plan(
        "baseline, {name: previous, envoy: 1.39.3}, {function: lua, at: {envoy: [1.36.5, 1.40.0]}}, \
         {name: mixed, hops: [{envoy: 1.39.3}, server], at: {envoy: 1.36.5}}",
    )
    .unwrap();
    assert_eq!(envoys(&plan, "previous"), [Some("1.39.3")]);
    assert_eq!(envoys(&plan, "baseline"), [None]);
    assert_eq!(envoys(&plan, "mixed @ envoy=1.36.5"), [Some("1.39.3"), Some("1.36.5")]);
    let expected = [
        ("previous", "baseline"),
        ("lua @ envoy=1.36.5", "baseline @ envoy=1.36.5"),
        ("lua @ envoy=1.40.0", "baseline @ envoy=1.40.0"),
        ("mixed @ envoy=1.36.5", "baseline @ envoy=1.36.5"),
    ];
    assert_eq!(compared(&plan), expected);
    assert_eq!(plan.envoys(), ["1.36.5", "1.39.3", "1.40.0"].into());
}

#[test]
fn an_arm_is_the_same_only_with_the_same_envoy() {
    let arms = |second: &str| {
        format!("baseline, {{name: a, functions: [lua]}}, {{name: b, functions: [lua]{second}}}")
    };
    for second in [", envoy: 1.39.3", ", env: {A: b}", ", flags: [--x]"] {
        plan(&arms(second)).unwrap();
    }
    assert!(plan(&arms("")).unwrap_err().to_string().contains("duplicate arm `b`"));
    plan(&arms("").replace("functions: [lua]}}", "hops: [{functions: [lua]}]}}")).unwrap_err();
}

#[test]
fn clones_share_a_stage_and_have_an_origin_each() {
    let plan = plan(
        "baseline, {name: mesh, hops: [edge, front, {name: service, clones: 3, workers: 1, processors: all}]}, \
         {name: balanced, hops: [{name: balancer, proxy: haproxy-tcp}, {name: service, clones: 2}]}",
    )
    .unwrap();
    let balanced = &plan.arms[2].chain;
    assert_eq!(balanced.to_string(), "balancer -> 2 clones of service");
    let names = [None, Some("service-2"), Some("service-3")];
    let number_of = |name| balanced.place_of(name).map(|place| place.number);
    assert_eq!(names.map(number_of), [Some(0), Some(2), None]);
    let arm = &plan.arms[1];
    let names: Vec<&str> = arm.chain.hops.iter().map(|hop| hop.name.as_str()).collect();
    assert_eq!(names, ["edge", "front", "service", "service-2", "service-3"]);
    let numbers = |stage: &Vec<Place<'_>>| stage.iter().map(|place| place.number).collect::<Vec<usize>>();
    let stages: Vec<Vec<usize>> = arm.chain.stages().iter().map(numbers).collect();
    assert_eq!(stages, [vec![0], vec![1], vec![2, 3, 4]]);
    assert_eq!(arm.chain.to_string(), "edge -> front -> 3 clones of service");
    assert_eq!((arm.upstreams, arm.tls().len()), (3, 6));
    let all = Some(HopProcessors::ALL);
    assert!(arm.chain.hops.iter().map(|hop| hop.processors).eq([None, None, all, all, all]));
}

#[test]
fn a_proxy_that_cannot_have_clones_is_refused_with_the_reason() {
    let found = plan(
        "baseline, {name: first, hops: [{clones: 2}]}, {name: middle, hops: [a, {name: b, clones: 2}, c]}, \
         {name: secure, hops: [{name: a, tls: {upstream: mtls}}, {name: b, clones: 2}]}, \
         {name: spread, hops: [a, {name: b, clones: 2, functions: [balance/maglev]}]}",
    );
    insta::assert_snapshot!(found.unwrap_err().to_string());
}

#[test]
fn a_list_of_networks_makes_an_arm_of_each_and_the_first_is_their_reference() {
    let plan = plan(
        "baseline, {name: plain, network: {servers: host}}, {name: again, network: {}, compared_with: plain}, \
         {name: rules, network: {firewall: nftables, rules: [1, 20], match: [first, none]}, compared_with: plain}",
    )
    .unwrap();
    let ids: Vec<(&str, ArmKind)> = plan.arms.iter().skip(2).map(|arm| (arm.id.as_str(), arm.kind)).collect();
    let function = ArmKind::Function;
    let expected = [
        ("again", ArmKind::Same),
        ("rules{rules=1,match=first}", function),
        ("rules{rules=20,match=first}", function),
        ("rules{rules=1,match=none}", function),
        ("rules{rules=20,match=none}", function),
    ];
    assert_eq!(ids, expected);
    assert!(plan.arms.iter().skip(2).all(|arm| arm.compared_with == Some(1)));
    assert!(
        plan.arms[4].summary.ends_with("on a host with 20 rules of nftables, the first matches"),
        "{}",
        plan.arms[4].summary
    );
    let needs: Vec<&str> = plan.network_needs().iter().map(|needed| needed.package).collect();
    assert_eq!(needs, ["iproute2", "nftables"]);
}

#[test]
fn a_network_that_makes_no_sense_is_refused_with_the_reason() {
    let found = plan(
        "baseline, {name: a, network: {nat: iptables}}, {name: b, network: {rules: 5, match: last, accept_established: true}}, \
         {name: c, hops: [], network: {}}, {name: d, functions: [ext-authz/http], network: {}}",
    );
    insta::assert_snapshot!(found.unwrap_err().to_string());
}

#[test]
fn proxies_that_cannot_work_are_refused_with_the_reason() {
    let of = |hops: &str| plan(&format!("baseline, {{name: a, hops: [{hops}]}}"));
    for (hops, expected) in [
        (
            "near, {functions: [http3/terminate]}",
            "`hop-2` accepts requests over HTTP/3 only, which `near` does not send: move it to the first proxy",
        ),
        (
            "{functions: [http3/originate]}, far",
            "`hop-1` forwards requests over HTTP/3, which `far` does not accept: move it to the last proxy",
        ),
        (
            "{functions: [grpc-json]}, far",
            "`a` needs HTTP/2 from `hop-1` to the origin, but the proxies between them use HTTP/1.1",
        ),
        ("near, far-2, {name: far, clones: 2}", "`far` has `clones` and another proxy has the name of one"),
        ("{functions: [workers/two], workers: 3}", "`workers/two` sets `workers: 2` and does not support"),
        ("{proxy: nginx, order: as-written}", "`order` is for Envoy, not for nginx"),
    ] {
        let found = of(hops).expect_err(hops).to_string();
        assert!(found.contains(expected), "{hops}: {found}");
    }
    for hops in [
        "{functions: [http3/terminate]}, {functions: [http3/originate]}",
        "{functions: [http3/originate]}, {functions: [http3/terminate]}",
        "near, {functions: [grpc-json]}",
        "near, far-2, {name: far, clones: 1}",
        "{functions: [workers/two], workers: 2}",
    ] {
        assert!(of(hops).is_ok(), "{hops}: {}", of(hops).unwrap_err());
    }
    plan("baseline, {name: a, hops: [{functions: [grpc-json]}, far], protocol: http2}").unwrap();
    let found = plan("baseline, {name: a, order: as-written}").unwrap_err().to_string();
    assert!(found.contains("`a` is a plain proxy"), "{found}");
}

#[test]
fn an_application_gets_http2_of_no_proxy() {
    let arm = "{name: a, hops: [{functions: [grpc-json]}, far], protocol: http2, application: go}";
    let found = plan(&format!("baseline, {arm}")).unwrap_err().to_string();
    assert!(found.contains("needs HTTP/2 to the application"), "{found}");
}

#[test]
fn flags_that_hoptax_sets_are_refused_in_every_form() {
    let of = |flags: &str| plan(&format!("baseline, {{name: a, flags: [{flags}]}}"));
    for (flag, name) in [
        ("--config-path=/a", "--config-path"),
        ("-c/a", "-c"),
        ("-l trace", "-l"),
        ("-ltrace", "-l"),
        ("--concurrency 4", "--concurrency"),
        ("--restart-epoch", "--restart-epoch"),
        ("--log-path=/a", "--log-path"),
    ] {
        let found = of(&format!("'{flag}'")).unwrap_err().to_string();
        assert!(found.contains(&format!("hoptax controls `{name}` itself")), "{flag}: {found}");
    }
    of("--component-log-level=upstream:debug, --base-id-path, /a, --log-format, x").unwrap();
}

#[test]
fn every_problem_of_a_chain_is_reported_at_its_place() {
    let text = format!(
        "name: test
arms:
  - baseline
  - {{name: plain}}
  - {{name: both-ways, hops: [client], functions: [lua], envoy: 1.39.3}}
  - name: proxies
    hops:
      - {{name: origin, functions: [balance/maglev, nonsense]}}
      - {{name: twice}}
      - two words
      - twice
      - {{proxy: nginx, functions: [lua], workers: 2, envoy: 1.39.3}}
      - {{flags: [--concurrency=4, -l, --base-id]}}
  - name: traffic
    hops: [{{functions: [buffer]}}, {{functions: [cors, grpc-json]}}]
  - name: security
    hops: [{{tls: {{upstream: tls}}}}, {{tls: {{downstream: mtls}}}}, {{functions: [tls/terminate], tls: {{downstream: tls}}}}]
  - {{name: spread, hops: [{{functions: [balance/maglev]}}, server]}}
  - {{name: http2, hops: [{{proxy: haproxy}}], at: {{protocol: http2, tls: tls}}}}
  - {{name: fixed, envoy: 1.39.3, at: {{envoy: 1.40.0}}}}
{LOADS}"
    );
    let shape = format!(
        "name: test
arms:
  - baseline
  - {{name: wrong, hops: [{{proxi: nginx}}, 5, {{proxy: ngnix}}, {{workers: 0}}, {{tls: {{upstream: yes}}}}]}}
  - {{name: number, envoy: 1.40}}
conditions: {{envoy: 1.40}}
{LOADS}"
    );
    insta::assert_snapshot!(format!("{}\n---\n{}", problems(&shape), problems(&text)));
}
