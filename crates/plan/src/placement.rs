//! Detects measurements that are noisier while the hypervisor runs generator and proxy on distant cores.
//!
//! On some hosts, slices are several times noisier when the processors are apart. There, slices wait while the processors
//! are further apart than at the study's median, and those measured so are set aside. On other hosts only the level
//! differs, which cancels in differences within a block. Replicates show which kind a host is: copies of one arm, measured
//! in one block at one placement, differ by noise alone. The estimate uses no difference between arms. For it, "apart" is
//! relative to the 10 % quantile of the readings, so that it sees a close placement that is rare.

use std::collections::BTreeMap;

use hoptax_stats::{median, quantile};

use crate::record::SliceRecord;

/// Largest ratio of a handover to the usual one at the same placement. Readings of one placement are within a fifth of
/// each other; those of another placement are several times as long.
pub const MAX_HANDOVER_RATIO: f64 = 1.5;
/// Slices beyond the first of each group of replicates that an estimate needs at each placement.
const MIN_REPLICATES: usize = 20;
/// Minimum ratio of the two spreads at which distant placements are set aside.
const NOISIER: f64 = 1.5;

/// Returns true if slices are noisier while the processors are apart. None as long as there are too few replicates at either
/// placement.
pub fn is_noisier_apart<'a>(slices: impl Iterator<Item = &'a SliceRecord> + Clone) -> Option<bool> {
    let readings: Vec<f64> = slices.clone().filter_map(|slice| slice.handover_ns).collect();
    let close_ns = quantile(&readings, 0.1)? * MAX_HANDOVER_RATIO;
    let mut groups: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    // Generator and proxies that share a processor have no handover.
    for (slice, handover_ns) in slices.filter_map(|slice| Some((slice, slice.handover_ns?))) {
        if slice.answered > 0 && slice.proxy_cpu_ns > 0 {
            let key = (handover_ns > close_ns, slice.round, slice.load, slice.block, slice.arm);
            groups.entry(key).or_default().push((slice.proxy_cpu_ns as f64 / slice.answered as f64).ln());
        }
    }
    let spread = |is_apart: bool| {
        let (mut residuals, mut replicates) = (Vec::new(), 0);
        for ((apart, ..), values) in &groups {
            let count = values.len() as f64;
            if *apart == is_apart && values.len() > 1 {
                let mean = values.iter().sum::<f64>() / count;
                // A mean of few values lies closer to them than the true one does.
                let scale = (count / (count - 1.0)).sqrt();
                residuals.extend(values.iter().map(|value| (value - mean).abs() * scale));
                replicates += values.len() - 1;
            }
        }
        // The median: a few slices with another disturbance would dominate a mean.
        (replicates >= MIN_REPLICATES).then(|| median(&residuals)).flatten()
    };
    Some(spread(true)? > NOISIER * spread(false)?)
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// Blocks with three copies of an arm each. Every second block has the processors apart, where costs are a tenth
    /// higher and vary `factor` times as much.
    fn slices(blocks: u32, factor: f64) -> Vec<SliceRecord> {
        let mut random = SmallRng::seed_from_u64(5);
        let mut slice = |block: u32, copy: u32| {
            let is_apart = block % 2 == 1;
            let (level, spread) = if is_apart { (66.0, 0.1 * factor) } else { (60.0, 0.1) };
            let cpu_us = level * (1.0 + spread * random.random_range(-1.0..1.0));
            SliceRecord {
                block,
                copy,
                answered: 1_000,
                proxy_cpu_ns: (cpu_us * 1e6) as u64,
                handover_ns: Some(if is_apart { 330.0 } else { 62.0 }),
                ..SliceRecord::default()
            }
        };
        (0..blocks).flat_map(|block| [0, 1, 2].map(|copy| (block, copy))).map(|(b, c)| slice(b, c)).collect()
    }

    #[test]
    fn replicates_decide_whether_slices_are_noisier_apart() {
        assert_eq!(is_noisier_apart(slices(60, 1.0).iter()), Some(false));
        assert_eq!(is_noisier_apart(slices(60, 3.0).iter()), Some(true));
    }

    #[test]
    fn few_replicates_decide_nothing() {
        assert_eq!(is_noisier_apart(slices(18, 3.0).iter()), None);
        let single: Vec<SliceRecord> = slices(60, 3.0).into_iter().filter(|one| one.copy == 0).collect();
        assert_eq!(is_noisier_apart(single.iter()), None);
        assert_eq!(is_noisier_apart([].iter()), None);
    }
}
