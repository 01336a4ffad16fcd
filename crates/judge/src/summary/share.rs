//! The costs of an arm as shares of the level of the arm that it is compared with, formed within rounds, each by the statistic of its cost.
//! The share of CPU time is formed slice by slice, with its cost.

use hoptax_result::{ArmResult, Cost, CostMeasure, CostShare, CostShares, Interval, RoundMeasure};
use hoptax_stats::{CostAtLevel, share_of_level};

use super::once::{costs_at_levels, resolution};
use super::response::{self, Round};
use super::samples::Rounds;
use crate::measures::{self, Measure};

/// An arm under a load, and the arm that it is compared with.
#[derive(Clone, Copy)]
pub(super) struct Compared<'a> {
    pub(super) arm: &'a str,
    pub(super) other: &'a str,
    pub(super) load: &'a str,
}

/// The shares of the costs under a load that `cost` states. `times` are the response times of both arms, of all slices and of quiet ones.
pub(super) fn of_load(
    rounds: &Rounds<'_>,
    compared: Compared<'_>,
    times: [&[Round<'_>]; 2],
    cost: &Cost,
) -> CostShares {
    let confidence = rounds.confidence;
    let of_slices = |measure: &Measure| {
        let Compared { arm, other, load } = compared;
        let both = rounds.costs_at_levels(arm, other, load, measure)?;
        share_of_level(&both.into_iter().flatten().collect::<Vec<CostAtLevel>>(), confidence)
    };
    let [all, quiet] = times;
    let share = |measure: CostMeasure| {
        measure.interval(cost)?;
        let share = match measure {
            CostMeasure::MaxRate => of_slices(&measures::RATE),
            CostMeasure::ResponseP50Us => of_slices(&measures::RESPONSE_P50),
            CostMeasure::ResponseP90Us => response::share(all, 0.9, confidence),
            CostMeasure::ResponseP99Us => response::share(all, 0.99, confidence),
            CostMeasure::ResponseQuietP99Us => response::share(quiet, 0.99, confidence),
            CostMeasure::CpuUs | CostMeasure::CpuShare | CostMeasure::OfRounds(_) => None,
        };
        Some(CostShare { measure, share: share? })
    };
    CostShares::measures().filter_map(share).collect()
}

/// The shares of the costs in measures that an arm has once per round.
pub(super) fn of_rounds(rounds: &Rounds<'_>, arm: &ArmResult) -> Vec<CostShare> {
    let share = |measure: RoundMeasure| {
        let both = costs_at_levels(rounds, arm, measure);
        let share = share_of_level(&both, rounds.confidence)?;
        let level = both.iter().map(|round| round.level).sum::<f64>() / both.len() as f64;
        // Both numbers of the quotient have the resolution.
        let resolution = resolution(rounds.all, &arm.id, measure).unwrap_or(0.0);
        let least = resolution * (1.0 + share.estimate.abs()) / level;
        let share = Interval::around(share.estimate, share.half_width().max(least));
        Some(CostShare { measure: CostMeasure::OfRounds(measure), share })
    };
    RoundMeasure::compared().filter_map(share).collect()
}
