//! Coverage of cost intervals in simulated studies with everything that was measured in real ones: levels that a
//! process keeps for life, drift, slices with heavy tails, slices set aside.

use hoptax_result::Interval;
use hoptax_stats::{hodges_lehmann, mean_over_rounds, paired_cost, quantile};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1, StandardNormal, StudentT};

use crate::whole_study::simulation::{DISTURBANCE, DISTURBED, SET_ASIDE_OF_DISTURBED, SET_ASIDE_OF_OTHERS};

/// CPU time of a slice of the baseline without drift and noise, us per request.
const BASELINE_US: f64 = 46.0;

/// True cost of the simulated function, us per request.
const COST_US: f64 = 1.5;

/// Drift: standard deviation of the AR(1) part, its correlation from block to block, and the ramp over the whole
/// study, us.
const WANDER_US: f64 = 2.0;
const WANDER_CORRELATION: f64 = 0.9;
const RAMP_US: f64 = 4.6;

/// Standard deviation of the level of a process, us.
const LEVEL_US: f64 = 0.6;

/// A process with two modes lands this much higher in three starts of ten, as measured for header mutation.
const MODE_US: f64 = 1.7;
const MODE_SHARE: f64 = 0.3;

/// The distribution of the levels of processes. Each has mean zero, which keeps the true cost unchanged.
#[derive(Clone, Copy, Debug)]
enum Levels {
    /// Every process has the same level; only drift and noise remain.
    Same,
    /// Every process has a normal level.
    Normal,
    /// Every process lands in one of two modes.
    TwoModes,
    /// The arm's process lands in one of two modes, the baseline's has a normal level; the difference is skewed.
    ArmTwoModes,
    /// The arm's process lands in one of two modes, and nothing else varies from start to start: worse than any
    /// measured case.
    OnlyModes,
}

/// CPU time while the host has the processors of generator and proxy apart, relative to close ones: 62 and 68 us of plain
/// proxying on a virtual machine whose host moves its processors.
const APART: f64 = 1.1;

/// Probability that the next block has the placement of the one before, whatever the placements' shares.
const STAYS: f64 = 0.8;

/// The order of the slices of a round.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// Arm and baseline within each block, in random order.
    Blocks,
    /// All slices of the baseline, then all of the arm.
    Sequential,
}

#[derive(Clone, Copy, Debug)]
struct Scenario {
    rounds: usize,
    blocks: usize,
    levels: Levels,
    /// Scale of the slices' Student noise, us: 1.0 on a machine with other load, 0.5 on a quiet one.
    noise_us: f64,
    order: Order,
    /// Share of the blocks that are measured with the processors apart.
    apart: f64,
}

impl Scenario {
    /// The true cost, on the mean over the placements, us.
    fn cost_us(self) -> f64 {
        COST_US * (1.0 + self.apart * (APART - 1.0))
    }
}

/// The slices of one round, by block, without those set aside.
struct Round {
    arm: Vec<Option<f64>>,
    baseline: Vec<Option<f64>>,
}

impl Round {
    fn differences(&self) -> Vec<f64> {
        self.arm
            .iter()
            .zip(&self.baseline)
            .filter_map(|(arm, baseline)| Some((*arm)? - (*baseline)?))
            .collect()
    }
}

struct Machine {
    rng: Xoshiro256PlusPlus,
    noise: StudentT<f64>,
}

impl Machine {
    fn new(seed: u64) -> Self {
        Self {
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            noise: StudentT::new(3.0).expect("3 is positive"),
        }
    }

    fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.rng)
    }

    fn mode(&mut self) -> f64 {
        let upper = self.rng.random_bool(MODE_SHARE);
        (if upper { MODE_US } else { 0.0 }) - MODE_SHARE * MODE_US
    }

    /// The levels of the arm's and the baseline's process.
    fn start(&mut self, levels: Levels) -> (f64, f64) {
        let spread_within_a_mode = LEVEL_US / 2.0;
        match levels {
            Levels::Same => (0.0, 0.0),
            Levels::Normal => (LEVEL_US * self.normal(), LEVEL_US * self.normal()),
            Levels::TwoModes => (
                self.mode() + spread_within_a_mode * self.normal(),
                self.mode() + spread_within_a_mode * self.normal(),
            ),
            Levels::ArmTwoModes => {
                (self.mode() + spread_within_a_mode * self.normal(), LEVEL_US * self.normal())
            }
            Levels::OnlyModes => (self.mode(), 0.0),
        }
    }

    /// The reading of a slice, unless it is set aside.
    fn slice(&mut self, true_us: f64, noise_us: f64) -> Option<f64> {
        let read = true_us + noise_us * self.noise.sample(&mut self.rng);
        let disturbed = self.rng.random_bool(DISTURBED);
        let set_aside =
            self.rng.random_bool(if disturbed { SET_ASIDE_OF_DISTURBED } else { SET_ASIDE_OF_OTHERS });
        let read = if disturbed { read * (1.0 + DISTURBANCE) } else { read };
        (!set_aside).then_some(read)
    }

    fn study(&mut self, scenario: Scenario) -> Vec<Round> {
        let Scenario { rounds, blocks, levels, noise_us, order, apart } = scenario;
        // Drift at each of the two times of a block; the ramp continues within it.
        let times = rounds * blocks * 2;
        let mut wander = self.normal();
        let drift: Vec<f64> = (0..times)
            .map(|time| {
                if time % 2 == 0 {
                    let kept = WANDER_CORRELATION * wander;
                    wander = kept + (1.0 - WANDER_CORRELATION.powi(2)).sqrt() * self.normal();
                }
                WANDER_US * wander + RAMP_US * time as f64 / times as f64
            })
            .collect();
        let mut is_apart = self.rng.random_bool(apart);
        drift
            .chunks(blocks * 2)
            .map(|drift| {
                let (arm_level, baseline_level) = self.start(levels);
                let mut round = Round { arm: Vec::new(), baseline: Vec::new() };
                for block in 0..blocks {
                    let (arm_time, baseline_time) = match order {
                        Order::Blocks if self.rng.random_bool(0.5) => (2 * block, 2 * block + 1),
                        Order::Blocks => (2 * block + 1, 2 * block),
                        Order::Sequential => (blocks + block, block),
                    };
                    if !self.rng.random_bool(STAYS) {
                        is_apart = self.rng.random_bool(apart);
                    }
                    let placement = if is_apart { APART } else { 1.0 };
                    let baseline = BASELINE_US + baseline_level + drift[baseline_time];
                    let arm = BASELINE_US + COST_US + arm_level + drift[arm_time];
                    round.arm.push(self.slice(arm * placement, noise_us));
                    round.baseline.push(self.slice(baseline * placement, noise_us));
                }
                round
            })
            .collect()
    }
}

/// The performance of a method over many studies.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// Share of studies whose interval covered the true cost, percent.
    coverage: f64,
    /// Mean half-width of the intervals, us.
    half_width_us: f64,
}

fn record(scenario: Scenario, studies: u32, method: impl Fn(&[Round]) -> Interval) -> Record {
    // Each shape has its own seed, so their draws are independent; methods tried on one shape see the same studies.
    let seed = (scenario.rounds * 1_000 + scenario.blocks * 10) as u64 + scenario.levels as u64;
    let mut machine = Machine::new(seed);
    let mut covered = 0;
    let mut half_widths = 0.0;
    for _ in 0..studies {
        let interval = method(&machine.study(scenario));
        covered += u32::from(interval.contains(scenario.cost_us()));
        half_widths += interval.half_width();
    }
    Record {
        coverage: 100.0 * f64::from(covered) / f64::from(studies),
        half_width_us: half_widths / f64::from(studies),
    }
}

/// The method under test.
fn paired(rounds: &[Round]) -> Interval {
    let differences: Vec<Vec<f64>> = rounds.iter().map(Round::differences).collect();
    paired_cost(&differences, 0.95).expect("two rounds have pairs")
}

/// Wrong: treats every block of every round as an independent observation.
fn pooled_t(rounds: &[Round]) -> Interval {
    let differences: Vec<f64> = rounds.iter().flat_map(Round::differences).collect();
    mean_over_rounds(&differences, 0.95).expect("two blocks have pairs")
}

