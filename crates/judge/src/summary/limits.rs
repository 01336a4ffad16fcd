//! Accuracy of rate limits: requests admitted, divided by those that should have been.

use std::collections::{BTreeMap, BTreeSet};

use hoptax_plan::record::{RoundRecord, SliceRecord, Times};

/// The status of admitted requests.
const ADMITTED: u16 = 200;

/// For each of these slices, with their indexes in the record, the requests that a limit admitted divided by those that it should have
/// admitted: the tokens in its bucket at the start of the slice and those added during it, or the number of requests if that is less. None
/// for a slice before which the state of the bucket is not known, such as the first of a round, since the warm-up is not recorded.
pub(super) fn admitted(
    record: &RoundRecord,
    slices: &[(usize, &SliceRecord)],
    limit: f64,
) -> Vec<Option<f64>> {
    let arms: BTreeSet<usize> = slices.iter().map(|(_, slice)| slice.arm).collect();
    let held: BTreeMap<usize, f64> = arms.into_iter().flat_map(|arm| held(record, arm, limit)).collect();
    let ratio = |(number, slice): &(usize, &SliceRecord)| {
        let expected = (slice.book.answered as f64).min(held.get(number)? + limit * slice.recorded_s);
        (expected > 0.0).then_some(limited(record, *number)?.passed / expected)
    };
    slices.iter().map(ratio).collect()
}

/// Responses of a slice under a limit.
struct Limited {
    passed: f64,
    refused: f64,
}

/// Number of responses of a slice that passed the limit, and that it refused.
fn limited(round: &RoundRecord, number: usize) -> Option<Limited> {
    let responses = round.by_status.get(&number)?;
    let all = responses.values().map(Times::count).sum::<u64>();
    let passed = responses.get(&ADMITTED).map_or(0, Times::count);
    Some(Limited { passed: passed as f64, refused: (all - passed) as f64 })
}

/// The tokens in the bucket of an arm at the start of each slice, by the index of the slice, where known. A bucket
/// holds the tokens that are added within a second, and is empty at the end of a slice in which it refused
/// requests.
fn held(round: &RoundRecord, arm: usize, limit: f64) -> BTreeMap<usize, f64> {
    let mut held = BTreeMap::new();
    // The end of the last slice of each copy, and the tokens in its bucket then.
    let mut before: BTreeMap<u32, (f64, Option<f64>)> = BTreeMap::new();
    for (number, slice) in round.slices.iter().enumerate().filter(|(_, slice)| slice.arm == arm) {
        let at_start = before.get(&slice.copy).and_then(|&(ended_s, left)| {
            let filled = limit * (slice.began_s - ended_s).max(0.0);
            if filled >= limit { Some(limit) } else { Some((left? + filled).min(limit)) }
        });
        held.extend(at_start.map(|at_start| (number, at_start)));
        let left = match limited(round, number) {
            Some(Limited { refused, .. }) if refused > 0.0 => Some(0.0),
            Some(Limited { passed, .. }) => {
                at_start.map(|held| (held + limit * slice.recorded_s - passed).clamp(0.0, limit))
            }
            None => None,
        };
        before.insert(slice.copy, (slice.began_s + slice.wall_s, left));
    }
    held
}

#[cfg(test)]
mod tests {
    use hoptax_load::{Distribution, Recording};
    use hoptax_result::Book;

    use super::*;

    /// A round with slices of 1 s of the limit, each with its start and how many of its 500 requests passed.
    fn round(slices: &[(f64, u64)]) -> RoundRecord {
        let mut record = RoundRecord::default();
        for (block, &(began_s, passed)) in (0..).zip(slices) {
            let book = Book { planned: 500, sent: 500, answered: 500, ..Book::default() };
            let slice = SliceRecord {
                block,
                arm: 1,
                began_s,
                wall_s: 1.0,
                recorded_s: 1.0,
                book,
                ..SliceRecord::default()
            };
            record.add(slice, &Recording::default(), true);
            let of = |count: u64| {
                let mut times = Distribution::default();
                (0..count).for_each(|_| times.record(50_000));
                times
            };
            record.add_statuses(&BTreeMap::from([(200, of(passed)), (429, of(500 - passed))]));
        }
        record
    }

    /// The ratios of all slices of a round.
    fn ratios(round: &RoundRecord) -> Vec<Option<f64>> {
        admitted(round, &round.slices.iter().enumerate().collect::<Vec<_>>(), 100.0)
    }

    /// The ratio of the last of these slices.
    fn ratio(slices: &[(f64, u64)]) -> Option<f64> {
        ratios(&round(slices)).into_iter().last().flatten()
    }

    #[test]
    fn a_bucket_admits_its_tokens_and_its_refill() {
        // Full again after two seconds: a hundred at once, and a hundred during the second.
        assert_eq!(ratio(&[(0.0, 7), (3.0, 200)]), Some(1.0));
        assert_eq!(ratio(&[(0.0, 7), (3.0, 250)]), Some(1.25));
        // Half a second after its last slice it is half full.
        assert_eq!(ratio(&[(0.0, 7), (1.5, 150)]), Some(1.0));
    }

    #[test]
    fn a_bucket_with_fewer_requests_than_its_refill_stays_full() {
        // Three consecutive slices: at first the limit refuses, then a hundred a second pass, then five hundred are
        // sent.
        let mut record = round(&[(0.0, 7), (3.0, 100), (4.0, 200)]);
        record.by_status.get_mut(&1).unwrap().remove(&429);
        record.slices[1].book.answered = 100;
        let ratios = ratios(&record);
        assert!((ratios[2].unwrap() - 1.0).abs() < 1e-9, "{ratios:?}");
    }

    #[test]
    fn the_first_slice_of_a_round_has_no_ratio() {
        assert_eq!(ratio(&[(0.0, 7)]), None);
    }
}
