//! Simulated studies: slices of arms and of copies of the baseline, in random order within blocks, on a machine whose
//! speed varies and which occasionally takes a fifth of a slice.

use hoptax_stats::{Observation, hodges_lehmann, median};
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal, StudentT};

/// True CPU time of a request at the baseline, us.
pub(crate) const BASELINE_US: f64 = 20.0;

/// Share of disturbed slices, of which the host takes a part, and their relative error. In studies on two machines, 1
/// to 5 % of the slices are more than a tenth above the level of their arm and block, and a tenth as many are more than
/// a tenth below.
pub(crate) const DISTURBED: f64 = 0.03;
pub(crate) const DISTURBANCE: f64 = 0.2;

/// Share of slices that are set aside: half of the disturbed ones are not detected, and some undisturbed ones are set
/// aside too.
pub(crate) const SET_ASIDE_OF_DISTURBED: f64 = 0.5;
pub(crate) const SET_ASIDE_OF_OTHERS: f64 = 0.05;

/// The resulting bias of the mean of slices, as a share.
pub(crate) const LEAN_OF_MEANS: f64 = DISTURBED * SET_ASIDE_OF_DISTURBED * DISTURBANCE;

/// Correlation of the machine's speed from slice to slice where it varies.
const CORRELATION: f64 = 0.85;

/// Distance between the two modes of a process, as a share, and the share of starts that land on the upper one.
const MODE: f64 = 0.037;
const MODE_SHARE: f64 = 0.3;

/// The distribution of the levels of processes, as shares with mean zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Levels {
    /// Normal with this standard deviation.
    Normal(f64),
    /// One of two modes, and normal with this standard deviation within it.
    TwoModes(f64),
}

/// A study to simulate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scenario {
    /// Arms that are compared with the baseline.
    pub(crate) functions: usize,
    /// True cost of the most expensive of them, us; the others are evenly spaced below it.
    pub(crate) dearest_us: f64,
    /// Copies of the baseline.
    pub(crate) copies: usize,
    pub(crate) rounds: usize,
    pub(crate) blocks: usize,
    pub(crate) levels: Levels,
    /// Scale of a slice's own noise (Student's, three degrees of freedom), as a share: 0.006 on a machine with fast
    /// wake-ups, 0.017 on one with slow ones.
    pub(crate) noise: f64,
    /// Standard deviation of the machine's speed from round to round, and within a round, as shares.
    pub(crate) between_rounds: f64,
    pub(crate) wander: f64,
    /// True if the speed within a round is correlated from slice to slice.
    pub(crate) lasting: bool,
}

/// Default scenario; tests state their differences from it.
pub(crate) const USUAL: Scenario = Scenario {
    functions: 1,
    dearest_us: 1.5,
    copies: 1,
    rounds: 10,
    blocks: 4,
    levels: Levels::Normal(0.005),
    noise: 0.006,
    between_rounds: 0.02,
    wander: 0.02,
    lasting: true,
};

/// The same machine with constant speed.
pub(crate) const STEADY: Scenario = Scenario { between_rounds: 0.0, wander: 0.0, ..USUAL };

impl Scenario {
    /// True cost of a function, us; the baseline is number 0.
    pub(crate) fn cost_us(&self, arm: usize) -> f64 {
        self.dearest_us * arm as f64 / self.functions as f64
    }
}

/// One process of a round.
#[derive(Clone, Copy)]
struct Process {
    arm: usize,
    copy: usize,
    level: f64,
}

/// The observations of a simulated study.
pub(crate) struct Study {
    pub(crate) scenario: Scenario,
    /// Observations in chronological order.
    pub(crate) observations: Vec<Observation>,
    /// The copy of its arm for each observation.
    pub(crate) copies: Vec<usize>,
    /// The factor by which the machine was usually slower in the study than in the long run.
    pub(crate) usual_slowdown: f64,
}

/// Generates studies.
pub(crate) struct Machine {
    rng: Xoshiro256PlusPlus,
    tails: StudentT<f64>,
}

impl Machine {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            tails: StudentT::new(3.0).expect("3 is positive"),
        }
    }

    fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.rng)
    }

    fn level(&mut self, levels: Levels) -> f64 {
        match levels {
            Levels::Normal(spread) => spread * self.normal(),
            Levels::TwoModes(spread) => {
                let upper = self.rng.random_bool(MODE_SHARE);
                (if upper { MODE } else { 0.0 }) - MODE_SHARE * MODE + spread * self.normal()
            }
        }
    }

    /// The deviation of a slice from the level of its arm, its process and the machine's speed, unless it is set aside.
    fn slice(&mut self, noise: f64) -> Option<f64> {
        let own = noise * self.tails.sample(&mut self.rng);
        let disturbed = self.rng.random_bool(DISTURBED);
        let set_aside =
            self.rng.random_bool(if disturbed { SET_ASIDE_OF_DISTURBED } else { SET_ASIDE_OF_OTHERS });
        (!set_aside).then_some(own + if disturbed { DISTURBANCE.ln_1p() } else { 0.0 })
    }

    pub(crate) fn study(&mut self, scenario: Scenario) -> Study {
        let correlation = if scenario.lasting { CORRELATION } else { 0.0 };
        let mut observations = Vec::new();
        let mut copies = Vec::new();
        let mut of_blocks = Vec::new();
        for round in 0..scenario.rounds {
            // Restarting processes takes seconds, longer than the machine keeps a speed within a round.
            let mut wander = self.normal();
            let of_round = scenario.between_rounds * self.normal();
            let baseline = (0..scenario.copies).map(|copy| (0, copy));
            let mut processes: Vec<Process> = baseline
                .chain((1..=scenario.functions).map(|arm| (arm, 0)))
                .map(|(arm, copy)| Process { arm, copy, level: self.level(scenario.levels) })
                .collect();
            for block in 0..scenario.blocks as u32 {
                processes.shuffle(&mut self.rng);
                let mut speeds = Vec::new();
                for Process { arm, copy, level } in processes.iter().copied() {
                    wander = correlation * wander + (1.0 - correlation.powi(2)).sqrt() * self.normal();
                    let slower = of_round + scenario.wander * wander;
                    speeds.push(slower);
                    if let Some(own) = self.slice(scenario.noise) {
                        let value = (BASELINE_US + scenario.cost_us(arm)) * (slower + level + own).exp();
                        observations.push(Observation { round, block, arm, value });
                        copies.push(copy);
                    }
                }
                of_blocks.push(median(&speeds).expect("a block has slices"));
            }
        }
        let usual_slowdown = hodges_lehmann(&of_blocks).expect("there are blocks").exp();
        Study { scenario, observations, copies, usual_slowdown }
    }
}
