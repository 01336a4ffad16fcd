//! Computes the intervals of a study's arms, by the library's method and by rejected ones, and compares them with the
//! truth.

use hoptax_result::Interval;
use hoptax_stats::{
    CostRounds, Slowdowns, Weighted, costs_by_round, mean_over_rounds, median, paired_cost,
    paired_cost_of_copies, slowdowns, sum_of_costs,
};

use super::simulation::{BASELINE_US, LEAN_OF_MEANS, Machine, Scenario, Study};

/// Method that reduces slices of an arm and of the copies of the baseline to one number per round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Estimate {
    /// The library's method.
    PairByPair,
    /// Rejected: against the mean of the copies in a block.
    MeanOfCopies,
    /// Rejected: the differences of all pairs of slices as one sample.
    AllPairs,
}

/// Method that normalizes values to the machine's usual speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Adjustment {
    /// No adjustment.
    None,
    /// The library's method for a comparison.
    Between,
    /// Rejected for a comparison: factors that exclude only an observation's own arm.
    OwnArmLeftOut,
    /// Rejected: the block's median, including the arm itself.
    OwnArmIncluded,
}

/// The quantity to estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Quantity {
    CostUs,
    /// Cost as a share of the baseline.
    Share,
    /// The arm's rate divided by that of the baseline.
    Rate,
}

impl Quantity {
    fn compare(self, arm_us: f64, baseline_us: f64) -> f64 {
        match self {
            Self::CostUs => arm_us - baseline_us,
            Self::Share => (arm_us - baseline_us) / baseline_us,
            // The rate of a closed loop is limited by the proxy's CPU time.
            Self::Rate => baseline_us / arm_us,
        }
    }
}

/// The slices of one process of a round, by block, without those set aside.
type Process = Vec<Option<f64>>;

impl Study {
    /// The slices of an arm by round and copy.
    fn processes(&self, arm: usize, values: &[Option<f64>]) -> Vec<Vec<Process>> {
        let copies = if arm == 0 { self.scenario.copies } else { 1 };
        let mut rounds = vec![vec![vec![None; self.scenario.blocks]; copies]; self.scenario.rounds];
        for ((one, copy), value) in self.observations.iter().zip(&self.copies).zip(values) {
            if one.arm == arm {
                rounds[one.round][*copy][one.block as usize] = *value;
            }
        }
        rounds
    }

    fn as_measured(&self) -> Vec<Option<f64>> {
        self.observations.iter().map(|one| Some(one.value)).collect()
    }

    fn divided_by(&self, factors: impl IntoIterator<Item = Option<f64>>) -> Vec<Option<f64>> {
        self.observations.iter().zip(factors).map(|(one, factor)| Some(one.value / factor?)).collect()
    }

    /// The values of an arm and of the baseline at the machine's usual speed.
    fn values(&self, arm: usize, adjustment: Adjustment, found: Option<&Slowdowns>) -> Vec<Option<f64>> {
        match (adjustment, found) {
            (Adjustment::OwnArmIncluded, _) => self.divided_by(self.block_medians()),
            (Adjustment::None, _) | (_, None) => self.as_measured(),
            (Adjustment::Between, Some(found)) => self.divided_by(found.between(arm, 0)),
            (Adjustment::OwnArmLeftOut, Some(found)) => {
                self.divided_by(found.factors.iter().copied().map(Some))
            }
        }
    }

    /// The factor by which the values of a block exceed their arms' medians, at the median.
    fn block_medians(&self) -> Vec<Option<f64>> {
        let of = |arm: usize| {
            let own = self.observations.iter().filter(|one| one.arm == arm);
            median(&own.map(|one| one.value).collect::<Vec<f64>>())
        };
        let arms: Vec<Option<f64>> = (0..=self.scenario.functions).map(of).collect();
        let mut blocks = vec![vec![Vec::new(); self.scenario.blocks]; self.scenario.rounds];
        for one in &self.observations {
            let usual = arms[one.arm].expect("it was observed");
            blocks[one.round][one.block as usize].push(one.value / usual);
        }
        self.observations.iter().map(|one| median(&blocks[one.round][one.block as usize])).collect()
    }

