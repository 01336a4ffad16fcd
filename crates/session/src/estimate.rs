//! Estimates the duration and the memory of a study before it starts.

use hoptax_host::environment::available_bytes;
use hoptax_judge::length::{FEWEST_ROUNDS, Length};
use hoptax_plan::plan::{Arm, Hop, Items, Load, Plan};
use hoptax_run::runner::PROFILE_LENGTH;

use crate::failure::Failure;
use crate::words::{duration, gigabytes};

/// Overhead of a slice beyond its length, seconds: 1.7 ms until all responses have arrived and the accounts are read, and 7.8 ms between
/// two slices, of which proxies settle for 5 ms (medians of 260 slices of the study `quick`, on a virtual machine with two processors).
pub(crate) const SLICE_OVERHEAD_S: f64 = 0.0095;
/// Overhead of a slice that opens its own connections, seconds: it sends requests for half a second before the recorded time.
const OPENED_SLICE_S: f64 = 0.5;
/// Additional overhead per connection of such a slice, seconds: 0.13 s for 1,000 and 1.7 s for 10,000 connections to open, to end their
/// last responses and to close (medians of 130 slices of the study `container-network`, on a virtual machine with two processors).
const OPENED_CONNECTION_S: f64 = 0.00017;
/// Time per proxy and round to start, warm up and stop, seconds: 5.3 s in each of three rounds, for 25 proxies. The warm-up of all
/// proxies together takes a tenth of a second.
pub(crate) const PROXY_S: f64 = 0.21;
/// Time per item of a configuration at each start of an Envoy, seconds: CPU time with 10,000 and with 1,000 items, minus that of a plain
/// Envoy (round 1 of the study `configuration-size`). Listeners have a quadratic term, because Envoy compares every listener with all
/// before it.
const CLUSTER_S: f64 = 0.000_43;
const LISTENER_S: f64 = 0.000_57;
const PAIR_OF_LISTENERS_S: f64 = 7.3e-8;
const ROUTE_S: f64 = 0.000_02;
/// Memory per item, bytes, from the same comparison of the memory in use.
const CLUSTER_BYTES: u64 = 51_500;
const LISTENER_BYTES: u64 = 36_200;
const ROUTE_BYTES: u64 = 2_500;
/// Overhead of a profile beyond its length, seconds: 1.4 s until perf has started, has ended and has printed its samples (10 rounds of the
/// study `where-the-time-goes`).
const PROFILED_S: f64 = 1.4;
/// Time per network and round to create it, to start its origin and to remove it, seconds: 2.2 s for the eight networks of the study
/// `container-network`.
const NETWORK_S: f64 = 0.27;
/// Private memory of a proxy, bytes: `RssAnon` of Envoy 1.40.0 with its connections open, the mean of 25 arms of the study `quick`
/// (15.3 MiB after the start, 17.8 MiB after the first slices). All proxies share the 53 MB of the program.
const PROXY_BYTES: u64 = 18_700_000;
/// Memory of each origin after the first, bytes: 4.0 MB of private memory and 0.2 MB of page tables (100 origins of the study
/// `front-proxy-clones`).
const ORIGIN_BYTES: u64 = 4_200_000;
/// All other memory, bytes: the part of the 601 MB by which `MemAvailable` fell during `quick` that is not due to its 25 proxies. It covers
/// hoptax, one origin, pages shared by all proxies, and kernel buffers.
const OWN_BYTES: u64 = 134_000_000;

/// Duration below which a study is short, seconds.
const SHORT_S: f64 = 60.0;

/// Expected duration and memory of a study.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// First round, including the measurement of capacities, seconds.
    pub(crate) first_round_s: f64,
    /// Each later round, seconds.
    pub(crate) round_s: f64,
    /// All processes of a round, bytes.
    pub memory_bytes: u64,
}

/// Time to open and close the connections of an arm under a load, seconds; none if they are kept.
fn connections_s(plan: &Plan, arm: &Arm, load: &Load) -> f64 {
    if plan.keeps_connections(arm, load) { 0.0 } else { arm.connections(load) as f64 * OPENED_CONNECTION_S }
}

