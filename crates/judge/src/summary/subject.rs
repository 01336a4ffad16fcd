//! The planned subject of an arm, as results show it.

use std::collections::BTreeMap;

use hoptax_bootstrap::request::DerivedRequest;
use hoptax_functions::{Component, Tls};
use hoptax_host::firewall::FirewallSpec;
use hoptax_host::network::{Nat, NetworkSpec};
use hoptax_plan::build::{Build, envoy_name};
use hoptax_plan::file::{ORIGIN, ProxyWord};
use hoptax_plan::plan::{Arm, GivenConfig, Hop, Plan};
use hoptax_plan::request::expected_statuses;
use hoptax_result::{
    Answer, ConnectionTls, Environment, PlannedConfig, PlannedFirewall, PlannedFunction, PlannedHop,
    PlannedNetwork, PlannedRequest, PlannedSubject,
};

/// The programs of proxies: the usual Envoy, which the environment states, and the builds of other programs by name.
#[derive(Clone, Copy)]
pub(super) struct Proxies<'a> {
    pub(super) environment: &'a Environment,
    pub(super) others: &'a BTreeMap<String, Build>,
}

impl Proxies<'_> {
    /// The version, the hash and the build of the program of a proxy, and nothing else of the proxy.
    fn program(&self, arm: &Arm, hop: &Hop) -> PlannedHop {
        let other = match (hop.proxy, arm.envoy(hop)) {
            (ProxyWord::Envoy, None) => {
                return PlannedHop {
                    version: self.environment.proxy_version.clone(),
                    sha256: self.environment.proxy_sha256.clone(),
                    build: self.environment.proxy_build.clone(),
                    ..PlannedHop::default()
                };
            }
            (ProxyWord::Envoy, Some(choice)) => self.others.get(&envoy_name(choice)),
            (other, _) => self.others.get(other.as_str()),
        };
        PlannedHop {
            version: other.and_then(|program| program.version.clone()),
            sha256: other.map(|program| program.sha256.clone()),
            build: other.and_then(|program| program.proxy_build.clone()),
            ..PlannedHop::default()
        }
    }
}

/// The subject of an arm of `plan`. `answer` is its first answer, if it was tried.
pub(super) fn planned(
    plan: &Plan,
    arm: &Arm,
    programs: &Proxies<'_>,
    answer: Option<&Answer>,
) -> PlannedSubject {
    let account = arm.external.as_ref().and_then(|external| external.account.as_ref());
    PlannedSubject {
        protocol: arm.conditions.protocol.as_str().to_owned(),
        hops: arm.chain.hops.iter().map(|hop| planned_hop(plan, arm, hop, programs)).collect(),
        tls: arm.tls().into_iter().map(connection_tls).collect(),
        application: match (&arm.external, arm.application()) {
            (Some(_), _) => "external".to_owned(),
            (None, None) => ORIGIN.to_owned(),
            (None, Some(application)) => application.name(),
        },
        // A plain proxy has one, and so has a proxy without its function.
        upstreams: if arm.is_unloaded { 1 } else { arm.upstreams as u32 },
        application_flags: arm.functions.application(),
        expect: plan
            .loads
            .iter()
            .filter(|load| arm.takes_part(load))
            .map(|load| (load.name.clone(), expected_statuses(arm, load, answer)))
            .collect(),
        request: arm.request.as_ref().map(planned_request),
        account: account.map(ToString::to_string),
        network: arm.network.as_ref().map(planned_network),
    }
}

fn planned_network(spec: &NetworkSpec) -> PlannedNetwork {
    let firewall = |rules: FirewallSpec| PlannedFirewall {
        firewall: rules.firewall.as_str().to_owned(),
        rules: rules.rules,
        matching: rules.matching.as_str().to_owned(),
        accept_established: rules.accepts_established,
    };
    PlannedNetwork {
        servers: spec.servers.as_str().to_owned(),
        nat: spec.nat.map_or("none", Nat::as_str).to_owned(),
        firewall: spec.firewall.map(firewall),
    }
}

fn planned_request(request: &DerivedRequest) -> PlannedRequest {
    let scheme = if request.tls.is_some() { "https" } else { "http" };
    PlannedRequest {
        method: request.method.clone(),
        url: format!("{scheme}://{}{}", request.host, request.path),
        headers: request.headers.iter().map(|(name, _)| name.clone()).collect(),
    }
}

