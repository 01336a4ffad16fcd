//! The number of rounds that an interval is over: those in which its arms have slices that count.

use std::collections::BTreeSet;

use super::{ArmResult, CostMeasure, StudyResult};
use crate::{Interval, StudyRound};

/// The arm that a number is of, and the arm that it is a difference from.
#[derive(Clone, Copy, Debug)]
pub struct Contrast<'a> {
    /// The id of the arm.
    pub arm: &'a str,
    /// The id of the other one; none if the number is of the arm alone.
    pub other: Option<&'a str>,
}

impl ArmResult {
    /// Its costs: the arm, and the one that it is compared with.
    pub fn contrast(&self) -> Contrast<'_> {
        Contrast { arm: &self.id, other: self.compared_with.as_deref() }
    }
}

/// A column of the samples, and true if time that a proxy waited for its processor invalidates it.
type Column = (&'static str, bool);

impl StudyResult {
    /// Number of independent observations behind the interval of a measure of an arm, or of its difference from another: its usable
    /// rounds, or the sittings if the result combines several that all state the number, however many rounds they have.
    pub fn replicates(&self, contrast: Contrast<'_>, measure: CostMeasure, load: Option<&str>) -> u32 {
        if self.sittings.len() > 1 {
            return self.sittings.len() as u32;
        }
        self.usable_rounds(contrast, measure, load)
    }

    /// Degrees of freedom of the interval of a measure of an arm, or of its difference from another, also as a share of that arm's level, by
    /// which its half-width is more than a standard error: those that the interval states ([`Interval::degrees_of_freedom`]), or one less
    /// than its [`StudyResult::replicates`].
    pub fn degrees_of_freedom(
        &self,
        interval: &Interval,
        contrast: Contrast<'_>,
        measure: CostMeasure,
        load: Option<&str>,
    ) -> f64 {
        let own = || f64::from(self.replicates(contrast, measure, load)) - 1.0;
        interval.degrees_of_freedom.unwrap_or_else(own)
    }

    /// Rounds behind the interval of a measure of an arm, or of its difference from another. Disturbed slices of one arm leave it
    /// fewer than the study has, and Student's quantile depends on their number. Of several sittings as one result, which has no
    /// rounds, it is that of the sitting with the fewest. Any other result without rounds has as many as it states.
    pub fn usable_rounds(&self, contrast: Contrast<'_>, measure: CostMeasure, load: Option<&str>) -> u32 {
        let completed = self.plan.rounds_completed;
        if self.rounds.is_empty() {
            return self.sittings.iter().map(|sitting| sitting.rounds).min().unwrap_or(completed);
        }
        let column: Column = match measure {
            CostMeasure::CpuUs | CostMeasure::CpuShare => ("cpu_us_per_request", false),
            CostMeasure::MaxRate => ("rate", true),
            // Measured once in each round, whatever happens to its slices.
            CostMeasure::OfRounds(_) => return completed,
            // A round has times of all quantiles of all slices or of none.
            _ => ("response_p50_us", true),
        };
        let load = load.or_else(|| self.plan.usual_load_name(contrast.arm, measure));
        let Some(load) = load else { return completed };
        if measure == CostMeasure::ResponseQuietP99Us {
            let arms = || std::iter::once(contrast.arm).chain(contrast.other);
            let is_usable = |round: &&StudyRound| arms().all(|arm| has_quiet_responses(round, arm, load));
            return self.rounds.iter().filter(is_usable).count() as u32;
        }
        let is_usable = |round: &&StudyRound| {
            let own = blocks(round, contrast.arm, load, column);
            match contrast.other {
                None => !own.is_empty(),
                Some(other) => !own.is_disjoint(&blocks(round, other, load, column)),
            }
        };
        self.rounds.iter().filter(is_usable).count() as u32
    }
}

/// Returns true if an arm answered a request in a quiet slice.
fn has_quiet_responses(round: &StudyRound, arm: &str, load: &str) -> bool {
    let mut samples = round.samples.iter().filter(|sample| sample.arm == arm && sample.load == load);
    samples.any(|sample| sample.quiet.as_ref().is_some_and(|quiet| quiet.responses.is_some()))
}

/// The blocks in which an arm has a slice that counts. A cost is a difference of slices of the same block.
fn blocks(round: &StudyRound, arm: &str, load: &str, (name, is_timed): Column) -> BTreeSet<u32> {
    let sample = round.samples.iter().find(|sample| sample.arm == arm && sample.load == load);
    let Some((sample, values)) = sample.and_then(|sample| Some((sample, sample.values.get(name)?))) else {
        return BTreeSet::new();
    };
    let slices = sample.block.iter().zip(&sample.set_aside).zip(values);
    let counting = slices.filter(|((_, by), value)| {
        value.is_some() && !by.iter().any(|one| is_timed || one.invalidates_cpu_time())
    });
    counting.map(|((block, _), _)| *block).collect()
}
