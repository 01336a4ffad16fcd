//! Adds the batches of all runs: those for the intervals of quantiles, and those of the phases of requests, of bytes and of requests in
//! flight.

use std::collections::{BTreeMap, BTreeSet};

use hdrhistogram::Histogram;
use hoptax_result::{BytesOverTime, Histogram as Encoded, InFlightOverTime, RequestPhase};

use super::sums::{Part, add_to};
use crate::counts;
use crate::encoded::encode;

/// Decimal digits of the times in batches.
const DIGITS: u8 = 2;

/// The batches of all runs, added in order; empty unless they cover the same times in all runs. Generators start at slightly different
/// times, so batches may be offset by less than their length: neighbouring batches then mix.
pub(super) fn added(parts: &[Part<'_>]) -> Result<Vec<Histogram<u32>>, String> {
    let Some(first) = parts.first().filter(|_| are_alike(parts)) else { return Ok(Vec::new()) };
    (0..first.histograms.batches.len())
        .map(|number| {
            let mut all = counts::histogram(DIGITS);
            add_to(&mut all, parts, |histograms| histograms.batches.get(number)?.as_ref())?;
            Ok(all)
        })
        .collect()
}

/// The batches of the requests of these names, under the same condition. Also empty unless all names have the same number of batches.
pub(super) fn of_names(parts: &[Part<'_>], names: &[String]) -> Result<Vec<Histogram<u32>>, String> {
    let rows = parts.iter().flat_map(|part| part.histograms.by_request.values());
    let number = are_alike(parts).then(|| only(rows.map(|row| row.batches.len()))).flatten();
    (0..number.unwrap_or(0))
        .map(|number| {
            let mut all = counts::histogram(DIGITS);
            for name in names {
                add_to(&mut all, parts, |histograms| {
                    batch(&histograms.by_request.get(name)?.batches, number)
                })?;
            }
            Ok(all)
        })
        .collect()
}

/// The phases of the requests of all runs, under the same condition. Also empty unless all runs have phases, in the same number of batches.
pub(super) fn phases(parts: &[Part<'_>]) -> Result<BTreeMap<RequestPhase, Vec<Option<Encoded>>>, String> {
    let have_all = parts.iter().all(|part| !part.histograms.phases.is_empty());
    let of_runs = || parts.iter().flat_map(|part| &part.histograms.phases);
    let number =
        (have_all && are_alike(parts)).then(|| only(of_runs().map(|(_, times)| times.len()))).flatten();
    let names: BTreeSet<RequestPhase> = of_runs().map(|(phase, _)| *phase).collect();
    let added = |phase: RequestPhase, number: usize| {
        let mut all = counts::histogram::<u32>(DIGITS);
        add_to(&mut all, parts, |histograms| batch(histograms.phases.get(&phase)?, number))?;
        Ok::<_, String>(encode(&all))
    };
    let Some(number) = number else { return Ok(BTreeMap::new()) };
    let times = |phase| (0..number).map(|number| added(phase, number)).collect::<Result<Vec<_>, String>>();
    names.into_iter().map(|phase| Ok((phase, times(phase)?))).collect()
}

/// The bytes of all runs, added part by part up to the end of the first run to end. None unless all runs have them in parts of one length,
/// and began within the length of a part: bytes would be in the wrong part.
pub(super) fn bytes_over_time(parts: &[Part<'_>]) -> Option<BytesOverTime> {
    let all = parts.iter().map(|part| part.result.bytes_over_time.as_ref());
    let all = all.collect::<Option<Vec<&BytesOverTime>>>()?;
    let part_s = common_length_s(parts, all.iter().map(|one| one.part_s))?;
    let number = all.iter().map(|one| one.received.len().max(one.sent.len())).min()?;
    let sum = |of: fn(&BytesOverTime) -> &[u64]| -> Vec<u64> {
        let mut sums = vec![0_u64; number];
        for one in &all {
            for (sum, bytes) in sums.iter_mut().zip(of(one)) {
                *sum = sum.saturating_add(*bytes);
            }
        }
        sums
    };
    BytesOverTime::new(part_s, sum(|one| one.received.as_slice()), sum(|one| one.sent.as_slice()))
}

/// The means of requests in flight of all runs, added part by part under the same condition: at a moment, the load has as many in flight as
/// all runs have together.
pub(super) fn in_flight_over_time(parts: &[Part<'_>]) -> Option<InFlightOverTime> {
    let all = parts.iter().map(|part| part.result.in_flight_over_time.as_ref());
    let all = all.collect::<Option<Vec<&InFlightOverTime>>>()?;
    let part_s = common_length_s(parts, all.iter().map(|one| one.part_s))?;
    let number = all.iter().map(|one| one.means.len()).min()?;
    let mean = |one: &InFlightOverTime, number: usize| one.means.get(number).copied().flatten();
    let sum = |number: usize| all.iter().map(|one| mean(one, number)).sum::<Option<f64>>();
    InFlightOverTime::new(part_s, (0..number).map(sum).collect())
}

/// The length of the parts of all runs, seconds. None unless it is the same, and the runs began within it.
fn common_length_s(parts: &[Part<'_>], mut lengths_s: impl Iterator<Item = f64>) -> Option<f64> {
    let first_s = lengths_s.next()?;
    let is_common = lengths_s.all(|length_s| (length_s - first_s).abs() < 1e-9);
    (is_common && are_near(parts.iter().map(|part| part.from_s), first_s)).then_some(first_s)
}

fn batch(batches: &[Option<Encoded>], number: usize) -> Option<&Encoded> {
    batches.get(number)?.as_ref()
}

/// The common value, if all are equal.
fn only(mut all: impl Iterator<Item = usize>) -> Option<usize> {
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// True if all records have the same number of batches, and begin and end within a batch of each other.
fn are_alike(parts: &[Part<'_>]) -> bool {
    let Some(first) = parts.first() else { return false };
    let number = first.histograms.batches.len();
    let batch_s = first.result.recorded_s / number.max(1) as f64;
    number > 0
        && parts.iter().all(|part| part.histograms.batches.len() == number)
        && are_near(parts.iter().map(|part| part.from_s), batch_s)
        && are_near(parts.iter().map(Part::to_s), batch_s)
}

/// True if there are times, and all are less than this far from each other.
fn are_near(times_s: impl Iterator<Item = f64> + Clone, apart_s: f64) -> bool {
    let (least, most) = (times_s.clone().reduce(f64::min), times_s.reduce(f64::max));
    most.zip(least).is_some_and(|(most, least)| most - least < apart_s)
}
