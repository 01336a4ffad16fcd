//! A study in seconds, which shows that each of its parts comes up. Its numbers are of no use.

use std::time::Duration;

use hoptax_result::grouped;

use super::timeline::BETWEEN_RESTARTS;
use super::{Change, Load, Plan, TimedEvent, Timeline};

/// Number of rounds: a second one brings up the same parts again, and intervals of two are of no use.
const ROUNDS: u32 = 1;
/// Length of a slice.
const SLICE: Duration = Duration::from_millis(50);
/// Length of a loop that measures a capacity.
const CAPACITY_LOOP: Duration = Duration::from_millis(30);
/// Time for which each arm gets requests before its first slice: enough to see that it answers. No cost is read, and the usual time of a
/// hundred arms would be longer than everything else.
const WARM_UP_OF_ARM: Duration = Duration::from_millis(20);
/// Most connections of a load: opening thousands for each slice takes longer than everything else.
const CONNECTIONS: usize = 64;
/// Number of slices without a request that are measured again: nothing was answered for longer than they last, and an arm without any
/// answer shows nothing, not even that it came up.
const EMPTY_REPEATS: u32 = 8;
/// Length of a slice of a timeline, if its restarts allow.
const SLICE_OF_TIMELINE: Duration = Duration::from_secs(1);
/// Number of intervals in it.
const INTERVALS: u32 = 10;
/// Time before such a slice.
const WARM_UP: Duration = Duration::from_millis(100);

impl Plan {
    /// Shortens rounds, blocks and slices so that the whole study takes seconds, leaves loads few connections, and marks its name. Returns a
    /// note that names the loads that lost connections: what needs many of them is not tried.
    pub fn smoke(&mut self) -> Option<String> {
        let stated = |load: &Load| format!("{} of `{}`", grouped(load.connections as f64, 0), load.name);
        let reduced = self.loads.iter().filter(|load| load.connections > CONNECTIONS);
        let reduced: Vec<String> = reduced.map(stated).collect();
        self.name.push_str("-smoke");
        self.rounds = ROUNDS;
        self.rounds_are_open = false;
        self.patience = Duration::ZERO;
        self.empty_repeats = EMPTY_REPEATS;
        self.capacity_turns = 1;
        self.capacity_loop = CAPACITY_LOOP;
        // Further copies of an arm are for precision.
        for arm in &mut self.arms {
            arm.copies = 1;
        }
        self.warm_up = WARM_UP_OF_ARM;
        let longest = self.loads.iter().map(|load| load.slice).max().unwrap_or_default();
        let slice = self.timeline.as_mut().map_or(SLICE, |timeline| timeline.shorten(longest));
        for load in &mut self.loads {
            load.blocks = 1;
            load.slice = slice;
            load.connections = load.connections.min(CONNECTIONS);
        }
        (!reduced.is_empty()).then(|| {
            format!(
                "the short form has {CONNECTIONS} connections under a load with more: instead of {}",
                reduced.join(", ")
            )
        })
    }
}

impl Timeline {
    /// Shortens slices of `longest`, and returns their length. Of several restarts of a kind, the first is left.
    fn shorten(&mut self, longest: Duration) -> Duration {
        let is_restart = |event: &TimedEvent| matches!(event.change, Change::Restart { .. });
        let mut events: Vec<TimedEvent> = Vec::new();
        for event in &self.events {
            if !is_restart(event) || events.iter().all(|other| other.change != event.change) {
                events.push(event.clone());
            }
        }
        let restarts = events.iter().filter(|event| is_restart(event)).count() as u32;
        let slice = SLICE_OF_TIMELINE + BETWEEN_RESTARTS * restarts.saturating_sub(1);
        self.interval = slice / INTERVALS;
        self.warm_up = WARM_UP;
        for event in &mut events {
            let share = event.at.as_secs_f64() / longest.as_secs_f64();
            event.at = self.interval * (share * f64::from(INTERVALS)) as u32;
        }
        self.events = events;
        slice
    }
}

#[cfg(test)]
mod tests {
    use hoptax_functions::Catalogue;

    use super::*;

    fn smoke(text: &str) -> Plan {
        let mut plan = Plan::read("test.yaml", text, Catalogue::load().unwrap()).unwrap();
        plan.smoke();
        plan
    }

    #[test]
    fn a_study_keeps_its_arms_and_loads_and_loses_its_length() {
        let plan = smoke(
            "name: test\narms: [baseline, lua]\nloads:\n  - {name: a, loop: closed, connections: 10000, blocks: 6}\n  \
             - {name: b, loop: open, rate: 100, slice: 1s}\n",
        );
        assert_eq!((plan.arms.len(), plan.loads.len(), plan.rounds), (2, 2, 1));
        assert_eq!((plan.subjects().count(), plan.slices_per_round()), (2, 4));
        assert!(
            plan.loads.iter().all(|load| load.slice.as_millis() == 50 && load.connections <= CONNECTIONS)
        );
        assert!(!plan.rounds_are_open && plan.patience.is_zero() && plan.empty_repeats > 0);
        assert!(plan.warm_up < super::super::WARM_UP);
    }

    #[test]
    fn loads_that_lose_connections_are_named() {
        let note = |connections: u32| {
            let load = format!("loads: [{{name: many, loop: closed, connections: {connections}}}]\n");
            let text = format!("name: test\narms: [baseline, lua]\n{load}");
            Plan::read("test.yaml", &text, Catalogue::load().unwrap()).unwrap().smoke()
        };
        let expected =
            "the short form has 64 connections under a load with more: instead of 10,000 of `many`";
        assert_eq!(note(10_000).as_deref(), Some(expected));
        assert_eq!(note(64), None);
    }

    #[test]
    fn a_timeline_keeps_one_restart_of_each_kind_at_its_share_of_the_slice() {
        let plan = smoke(
            "name: test\nobserve: timeline\narms: [baseline, lua]\nevents:\n  - {at: 10s, restart: hot}\n  \
             - {at: 20s, restart: hot}\n  - {at: 30s, restart: broken}\nloads:\n  \
             - {name: a, loop: open, rate: 100, slice: 40s}\n",
        );
        let timeline = plan.timeline.unwrap();
        let at: Vec<u128> = timeline.events.iter().map(|event| event.at.as_millis()).collect();
        // Time for the replaced process to end.
        assert_eq!((at, plan.loads[0].slice.as_secs()), (vec![1_000, 3_500], 5));
        assert_eq!(timeline.interval.as_millis(), 500);
    }
}
