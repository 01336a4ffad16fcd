//! Measures the capacities of each arm once, before the first round, for loads that are a share of one.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::AtomicBool;
use std::thread;

use hoptax_load::{Arrivals, Release, Run, Schedule, now_ns};
use hoptax_plan::plan::{self, Arm, NumberedLoad, Plan};
use hoptax_plan::record::Capacities;
use hoptax_result::Capacity;
use hoptax_stats::median;

use super::RunError;
use super::busy::{Loaded, busy};
use super::meter::{Meter, SETTLE, loaded_s, share};
use super::running::Running;
use super::subject::Subject;
use super::subjects::Subjects;

/// Rate of the open loop that measures the CPU time per request at normal use, as a share of the rate of the closed loop.
const IN_USE: f64 = 0.5;

/// Measurement of a subject by one loop.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Loop {
    /// Requests answered per second; 0 if none was.
    rate: f64,
    /// Busy share of the processors that the proxies may use; none if it is not known.
    busy_share: Option<f64>,
}

impl Meter<'_> {
    /// The capacities of each arm, over the connections of its loads of [`Plan::capacity_loads`]; see [`of_loops`]. They are 0 requests per
    /// second for an arm that answers nothing.
    pub(super) fn capacities(
        &mut self,
        subjects: &mut Subjects<'_>,
        stop: &AtomicBool,
    ) -> Result<Capacities, RunError> {
        let mut measured: BTreeMap<usize, BTreeMap<usize, Vec<Capacity>>> = BTreeMap::new();
        let plan = self.plan;
        for turn in 0..plan.capacity_turns {
            let mut order: Vec<&mut Running<'_>> = subjects.all.iter_mut().collect();
            plan::shuffle(plan, turn, &mut order);
            for running in order {
                let arm = running.planned.arm;
                // An arm without a proxy gets the capacity of another arm, and callers other than hoptax measure no capacity.
                if running.subject.proxies.is_empty() && arm.external.is_none() {
                    continue;
                }
                for (alike, open) in plan.capacity_loads(arm) {
                    if !running.subject.is_connected(open) {
                        continue;
                    }
                    let proxies = running.subject.thaw(&mut self.freezer)?;
                    self.open(running, open, stop)?;
                    let subject = &mut running.subject;
                    let closed = self.try_loop(subject, arm, open, Release::Closed, stop)?;
                    // Directly after it, so that the machine's speed is the same in both loops.
                    let rate = (closed.rate * IN_USE).max(1.0);
                    let seed = self.plan.seed ^ u64::from(turn);
                    let release = Release::Open(Schedule::new(Arrivals::Poisson, rate, seed, 0, 1));
                    let in_use = self.try_loop(subject, arm, open, release, stop)?;
                    self.close(subject, open)?;
                    self.freezer.freeze(&proxies)?;
                    let of_arms = measured.entry(alike).or_default();
                    of_arms.entry(running.planned.arm_number).or_default().push(of_loops(closed, in_use));
                }
            }
        }
        self.recording.clear();
        let medians = |of_arms: BTreeMap<usize, Vec<Capacity>>| {
            let medians = of_arms.into_iter().filter_map(|(arm, turns)| Some((arm, of_turns(&turns)?)));
            with_arms_without_proxy(plan, medians.collect())
        };
        Ok(measured.into_iter().map(|(alike, of_arms)| (alike, medians(of_arms))).collect())
    }

    /// Runs one loop over the connections of a load.
    fn try_loop(
        &mut self,
        subject: &mut Subject,
        arm: &Arm,
        load: NumberedLoad<'_>,
        release: Release,
        stop: &AtomicBool,
    ) -> io::Result<Loop> {
        let before = self.read(subject)?;
        self.recording.clear();
        let start_ns = now_ns();
        let drain_ns = self.plan.drain_ns(arm, &load);
        let end_ns = start_ns + self.plan.capacity_loop.as_nanos() as u64;
        let run = Run::new(release, start_ns, end_ns, drain_ns);
        let generator = subject.send(load, run, &mut self.recording, stop)?;
        thread::sleep(SETTLE);
        let after = self.read(subject)?;
        let seconds = self.recording.last_response_ns.saturating_sub(start_ns) as f64 / 1e9;
        let answered = self.recording.book.answered as f64;
        if seconds <= 0.0 || answered <= 0.0 {
            return Ok(Loop::default());
        }
        let generator_share = generator.map_or(0.0, |used| share(used.cpu_ns, seconds));
        // If a thread of an origin has ended, the use of the proxies is still known.
        let used = after.since(&before).or_else(|| after.proxies_since(&before));
        let loaded = Loaded { seconds: loaded_s(start_ns..end_ns, &self.recording), generator_share };
        let busy = used.and_then(|used| busy(subject, arm, &used, loaded, self.setting, self.link));
        let busy_share = busy.map(|busy| busy.processors);
        Ok(Loop { rate: answered / seconds, busy_share })
    }
}

