//! Adds the batches of all runs: those for the intervals of quantiles, and those of the phases of requests.

use std::collections::{BTreeMap, BTreeSet};

use hdrhistogram::Histogram;
use hoptax_result::{Histogram as Encoded, RequestPhase};

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
    let is_near = |times_s: Vec<f64>| {
        let (least, most) =
            (times_s.iter().copied().reduce(f64::min), times_s.iter().copied().reduce(f64::max));
        most.zip(least).is_some_and(|(most, least)| most - least < batch_s)
    };
    number > 0
        && parts.iter().all(|part| part.histograms.batches.len() == number)
        && is_near(parts.iter().map(|part| part.from_s).collect())
        && is_near(parts.iter().map(Part::to_s).collect())
}
