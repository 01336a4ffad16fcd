//! What the first requests to a configuration or a server of the user get: what it should answer is not known.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use hoptax_load::{Failure, Recording, Release, Run, Worker, WorkerSpec, now_ns};
use hoptax_result::Answer;
use hoptax_subject::envoy::process::Proxy;
use hoptax_subject::lab::Lab;

use super::ArmError;
use super::subjects::TIMEOUT;
use super::traffic::traffic;
use crate::plan::{Arm, DRAIN, Plan};

/// Number of first requests. Rate limits of single digits per second are usual, so more would mostly be refused.
const REQUESTS: u64 = 10;
/// Time limit for them, nanoseconds.
const LIMIT_NS: u64 = 60_000_000_000;

/// Sends the first requests to an arm with requests of its own. `proxy` is the first with a given configuration, if any.
pub(super) fn try_requests(
    plan: &Plan,
    arm: &Arm,
    (proxy, address): (Option<&Proxy>, SocketAddr),
    lab: Option<&Lab>,
    stop: &AtomicBool,
) -> Result<Answer, ArmError> {
    let Some(load) = plan.loads.first() else { return Ok(Answer::default()) };
    let statistics = || proxy.map_or(Ok(None), Proxy::all_statistics).map(Option::unwrap_or_default);
    let before = statistics()?;
    let mut traffic = traffic(plan, arm, load, address, (lab, None))?;
    // Every status is an answer.
    traffic.expectation.statuses = (200..600).collect();
    let mut worker = Worker::connect(&WorkerSpec::single(traffic, 1, TIMEOUT, plan.seed))?;
    let start_ns = now_ns();
    let run = Run {
        requests: Some(REQUESTS),
        ..Run::new(Release::Closed, start_ns, start_ns + LIMIT_NS, DRAIN.as_nanos() as u64)
    };
    let mut recording = Recording::new();
    worker.run(run, &mut recording, stop).map_err(|error| ArmError::Given(error.to_string()))?;
    let after = statistics()?;
    let number = |count: u64| count.to_string();
    let words = |(kind, count): (&Failure, &u64)| recording.reasons.words(kind.as_str(), *count, number);
    let failures: Vec<String> = recording.failures.iter().map(words).collect();
    let are_stated = plan.loads.iter().all(|load| !load.expect.is_empty());
    judge(&recording.statuses, &failures, are_stated).map_err(|why| {
        let log = |proxy: &Proxy| format!("; the log of the proxy is `{}`", proxy.log().display());
        ArmError::Given(why + &proxy.map(log).unwrap_or_default())
    })?;
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
        _ => Err(format!(
            "the first requests got different statuses ({}): write `expect: [{}]` at each load, or remove what causes them with \
             `without`",
            counts(),
            all()
        )),
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