/// Overhead of a slice, or of a measurement of the capacity, that opens its own connections, seconds; none if they are kept.
fn opening_s(plan: &Plan, arm: &Arm, load: &Load) -> f64 {
    if plan.keeps_connections(arm, load) { 0.0 } else { OPENED_SLICE_S + connections_s(plan, arm, load) }
}

/// Time to open and close, once in a round, the connections of arms under loads in which they take no part ([`Arm::has_connections`]),
/// seconds.
fn without_slices_s(plan: &Plan) -> f64 {
    let of_load = |load: &Load| -> f64 {
        let arms = plan.subjects().map(|subject| subject.arm);
        let without_slices = arms.filter(|arm| arm.has_connections(load) && !arm.takes_part(load));
        without_slices.map(|arm| connections_s(plan, arm, load)).sum()
    };
    plan.loads.iter().map(of_load).sum()
}

/// Time and memory that the items in the configurations of an arm add to a plain start: seconds and bytes.
fn of_items(arm: &Arm) -> (f64, u64) {
    let of_hop = |hop: &Hop| {
        let Items { clusters, listeners, routes } = hop.items();
        let pairs = (listeners * listeners) as f64;
        let of_listeners_s = listeners as f64 * LISTENER_S + pairs * PAIR_OF_LISTENERS_S;
        let seconds = clusters as f64 * CLUSTER_S + of_listeners_s + routes as f64 * ROUTE_S;
        (seconds, clusters * CLUSTER_BYTES + listeners * LISTENER_BYTES + routes * ROUTE_BYTES)
    };
    let hops = arm.chain.hops.iter().map(of_hop);
    hops.fold((0.0, 0), |(seconds, bytes), (more_s, more)| (seconds + more_s, bytes + more))
}

/// Time of the profiles of a round, seconds: one for each arm with proxies.
fn profiles_s(plan: &Plan) -> f64 {
    let profiled = if plan.profile { plan.arms.iter().filter(|arm| arm.has_proxy()).count() } else { 0 };
    profiled as f64 * (PROFILE_LENGTH.as_secs_f64() + PROFILED_S)
}

/// Time to measure the capacity of each subject, once, seconds.
fn capacities_s(plan: &Plan) -> f64 {
    let turn_s = |arm: &Arm| -> f64 {
        // A closed loop and an open one, over the connections of each of these loads.
        let loops_s = 2.0 * (plan.capacity_loop.as_secs_f64() + SLICE_OVERHEAD_S);
        let loads = plan.capacity_loads(arm);
        loads.values().map(|load| loops_s + opening_s(plan, arm, load)).sum()
    };
    let with_proxy = plan.subjects().map(|subject| subject.arm).filter(|arm| arm.has_proxy());
    f64::from(plan.capacity_turns) * with_proxy.map(turn_s).sum::<f64>()
}

impl Estimate {
    /// The estimate for a plan on an undisturbed host. On a disturbed host, slices are delayed and repeated.
    pub fn from_plan(plan: &Plan) -> Self {
        let proxies: usize = plan.subjects().map(|subject| subject.arm.chain.hops.len()).sum();
        let slices_s: f64 = plan
            .loads
            .iter()
            .map(|load| {
                let parts = plan.subjects().map(|subject| subject.arm);
                let slice_s =
                    |arm: &Arm| load.slice.as_secs_f64() + SLICE_OVERHEAD_S + opening_s(plan, arm, load);
                let all_s: f64 = parts.filter(|arm| arm.takes_part(load)).map(slice_s).sum();
                f64::from(load.blocks) * all_s
            })
            .sum();
        // Each arm of a timeline runs alone, once for each load, with requests before the slice.
        let (starts, alive, before_s) = match &plan.timeline {
            None => (proxies, proxies, 0.0),
            Some(timeline) => {
                let most = plan.arms.iter().map(|arm| arm.chain.hops.len()).max().unwrap_or(0);
                let courses = plan.arms.len() * plan.loads.len();
                (proxies * plan.loads.len(), most, courses as f64 * timeline.warm_up.as_secs_f64())
            }
        };
        // Configurations are rendered to count their items. Copies of an arm have equal configurations.
        let of_arms: Vec<(u32, (f64, u64))> =
            plan.arms.iter().map(|arm| (arm.copies, of_items(arm))).collect();
        let courses = if plan.timeline.is_some() { plan.loads.len() } else { 1 };
        let of_copies_s = of_arms.iter().map(|(copies, (seconds, _))| f64::from(*copies) * seconds);
        let items_s = courses as f64 * of_copies_s.sum::<f64>();
        let items_bytes = match plan.timeline {
            None => of_arms.iter().map(|(copies, (_, bytes))| u64::from(*copies) * bytes).sum(),
            Some(_) => of_arms.iter().map(|(_, (_, bytes))| *bytes).max().unwrap_or(0),
        };
        let networks = plan.arms.iter().filter(|arm| arm.network.is_some()).count();
        let starts_s = starts as f64 * PROXY_S + items_s + networks as f64 * NETWORK_S;
        let round_s = slices_s + without_slices_s(plan) + before_s + starts_s + profiles_s(plan);
        let origins = plan.origins().saturating_sub(1) as u64;
        Self {
            first_round_s: round_s + capacities_s(plan),
            round_s,
            memory_bytes: OWN_BYTES + alive as u64 * PROXY_BYTES + items_bytes + origins * ORIGIN_BYTES,
        }
    }