    /// The interval of the difference between an arm and the baseline.
    fn compared(
        &self,
        own: &[Vec<Process>],
        baseline: &[Vec<Process>],
        quantity: Quantity,
        estimate: Estimate,
    ) -> Interval {
        let compare = |own: &Option<f64>, other: &Option<f64>| Some(quantity.compare((*own)?, (*other)?));
        let pair = |own: &Process, other: &Process| -> Vec<f64> {
            own.iter().zip(other).filter_map(|(own, other)| compare(own, other)).collect()
        };
        let mean = |copies: &[Process], block: usize| {
            let values: Vec<f64> = copies.iter().filter_map(|copy| copy[block]).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let rounds = own.iter().zip(baseline).map(|(own, copies)| match estimate {
            Estimate::PairByPair => copies.iter().map(|copy| pair(&own[0], copy)).collect(),
            Estimate::AllPairs => vec![copies.iter().flat_map(|copy| pair(&own[0], copy)).collect()],
            Estimate::MeanOfCopies => {
                vec![pair(&own[0], &(0..self.scenario.blocks).map(|block| mean(copies, block)).collect())]
            }
        });
        paired_cost_of_copies(&rounds.collect::<Vec<_>>(), 0.95).expect("rounds have pairs")
    }

    /// The differences of an arm from the baseline by round and copy, by the library's method.
    fn pairs(&self, arm: usize, found: Option<&Slowdowns>) -> CostRounds {
        let values = self.values(arm, Adjustment::Between, found);
        let (own, baseline) = (self.processes(arm, &values), self.processes(0, &values));
        let pair = |own: &Process, other: &Process| -> Vec<f64> {
            own.iter().zip(other).filter_map(|(own, other)| Some((*own)? - (*other)?)).collect()
        };
        let rounds = own.iter().zip(&baseline);
        rounds.map(|(own, copies)| copies.iter().map(|copy| pair(&own[0], copy)).collect()).collect()
    }

    /// The interval of the sum of the costs of arms with their weights, by the library's method.
    pub(crate) fn sum(&self, weights: &[(usize, f64)], found: Option<&Slowdowns>) -> Interval {
        let term = |(arm, weight): &(usize, f64)| Weighted::new(*weight, self.pairs(*arm, found));
        sum_of_costs(&weights.iter().map(term).collect::<Vec<_>>(), 0.95).expect("rounds have pairs")
    }

    /// The cost of an arm in each round, us; none if a round lost all its pairs.
    pub(crate) fn cost_by_round(&self, arm: usize, found: Option<&Slowdowns>) -> Option<Vec<f64>> {
        costs_by_round(&self.pairs(arm, found))?.into_iter().collect()
    }

    /// The interval of an arm's own CPU time.
    pub(crate) fn level(&self, arm: usize) -> Interval {
        let of_round =
            |copies: &Vec<Process>| median(&copies.iter().flatten().flatten().copied().collect::<Vec<f64>>());
        let rounds = self.processes(arm, &self.as_measured());
        mean_over_rounds(&rounds.iter().filter_map(of_round).collect::<Vec<f64>>(), 0.95)
            .expect("there are two rounds")
    }

    /// The interval of an arm's cost against an origin without a proxy: all its CPU time.
    pub(crate) fn against_direct(&self, arm: usize, adjustment: Adjustment) -> Interval {
        let values = self.values(arm, adjustment, slowdowns(&self.observations).as_ref());
        let rounds: Vec<Vec<f64>> = self
            .processes(arm, &values)
            .iter()
            .map(|copies| copies[0].iter().flatten().copied().collect())
            .collect();
        paired_cost(&rounds, 0.95).expect("there are two rounds")
    }
}

/// Comparison of intervals with the truth.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    intervals: f64,
    held: f64,
    half_widths: f64,
    errors: f64,
    squares: f64,
}

