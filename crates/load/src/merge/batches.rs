//! Batches of the record of all runs, from which intervals of quantiles are computed.

use hdrhistogram::Histogram;

use super::sums::{Part, add_to};
use crate::counts;

/// Decimal digits of the times in batches.
const DIGITS: u8 = 2;

/// The batches of all runs, added in their order; empty unless the batches of all runs cover the same times. Generators start
/// at slightly different times, so batches may be apart by less than the length of one, which mixes neighbouring ones.
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
