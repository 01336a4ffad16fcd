//! Estimates the machine's speed around each observation from observations of other arms close to it in time.

use std::collections::{BTreeMap, BTreeSet};

use crate::{hodges_lehmann, median};

/// Number of observations on each side that serve as neighbours.
const REACH: usize = 3;

/// Least number of other arms in a block whose observations are adjusted.
const LEAST_OTHERS: usize = 3;

/// Passes of the median polish; the levels of arms and blocks hardly change after the second.
const PASSES: usize = 3;

/// Deviations of more standard deviations than this are left out of the weight.
const OUTLYING: f64 = 3.0;

/// The standard deviation of a normal distribution divided by its median absolute deviation.
const DEVIATION_OF_MEDIAN_DEVIATION: f64 = 1.4826;

/// One value observed in a randomised block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The round, the topmost replicate.
    pub round: usize,
    /// The block within its round.
    pub block: u32,
    /// The arm that was observed; copies of an arm share its number.
    pub arm: usize,
    /// The value, in any unit. It is positive and proportional to the slowness of the machine.
    pub value: f64,
}

/// The result of [`slowdowns`].
#[derive(Clone, Debug, PartialEq)]
pub struct Slowdowns {
    /// The share of its neighbours' deviation that an observation has in common with them, 0 to 1.
    pub weight: f64,
    /// The factor by which the machine was slower around each observation than usual in the study, in the order of the
    /// observations. Divide by it. It is estimated from all arms but the observation's own, so it suits a number of a
    /// single arm; for the difference or the ratio of two arms use [`Slowdowns::between`]. Exactly 1 where it cannot be
    /// estimated.
    pub factors: Vec<f64>,
    machine: Machine,
}

/// Estimates the factor by which the machine was slower around each observation than usual in the study. `observations` are
/// in chronological order.
///
/// **Method.** Logarithms are decomposed into the level of the arm, that of the block, and a residual (median polish).
/// The deviation of an observation from its arm's level measures how slow the machine was. The level of a block, as
/// applied to an observation, is the median deviation of the observations of *other* arms in the block. The variation
/// within the block is added: the median deviation of up to three observations before and three after, again of other
/// arms only, less the level of the block, times a weight. The weight is the slope, through zero and limited to 0 to 1,
/// of the deviations of observations from the block's level over those of their neighbours. The factor is the
/// exponential of this sum, less the usual level: the Hodges-Lehmann estimate of the levels of all blocks. All rounds
/// share the error of the usual level, and no interval includes it, so it must be small: the median of blocks is half
/// as precise as their mean, this estimate nearly as precise, and one slow round does not move it.
///
/// **Source.** Neighbours as a covariate in a randomised block experiment: J. S. Papadakis, "Méthode statistique pour
/// des expériences sur champ", 1937; its conditions, M. S. Bartlett, "Nearest neighbour models in the analysis of field
/// experiments", *Journal of the Royal Statistical Society B* 40, 1978. The polish is that of J. W. Tukey, *Exploratory
/// Data Analysis*, 1977. Medians replace their means since slices have heavy tails: with means, one arm with large
/// noise of its own corrupts the slices around it.
///
/// **Why.** A slow machine scales the cost itself: a function that doubles the CPU time of a request costs a tenth more
/// in a round in which the machine is a tenth slower. Pairing by block does not remove that. Nor does it remove
/// variation within a block: a block of a hundred arms lasts sixteen seconds, and a virtual machine changes its speed
/// within a second or two. Measured residuals of adjacent slices are correlated by 0.2 to 0.6, those twelve slices
/// apart by at most 0.15. Where adjacent slices are uncorrelated the weight is close to 0.
///
/// **Why other arms only.** An adjustment that includes an arm's own observations removes part of the arm's own noise,
/// and the interval no longer includes it. With `n` arms in a block, each loses one part in `n`; a single arm loses
/// all, and gets an interval of zero width around a number that is as uncertain as before. A comparison loses nothing
/// when both arms are divided by the same factor, and gains noise when each contributes to the other's factor. Hence
/// [`Slowdowns::between`], to which neither contributes.
///
/// **How many others.** Without at least three other arms in the block there is no adjustment (the factor is 1), since
/// a median of fewer varies as much as the machine does. In simulated studies with slices as noisy as measured on an
/// Intel virtual machine (standard deviation 3 %) whose speed hardly changes, the adjustment by one other arm widens
/// the interval of a cost as large as the baseline by 7 %, by two 4 %, by three 2 %, by four 1 %. Where slices are
/// quiet and the speed varies by 2 % from round to round, three others narrow it by 6 %, seven by 8 %. The decision is
/// the same for both arms of a comparison in a block, so a pair is never half adjusted.
///
/// **Interpretation.** Adjusted values are those of the machine at its usual speed in the study. Their spread does not
/// include differences in speed from day to day; to carry values to another day, use shares of the baseline's.
///
/// **Constants over rounds.** Levels of arms, the usual level and the weight are estimated from all rounds. All three are constants of a
/// study: they shift every round alike, by far less than an interval is wide. `tests/whole_study` simulates the effect, from 1 to 100 arms.
///
/// **Degenerate cases.** `None` when a value is not positive and finite, and where no block can be adjusted. An arm observed in only one
/// round contributes nothing. An observation without neighbours gets the factor of its block.
pub fn slowdowns(observations: &[Observation]) -> Option<Slowdowns> {
    let machine = Machine::new(observations)?;
    let spoken = machine.deviations_with_those_around();
    if spoken.is_empty() {
        return None;
    }
    let weight = weight(&spoken);
    let factors = machine.factors(weight, |arm| Some(vec![arm]));
    let factors = factors.into_iter().map(|factor| factor.unwrap_or(1.0)).collect();
    Some(Slowdowns { weight, factors, machine })
}

