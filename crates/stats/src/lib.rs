//! Statistics of recorded numbers: estimates and their confidence intervals.
//!
//! All functions are pure: they read no file or clock, and their random numbers have a fixed seed. Each documents its method, source and degenerate
//! cases, and returns `None` where no valid result exists.
//!
//! # Which interval is used where
//!
//! A study uses one kind of interval: Student's, over rounds. Only numbers that are not a mean over rounds, such as a tail
//! quantile or a fitted law, need another one, over the same rounds. A round starts every process afresh, and a process keeps
//! its own level of CPU time for as long as it lives. Rounds are therefore the topmost replicate and the only
//! independent observations of a study. Everything below them, blocks, slices and requests, is first reduced to one
//! number per round.
//!
//! | quantity | one number for each round | interval |
//! |---|---|---|
//! | cost: CPU time, quantile of response time, or rate against the baseline | [`hodges_lehmann()`] of the differences, paired by block and by process; where the baseline has copies, the mean over them | [`paired_cost`], [`paired_cost_of_copies`] |
//! | the same over two to four rounds, with six costs against one arm | the same | Student's with a moderated variance: [`moderated()`] |
//! | cost in response time, rate or memory as a share of the level of the arm compared with | that of the cost, divided by the level in the round | [`share_of_level()`], or with a moderated variance of [`shares_of_level`] |
//! | cost per unit of a quantity that differs between arms, and its bend | slope and sag over the costs of the round | [`line()`] |
//! | time that several proxies add, and its tail | none: it is computed from the times of all rounds, with each left out | [`jackknife()`] |
//! | rate over a size that differs between arms or loads | the rate at each size | jackknife over rounds, [`scalability()`] |
//! | rate at which rate over response time is highest | the logarithm of that ratio at each rate | set of rates that none beats, [`knee()`] |
//! | ratio of the highest rates of two arms | the logarithm of the ratio | [`ratio_over_rounds`] |
//! | sum of several costs | the sum of their numbers for the round | [`sum_of_costs`]; of moderated costs, [`sum_of_moderated`] |
//! | whether a cost among many is above zero | those of the cost | its interval, widened by [`dunnett()`] |
//! | distance of a study from earlier sittings of a reference | none: the studies share no rounds | [`from_reference`] of estimates and standard errors |
//! | sum of numbers of several studies | none: the studies share no rounds | [`sum_of_independent`] of the intervals |
//! | difference of a number of two runs | none: the runs share no rounds | the same, decided by [`decide_by_interval`] |
//! | an arm's own CPU time, quantile or rate | [`median()`] of its slices | [`mean_over_rounds`] |
//! | quantile of response time that a slice has too few requests for, its difference from the baseline's, and that as a share | none: each is computed from the times of all rounds, with each left out | [`quantile_level`], [`quantile_cost()`], [`quantile_share`] |
//! | share of requests that fail or are late in a timeline | their number and that of all requests | [`event_share()`] |
//! | difference of the shares of slices that a rule chose, of two arms | their numbers, and those of all slices | [`share_difference`], with the [`slice_dispersion`] over rounds |
//! | share of requests that go one of two ways, each by its own chance | none: the requests are independent | [`exact_share()`] |
//! | time that a failure hurts, in intervals of a timeline | the length of these intervals | [`mean_of_steps`] |
//!
//! Before pairing, the CPU times of slices are normalized to the machine's usual speed, which is estimated from other
//! arms: [`slowdowns()`], and for a comparison [`Slowdowns::between`].
//!
//! A single load has no rounds. Its quantiles get the interval of [`quantile_ranks`], from order statistics and batches of its duration.
//!
//! A quantile of a sample is reported only if [`quantile_supported`] allows it. [`overlaps()`] tests whether two studies
//! agree. [`change_points()`] finds lasting changes over many of them.
//!
//! `tests/coverage.rs` simulates studies with levels that live as long as a process (normal, and in two modes as
//! measured), drift, slices with heavy tails and slices set aside, from 6 rounds of 4 blocks to 12 of 12. The 95 %
//! interval covers the true cost in 93 to 97 % of them. Alternatives do worse: pooling the blocks of all rounds covers
//! in 60 to 80 %, a single start of 80 blocks in 40 %. `tests/whole_study` does the same for every number reported of
//! an arm, with 1 to 100 arms, with copies of the baseline, on a machine that drifts and on one that does not.
//!
//! # Why there is no textbook interval of a quantile
//!
//! The usual distribution-free interval takes two order statistics, at the ranks between which a binomial count falls
//! with 95 %. It assumes that values are independent. Response times are not: a request that finds a queue leaves one
//! to the next. The values beyond a high quantile come in runs, so there are far fewer independent events than values,
//! and the interval is far too narrow. In the simulation of `tests/coverage.rs` the nominal 95 % interval of the p99 of
//! 20,000 requests to an M/M/1 queue at utilisation 0.7 covers the true p99 in about one run of six; with the same
//! distribution and no queue it covers at the nominal rate. Resampling single requests (the bootstrap) fails in the
//! same way. The spread between rounds needs no such assumption: requests within a round may be correlated, since
//! rounds are independent of each other.

