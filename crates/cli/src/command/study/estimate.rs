//! Estimates the duration and the memory of a study before it starts.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};

use hoptax_study::length::{FEWEST_ROUNDS, Length};
use hoptax_study::plan::{Arm, Load, Plan};

use super::session::duration;
use crate::exit::Failure;

/// Time of a slice in addition to its length, seconds: 1.7 ms until all responses are in and the accounts are read, and 7.8 ms
/// between two slices, 5 ms of it for the proxies to settle (medians of 260 slices of the study `quick`, on a virtual machine with
/// two processors).
const SLICE_OVERHEAD_S: f64 = 0.0095;
/// Additional time of a slice whose connections are opened for it, seconds: half a second of requests before it.
const OPENED_SLICE_S: f64 = 0.5;
/// The same for each of these connections, seconds: 0.13 s for 1,000 and 1.7 s for 10,000 to open, to end their last responses and to
/// close (medians of 130 slices of the study `container-network`, on a virtual machine with two processors).
const OPENED_CONNECTION_S: f64 = 0.00017;
/// Time per proxy and round to start, warm up and stop, seconds: 5.3 s in each of three rounds, for 25 proxies. The warm-up of all
/// proxies together takes a tenth of a second.
const PROXY_S: f64 = 0.21;
/// Additional time per proxy in the first round, to validate its configuration, seconds: 0.2 s for 25.
const VALIDATION_S: f64 = 0.01;
/// Private memory of a proxy, bytes: `RssAnon` of Envoy 1.40.0 with its connections open, the mean of 25 arms of the study `quick`
/// (15.3 MiB after the start, 17.8 MiB after the first slices). All proxies share the 53 MB of the program.
const PROXY_BYTES: u64 = 18_700_000;
/// All other memory, bytes: `MemAvailable` fell by 601 MB during `quick`; this is the part not due to its 25 proxies. It covers
/// hoptax, the origins, pages shared by all proxies, and kernel buffers.
const OWN_BYTES: u64 = 134_000_000;

/// Duration below which a study is short, seconds.
const SHORT_S: f64 = 60.0;

/// Expected duration and memory of a study.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    /// First round, including the validation of configurations, seconds.
    pub(super) first_round_s: f64,
    /// Each later round, seconds.
    pub(super) round_s: f64,
    /// All processes of a round, bytes.
    pub(crate) memory_bytes: u64,
    /// Concurrent connections of the generator.
    pub(super) connections: usize,
}

/// Time to open and close the connections of a slice that are not kept, seconds.
fn opening_s(plan: &Plan, arm: &Arm, load: &Load) -> f64 {
    if plan.keeps_connections(arm, load) {
        return 0.0;
    }
    OPENED_SLICE_S + arm.connections(load) as f64 * OPENED_CONNECTION_S
}

impl Estimate {
    /// The estimate for a plan on an undisturbed host. On a disturbed host, slices are delayed and repeated.
    pub(crate) fn of(plan: &Plan) -> Self {
        let arm_of = |arm: usize| plan.arms.get(arm);
        let proxies: usize =
            plan.subjects.iter().filter_map(|subject| Some(arm_of(subject.arm)?.chain.hops.len())).sum();
        let slices_s: f64 = plan
            .loads
            .iter()
            .map(|load| {
                let parts = plan.subjects.iter().filter_map(|one| arm_of(one.arm));
                let slice_s =
                    |arm: &Arm| load.slice.as_secs_f64() + SLICE_OVERHEAD_S + opening_s(plan, arm, load);
                let all_s: f64 = parts.filter(|arm| arm.takes_part(load)).map(slice_s).sum();
                f64::from(load.blocks) * all_s
            })
            .sum();
        // In a timeline, each arm has its processes to itself, once for each load, and requests before the slice.
        let (starts, alive, before_s) = match &plan.timeline {
            None => (proxies, proxies, 0.0),
            Some(timeline) => {
                let most = plan.arms.iter().map(|arm| arm.chain.hops.len()).max().unwrap_or(0);
                let courses = plan.arms.len() * plan.loads.len();
                (proxies * plan.loads.len(), most, courses as f64 * timeline.warm_up.as_secs_f64())
            }
        };
        let round_s = slices_s + before_s + starts as f64 * PROXY_S;
        Self {
            first_round_s: round_s + starts as f64 * VALIDATION_S,
            round_s,
            memory_bytes: OWN_BYTES + alive as u64 * PROXY_BYTES,
            connections: plan.most_connections(),
        }
    }

    /// Duration of this number of rounds, seconds.
    pub(super) fn of_rounds_s(&self, rounds: u32) -> f64 {
        if rounds == 0 { 0.0 } else { self.first_round_s + f64::from(rounds - 1) * self.round_s }
    }

