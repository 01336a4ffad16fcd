//! Sends a slice of the load from the caller of an arm.

use std::time::{Duration, Instant};

use hoptax_agents::controller::{self, Asked, Called, Notice, Stream};
use hoptax_checks::thresholds::Limits;
use hoptax_cluster::Coming;
use hoptax_load::Pace;
use hoptax_result::LoadResult;
use hoptax_session::awake::NeverHalt;
use hoptax_session::load::{Connections, GivenUrl, Load, Requests, Schedule, Sending};
use hoptax_session::{Failure, Interrupt, Kind, Update};

use super::Context;
use super::pods::ArmPods;
use crate::plan::Plan;

/// The time in which an arm has to answer. A mesh tells its proxies of new pods in some seconds.
const ANSWER_TIME: Duration = Duration::from_mins(1);
/// The rate and the length of a try.
const TRY_RATE: f64 = 20.0;
const TRY: Duration = Duration::from_secs(2);
/// Thresholds of a load that the checks of the study judge.
const JUDGED_LATER: [&str; 8] = [
    "own-lag-us",
    "interval-fail-share",
    "generator-busy-fail",
    "run-delay-fail",
    "steal-fail",
    "steady-change-fail",
    "throttled",
    "clock-read-ns",
];

/// Waits until an arm answers all requests of a try.
pub(super) fn answers(plan: &Plan, arm: &ArmPods, context: Context<'_>) -> Result<(), Failure> {
    let began = Instant::now();
    let schedule = Schedule {
        pace: Some(Pace::Constant(TRY_RATE)),
        duration: Some(TRY),
        warmup: Some(Duration::ZERO),
        ..Schedule::default()
    };
    loop {
        let said = match sent(plan, arm, schedule.clone(), 1, context.interrupt, &mut |_| ()) {
            Ok(load) if load.book.sent > 0 && load.book.answered == load.book.sent => return Ok(()),
            Ok(load) => said(&load),
            // A load without any answer has no numbers.
            Err(failure) if failure.kind == Kind::Void => failure.to_string(),
            Err(failure) => return Err(failure),
        };
        context.interrupt.check()?;
        if began.elapsed() > ANSWER_TIME {
            return Err(Failure::environment(format!(
                "the origin of `{}` does not answer at {} for {} s: {said}; see whether the mesh lets the caller reach it, such as by its \
                 policies",
                arm.id,
                arm.url,
                ANSWER_TIME.as_secs()
            )));
        }
    }
}

fn said(load: &LoadResult) -> String {
    let others = vec![format!("{} timed out or unfinished", load.book.timed_out + load.book.unfinished)];
    load.reasons.listed(&load.failures, others, |count| count.to_string())
}

/// Sends a slice of this length.
pub(super) fn send(
    plan: &Plan,
    arm: &ArmPods,
    slice_s: f64,
    context: Context<'_>,
) -> Result<LoadResult, Failure> {
    let schedule = Schedule {
        pace: Some(Pace::Constant(plan.asked.rate)),
        duration: Some(Duration::from_secs_f64(slice_s)),
        warmup: Some(plan.asked.warmup),
        ..Schedule::default()
    };
    let mut tell = |text: &str| (context.say)(Update::Problem(text));
    sent(plan, arm, schedule, plan.asked.connections, context.interrupt, &mut tell)
}

fn sent(
    plan: &Plan,
    arm: &ArmPods,
    schedule: Schedule,
    connections: u32,
    interrupt: &Interrupt,
    on_problem: &mut dyn FnMut(&str),
) -> Result<LoadResult, Failure> {
    let requests = Requests {
        urls: vec![GivenUrl::from(arm.url.clone())],
        headers: arm.headers.clone(),
        ..Requests::default()
    };
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
        // Its pod has no processors of its own.
        never_halt: NeverHalt::Never,
        limits,
        max_error_share: Some(1.0),
        ..Sending::default()
    };
    let called = |Coming { name, stream }| Called {
        name,
        stream: Box::pin(async move { stream.await.map(|stream| Box::new(stream) as Box<dyn Stream>) }),
    };
    let asked = Asked {
        sending: &sending,
        agents: arm.running.coming().into_iter().map(called).collect(),
        news: None,
        advice: "see its pod",
        token: Some(arm.token.clone()),
        least: 1,
        is_watched: false,
    };
    let gathered = controller::send(asked, interrupt, &mut |notice| {
        if let Notice::Problem(text) = notice {
            on_problem(text);
        }
    })?;
    Ok(gathered.result)
}