/// Wrong in the same way, by inverting the signed-rank test: ordered Walsh averages at the ranks given by the
/// normal approximation of its null distribution.
fn pooled_signed_rank(rounds: &[Round]) -> Interval {
    let differences: Vec<f64> = rounds.iter().flat_map(Round::differences).collect();
    let mut averages: Vec<f64> = differences
        .iter()
        .enumerate()
        .flat_map(|(i, a)| differences[i..].iter().map(move |b| f64::midpoint(*a, *b)))
        .collect();
    averages.sort_unstable_by(f64::total_cmp);
    let n = differences.len() as f64;
    let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    let rank = (n * (n + 1.0) / 4.0 - 1.96 * deviation) as usize;
    Interval::new(
        hodges_lehmann(&differences).expect("one block has a pair"),
        averages[rank],
        averages[averages.len() - 1 - rank],
    )
}

/// Wrong: compares the arm's slices with the baseline's without pairing.
fn unpaired(rounds: &[Round]) -> Interval {
    let mean_and_variance = |of: fn(&Round) -> &Vec<Option<f64>>| {
        let slices: Vec<f64> = rounds.iter().flat_map(|round| of(round).iter().flatten().copied()).collect();
        let n = slices.len() as f64;
        let mean = slices.iter().sum::<f64>() / n;
        (mean, slices.iter().map(|slice| (slice - mean).powi(2)).sum::<f64>() / (n - 1.0) / n)
    };
    let (arm, arm_variance) = mean_and_variance(|round| &round.arm);
    let (baseline, baseline_variance) = mean_and_variance(|round| &round.baseline);
    let half_width = 1.96 * (arm_variance + baseline_variance).sqrt();
    let estimate = arm - baseline;
    Interval::around(estimate, half_width)
}

const BUSY_US: f64 = 1.0;
const QUIET_US: f64 = 0.5;

fn scenario(rounds: usize, blocks: usize, levels: Levels, noise_us: f64) -> Scenario {
    Scenario { rounds, blocks, levels, noise_us, order: Order::Blocks, apart: 0.0 }
}

fn paired_cost_covers(levels: Levels, shapes: &[(usize, usize, f64)]) {
    for &(rounds, blocks, noise_us) in shapes {
        let scenario = scenario(rounds, blocks, levels, noise_us);
        let Record { coverage, .. } = record(scenario, 10_000, paired);
        assert!((93.0..=97.0).contains(&coverage), "{coverage} % in {scenario:?}");
    }
}

/// Rounds, blocks and noise of the studies for each kind of level.
const SHAPES: [(usize, usize, f64); 6] = [
    (6, 4, BUSY_US),
    (6, 12, QUIET_US),
    (8, 8, BUSY_US),
    (10, 12, QUIET_US),
    (12, 4, QUIET_US),
    (12, 12, BUSY_US),
];

#[test]
fn the_interval_covers_the_cost_with_normal_levels() {
    paired_cost_covers(Levels::Normal, &SHAPES);
}

#[test]
fn the_interval_covers_the_cost_when_every_process_has_two_modes() {
    paired_cost_covers(Levels::TwoModes, &SHAPES);
}

#[test]
fn the_interval_covers_the_cost_when_the_arm_alone_has_two_modes() {
    paired_cost_covers(Levels::ArmTwoModes, &SHAPES);
}

#[test]
fn the_interval_covers_the_cost_when_the_host_moves_the_processors_between_blocks() {
    for (rounds, blocks, noise_us) in [SHAPES[0], SHAPES[3], SHAPES[4]] {
        for apart in [0.3, 0.7] {
            let scenario = Scenario { apart, ..scenario(rounds, blocks, Levels::Normal, noise_us) };
            let Record { coverage, .. } = record(scenario, 10_000, paired);
            assert!((93.0..=97.0).contains(&coverage), "{coverage} % in {scenario:?}");
        }
    }
}

#[test]
fn two_modes_and_nothing_else_need_more_than_six_rounds() {
    paired_cost_covers(Levels::OnlyModes, &[(10, 12, QUIET_US), (12, 12, QUIET_US)]);
    let six = record(scenario(6, 12, Levels::OnlyModes, QUIET_US), 10_000, paired);
    assert!(six.coverage < 91.0, "{six:?}");
}

#[test]
fn a_round_more_is_worth_more_than_a_block_more() {
    let many_rounds = record(scenario(12, 4, Levels::Normal, QUIET_US), 1_000, paired);
    let many_blocks = record(scenario(6, 12, Levels::Normal, QUIET_US), 1_000, paired);
    assert!(many_rounds.half_width_us < many_blocks.half_width_us, "{many_rounds:?} {many_blocks:?}");
}

