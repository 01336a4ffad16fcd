//! Bins of response times, whose width grows with the time.

/// Bins per factor of ten. A bin is then 12 % wide, far wider than the resolution of the histograms.
const BINS_PER_DECADE: f64 = 20.0;

/// Nanoseconds of a microsecond.
pub(super) const NS_PER_US: f64 = 1_000.0;

/// The bins with their counts, also empty ones between others.
pub(super) fn bins(counts: &[(u64, u64)]) -> Vec<(i32, u64)> {
    let mut bins: Vec<(i32, u64)> = Vec::new();
    for &(ns, count) in counts.iter().filter(|(_, count)| *count > 0) {
        let bin = bin_of(ns as f64 / NS_PER_US);
        let next = bins.last().map_or(bin, |(last, _)| last + 1);
        bins.extend((next..=bin).map(|bin| (bin, 0)));
        if let Some((_, sum)) = bins.last_mut() {
            *sum += count;
        }
    }
    bins
}

/// The bin of a time.
pub(super) fn bin_of(us: f64) -> i32 {
    // A time at the end of a bin belongs to it, whatever the rounding.
    let exact = BINS_PER_DECADE * us.max(1.0 / NS_PER_US).log10();
    (exact - 1e-9).ceil() as i32
}

pub(super) fn end_us(bin: i32) -> f64 {
    10_f64.powf(f64::from(bin) / BINS_PER_DECADE)
}
