//! How fast the machine was around an observation, as the observations next to it in time tell.

use std::collections::{BTreeMap, BTreeSet};

use crate::median;

/// How many observations before one, and how many after it, tell of it.
const REACH: usize = 3;

/// Passes of the polish; the levels of arms and blocks hardly move after the second.
const PASSES: usize = 3;

/// Deviations of more than so many standard deviations have no say in the weight.
const OUTLYING: f64 = 3.0;

/// The standard deviation of a normal distribution over its median absolute deviation.
const DEVIATION_OF_MEDIAN_DEVIATION: f64 = 1.4826;

/// One number that was observed in a randomised block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The round, the topmost replicate.
    pub round: usize,
    /// The block within its round.
    pub block: u32,
    /// What was observed.
    pub arm: usize,
    /// The number, in any unit; above zero, and in proportion to how slow the machine is.
    pub value: f64,
}

/// What [`slowdowns`] finds.
#[derive(Clone, Debug, PartialEq)]
pub struct Slowdowns {
    /// How much of what its neighbours deviate an observation deviates too, 0 to 1.
    pub weight: f64,
    /// By what factor the machine was slower around each observation than in the median block, in their order: to divide by.
    pub factors: Vec<f64>,
}

/// By what factor the machine was slower around each observation than in the median block. `observations` are in
/// the order of time.
///
/// **Method.** Logarithms are split into the level of the arm, that of the block, and the rest (median polish).
/// The rest of an observation is taken against the arm's level in the *other* rounds. The median rest of up to
/// three observations before and three after it in its block, the observation itself left out, says how slow the
/// machine was there. The weight is the slope, through zero and held between 0 and 1, of all rests over these
/// medians. The factor is the exponential of the block's level, less that of the median block, and weight times
/// median.
///
/// **Source.** Neighbours as a covariate in a randomised block experiment: J. S. Papadakis, "Méthode statistique
/// pour des expériences sur champ", 1937; when it holds, M. S. Bartlett, "Nearest neighbour models in the analysis
/// of field experiments", *Journal of the Royal Statistical Society B* 40, 1978. The polish is that of J. W.
/// Tukey, *Exploratory Data Analysis*, 1977. Medians stand in for their means since slices have heavy tails: with
/// means, one arm whose own noise is large spoils the slices around it.
///
/// **Why.** A block of a hundred arms lasts sixteen seconds, and a virtual machine changes its speed within a
/// second or two: rests of adjacent slices were measured to be correlated by 0.5 to 0.6, twelve slices apart by
/// 0.15. Pairing by block does not take that off, and the neighbours know of it. Where adjacent slices have
/// nothing in common the weight is 0. Nor does pairing take off that a slow machine stretches the cost itself: a
/// function that doubles the CPU time of a request costs a tenth more in a round in which the machine is a tenth
/// slower.
///
/// **What it means.** Values so divided are those of the study's median block. How fast the machine happens to be
/// on another day is not in their spread; shares of the baseline's are what to carry there.
///
/// **What it leaves alone.** Apart from its part in the median of its block, an observation has no say in its own
/// factor; nor has an arm's level of one round in the rests of that round, so rounds stay independent but for the
/// one weight. `tests/slowdown.rs` simulates what that comes to: the 95 % interval of a cost holds the true cost
/// in 93 to 97 % of studies, with and without a machine that wanders, from 3 to 60 arms.
///
/// **Degenerate cases.** `None` when a value is not above zero and finite, and where no arm was observed in two
/// rounds. An observation without neighbours has the factor of its block.
pub fn slowdowns(observations: &[Observation]) -> Option<Slowdowns> {
    let logarithms: Vec<f64> = observations.iter().map(|observation| observation.value.ln()).collect();
    if !logarithms.iter().all(|logarithm| logarithm.is_finite()) {
        return None;
    }
    let blocks = block_levels(observations, &logarithms);
    let rests = rests(observations, &logarithms, &blocks);
    if rests.iter().all(Option::is_none) {
        return None;
    }
    let usual = median(&blocks.values().copied().collect::<Vec<f64>>())?;
    let around = around(observations, &rests);
    let pairs: Vec<(f64, f64)> =
        rests.iter().zip(&around).filter_map(|(rest, around)| Some(((*rest)?, (*around)?))).collect();
    let weight = weight(&pairs);
    let factor = |(one, around): (&Observation, Option<f64>)| {
        (level(&blocks, &block_of(one)) - usual + weight * around.unwrap_or(0.0)).exp()
    };
    let factors = observations.iter().zip(around).map(factor).collect();
    Some(Slowdowns { weight, factors })
}

/// A block of a round.
type Block = (usize, u32);

fn block_of(observation: &Observation) -> Block {
    (observation.round, observation.block)
}

/// The level of each block, by alternating between the medians of blocks and those of arms.
fn block_levels(observations: &[Observation], logarithms: &[f64]) -> BTreeMap<Block, f64> {
    let all = || observations.iter().zip(logarithms);
    let mut arms = BTreeMap::new();
    let mut blocks = BTreeMap::new();
    for _ in 0..PASSES {
        blocks = medians(all().map(|(one, log)| (block_of(one), log - level(&arms, &one.arm))));
        arms = medians(all().map(|(one, log)| (one.arm, log - level(&blocks, &block_of(one)))));
    }
    blocks
}

