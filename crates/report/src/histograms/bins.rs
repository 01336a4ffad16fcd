//! Bins of response times, whose width grows with the time.

use hoptax_result::CountedTime;

/// Bins per factor of ten. Each bin is then 12 % wide, which is much coarser than the resolution of the histograms.
const BINS_PER_DECADE: f64 = 20.0;

/// Nanoseconds of a microsecond.
pub(super) const NS_PER_US: f64 = 1_000.0;

/// Responses in a bin.
pub(super) struct CountedBin {
    /// The number of the bin, for [`end_us`].
    pub(super) bin: i32,
    pub(super) count: u64,
}

/// The bins, including empty ones between others.
pub(super) fn bins(times: &[CountedTime]) -> Vec<CountedBin> {
    let mut bins: Vec<CountedBin> = Vec::new();
    for time in times.iter().filter(|time| time.count > 0) {
        let bin = bin_of(time.ns as f64 / NS_PER_US);
        let next = bins.last().map_or(bin, |last| last.bin + 1);
        bins.extend((next..=bin).map(|bin| CountedBin { bin, count: 0 }));
        if let Some(last) = bins.last_mut() {
            last.count += time.count;
        }
    }
    bins
}

/// The bin of a time.
pub(super) fn bin_of(us: f64) -> i32 {
    // A time at the end of a bin belongs to it, despite rounding.
    let exact = BINS_PER_DECADE * us.max(1.0 / NS_PER_US).log10();
    (exact - 1e-9).ceil() as i32
}

pub(super) fn end_us(bin: i32) -> f64 {
    10_f64.powf(f64::from(bin) / BINS_PER_DECADE)
}
