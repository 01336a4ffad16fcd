//! The load at which a share of requests is late, from the trials near it.

use std::time::Duration;

use crate::critical::two_sided_t;
use crate::search::evidence::{LoadEvidence, Share, Trials};
use crate::search::goal::Criterion;
use crate::search::ladder::Ladder;

/// Share of searches whose interval contains the load.
pub const CONFIDENCE: f64 = 0.95;
/// Nominal confidence of the interval. A search ends when its interval is narrow. Some are narrow by chance, so the share of intervals that
/// contain the load is smaller (`tests/search_subjects.rs` simulates it).
const NOMINAL: f64 = 0.98;
/// Trials are near the load if the odds of a late request are within this factor of those permitted. Over such a range, the logarithm
/// of the odds is nearly a straight line over that of the load.
const NEAR: f64 = 4.0;
/// Minimum number of late requests that a near load must permit: fewer do not show how near it is.
const FEWEST_PERMITTED: f64 = 5.0;
/// Minimum number of groups of late requests that near loads must permit: group sizes vary much, and a few groups do not show by how much.
const FEWEST_GROUPS: f64 = 50.0;
/// Minimum number of groups that the outermost near load must permit before the search goes beyond it.
const FEWEST_GROUPS_OF_END: f64 = 10.0;
/// Fewest degrees of freedom of a dispersion, and so of an interval.
const FREEDOM: f64 = 40.0;
/// Fewest degrees of freedom of the estimates over longer blocks. The largest of several estimates is used, so it is too large if they vary
/// much.
const FREEDOM_OF_LONGER: f64 = 60.0;
/// The lowest slope: 1 % more load adds 0.3 % to the odds of a late request. In a queue it is at least ln(1/p) times the utilisation.
const LEAST_SLOPE: f64 = 0.3;
/// Farthest extrapolation of a fit, as a difference of logarithms of loads.
const FURTHEST: f64 = 0.3;

/// The lowest or the highest near load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct End {
    pub(crate) rung: u32,
    /// The logarithm of the load.
    pub(crate) at: f64,
    /// True if its own trials roughly determine its share of late requests.
    pub(crate) is_known: bool,
}

/// The load at which a criterion just holds, as logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Root {
    pub(crate) estimate: f64,
    /// The interval; None if the trials do not determine the slope.
    pub(crate) interval: Option<(f64, f64)>,
    /// True if the trials determine the dispersion, so that a search may end by the interval.
    pub(crate) is_settled: bool,
    /// Change of the logarithm of the odds with that of the load.
    pub(crate) slope: f64,
}

/// A load near the one at which a criterion just holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NearLoad {
    pub(crate) rung: u32,
    /// The logarithm of the load.
    pub(crate) at: f64,
    /// Its requests.
    pub(crate) share: Share,
}

/// A load that was tried.
struct Tried<'a> {
    rung: u32,
    at: &'a LoadEvidence,
    /// The requests of its trials.
    share: Share,
}

/// The spread of the number of late requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dispersion {
    /// Its variance as a multiple of that of independent requests.
    pub(crate) ratio: f64,
    /// Degrees of freedom of this estimate.
    freedom: f64,
}

/// The near loads of a criterion about a share.
#[derive(Clone, Debug)]
pub(crate) struct Near {
    /// The near loads, ascending.
    pub(crate) loads: Vec<NearLoad>,
    /// The dispersion of late requests; None if the trials do not determine it.
    pub(crate) dispersion: Option<Dispersion>,
    /// The ratio to assume until the trials determine the dispersion, at the highest near load.
    usual: f64,
    /// Groups of late requests that the criterion permits at each near load.
    groups: Vec<f64>,
    /// The load to try next. The shares of all loads, made to ascend, cross the permitted share between two loads: it is one of these, or
    /// the load in their middle.
    pub(crate) least_known: Option<u32>,
    target: f64,
}

