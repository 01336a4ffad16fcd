//! The response times of rounds, decoded from their histograms.

use std::collections::BTreeMap;

use hoptax_result::{CountedTime, Sample, StudyRound};

use super::histogram;

/// Response times of one round, by arm and load.
pub(super) type Times = BTreeMap<(String, String), Vec<CountedTime>>;

/// The response times of all rounds.
pub(super) fn decode(rounds: &[StudyRound]) -> Vec<Times> {
    let of_sample = |sample: &Sample| {
        let counts = histogram::counts(Some(sample.responses.as_ref()?));
        Some(((sample.arm.clone(), sample.load.clone()), counts))
    };
    rounds.iter().map(|round| round.samples.iter().filter_map(of_sample).collect()).collect()
}
