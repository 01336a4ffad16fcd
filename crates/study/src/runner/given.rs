//! Proxies with a given configuration: how one is specified, and what the first requests through it get.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use hoptax_bootstrap::missing_extension;
use hoptax_load::{Recording, Release, Run, Worker, WorkerSpec, now_ns};
use hoptax_result::Answer;
use hoptax_subject::envoy::process::{Proxy, ProxyError, ProxySpec, Source};
use hoptax_subject::lab::{Lab, PeerNames};

use super::subjects::{FILES, TIMEOUT};
use super::traffic::traffic;
use super::{ArmError, Setting};
use crate::configurations::{COMPANION, ORIGIN};
use crate::plan::{Arm, GivenConfig, Hop, Plan};

/// Number of first requests. Rate limits of single digits per second are usual, so more would mostly be refused.
const REQUESTS: u64 = 10;
/// Time limit for them, nanoseconds.
const LIMIT_NS: u64 = 60_000_000_000;
/// How long the last may take, nanoseconds.
const DRAIN_NS: u64 = 1_000_000_000;

/// The names that given configurations expect in the certificates of origin and generator.
pub(super) fn peer_names(plan: &Plan) -> PeerNames {
    let mut names = PeerNames::default();
    for given in plan.arms.iter().flat_map(|arm| &arm.chain.hops).filter_map(|hop| hop.given.as_ref()) {
        if let Ok(configuration) = plan.configurations.of(&given.path) {
            let files = &configuration.adapted.files;
            names.origin.extend(files.origin_names.iter().cloned());
            names.generator.extend(files.client_names.iter().cloned());
        }
    }
    names
}

