//! Simulated costs whose true variances differ, and how often intervals that borrow from each other cover.

use hoptax_stats::{Replicates, mean_over_rounds, median, moderated};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, StandardNormal};

/// True variances of arms, relative to those that the method is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Vary {
    /// The variances do not differ.
    Alike,
    /// Evenly, on a logarithmic scale, by a factor of four from the first arm to the last.
    ByFour,
    /// The last arm has ten times the variance of the others.
    OneTenfold,
    /// The reference has ten times its variance.
    ReferenceTenfold,
}

impl Vary {
    pub(crate) const ALL: [Self; 4] = [Self::Alike, Self::ByFour, Self::OneTenfold, Self::ReferenceTenfold];

    fn of_arm(self, arm: usize, arms: usize) -> f64 {
        match self {
            Self::ByFour => 4_f64.powf(arm as f64 / (arms - 1) as f64),
            Self::OneTenfold if arm + 1 == arms => 10.0,
            _ => 1.0,
        }
    }

    fn of_reference(self) -> f64 {
        if self == Self::ReferenceTenfold { 10.0 } else { 1.0 }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) arms: usize,
    pub(crate) copies: usize,
    pub(crate) replicates: usize,
    pub(crate) vary: Vary,
    /// Factor of the standard deviations of the last replicate.
    pub(crate) last_replicate: f64,
}

/// Percentages of intervals that cover the truth, of all arms and of the last, and the median half-width as a share of that of
/// Student's interval over the same replicates.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) average: f64,
    pub(crate) last: f64,
    pub(crate) width: f64,
}

pub(crate) fn simulate(setting: Setting, studies: u32) -> Found {
    let Setting { arms, copies, replicates, vary, last_replicate } = setting;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64((100 * replicates + 10 * arms + copies) as u64);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let shared = 1.0 / (copies as f64).sqrt();
    let (mut all, mut last, mut widths, mut alone) = (0, 0, Vec::new(), Vec::new());
    for _ in 0..studies {
        let scale = |replicate: usize| if replicate + 1 == replicates { last_replicate } else { 1.0 };
        let reference: Vec<f64> = (0..replicates)
            .map(|replicate| scale(replicate) * shared * vary.of_reference().sqrt() * normal())
            .collect();
        // The level of each arm is known, and its deviations are in proportion to it.
        let level = |arm: usize| 1.0 + (arm % 3) as f64;
        let costs: Vec<Replicates> = (0..arms)
            .map(|arm| {
                let own = level(arm) * vary.of_arm(arm, arms).sqrt();
                let of_replicate =
                    |(replicate, shared): (usize, &f64)| scale(replicate) * own * normal() - shared;
                let values = reference.iter().enumerate().map(of_replicate).collect();
                Replicates { values, own: level(arm), shared }
            })
            .collect();
        for (arm, (cost, found)) in costs.iter().zip(moderated(&costs).unwrap()).enumerate() {
            let interval = found.interval(0.95).unwrap();
            let covers = u32::from(interval.contains(0.0));
            all += covers;
            last += if arm + 1 == arms { covers } else { 0 };
            let deviation =
                (cost.own.powi(2) * vary.of_arm(arm, arms) + shared.powi(2) * vary.of_reference()).sqrt();
            widths.push(interval.half_width() / deviation);
            alone.push(mean_over_rounds(&cost.values, 0.95).unwrap().half_width() / deviation);
        }
    }
    let percent = |count: u32, of: u32| 100.0 * f64::from(count) / f64::from(of);
    let found = Found {
        average: percent(all, studies * arms as u32),
        last: percent(last, studies),
        width: median(&widths).unwrap() / median(&alone).unwrap(),
    };
    eprintln!("{setting:?}: {found:.2?}");
    found
}
