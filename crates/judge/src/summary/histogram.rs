//! Histograms in results of studies.

use hdrhistogram::iterators::IterationValue;
use hoptax_load::encoded::{decode, encode};
use hoptax_plan::record::Times;
use hoptax_result::{CountedTime, Histogram, ResponseHistogram, Sample, StudyResult, StudyRound};

/// Merges the times; none if there are no times at all.
pub(super) fn merged<'a>(times: impl Iterator<Item = &'a Times>) -> Option<Histogram> {
    let mut all = hoptax_load::histogram();
    times.for_each(|one| one.add_to(&mut all));
    encode(&all)
}

/// Decodes a histogram; empty if there is none or it is invalid.
pub(super) fn decoded(encoded: Option<&Histogram>) -> hdrhistogram::Histogram<u64> {
    encoded.and_then(decode).unwrap_or_else(hoptax_load::histogram)
}

/// Its times with their counts, ascending.
pub(super) fn counts(encoded: Option<&Histogram>) -> Vec<CountedTime> {
    values(&decoded(encoded))
}

fn values(times: &hdrhistogram::Histogram<u64>) -> Vec<CountedTime> {
    let time = |one: IterationValue<u64>| CountedTime::new(one.value_iterated_to(), one.count_at_value());
    times.iter_recorded().map(time).collect()
}

/// Response times of every arm under every open loop, over all rounds, in the order of the arms; those without times are
/// left out.
pub fn response_histograms(result: &StudyResult) -> Vec<ResponseHistogram> {
    let mut found = Vec::new();
    for arm in &result.arms {
        for load in &result.plan.loads {
            let of_both = |sample: &&Sample| sample.arm == arm.id && sample.load == load.name;
            let samples = result.rounds.iter().flat_map(|round| &round.samples).filter(of_both);
            let mut times = hoptax_load::histogram();
            for sample in samples {
                // Both have the bounds of `hoptax_load::histogram`. Histograms of other programs may have other bounds, and are left out.
                let _ = times.add(decoded(sample.responses.as_ref()));
            }
            if !times.is_empty() {
                found.push(ResponseHistogram {
                    arm: arm.id.clone(),
                    load: load.name.clone(),
                    counts: values(&times),
                });
            }
        }
    }
    found
}

/// Response times of an arm under an open loop in each round, ascending; empty for a round without any.
pub fn response_times_by_round(result: &StudyResult, arm: &str, load: &str) -> Vec<Vec<CountedTime>> {
    let of_round = |round: &StudyRound| {
        let sample = round.samples.iter().find(|sample| sample.arm == arm && sample.load == load);
        sample.map(|sample| counts(sample.responses.as_ref())).unwrap_or_default()
    };
    result.rounds.iter().map(of_round).collect()
}

#[cfg(test)]
mod tests {
    use hoptax_load::Recording;
    use hoptax_plan::record::{RoundRecord, SliceRecord};

    use super::*;

    #[test]
    fn written_histograms_are_read_back() {
        let mut recording = Recording::default();
        for us in [40, 41, 41, 900, 5_000] {
            recording.response.record(us * 1_000);
        }
        let mut round = RoundRecord::default();
        round.add(SliceRecord::default(), &recording, true);
        let encoded = merged(round.responses.values()).unwrap();
        let counts = counts(Some(&encoded));
        let whole = recording.response.histogram();
        let expected: Vec<CountedTime> = whole
            .iter_recorded()
            .map(|one| CountedTime::new(one.value_iterated_to(), one.count_at_value()))
            .collect();
        assert_eq!(counts, expected);
        assert_eq!(merged([].into_iter()), None);
    }

    #[test]
    fn the_times_of_all_rounds_are_added() {
        let mut result = crate::fixture::study();
        let (arm, load) = (result.arms[0].id.clone(), result.plan.loads[0].name.clone());
        let mut times = hoptax_load::histogram();
        times.record(5_000).unwrap();
        let expected = [CountedTime::new(times.highest_equivalent(5_000), 2)];
        let responses = encode(&times);
        let sample = Sample { arm: arm.clone(), load: load.clone(), responses, ..Sample::default() };
        let round = hoptax_result::StudyRound { samples: vec![sample], ..Default::default() };
        result.rounds = vec![round.clone(), round];
        let found = response_histograms(&result);
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((&one.arm, &one.load, one.counts.as_slice()), (&arm, &load, expected.as_slice()));
        let by_round = response_times_by_round(&result, &arm, &load);
        assert_eq!(by_round, vec![vec![CountedTime::new(times.highest_equivalent(5_000), 1)]; 2]);
        assert_eq!(response_times_by_round(&result, &arm, "other"), vec![Vec::new(); 2]);
    }

    #[test]
    fn an_invalid_histogram_is_empty() {
        for text in ["", "!", "AAAA", "HISTFAAAAB"] {
            assert!(decoded(Some(&Histogram(text.to_owned()))).is_empty(), "{text}");
        }
    }
}
