//! The response times of rounds, decoded from their histograms.

use std::collections::BTreeMap;

use hoptax_result::{CountedTime, Histogram, Sample, StudyRound};

use super::histogram;

/// Response times of one round, by arm and load.
pub(super) type Times = BTreeMap<(String, String), Vec<CountedTime>>;

/// Times of all rounds from a histogram of each sample: response times, or send lags.
pub(super) fn decode(rounds: &[StudyRound], of: fn(&Sample) -> Option<&Histogram>) -> Vec<Times> {
    let of_sample = |sample: &Sample| {
        let counts = histogram::counts(Some(of(sample)?));
        Some(((sample.arm.clone(), sample.load.clone()), counts))
    };
    rounds.iter().map(|round| round.samples.iter().filter_map(of_sample).collect()).collect()
}

/// The histograms of a sample that quantiles are taken from, with how late the generator was.
#[derive(Clone, Copy)]
pub(super) struct Source {
    pub(super) responses: fn(&Sample) -> Option<&Histogram>,
    pub(super) own_lag: fn(&Sample) -> Option<&Histogram>,
}

/// All slices that count.
pub(super) const ALL: Source =
    Source { responses: |sample| sample.responses.as_ref(), own_lag: |sample| sample.own_lag.as_ref() };

/// Quiet slices.
pub(super) const QUIET: Source = Source {
    responses: |sample| sample.quiet.as_ref()?.responses.as_ref(),
    own_lag: |sample| sample.quiet.as_ref()?.own_lag.as_ref(),
};