impl Near {
    /// The near loads; None if the criterion is not about a share.
    pub(crate) fn new(
        trials: &Trials,
        number: usize,
        criterion: &Criterion,
        ladder: &Ladder,
        width: f64,
    ) -> Option<Self> {
        let permitted = criterion.permitted()?;
        let target = (permitted / (1.0 - permitted)).ln();
        let tried = trials.iter().map(|(rung, at)| Tried { rung: *rung, at, share: at.share(number) });
        let tried: Vec<Tried<'_>> = tried.collect();
        let smooth = ascending(&tried.iter().map(|one| one.share).collect::<Vec<_>>());
        let least_known = least_known(&tried, &smooth, permitted);
        let is_near = |smooth: &Share| {
            let is_known = smooth.planned * permitted >= FEWEST_PERMITTED;
            is_known && (smooth.logit() - target).abs() <= NEAR.ln()
        };
        let near = tried.into_iter().zip(&smooth).filter(|(_, smooth)| is_near(smooth)).map(|(one, _)| one);
        let near: Vec<Tried<'_>> = near.collect();
        let load =
            |one: &Tried<'_>| NearLoad { rung: one.rung, at: ladder.load(one.rung).ln(), share: one.share };
        let loads = near.iter().map(load).collect();
        let usual = |rung: u32| criterion.dispersion(ladder.load(rung));
        let groups: Vec<f64> =
            near.iter().map(|one| one.share.planned * permitted / usual(one.rung)).collect();
        let are_enough = groups.iter().sum::<f64>() >= FEWEST_GROUPS;
        let dispersion = dispersion(&near, number, criterion.memory(width)).filter(|_| are_enough);
        let usual = near.last().map_or(1.0, |one| usual(one.rung));
        Some(Self { loads, dispersion, usual, groups, least_known, target })
    }

    /// Returns true if the load of a rung is a near load.
    pub(crate) fn has(&self, rung: u32) -> bool {
        self.loads.iter().any(|near| near.rung == rung)
    }

    /// The near load beyond which a trial would be most informative about the line, and the direction: the lowest near load if more
    /// requests are late than permitted, and otherwise the highest.
    pub(crate) fn end(&self) -> Option<(End, f64)> {
        let excess = self.excess(Share::sum(self.loads.iter().map(|near| &near.share)));
        let mut ends = self.loads.iter().zip(&self.groups);
        let (side, end) = if excess > 0.0 { (-1.0, ends.next()) } else { (1.0, ends.next_back()) };
        let (near, groups) = end?;
        Some((End { rung: near.rung, at: near.at, is_known: *groups >= FEWEST_GROUPS_OF_END }, side))
    }

    /// Excess of the logarithm of the odds at a near load over the permitted one.
    fn excess(&self, share: Share) -> f64 {
        share.logit() - self.target
    }

    /// The load at which the criterion just holds; None unless there are two near loads and more requests are late at higher loads.
    ///
    /// **Method.** Quasi-likelihood: logistic regression of the late requests on the logarithm of the load, whose variance is multiplied by
    /// the dispersion (R. Wedderburn, *Biometrika* 61, 1974). The interval of the load at which the line has the permitted value is
    /// Fieller's (E. C. Fieller, "Some problems in interval estimation", *Journal of the Royal Statistical Society B* 16, 1954). All near
    /// trials contribute to the result, whatever their load.
    pub(crate) fn root(&self) -> Option<Root> {
        if self.loads.len() < 2 {
            return None;
        }
        let planned: f64 = self.loads.iter().map(|near| near.share.planned).sum();
        let centre = self.loads.iter().map(|near| near.at * near.share.planned).sum::<f64>() / planned;
        let (level, slope, [v00, v01, v11]) = self.line(centre)?;
        let excess = level - self.target;
        let estimate = centre - excess / slope;
        if slope < LEAST_SLOPE || (estimate - centre).abs() > FURTHEST {
            return None;
        }
        let dispersion = self.dispersion.unwrap_or(Dispersion { ratio: self.usual, freedom: FREEDOM });
        let t = two_sided_t(dispersion.freedom, NOMINAL)?;
        let scale = t * t * dispersion.ratio;
        let (a, b, c) =
            (slope * slope - scale * v11, excess * slope - scale * v01, excess * excess - scale * v00);
        let discriminant = b * b - a * c;
        let end = |sign: f64| centre + (-b + sign * discriminant.sqrt()) / a;
        let interval = (a > 0.0 && discriminant >= 0.0).then(|| (end(-1.0), end(1.0)));
        Some(Root { estimate, interval, is_settled: self.dispersion.is_some(), slope })
    }