fn planned_hop(plan: &Plan, arm: &Arm, hop: &Hop, programs: &Proxies<'_>) -> PlannedHop {
    let function = |component: &Component| PlannedFunction {
        id: component.function.id.clone(),
        knobs: component.knobs.iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect(),
        unloaded: arm.is_unloaded,
    };
    // A function of the application leaves the proxy plain.
    let is_of_proxy = |component: &&Component| {
        component.function.application(&component.knobs).is_ok_and(|flags| flags.is_empty())
    };
    let config = |given: &GivenConfig| PlannedConfig {
        path: given.path.clone(),
        sha256: plan.configurations.hashes().remove(&given.path).unwrap_or_default(),
        listener: given.listener.clone(),
        without: given.without.clone(),
    };
    PlannedHop {
        config: hop.given.as_ref().map(config),
        name: hop.name.clone(),
        proxy: hop.proxy.as_str().to_owned(),
        functions: hop.functions.components().iter().filter(is_of_proxy).map(function).collect(),
        processors: hop.processors,
        workers: match hop.proxy {
            ProxyWord::Envoy => arm.workers(hop).map(|workers| workers as u32),
            ProxyWord::Front(front) => Some(front.threads),
        },
        flags: hop.flags.clone(),
        environment: arm.environment(hop),
        ..programs.program(arm, hop)
    }
}

