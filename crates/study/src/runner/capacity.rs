//! What each arm can take by itself, for loads that are a share of it: measured once, before the first round.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::AtomicBool;
use std::thread;

use hoptax_load::{Release, Run, now_ns};
use hoptax_stats::median;
use hoptax_subject::envoy::process::Proxy;

use super::measure::{AFTER_THAW, DRAIN_NS, Meter};
use super::subjects::Subjects;
use crate::plan;

/// How often each subject is asked; the median counts. The subjects take turns.
const TURNS: usize = 5;
/// How long each time, nanoseconds.
const TURN_NS: u64 = 150_000_000;

impl Meter<'_> {
    /// Requests per second that each arm answers in a closed loop over the connections of its open loops, by arm: the median of
    /// its subjects' turns. An arm without a proxy is given that of the arm that it is compared with, or is held against.
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
