//! Costs as shares of the level that they are differences from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CostMeasure;
use crate::Interval;

/// A cost as a share of the level of the arm compared with: the mean of the shares of all rounds, or for a tail of response time the share
/// over all rounds. Reference and arm both vary in its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CostShare {
    /// The cost.
    pub measure: CostMeasure,
    /// The share: 0.1 for a tenth more.
    pub share: Interval,
}

/// The costs of an arm as shares, over all or under one load, in the order of measures. A cost whose share is not known has none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CostShares(Vec<CostShare>);

impl CostShares {
    /// The measures of costs that have a share here. That of CPU time is a field of its own, [`super::Cost::cpu_share`].
    pub fn measures() -> impl Iterator<Item = CostMeasure> {
        let of_slices = CostMeasure::OF_SLICES.into_iter().filter(|measure| *measure != CostMeasure::CpuUs);
        of_slices.chain(CostMeasure::of_rounds())
    }

    /// The share of a cost.
    pub fn get(&self, measure: CostMeasure) -> Option<&CostShare> {
        self.0.iter().find(|one| one.measure == measure)
    }

    /// Adds a share, instead of that of the same cost.
    pub fn insert(&mut self, share: CostShare) {
        self.0.retain(|one| one.measure != share.measure);
        self.0.push(share);
        self.0.sort_by_key(|one| one.measure);
    }

    /// Sets or removes the share of a cost.
    pub fn set(&mut self, measure: CostMeasure, share: Option<Interval>) {
        match share {
            None => self.0.retain(|one| one.measure != measure),
            Some(share) => self.insert(CostShare { measure, share }),
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<CostShare> for CostShares {
    fn from_iter<T: IntoIterator<Item = CostShare>>(shares: T) -> Self {
        let mut all = Self::default();
        for share in shares {
            all.insert(share);
        }
        all
    }
}