impl Slowdowns {
    /// The factors for a comparison of two arms, in the order of the observations. Neither arm contributes to them, and
    /// in a block both have the same factor, apart from the neighbours. None for observations of other arms, 1 where
    /// fewer than three others were observed in the block.
    ///
    /// With [`Slowdowns::factors`] instead, the baseline's noise would be in the factor of the arm and the arm's in
    /// that of the baseline, so each would count `1 + 1 / (n - 1)` times in the difference, with `n` observations in a
    /// block. The intervals are valid but wider, by a tenth with five arms.
    pub fn between(&self, arm: usize, other: usize) -> Vec<Option<f64>> {
        let compared = |one: usize| (one == arm || one == other).then(|| vec![arm, other]);
        self.machine.factors(self.weight, compared)
    }
}

/// The observations of a study, as deviations from the levels of their arms.
#[derive(Clone, Debug, PartialEq)]
struct Machine {
    /// The observations of each block, in chronological order.
    blocks: Vec<Vec<Deviation>>,
    /// Number of observations.
    observations: usize,
    /// The usual level of a block.
    usual: f64,
}

/// A deviation from the level of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
struct WithNeighbours {
    /// Slowdown of an observation.
    own: f64,
    /// Slowdown of its neighbours.
    around: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Deviation {
    /// Index of the observation.
    index: usize,
    arm: usize,
    /// Its logarithm less the level of its arm; none where the arm was observed in only one round.
    size: Option<f64>,
}

impl Machine {
    /// None where a value has no logarithm, and where no block holds enough arms.
    fn new(observations: &[Observation]) -> Option<Self> {
        let logarithms: Vec<f64> = observations.iter().map(|observation| observation.value.ln()).collect();
        if !logarithms.iter().all(|logarithm| logarithm.is_finite()) {
            return None;
        }
        let mut rounds: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        let mut arms: BTreeMap<Block, BTreeSet<usize>> = BTreeMap::new();
        for one in observations {
            rounds.entry(one.arm).or_default().insert(one.round);
            arms.entry(block_of(one)).or_default().insert(one.arm);
        }
        if arms.values().all(|arms| arms.len() <= LEAST_OTHERS) {
            return None;
        }
        let (arms, levels) = polish(observations, &logarithms);
        let tells = |arm| rounds.get(arm).is_some_and(|rounds| rounds.len() > 1);
        let mut blocks: BTreeMap<Block, Vec<Deviation>> = BTreeMap::new();
        for (index, (one, logarithm)) in observations.iter().zip(&logarithms).enumerate() {
            let size = tells(&one.arm).then(|| logarithm - level(&arms, &one.arm));
            blocks.entry(block_of(one)).or_default().push(Deviation { index, arm: one.arm, size });
        }
        Some(Self {
            blocks: blocks.into_values().collect(),
            observations: observations.len(),
            usual: hodges_lehmann(&levels.into_values().collect::<Vec<f64>>())?,
        })
    }