#[test]
fn pooled_blocks_miss_the_cost() {
    for levels in [Levels::Normal, Levels::TwoModes] {
        let scenario = scenario(10, 12, levels, QUIET_US);
        let t = record(scenario, 1_000, pooled_t);
        assert!(t.coverage < 85.0, "{levels:?}: {t:?}");
        let signed_rank = record(scenario, 300, pooled_signed_rank);
        assert!(signed_rank.coverage < 85.0, "{levels:?}: {signed_rank:?}");
    }
}

#[test]
fn one_start_misses_the_cost_however_many_its_blocks() {
    let one_start = record(scenario(1, 80, Levels::Normal, BUSY_US), 300, pooled_signed_rank);
    assert!(one_start.coverage < 60.0, "{one_start:?}");
}

#[test]
fn arms_measured_one_after_the_other_miss_the_cost() {
    // One round of identical processes, so that only drift can be the cause.
    let blocks = scenario(1, 12, Levels::Same, QUIET_US);
    let sequential = Scenario { order: Order::Sequential, ..blocks };
    let (drifting, cured) = (record(sequential, 1_000, unpaired), record(blocks, 1_000, pooled_t));
    assert!(drifting.coverage < 70.0, "{drifting:?}");
    assert!(cured.coverage > 93.0, "{cured:?}");
}

#[test]
fn arms_measured_one_after_the_other_cost_width_even_over_rounds() {
    let blocks = scenario(10, 12, Levels::Normal, QUIET_US);
    let sequential = Scenario { order: Order::Sequential, ..blocks };
    let (sequential, blocks) = (record(sequential, 1_000, paired), record(blocks, 1_000, paired));
    assert!(sequential.half_width_us > 1.7 * blocks.half_width_us, "{sequential:?} {blocks:?}");
}

#[test]
fn without_pairs_drift_widens_the_interval() {
    let scenario = scenario(10, 4, Levels::Normal, QUIET_US);
    let (paired, unpaired) = (record(scenario, 1_000, paired), record(scenario, 1_000, unpaired));
    assert!(unpaired.half_width_us > 1.3 * paired.half_width_us, "{paired:?} {unpaired:?}");
}

/// The textbook's distribution-free interval of a quantile: order statistics at the ranks between which a binomial
/// count falls with 95 %. Valid for independent values.
fn textbook_p99(values: &[f64]) -> Interval {
    let n = values.len() as f64;
    let reach = 1.96 * (0.99 * 0.01 / n).sqrt();
    let at = |p: f64| quantile(values, p).expect("there are values");
    Interval::new(at(0.99), at(0.99 - reach), at(0.99 + reach))
}

/// Response times of 20,000 consecutive requests to one server with exponential service times (M/M/1, service
/// time 1) in steady state, by Lindley's recursion.
fn queue(utilisation: f64, rng: &mut Xoshiro256PlusPlus) -> Vec<f64> {
    let exponential = |rng: &mut Xoshiro256PlusPlus| -> f64 { Exp1.sample(rng) };
    let mut response = exponential(rng) / (1.0 - utilisation);
    (0..20_000)
        .map(|_| {
            let wait = (response - exponential(rng) / utilisation).max(0.0);
            response = wait + exponential(rng);
            response
        })
        .collect()
}

#[test]
fn the_textbook_interval_of_a_p99_misses_it_when_requests_queue() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(99);
    for (utilisation, expected) in [(0.0, 90.0..100.0), (0.7, 0.0..60.0)] {
        let true_p99 = 100.0_f64.ln() / (1.0 - utilisation);
        let covered = (0..150).filter(|_| {
            let responses: Vec<f64> = if utilisation > 0.0 {
                queue(utilisation, &mut rng)
            } else {
                // No queue: independent values of the same distribution.
                (0..20_000).map(|_| Exp1.sample(&mut rng)).collect()
            };
            textbook_p99(&responses).contains(true_p99)
        });
        let coverage = 100.0 * covered.count() as f64 / 150.0;
        assert!(expected.contains(&coverage), "utilisation {utilisation}: {coverage} %");
    }
}