/// Writes the files of a given configuration, and returns the specification of its proxy; `next` are the addresses of the
/// next hop.
pub(super) fn spec(
    plan: &Plan,
    (arm, hop, given): (&Arm, &Hop, &GivenConfig),
    (setting, directory): (&Setting<'_>, PathBuf),
    processors: &[u32],
    (next, companion): (Vec<SocketAddr>, Option<SocketAddr>),
    lab: &Lab,
) -> Result<ProxySpec, ArmError> {
    let configuration = plan.configurations.of(&given.path).map_err(ArmError::Given)?;
    let place = hoptax_bootstrap::Lab {
        admin_port: 0,
        listener_ports: Vec::new(),
        origin: next.first().copied().unwrap_or(ORIGIN),
        // Only a configuration that is planned to call it leads to it.
        companion: companion.unwrap_or(COMPANION),
        folder: directory.join(FILES),
    };
    let of = |error: &dyn std::fmt::Display| ArmError::Given(error.to_string());
    let adapted = configuration.given.adapt(&place).map_err(|error| of(&error))?;
    configuration.given.write_files(&adapted, lab.certificates()).map_err(|error| of(&error))?;
    Ok(ProxySpec {
        envoy: setting.envoy(arm.envoy(hop))?.clone(),
        directory,
        source: Source::Given {
            bootstrap: adapted.without(&given.without),
            listener: given.listener.clone(),
        },
        environment: arm.environment(hop),
        flags: hop.flags.clone(),
        workers: arm.workers(hop).unwrap_or(processors.len()),
        processors: processors.to_vec(),
    })
}

/// Adds the user's file to Envoy's rejection, and what to do if Envoy lacks an extension.
pub(super) fn explain(plan: &Plan, given: &GivenConfig, error: ProxyError) -> ArmError {
    let ProxyError::Refused { reason, config } = error else { return error.into() };
    let found = plan.configurations.of(&given.path).ok();
    let missing = missing_extension(&reason)
        .zip(found)
        .map(|(name, configuration)| (name.to_owned(), configuration.adapted.extensions(name)));
    let advice = match missing {
        Some((name, pointers)) if !pointers.is_empty() => format!(
            "this Envoy has no extension `{name}`: choose one that has it with `envoy`, or write `without: [{}]`",
            pointers.join(", ")
        ),
        _ => format!("the adapted configuration is `{}`", config.display()),
    };
    ArmError::Given(format!("Envoy rejects the configuration `{}`:\n{reason}\n{advice}", given.path))
}

/// Sends the first requests through the proxies of an arm, whose given configuration is that of `proxy`.
pub(super) fn try_requests(
    plan: &Plan,
    arm: &Arm,
    (proxy, address): (&Proxy, SocketAddr),
    lab: Option<&Lab>,
    stop: &AtomicBool,
) -> Result<Answer, ArmError> {
    let Some(load) = plan.loads.first() else { return Ok(Answer::default()) };
    let before = proxy.all_statistics()?.unwrap_or_default();
    let mut traffic = traffic(plan, arm, load, address, (lab, None))?;
    // Every status is an answer.
    traffic.expectation.statuses = (200..600).collect();
    let mut worker = Worker::connect(&WorkerSpec::single(traffic, 1, TIMEOUT, plan.seed))?;
    let start_ns = now_ns();
    let run = Run {
        requests: Some(REQUESTS),
        ..Run::new(Release::Closed, start_ns, start_ns + LIMIT_NS, DRAIN_NS)
    };
    let mut recording = Recording::new();
    worker.run(run, &mut recording, stop).map_err(|error| ArmError::Given(error.to_string()))?;
    let after = proxy.all_statistics()?.unwrap_or_default();
    let failures: Vec<String> =
        recording.failures.iter().map(|(kind, count)| format!("{count} {}", kind.as_str())).collect();
    judge(&recording.statuses, &failures, plan.loads.iter().all(|load| !load.expect.is_empty())).map_err(
        |why| ArmError::Given(format!("{why}; the log of the proxy is `{}`", proxy.log().display())),
    )?;
    Ok(Answer { statuses: recording.statuses, statistics: after.grown_since(&before) })
}

/// Whether later responses can be expected to be as the first ones, or why not. `are_stated` says that all loads state the
/// statuses that they expect.
fn judge(statuses: &BTreeMap<u16, u64>, failures: &[String], are_stated: bool) -> Result<(), String> {
    let counts = || {
        let counts: Vec<String> =
            statuses.iter().map(|(status, count)| format!("{count} of status {status}")).collect();
        counts.join(", ")
    };
    let stable = "state them with `expect` at each load, or remove what causes them with `without`";
    let all = || statuses.keys().map(u16::to_string).collect::<Vec<_>>().join(", ");
    match statuses.len() {
        _ if !failures.is_empty() => Err(format!("the first requests failed: {}", failures.join(", "))),
        0 => Err("the first requests got no response in time".to_owned()),
        _ if are_stated => Ok(()),
        1 if statuses.keys().all(|status| *status < 500) => Ok(()),
        1 => Err(format!(
            "the first requests got {}, an error of the proxy or of what is behind it; if it is meant, write `expect: [{}]` at \
             each load",
            counts(),
            all()
        )),
        _ => Err(format!("the first requests got different statuses ({}): {stable}", counts())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(statuses: &[(u16, u64)], failures: &[&str], are_stated: bool) -> Result<(), String> {
        let failures: Vec<String> = failures.iter().map(ToString::to_string).collect();
        judge(&statuses.iter().copied().collect(), &failures, are_stated)
    }

    #[test]
    fn one_status_below_500_is_an_answer() {
        for status in [200, 301, 401, 404] {
            assert_eq!(judged(&[(status, 10)], &[], false), Ok(()));
        }
        let error = judged(&[(503, 10)], &[], false).unwrap_err();
        assert!(error.contains("10 of status 503") && error.contains("`expect: [503]`"), "{error}");
    }

    #[test]
    fn several_statuses_must_be_stated() {
        let error = judged(&[(200, 4), (429, 6)], &[], false).unwrap_err();
        assert!(error.contains("4 of status 200, 6 of status 429"), "{error}");
        assert_eq!(judged(&[(200, 4), (429, 6)], &[], true), Ok(()));
        assert_eq!(judged(&[(503, 10)], &[], true), Ok(()));
    }

    #[test]
    fn requests_without_a_response_are_no_answer() {
        assert!(judged(&[], &[], true).unwrap_err().contains("no response"));
        let error = judged(&[(200, 9)], &["1 reset"], true).unwrap_err();
        assert!(error.contains("1 reset"), "{error}");
    }
}