impl Tally {
    pub(crate) fn add(&mut self, interval: &Interval, truth: f64) {
        let error = interval.estimate - truth;
        self.intervals += 1.0;
        self.held += f64::from(u8::from(interval.contains(truth)));
        self.half_widths += interval.half_width();
        self.errors += error;
        self.squares += error * error;
    }

    /// Share of the intervals that cover the truth, percent.
    pub(crate) fn coverage(&self) -> f64 {
        100.0 * self.held / self.intervals
    }

    pub(crate) fn half_width(&self) -> f64 {
        self.half_widths / self.intervals
    }

    /// Mean error divided by the standard deviation of the errors.
    pub(crate) fn bias(&self) -> f64 {
        let mean = self.mean_error();
        mean / (self.squares / self.intervals - mean * mean).sqrt()
    }

    /// Mean error, in the unit of the estimates.
    pub(crate) fn mean_error(&self) -> f64 {
        self.errors / self.intervals
    }

    /// Asserts on the interval of a level, from which no other is subtracted: undetected disturbances are part of it,
    /// but less than of a mean.
    pub(crate) fn assert_sound_level(&self, case: &str) {
        self.assert_covers(case);
        let lean = self.mean_error() / BASELINE_US;
        assert!(lean.abs() < LEAN_OF_MEANS, "levels lean by {lean}: {case}");
    }

    pub(crate) fn assert_sound(&self, case: &str) {
        self.assert_covers(case);
        assert!(self.bias().abs() < 0.2, "estimates lean by {} standard errors: {case}", self.bias());
    }

    fn assert_covers(&self, case: &str) {
        let coverage = self.coverage();
        assert!(
            (93.0..=97.0).contains(&coverage),
            "{coverage} % of intervals hold the truth: {case}, {self:?}"
        );
    }
}

/// The intervals of all functions in many studies by one method, each compared with the truth at the machine's usual
/// speed.
pub(crate) fn tally(
    scenario: Scenario,
    studies: u64,
    quantity: Quantity,
    (estimate, adjustment): (Estimate, Adjustment),
) -> Tally {
    tallies(scenario, studies, &[quantity], &[(estimate, adjustment)])[0]
}

/// As [`tally`], for several methods on the same studies, with several quantities for each method.
pub(crate) fn tallies(
    scenario: Scenario,
    studies: u64,
    quantities: &[Quantity],
    methods: &[(Estimate, Adjustment)],
) -> Vec<Tally> {
    let seed = 1937 + 100 * scenario.functions + 10 * scenario.copies + scenario.blocks;
    let mut machine = Machine::new(seed as u64);
    let mut tallies = vec![Tally::default(); methods.len() * quantities.len()];
    for _ in 0..studies {
        let study = machine.study(scenario);
        let found = slowdowns(&study.observations);
        // Arms of the comparison do not count: two more than the three others needed to estimate the speed. A study
        // with fewer refers to the machine's long-run speed.
        let slowdown = if scenario.functions > 3 { study.usual_slowdown } else { 1.0 };
        for arm in 1..=scenario.functions {
            let cost_us = scenario.cost_us(arm);
            for ((estimate, adjustment), tallies) in methods.iter().zip(tallies.chunks_mut(quantities.len()))
            {
                let values = study.values(arm, *adjustment, found.as_ref());
                let (own, baseline) = (study.processes(arm, &values), study.processes(0, &values));
                for (quantity, tally) in quantities.iter().zip(tallies) {
                    let truth = match quantity {
                        Quantity::CostUs => cost_us * slowdown,
                        Quantity::Share | Quantity::Rate => {
                            quantity.compare(BASELINE_US + cost_us, BASELINE_US)
                        }
                    };
                    tally.add(&study.compared(&own, &baseline, *quantity, *estimate), truth);
                }
            }
        }
    }
    tallies
}