/// Adds the arms without a proxy. Each gets the capacity of the arm on the other side of its comparison, or else of the first arm.
fn with_arms_without_proxy(
    plan: &Plan,
    mut capacities: BTreeMap<usize, Capacity>,
) -> BTreeMap<usize, Capacity> {
    let first = capacities.values().next().copied();
    let is_without = |arm: &Arm| !arm.has_proxy() && arm.external.is_none();
    for (number, arm) in plan.arms.iter().enumerate().filter(|(_, arm)| is_without(arm)) {
        let other = plan.arms.iter().position(|other| other.compared_with == Some(number));
        let other = arm.compared_with.or(other).and_then(|other| capacities.get(&other).copied());
        if let Some(capacity) = other.or(first) {
            // It has no proxy that a loop could keep busy.
            capacities.insert(number, Capacity { closed_busy_share: None, ..capacity });
        }
    }
    capacities
}

/// Capacity from a closed loop and an open loop: the rate at which the open loop would keep the processors of the proxies fully busy,
/// limited to the rate of the closed loop. A busy proxy handles several requests per wake-up, so a request costs more CPU time in an open
/// loop, and 90 % of the rate of the closed loop can exceed what the proxy can handle. This also works if the closed loop did not keep the
/// proxy busy because a delay occupied its connections.
fn of_loops(closed: Loop, in_use: Loop) -> Capacity {
    let of_processors = in_use.busy_share.filter(|busy| *busy > 0.0).map(|busy| in_use.rate / busy);
    Capacity {
        rate: of_processors.map_or(closed.rate, |rate| rate.min(closed.rate)),
        closed_rate: closed.rate,
        closed_busy_share: closed.busy_share,
    }
}

/// The median of each number over several measurements; none without a measurement.
fn of_turns(turns: &[Capacity]) -> Option<Capacity> {
    let over = |of: fn(&Capacity) -> f64| median(&turns.iter().map(of).collect::<Vec<f64>>());
    let busy: Vec<f64> = turns.iter().filter_map(|turn| turn.closed_busy_share).collect();
    Some(Capacity {
        rate: over(|turn| turn.rate)?,
        closed_rate: over(|turn| turn.closed_rate)?,
        closed_busy_share: median(&busy),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capacity(closed: (f64, Option<f64>), in_use: (f64, Option<f64>)) -> u64 {
        let of = |(rate, busy_share)| Loop { rate, busy_share };
        of_loops(of(closed), of(in_use)).rate.round() as u64
    }

    #[test]
    fn the_cost_of_a_request_in_use_limits_the_capacity() {
        let closed = (10_000.0, Some(1.0));
        assert_eq!(capacity(closed, (5_000.0, Some(0.625))), 8_000);
        // The closed loop is the limit if a request of the open loop costs no more, or if CPU time is unknown.
        assert_eq!(capacity(closed, (5_000.0, Some(0.4))), 10_000);
        assert_eq!(capacity(closed, (5_000.0, None)), 10_000);
        assert_eq!(capacity((0.0, None), (0.0, None)), 0);
    }

    #[test]
    fn a_proxy_that_its_connections_leave_idle_has_the_capacity_of_its_processor() {
        // With a delay of 5 ms, 32 connections carry 6,400 requests per second. A request takes 80 us of CPU time in the
        // closed loop, which keeps the proxy busy for half of the time, and 125 us in the open loop.
        assert_eq!(capacity((6_400.0, Some(0.512)), (3_200.0, Some(0.4))), 6_400);
        assert_eq!(capacity((6_400.0, Some(0.512)), (3_200.0, Some(0.64))), 5_000);
    }
}