    /// Expected number of rounds; None if the study ends at a precision.
    pub(super) fn rounds_of(&self, length: &Length) -> Option<u32> {
        let fitting = |budget_s: f64| {
            let others = ((budget_s - self.first_round_s) / self.round_s).max(0.0) as u32;
            others.saturating_add(1).max(FEWEST_ROUNDS)
        };
        let rounds = length.budget_s.map_or(length.rounds, |budget_s| fitting(budget_s).min(length.rounds));
        length.until.is_none().then_some(rounds)
    }

    /// Whether a study of this length takes less than a minute. One that ends at a precision may take longer.
    pub(super) fn is_short(&self, length: &Length) -> bool {
        self.rounds_of(length).is_some_and(|rounds| self.of_rounds_s(rounds) < SHORT_S)
    }

    /// The estimate as text, for a study with `measured` complete rounds.
    pub(super) fn words(&self, length: &Length, measured: u32) -> String {
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

/// Refuses a study that probably needs more memory than is available, unless the user agrees. `remedy` is what to do instead.
pub(crate) fn check_memory(estimate: &Estimate, yes: bool, remedy: &str) -> Result<(), Failure> {
    let Some(available) = fs::read_to_string("/proc/meminfo").ok().as_deref().and_then(available_bytes)
    else {
        // The available memory is unknown: start anyway.
        return Ok(());
    };
    match too_much(estimate, available) {
        Some(problem) if !(yes || is_wanted(&problem)) => {
            Err(Failure::environment(format!("{problem}: {remedy}")))
        }
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

/// Asks the user; without a terminal, the answer is no.
fn is_wanted(problem: &str) -> bool {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return false;
    }
    // A failed write is ignored: without an answer, the study is refused.
    let _ = write!(io::stderr(), "hoptax: {problem}; start anyway? [y/N] ");
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

/// Memory available without swapping, according to Linux, bytes.
fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Bytes as text: `0.5 GB`.
pub(crate) fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use hoptax_functions::Catalogue;
    use hoptax_study::length::Until;

    use super::*;

    fn of(arms: &str) -> Estimate {
        with_connections(arms, 16)
    }

    fn with_connections(arms: &str, connections: u32) -> Estimate {
        let load = format!("{{name: a, loop: closed, connections: {connections}, blocks: 4, slice: 200ms}}");
        let text = format!("name: test\nrounds: 3\narms: [{arms}]\nloads:\n  - {load}\n");
        let (file, positions) = hoptax_study::file::read("test.yaml", &text).unwrap();
        Estimate::of(&Plan::new(&file, &positions, &Catalogue::load().unwrap()).unwrap())
    }

    #[test]
    fn each_proxy_adds_its_slices_its_start_and_its_memory() {
        let (two, three) = (of("baseline, same"), of("baseline, same, lua"));
        let slices_s = 4.0 * (0.2 + SLICE_OVERHEAD_S);
        assert!((three.round_s - two.round_s - slices_s - PROXY_S).abs() < 1e-9, "{two:?} {three:?}");
        assert_eq!(three.memory_bytes - two.memory_bytes, PROXY_BYTES);
        assert_eq!(three.connections * 2, two.connections * 3);
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
        let two = of("baseline, same");
        let most = (SHORT_S / two.round_s) as u32;
        let of_rounds = |rounds| Length { rounds, budget_s: None, until: None };
        assert!(two.is_short(&of_rounds(most - 1)) && !two.is_short(&of_rounds(most + 1)), "{two:?}");
        assert!(two.is_short(&Length { budget_s: Some(SHORT_S / 2.0), ..of_rounds(1000) }));
        assert!(!two.is_short(&Length { budget_s: Some(2.0 * SHORT_S), ..of_rounds(1000) }));
        let until = Some(Until { target_share: 0.01, since_rounds: 0 });
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
    fn available_memory_is_read_from_meminfo() {
        assert_eq!(available_bytes("MemFree: 1 kB\nMemAvailable:    2048 kB\n"), Some(2048 * 1024));
        assert_eq!(available_bytes("MemFree: 1 kB\n"), None);
        assert_eq!(available_bytes("MemAvailable: many kB\n"), None);
    }

    #[test]
    fn a_study_that_needs_more_memory_than_is_available_is_an_error() {
        let estimate =
            Estimate { first_round_s: 1.0, round_s: 1.0, memory_bytes: 2_000_000_000, connections: 16 };
        assert_eq!(too_much(&estimate, 2_000_000_000), None);
        let problem = too_much(&estimate, 1_500_000_000).unwrap();
        assert!(problem.contains("2.0 GB") && problem.contains("1.5 GB"), "{problem}");
    }
}
