//! Measures the capacity of each arm, for loads that are a share of it; once, before the first round.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::AtomicBool;
use std::thread;

use hoptax_load::{Arrivals, Release, Run, Schedule, now_ns};
use hoptax_stats::median;
use hoptax_subject::envoy::process::Proxy;

use super::measure::{AFTER_THAW, DRAIN_NS, Meter, SETTLE};
use super::subjects::{Subject, Subjects};
use crate::plan::{self, Load, Plan};

/// Measurements per subject; their median is used. Subjects alternate.
const TURNS: usize = 3;
/// Length of each loop of a measurement, nanoseconds.
const TURN_NS: u64 = 150_000_000;
/// Rate of the open loop that measures the CPU time per request in use, as a share of the rate of the closed loop.
const IN_USE: f64 = 0.5;

impl Meter<'_> {
    /// The capacity of each arm, requests per second, over the connections of its open loops; see [`of_loops`]. It is 0
    /// for an arm that answers nothing.
    pub(super) fn capacities(
        &mut self,
        subjects: &mut Subjects,
        stop: &AtomicBool,
    ) -> io::Result<BTreeMap<usize, f64>> {
        let mut measured: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        let open = self.plan.loads.iter().position(|load| load.open.is_some());
        for turn in 0..TURNS {
            for number in plan::shuffled(self.plan, turn as u32) {
                let (Some(subject), Some(planned), Some(open)) =
                    (subjects.all.get_mut(number), self.plan.subjects.get(number), open)
                else {
                    continue;
                };
                let proxies: Vec<u32> = subject.proxies.iter().map(Proxy::id).collect();
                if proxies.is_empty() || !matches!(subject.workers.get(open), Some(Some(_))) {
                    continue;
                }
                self.freezer.thaw(&proxies)?;
                thread::sleep(AFTER_THAW);
                let (closed_rate, closed_cpu_ns) = self.try_loop(subject, open, Release::Closed, stop)?;
                // Directly after it, so that the machine's speed is the same in both loops.
                let rate = (closed_rate * IN_USE).max(1.0);
                let seed = self.plan.seed ^ turn as u64;
                let release = Release::Open(Schedule::new(Arrivals::Poisson, rate, seed, 0, 1));
                let (_, open_cpu_ns) = self.try_loop(subject, open, release, stop)?;
                self.freezer.freeze(&proxies)?;
                let capacity = of_loops(closed_rate, closed_cpu_ns, open_cpu_ns);
                measured.entry(planned.arm).or_default().push(capacity);
            }
        }
        self.recording.clear();
        let measured = measured.into_iter().filter_map(|(arm, turns)| Some((arm, median(&turns)?)));
        Ok(with_arms_without_proxy(self.plan, measured.collect()))
    }

    /// Runs one loop over the connections of a load. Returns requests per second, 0 if none was answered, and the CPU
    /// time of all proxies per request, nanoseconds, if it is known.
    fn try_loop(
        &mut self,
        subject: &mut Subject,
        load: usize,
        release: Release,
        stop: &AtomicBool,
    ) -> io::Result<(f64, Option<f64>)> {
        let before = self.read(subject)?;
        self.recording.clear();
        let start_ns = now_ns();
        let run = Run::new(release, start_ns, start_ns + TURN_NS, DRAIN_NS);
        if let Some(worker) = subject.workers.get_mut(load).and_then(Option::as_mut) {
            worker.run(run, &mut self.recording, stop)?;
        }
        thread::sleep(SETTLE);
        let after = self.read(subject)?;
        let seconds = self.recording.last_response_ns.saturating_sub(start_ns) as f64 / 1e9;
        let answered = self.recording.book.answered as f64;
        if seconds <= 0.0 || answered <= 0.0 {
            return Ok((0.0, None));
        }
        let used = after.proxies_since(&before);
        Ok((answered / seconds, used.map(|(used, _)| used.cpu_ns as f64 / answered)))
    }
}