    /// Duration of this number of rounds, seconds.
    pub(crate) fn of_rounds_s(&self, rounds: u32) -> f64 {
        if rounds == 0 { 0.0 } else { self.first_round_s + f64::from(rounds - 1) * self.round_s }
    }

    /// Expected number of rounds; None if the study continues until a precision.
    pub(crate) fn rounds_of(&self, length: &Length) -> Option<u32> {
        let fitting = |budget_s: f64| {
            let others = ((budget_s - self.first_round_s) / self.round_s).max(0.0) as u32;
            others.saturating_add(1).max(FEWEST_ROUNDS)
        };
        let rounds = length.budget_s.map_or(length.rounds, |budget_s| fitting(budget_s).min(length.rounds));
        length.until.is_none().then_some(rounds)
    }

    /// True if a study of this length takes less than a minute. Never true for one that continues until a precision, which may take longer.
    pub(crate) fn is_short(&self, length: &Length) -> bool {
        self.rounds_of(length).is_some_and(|rounds| self.of_rounds_s(rounds) < SHORT_S)
    }

    /// The estimate as text, for a study with `measured` complete rounds.
    pub(crate) fn words(&self, length: &Length, measured: u32) -> String {
        let memory = gigabytes(self.memory_bytes);
        match (length.until, length.budget_s) {
            (None, None) => {
                let rounds = length.rounds.saturating_sub(measured);
                format!("about {} and {memory} of memory", duration(self.of_rounds_s(rounds)))
            }
            _ => format!("about {} for each round and {memory} of memory", duration(self.round_s)),
        }
    }
}

/// Refuses a study that probably needs more memory than is available, unless `is_wanted` accepts this. `remedy` is advice for the user.
///
/// # Errors
/// When it is refused.
pub(crate) fn check_memory(
    estimate: &Estimate,
    is_wanted: impl FnOnce(&str) -> bool,
    remedy: &str,
) -> Result<(), Failure> {
    // If the available memory is unknown, start anyway.
    match available_bytes().and_then(|available| too_much(estimate, available)) {
        Some(problem) if !is_wanted(&problem) => Err(Failure::environment(format!("{problem}: {remedy}"))),
        _ => Ok(()),
    }
}

/// The error of a study that needs more memory than is available.
fn too_much(estimate: &Estimate, available: u64) -> Option<String> {
    (estimate.memory_bytes > available).then(|| {
        format!(
            "this study needs about {} of memory, but only {} is available",
            gigabytes(estimate.memory_bytes),
            gigabytes(available)
        )
    })
}

#[cfg(test)]
mod tests {
    use hoptax_judge::length::Until;
    use hoptax_judge::precision::Precision;

    use super::*;
    use crate::study::tests::plan_of;

    fn estimate(arms: &str) -> Estimate {
        with_connections(arms, 16)
    }