mod chance;
mod change_points;
mod critical;
mod decision;
mod dunnett;
mod event_share;
mod exact_share;
mod exponential;
mod hodges_lehmann;
mod independent;
mod jackknife;
mod knee;
mod lateness;
mod line;
mod mixture;
mod moderated;
mod modes;
mod null_reach;
mod order_statistics;
mod over_rounds;
mod overlaps;
mod paired;
mod polygamma;
mod pooled;
mod quantile;
mod quantile_bound;
mod quantile_cost;
mod random_effects;
mod rank_correlation;
mod ratio;
mod scalability;
pub mod search;
mod sequential;
mod share_cost;
mod share_of_level;
mod simultaneous;
mod slice_share;
mod slowdown;
mod steady_state;
mod stepped;
mod stored_reference;
mod weighted;

pub use chance::{chance_of_difference, standard_error};
pub use change_points::{ChangePoint, change_points};
pub use decision::{DECISIVE, decide, decide_by_interval};
pub use dunnett::{CostsAgainstReference, dunnett};
pub use event_share::{EventCount, event_share};
pub use exact_share::exact_share;
pub use exponential::exponential_distance;
pub use hodges_lehmann::hodges_lehmann;
pub use independent::sum_of_independent;
pub use jackknife::jackknife;
pub use knee::{Knee, TimesAtRate, knee};
pub use lateness::lateness;
pub use line::{Line, Point, line};
pub use moderated::{MOST_REPLICATES, Moderated, Replicates, Variance, moderated, sum_of_moderated};
pub use modes::{CountedValue, FoundMode, modes};
pub use null_reach::null_reach;
pub use order_statistics::{Batch, Ranks, quantile_ranks};
pub use over_rounds::mean_over_rounds;
pub use overlaps::overlaps;
pub use paired::{CostRounds, costs_by_round, paired_cost, paired_cost_of_copies, sum_of_costs};
pub use pooled::pooled_values;
pub use quantile::{median, quantile, quantile_of, quantile_supported, samples_for_quantile};
pub use quantile_bound::{Ends, quantile_cost_ends, quantile_ends};
pub use quantile_cost::{
    RoundTimes, effective_responses, quantile_cost, quantile_cost_half_width, quantile_level, quantile_share,
};
pub use random_effects::{MachineCost, Sitting, random_effects};
pub use rank_correlation::serial_correlation;
pub use ratio::{RatioRound, ratio_over_rounds};
pub use scalability::{FittedPoint, MIN_SIZES, NoScalability, Scalability, SizedRates, scalability};
pub use sequential::{
    LOOK_CONFIDENCE, OF_COST, half_width_after, looks, precise_enough, rounds_needed, scaled_half_width,
};
pub use share_cost::{share_cost, slow_share};
pub use share_of_level::{CostAtLevel, share_of_level, shares_of_level};
pub use simultaneous::{half_width_for_limit, simultaneous};
pub use slice_share::{ChosenInRound, ChosenSlices, ShareDifference, share_difference, slice_dispersion};
pub use slowdown::{Observation, Slowdowns, slowdowns};
pub use steady_state::truncation;
pub use stepped::mean_of_steps;
pub use stored_reference::{FromReference, from_reference};
pub use weighted::Weighted;