    /// The factor of each observation. For its arm, `left_out` returns the arms to exclude, or None if no factor is needed.
    fn factors(&self, weight: f64, left_out: impl Fn(usize) -> Option<Vec<usize>>) -> Vec<Option<f64>> {
        let mut factors = vec![None; self.observations];
        for block in &self.blocks {
            let mut levels = BTreeMap::new();
            for (place, one) in block.iter().enumerate() {
                // No factor is asked for this arm.
                let Some(left_out) = left_out(one.arm) else { continue };
                let level = *levels.entry(one.arm).or_insert_with(|| block_level(block, &left_out));
                let slower = level.map_or(0.0, |level| {
                    let around = around(block, place, &left_out).map_or(0.0, |around| around - level);
                    level - self.usual + weight * around
                });
                if let Some(slot) = factors.get_mut(one.index) {
                    *slot = Some(slower.exp());
                }
            }
        }
        factors
    }

    /// The deviations of observations from the level of their block, each with that of its neighbours.
    fn deviations_with_those_around(&self) -> Vec<WithNeighbours> {
        let mut found = Vec::new();
        for block in &self.blocks {
            let mut levels = BTreeMap::new();
            for (place, one) in block.iter().enumerate() {
                let level = *levels.entry(one.arm).or_insert_with(|| block_level(block, &[one.arm]));
                let around = around(block, place, &[one.arm]);
                if let (Some(level), Some(size), Some(around)) = (level, one.size, around) {
                    found.push(WithNeighbours { own: size - level, around: around - level });
                }
            }
        }
        found
    }
}

/// A block of a round.
type Block = (usize, u32);

fn block_of(observation: &Observation) -> Block {
    (observation.round, observation.block)
}

/// The levels of arms and of blocks, by alternating between medians over blocks and over arms.
fn polish(observations: &[Observation], logarithms: &[f64]) -> (BTreeMap<usize, f64>, BTreeMap<Block, f64>) {
    let all = || observations.iter().zip(logarithms);
    let mut arms = BTreeMap::new();
    let mut blocks = BTreeMap::new();
    for _ in 0..PASSES {
        blocks = medians(all().map(|(one, log)| (block_of(one), log - level(&arms, &one.arm))));
        arms = medians(all().map(|(one, log)| (one.arm, log - level(&blocks, &block_of(one)))));
    }
    (arms, blocks)
}

fn level<Key: Ord>(levels: &BTreeMap<Key, f64>, key: &Key) -> f64 {
    levels.get(key).copied().unwrap_or(0.0)
}

fn medians<Key: Ord>(values: impl Iterator<Item = (Key, f64)>) -> BTreeMap<Key, f64> {
    let mut groups: BTreeMap<Key, Vec<f64>> = BTreeMap::new();
    for (key, value) in values {
        groups.entry(key).or_default().push(value);
    }
    groups.into_iter().filter_map(|(key, values)| Some((key, median(&values)?))).collect()
}

/// The deviation of a block, estimated from all arms but those left out; none where too few remain.
fn block_level(block: &[Deviation], left_out: &[usize]) -> Option<f64> {
    let mut arms = Vec::new();
    let mut sizes = Vec::new();
    let others = block.iter().filter(|one| !left_out.contains(&one.arm));
    for (one, size) in others.filter_map(|one| Some((one, one.size?))) {
        if arms.len() < LEAST_OTHERS && !arms.contains(&one.arm) {
            arms.push(one.arm);
        }
        sizes.push(size);
    }
    if arms.len() == LEAST_OTHERS { median(&sizes) } else { None }
}

/// The median deviation of the neighbours of a place in a block, without the arms left out.
fn around(block: &[Deviation], place: usize, left_out: &[usize]) -> Option<f64> {
    let (before, from_here) = block.split_at_checked(place)?;
    let neighbours = before.iter().rev().take(REACH).chain(from_here.iter().skip(1).take(REACH));
    let others = neighbours.filter(|one| !left_out.contains(&one.arm));
    median(&others.filter_map(|one| one.size).collect::<Vec<f64>>())
}

/// The slope of residuals over those of their neighbours, between 0 and 1.
fn weight(deviations: &[WithNeighbours]) -> f64 {
    let sizes: Vec<f64> = deviations.iter().map(|one| one.own.abs()).collect();
    let limit = median(&sizes).unwrap_or(0.0) * DEVIATION_OF_MEDIAN_DEVIATION * OUTLYING;
    let usual = || deviations.iter().filter(|one| one.own.abs() <= limit && one.around.abs() <= limit);
    let square: f64 = usual().map(|one| one.around * one.around).sum();
    let product: f64 = usual().map(|one| one.own * one.around).sum();
    if square > 0.0 { (product / square).clamp(0.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of one block of twelve arms in ascending order of cost, on a machine whose slowness `slower` returns by
    /// round and place. Each round has a different order of arms.
    fn observed(rounds: usize, slower: impl Fn(usize, usize) -> f64) -> Vec<Observation> {
        let of_round = |round: usize| {
            let slower = &slower;
            (0..12).map(move |place| {
                let arm = (place * 5 + round * 7) % 12;
                Observation { round, block: 0, arm, value: (20.0 + arm as f64) * slower(round, place) }
            })
        };
        (0..rounds).flat_map(of_round).collect()
    }

    /// A machine whose speed varies by up to 5 % either way, in waves longer than a block.
    fn waves(round: usize, place: usize) -> f64 {
        (0.05 * (0.2 * place as f64 + 2.1 * round as f64).sin()).exp()
    }

    #[test]
    fn a_machine_that_changes_its_speed_within_a_block_is_followed() {
        let found = slowdowns(&observed(40, waves)).unwrap();
        assert!(found.weight > 0.8, "{found:?}");
        let (mut off, mut all) = (0.0, 0.0);
        for (index, factor) in found.factors.iter().enumerate() {
            let slower = waves(index / 12, index % 12);
            off += (factor / slower).ln().abs();
            all += slower.ln().abs();
        }
        assert!(off < all / 3.0, "{off} of {all}");
    }

    #[test]
    fn a_round_in_which_the_machine_is_slow_is_brought_to_its_usual_speed() {
        let found = slowdowns(&observed(5, |round, _| if round == 3 { 1.25 } else { 1.0 })).unwrap();
        for (round, factors) in found.factors.chunks(12).enumerate() {
            let expected = if round == 3 { 1.25 } else { 1.0 };
            assert!(
                factors.iter().all(|factor| (factor - expected).abs() < 1e-9),
                "round {round}: {factors:?}"
            );
        }
    }

    #[test]
    fn one_slice_does_not_determine_the_speed_around_others() {
        let found = slowdowns(&observed(6, |round, place| if round == 3 && place == 6 { 2.0 } else { 1.0 }));
        assert!(found.unwrap().factors.iter().all(|factor| (factor - 1.0).abs() < 1e-9));
    }

    #[test]
    fn a_slice_does_not_contribute_to_its_own_factor() {
        let quiet = slowdowns(&observed(40, waves)).unwrap();
        let mut spoilt = observed(40, waves);
        let slice = &mut spoilt[4 * 12 + 9];
        slice.value *= 1.1;
        let spoilt = slowdowns(&spoilt).unwrap();
        let moved = spoilt.factors[4 * 12 + 9] / quiet.factors[4 * 12 + 9] - 1.0;
        assert!(moved.abs() < 0.01, "{moved}");
    }

    #[test]
    fn without_responses_there_is_no_share() {
        assert_eq!(slowdowns(&[]), None);
        assert_eq!(slowdowns(&observed(1, |_, _| 1.0)), None);
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut observations = observed(3, |_, _| 1.0);
            observations[7].value = value;
            assert_eq!(slowdowns(&observations), None, "{value}");
        }
    }

    /// Rounds of one block of `arms` arms, each value with its own noise, on a machine that is a tenth slower in every
    /// other round.
    fn alternating(arms: usize) -> Vec<Observation> {
        let noise = |round: usize, arm: usize| 0.01 * (2.3 * round as f64 + 1.7 * arm as f64).sin();
        let one = |round: usize, arm: usize| {
            let slower = if round.is_multiple_of(2) { 1.1 } else { 1.0 };
            Observation { round, block: 0, arm, value: 20.0 * slower * (1.0 + noise(round, arm)) }
        };
        (0..12).flat_map(|round| (0..arms).map(move |arm| one(round, arm))).collect()
    }

    fn is_unadjusted(factor: f64) -> bool {
        (factor - 1.0).abs() < f64::EPSILON
    }

    #[test]
    fn fewer_than_three_other_arms_do_not_determine_the_speed() {
        for arms in 1..=LEAST_OTHERS {
            assert_eq!(slowdowns(&alternating(arms)), None, "{arms}");
        }
        // For one of four arms there are three others; for a comparison only two.
        let four = slowdowns(&alternating(4)).unwrap();
        assert!(four.factors.chunks(8).all(|two| two[0] / two[4] > 1.05), "{four:?}");
        assert!(four.between(0, 1).into_iter().flatten().all(is_unadjusted), "{four:?}");
        let five = slowdowns(&alternating(5)).unwrap();
        assert!(five.between(0, 1)[0].unwrap() / five.between(0, 1)[5].unwrap() > 1.05, "{five:?}");
    }

    #[test]
    fn copies_of_an_arm_are_not_other_arms() {
        let copies = alternating(8).into_iter().map(|one| Observation { arm: one.arm / 4, ..one });
        assert_eq!(slowdowns(&copies.collect::<Vec<_>>()), None);
    }

    #[test]
    fn a_block_with_too_few_other_arms_is_not_adjusted() {
        let mut observations = alternating(6);
        observations.retain(|one| one.round != 4 || one.arm < 3);
        let found = slowdowns(&observations).unwrap();
        for (one, factor) in observations.iter().zip(&found.factors) {
            assert_eq!(is_unadjusted(*factor), one.round == 4, "{one:?}: {factor}");
        }
    }

    #[test]
    fn compared_arms_share_a_factor_to_which_neither_contributes() {
        let observations = observed(10, |round, _| if round.is_multiple_of(2) { 1.1 } else { 1.0 });
        let found = slowdowns(&observations).unwrap().between(3, 8);
        let mut spoilt = observations.clone();
        for (number, one) in spoilt.iter_mut().filter(|one| one.arm == 3 || one.arm == 8).enumerate() {
            one.value *= 1.0 + 0.01 * (number % 5) as f64;
        }
        let after = slowdowns(&spoilt).unwrap().between(3, 8);
        for (index, one) in observations.iter().enumerate() {
            let compared = one.arm == 3 || one.arm == 8;
            assert_eq!(found[index].is_some(), compared);
            if compared {
                let slower = if one.round.is_multiple_of(2) { 1.1 } else { 1.0 };
                let expected = slower / 1.1_f64.sqrt();
                assert!((found[index].unwrap() - expected).abs() < 1e-9, "{one:?} {:?}", found[index]);
                // The levels of the other arms and the usual level are estimated from all arms and shift slightly.
                assert!((after[index].unwrap() / found[index].unwrap() - 1.0).abs() < 1e-3, "{one:?}");
            }
        }
    }

    #[test]
    fn an_arm_of_a_single_round_says_nothing_of_the_machine() {
        let mut observations = alternating(5);
        let before = slowdowns(&observations).unwrap();
        observations.push(Observation { round: 11, block: 0, arm: 77, value: 3.0 });
        let after = slowdowns(&observations).unwrap();
        for (one, other) in before.factors.iter().zip(&after.factors) {
            assert!((one / other - 1.0).abs() < 1e-3, "{one} {other}");
        }
    }
}