    fn with_connections(arms: &str, connections: u32) -> Estimate {
        let load = format!("{{name: a, loop: closed, connections: {connections}, blocks: 4, slice: 200ms}}");
        of_text(&format!("name: test\nrounds: 3\narms: [{arms}]\nloads:\n  - {load}\n"))
    }

    fn of_text(text: &str) -> Estimate {
        Estimate::from_plan(&plan_of(text))
    }

    #[test]
    fn each_proxy_adds_its_slices_its_start_and_its_memory() {
        let (two, three) = (estimate("baseline, same"), estimate("baseline, same, lua"));
        let slices_s = 4.0 * (0.2 + SLICE_OVERHEAD_S);
        assert!((three.round_s - two.round_s - slices_s - PROXY_S).abs() < 1e-9, "{two:?} {three:?}");
        assert_eq!(three.memory_bytes - two.memory_bytes, PROXY_BYTES);
        assert!((two.of_rounds_s(3) - two.first_round_s - 2.0 * two.round_s).abs() < 1e-9);
        assert!(two.of_rounds_s(0).abs() < 1e-9);
        let budget_s = Some(two.of_rounds_s(7) + 0.1);
        let length = Length { rounds: 1000, budget_s, until: None };
        assert_eq!(two.rounds_of(&length), Some(7));
        assert_eq!(two.rounds_of(&Length { rounds: 5, ..length.clone() }), Some(5));
        assert_eq!(two.rounds_of(&Length { budget_s: Some(0.1), ..length }), Some(2));
    }

    #[test]
    fn a_study_of_less_than_a_minute_is_short_unless_it_ends_at_a_precision() {
        let two = estimate("baseline, same");
        let most = (SHORT_S / two.round_s) as u32;
        let of_rounds = |rounds| Length { rounds, budget_s: None, until: None };
        assert!(two.is_short(&of_rounds(most - 1)) && !two.is_short(&of_rounds(most + 1)), "{two:?}");
        assert!(two.is_short(&Length { budget_s: Some(SHORT_S / 2.0), ..of_rounds(1000) }));
        assert!(!two.is_short(&Length { budget_s: Some(2.0 * SHORT_S), ..of_rounds(1000) }));
        let until = Some(Until { precision: Precision::default(), since_rounds: 0 });
        assert!(!two.is_short(&Length { until, ..of_rounds(3) }));
    }

    #[test]
    fn connections_that_are_opened_for_each_slice_take_their_time() {
        let [few, kept, many, more] =
            [16, 500, 1_000, 10_000].map(|count| with_connections("baseline, same", count).round_s);
        assert!((few - kept).abs() < 1e-9, "{few} {kept}");
        assert!(
            (many - few - 8.0 * (OPENED_SLICE_S + 1_000.0 * OPENED_CONNECTION_S)).abs() < 1e-9,
            "{few} {many}"
        );
        assert!((more - many - 8.0 * 9_000.0 * OPENED_CONNECTION_S).abs() < 1e-9, "{many} {more}");
    }

    #[test]
    fn connections_of_an_arm_take_their_time_under_a_load_without_slices_of_it() {
        let of = |connections: u32, only: &str| {
            let other = "{name: a, loop: open, rate: 100, blocks: 1, slice: 1s}";
            let load = format!(
                "{{name: b, loop: open, rate: 100, connections: {connections}, blocks: 1, slice: 1s, only: [{only}]}}"
            );
            let arms = "[baseline, same, lua, jwt]";
            of_text(&format!("name: test\narms: {arms}\nloads:\n  - {other}\n  - {load}\n"))
        };
        // Both have the same connections, and one has a slice less.
        let slice_s = |connections| of(connections, "lua, jwt").round_s - of(connections, "lua").round_s;
        assert!((slice_s(16) - 1.0 - SLICE_OVERHEAD_S).abs() < 1e-9, "{}", slice_s(16));
        let opened_s = 1.0 + SLICE_OVERHEAD_S + OPENED_SLICE_S;
        assert!((slice_s(4_000) - opened_s).abs() < 1e-9, "{}", slice_s(4_000));
    }