/// What the levels of arm and block leave of each logarithm, the arm's level being that of the other rounds; none
/// where it was observed in no other.
fn rests(
    observations: &[Observation],
    logarithms: &[f64],
    blocks: &BTreeMap<Block, f64>,
) -> Vec<Option<f64>> {
    let all = || observations.iter().zip(logarithms);
    let in_block = |one: &Observation, log: &f64| log - level(blocks, &block_of(one));
    let mut by_arm: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
    for (one, log) in all() {
        by_arm.entry(one.arm).or_default().push((one.round, in_block(one, log)));
    }
    let in_other_rounds: BTreeMap<(usize, usize), f64> = by_arm
        .iter()
        .flat_map(|(arm, values)| {
            let rounds: BTreeSet<usize> = values.iter().map(|(round, _)| *round).collect();
            rounds.into_iter().filter_map(move |left_out| {
                let others = values.iter().filter(|(round, _)| *round != left_out);
                Some(((*arm, left_out), median(&others.map(|(_, value)| *value).collect::<Vec<f64>>())?))
            })
        })
        .collect();
    all().map(|(one, log)| Some(in_block(one, log) - in_other_rounds.get(&(one.arm, one.round))?)).collect()
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

/// The median rest of the neighbours of each observation; none where it has no neighbour with a rest.
fn around(observations: &[Observation], rests: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut blocks: BTreeMap<Block, Vec<usize>> = BTreeMap::new();
    for (index, one) in observations.iter().enumerate() {
        blocks.entry(block_of(one)).or_default().push(index);
    }
    let mut around = vec![None; observations.len()];
    for members in blocks.values() {
        for (place, index) in members.iter().enumerate() {
            let (before, from_here) = members.split_at(place);
            let before = before.iter().rev().take(REACH);
            let neighbours = before.chain(from_here.iter().skip(1).take(REACH));
            let told: Vec<f64> = neighbours.filter_map(|neighbour| *rests.get(*neighbour)?).collect();
            if let Some(slot) = around.get_mut(*index) {
                *slot = median(&told);
            }
        }
    }
    around
}

/// The slope of rests over what their neighbours tell, between 0 and 1.
fn weight(pairs: &[(f64, f64)]) -> f64 {
    let sizes: Vec<f64> = pairs.iter().map(|(rest, _)| rest.abs()).collect();
    let most = median(&sizes).unwrap_or(0.0) * DEVIATION_OF_MEDIAN_DEVIATION * OUTLYING;
    let usual = || pairs.iter().filter(|(rest, around)| rest.abs() <= most && around.abs() <= most);
    let square: f64 = usual().map(|(_, around)| around * around).sum();
    let product: f64 = usual().map(|(rest, around)| rest * around).sum();
    if square > 0.0 { (product / square).clamp(0.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of one block of twelve arms, each dearer than the one before, on a machine whose speed `slower` gives by round and
    /// place. Arms are in another order in each round.
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

    /// A machine that is now up to 5 % slower and now as much faster, in waves that are longer than a block.
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
    fn one_slice_alone_says_nothing_of_those_beside_it() {
        let found = slowdowns(&observed(6, |round, place| if round == 3 && place == 6 { 2.0 } else { 1.0 }));
        assert!(found.unwrap().factors.iter().all(|factor| (factor - 1.0).abs() < 1e-9));
    }

    #[test]
    fn a_slice_has_no_say_in_its_own_factor() {
        let quiet = slowdowns(&observed(40, waves)).unwrap();
        let mut spoilt = observed(40, waves);
        let slice = &mut spoilt[4 * 12 + 9];
        slice.value *= 1.1;
        let spoilt = slowdowns(&spoilt).unwrap();
        let moved = spoilt.factors[4 * 12 + 9] / quiet.factors[4 * 12 + 9] - 1.0;
        assert!(moved.abs() < 0.01, "{moved}");
    }

    #[test]
    fn where_there_is_no_answer_there_is_none() {
        assert_eq!(slowdowns(&[]), None);
        assert_eq!(slowdowns(&observed(1, |_, _| 1.0)), None);
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut observations = observed(3, |_, _| 1.0);
            observations[7].value = value;
            assert_eq!(slowdowns(&observations), None, "{value}");
        }
    }

    #[test]
    fn an_observation_without_neighbours_has_the_speed_of_its_block() {
        let alone = |round, value| Observation { round, block: 0, arm: 0, value };
        let found = slowdowns(&[alone(0, 20.0), alone(1, 21.0), alone(2, 22.0)]).unwrap();
        let expected = [20.0 / 21.0, 1.0, 22.0 / 21.0];
        assert!(found.weight < 1e-9, "{found:?}");
        let close = |(factor, expected): (&f64, f64)| (factor - expected).abs() < 1e-9;
        assert!(found.factors.iter().zip(expected).all(close), "{found:?}");
    }
}
