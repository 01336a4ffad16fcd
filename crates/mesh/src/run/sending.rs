//! Sends a slice of the load from the caller of an arm.

use std::time::{Duration, Instant};

use hoptax_agents::controller::{self, LoadRequest, Notice, RemoteAgent};
use hoptax_checks::thresholds::Limits;
use hoptax_cluster::PendingAgent;
use hoptax_load::Pace;
use hoptax_result::LoadResult;
use hoptax_session::awake::NeverHalt;
use hoptax_session::load::{Connections, GivenUrl, Load, Requests, Schedule, Sending};
use hoptax_session::{Failure, Interrupt, Kind, Update};

use super::Context;
use super::pods::ArmPods;
use crate::plan::Plan;

/// Time limit for an arm to answer. A mesh tells its proxies about new pods within some seconds.
const ANSWER_TIME: Duration = Duration::from_mins(1);
/// The rate and the length of a try.
const TRY_RATE: f64 = 20.0;
const TRY: Duration = Duration::from_secs(2);
/// Thresholds of load checks that are left to the checks of the study.
const JUDGED_LATER: [&str; 7] = [
    "own-lag-us",
    "interval-fail-share",
    "generator-busy-fail",
    "run-delay-fail",
    "steal-fail",
    "steady-change-fail",
    "clock-read-ns",
];

/// Waits until an arm answers all requests of a try, and then until an answer proves its function, if an answer can.
pub(super) fn answers(plan: &Plan, arm: &ArmPods, context: Context<'_>) -> Result<(), Failure> {
    let id = &arm.id;
    tried(plan, arm, &requests(arm, arm.url.clone()), context, |time_s, said| {
        format!(
            "the origin of `{id}` does not answer at {} for {time_s} s: {said}; check whether the mesh lets the caller reach it, for \
             example whether its policies do",
            arm.url
        )
    })?;
    let Some(proof) = &arm.proof else { return Ok(()) };
    let url = proof.url(&arm.url);
    let expect = vec![proof.expectation().map_err(Failure::bad_input)?];
    let headers = proof.headers(&arm.headers);
    let requests = Requests { expect, headers, ..requests(arm, url.clone()) };
    tried(plan, arm, &requests, context, |time_s, said| {
        format!(
            "`{id}` is not in effect: {url} does not answer with `{}` for {time_s} s: {said}; check whether the mesh applies the \
             objects of its template",
            proof.expect
        )
    })
}

/// Waits until all requests of a try are answered as expected. `otherwise` describes answers that differ until the time limit, seconds.
fn tried(
    plan: &Plan,
    arm: &ArmPods,
    requests: &Requests,
    context: Context<'_>,
    otherwise: impl Fn(u64, &str) -> String,
) -> Result<(), Failure> {
    let began = Instant::now();
    let schedule = Schedule {
        pace: Some(Pace::Constant(TRY_RATE)),
        duration: Some(TRY),
        warmup: Some(Duration::ZERO),
        ..Schedule::default()
    };
    loop {
        let sent = sent(plan, arm, requests.clone(), schedule.clone(), 1, context.interrupt, &mut |_| ());
        let said = match sent {
            Ok(load) if load.book.sent > 0 && load.book.answered == load.book.sent => return Ok(()),
            Ok(load) => said(&load),
            // A load without any answer has no numbers.
            Err(failure) if failure.kind == Kind::Void => failure.to_string(),
            Err(failure) => return Err(failure),
        };
        context.interrupt.check()?;
        if began.elapsed() > ANSWER_TIME {
            return Err(Failure::environment(otherwise(ANSWER_TIME.as_secs(), &said)));
        }
    }
}

/// The requests of an arm, to a URL.
fn requests(arm: &ArmPods, url: String) -> Requests {
    Requests { urls: vec![GivenUrl::from(url)], headers: arm.headers.clone(), ..Requests::default() }
}

fn said(load: &LoadResult) -> String {
    let others = vec![format!("{} timed out or unfinished", load.book.timed_out + load.book.unfinished)];
    load.reasons.listed(&load.failures, others, |count| count.to_string())
}

/// Sends a slice. Without a pace, it is one at saturation: each connection sends its next request when the last one is answered.
pub(super) fn send(
    plan: &Plan,
    arm: &ArmPods,
    pace: Option<Pace>,
    slice: Duration,
    context: Context<'_>,
) -> Result<LoadResult, Failure> {
    let schedule =
        Schedule { pace, duration: Some(slice), warmup: Some(plan.asked.warmup), ..Schedule::default() };
    let mut tell = |text: &str| (context.say)(Update::Problem(text));
    let requests = requests(arm, arm.url.clone());
    sent(plan, arm, requests, schedule, plan.asked.connections, context.interrupt, &mut tell)
}

fn sent(
    plan: &Plan,
    arm: &ArmPods,
    requests: Requests,
    schedule: Schedule,
    connections: u32,
    interrupt: &Interrupt,
    on_problem: &mut dyn FnMut(&str),
) -> Result<LoadResult, Failure> {
    let mut limits = Limits::default();
    for name in JUDGED_LATER {
        limits.set(name, 1e9).map_err(Failure::environment)?;
    }
    let sending = Sending {
        load: Load {
            requests,
            connections: Connections { number: connections, ..Connections::default() },
            seed: plan.asked.seed,
            ..Load::default()
        },
        schedule,
        // Its pod has no exclusive processors.
        never_halt: NeverHalt::Never,
        limits,
        max_error_share: Some(1.0),
        ..Sending::default()
    };
    let called = |PendingAgent { name, stream }| RemoteAgent::behind(name, stream);
    let request = LoadRequest {
        sending: &sending,
        agents: arm.running.pending_agents().into_iter().map(called).collect(),
        news: None,
        advice: "see its pod",
        token: Some(arm.token.clone()),
        least: 1,
        is_watched: false,
    };
    let gathered = controller::send(request, interrupt, &mut |notice| {
        if let Notice::Problem(text) = notice {
            on_problem(text);
        }
    })?;
    Ok(gathered.result)
}
