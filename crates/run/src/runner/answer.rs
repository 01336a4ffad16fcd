//! Responses to the first requests to an arm. A configuration or a server of the user may answer with any status, but arms whose costs are
//! compared should do the same work.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use hoptax_load::{Failure, Recording, Release, Run, Worker, WorkerSpec, now_ns};
use hoptax_plan::plan::{Arm, DRAIN, Plan, Subject};
use hoptax_result::{Answer, ArmKind};
use hoptax_subject::envoy::process::{Proxy, Statistics};
use hoptax_subject::lab::Lab;

use super::ends::Ends;
use super::error::in_arm;
use super::traffic::{TIMEOUT, traffic};
use super::{ArmError, RunError};

/// Number of first requests. Rate limits below ten requests per second are common and would refuse most of a larger number.
const REQUESTS: u64 = 10;
/// Time limit for these requests, nanoseconds.
const LIMIT_NS: u64 = 60_000_000_000;

/// Returns true if an arm gets first requests: an arm with a configuration or a server of the user, and both sides of a comparison with an
/// arm other than a baseline. Comparisons with a baseline need none, because a different response may be part of a function's work.
pub(super) fn is_tried(plan: &Plan, Subject { arm, arm_number, .. }: Subject<'_>) -> bool {
    let is_plain = |arm: &Arm| matches!(arm.kind, ArmKind::Baseline | ArmKind::Direct);
    let is_compared = || {
        plan.reference(arm).is_some_and(|other| !is_plain(other))
            || (!is_plain(arm) && plan.arms.iter().any(|other| other.compared_with == Some(arm_number)))
    };
    arm.request.is_some() || (plan.timeline.is_none() && is_compared())
}

/// An arm with its proxies in passing order, and the addresses of its origins.
#[derive(Clone, Copy)]
pub(super) struct Tried<'a> {
    pub(super) arm: &'a Arm,
    pub(super) proxies: &'a [Proxy],
    pub(super) origins: &'a [SocketAddr],
    pub(super) ends: Ends<'a>,
}

/// Counters of the proxies of an arm at one moment.
struct Counted {
    /// The statistics of the first proxy with a given configuration.
    statistics: Statistics,
    /// Requests to the origins.
    to_origin: Option<u64>,
}

impl Tried<'_> {
    /// Sends the first requests to the arm at `address`.
    pub(super) fn answer(
        self,
        plan: &Plan,
        address: SocketAddr,
        lab: Option<&Lab>,
        stop: &AtomicBool,
    ) -> Result<Answer, RunError> {
        let Self { arm, ends, .. } = self;
        let before = self.counted()?;
        let sent = ends.at_callers(|| send(plan, arm, ends.reached_at(address), lab, stop))?;
        let recording = sent.map_err(in_arm(arm))?;
        let after = self.counted()?;
        if arm.request.is_some() {
            self.judge(plan, &recording).map_err(in_arm(arm))?;
        }
        Ok(Answer {
            statuses: recording.statuses,
            body_bytes: recording.body_bytes,
            reached_origin: after
                .to_origin
                .zip(before.to_origin)
                .map(|(after, before)| after.saturating_sub(before)),
            statistics: after.statistics.grown_since(&before.statistics),
        })
    }

    fn counted(self) -> Result<Counted, RunError> {
        let mut counted = Counted { statistics: Statistics::default(), to_origin: None };
        let given = self.given().map(Proxy::id);
        for (hop, proxy) in self.arm.chain.hops.iter().zip(self.proxies) {
            let read = || -> Result<_, ArmError> {
                let statistics = if Some(proxy.id()) == given { proxy.all_statistics()? } else { None };
                Ok((statistics, proxy.requests_to(self.origins)?))
            };
            let (statistics, requests) =
                self.ends.at_servers(hop.is_near(), read)?.map_err(in_arm(self.arm))?;
            counted.statistics = statistics.unwrap_or(counted.statistics);
            counted.to_origin = match (counted.to_origin, requests) {
                (Some(sum), Some(requests)) => Some(sum + requests),
                (sum, requests) => sum.or(requests),
            };
        }
        Ok(counted)
    }

    /// The first proxy with a given configuration.
    fn given(&self) -> Option<&Proxy> {
        let number = self.arm.chain.hops.iter().position(|hop| hop.given.is_some())?;
        self.proxies.get(number)
    }

    /// Checks that the first responses of a configuration or a server of the user predict later ones.
    fn judge(self, plan: &Plan, recording: &Recording) -> Result<(), ArmError> {
        let number = |count: u64| count.to_string();
        let words = |(kind, count): (&Failure, &u64)| recording.reasons.words(kind.as_str(), *count, number);
        let failures: Vec<String> = recording.failures.iter().map(words).collect();
        let are_stated = plan.loads.iter().all(|load| !load.expect.is_empty());
        judge(&recording.statuses, &failures, are_stated).map_err(|why| {
            let log = |proxy: &Proxy| format!("; the log of the proxy is `{}`", proxy.log().display());
            ArmError::Given(why + &self.given().map(log).unwrap_or_default())
        })
    }
}

/// Sends the requests, one after the other, and accepts every status.
fn send(
    plan: &Plan,
    arm: &Arm,
    address: SocketAddr,
    lab: Option<&Lab>,
    stop: &AtomicBool,
) -> Result<Recording, ArmError> {
    let mut recording = Recording::default();
    let Some(load) = plan.loads.iter().find(|load| arm.takes_part(load)) else { return Ok(recording) };
    let mut traffic = traffic(plan, arm, load, address, lab, None)?;
    traffic.expectation.statuses = (200..600).collect();
    let mut worker = Worker::connect(&WorkerSpec::single(traffic, 1, TIMEOUT, plan.seed))?;
    let start_ns = now_ns();
    let run = Run {
        requests: Some(REQUESTS),
        ..Run::new(Release::Closed, start_ns, start_ns + LIMIT_NS, DRAIN.as_nanos() as u64)
    };
    worker.run(run, &mut recording, stop).map_err(|error| ArmError::Given(error.to_string()))?;
    Ok(recording)
}

/// Checks that the first responses predict later ones. `are_stated` is true if all loads state the statuses that they expect.
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
            "the first requests got {}, an error of the proxy or of its upstream; if it is intended, write `expect: [{}]` at each load",
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