fn connection_tls(tls: Option<Tls>) -> ConnectionTls {
    match tls {
        None => ConnectionTls::None,
        Some(Tls::Tls) => ConnectionTls::Tls,
        Some(Tls::Mtls) => ConnectionTls::Mtls,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn subjects(text: &str) -> Vec<(String, PlannedSubject)> {
        let loads = "loads:\n  - {name: full, loop: closed}\n  \
                     - {name: limited, loop: open, rate: 100, expect: [200, 429]}\n";
        let plan = fixture::plan(&format!("name: test\n{text}{loads}"));
        let build = |version: &str, proxy_build: Option<&str>| Build {
            version: Some(version.to_owned()),
            proxy_build: proxy_build.map(str::to_owned),
            sha256: format!("hash of {version}"),
            inputs: BTreeMap::new(),
        };
        let other = build("1.39.3", Some("Modified/RELEASE"));
        let others = [("Envoy 1.39.3".to_owned(), other), ("haproxy".to_owned(), build("3.2", None))].into();
        let environment = Environment {
            proxy_version: Some("1.40.0".to_owned()),
            proxy_sha256: Some("hash of 1.40.0".to_owned()),
            proxy_build: Some("Clean/RELEASE".to_owned()),
            ..Environment::default()
        };
        let programs = Proxies { environment: &environment, others: &others };
        plan.arms.iter().map(|arm| (arm.id.clone(), planned(&plan, arm, &programs, None))).collect()
    }

    fn subject<'a>(subjects: &'a [(String, PlannedSubject)], id: &str) -> &'a PlannedSubject {
        &subjects.iter().find(|(other, _)| other == id).unwrap_or_else(|| panic!("{id}: {subjects:?}")).1
    }

    #[test]
    fn an_arm_states_its_functions_its_knobs_and_its_statuses() {
        let subjects = subjects(
            "conditions: {protocol: http2, tls: tls}\narms: [direct, baseline, 'rbac{rules=5}', {unloaded: lua}, \
             workers/two, balance/maglev, control/delay]\n",
        );
        let rbac = subject(&subjects, "rbac{rules=5} @ http2, tls");
        assert_eq!((rbac.protocol.as_str(), rbac.application.as_str()), ("http2", "origin"));
        assert_eq!(rbac.tls, [ConnectionTls::Tls, ConnectionTls::None]);
        assert_eq!(rbac.expect, [("full".to_owned(), vec![]), ("limited".to_owned(), vec![200, 429])].into());
        let [hop] = rbac.hops.as_slice() else { panic!("{rbac:?}") };
        assert_eq!((hop.name.as_str(), hop.proxy.as_str(), hop.workers), ("gateway", "envoy", None));
        let [function] = hop.functions.as_slice() else { panic!("{hop:?}") };
        assert_eq!((function.id.as_str(), function.unloaded), ("rbac", false));
        assert_eq!(function.knobs["rules"], "5");

        let hop = |id: &str| &subject(&subjects, id).hops[0];
        assert!(hop("baseline @ http2, tls").functions.is_empty());
        assert!(hop("lua @ http2, tls unloaded").functions[0].unloaded);
        assert_eq!(hop("workers/two @ http2, tls").workers, Some(2));
        assert_eq!(subject(&subjects, "balance/maglev @ http2, tls").upstreams, 4);
        assert_eq!(hop("control/delay @ http2, tls").environment.len(), 1);
        let direct = subject(&subjects, "direct @ http2");
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
        let edge = subject(&subjects, "edge");
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
        let of_application = |id: &str| {
            (subject(&subjects, id).application.clone(), &subject(&subjects, id).application_flags)
        };
        let (application, flags) = of_application("rate-limit/library");
        assert!(application == "go" && !flags.is_empty(), "{flags:?}");
        assert!(of_application("baseline").1.is_empty());
        assert!(subject(&subjects, "rate-limit/library").hops[0].functions.is_empty());
    }

    #[test]
    fn a_position_states_its_hops_and_the_tls_between_them() {
        let subjects = subjects(
            "arms:\n  - subject: {position: direct}\n  - subject: {position: gateway+both, mtls: true}\n  \
             - subject: {position: gateway, proxy: haproxy}\n",
        );
        let chain = subject(&subjects, "gateway+both http1 mtls");
        let names: Vec<&str> = chain.hops.iter().map(|hop| hop.name.as_str()).collect();
        assert_eq!(names, ["gateway", "client", "server"]);
        let (none, mtls) = (ConnectionTls::None, ConnectionTls::Mtls);
        assert_eq!(chain.tls, [none, mtls, mtls, none]);
        let front = &subject(&subjects, "gateway http1 haproxy").hops[0];
        assert_eq!((front.proxy.as_str(), front.workers), ("haproxy", Some(1)));
        assert_eq!((front.version.as_deref(), front.build.as_deref()), (Some("3.2"), None));
        for (id, subject) in &subjects {
            assert_eq!(subject.tls.len(), subject.hops.len() + 1, "{id}");
        }
    }

    #[test]
    fn every_proxy_states_its_program() {
        let subjects = subjects(
            "arms:\n  - baseline\n  - {function: lua, at: {envoy: 1.39.3}}\n  \
             - {name: mesh, hops: [client, {name: server, functions: [jwt], envoy: 1.39.3, flags: [--enable-core-dump]}]}\n",
        );
        let programs = |id: &str| {
            let hops = subject(&subjects, id).hops.iter();
            let stated = |hop: &PlannedHop| {
                [&hop.version, &hop.sha256, &hop.build].map(|value| value.clone().unwrap())
            };
            hops.map(stated).collect::<Vec<_>>()
        };
        let of =
            |version: &str, build: &str| [version.to_owned(), format!("hash of {version}"), build.to_owned()];
        let [new, old] = [of("1.40.0", "Clean/RELEASE"), of("1.39.3", "Modified/RELEASE")];
        assert_eq!(programs("baseline"), std::slice::from_ref(&new));
        assert_eq!(programs("lua @ envoy=1.39.3"), std::slice::from_ref(&old));
        assert_eq!(programs("baseline @ envoy=1.39.3"), std::slice::from_ref(&old));
        assert_eq!(programs("mesh"), [new, old]);
        let hops = &subject(&subjects, "mesh").hops;
        assert_eq!((hops[0].functions.len(), hops[1].functions.len()), (0, 1));
        assert_eq!(hops[1].flags, ["--enable-core-dump"]);
    }

    #[test]
    fn functions_that_set_up_tls_state_the_connection() {
        let subjects = subjects("arms: [baseline, tls/terminate-mutual, tls/originate]\n");
        let (none, tls, mtls) = (ConnectionTls::None, ConnectionTls::Tls, ConnectionTls::Mtls);
        assert_eq!(subject(&subjects, "baseline").tls, [none, none]);
        assert_eq!(subject(&subjects, "tls/terminate-mutual").tls, [mtls, none]);
        assert_eq!(subject(&subjects, "tls/originate").tls, [none, tls]);
    }
}
