//! The planned subject of an arm, as results show it.

use std::collections::BTreeMap;

use hoptax_functions::{Component, Tls};
use hoptax_result::{ConnectionTls, PlannedFunction, PlannedHop, PlannedSubject};
use hoptax_subject::front::Front;

use crate::file::Application;
use crate::plan::{Arm, Plan};

/// The subject of an arm of `plan`.
pub(super) fn planned(plan: &Plan, arm: &Arm) -> PlannedSubject {
    let knobs = |component: &Component| {
        let knobs = component.knobs.iter();
        knobs.map(|(name, value)| (name.to_owned(), value.to_string())).collect::<BTreeMap<_, _>>()
    };
    let functions: Vec<PlannedFunction> = arm
        .functions
        .components()
        .iter()
        // A function of the application leaves the proxy plain.
        .filter(|component| {
            component.function.application(&component.knobs).is_ok_and(|flags| flags.is_empty())
        })
        .map(|component| PlannedFunction {
            id: component.function.id.clone(),
            knobs: knobs(component),
            unloaded: arm.is_unloaded,
        })
        .collect();
    let hop = |name: &&str| PlannedHop {
        name: (*name).to_owned(),
        proxy: arm.subject.proxy.front().map_or("envoy", Front::program).to_owned(),
        functions: functions.clone(),
        workers: match arm.subject.proxy.front() {
            Some(_) => Some(1),
            None => arm.workers().map(|workers| workers as u32),
        },
        environment: arm.conditions.environment.clone(),
    };
    PlannedSubject {
        protocol: arm.conditions.protocol.as_str().to_owned(),
        hops: arm.subject.position.hops().iter().map(hop).collect(),
        tls: tls(arm),
        application: match plan.application {
            Application::Origin => "origin",
            Application::Go => "go",
        }
        .to_owned(),
        // A plain proxy has one, and so has a proxy without its function.
        upstreams: if arm.is_unloaded { 1 } else { arm.upstreams as u32 },
        application_flags: arm.functions.application(),
        expect: plan
            .loads
            .iter()
            .filter(|load| arm.takes_part(load))
            .map(|load| (load.name.clone(), load.expect.clone()))
            .collect(),
    }
}

/// TLS of each connection. That of a position is on the links that cross a network; that of a function or a condition
/// is on the first or the last connection of a single proxy.
fn tls(arm: &Arm) -> Vec<ConnectionTls> {
    let of_position = match (arm.subject.mtls, arm.subject.tls) {
        (true, _) => ConnectionTls::Mtls,
        (false, true) => ConnectionTls::Tls,
        (false, false) => ConnectionTls::None,
    };
    let links = arm.subject.position.links();
    let secured = arm.secured();
    let connection = |(number, crosses): (usize, &bool)| {
        let of_function = match number {
            0 => secured.downstream,
            _ if number + 1 == links.len() => secured.upstream,
            _ => None,
        };
        match of_function {
            Some(Tls::Tls) => ConnectionTls::Tls,
            Some(Tls::Mtls) => ConnectionTls::Mtls,
            None if *crosses => of_position,
            None => ConnectionTls::None,
        }
    };
    links.iter().enumerate().map(connection).collect()
}

#[cfg(test)]
mod tests {
    use hoptax_functions::Catalogue;

    use super::*;
    use crate::file;

    fn subjects(text: &str) -> Vec<(String, PlannedSubject)> {
        let loads = "loads:\n  - {name: full, loop: closed}\n  \
                     - {name: limited, loop: open, rate: 100, expect: [200, 429]}\n";
        let (file, positions) = file::read("test.yaml", &format!("name: test\n{text}{loads}")).unwrap();
        let plan = Plan::new(&file, &positions, &Catalogue::load().unwrap()).unwrap();
        plan.arms.iter().map(|arm| (arm.id.clone(), planned(&plan, arm))).collect()
    }