    #[test]
    fn large_configurations_take_their_start_in_each_round_and_their_memory() {
        let [plain, clusters, listeners, routes] = [
            "lua",
            "'configuration/clusters{clusters=10000}'",
            "'configuration/listeners{listeners=10000}'",
            "'route/path{routes=10000}'",
        ]
        .map(|arm| estimate(&format!("baseline, {arm}")));
        // Round 1 of the study `configuration-size`, less its baseline: CPU time of the start, and memory in use.
        for (large, start_s, memory_bytes) in
            [(clusters, 4.32, 515_000_000), (listeners, 13.02, 362_000_000), (routes, 0.203, 24_600_000)]
        {
            let more_s = large.round_s - plain.round_s;
            assert!((more_s - start_s).abs() < 0.1 * start_s, "{more_s} {start_s}");
            let first_s = large.first_round_s - plain.first_round_s;
            assert!((first_s - more_s).abs() < 1e-9, "{first_s} {more_s}");
            let more_bytes = large.memory_bytes - plain.memory_bytes;
            assert!(more_bytes.abs_diff(memory_bytes) < memory_bytes / 20, "{more_bytes} {memory_bytes}");
        }
    }

    #[test]
    fn profiles_are_taken_in_each_round_and_capacities_measured_in_the_first() {
        let loaded = |load: &str, more: &str| {
            of_text(&format!(
                "name: test\narms: [baseline, same]\nloads: [{{name: a, {load}, blocks: 1, slice: 1s}}]\n{more}\n"
            ))
        };
        let closed = loaded("loop: closed", "");
        let profiled = loaded("loop: closed", "profile: true");
        assert!((profiled.round_s - closed.round_s - 2.0 * (1.0 + PROFILED_S)).abs() < 1e-9, "{profiled:?}");
        let [fixed, share] =
            ["rate: 100", "utilisation: 30%"].map(|rate| loaded(&format!("loop: open, {rate}"), ""));
        assert!((share.round_s - fixed.round_s).abs() < 1e-9, "{share:?}");
        let capacities_s = share.first_round_s - fixed.first_round_s;
        assert!((capacities_s - 12.0 * (0.075 + SLICE_OVERHEAD_S)).abs() < 1e-9, "{capacities_s}");
        // Each turn opens the connections of an arm, if they are not kept.
        let many = loaded("loop: open, utilisation: 30%, connections: 1000", "");
        let opened_s = many.first_round_s - many.round_s - capacities_s;
        let expected_s = 6.0 * (OPENED_SLICE_S + 1_000.0 * OPENED_CONNECTION_S);
        assert!((opened_s - expected_s).abs() < 1e-9, "{opened_s}");
        // An arm has another capacity where each request opens a connection.
        let new = "{name: b, loop: open, utilisation: 30%, requests_per_connection: 1";
        let of_both = loaded(&format!("loop: open, utilisation: 30%, blocks: 1, slice: 1s}}, {new}"), "");
        let both_s = of_both.first_round_s - of_both.round_s;
        assert!((both_s - 2.0 * capacities_s).abs() < 1e-9, "{both_s}");
    }

    #[test]
    fn clones_have_origins_and_networks_are_made_in_each_round() {
        let plain = estimate("baseline, {name: x, hops: [{name: front}, {name: sidecar}]}");
        let clones = estimate("baseline, {name: x, hops: [{name: front}, {name: sidecar, clones: 20}]}");
        assert_eq!(clones.memory_bytes - plain.memory_bytes, 19 * (PROXY_BYTES + ORIGIN_BYTES));
        let network = estimate("baseline, same, {name: x, network: {servers: host}}");
        let without = estimate("baseline, same, lua");
        assert!((network.round_s - without.round_s - NETWORK_S).abs() < 1e-9, "{network:?} {without:?}");
        assert_eq!(network.memory_bytes - without.memory_bytes, ORIGIN_BYTES);
    }

    #[test]
    fn a_study_that_needs_more_memory_than_is_available_is_an_error() {
        let estimate = Estimate { first_round_s: 1.0, round_s: 1.0, memory_bytes: 2_000_000_000 };
        assert_eq!(too_much(&estimate, 2_000_000_000), None);
        let problem = too_much(&estimate, 1_500_000_000).unwrap();
        assert!(problem.contains("2.0 GB") && problem.contains("1.5 GB"), "{problem}");
    }
}