/// Adds the arms without a proxy, each with the capacity of the arm that it is compared with, or that is compared with
/// it, or else of the first arm.
fn with_arms_without_proxy(plan: &Plan, mut capacities: BTreeMap<usize, f64>) -> BTreeMap<usize, f64> {
    let first = capacities.values().next().copied();
    for (number, arm) in plan.arms.iter().enumerate().filter(|(_, arm)| !arm.has_proxy()) {
        let other = plan.arms.iter().position(|other| other.compared_with == Some(number));
        let other = arm.compared_with.or(other).and_then(|other| capacities.get(&other).copied());
        if let Some(capacity) = other.or(first) {
            capacities.insert(number, capacity);
        }
    }
    capacities
}

/// Capacity from the rate of a closed loop and the CPU time per request in the closed and in the open loop: the rate at
/// which the open loop would use the processors as the closed one does, and at most the rate of the closed loop. A busy
/// proxy handles several requests per wake-up, so a request costs more in an open loop, and 90 % of the rate of the
/// closed loop can be more than the proxy can take.
fn of_loops(closed_rate: f64, closed_cpu_ns: Option<f64>, open_cpu_ns: Option<f64>) -> f64 {
    match (closed_cpu_ns, open_cpu_ns) {
        (Some(closed), Some(open)) if open > closed => closed_rate * closed / open,
        _ => closed_rate,
    }
}

/// The given share of the capacity of the slowest arm under `load`, in requests per second, rounded down to two digits.
/// At least 1, which is also the rate if no capacity is known.
pub(super) fn rate_of_slowest(
    plan: &Plan,
    load: &Load,
    capacities: &BTreeMap<usize, f64>,
    share: f64,
) -> f64 {
    let takes_part = |arm: &&usize| plan.arms.get(**arm).is_some_and(|arm| arm.takes_part(load));
    let under = capacities.keys().filter(takes_part).filter_map(|arm| capacities.get(arm));
    // An arm that answers nothing limits no other.
    let under = under.copied().filter(|capacity| *capacity > 0.0);
    let Some(slowest) = under.reduce(f64::min) else { return 1.0 };
    let rate = (slowest * share).max(1.0);
    let unit = 10_f64.powf(rate.log10().floor() - 1.0);
    ((rate / unit).floor() * unit).max(1.0)
}

#[cfg(test)]
mod tests {
    use hoptax_functions::Catalogue;

    use super::*;
    use crate::file;

    #[test]
    fn the_slowest_arm_under_a_load_sets_its_rate() {
        let text = "name: test\narms: [direct, baseline, lua]\nloads: [{name: a, loop: closed}, {name: b, loop: open}]\n";
        let (file, positions) = file::read("test.yaml", text).unwrap();
        let plan = Plan::new(&file, &positions, &Catalogue::load().unwrap()).unwrap();
        let number = |id: &str| plan.arms.iter().position(|arm| arm.id == id).unwrap();
        let [direct, baseline, lua] = ["direct", "baseline", "lua"].map(number);
        let capacities = BTreeMap::from([(direct, 5_000.0), (baseline, 40_000.0), (lua, 31_234.0)]);
        let of = |load: usize, share: f64| {
            rate_of_slowest(&plan, &plan.loads[load], &capacities, share).round() as u64
        };
        // An arm without a proxy takes no part in closed loops, so it cannot be the slowest there.
        assert_eq!([of(0, 0.3), of(0, 0.5), of(1, 0.3), of(1, 1e-9)], [9_300, 15_000, 1_500, 1]);
        assert_eq!(rate_of_slowest(&plan, &plan.loads[0], &BTreeMap::new(), 0.3).round() as u64, 1);
    }

    #[test]
    fn the_cost_of_a_request_in_use_limits_the_capacity() {
        let of = |closed, open| of_loops(10_000.0, closed, open).round() as u64;
        assert_eq!(of(Some(80_000.0), Some(100_000.0)), 8_000);
        // The closed loop is the limit where a request of the open loop costs no more, or where CPU time is unknown.
        assert_eq!(
            [of(Some(80_000.0), Some(60_000.0)), of(None, Some(1.0)), of(Some(1.0), None)],
            [10_000; 3]
        );
    }
}
