//! Measures the capacity of each arm, for loads that are a share of it; once, before the first round.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::AtomicBool;
use std::thread;

use hoptax_load::{Release, Run, now_ns};
use hoptax_stats::median;
use hoptax_subject::envoy::process::Proxy;

use super::measure::{AFTER_THAW, DRAIN_NS, Meter};
use super::subjects::Subjects;
use crate::plan::{self, Load, Plan};

/// Measurements per subject, of which the median is taken. Subjects take turns.
const TURNS: usize = 5;
/// Length of each measurement, nanoseconds.
const TURN_NS: u64 = 150_000_000;

impl Meter<'_> {
    /// The capacity of each arm: requests per second in a closed loop over the connections of its open loops, the
    /// median over its subjects' turns. An arm without a proxy gets the capacity of the arm that it is compared with or
    /// that is compared with it.
    pub(super) fn capacities(
        &mut self,
        subjects: &mut Subjects,
        stop: &AtomicBool,
    ) -> io::Result<BTreeMap<usize, f64>> {
        let mut rates: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for turn in 0..TURNS {
            for number in plan::shuffled(self.plan, turn as u32) {
                let (Some(subject), Some(planned)) =
                    (subjects.all.get_mut(number), self.plan.subjects.get(number))
                else {
                    continue;
                };
                let proxies: Vec<u32> = subject.proxies.iter().map(Proxy::id).collect();
                let open = self.plan.loads.iter().position(|load| load.open.is_some());
                let worker = open.and_then(|load| subject.workers.get_mut(load)?.as_mut());
                let Some(worker) = worker.filter(|_| !proxies.is_empty()) else { continue };
                self.freezer.thaw(&proxies)?;
                thread::sleep(AFTER_THAW);
                self.recording.clear();
                let start_ns = now_ns();
                let run = Run::new(Release::Closed, start_ns, start_ns + TURN_NS, DRAIN_NS);
                worker.run(run, &mut self.recording, stop)?;
                self.freezer.freeze(&proxies)?;
                let seconds = self.recording.last_answer_ns.saturating_sub(start_ns) as f64 / 1e9;
                if seconds > 0.0 {
                    let rate = self.recording.book.answered as f64 / seconds;
                    rates.entry(planned.arm).or_default().push(rate);
                }
            }
        }
        self.recording.clear();
        let mut capacities: BTreeMap<usize, f64> =
            rates.into_iter().filter_map(|(arm, rates)| Some((arm, median(&rates)?))).collect();
        let first = capacities.values().next().copied();
        for (number, arm) in self.plan.arms.iter().enumerate() {
            let other = arm.compared_with.and_then(|other| capacities.get(&other).copied());
            if let Some(capacity) = other.or(first) {
                capacities.entry(number).or_insert(capacity);
            }
        }
        Ok(capacities)
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
    let Some(slowest) = under.copied().reduce(f64::min) else { return 1.0 };
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
}