    fn of<'a>(subjects: &'a [(String, PlannedSubject)], id: &str) -> &'a PlannedSubject {
        &subjects.iter().find(|(other, _)| other == id).unwrap_or_else(|| panic!("{id}: {subjects:?}")).1
    }

    #[test]
    fn an_arm_states_its_functions_its_knobs_and_its_statuses() {
        let subjects = subjects(
            "conditions: {protocol: http2, tls: tls}\narms: [direct, baseline, 'rbac{rules=5}', {unloaded: lua}, \
             workers/two, balance/maglev, fault/delay]\n",
        );
        let rbac = of(&subjects, "rbac{rules=5} @ http2, tls");
        assert_eq!((rbac.protocol.as_str(), rbac.application.as_str()), ("http2", "origin"));
        assert_eq!(rbac.tls, [ConnectionTls::Tls, ConnectionTls::None]);
        assert_eq!(rbac.expect, [("full".to_owned(), vec![]), ("limited".to_owned(), vec![200, 429])].into());
        let [hop] = rbac.hops.as_slice() else { panic!("{rbac:?}") };
        assert_eq!((hop.name.as_str(), hop.proxy.as_str(), hop.workers), ("gateway", "envoy", None));
        let [function] = hop.functions.as_slice() else { panic!("{hop:?}") };
        assert_eq!((function.id.as_str(), function.unloaded), ("rbac", false));
        assert_eq!(function.knobs["rules"], "5");

        let hop = |id: &str| &of(&subjects, id).hops[0];
        assert!(hop("baseline @ http2, tls").functions.is_empty());
        assert!(hop("lua @ http2, tls unloaded").functions[0].unloaded);
        assert_eq!(hop("workers/two @ http2, tls").workers, Some(2));
        assert_eq!(of(&subjects, "balance/maglev @ http2, tls").upstreams, 4);
        assert_eq!(hop("fault/delay @ http2, tls").environment.len(), 1);
        let direct = of(&subjects, "direct @ http2");
        assert!(direct.hops.is_empty());
        assert_eq!(direct.tls, [ConnectionTls::None]);
        // An arm without a proxy takes no part in a closed loop.
        assert_eq!(direct.expect.keys().collect::<Vec<_>>(), ["limited"]);
    }

    #[test]
    fn an_arm_lists_all_functions_of_its_proxy() {
        let subjects = subjects(
            "application: go\narms: [baseline, {name: edge, functions: [jwt, 'rbac{rules=5}', rate-limit/library]}]\n",
        );
        let edge = of(&subjects, "edge");
        let [hop] = edge.hops.as_slice() else { panic!("{edge:?}") };
        let ids: Vec<&str> = hop.functions.iter().map(|function| function.id.as_str()).collect();
        // The application limits the rate, not the proxy.
        assert_eq!((ids, edge.application_flags.len()), (vec!["jwt", "rbac"], 1));
        assert_eq!(
            (hop.functions[0].knobs["alg"].as_str(), hop.functions[1].knobs["rules"].as_str()),
            ("RS256", "5")
        );
    }

    #[test]
    fn a_function_of_the_application_is_in_its_flags() {
        let subjects = subjects("application: go\narms: [baseline, rate-limit/library]\n");
        let of_application =
            |id: &str| (of(&subjects, id).application.clone(), &of(&subjects, id).application_flags);
        let (application, flags) = of_application("rate-limit/library");
        assert!(application == "go" && !flags.is_empty(), "{flags:?}");
        assert!(of_application("baseline").1.is_empty());
        assert!(of(&subjects, "rate-limit/library").hops[0].functions.is_empty());
    }

    #[test]
    fn a_position_states_its_hops_and_the_tls_between_them() {
        let subjects = subjects(
            "arms:\n  - subject: {position: direct}\n  - subject: {position: gateway+both, mtls: true}\n  \
             - subject: {position: gateway, proxy: haproxy}\n",
        );
        let chain = of(&subjects, "gateway+both http1 mtls");
        let names: Vec<&str> = chain.hops.iter().map(|hop| hop.name.as_str()).collect();
        assert_eq!(names, ["gateway", "client", "server"]);
        let (none, mtls) = (ConnectionTls::None, ConnectionTls::Mtls);
        assert_eq!(chain.tls, [none, mtls, mtls, none]);
        let front = &of(&subjects, "gateway http1 haproxy").hops[0];
        assert_eq!((front.proxy.as_str(), front.workers), ("haproxy", Some(1)));
        for (id, subject) in &subjects {
            assert_eq!(subject.tls.len(), subject.hops.len() + 1, "{id}");
        }
    }

    #[test]
    fn functions_that_set_up_tls_state_the_connection() {
        let subjects = subjects("arms: [baseline, tls/terminate-mutual, tls/originate]\n");
        let (none, tls, mtls) = (ConnectionTls::None, ConnectionTls::Tls, ConnectionTls::Mtls);
        assert_eq!(of(&subjects, "baseline").tls, [none, none]);
        assert_eq!(of(&subjects, "tls/terminate-mutual").tls, [mtls, none]);
        assert_eq!(of(&subjects, "tls/originate").tls, [none, tls]);
    }
}