    /// The level and the slope of the line at a centre, and their variances and covariance without the dispersion, by Newton's method.
    fn line(&self, centre: f64) -> Option<(f64, f64, [f64; 3])> {
        let (mut level, mut slope) = (self.target, 1.0);
        let mut variances = [0.0; 3];
        for _ in 0..50 {
            let (mut g0, mut g1, mut h00, mut h01, mut h11) = (0.0, 0.0, 0.0, 0.0, 0.0);
            for NearLoad { at, share, .. } in &self.loads {
                let x = at - centre;
                let odds = (level + slope * x).exp();
                let p = odds / (1.0 + odds);
                let (residual, weight) = (share.lost - share.planned * p, share.planned * p * (1.0 - p));
                (g0, g1) = (g0 + residual, g1 + residual * x);
                (h00, h01, h11) = (h00 + weight, h01 + weight * x, h11 + weight * x * x);
            }
            let determinant = h00 * h11 - h01 * h01;
            if !(determinant > 0.0 && determinant.is_finite()) {
                return None;
            }
            variances = [h11 / determinant, -h01 / determinant, h00 / determinant];
            let (d0, d1) = ((h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant);
            // A step as long as the range of near odds at most, since Newton's method may overshoot.
            let shorten = (NEAR.ln() / d0.abs().max(d1.abs() * 0.1).max(f64::MIN_POSITIVE)).min(1.0);
            (level, slope) = (level + shorten * d0, slope + shorten * d1);
            if d0.abs() < 1e-9 && d1.abs() < 1e-7 {
                break;
            }
        }
        (level.is_finite() && slope.is_finite()).then_some((level, slope, variances))
    }
}

/// See [`Near::least_known`].
fn least_known(tried: &[Tried<'_>], smooth: &[Share], permitted: f64) -> Option<u32> {
    let above = smooth.iter().position(|share| share.lost > share.planned * permitted)?;
    let (low, high) = (tried.get(above.checked_sub(1)?)?, tried.get(above)?);
    let middle = u32::midpoint(low.rung, high.rung);
    let middle = (middle > low.rung).then_some((middle, 0.0));
    let ends = [low, high].map(|one| (one.rung, one.share.planned));
    let all = middle.into_iter().chain(ends);
    all.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(rung, _)| rung)
}

/// For each load, ascending, its requests, pooled with those of its neighbours where a higher load has a smaller share of late requests:
/// the monotone regression of M. Ayer et al. ("An empirical distribution function for sampling with incomplete information", *Annals of
/// Mathematical Statistics* 26, 1955). A single trial says little about how near its load is.
fn ascending(shares: &[Share]) -> Vec<Share> {
    let mut blocks: Vec<(Share, usize)> = Vec::new();
    for share in shares {
        let mut block = (*share, 1);
        while let Some((before, count)) = blocks.pop_if(|(before, _)| before.logit() >= block.0.logit()) {
            block = (Share::sum([&before, &block.0]), block.1 + count);
        }
        blocks.push(block);
    }
    blocks.into_iter().flat_map(|(share, count)| std::iter::repeat_n(share, count)).collect()
}

/// The dispersion of the late requests at some loads; None if there are too few blocks.
///
/// **Method.** Pearson's statistic over blocks of windows, divided by its degrees of freedom. The first blocks are as long as the memory of
/// the queue. Their length doubles as long as there are enough blocks, and the largest estimate is used. Blocks that are too short
/// underestimate the dispersion, and the estimates rise until blocks are independent (H. Flyvbjerg and H. Petersen, "Error estimates on
/// averages of correlated data", *Journal of Chemical Physics* 91, 1989).
fn dispersion(loads: &[Tried<'_>], number: usize, memory: Duration) -> Option<Dispersion> {
    let estimate = |memories: u32| {
        let (mut sum, mut freedom) = (0.0, 0.0);
        for Tried { at, share, .. } in loads {
            let p = (share.lost + 0.5) / (share.planned + 1.0);
            let blocks = at.windows(number).flat_map(|(duration, windows)| {
                let of_trial = memory.as_secs_f64() * f64::from(memories) / duration.as_secs_f64();
                let length =
                    (of_trial * windows.len() as f64 - 1e-6).ceil().max(f64::from(memories)) as usize;
                windows.chunks_exact(length)
            });
            let blocks = blocks.map(Share::sum).filter(|block| block.planned > 0.0);
            let squares = blocks
                .map(|block| (block.lost - block.planned * p).powi(2) / (block.planned * p * (1.0 - p)));
            let (count, of_load) = squares.fold((0.0_f64, 0.0), |(count, all), one| (count + 1.0, all + one));
            (sum, freedom) = (sum + of_load, freedom + (count - 1.0).max(0.0));
        }
        let least = if memories == 1 { FREEDOM } else { FREEDOM_OF_LONGER };
        (freedom >= least).then(|| Dispersion { ratio: sum / freedom, freedom })
    };
    let lengths = std::iter::successors(Some(1_u32), |length| length.checked_mul(2));
    let found = lengths.map_while(estimate).max_by(|one, other| one.ratio.total_cmp(&other.ratio));
    found.map(|found| Dispersion { ratio: found.ratio.max(1.0), ..found })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::evidence::Sample;

    const P99: Criterion = Criterion::Late { permitted: 0.01, limit: Duration::from_millis(20) };
    const TRIAL: Duration = Duration::from_secs(100);
    const WIDTH: f64 = 0.04;

    fn ladder() -> Ladder {
        Ladder::new(1.0, 1_000.0, WIDTH)
    }

    /// A trial at each load, with a share of late requests, which come in groups of `size`, each within one window.
    fn trials(shares: &[(f64, f64)], size: f64) -> Trials {
        let mut trials = Trials::new();
        for (load, part) in shares {
            let planned = 1e5;
            let groups = (part * planned / size).round() as usize;
            let mut windows = vec![Share { lost: 0.0, planned: planned / 100.0 }; 100];
            for group in 0..groups {
                // Multiples of the golden ratio: spread over the windows as by chance, but always the same.
                let place = (group as f64 * group as f64 * 0.618_034).fract() * 100.0;
                windows[place as usize].lost += size;
            }
            let sample = Sample::Share { all: Share::sum(&windows), windows };
            trials.entry(ladder().nearest(*load)).or_default().add(TRIAL, Some(vec![sample]));
        }
        trials
    }

    fn near(shares: &[(f64, f64)], size: f64) -> Near {
        Near::new(&trials(shares, size), 0, &P99, &ladder(), WIDTH).unwrap()
    }

    #[test]
    fn the_root_is_where_the_line_through_near_loads_has_the_permitted_share() {
        // The odds double for 7 % more load, and reach those permitted in the middle.
        let of = |load: f64| 0.01 * (load / 388.0_f64).powf(10.0);
        let shares: Vec<(f64, f64)> = [360.0, 375.0, 400.0, 415.0].map(|load| (load, of(load))).into();
        let root = near(&shares, 1.0).root().unwrap();
        assert!((root.estimate.exp() / 388.0 - 1.0).abs() < 0.003, "{root:?}");
        assert!((root.slope - 10.0).abs() < 0.5 && root.is_settled, "{root:?}");
        let (low, high) = root.interval.unwrap();
        assert!(low < root.estimate && root.estimate < high && high - low < 0.02, "{root:?}");
    }

    #[test]
    fn late_requests_in_groups_widen_the_interval_by_the_root_of_their_size() {
        let shares = [(370.0, 0.006), (405.0, 0.015)];
        let width = |size: f64| {
            let root = near(&shares, size).root().unwrap();
            root.interval.map(|(low, high)| high - low).unwrap()
        };
        let ratio = width(20.0) / width(1.0);
        assert!((20.0_f64.sqrt() * 0.6..20.0_f64.sqrt() * 1.8).contains(&ratio), "{ratio}");
    }

    #[test]
    fn there_is_no_root_without_two_near_loads_or_if_less_is_late_at_higher_loads() {
        assert_eq!(near(&[(388.0, 0.01)], 1.0).root(), None);
        assert_eq!(near(&[(388.0, 0.01), (450.0, 0.5)], 1.0).root(), None, "the second is not near");
        assert_eq!(near(&[(370.0, 0.012), (405.0, 0.009)], 1.0).root(), None);
    }

    #[test]
    fn a_trial_that_contradicts_its_neighbours_is_judged_with_them() {
        let share = |lost: f64| Share { lost, planned: 1_000.0 };
        let smooth = ascending(&[share(0.0), share(200.0), share(10.0), share(40.0)]);
        let lost: Vec<f64> = smooth.iter().map(|one| one.lost).collect();
        assert_eq!(lost, [0.0, 250.0, 250.0, 250.0]);
        // Alone, the first of these would be far from the permitted share.
        let near = near(&[(370.0, 0.06), (380.0, 0.006), (390.0, 0.012)], 1.0);
        assert_eq!(near.loads.len(), 3);
    }

    #[test]
    fn few_groups_do_not_tell_the_dispersion() {
        let root = near(&[(370.0, 0.006), (405.0, 0.015)], 1.0).root().unwrap();
        assert!(root.is_settled);
        let few = Share { lost: 40.0, planned: 4_000.0 };
        let mut trials = Trials::new();
        for (rung, part) in [(100, 0.5), (105, 1.5)] {
            let all = Share { lost: few.lost * part, ..few };
            let window = Share { lost: all.lost / 100.0, planned: all.planned / 100.0 };
            let sample = Sample::Share { all, windows: vec![window; 100] };
            trials.entry(rung).or_default().add(TRIAL, Some(vec![sample]));
        }
        let root = Near::new(&trials, 0, &P99, &ladder(), WIDTH).unwrap().root().unwrap();
        assert!(!root.is_settled, "{root:?}");
    }
}
